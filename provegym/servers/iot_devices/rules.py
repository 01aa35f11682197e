"""What always holds in a smart home."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from datetime import datetime
from typing import Any

from provegym.servers.iot_devices.sensing import value_at
from provegym.servers.iot_devices.state import (
    ACTIONS,
    FIELDS,
    Automation,
    Device,
    House,
    Scene,
    fits,
    matching,
)


def violations(house: House) -> Iterator[str]:
    """Every broken invariant, one sentence each."""
    yield from _names(house)
    for device in house.devices:
        yield from _device(house, device)
    yield from _sensors(house)
    for scene in house.scenes:
        yield from _scene(house, scene)
    for automation in house.automations:
        yield from _automation(house, automation)
    yield from _schedules(house)
    days = Counter((e.device_id, e.day) for e in house.energy)
    for e in house.energy:
        if e.wh < 0 or days[e.device_id, e.day] > 1 or e.device_id not in house.devices:
            yield f"energy {e.id} is negative, doubled or of no device"
        if e.day >= house.today:
            yield f"energy {e.id} is of {e.day}, which is not over"


def _names(house: House) -> Iterator[str]:
    sets: dict[str, list[str]] = {
        "devices": [d.name for d in house.devices if d.room_id],
        "scenes": [f"{s.home_id} {s.name}" for s in house.scenes],
        "automations": [f"{a.home_id} {a.name}" for a in house.automations],
        "setup codes": [d.setup_code for d in house.devices],
    }
    for what, names in sets.items():
        if len({n.casefold() for n in names}) < len(names):
            yield f"two {what} share a name"


def _device(house: House, device: Device) -> Iterator[str]:
    model = device.of
    if device.room_id and device.room_id not in house.rooms:
        yield f"device {device.id} is in no room"
    for capability, field in FIELDS.items():
        value: Any = getattr(device, field)
        if value and not fits(model, capability, float(value)):
            yield f"device {device.id} has {field} {value}, which {model.name} cannot"
    if device.child_lock and "child_lock" not in model.capabilities:
        yield f"device {device.id} has no child lock"
    if (device.battery >= 0) != model.battery:
        yield f"device {device.id} has battery {device.battery}"
    if device.climate not in (model.modes or ("off",)):
        yield f"device {device.id} cannot be in mode {device.climate}"
    if bool(device.program) != bool(device.ends_at) or (
        device.program and device.program not in model.minutes
    ):
        yield f"device {device.id} runs {device.program!r} until {device.ends_at!r}"


def _sensors(house: House) -> Iterator[str]:
    for reading in house.readings:
        sensor, at = house.sensors.get(reading.sensor_id), datetime.fromisoformat(reading.at)
        if sensor is None or reading.value != value_at(sensor, at):
            yield f"reading {reading.id} is not what its sensor read at {reading.at}"
        if at > house.now:
            yield f"reading {reading.id} is from the future"
    for sensor in house.sensors:
        if sensor.room_id not in house.rooms:
            yield f"sensor {sensor.id} is in no room"


def _scene(house: House, scene: Scene) -> Iterator[str]:
    if scene.home_id not in house.homes or not scene.settings:
        yield f"scene {scene.id} has no home or no settings"
    for s in scene.settings:
        device = house.devices.get(s.device_id)
        if device is None or not fits(device.of, s.capability, s.value):
            yield f"scene {scene.id} sets {s.capability} to {s.value} on {s.device_id}"
        elif house.home_of(device) != scene.home_id:
            yield f"scene {scene.id} reaches into another home"


def _automation(house: House, a: Automation) -> Iterator[str]:
    scene = house.scenes.get(a.scene_id)
    if scene is None or scene.home_id != a.home_id:
        yield f"automation {a.id} runs a scene of another home, or none"
    sources = [house.sensors.get(a.sensor_id), house.devices.get(a.device_id)]
    found = [s for s in sources if s is not None]
    if len(found) != (a.trigger != "mode") or bool(a.sensor_id) != (a.trigger == "sensor"):
        yield f"automation {a.id} has not just its {a.trigger} as a trigger"
    if any(house.home_of(s) != a.home_id for s in found):
        yield f"automation {a.id} waits for something in another home"


def _schedules(house: House) -> Iterator[str]:
    taken: dict[tuple[str, str], list[str]] = {}
    for s in house.schedules:
        capability, value = ACTIONS[s.action]
        device = house.devices.get(s.device_id)
        if device is None or not fits(device.of, capability, value):
            yield f"schedule {s.id} cannot {s.action} device {s.device_id}"
        others = taken.setdefault((s.device_id, s.at), [])
        if any(matching(s.days, other) for other in others):
            yield f"schedule {s.id} meets another one of its device at {s.at}"
        others.append(s.days)
