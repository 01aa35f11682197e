"""The smart home at the start of an episode: two homes, a day of readings, two weeks of energy."""

from __future__ import annotations

from datetime import datetime, timedelta
from random import Random
from typing import Any

from provegym.servers.iot_devices import plan
from provegym.servers.iot_devices.models import MODELS, Model
from provegym.servers.iot_devices.sensing import value_at
from provegym.servers.iot_devices.state import (
    Automation,
    Device,
    EnergyDay,
    Home,
    Mode,
    Reading,
    Room,
    Scene,
    Schedule,
    Sensor,
    Setting,
    Trigger,
)
from provegym.world.cast import Cast
from provegym.world.server import Seeds

LETTERS = "0123456789abcdefghjkmnpqrstvwxyz"
_SHIFTS = range(0, 30, 5)
READINGS, EVERY_HOURS = 8, 3
ENERGY_DAYS = 14
OFFLINE, LOCKED, WEAK = 0.12, 0.35, 0.25
"""Shares of devices that are offline, child-locked where they can be, low on battery."""
METERED = frozenset(("plug", "washing_machine", "dishwasher", "oven"))
"""Kinds that count what they draw; heaters and coolers do too."""


class Plot:
    """Collects rows while the world is made."""

    def __init__(self, cast: Cast, rnd: Random) -> None:
        self.cast, self.rnd, self.start = cast, rnd, cast.start
        self._used: set[str] = set()
        self._codes: set[str] = set()
        retreat = rnd.choice(plan.RETREATS)
        self.word = retreat.split()[-1]
        modes: tuple[Mode, ...] = ("home", "home", "night")
        far: tuple[Mode, ...] = ("away", "vacation", "away", "home")
        self.homes = [
            Home(self.id("home"), rnd.choice(plan.HOUSES), cast.user.city, rnd.choice(modes), 31),
            Home(self.id("home"), retreat, cast.others[0].city, rnd.choice(far), 27),
        ]
        self.rooms: dict[str, Room] = {}
        self.devices: dict[str, Device] = {}
        self.sensors: dict[str, Sensor] = {}
        self.scenes: dict[str, Scene] = {}

    def id(self, prefix: str) -> str:
        """A fresh id."""
        while True:
            n = self.rnd.getrandbits(30)
            new = f"{prefix}_{''.join([LETTERS[n >> shift & 31] for shift in _SHIFTS])}"
            if new not in self._used:
                self._used.add(new)
                return new

    def name(self, text: str) -> str:
        """A planned name in this world's words."""
        return text.replace("Retreat", self.word)

    def code(self) -> str:
        """A setup code that no other device has."""
        while True:
            n = self.rnd.randrange(10**8)
            code = f"{n // 10**5:03d}-{n // 1000 % 100:02d}-{n % 1000:03d}"
            if code not in self._codes:
                self._codes.add(code)
                return code


def seed(cast: Cast, rnd: Random) -> Seeds:
    """Rows of every table for one world."""
    plot = Plot(cast, rnd)
    _rooms(plot)
    for room, noun, model in plan.DEVICES:
        _device(plot, plot.rooms[room].id, plot.name(f"{room} {noun}"), MODELS[model])
    for model in plan.NEW_DEVICES:
        _device(plot, "", f"New {MODELS[model].kind} {model}", MODELS[model])
    _sensors(plot)
    _scenes(plot)
    return {
        "homes": plot.homes,
        "rooms": list(plot.rooms.values()),
        "devices": list(plot.devices.values()),
        "sensors": list(plot.sensors.values()),
        "readings": _readings(plot),
        "scenes": list(plot.scenes.values()),
        "automations": [_automation(plot, *line) for line in plan.AUTOMATIONS],
        "schedules": _schedules(plot),
        "energy": _energy(plot),
    }


def _rooms(plot: Plot) -> None:
    for home, rooms in zip(plot.homes, (plan.MAIN_ROOMS, plan.RETREAT_ROOMS), strict=True):
        for name, floor in rooms:
            plot.rooms[name] = Room(plot.id("room"), home.id, plot.name(name), floor)


def _device(plot: Plot, room_id: str, name: str, model: Model) -> None:
    rnd, new = plot.rnd, not room_id
    plot.devices[name] = Device(
        id=plot.id("dev"),
        room_id=room_id,
        name=name,
        model=model.name,
        setup_code=plot.code(),
        online=new or rnd.random() >= OFFLINE,
        battery=_battery(rnd) if model.battery else -1,
        **_state(plot, model, new),
    )


def _battery(rnd: Random) -> int:
    return rnd.randrange(3, 15) if rnd.random() < WEAK else rnd.randrange(25, 101)


def _state(plot: Plot, model: Model, new: bool) -> dict[str, Any]:
    """A plausible present state, capability by capability."""
    rnd, can = plot.rnd, model.capabilities
    state: dict[str, Any] = {}
    if "power" in can:
        state["on"] = not new and rnd.random() < 0.5
    if "brightness" in can:
        state["brightness"] = rnd.choice((30, 45, 55, 70, 85, 100))
    if "color_temperature" in can:
        state["color_temperature"] = rnd.choice((2400, 3000, 3500, 4500))
    if "target_temperature" in can:
        state["target_temperature"] = rnd.randrange(34, 46) / 2
        state["climate"] = rnd.choice(("heat", "heat", "off"))
    if "level" in can:
        state["level"] = rnd.choice((15, 25, 35, 55))
    if "lock" in can:
        state |= {"locked": rnd.random() < 0.55, "pin": f"{rnd.randrange(10_000):04d}"}
    if "child_lock" in can:
        state["child_lock"] = not new and rnd.random() < LOCKED
    if "program" in can and state["on"] and rnd.random() < 0.6:
        program, minutes = rnd.choice(model.programs)
        left = timedelta(minutes=rnd.randrange(minutes // 2, minutes))
        state |= {"program": program, "ends_at": (plot.start + left).isoformat()}
    return state


def _sensors(plot: Plot) -> None:
    rnd = plot.rnd
    lost = set(rnd.sample(range(len(plan.SENSORS)), 3))
    for i, (room, noun, kind, base, swing) in enumerate(plan.SENSORS):
        planned = f"{room} {noun}"
        guarded = plan.GUARDED.get(planned, "")
        measured = swing != 0
        name = plot.name(planned)
        plot.sensors[name] = Sensor(
            id=plot.id("sen"),
            room_id=plot.rooms[room].id,
            name=name,
            kind=kind,
            battery=_battery(rnd),
            base=round(base * rnd.uniform(0.94, 1.06), 1) if measured else base,
            swing=float(swing),
            salt=rnd.getrandbits(48),
            guards=plot.devices[plot.name(guarded)].id if guarded else "",
            offline_since=_quarter(plot, rnd) if i in lost else "",
        )


def _quarter(plot: Plot, rnd: Random) -> str:
    return (plot.start - timedelta(minutes=15 * rnd.randrange(8, 70))).isoformat()


def _readings(plot: Plot) -> list[Reading]:
    """Every few hours a value, until a sensor went offline."""
    found = []
    for sensor in plot.sensors.values():
        last = _last(plot, sensor)
        for step in range(READINGS, 0, -1):
            at = plot.start - timedelta(hours=EVERY_HOURS * step)
            if at <= last:
                value = value_at(sensor, at)
                found.append(Reading(plot.id("rdg"), sensor.id, at.isoformat(), value))
    return found


def _last(plot: Plot, sensor: Sensor) -> datetime:
    return datetime.fromisoformat(sensor.offline_since) if sensor.offline_since else plot.start


def _scenes(plot: Plot) -> None:
    homes = {r.id: r.home_id for r in plot.rooms.values()}
    for name, wanted in plan.SCENES:
        settings = tuple(
            Setting(plot.devices[plot.name(device)].id, capability, float(value))
            for device, capability, value in wanted
        )
        room = plot.devices[plot.name(wanted[0][0])].room_id
        plot.scenes[name] = Scene(plot.id("scn"), homes[room], name, settings)


def _automation(
    plot: Plot, name: str, watched: str, event: str, threshold: float, scene: str
) -> Automation:
    source = plot.name(watched)
    sensor, device = plot.sensors.get(source), plot.devices.get(source)
    kinds: tuple[Trigger, Trigger] = ("sensor", "device")
    trigger: Trigger = kinds[sensor is None] if sensor or device else "mode"
    return Automation(
        id=plot.id("aut"),
        home_id=plot.scenes[scene].home_id,
        name=plot.name(name),
        trigger=trigger,
        event=event,
        scene_id=plot.scenes[scene].id,
        sensor_id=sensor.id if sensor else "",
        device_id=device.id if device else "",
        threshold=float(threshold),
        enabled=plot.rnd.random() < 0.7,
    )


def _schedules(plot: Plot) -> list[Schedule]:
    return [
        Schedule(plot.id("sch"), plot.devices[plot.name(device)].id, at, days, action)
        for device, at, days, action in plan.SCHEDULES
    ]


def _energy(plot: Plot) -> list[EnergyDay]:
    """What each metered device used on each of the last days."""
    rnd, found = plot.rnd, []
    days = [(plot.start - timedelta(days=n)).date().isoformat() for n in range(ENERGY_DAYS, 0, -1)]
    for device in plot.devices.values():
        model = device.of
        if not device.room_id or (model.kind not in METERED and model.name != "Climate Pro"):
            continue
        hours = {"plug": 9, "thermostat": 5}.get(model.kind, 1.5)
        for day in days:
            wh = round(model.watts * hours * rnd.uniform(0.3, 1.4))
            found.append(EnergyDay(plot.id("nrg"), device.id, day, wh))
    return found
