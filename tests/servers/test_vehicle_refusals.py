"""Each refusal of the fleet occurs in its worlds as seeded; impossible vehicles are noticed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from provegym.servers.vehicle import SERVER
from provegym.servers.vehicle.rules import violations
from provegym.servers.vehicle.state import Vehicle
from tests.servers.talk import agree, declared
from tests.servers.vehicle_desk import Desk, desk

Scenario = Callable[[Desk], dict[str, Any]]


def _of(which: Callable[[Desk], Vehicle], **given: Any) -> Scenario:
    return lambda d: {"vehicle_id": which(d).id, **given}


def _to(which: Callable[[Desk], Vehicle], target: Callable[[Desk, Vehicle], str]) -> Scenario:
    return lambda d: {"vehicle_id": which(d).id, "destination_id": target(d, which(d))}


def _here(d: Desk, v: Vehicle) -> str:
    return v.location_id


def _led(d: Desk, v: Vehicle) -> str:
    return d.fleet.navigations.where(vehicle_id=v.id)[0].destination_id


def _far(d: Desk, v: Vehicle) -> str:
    return d.far().id


def _stopped_neutral(d: Desk) -> Vehicle:
    """The electric vehicle in neutral, its engine switched off, away from any station."""
    v = d.neutral()
    if d.now(v).engine == "on":
        d.ok("switch_vehicle_engine", vehicle_id=v.id, action="stop")
    return v


def _neutral_unbraked(d: Desk) -> dict[str, Any]:
    call = {"vehicle_id": d.neutral().id, "brake": "parking", "position": "released"}
    d.ok("set_vehicle_brake", **call)
    return {**call, "brake": "foot"}


def _released(d: Desk) -> dict[str, Any]:
    v = d.waiting()
    d.ok("set_vehicle_brake", vehicle_id=v.id, brake="foot", position="released")
    return {"vehicle_id": v.id, "gear": "park"}


def _open_in_neutral(d: Desk) -> dict[str, Any]:
    v = d.neutral()
    d.ok("set_vehicle_door", vehicle_id=v.id, door="hood", action="open")
    return {"vehicle_id": v.id, "gear": "drive"}


def _charged(d: Desk) -> dict[str, Any]:
    call = {"vehicle_id": d.at_charger().id, "target_percent": 60}
    d.ok("charge_vehicle", **call)
    return {**call, "target_percent": 50}


def _pressure(d: Desk) -> dict[str, Any]:
    tire = d.fleet.tires.where(vehicle_id=d.last_drop().id)[0]
    call = {"vehicle_id": tire.vehicle_id, "tire": tire.position}
    return {**call, "pressure_kpa": tire.pressure_kpa}


NOBODY = _of(lambda d: Vehicle("veh_none", "", "", "petrol", 1, 1, 0, 0, 0, 0, ""))
ARGUMENTS: dict[str, dict[str, Any]] = {
    "switch_vehicle_engine": {"action": "start"},
    "shift_vehicle_gear": {"gear": "drive"},
    "set_vehicle_brake": {"brake": "foot", "position": "applied"},
    "set_vehicle_speed": {"speed_kmh": 30},
    "estimate_vehicle_trip": {"destination_id": "dst_none"},
    "start_vehicle_navigation": {"destination_id": "dst_none"},
    "set_vehicle_door": {"door": "hood", "action": "open"},
    "lock_vehicle_doors": {"action": "lock"},
    "set_vehicle_climate": {"zone": "driver", "power": "on"},
    "set_vehicle_lights": {"light": "headlights", "power": "on"},
    "inflate_vehicle_tire": {"tire": "front-left", "pressure_kpa": 230},
    "refuel_vehicle": {"litres": 10},
    "charge_vehicle": {"target_percent": 60},
}
START = {"action": "start"}
SCENARIOS: dict[tuple[str, str], Scenario] = {
    ("switch_vehicle_engine", "already_on"): _of(Desk.moving, **START),
    ("switch_vehicle_engine", "doors_open"): _of(Desk.boarding, **START),
    ("switch_vehicle_engine", "brake_not_applied"): _of(Desk.parked, **START),
    ("switch_vehicle_engine", "tank_empty"): _of(Desk.last_drop, **START),
    ("switch_vehicle_engine", "already_off"): _of(Desk.parked, action="stop"),
    ("switch_vehicle_engine", "vehicle_moving"): _of(Desk.moving, action="stop"),
    ("switch_vehicle_engine", "in_gear"): _of(Desk.waiting, action="stop"),
    ("shift_vehicle_gear", "engine_off"): _of(Desk.parked, gear="drive"),
    ("shift_vehicle_gear", "already_in_gear"): _of(Desk.waiting, gear="drive"),
    ("shift_vehicle_gear", "vehicle_moving"): _of(Desk.moving, gear="park"),
    ("shift_vehicle_gear", "brake_not_applied"): _released,
    ("shift_vehicle_gear", "doors_open"): _open_in_neutral,
    ("shift_vehicle_gear", "doors_unlocked"): _of(Desk.neutral, gear="drive"),
    ("set_vehicle_brake", "no_change"): _of(Desk.waiting, brake="foot", position="applied"),
    ("set_vehicle_brake", "vehicle_moving"): _of(
        Desk.moving, brake="parking", position="applied"
    ),
    ("set_vehicle_brake", "would_roll"): _neutral_unbraked,
    ("set_vehicle_speed", "no_change"): _of(Desk.parked, speed_kmh=0),
    ("set_vehicle_speed", "engine_off"): _of(Desk.parked, speed_kmh=30),
    ("set_vehicle_speed", "not_in_drive"): _of(Desk.neutral, speed_kmh=30),
    ("set_vehicle_speed", "brake_applied"): _of(Desk.waiting, speed_kmh=30),
    ("set_vehicle_speed", "flat_tire"): _of(Desk.flat, speed_kmh=30),
    ("set_vehicle_speed", "reverse_too_fast"): _of(Desk.reversing, speed_kmh=21),
    ("estimate_vehicle_trip", "already_there"): _to(Desk.parked, _here),
    ("start_vehicle_navigation", "already_there"): _to(Desk.parked, _here),
    ("start_vehicle_navigation", "already_navigating"): _to(Desk.moving, _led),
    ("start_vehicle_navigation", "too_little_range"): _to(Desk.at_charger, _far),
    ("drive_vehicle", "no_navigation"): _of(Desk.parked),
    ("drive_vehicle", "engine_off"): _of(_stopped_neutral),
    ("drive_vehicle", "not_in_drive"): _of(Desk.neutral),
    ("drive_vehicle", "brake_applied"): _of(Desk.waiting),
    ("drive_vehicle", "flat_tire"): _of(Desk.flat),
    ("drive_vehicle", "too_little_range"): _of(Desk.roadster),
    ("set_vehicle_door", "no_such_door"): _of(Desk.roadster, door="rear-left", action="open"),
    ("set_vehicle_door", "already_open"): _of(Desk.boarding, door="trunk", action="open"),
    ("set_vehicle_door", "already_closed"): _of(Desk.parked, door="hood", action="close"),
    ("set_vehicle_door", "vehicle_moving"): _of(Desk.moving, door="hood", action="open"),
    ("set_vehicle_door", "in_gear"): _of(Desk.waiting, door="hood", action="open"),
    ("set_vehicle_door", "door_locked"): _of(Desk.parked, door="hood", action="open"),
    ("lock_vehicle_doors", "no_such_door"): _of(Desk.roadster, action="lock", door="rear-left"),
    ("lock_vehicle_doors", "already_locked"): _of(Desk.parked, action="lock"),
    ("lock_vehicle_doors", "already_unlocked"): _of(Desk.neutral, action="unlock"),
    ("lock_vehicle_doors", "doors_open"): _of(Desk.boarding, action="lock"),
    ("lock_vehicle_doors", "vehicle_moving"): _of(Desk.moving, action="unlock"),
    ("lock_vehicle_doors", "in_gear"): _of(Desk.waiting, action="unlock"),
    ("set_vehicle_climate", "no_such_zone"): _of(Desk.roadster, zone="rear", power="on"),
    ("set_vehicle_climate", "no_change"): _of(Desk.parked, zone="driver", power="off"),
    ("set_vehicle_climate", "engine_off"): _of(Desk.parked, zone="driver", power="on"),
    ("set_vehicle_climate", "battery_low"): _of(Desk.at_charger, zone="driver", power="on"),
    ("set_vehicle_lights", "no_change"): _of(Desk.parked, light="headlights", power="off"),
    ("set_vehicle_lights", "engine_off"): _of(Desk.parked, light="headlights", power="on"),
    ("set_vehicle_lights", "headlights_off"): _of(Desk.waiting, light="fog-lights", power="on"),
    ("set_vehicle_lights", "fog_lights_on"): _of(Desk.reversing, light="headlights", power="off"),
    ("inflate_vehicle_tire", "vehicle_moving"): _of(
        Desk.moving, tire="front-left", pressure_kpa=230
    ),
    ("inflate_vehicle_tire", "no_air_pump"): _of(
        Desk.parked, tire="front-left", pressure_kpa=230
    ),
    ("inflate_vehicle_tire", "too_much_pressure"): _of(
        Desk.last_drop, tire="front-left", pressure_kpa=350
    ),
    ("inflate_vehicle_tire", "no_change"): _pressure,
    ("refuel_vehicle", "wrong_energy"): _of(Desk.at_charger, litres=10),
    ("refuel_vehicle", "vehicle_moving"): _of(Desk.moving, litres=10),
    ("refuel_vehicle", "engine_on"): _of(Desk.flat, litres=10),
    ("refuel_vehicle", "not_at_station"): _of(Desk.parked, litres=10),
    ("refuel_vehicle", "station_unavailable"): _of(Desk.roadster, litres=10),
    ("refuel_vehicle", "tank_overflow"): _of(Desk.last_drop, litres=100),
    ("charge_vehicle", "wrong_energy"): _of(Desk.parked, target_percent=60),
    ("charge_vehicle", "vehicle_moving"): lambda d: {
        "vehicle_id": _rolling_electric(d),
        "target_percent": 60,
    },
    ("charge_vehicle", "engine_on"): _of(Desk.neutral, target_percent=60),
    ("charge_vehicle", "not_at_station"): _of(_stopped_neutral, target_percent=60),
    ("charge_vehicle", "station_unavailable"): _of(Desk.boarding, target_percent=60),
    ("charge_vehicle", "already_charged"): _charged,
}  # fmt: skip


def _rolling_electric(d: Desk) -> str:
    call = {"vehicle_id": d.waiting().id}
    d.ok("set_vehicle_brake", **call, brake="foot", position="released")
    d.ok("set_vehicle_speed", **call, speed_kmh=20)
    return call["vehicle_id"]


DECLARED = declared(SERVER)


def _scenario(tool: str, code: str) -> Scenario:
    """Unknown vehicles and destinations are alike for all tools; the rest is listed above."""
    given = ARGUMENTS.get(tool, {})
    if code == "not_found":
        return lambda d: {**NOBODY(d), **given}
    if code == "unknown_destination":
        return lambda d: {"vehicle_id": d.parked().id, **given}
    return SCENARIOS[tool, code]


@pytest.mark.parametrize(("tool", "code"), DECLARED)
@pytest.mark.parametrize("seed", [0, 11])
def test_each_declared_refusal_occurs_in_a_seeded_world(tool: str, code: str, seed: int) -> None:
    d = desk(seed)
    error = d.refused(tool, **_scenario(tool, code)(d))
    assert error["code"] == code
    assert len(error["message"]) > 20


def test_every_listed_scenario_is_of_a_declared_refusal() -> None:
    assert set(SCENARIOS) <= set(DECLARED)


def test_independent_writes_in_either_order_give_the_same_changes() -> None:
    d = desk()
    writes: list[tuple[str, dict[str, Any]]] = [
        ("drive_vehicle", {"vehicle_id": d.moving().id}),
        ("charge_vehicle", {"vehicle_id": d.at_charger().id, "target_percent": 70}),
        ("refuel_vehicle", {"vehicle_id": d.last_drop().id, "litres": 12}),
        ("switch_vehicle_engine", {"vehicle_id": d.roadster().id, "action": "start"}),
        ("lock_vehicle_doors", {"vehicle_id": d.neutral().id, "action": "lock"}),
        ("set_vehicle_lights", {"vehicle_id": d.parked().id, **_hazards("on")}),
        (
            "start_vehicle_navigation",
            {"vehicle_id": d.parked().id, "destination_id": d.near(d.parked()).id},
        ),
    ]
    one, two = desk(), desk()
    agree(one, writes, two)
    assert set(one.session.changes()) >= {"vehicle.trips", "vehicle.refills", "vehicle.navigations"}


def _hazards(power: str) -> dict[str, str]:
    return {"light": "hazard-lights", "power": power}


def _update(which: Callable[[Desk], Vehicle], **fields: Any) -> Callable[[Desk], None]:
    return lambda d: (d.fleet.vehicles.update(which(d), **fields), None)[1]


def _unlock(d: Desk) -> None:
    door = d.fleet.doors.where(vehicle_id=d.waiting().id)[0]
    d.fleet.doors.update(door, is_locked=False)


def _open_locked(d: Desk) -> None:
    d.fleet.doors.update(d.fleet.doors.where(vehicle_id=d.parked().id)[0], is_open=True)


def _lose_a_trip(d: Desk) -> None:
    trips = sorted(d.fleet.trips.where(vehicle_id=d.parked().id), key=lambda t: t.ended_at)
    d.fleet.trips.delete(trips[3].id)


def _deflate(d: Desk) -> None:
    tire = d.fleet.tires.where(vehicle_id=d.moving().id)[0]
    d.fleet.tires.update(tire, pressure_kpa=90)


def _light_up(d: Desk) -> None:
    light = d.fleet.lights.where(vehicle_id=d.parked().id, name="headlights")[0]
    d.fleet.lights.update(light, power="on")


def _heat(d: Desk) -> None:
    zone = d.fleet.climate_zones.where(vehicle_id=d.parked().id)[0]
    d.fleet.climate_zones.update(zone, power="on")


def _misguide(d: Desk) -> None:
    route = d.fleet.navigations.where(vehicle_id=d.moving().id)[0]
    d.fleet.navigations.update(route, distance_m=1)


@pytest.mark.parametrize(
    ("harm", "said"),
    [
        (_update(Desk.moving, engine="off"), "with its engine off"),
        (_update(Desk.moving, foot_brake="applied"), "against its brakes"),
        (_update(Desk.neutral, foot_brake="released", parking_brake="released"), "rolls away"),
        (_update(Desk.parked, level=5), "which trips and refills do not give"),
        (_update(Desk.parked, odometer_m=5), "not the sum of its trips"),
        (_unlock, "open or unlocked"),
        (_open_locked, "open and locked"),
        (_lose_a_trip, "leapt between two trips"),
        (_deflate, "flat tire"),
        (_light_up, "shines"),
        (_heat, "heated or cooled"),
        (_misguide, "wrong distance"),
    ],
)
def test_an_impossible_vehicle_is_noticed(harm: Callable[[Desk], None], said: str) -> None:
    d = desk()
    assert not list(violations(d.fleet))
    harm(d)
    assert any(said in line for line in violations(d.fleet))
