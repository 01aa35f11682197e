"""What must hold for every vehicle after every call."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from provegym.servers.vehicle.state import (
    ENGINE_LIGHTS,
    FLAT_KPA,
    IN_GEAR,
    Fleet,
    Trip,
    Vehicle,
    energy_for,
    road_metres,
)

MOST_KPA = 400


def violations(fleet: Fleet) -> Iterator[str]:
    """Every broken invariant of the fleet, one sentence each."""
    for vehicle in fleet.vehicles:
        yield from _mode(fleet, vehicle)
        yield from _parts(fleet, vehicle)
        yield from _energy(fleet, vehicle)
        yield from _journey(fleet, vehicle)
        yield from _navigation(fleet, vehicle)


def _mode(fleet: Fleet, v: Vehicle) -> Iterator[str]:
    """Engine, gear, brakes, speed and doors go together."""
    doors = fleet.doors.where(vehicle_id=v.id)
    if v.engine == "off" and (v.speed_kmh or v.gear in IN_GEAR):
        yield f"{v.nickname} is in {v.gear} at {v.speed_kmh} km/h with its engine off"
    if v.speed_kmh and (v.gear not in IN_GEAR or "applied" in (v.foot_brake, v.parking_brake)):
        yield f"{v.nickname} moves in {v.gear} or against its brakes"
    if v.gear in IN_GEAR and any(d.is_open or not d.is_locked for d in doors):
        yield f"{v.nickname} is in {v.gear} with a door open or unlocked"
    if v.gear == "neutral" and v.foot_brake == v.parking_brake == "released":
        yield f"{v.nickname} rolls away in neutral"
    if any(d.is_open and d.is_locked for d in doors):
        yield f"{v.nickname} has a door open and locked"
    flat = any(t.pressure_kpa < FLAT_KPA for t in fleet.tires.where(vehicle_id=v.id))
    if v.speed_kmh and flat:
        yield f"{v.nickname} moves on a flat tire"


def _parts(fleet: Fleet, v: Vehicle) -> Iterator[str]:
    lights = {x.name: x.power for x in fleet.lights.where(vehicle_id=v.id)}
    if v.engine == "off" and any(lights[name] == "on" for name in ENGINE_LIGHTS):
        yield f"{v.nickname} shines with its engine off"
    if lights["fog-lights"] == "on" and lights["headlights"] == "off":
        yield f"{v.nickname} has fog lights on without headlights"
    zones = fleet.climate_zones.where(vehicle_id=v.id)
    if v.engine == "off" and not v.is_electric and any(z.power == "on" for z in zones):
        yield f"{v.nickname} is heated or cooled with its engine off"
    tires = fleet.tires.where(vehicle_id=v.id)
    if len(tires) != 4 or any(not 0 <= t.pressure_kpa <= MOST_KPA for t in tires):
        yield f"{v.nickname} has not four tires, or one at an impossible pressure"


def _energy(fleet: Fleet, v: Vehicle) -> Iterator[str]:
    """Distance uses up energy, and nothing but a refill adds any."""
    trips, refills = fleet.trips.where(vehicle_id=v.id), fleet.refills.where(vehicle_id=v.id)
    taken = sum(r.amount for r in refills) - sum(t.used for t in trips)
    if v.level != v.first_level + taken or not 0 <= v.level <= v.capacity:
        yield f"{v.nickname} holds {v.level} of {v.capacity}, which trips and refills do not give"
    if v.odometer_m != v.first_odometer_m + sum(t.distance_m for t in trips):
        yield f"{v.nickname}'s odometer is not the sum of its trips"
    for refill in refills:
        kind = "charging" if v.is_electric else "fuel"
        if refill.amount <= 0 or fleet.destinations[refill.station_id].kind != kind:
            yield f"{v.nickname} took in {refill.amount} where there is none to be had"


def _journey(fleet: Fleet, v: Vehicle) -> Iterator[str]:
    """Each trip starts where the one before ended; the last one ended where the vehicle is."""
    trips = sorted(fleet.trips.where(vehicle_id=v.id), key=lambda t: t.ended_at)
    for before, after in pairwise(trips):
        if before.destination_id != after.origin_id:
            yield f"{v.nickname} leapt between two trips"
    if trips and trips[-1].destination_id != v.location_id:
        yield f"{v.nickname} is not where its last trip ended"
    yield from (
        f"trip {t.id} is of wrong length or use" for t in trips if not _adds_up(fleet, v, t)
    )


def _adds_up(fleet: Fleet, v: Vehicle, trip: Trip) -> bool:
    ends = fleet.destinations[trip.origin_id], fleet.destinations[trip.destination_id]
    return trip.distance_m == road_metres(*ends) and trip.used == energy_for(v, trip.distance_m) > 0


def _navigation(fleet: Fleet, v: Vehicle) -> Iterator[str]:
    routes = fleet.navigations.where(vehicle_id=v.id)
    if len(routes) > 1:
        yield f"{v.nickname} is led to two destinations"
    for route in routes:
        ends = fleet.destinations[v.location_id], fleet.destinations[route.destination_id]
        if route.distance_m != road_metres(*ends) or not route.distance_m:
            yield f"{v.nickname}'s navigation shows a wrong distance"
