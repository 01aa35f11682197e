"""The fleet: its gates, its arithmetic of energy and distance, and how its tools read."""

from __future__ import annotations

import pytest

from provegym.servers.vehicle.rules import violations
from provegym.servers.vehicle.state import (
    Destination,
    Vehicle,
    amount_text,
    energy_for,
    road_metres,
)
from provegym.servers.vehicle.views import drive_minutes
from provegym.world.fields import cents, money
from tests.servers.vehicle_desk import desk

# -- arithmetic --------------------------------------------------------------------------------

CAR = Vehicle(
    *("veh_a", "Car", "Model", "petrol", 50_000, 60),
    first_level=0,
    first_odometer_m=0,
    level=30_030,
    odometer_m=0,
    location_id="dst_a",
)


def _at(east: int, north: int) -> Destination:
    return Destination("dst_x", "X", "sight", "1 Road", east, north)


def test_roads_are_a_quarter_longer_than_the_straight_line() -> None:
    assert road_metres(_at(0, 0), _at(3000, 4000)) == 6250
    assert road_metres(_at(0, 0), _at(1, 0)) == 2  # 1.25 m, rounded up
    assert road_metres(_at(7, 7), _at(7, 7)) == 0


def test_energy_is_used_by_the_kilometre_and_rounded_up() -> None:
    assert energy_for(CAR, 10_000) == 600  # 60 ml a kilometre
    assert energy_for(CAR, 1) == 1
    assert (CAR.range_km, CAR.percent) == (500, 60)


def test_a_drive_is_slow_in_town_and_faster_beyond() -> None:
    assert drive_minutes(10_000) == 15  # 40 km/h
    assert drive_minutes(15_000) == 23  # 22.5
    assert drive_minutes(105_000) == 83  # 22.5 and 60 at 90 km/h


def test_amounts_carry_their_unit() -> None:
    assert amount_text("electric", 41_250) == "41.2 kWh"
    assert amount_text("diesel", 38_000) == "38.0 L"


# -- the gates between engine, gears, brakes and doors -----------------------------------------


def test_from_open_doors_to_driving_each_step_is_gated_by_the_one_before() -> None:
    d = desk()
    v = d.boarding()
    target = d.near(v)
    call = {"vehicle_id": v.id}
    start, forward = {**call, "action": "start"}, {**call, "gear": "drive"}
    assert d.refused("shift_vehicle_gear", **forward)["code"] == "engine_off"
    assert d.refused("switch_vehicle_engine", **start)["code"] == "doors_open"
    for door in d.fleet.doors.where(vehicle_id=v.id, is_open=True):
        d.ok("set_vehicle_door", **call, door=door.name, action="close")
    assert d.refused("switch_vehicle_engine", **start)["code"] == "brake_not_applied"
    d.ok("set_vehicle_brake", **call, brake="foot", position="applied")
    assert d.ok("switch_vehicle_engine", **start)["engine"] == "on"
    assert d.refused("shift_vehicle_gear", **forward)["code"] == "doors_unlocked"
    d.ok("lock_vehicle_doors", **call, action="lock")
    d.ok("shift_vehicle_gear", **forward)
    assert d.refused("drive_vehicle", **call)["code"] == "no_navigation"
    guided = d.ok("start_vehicle_navigation", **call, destination_id=target.id)
    assert d.refused("drive_vehicle", **call)["details"]["brakes"] == [
        "parking brake",
        "foot brake",
    ]
    d.ok("set_vehicle_brake", **call, brake="parking", position="released")
    d.ok("set_vehicle_brake", **call, brake="foot", position="released")
    got = d.ok("drive_vehicle", **call)
    assert (got["arrived_at"], got["distance_km"]) == (target.name, guided["distance_km"])
    assert not list(violations(d.fleet))


def test_a_trip_uses_up_energy_and_lengthens_the_odometer_exactly() -> None:
    d = desk()
    v = d.moving()
    route = d.fleet.navigations.where(vehicle_id=v.id)[0]
    d.ok("drive_vehicle", vehicle_id=v.id)
    after = d.now(v)
    assert after.odometer_m == v.odometer_m + route.distance_m
    assert after.level == v.level - -(-route.distance_m * v.consumption // 1000)
    assert (after.location_id, after.speed_kmh) == (route.destination_id, 0)
    assert (after.gear, after.foot_brake) == ("drive", "applied")
    assert d.fleet.navigations.where(vehicle_id=v.id) == []
    assert d.refused("drive_vehicle", vehicle_id=v.id)["code"] == "no_navigation"


def test_the_foot_brake_stops_a_vehicle() -> None:
    d = desk()
    v = d.moving()
    got = d.ok("set_vehicle_brake", vehicle_id=v.id, brake="foot", position="applied")
    assert got["speed_kmh"] == 0
    call = {"vehicle_id": v.id, "speed_kmh": 30}
    assert d.refused("set_vehicle_speed", **call)["code"] == "brake_applied"
    d.ok("set_vehicle_brake", vehicle_id=v.id, brake="foot", position="released")
    assert d.ok("set_vehicle_speed", **call)["speed_kmh"] == 30


def test_stopping_the_engine_puts_out_what_needs_it() -> None:
    d = desk()
    v = d.reversing()
    d.ok("set_vehicle_brake", vehicle_id=v.id, brake="foot", position="applied")
    d.ok("shift_vehicle_gear", vehicle_id=v.id, gear="park")
    zone = {"vehicle_id": v.id, "zone": "driver"}
    d.session.call("set_vehicle_climate", {**zone, "power": "on"})
    d.ok("set_vehicle_lights", vehicle_id=v.id, light="hazard-lights", power="on")
    assert d.fleet.climate_zones.where(vehicle_id=v.id, power="on")
    d.ok("switch_vehicle_engine", vehicle_id=v.id, action="stop")
    status = d.ok("get_vehicle_status", vehicle_id=v.id)
    assert status["lights_on"] == ["hazard-lights"]
    assert status["climate_on"] == []
    assert d.refused("set_vehicle_climate", **zone, power="on")["code"] == "engine_off"


def test_an_electric_vehicle_is_heated_with_its_engine_off_until_its_battery_is_low() -> None:
    d = desk()
    low = d.at_charger()
    call = {"zone": "driver", "power": "on", "temperature_c": 22}
    error = d.refused("set_vehicle_climate", vehicle_id=low.id, **call)
    assert error["code"] == "battery_low"
    d.ok("charge_vehicle", vehicle_id=low.id, target_percent=50)
    d.ok("set_vehicle_climate", vehicle_id=low.id, **call)


def test_no_door_opens_while_the_vehicle_is_in_gear() -> None:
    d = desk()
    v = d.waiting()
    call = {"vehicle_id": v.id, "action": "unlock"}
    assert d.refused("lock_vehicle_doors", **call)["code"] == "in_gear"
    d.ok("shift_vehicle_gear", vehicle_id=v.id, gear="park")
    got = d.ok("lock_vehicle_doors", **call, door="trunk")
    assert {x["name"]: x["status"] for x in got["doors"]}["trunk"] == "closed"
    got = d.ok("set_vehicle_door", vehicle_id=v.id, door="trunk", action="open")
    assert {x["name"]: x["status"] for x in got["doors"]}["trunk"] == "open"
    assert {x["name"]: x["status"] for x in got["doors"]}["hood"] == "locked"


def test_a_flat_tire_is_pumped_up_before_one_drives_on() -> None:
    d = desk()
    v = d.flat()
    error = d.refused("set_vehicle_speed", vehicle_id=v.id, speed_kmh=30)
    assert error["code"] == "flat_tire"
    report = d.ok("check_vehicle_tires", vehicle_id=v.id)["tires"]
    flat = next(t for t in report if t["status"] == "flat")
    assert error["details"]["tires"] == [flat["position"]]
    call = {"vehicle_id": v.id, "tire": flat["position"]}
    got = d.ok("inflate_vehicle_tire", **call, pressure_kpa=flat["recommended_kpa"])
    assert got["tire"]["status"] == "ok"
    assert d.ok("set_vehicle_speed", vehicle_id=v.id, speed_kmh=30)["speed_kmh"] == 30


# -- fuel and charge ---------------------------------------------------------------------------


def test_refuelling_adds_litres_at_the_stations_price() -> None:
    d = desk()
    v = d.last_drop()
    station = d.fleet.destinations[v.location_id]
    got = d.ok("refuel_vehicle", vehicle_id=v.id, litres=20.5)
    assert d.now(v).level == v.level + 20_500
    assert cents(got["cost"]) == (20_500 * station.price + 500) // 1000
    assert (got["amount"], got["station"]) == ("20.5 L", station.name)
    assert got["range_km"] == (v.level + 20_500) // v.consumption
    listed = d.ok("list_vehicle_refills", vehicle_id=v.id)["refills"][0]
    assert (listed["amount"], listed["cost"]) == (got["amount"], got["cost"])


def test_the_tank_takes_all_that_is_free_and_not_a_millilitre_more() -> None:
    d = desk()
    v = d.last_drop()
    free = v.capacity - v.level
    error = d.refused("refuel_vehicle", vehicle_id=v.id, litres=(free + 1) / 1000)
    assert error["code"] == "tank_overflow"
    d.ok("refuel_vehicle", vehicle_id=v.id, litres=free / 1000)
    assert d.now(v).level == v.capacity


def test_charging_stops_at_the_percentage_asked_for() -> None:
    d = desk()
    v = d.at_charger()
    got = d.ok("charge_vehicle", vehicle_id=v.id, target_percent=80)
    assert d.now(v).level == v.capacity * 80 // 100
    assert 79 <= got["energy_percent"] <= 80
    again = d.refused("charge_vehicle", vehicle_id=v.id, target_percent=80)
    assert again["code"] == "already_charged"


def test_an_estimate_is_what_the_trip_then_takes() -> None:
    d = desk()
    v = d.moving()
    route = d.fleet.navigations.where(vehicle_id=v.id)[0]
    call = {"vehicle_id": v.id, "destination_id": route.destination_id}
    estimate = d.ok("estimate_vehicle_trip", **call)
    got = d.ok("drive_vehicle", vehicle_id=v.id)
    assert (estimate["uses"], estimate["range_after_km"]) == (got["used"], got["range_km"])
    assert d.refused("estimate_vehicle_trip", **call)["code"] == "already_there"


def test_a_trip_out_of_range_is_estimated_below_zero_and_not_navigated() -> None:
    d = desk()
    call = {"vehicle_id": d.at_charger().id, "destination_id": d.far().id}
    assert d.ok("estimate_vehicle_trip", **call)["range_after_km"] < 0
    assert d.refused("start_vehicle_navigation", **call)["code"] == "too_little_range"


# -- looking things up -------------------------------------------------------------------------


def test_destinations_are_sorted_by_distance_from_a_vehicle() -> None:
    d = desk()
    v = d.parked()
    got = d.ok("search_vehicle_destinations", kind="charging", vehicle_id=v.id, limit=50)
    shown = [x["distance_km"] for x in got["destinations"]]
    assert shown == sorted(shown)
    assert len(shown) == len(d.fleet.destinations.where(kind="charging"))
    assert all(x["price"].endswith("/kWh") for x in got["destinations"])
    plain = d.ok("search_vehicle_destinations", query="Home", kind="home")["destinations"]
    assert "distance_km" not in plain[0]


def test_the_logs_add_up_what_they_list() -> None:
    d = desk()
    v = d.parked()
    trips = d.fleet.trips.where(vehicle_id=v.id)
    got = d.ok("list_vehicle_trips", vehicle_id=v.id)
    assert got["total"] == len(trips)
    assert got["total_km"] == round(sum(t.distance_m for t in trips) / 1000, 1)
    fills = d.ok("list_vehicle_refills", limit=50)
    assert fills["total_cost"] == money(sum(r.cost for r in d.fleet.refills))
    dates = [r["date"] for r in fills["refills"]]
    assert dates == sorted(dates, reverse=True)
    since = dates[3]
    later = d.ok("list_vehicle_refills", since=since, limit=50)
    assert later["total"] == sum(date >= since for date in dates)


def test_vehicles_are_found_by_nickname_model_and_energy() -> None:
    d = desk()
    roadster = d.ok("list_vehicles", query="roadster")["vehicles"]
    assert [v["nickname"] for v in roadster] == ["Weekend Roadster"]
    electric = d.ok("list_vehicles", energy="electric", limit=50)
    assert electric["total"] == len(d.fleet.vehicles.where(energy="electric")) == 4


# -- the tools as a whole ------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(6))
def test_seeded_fleets_have_distinct_names(seed: int) -> None:
    d = desk(seed)
    nicknames = [v.nickname for v in d.fleet.vehicles]
    names = [x.name for x in d.fleet.destinations]
    assert len(set(nicknames)) == len(nicknames)
    assert len(set(names)) == len(names)
