"""Plausible arguments for each tool, read off the rows of a session. An empty dict: none found."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import timedelta
from random import Random
from typing import Any, TypeVar

from provegym.servers.vehicle.state import (
    FLAT_KPA,
    IN_GEAR,
    Fleet,
    Vehicle,
    energy_for,
    road_metres,
)

Arguments = dict[str, Any]
T = TypeVar("T")

SLIP = 0.05
"""How often a row is chosen without a look at its state."""
_TRIES = 8


def _maybe(rnd: Random, **makers: Callable[[], Any]) -> Arguments:
    """Each of the fields with a chance of 30 %."""
    return {name: make() for name, make in makers.items() if rnd.random() < 0.3}


def _pick(rnd: Random, rows: Sequence[T]) -> T:
    return rows[rnd.randrange(len(rows))]


def _vehicle(fleet: Fleet, rnd: Random, fits: Callable[[Vehicle], bool]) -> Vehicle:
    """A vehicle that fits, now and then any."""
    every = list(fleet.vehicles)
    found = [v for v in every if fits(v)]
    return _pick(rnd, found if found and rnd.random() >= SLIP else every)


def _stands_free(v: Vehicle) -> bool:
    return not v.speed_kmh and v.gear not in IN_GEAR


def _is_closed(fleet: Fleet, v: Vehicle) -> bool:
    return not fleet.doors.where(vehicle_id=v.id, is_open=True)


def _is_locked(fleet: Fleet, v: Vehicle) -> bool:
    return not fleet.doors.where(vehicle_id=v.id, is_locked=False)


def _has_flat(fleet: Fleet, v: Vehicle) -> bool:
    return any(t.pressure_kpa < FLAT_KPA for t in fleet.tires.where(vehicle_id=v.id))


def _can_roll(fleet: Fleet, v: Vehicle) -> bool:
    free = v.foot_brake == v.parking_brake == "released"
    return v.engine == "on" and v.gear in IN_GEAR and free and not _has_flat(fleet, v)


def vehicles(fleet: Fleet, rnd: Random) -> Arguments:
    """A nickname or an energy."""
    if rnd.random() < 0.5:
        return {"query": _pick(rnd, list(fleet.vehicles)).nickname}
    return _maybe(rnd, energy=lambda: rnd.choice(("petrol", "diesel", "electric")))


def one_vehicle(fleet: Fleet, rnd: Random) -> Arguments:
    """Any vehicle."""
    return {"vehicle_id": _pick(rnd, list(fleet.vehicles)).id}


def engine(fleet: Fleet, rnd: Random) -> Arguments:
    """A vehicle whose engine can be started, or stopped."""

    def can_start(v: Vehicle) -> bool:
        ready = v.foot_brake == "applied" and v.range_km > 0
        return v.engine == "off" and ready and _is_closed(fleet, v)

    def can_stop(v: Vehicle) -> bool:
        return v.engine == "on" and _stands_free(v)

    starts = any(map(can_start, fleet.vehicles)) and rnd.random() < 0.6
    vehicle = _vehicle(fleet, rnd, can_start if starts else can_stop)
    return {"vehicle_id": vehicle.id, "action": "start" if starts else "stop"}


def gear(fleet: Fleet, rnd: Random) -> Arguments:
    """A running vehicle at a standstill with its foot brake applied, and another gear."""

    def fits(v: Vehicle) -> bool:
        return v.engine == "on" and v.foot_brake == "applied"

    vehicle = _vehicle(fleet, rnd, fits)
    gears = ["park", "neutral"]
    if _is_locked(fleet, vehicle) or rnd.random() < SLIP:
        gears += ["drive", "drive", "reverse"]
    return {"vehicle_id": vehicle.id, "gear": rnd.choice([g for g in gears if g != vehicle.gear])}


def brake(fleet: Fleet, rnd: Random) -> Arguments:
    """A brake of a vehicle, the other way than it is."""
    vehicle = _vehicle(fleet, rnd, lambda v: v.gear != "neutral" and not v.speed_kmh)
    which = rnd.choice(("foot", "parking"))
    now = vehicle.foot_brake if which == "foot" else vehicle.parking_brake
    position = "released" if now == "applied" else "applied"
    return {"vehicle_id": vehicle.id, "brake": which, "position": position}


def speed(fleet: Fleet, rnd: Random) -> Arguments:
    """A vehicle that can roll, and another speed."""
    vehicle = _vehicle(fleet, rnd, lambda v: _can_roll(fleet, v))
    speeds = (0, 5, 10) if vehicle.gear == "reverse" else (0, 30, 50, 70, 90, 110)
    speed_kmh = rnd.choice([s for s in speeds if s != vehicle.speed_kmh])
    return {"vehicle_id": vehicle.id, "speed_kmh": speed_kmh}


def estimate(fleet: Fleet, rnd: Random) -> Arguments:
    """A vehicle and another place than where it is."""
    vehicle = _pick(rnd, list(fleet.vehicles))
    places = [d.id for d in fleet.destinations if d.id != vehicle.location_id]
    return {"vehicle_id": vehicle.id, "destination_id": rnd.choice(places)}


def navigate(fleet: Fleet, rnd: Random) -> Arguments:
    """A vehicle and a destination within its range."""
    places = list(fleet.destinations)
    for _ in range(_TRIES):
        vehicle, place = _pick(rnd, list(fleet.vehicles)), _pick(rnd, places)
        distance = road_metres(fleet.destinations[vehicle.location_id], place)
        led = fleet.navigations.where(vehicle_id=vehicle.id, destination_id=place.id)
        if rnd.random() < SLIP or (0 < energy_for(vehicle, distance) <= vehicle.level and not led):
            break
    return {"vehicle_id": vehicle.id, "destination_id": place.id}


def drive(fleet: Fleet, rnd: Random) -> Arguments:
    """A vehicle that is ready to be driven to its destination."""
    led = {n.vehicle_id for n in fleet.navigations}

    def fits(v: Vehicle) -> bool:
        return v.id in led and v.gear == "drive" and _can_roll(fleet, v)

    return {"vehicle_id": _vehicle(fleet, rnd, fits).id}


def door(fleet: Fleet, rnd: Random) -> Arguments:
    """An open door to close, or an unlocked one to open."""
    rows = fleet.doors.where(is_locked=False)
    free = [d for d in rows if d.is_open or _stands_free(fleet.vehicles[d.vehicle_id])]
    row = _pick(rnd, free if free and rnd.random() >= SLIP else list(fleet.doors))
    action = "close" if row.is_open else "open"
    return {"vehicle_id": row.vehicle_id, "door": row.name, "action": action}


def lock(fleet: Fleet, rnd: Random) -> Arguments:
    """A vehicle to lock or to unlock, now and then a single door of it."""
    vehicle = _vehicle(fleet, rnd, lambda v: _stands_free(v) and _is_closed(fleet, v))
    action = "unlock" if _is_locked(fleet, vehicle) else "lock"
    rows = fleet.doors.where(vehicle_id=vehicle.id, is_locked=action == "unlock")
    return {
        "vehicle_id": vehicle.id,
        "action": action,
        **_maybe(rnd, door=lambda: _pick(rnd, rows).name),
    }


def climate(fleet: Fleet, rnd: Random) -> Arguments:
    """A climate zone to switch on with some settings, or to switch off."""
    vehicle = _vehicle(fleet, rnd, lambda v: v.engine == "on" or (v.is_electric and v.percent > 9))
    row = _pick(rnd, fleet.climate_zones.where(vehicle_id=vehicle.id))
    given = {"vehicle_id": vehicle.id, "zone": row.zone}
    if row.power == "on" and rnd.random() < 0.4:
        return {**given, "power": "off"}
    degrees = rnd.choice([t for t in range(18, 25) if t != row.temperature_c])
    settings = {"temperature_c": degrees, **_maybe(rnd, fan=lambda: rnd.randint(1, 5))}
    return {**given, "power": "on", **(settings if row.power == "on" else _some(rnd, settings))}


def _some(rnd: Random, settings: Arguments) -> Arguments:
    return settings if rnd.random() < 0.6 else {}


def light(fleet: Fleet, rnd: Random) -> Arguments:
    """Lights to switch over that may be switched over."""
    vehicle = _vehicle(fleet, rnd, lambda v: True)
    rows = {x.name: x.power for x in fleet.lights.where(vehicle_id=vehicle.id)}
    names = ["interior-lights", "hazard-lights"]
    if vehicle.engine == "on":
        names += ["fog-lights"] if rows["headlights"] == "on" else ["headlights"]
        names += ["headlights"] if rows["fog-lights"] == "off" else []
    name = rnd.choice(names)
    power = "off" if rows[name] == "on" else "on"  # type: ignore[index]
    return {"vehicle_id": vehicle.id, "light": name, "power": power}


def inflate(fleet: Fleet, rnd: Random) -> Arguments:
    """A tire of a vehicle that stands at an air pump, the flattest one most often."""

    def fits(v: Vehicle) -> bool:
        kind = fleet.destinations[v.location_id].kind
        return not v.speed_kmh and kind in ("fuel", "garage")

    vehicle = _vehicle(fleet, rnd, fits)
    rows = sorted(fleet.tires.where(vehicle_id=vehicle.id), key=lambda t: t.pressure_kpa)
    row = rows[0] if rnd.random() < 0.6 else _pick(rnd, rows)
    pressures = [row.recommended_kpa + more for more in (0, 0, 10)]
    pressure = rnd.choice([p for p in pressures if p != row.pressure_kpa])
    return {"vehicle_id": vehicle.id, "tire": row.position, "pressure_kpa": pressure}


def destinations(fleet: Fleet, rnd: Random) -> Arguments:
    """A name, or the nearest of a kind."""
    place = _pick(rnd, list(fleet.destinations))
    if rnd.random() < 0.5:
        return {"query": place.name}
    nearest = {"vehicle_id": _pick(rnd, list(fleet.vehicles)).id} if rnd.random() < 0.5 else {}
    return {"kind": place.kind, **nearest}


def _at_station(fleet: Fleet, v: Vehicle) -> bool:
    place = fleet.destinations[v.location_id]
    kind = "charging" if v.is_electric else "fuel"
    return v.engine == "off" and place.kind == kind and place.status == "available"


def refuel(fleet: Fleet, rnd: Random) -> Arguments:
    """A vehicle at a fuel station and litres that its tank takes."""
    vehicle = _vehicle(
        fleet,
        rnd,
        lambda v: not v.is_electric and _at_station(fleet, v) and v.capacity - v.level > 6000,
    )
    free = max((vehicle.capacity - vehicle.level) // 1000, 6)
    return {"vehicle_id": vehicle.id, "litres": rnd.randrange(5, min(free, 60))}


def charge(fleet: Fleet, rnd: Random) -> Arguments:
    """A vehicle at a charging station and a higher charge."""
    vehicle = _vehicle(
        fleet, rnd, lambda v: v.is_electric and _at_station(fleet, v) and v.percent < 95
    )
    targets = [p for p in (50, 60, 70, 80, 80, 90, 100) if p > vehicle.percent]
    return {"vehicle_id": vehicle.id, "target_percent": rnd.choice(targets or [100])}


def trips(fleet: Fleet, rnd: Random) -> Arguments:
    """Filters that one trip meets."""
    trip = _pick(rnd, list(fleet.trips))
    name = fleet.destinations[trip.destination_id].name
    picked = {"query": name} if rnd.random() < 0.4 else {"vehicle_id": trip.vehicle_id}
    return {**picked, **_maybe(rnd, since=lambda: _day(fleet, rnd))}


def refills(fleet: Fleet, rnd: Random) -> Arguments:
    """Filters that one refill meets."""
    refill = _pick(rnd, list(fleet.refills))
    name = fleet.destinations[refill.station_id].name
    picked = {"query": name} if rnd.random() < 0.4 else {"vehicle_id": refill.vehicle_id}
    return {**picked, **_maybe(rnd, since=lambda: refill.at[:10])}


def _day(fleet: Fleet, rnd: Random) -> str:
    return (fleet.now - timedelta(days=rnd.randrange(3, 14))).date().isoformat()
