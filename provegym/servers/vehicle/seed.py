"""A fleet at the start of an episode: vehicles in all kinds of states, and where they have been.

Each vehicle's history is made backwards from where and how full it is now, so that trips and
refills lead exactly to that.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from random import Random
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from provegym.servers.vehicle import words
from provegym.servers.vehicle.state import (
    ClimateZone,
    Destination,
    Door,
    DoorName,
    Energy,
    Kind,
    Light,
    LightName,
    Navigation,
    Refill,
    Tire,
    TireName,
    Trip,
    Vehicle,
    Zone,
    energy_for,
    road_metres,
)
from provegym.world.cast import Cast
from provegym.world.server import Seeds
from provegym.world.stories import stories

LETTERS = "0123456789abcdefghjkmnpqrstvwxyz"
HOMES, TRIPS = 18, 18
TOWN_M, NEAR_M = 11_000, 45_000
DOORS: tuple[DoorName, ...] = (
    *("front-left", "front-right", "rear-left", "rear-right"),
    *("trunk", "hood"),
)
TIRES: tuple[TireName, ...] = ("front-left", "front-right", "rear-left", "rear-right")
LIGHTS: tuple[LightName, ...] = ("headlights", "fog-lights", "interior-lights", "hazard-lights")
ZONES: tuple[Zone, ...] = ("driver", "passenger", "rear")


class Role(Struct, frozen=True):
    """The state in which a vehicle begins: what it runs on, where it is and what is on."""

    energy: Energy
    where: str
    percent: tuple[float, float]
    facts: dict[str, Any] = {}
    open_doors: tuple[DoorName, ...] = ()
    locked: bool = True
    lights: tuple[LightName, ...] = ()
    flat: bool = False
    heading: str = ""
    """"near", "far" or nowhere."""


_ON = {"engine": "on", "gear": "drive", "parking_brake": "released"}
WAITING = Role("electric", "office", (40, 85), {**_ON, "foot_brake": "applied"}, heading="near")
MOVING = Role(
    "petrol", "home", (45, 90), {**_ON, "speed_kmh": 50}, lights=("headlights",), heading="near"
)
REVERSING = Role(
    *("diesel", "sight", (40, 90)),
    facts={**_ON, "gear": "reverse", "speed_kmh": 5},
    lights=("headlights", "fog-lights"),
)
FLAT = Role("diesel", "garage", (30, 80), _ON, flat=True, heading="near")
NEUTRAL = Role(
    *("electric", "home", (30, 70)),
    facts={"engine": "on", "gear": "neutral", "foot_brake": "applied"},
    locked=False,
    heading="near",
)
CHARGING = Role("electric", "charging", (5, 9))
BROKEN_CHARGER = Role(
    *("electric", "broken charging", (20, 45)),
    open_doors=("front-left", "trunk"),
    locked=False,
    lights=("interior-lights",),
)
LAST_DROP = Role("petrol", "fuel", (0.03, 0.1), locked=False, lights=("hazard-lights",))
SEATED = Role("petrol", "busy fuel", (5, 9), {"foot_brake": "applied"}, heading="far")
PARKED = Role("diesel", "own home", (35, 95))
ROLES = (
    *(WAITING, MOVING, REVERSING, FLAT, NEUTRAL, CHARGING, BROKEN_CHARGER, LAST_DROP),
    *(SEATED, PARKED),
)


class Garage:
    """Collects the rows of a fleet while it is made."""

    def __init__(self, cast: Cast, rnd: Random) -> None:
        self.cast, self.rnd = cast, rnd
        self._used: set[str] = set()
        self.destinations: list[Destination] = []
        self.vehicles: list[Vehicle] = []
        self.doors: list[Door] = []
        self.tires: list[Tire] = []
        self.zones: list[ClimateZone] = []
        self.lights: list[Light] = []
        self.navigations: list[Navigation] = []
        self.trips: list[Trip] = []
        self.refills: list[Refill] = []

    def id(self, prefix: str) -> str:
        """A fresh id."""
        while True:
            bits = self.rnd.getrandbits(30)
            new = f"{prefix}_{''.join([LETTERS[bits >> 5 * i & 31] for i in range(6)])}"
            if new not in self._used:
                self._used.add(new)
                return new

    def add(self, name: str, kind: Kind, reach_m: tuple[int, int], **more: Any) -> Destination:
        """A destination, so far from the centre."""
        rnd = self.rnd
        far, along = rnd.randint(*reach_m), rnd.uniform(-1, 1)
        other = int(far * (1 - along * along) ** 0.5) * rnd.choice((-1, 1))
        address = more.pop("address", f"{rnd.randrange(1, 300)} {rnd.choice(words.STREETS)}")
        row = Destination(self.id("dst"), name, kind, address, int(far * along), other, **more)
        self.destinations.append(row)
        return row

    def of(self, kind: str) -> list[Destination]:
        """The destinations of a kind."""
        return [d for d in self.destinations if d.kind == kind]


def seed(cast: Cast, rnd: Random) -> Seeds:
    """Rows of every table for one world."""
    garage = Garage(cast, rnd)
    _destinations(garage)
    cars = {energy: rnd.sample(every, len(every)) for energy, every in words.CARS.items()}
    for role in ROLES:
        car = words.ROADSTER if role is SEATED else cars[role.energy].pop()
        _vehicle(garage, role, *car)
    rnd.shuffle(garage.vehicles)
    _told_kitchen(garage)
    garage.trips.sort(key=lambda t: t.ended_at)
    garage.refills.sort(key=lambda r: r.at)
    return {
        "vehicles": garage.vehicles,
        "doors": garage.doors,
        "tires": garage.tires,
        "climate_zones": garage.zones,
        "lights": garage.lights,
        "destinations": garage.destinations,
        "navigations": garage.navigations,
        "trips": garage.trips,
        "refills": garage.refills,
    }


def _destinations(garage: Garage) -> None:
    cast, rnd = garage.cast, garage.rnd
    garage.add("Home", "home", (500, TOWN_M), address=cast.user.street)
    for person in cast.others[:HOMES]:
        reach = (500, TOWN_M if rnd.random() < 0.8 else NEAR_M)
        garage.add(f"{person.name}'s home", "home", reach, address=person.street)
    for company in cast.companies:
        garage.add(company, "office", (300, TOWN_M))
    for i, name in enumerate(words.FUEL):
        status = "occupied" if i == 1 else "out_of_order" if i == 2 else "available"
        reach = (1000, TOWN_M) if i < 7 else (20_000, NEAR_M)
        garage.add(name, "fuel", reach, price=rnd.randrange(139, 198), status=status)
    for i, name in enumerate(words.CHARGING):
        status = "out_of_order" if i == 1 else "occupied" if i == 2 else "available"
        reach = (1000, TOWN_M) if i < 7 else (20_000, NEAR_M)
        garage.add(name, "charging", reach, price=rnd.randrange(29, 79), status=status)
    for name in words.GARAGES:
        garage.add(name, "garage", (1500, TOWN_M))
    for i, name in enumerate(rnd.sample(words.SIGHTS, 12)):
        garage.add(name, "sight", (15_000, NEAR_M) if i < 7 else (420_000, 700_000))


def _place(garage: Garage, where: str) -> Destination:
    """Somewhere that a role names."""
    if where == "own home":
        return garage.destinations[0]
    if where.startswith(("busy", "broken")):
        wanted = "occupied" if where.startswith("busy") else "out_of_order"
        return next(d for d in garage.of(where.split()[1]) if d.status == wanted)
    rows = [d for d in garage.of(where) if d.status in ("", "available") and _is_near(d)]
    return garage.rnd.choice(rows[1:])


def _is_near(place: Destination) -> bool:
    return max(abs(place.east_m), abs(place.north_m)) <= NEAR_M


def _vehicle(garage: Garage, role: Role, nickname: str, model: words.Model) -> None:
    rnd = garage.rnd
    place, odometer = _place(garage, role.where), rnd.randrange(9_000, 140_000) * 1000
    level = int(model.capacity * rnd.uniform(*role.percent) / 100)
    row = Vehicle(
        *(garage.id("veh"), nickname, model.name, model.energy, model.capacity),
        consumption=model.consumption,
        first_level=level,
        first_odometer_m=odometer,
        level=level,
        odometer_m=odometer,
        location_id=place.id,
        **role.facts,
    )
    garage.vehicles.append(_with_history(garage, row, place))
    _parts(garage, row, role, small=role is SEATED)
    if role.heading:
        _navigate(garage, row, place, far=role.heading == "far")


def _with_history(garage: Garage, v: Vehicle, place: Destination) -> Vehicle:
    """The vehicle with its first level and odometer, once its trips have been made backwards."""
    rnd, level, driven = garage.rnd, v.level, 0
    stations = [s for s in garage.of("charging" if v.is_electric else "fuel") if _is_near(s)]
    near = [d for d in garage.destinations if _is_near(d)]
    when = garage.cast.start - timedelta(minutes=rnd.randrange(20, 900))
    for _ in range(TRIPS):
        is_full = level > v.capacity * 0.6
        origin = _other(rnd, stations if is_full else near, place)
        distance = road_metres(origin, place)
        used = energy_for(v, distance)
        trip = Trip(garage.id("trip"), v.id, origin.id, place.id, distance, used, _iso(when))
        garage.trips.append(trip)
        level, driven, place = level + used, driven + distance, origin
        when -= timedelta(minutes=rnd.randrange(200, 3000))
        if is_full:
            before = int(v.capacity * rnd.uniform(0.08, 0.3))
            _refill(garage, v, origin, level - before, when + timedelta(minutes=20))
            level = before
    return replace(v, first_level=level, first_odometer_m=v.odometer_m - driven)


def _other(rnd: Random, places: Sequence[Destination], but: Destination) -> Destination:
    while (found := rnd.choice(places)).id == but.id:
        pass
    return found


def _iso(when: datetime) -> str:
    return when.isoformat()


def _refill(garage: Garage, v: Vehicle, station: Destination, amount: int, at: datetime) -> None:
    cost = (amount * station.price + 500) // 1000
    row = Refill(garage.id("fill"), v.id, station.id, amount, cost, _iso(at))
    garage.refills.append(row)


def _parts(garage: Garage, v: Vehicle, role: Role, *, small: bool) -> None:
    rnd, new = garage.rnd, garage.id
    for door in DOORS:
        if not (small and door.startswith("rear")):
            is_open = door in role.open_doors
            garage.doors.append(Door(new("door"), v.id, door, is_open, role.locked))
    recommended, low = rnd.choice((220, 230, 240, 250, 260)), rnd.choice(TIRES)
    for tire in TIRES:
        pressure = recommended + rnd.randint(-14, 8)
        if tire == low and (role.flat or rnd.random() < 0.4):
            pressure = rnd.randint(85, 140) if role.flat else recommended - rnd.randint(25, 50)
        garage.tires.append(Tire(new("tire"), v.id, tire, pressure, recommended))
    for zone in ZONES[:2] if small else ZONES:
        on = "on" if v.engine == "on" and rnd.random() < 0.4 else "off"
        row = ClimateZone(new("zone"), v.id, zone, on, rnd.randrange(18, 25), rnd.randint(1, 4))  # type: ignore[arg-type]
        garage.zones.append(row)
    for light in LIGHTS:
        power = "on" if light in role.lights else "off"
        garage.lights.append(Light(new("lamp"), v.id, light, power))  # type: ignore[arg-type]


def _navigate(garage: Garage, v: Vehicle, place: Destination, *, far: bool) -> None:
    rows = [d for d in garage.destinations if _is_near(d) != far and d.id != place.id]
    target = garage.rnd.choice(rows)
    distance = road_metres(place, target)
    garage.navigations.append(Navigation(garage.id("nav"), v.id, target.id, distance))


def _told_kitchen(garage: Garage) -> None:
    """The restaurant that others know of too; drawn apart and last, so that all else stays."""
    told = stories(garage.cast).kitchen
    garage.rnd = garage.cast.rng("stories", "vehicle")
    garage.add(told.name, "restaurant", (500, TOWN_M), address=told.street)
