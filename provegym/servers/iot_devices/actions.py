"""Reaching devices: the checks before a command, and what follows from one.

A device that comes on, goes off, locks or unlocks starts the automations that wait for it. Each
write lasts a minute, at the end of which schedules and sensors get their turn (`pass_minute`).
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Any

from provegym.servers.iot_devices.models import Capability
from provegym.servers.iot_devices.sensing import REPORT_MINUTES, holds, value_at
from provegym.servers.iot_devices.state import (
    ACTIONS,
    DEVICE_EVENTS,
    FIELDS,
    LOW_BATTERY,
    Automation,
    Device,
    Home,
    House,
    Reading,
    Room,
    Scene,
    Schedule,
    Sensor,
)
from provegym.world.tool import refuse

MOVING: frozenset[str] = frozenset(("lock", "level", "target_temperature", "program"))
"""Capabilities that need a motor's strength, where the model has one."""


class Effects:
    """What one call sets going; an automation runs at most once in it."""

    def __init__(self) -> None:
        self.run: dict[str, str] = {}
        """Names of the automations that ran, by id."""

    @property
    def names(self) -> tuple[str, ...]:
        """The automations that ran, in order."""
        return tuple(self.run.values())


# -- rows ----------------------------------------------------------------------------------


def the_home(house: House, home_id: str) -> Home:
    """The home of that id, or `not_found`."""
    home = house.homes.get(home_id)
    if home is None:
        refuse("not_found", f"there is no home {home_id[:40]!r}; list_homes shows yours")
    return home


def the_room(house: House, room_id: str) -> Room:
    """The room of that id, or `not_found`."""
    room = house.rooms.get(room_id)
    if room is None:
        refuse("not_found", f"there is no room {room_id[:40]!r}; list_home_rooms shows them all")
    return room


def the_device(house: House, device_id: str) -> Device:
    """A device that is set up, or `not_found`."""
    device = house.devices.get(device_id)
    if device is None or not device.room_id:
        refuse("not_found", f"no device {device_id[:40]!r} is set up; list_devices shows them all")
    return device


def the_sensor(house: House, sensor_id: str) -> Sensor:
    """The sensor of that id, or `not_found`."""
    sensor = house.sensors.get(sensor_id)
    if sensor is None:
        refuse("not_found", f"there is no sensor {sensor_id[:40]!r}; list_sensors shows them all")
    return sensor


def the_scene(house: House, scene_id: str) -> Scene:
    """The scene of that id, or `not_found`."""
    scene = house.scenes.get(scene_id)
    if scene is None:
        refuse("not_found", f"there is no scene {scene_id[:40]!r}; list_scenes shows them all")
    return scene


# -- checks --------------------------------------------------------------------------------


def require_capability(device: Device, capability: Capability) -> None:
    """`unsupported` where the model cannot do that."""
    can = device.of.capabilities
    if capability not in can:
        text = f"the {device.name} has no {capability}; it has {', '.join(can)}"
        refuse("unsupported", text, capabilities=list(can))


def weak(device: Device, capability: str) -> bool:
    """Whether the battery is too low for what the capability moves."""
    return device.of.motor and device.battery <= LOW_BATTERY and capability in MOVING


def commandable(house: House, device_id: str, capability: Capability) -> Device:
    """A device that can obey now: able, online, not child-locked, with strength left."""
    device = the_device(house, device_id)
    require_capability(device, capability)
    if not device.online:
        refuse("offline", f"the {device.name} is offline; check its power and the Wi-Fi")
    if device.child_lock and capability != "child_lock":
        refuse("child_locked", f"the child lock of the {device.name} is on; switch it off first")
    if weak(device, capability):
        text = f"the battery of the {device.name} is at {device.battery} %; charge or replace it"
        refuse("low_battery", text, battery=device.battery, needed=LOW_BATTERY + 1)
    return device


def door_open(house: House, device: Device) -> bool:
    """Whether a contact sensor reports the door of that lock open."""
    watching = house.sensors.where(guards=device.id)
    return any(value_at(sensor, house.now) for sensor in watching)


def _obeys(house: House, device: Device, capability: str) -> bool:
    if not device.online or device.child_lock or weak(device, capability):
        return False
    return capability != "lock" or not door_open(house, device)


# -- effects -------------------------------------------------------------------------------


def fields_for(device: Device, capability: str, value: float) -> dict[str, Any]:
    """The fields of the device that setting a capability to a value gives."""
    if capability == "power" and not value and device.program:
        return {"on": False, "program": "", "ends_at": ""}
    if capability in ("power", "lock"):
        return {FIELDS[capability]: bool(value)}
    if capability == "target_temperature":
        return {"target_temperature": float(value)}
    fields: dict[str, Any] = {FIELDS[capability]: int(value)}
    if capability in ("brightness", "color_temperature"):
        fields["on"] = True
    elif device.kind == "fan":
        fields["on"] = value > 0
    return fields


def differs(device: Device, fields: dict[str, Any]) -> bool:
    """Whether some field would change."""
    return any(getattr(device, name) != value for name, value in fields.items())


def change(house: House, device: Device, fields: dict[str, Any], effects: Effects) -> Device:
    """Write the fields, run the automations that wait for it, give the device as it then is."""
    new = house.devices.update(device, **fields)
    for event, (capability, value) in DEVICE_EVENTS.items():
        field = FIELDS[capability]
        if getattr(new, field) == value != getattr(device, field):
            fire(house, house.automations.where(device_id=device.id, event=event), effects)
    return house.devices[device.id]


def fire(house: House, automations: Iterable[Automation], effects: Effects) -> None:
    """Run the enabled ones that have not run in this call."""
    for automation in automations:
        if automation.enabled and automation.id not in effects.run:
            effects.run[automation.id] = automation.name
            house.automations.update(automation, last_run_at=house.stamp)
            run_scene(house, house.scenes[automation.scene_id], effects)


def run_scene(house: House, scene: Scene, effects: Effects) -> tuple[list[str], list[str]]:
    """Make the scene's settings; names of the devices changed, and of those that do not obey."""
    changed: dict[str, None] = {}
    skipped: dict[str, None] = {}
    for setting in scene.settings:
        device = house.devices[setting.device_id]
        fields = fields_for(device, setting.capability, setting.value)
        if not differs(device, fields):
            continue
        if _obeys(house, device, setting.capability):
            change(house, device, fields, effects)
            changed[device.name] = None
        else:
            skipped[device.name] = None
    if changed:
        house.scenes.update(house.scenes[scene.id], last_run_at=house.stamp)
    return list(changed), list(skipped)


# -- time ----------------------------------------------------------------------------------


def pass_minute(house: House, effects: Effects) -> None:
    """What is due when this call's minute is over: schedules, sensor triggers, logged readings."""
    then = house.now + timedelta(minutes=1)
    for schedule in house.schedules.where(at=f"{then:%H:%M}"):
        if _runs_on(schedule.days, then):
            _run_schedule(house, schedule, effects)
    if then.minute % REPORT_MINUTES == 0:
        _watch_sensors(house, then, effects)
    if then.minute == 0:
        _log_readings(house, then)


def _runs_on(days: str, when: datetime) -> bool:
    return days == "daily" or (days == "weekdays") == (when.weekday() < 5)


def _run_schedule(house: House, schedule: Schedule, effects: Effects) -> None:
    device = house.devices[schedule.device_id]
    capability, value = ACTIONS[schedule.action]
    fields = fields_for(device, capability, value)
    house.schedules.update(schedule, last_run_at=house.stamp)
    if differs(device, fields) and _obeys(house, device, capability):
        change(house, device, fields, effects)


def _watch_sensors(house: House, then: datetime, effects: Effects) -> None:
    """Run the automations whose condition has just come true."""
    for a in house.automations.where(trigger="sensor"):
        sensor = house.sensors[a.sensor_id]
        before = value_at(sensor, then - timedelta(minutes=REPORT_MINUTES))
        if not holds(a.event, a.threshold, before) and holds(
            a.event, a.threshold, value_at(sensor, then)
        ):
            fire(house, [a], effects)


def _log_readings(house: House, then: datetime) -> None:
    for sensor in house.sensors.where(offline_since=""):
        value, new = value_at(sensor, then), house.readings.new_id()
        house.readings.put(Reading(new, sensor.id, then.isoformat(), value))
