"""The vehicles of a fleet, and what a driver does: engine, gears, brakes, speed, trips."""

from __future__ import annotations

from typing import Annotated, Literal

from provegym.servers.vehicle import samples
from provegym.servers.vehicle.gates import (
    known_destination,
    known_vehicle,
    require_doors_closed,
    require_doors_locked,
    require_drivable,
    require_engine,
    require_foot_brake,
    require_out_of_gear,
    require_range,
    require_standing,
)
from provegym.servers.vehicle.state import (
    ENGINE_LIGHTS,
    IN_GEAR,
    BrakePosition,
    DestinationId,
    Energy,
    Fleet,
    Gear,
    Navigation,
    Trip,
    Vehicle,
    VehicleId,
    amount_text,
    energy_for,
    road_metres,
)
from provegym.servers.vehicle.views import (
    Arrival,
    DriveState,
    Estimate,
    Guidance,
    VehiclePage,
    VehicleStatus,
    drive_minutes,
    drive_state,
    km,
    vehicle_item,
    vehicle_status,
)
from provegym.world.fields import Limit, Range
from provegym.world.page import page
from provegym.world.tool import refuse, tool

Speed = Annotated[int, Range(0, 130)]
REVERSE_KMH = 20
"""Greatest speed in reverse."""


@tool(
    "read",
    phrases=(
        'List my[ {energy}] vehicles[ matching "{query}"] with their range',
        "Show which[ {energy}] vehicles I have[ under the name {query}] and where they are",
        "Give me an overview of the[ {energy}] vehicles in my fleet[ called {query}]",
    ),
    sample=samples.vehicles,
)
def list_vehicles(
    fleet: Fleet,
    query: str = "",
    energy: Energy | None = None,
    limit: Limit = 4,
    cursor: str = "",
) -> VehiclePage:
    """List your vehicles with their location and range.

    Args:
        query: Part of the nickname or model.
        energy: Only vehicles that run on this.
        limit: Vehicles per page.
        cursor: next_cursor of the page before.
    """
    words = query.casefold()
    found = [
        v
        for v in fleet.vehicles
        if (energy is None or v.energy == energy)
        and (words in v.nickname.casefold() or words in v.model.casefold())
    ]
    found.sort(key=lambda v: v.nickname)
    rows, total, after = page(found, limit, cursor)
    return VehiclePage([vehicle_item(fleet, v) for v in rows], total, after)


@tool(
    "read",
    phrases=(
        "Show the dashboard of {vehicle_id}",
        "Check the state of {vehicle_id}: engine, gear, doors and range",
        "Tell me how {vehicle_id} stands right now",
    ),
    refuses=("not_found",),
    sample=samples.one_vehicle,
)
def get_vehicle_status(fleet: Fleet, vehicle_id: VehicleId) -> VehicleStatus:
    """Get a vehicle's dashboard: engine, gear, brakes, speed, energy, doors, lights.

    Args:
        vehicle_id: The vehicle.
    """
    return vehicle_status(fleet, known_vehicle(fleet, vehicle_id))


@tool(
    "write",
    phrases=(
        "Go ahead and {action} the engine of {vehicle_id}",
        "I'd like you to {action} the engine of {vehicle_id}",
        "Use the ignition of {vehicle_id} to {action} its engine",
    ),
    refuses=(
        "not_found",
        "already_on",
        "doors_open",
        "brake_not_applied",
        "tank_empty",
        "already_off",
        "vehicle_moving",
        "in_gear",
    ),
    sample=samples.engine,
)
def switch_vehicle_engine(
    fleet: Fleet, vehicle_id: VehicleId, action: Literal["start", "stop"]
) -> DriveState:
    """Start the engine (doors closed, foot brake applied) or stop it (park or neutral).

    Args:
        vehicle_id: The vehicle.
        action: Whether to start or to stop it.
    """
    vehicle = known_vehicle(fleet, vehicle_id)
    return drive_state(_started(fleet, vehicle) if action == "start" else _stopped(fleet, vehicle))


def _started(fleet: Fleet, v: Vehicle) -> Vehicle:
    if v.engine == "on":
        refuse("already_on", f"the engine of the {v.nickname} is running already")
    if v.range_km < 1:
        refuse("tank_empty", f"the {v.nickname} has a range of {v.range_km} km; fill it up first")
    require_doors_closed(fleet, v)
    require_foot_brake(v)
    return fleet.vehicles.update(v, engine="on")


def _stopped(fleet: Fleet, v: Vehicle) -> Vehicle:
    """Without the engine headlights and fog lights go out, and so does a fuel car's climate."""
    if v.engine == "off":
        refuse("already_off", f"the engine of the {v.nickname} is off already")
    require_out_of_gear(v)
    for light in fleet.lights.where(vehicle_id=v.id, power="on"):
        if light.name in ENGINE_LIGHTS:
            fleet.lights.update(light, power="off")
    for zone in [] if v.is_electric else fleet.climate_zones.where(vehicle_id=v.id, power="on"):
        fleet.climate_zones.update(zone, power="off")
    return fleet.vehicles.update(v, engine="off")


@tool(
    "write",
    phrases=(
        "Shift {vehicle_id} into {gear}",
        "Put {vehicle_id} in {gear}",
        "Change the gear of {vehicle_id} to {gear}",
    ),
    refuses=(
        "not_found",
        "engine_off",
        "already_in_gear",
        "vehicle_moving",
        "brake_not_applied",
        "doors_open",
        "doors_unlocked",
    ),
    sample=samples.gear,
)
def shift_vehicle_gear(fleet: Fleet, vehicle_id: VehicleId, gear: Gear) -> DriveState:
    """Shift gear at a standstill with the foot brake applied; drive needs all doors locked.

    Args:
        vehicle_id: The vehicle.
        gear: The gear to shift into.
    """
    vehicle = known_vehicle(fleet, vehicle_id)
    require_engine(vehicle)
    if vehicle.gear == gear:
        refuse("already_in_gear", f"the {vehicle.nickname} is in {gear} already")
    require_standing(vehicle)
    require_foot_brake(vehicle)
    if gear in IN_GEAR:
        require_doors_closed(fleet, vehicle)
        require_doors_locked(fleet, vehicle)
    return drive_state(fleet.vehicles.update(vehicle, gear=gear))


@tool(
    "write",
    phrases=(
        "Get the {brake} brake of {vehicle_id} {position}",
        "I need the {brake} brake of {vehicle_id} {position}",
        "Make sure the {brake} brake of {vehicle_id} is {position}",
    ),
    refuses=("not_found", "no_change", "vehicle_moving", "would_roll"),
    sample=samples.brake,
)
def set_vehicle_brake(
    fleet: Fleet,
    vehicle_id: VehicleId,
    brake: Literal["foot", "parking"],
    position: BrakePosition,
) -> DriveState:
    """Apply or release the foot brake or the parking brake; the foot brake stops the vehicle.

    Args:
        vehicle_id: The vehicle.
        brake: Which brake.
        position: Whether to apply or release it.
    """
    v = known_vehicle(fleet, vehicle_id)
    now, other = (
        (v.foot_brake, v.parking_brake) if brake == "foot" else (v.parking_brake, v.foot_brake)
    )
    if now == position:
        refuse("no_change", f"the {brake} brake of the {v.nickname} is {position} already")
    if brake == "parking":
        require_standing(v)
    if v.gear == "neutral" and position == other == "released":
        text = f"the {v.nickname} would roll away in neutral; apply the other brake first"
        refuse("would_roll", text)
    if brake == "parking":
        return drive_state(fleet.vehicles.update(v, parking_brake=position))
    return drive_state(fleet.vehicles.update(v, foot_brake=position, speed_kmh=0))


@tool(
    "write",
    phrases=(
        "Bring {vehicle_id} to {speed_kmh} km/h",
        "Set the speed of {vehicle_id} to {speed_kmh} km/h",
        "Let {vehicle_id} go at {speed_kmh} km/h",
    ),
    refuses=(
        "not_found",
        "no_change",
        "engine_off",
        "not_in_drive",
        "brake_applied",
        "flat_tire",
        "reverse_too_fast",
    ),
    sample=samples.speed,
)
def set_vehicle_speed(fleet: Fleet, vehicle_id: VehicleId, speed_kmh: Speed) -> DriveState:
    """Speed up, slow down or, with 0, stop a vehicle that is in gear with its brakes released.

    Args:
        vehicle_id: The vehicle.
        speed_kmh: Kilometres an hour; at most 20 in reverse.
    """
    vehicle = known_vehicle(fleet, vehicle_id)
    if vehicle.speed_kmh == speed_kmh:
        refuse("no_change", f"the {vehicle.nickname} is at {speed_kmh} km/h already")
    require_drivable(fleet, vehicle, IN_GEAR)
    if vehicle.gear == "reverse" and speed_kmh > REVERSE_KMH:
        text = f"{speed_kmh} km/h is too fast in reverse; give at most {REVERSE_KMH}"
        refuse("reverse_too_fast", text, maximum=REVERSE_KMH)
    return drive_state(fleet.vehicles.update(vehicle, speed_kmh=speed_kmh))


# -- trips -------------------------------------------------------------------------------------


def _distance(fleet: Fleet, v: Vehicle, destination_id: str) -> int:
    """Metres to another place than where the vehicle is."""
    place = known_destination(fleet, destination_id)
    if place.id == v.location_id:
        refuse("already_there", f"the {v.nickname} is at {place.name}; give another destination")
    return road_metres(fleet.destinations[v.location_id], place)


@tool(
    "read",
    phrases=(
        "Estimate the trip of {vehicle_id} to {destination_id}",
        "Work out whether {vehicle_id} can make it to {destination_id}",
        "Tell me how far {destination_id} is for {vehicle_id} and what range would be left",
    ),
    refuses=("not_found", "unknown_destination", "already_there"),
    sample=samples.estimate,
)
def estimate_vehicle_trip(
    fleet: Fleet, vehicle_id: VehicleId, destination_id: DestinationId
) -> Estimate:
    """Estimate distance, time and energy of a trip from where the vehicle is.

    Args:
        vehicle_id: The vehicle.
        destination_id: Where to go.
    """
    v = known_vehicle(fleet, vehicle_id)
    distance = _distance(fleet, v, destination_id)
    used = energy_for(v, distance)
    return Estimate(
        vehicle=v.nickname,
        destination=fleet.destinations[destination_id].name,
        distance_km=km(distance),
        minutes=drive_minutes(distance),
        uses=amount_text(v.energy, used),
        range_after_km=(v.level - used) // v.consumption,
    )


@tool(
    "write",
    phrases=(
        "Start the navigation of {vehicle_id} to {destination_id}",
        "Navigate {vehicle_id} to {destination_id}",
        "Set {destination_id} as the destination of {vehicle_id}",
    ),
    refuses=(
        "not_found",
        "unknown_destination",
        "already_there",
        "already_navigating",
        "too_little_range",
    ),
    sample=samples.navigate,
)
def start_vehicle_navigation(
    fleet: Fleet, vehicle_id: VehicleId, destination_id: DestinationId
) -> Guidance:
    """Set where the vehicle's navigation leads, in place of any destination set before.

    Args:
        vehicle_id: The vehicle.
        destination_id: Where to go.
    """
    v = known_vehicle(fleet, vehicle_id)
    distance = _distance(fleet, v, destination_id)
    name = fleet.destinations[destination_id].name
    before = fleet.navigations.where(vehicle_id=v.id)
    if before and before[0].destination_id == destination_id:
        refuse("already_navigating", f"the {v.nickname} is being led to {name} already")
    require_range(v, distance)
    if before:
        fleet.navigations.update(before[0], destination_id=destination_id, distance_m=distance)
    else:
        new = fleet.navigations.new_id()
        fleet.navigations.put(Navigation(new, v.id, destination_id, distance))
    return Guidance(v.id, v.nickname, name, km(distance), drive_minutes(distance))


@tool(
    "write",
    phrases=(
        "Drive {vehicle_id} to where its navigation leads",
        "Let {vehicle_id} drive to its set destination",
        "Take {vehicle_id} along its navigation until it arrives",
    ),
    refuses=(
        "not_found",
        "no_navigation",
        "engine_off",
        "not_in_drive",
        "brake_applied",
        "flat_tire",
        "too_little_range",
    ),
    sample=samples.drive,
)
def drive_vehicle(fleet: Fleet, vehicle_id: VehicleId) -> Arrival:
    """Drive to the navigation's destination; needs drive with both brakes released.

    On arrival the vehicle stands in drive with its foot brake applied.

    Args:
        vehicle_id: The vehicle.
    """
    v = known_vehicle(fleet, vehicle_id)
    routes = fleet.navigations.where(vehicle_id=v.id)
    if not routes:
        refuse("no_navigation", f"the {v.nickname} has no destination set; set one first")
    require_range(v, routes[0].distance_m)
    require_drivable(fleet, v, ("drive",))
    return _arrived(fleet, v, routes[0])


def _arrived(fleet: Fleet, v: Vehicle, route: Navigation) -> Arrival:
    distance, used = route.distance_m, energy_for(v, route.distance_m)
    place = fleet.destinations[route.destination_id]
    trip_id, at = fleet.trips.new_id(), fleet.stamp
    fleet.trips.put(Trip(trip_id, v.id, v.location_id, place.id, distance, used, at))
    fleet.navigations.delete(route.id)
    v = fleet.vehicles.update(
        v,
        level=v.level - used,
        odometer_m=v.odometer_m + distance,
        location_id=place.id,
        speed_kmh=0,
        foot_brake="applied",
    )
    text = amount_text(v.energy, used)
    return Arrival(v.id, v.nickname, place.name, km(distance), text, v.range_km)
