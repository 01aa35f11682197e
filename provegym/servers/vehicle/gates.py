"""What must be so before a vehicle does something; each gate refuses with a code of its own."""

from __future__ import annotations

from collections.abc import Collection

from provegym.servers.vehicle.state import (
    FLAT_KPA,
    IN_GEAR,
    Destination,
    Fleet,
    Vehicle,
    energy_for,
)
from provegym.world.tool import refuse


def known_vehicle(fleet: Fleet, vehicle_id: str) -> Vehicle:
    """The vehicle; refused where there is none."""
    vehicle = fleet.vehicles.get(vehicle_id)
    if vehicle is None:
        refuse("not_found", f"there is no vehicle {vehicle_id[:40]!r}; see list_vehicles")
    return vehicle


def known_destination(fleet: Fleet, destination_id: str) -> Destination:
    """The destination; refused where there is none."""
    place = fleet.destinations.get(destination_id)
    if place is None:
        text = f"there is no destination {destination_id[:40]!r}"
        refuse("unknown_destination", f"{text}; see search_vehicle_destinations")
    return place


def require_standing(v: Vehicle) -> None:
    """The vehicle stands still."""
    if v.speed_kmh:
        text = f"the {v.nickname} goes at {v.speed_kmh} km/h; stop it first"
        refuse("vehicle_moving", text, speed_kmh=v.speed_kmh)


def require_out_of_gear(v: Vehicle) -> None:
    """The vehicle stands in park or neutral."""
    require_standing(v)
    if v.gear in IN_GEAR:
        refuse("in_gear", f"the {v.nickname} is in {v.gear}; shift it to park first", gear=v.gear)


def require_engine(v: Vehicle) -> None:
    """The engine runs."""
    if v.engine == "off":
        refuse("engine_off", f"the engine of the {v.nickname} is off; start it first")


def require_doors_closed(fleet: Fleet, v: Vehicle) -> None:
    """No door, trunk or hood is open."""
    names = [d.name for d in fleet.doors.where(vehicle_id=v.id, is_open=True)]
    if names:
        text = f"the {v.nickname} has open doors: {', '.join(names)}; close them first"
        refuse("doors_open", text, doors=names)


def require_doors_locked(fleet: Fleet, v: Vehicle) -> None:
    """All doors are locked."""
    names = [d.name for d in fleet.doors.where(vehicle_id=v.id, is_locked=False)]
    if names:
        text = f"the {v.nickname} has unlocked doors: {', '.join(names)}; lock them first"
        refuse("doors_unlocked", text, doors=names)


def require_foot_brake(v: Vehicle) -> None:
    """The foot brake is applied."""
    if v.foot_brake == "released":
        refuse("brake_not_applied", f"apply the foot brake of the {v.nickname} first")


def require_drivable(fleet: Fleet, v: Vehicle, gears: Collection[str]) -> None:
    """It can move now: engine on, in one of the gears (hence locked), brakes released, no flat."""
    require_engine(v)
    if v.gear not in gears:
        text = f"the {v.nickname} is in {v.gear}; shift it to drive first"
        refuse("not_in_drive", text, gear=v.gear)
    on = [
        name
        for name, position in (("parking brake", v.parking_brake), ("foot brake", v.foot_brake))
        if position == "applied"
    ]
    if on:
        text = f"the {' and the '.join(on)} of the {v.nickname} must be released first"
        refuse("brake_applied", text, brakes=on)
    flat = [t.position for t in fleet.tires.where(vehicle_id=v.id) if t.pressure_kpa < FLAT_KPA]
    if flat:
        text = f"the {flat[0]} tire of the {v.nickname} is flat; inflate it first"
        refuse("flat_tire", text, tires=flat)


def require_range(v: Vehicle, distance_m: int) -> None:
    """Tank or battery hold enough for the distance."""
    if energy_for(v, distance_m) > v.level:
        distance = distance_m / 1000
        text = f"it is {distance:.1f} km, and the {v.nickname} can go {v.range_km} km"
        more = "charge" if v.is_electric else "refuel"
        refuse("too_little_range", f"{text}; {more} it first", range_km=v.range_km)


def require_station(fleet: Fleet, v: Vehicle) -> Destination:
    """It stands, engine off, at a station that works and has what it needs; gives the station."""
    require_standing(v)
    if v.engine == "on":
        refuse("engine_on", f"the engine of the {v.nickname} is running; switch it off first")
    place = fleet.destinations[v.location_id]
    kind = "charging" if v.is_electric else "fuel"
    if place.kind != kind:
        text = f"the {v.nickname} is at {place.name}, which is no {kind} station"
        refuse("not_at_station", f"{text}; drive to one first", location=place.name)
    if place.status != "available":
        text = f"{place.name} is {place.status.replace('_', ' ')}; drive to another station"
        refuse("station_unavailable", text, status=place.status)
    return place
