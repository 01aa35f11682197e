"""Plausible arguments for each tool, read off the rows of a session. An empty dict: none found."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from random import Random
from typing import Any, TypeVar, get_args

from provegym.servers.iot_devices.actions import differs, door_open, fields_for, weak
from provegym.servers.iot_devices.models import Capability
from provegym.servers.iot_devices.plan import AUTOMATION_NAMES, NAMES, SCENE_NAMES
from provegym.servers.iot_devices.sensing import conditions, value_at
from provegym.servers.iot_devices.state import (
    DEVICE_EVENTS,
    Days,
    Device,
    House,
    Mode,
    Sensor,
    matching,
    running,
)

Arguments = dict[str, Any]
T = TypeVar("T")

SLIP = 0.06
"""How often a row is chosen without a look at its state."""
PORTABLE = ("light", "plug", "fan", "speaker")
"""Kinds that people rename and carry about."""


def _maybe(rnd: Random, **fields: Any) -> Arguments:
    """Each of the fields with a chance of 30 %."""
    return {name: value for name, value in fields.items() if rnd.random() < 0.3}


def _pick(rnd: Random, good: Sequence[T], every: Sequence[T]) -> T:
    """One of the good rows; now and then any, as people forget what is offline or locked."""
    return rnd.choice(good if good and rnd.random() >= SLIP else every)


def _set_up(house: House) -> list[Device]:
    return [d for d in house.devices if d.room_id]


def _able(house: House, capability: Capability) -> tuple[list[Device], list[Device]]:
    """Devices that would obey, and all that have the capability."""
    every = [d for d in _set_up(house) if capability in d.of.capabilities]
    good = [d for d in every if d.online and not d.child_lock and not weak(d, capability)]
    return good, every


def _room(house: House, rnd: Random) -> str:
    return rnd.choice([d.room_id for d in _set_up(house)])


def homes(house: House, rnd: Random) -> Arguments:
    """A mode that some home is in."""
    return _maybe(rnd, mode=rnd.choice([h.mode for h in house.homes]))


def rooms(house: House, rnd: Random) -> Arguments:
    """What finds a room that is there."""
    wanted = rnd.choice(list(house.rooms))
    picked = rnd.choice(("query", "floor", "none"))
    options: Arguments = {"query": {"query": wanted.name}, "floor": {"floor": wanted.floor}}
    return {**options.get(picked, {}), **_maybe(rnd, home_id=wanted.home_id)}


def home_mode(house: House, rnd: Random) -> Arguments:
    """Another mode, mostly one that open doors do not forbid."""
    home = rnd.choice(list(house.homes))
    open_now = any(
        value_at(s, house.now)
        for s in house.sensors.where(kind="contact")
        if house.home_of(s) == home.id
    )
    modes = ("home", "night") if open_now else get_args(Mode)
    good = [m for m in modes if m != home.mode]
    return {"home_id": home.id, "mode": _pick(rnd, good, get_args(Mode))}


def devices(house: House, rnd: Random) -> Arguments:
    """What finds a device that is there."""
    wanted = rnd.choice(_set_up(house))
    picked = rnd.choice(("query", "kind", "status", "none"))
    health = "offline" if not wanted.online else "online"
    if wanted.online and 0 <= wanted.battery <= 15:
        health = "low_battery"
    options = {"query": wanted.name, "kind": wanted.kind, "status": health}
    given = {picked: options[picked]} if picked in options else {}
    return {**given, **_maybe(rnd, room_id=wanted.room_id)}


def device(house: House, rnd: Random) -> Arguments:
    """A device, mostly one with schedules."""
    scheduled = [s.device_id for s in house.schedules]
    every = [d.id for d in _set_up(house)]
    return {"device_id": rnd.choice(scheduled if scheduled and rnd.random() < 0.5 else every)}


def pair(house: House, rnd: Random) -> Arguments:
    """A device that waits, with a free name; now and then a misread code."""
    waiting = [d for d in house.devices if not d.room_id]
    chosen = _pick(rnd, waiting, list(house.devices))
    name = _free(rnd, NAMES, [d.name for d in _set_up(house)])
    code = chosen.setup_code if rnd.random() >= SLIP else f"900-{rnd.randrange(100):02d}-404"
    return {"setup_code": code, "room_id": _room(house, rnd), "name": name}


def _free(rnd: Random, names: Sequence[str], taken: list[str]) -> str:
    return _pick(rnd, [n for n in names if n not in taken], names)


def update(house: House, rnd: Random) -> Arguments:
    """A new name, a new room in the same home, or both."""
    portable = [d for d in _set_up(house) if d.kind in PORTABLE]
    chosen = _pick(rnd, portable, _set_up(house))
    home = house.home_of(chosen)
    rooms = [r.id for r in house.rooms.where(home_id=home) if r.id != chosen.room_id]
    name = _free(rnd, NAMES, [d.name for d in _set_up(house)])
    room = _pick(rnd, rooms, [r.id for r in house.rooms])
    parts = rnd.choice(({"name": name}, {"room_id": room}, {"name": name, "room_id": room}))
    return {"device_id": chosen.id, **parts}


def usage(house: House, rnd: Random) -> Arguments:
    """A metered device or its room, and days that are kept."""
    metered = rnd.choice(list(house.energy)).device_id
    since = (house.now - timedelta(days=rnd.randrange(3, 14))).date().isoformat()
    until = (house.now - timedelta(days=rnd.randrange(1, 3))).date().isoformat()
    where = {"device_id": metered} if rnd.random() < 0.5 else {}
    if not where and rnd.random() < 0.4:
        where = {"room_id": house.devices[metered].room_id}
    return {**where, **_maybe(rnd, since=since, until=until)}


def switch(house: House, rnd: Random) -> Arguments:
    """A device that obeys, and what it is not."""
    chosen = _pick(rnd, *_able(house, "power"))
    power = "off" if chosen.on != (rnd.random() < SLIP) else "on"
    return {"device_id": chosen.id, "power": power}


def light(house: House, rnd: Random) -> Arguments:
    """A lamp and another brightness or tone."""
    chosen = _pick(rnd, *_able(house, "brightness"))
    levels = [n for n in range(10, 101, 5) if n != chosen.brightness]
    given: Arguments = {"device_id": chosen.id}
    if "color_temperature" in chosen.of.capabilities and rnd.random() < 0.5:
        tones = [n for n in range(2200, 6501, 100) if n != chosen.color_temperature]
        given["color_temperature"] = rnd.choice(tones)
        if rnd.random() < 0.5:
            return given
    return {**given, "brightness": rnd.choice(levels)}


def thermostat(house: House, rnd: Random) -> Arguments:
    """A thermostat and another target or mode."""
    chosen = _pick(rnd, *_able(house, "target_temperature"))
    targets = [n / 2 for n in range(34, 48) if n / 2 != chosen.target_temperature]
    modes = [m for m in chosen.of.modes if m != chosen.climate]
    both = {"temperature": rnd.choice(targets), "mode": rnd.choice(modes)}
    wanted = rnd.choice((("temperature",), ("temperature",), ("mode",), ("temperature", "mode")))
    return {"device_id": chosen.id, **{name: both[name] for name in wanted}}


def level(house: House, rnd: Random) -> Arguments:
    """A blind, fan or speaker and another level."""
    chosen = _pick(rnd, *_able(house, "level"))
    top = chosen.of.max_level
    return {
        "device_id": chosen.id,
        "percent": rnd.choice([n for n in range(5, top + 1, 5) if n != chosen.level]),
    }


def lock(house: House, rnd: Random) -> Arguments:
    """A lock and what it is not; the right PIN to unlock."""
    good, every = _able(house, "lock")
    good = [d for d in good if d.locked or not door_open(house, d)]
    chosen = _pick(rnd, good, every)
    if not chosen.locked:
        return {"device_id": chosen.id, "action": "lock"}
    pin = chosen.pin if rnd.random() >= SLIP else f"{rnd.randrange(10_000):04d}"
    return {"device_id": chosen.id, "action": "unlock", "pin": pin}


def appliance(house: House, rnd: Random) -> Arguments:
    """An idle appliance and one of its programs."""
    good, every = _able(house, "program")
    good = [d for d in good if not running(d, house.now)]
    chosen = _pick(rnd, good, every)
    return {"device_id": chosen.id, "program": rnd.choice(list(chosen.of.minutes))}


def child_lock(house: House, rnd: Random) -> Arguments:
    """A device with a child lock and the other state of it."""
    every = [d for d in _set_up(house) if "child_lock" in d.of.capabilities]
    chosen = _pick(rnd, [d for d in every if d.online], every)
    return {"device_id": chosen.id, "state": "off" if chosen.child_lock else "on"}


def sensors(house: House, rnd: Random) -> Arguments:
    """What finds a sensor that is there."""
    wanted = rnd.choice(list(house.sensors))
    picked = rnd.choice(("query", "kind", "none"))
    options = {"query": wanted.name, "kind": wanted.kind}
    given = {picked: options[picked]} if picked in options else {}
    return {**given, **_maybe(rnd, room_id=wanted.room_id)}


def history(house: House, rnd: Random) -> Arguments:
    """A sensor, perhaps only yesterday or today."""
    yesterday = (house.now - timedelta(days=1)).date().isoformat()
    limits = rnd.choice(({}, {}, {"since": house.today}, {"until": yesterday}))
    return {"sensor_id": rnd.choice(list(house.sensors)).id, **limits}


def scenes(house: House, rnd: Random) -> Arguments:
    """What finds a scene that is there."""
    wanted = rnd.choice(list(house.scenes))
    given = {"query": wanted.name} if rnd.random() < 0.5 else {}
    return {**given, **_maybe(rnd, home_id=wanted.home_id)}


def new_scene(house: House, rnd: Random) -> Arguments:
    """Two or three devices of one home whose state a scene can hold."""
    home = rnd.choice([h.id for h in house.homes])
    fit = [
        d
        for d in _set_up(house)
        if d.online
        and "program" not in d.of.capabilities
        and (d.locked or "lock" not in d.of.capabilities)
        and house.home_of(d) == home
    ]
    name = _free(rnd, SCENE_NAMES, [s.name for s in house.scenes])
    chosen = rnd.sample(fit, min(len(fit), rnd.choice((1, 2, 3))))
    return {"name": name, "device_ids": [d.id for d in chosen]} if chosen else {"name": name}


def scene(house: House, rnd: Random) -> Arguments:
    """A scene that would change something."""
    good = []
    for s in house.scenes:
        for x in s.settings:
            d = house.devices[x.device_id]
            free = d.online and not d.child_lock and not weak(d, x.capability)
            shut = x.capability != "lock" or not door_open(house, d)
            if free and shut and differs(d, fields_for(d, x.capability, x.value)):
                good.append(s.id)
                break
    return {"scene_id": _pick(rnd, good, [s.id for s in house.scenes])}


def automations(house: House, rnd: Random) -> Arguments:
    """What finds an automation that is there."""
    wanted = rnd.choice(list(house.automations))
    given = {"query": wanted.name} if rnd.random() < 0.4 else {}
    status = "enabled" if wanted.enabled else "disabled"
    return {**given, **_maybe(rnd, home_id=wanted.home_id, status=status)}


def new_automation(house: House, rnd: Random) -> Arguments:
    """A sensor or a device, what it can come to, and a scene of the same home."""
    given: Arguments
    source: Sensor | Device
    if rnd.random() < 0.5:
        source = rnd.choice(list(house.sensors))
        event = rnd.choice(conditions(source.kind))
        given = {"sensor_id": source.id, "event": event}
        if event in ("above", "below"):
            given["threshold"] = round(source.base + rnd.choice((-1, 1)) * source.swing / 2)
    else:
        usable = [d for d in _set_up(house) if {"power", "lock"} & set(d.of.capabilities)]
        source = rnd.choice(usable)
        can = source.of.capabilities
        events = [e for e, (capability, _) in DEVICE_EVENTS.items() if capability in can]
        given = {"device_id": source.id, "event": rnd.choice(events)}
    scenes = [s.id for s in house.scenes.where(home_id=house.home_of(source))]
    scene_id = _pick(rnd, scenes, [s.id for s in house.scenes])
    name = _free(rnd, AUTOMATION_NAMES, [a.name for a in house.automations])
    return {"name": name, "scene_id": scene_id, **given}


def toggle(house: House, rnd: Random) -> Arguments:
    """An automation and what it is not."""
    chosen = rnd.choice(list(house.automations))
    enable = chosen.enabled == (rnd.random() < SLIP)
    return {"automation_id": chosen.id, "action": "enable" if enable else "disable"}


def new_schedule(house: House, rnd: Random) -> Arguments:
    """A device, something it can do, a free time of day."""
    every = _set_up(house)
    chosen = rnd.choice([d for d in every if _actions(d)])
    days = rnd.choice(get_args(Days))
    times = [f"{h:02d}:{m:02d}" for h in (6, 7, 8, 17, 18, 19, 20, 21, 22) for m in (0, 15, 30, 45)]
    taken = {s.at for s in house.schedules.where(device_id=chosen.id) if matching(s.days, days)}
    at = _pick(rnd, [t for t in times if t not in taken], sorted(taken) or times)
    return {"device_id": chosen.id, "action": rnd.choice(_actions(chosen)), "at": at, "days": days}


def _actions(device: Device) -> list[str]:
    """What a schedule can let the device do."""
    if device.kind == "blind":
        return ["open", "close"]
    if device.kind == "lock":
        return ["lock"]
    return ["on", "off"] if "power" in device.of.capabilities else []


def old_schedule(house: House, rnd: Random) -> Arguments:
    """A schedule that is there."""
    found = [s.id for s in house.schedules]
    return {"schedule_id": rnd.choice(found)} if found else {}
