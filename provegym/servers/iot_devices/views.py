"""What the tools answer: small records that name things as people do."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Literal

from msgspec import Struct

from provegym.servers.iot_devices.actions import Effects
from provegym.servers.iot_devices.models import Capability, Kind
from provegym.servers.iot_devices.sensing import spoken, value_at
from provegym.servers.iot_devices.state import (
    LOW_BATTERY,
    Action,
    Automation,
    AutomationId,
    Day,
    Days,
    Device,
    DeviceId,
    Floor,
    Home,
    HomeId,
    House,
    Mode,
    RoomId,
    Scene,
    SceneId,
    Schedule,
    ScheduleId,
    Sensor,
    SensorId,
    SensorKind,
    running,
)
from provegym.world.fields import CLOCK, Money, Stamp

Health = Literal["online", "offline", "low_battery"]


class HomeItem(Struct, frozen=True, omit_defaults=True):
    """A home, its mode and what stands open; the automations that a change of mode ran."""

    id: HomeId
    name: str
    city: str
    mode: Mode
    devices: int
    open: tuple[str, ...]
    automations_run: tuple[str, ...] = ()


class HomePage(Struct, frozen=True):
    """A page of homes."""

    homes: list[HomeItem]
    total: int
    next_cursor: str


class RoomItem(Struct, frozen=True):
    """A room and how many devices are in it."""

    id: RoomId
    name: str
    home: str
    floor: Floor
    devices: int


class RoomPage(Struct, frozen=True):
    """A page of rooms."""

    rooms: list[RoomItem]
    total: int
    next_cursor: str


class DeviceItem(Struct, frozen=True):
    """A device, whether it can be reached, and what it does now."""

    id: DeviceId
    name: str
    kind: Kind
    room: str
    health: Health
    state: str


class DevicePage(Struct, frozen=True):
    """A page of devices."""

    devices: list[DeviceItem]
    total: int
    next_cursor: str


class ScheduleItem(Struct, frozen=True):
    """A schedule of a device."""

    id: ScheduleId
    device: str
    at: Annotated[str, CLOCK]
    days: Days
    action: Action


class DeviceDetail(Struct, frozen=True, omit_defaults=True):
    """All about a device; battery and limits where it has any."""

    id: DeviceId
    name: str
    kind: Kind
    room: str
    model: str
    health: Health
    state: str
    capabilities: tuple[Capability, ...]
    limits: str = ""
    battery: int = -1
    child_lock: bool = False
    schedules: tuple[ScheduleItem, ...] = ()


class Commanded(Struct, frozen=True, omit_defaults=True):
    """A device after a command, its child lock if it has one, and the automations set off."""

    id: DeviceId
    name: str
    state: str
    child_lock: Literal["", "on", "off"] = ""
    automations_run: tuple[str, ...] = ()


class Started(Struct, frozen=True, omit_defaults=True):
    """An appliance at work and when it will be done."""

    id: DeviceId
    name: str
    state: str
    ends_at: Stamp
    automations_run: tuple[str, ...] = ()


class SensorItem(Struct, frozen=True):
    """A sensor and what it reported last."""

    id: SensorId
    name: str
    kind: SensorKind
    room: str
    health: Health
    reading: str


class SensorPage(Struct, frozen=True):
    """A page of sensors."""

    sensors: list[SensorItem]
    total: int
    next_cursor: str


class ReadingItem(Struct, frozen=True):
    """What a sensor logged at a moment."""

    at: Stamp
    reading: str


class ReadingPage(Struct, frozen=True):
    """A page of logged readings, newest first; least and greatest of all that match."""

    sensor_id: SensorId
    name: str
    readings: list[ReadingItem]
    lowest: str
    highest: str
    total: int
    next_cursor: str


class SceneItem(Struct, frozen=True):
    """A scene and what it sets."""

    id: SceneId
    name: str
    home: str
    sets: tuple[str, ...]


class ScenePage(Struct, frozen=True):
    """A page of scenes."""

    scenes: list[SceneItem]
    total: int
    next_cursor: str


class Activated(Struct, frozen=True, omit_defaults=True):
    """The devices that a scene changed and could not reach; the automations that it set off."""

    id: SceneId
    name: str
    changed: tuple[str, ...]
    skipped: tuple[str, ...] = ()
    automations_run: tuple[str, ...] = ()


class AutomationItem(Struct, frozen=True):
    """An automation: when it runs which scene."""

    id: AutomationId
    name: str
    when: str
    scene: str
    status: Literal["enabled", "disabled"]


class AutomationPage(Struct, frozen=True):
    """A page of automations."""

    automations: list[AutomationItem]
    total: int
    next_cursor: str


class UsageItem(Struct, frozen=True):
    """What a device used over the days asked for, and what it draws now."""

    id: DeviceId
    name: str
    kwh: float
    watts_now: int


class UsageReport(Struct, frozen=True):
    """Energy used from `since` to `until`, both included, the thirstiest device first."""

    since: Day
    until: Day
    kwh: float
    cost: Money
    devices: list[UsageItem]
    total: int
    next_cursor: str


def home_item(house: House, home: Home, effects: Effects | None = None) -> HomeItem:
    """A home with the doors and windows that stand open."""
    rooms = {r.id for r in house.rooms.where(home_id=home.id)}
    count = sum(len(house.devices.where(room_id=r)) for r in rooms)
    opened = tuple(s.name for s in open_contacts(house, home))
    run = effects.names if effects else ()
    return HomeItem(home.id, home.name, home.city, home.mode, count, opened, run)


def open_contacts(house: House, home: Home) -> list[Sensor]:
    """The contact sensors of a home that report an open door or window."""
    return [
        s
        for s in house.sensors.where(kind="contact")
        if house.home_of(s) == home.id and value_at(s, house.now)
    ]


def health(row: Device | Sensor) -> Health:
    """Offline, low on battery, or fine."""
    online = row.online if isinstance(row, Device) else not row.offline_since
    if not online:
        return "offline"
    return "low_battery" if 0 <= row.battery <= LOW_BATTERY else "online"


def doing(device: Device, now: datetime) -> str:
    """What a device does, in words."""
    kind = device.kind
    if running(device, now):
        return f"running {device.program}"
    if kind == "lock":
        return "locked" if device.locked else "unlocked"
    if kind == "blind":
        return f"{device.level} % open" if device.level else "closed"
    if kind == "thermostat":
        goal = f"{device.target_temperature:g} °C"
        return "off" if device.climate == "off" else f"{device.climate} to {goal}"
    return _powered(device) if device.on else "off"


def _powered(device: Device) -> str:
    words = ["on"]
    if device.brightness:
        words.append(f"{device.brightness} %")
    if device.color_temperature:
        words.append(f"{device.color_temperature} K")
    if "level" in device.of.capabilities:
        words.append(f"{'speed' if device.kind == 'fan' else 'volume'} {device.level} %")
    return ", ".join(words)


def device_item(house: House, d: Device) -> DeviceItem:
    """A device as lists show it."""
    room = house.rooms[d.room_id].name
    return DeviceItem(d.id, d.name, d.kind, room, health(d), doing(d, house.now))


def device_detail(house: House, d: Device) -> DeviceDetail:
    """A device with its abilities and schedules."""
    schedules = sorted(house.schedules.where(device_id=d.id), key=lambda s: s.at)
    return DeviceDetail(
        id=d.id,
        name=d.name,
        kind=d.kind,
        room=house.rooms[d.room_id].name,
        model=d.model,
        health=health(d),
        state=doing(d, house.now),
        capabilities=d.of.capabilities,
        limits=_limits(d),
        battery=d.battery,
        child_lock=d.child_lock,
        schedules=tuple(schedule_item(house, s) for s in schedules),
    )


def _limits(d: Device) -> str:
    model = d.of
    if model.programs:
        return "programs " + ", ".join(f"{name} {m} min" for name, m in model.programs)
    if model.modes:
        low, high = model.range
        return f"{low} to {high} °C; modes {', '.join(model.modes)}"
    if model.range != (0, 0):
        return f"{model.range[0]} to {model.range[1]} K"
    return f"level up to {model.max_level} %" if model.max_level < 100 else ""


def commanded(house: House, device: Device, effects: Effects) -> Commanded:
    """The receipt of a command."""
    d = house.devices[device.id]
    lock: Literal["", "on", "off"] = ""
    if "child_lock" in d.of.capabilities:
        lock = "on" if d.child_lock else "off"
    return Commanded(d.id, d.name, doing(d, house.now), lock, effects.names)


def schedule_item(house: House, s: Schedule) -> ScheduleItem:
    """A schedule with its device's name."""
    return ScheduleItem(s.id, house.devices[s.device_id].name, s.at, s.days, s.action)


def sensor_item(house: House, s: Sensor) -> SensorItem:
    """A sensor with its latest report."""
    reading = spoken(s.kind, value_at(s, house.now))
    return SensorItem(s.id, s.name, s.kind, house.rooms[s.room_id].name, health(s), reading)


def scene_item(house: House, scene: Scene) -> SceneItem:
    """A scene with what it sets, in words."""
    sets = tuple(
        f"{house.devices[s.device_id].name}: {_wanted(s.capability, s.value)}"
        for s in scene.settings
    )
    return SceneItem(scene.id, scene.name, house.homes[scene.home_id].name, sets)


def _wanted(capability: str, value: float) -> str:
    if capability in ("power", "lock"):
        words = {"power": ("off", "on"), "lock": ("unlocked", "locked")}
        return words[capability][int(value)]
    unit = {"target_temperature": "°C", "color_temperature": "K"}.get(capability, "%")
    return f"{value:g} {unit}"


def automation_item(house: House, a: Automation) -> AutomationItem:
    """An automation in words."""
    scene = house.scenes[a.scene_id].name
    status: Literal["enabled", "disabled"] = "enabled" if a.enabled else "disabled"
    return AutomationItem(a.id, a.name, _when(house, a), scene, status)


def _when(house: House, a: Automation) -> str:
    if a.trigger == "mode":
        return f"{house.homes[a.home_id].name} goes {a.event}"
    if a.trigger == "device":
        return f"{house.devices[a.device_id].name} goes {a.event}"
    limit = f" {a.threshold:g}" if a.event in ("above", "below") else ""
    return f"{house.sensors[a.sensor_id].name} goes {a.event}{limit}"


def watts(device: Device, now: datetime) -> int:
    """What a device draws now, in watts."""
    full = device.of.watts
    if "program" in device.of.capabilities:
        return full if running(device, now) else 2 * device.on
    if device.kind == "thermostat":
        return full if device.climate != "off" else 0
    share = 100
    if "brightness" in device.of.capabilities:
        share = device.brightness
    elif "level" in device.of.capabilities:
        share = device.level
    return full * share // 100 if device.on else 0
