"""Destinations and stations, fuel and charge, and the log of trips and refills."""

from __future__ import annotations

from typing import Annotated

from provegym.servers.vehicle import samples
from provegym.servers.vehicle.gates import known_vehicle, require_station
from provegym.servers.vehicle.state import (
    Destination,
    Fleet,
    Kind,
    Refill,
    Vehicle,
    VehicleId,
    amount_text,
    road_metres,
)
from provegym.servers.vehicle.views import (
    DestinationPage,
    RefillPage,
    RefillReceipt,
    TripPage,
    destination_item,
    km,
    refill_item,
    trip_item,
)
from provegym.world.fields import Date, Limit, Range, money
from provegym.world.page import page
from provegym.world.tool import refuse, tool

Litres = Annotated[float, Range(1, 120)]
Percent = Annotated[int, Range(10, 100)]


@tool(
    "read",
    phrases=(
        'Look up driving destinations[ called "{query}"][ of the kind {kind}]'
        "[, nearest to {vehicle_id} first]",
        "Search the navigation's destinations[ for {query}][, only {kind} ones]"
        "[, by distance from {vehicle_id}]",
        "Find where one can drive[ under the name {query}][ among the {kind} places]"
        "[ close to {vehicle_id}]",
    ),
    refuses=("not_found",),
    sample=samples.destinations,
)
def search_vehicle_destinations(
    fleet: Fleet,
    query: str = "",
    kind: Kind | None = None,
    vehicle_id: VehicleId | None = None,
    limit: Limit = 4,
    cursor: str = "",
) -> DestinationPage:
    """Search destinations and stations, by name or nearest to a vehicle first.

    Args:
        query: Part of the name or address.
        kind: Only this kind; fuel and charging are stations.
        vehicle_id: Show and sort by distance from this vehicle.
        limit: Destinations per page.
        cursor: next_cursor of the page before.
    """
    words = query.casefold()
    here = _place_of(fleet, vehicle_id)
    found = [
        (d, road_metres(here, d) if here else None)
        for d in (fleet.destinations if kind is None else fleet.destinations.where(kind=kind))
        if words in d.name.casefold() or words in d.address.casefold()
    ]
    found.sort(key=lambda pair: (pair[1] or 0, pair[0].name))
    rows, total, after = page(found, limit, cursor)
    return DestinationPage([destination_item(*pair) for pair in rows], total, after)


def _place_of(fleet: Fleet, vehicle_id: str | None) -> Destination | None:
    if vehicle_id is None:
        return None
    return fleet.destinations[known_vehicle(fleet, vehicle_id).location_id]


def _fill(fleet: Fleet, v: Vehicle, station: Destination, amount: int) -> RefillReceipt:
    """Take in an amount at a station's price."""
    cost = (amount * station.price + 500) // 1000
    refill_id = fleet.refills.new_id()
    fleet.refills.put(Refill(refill_id, v.id, station.id, amount, cost, fleet.stamp))
    v = fleet.vehicles.update(v, level=v.level + amount)
    text = amount_text(v.energy, amount)
    return RefillReceipt(v.id, v.nickname, station.name, text, money(cost), v.percent, v.range_km)


@tool(
    "write",
    phrases=(
        "Put {litres} litres of fuel into {vehicle_id}",
        "Refuel {vehicle_id} with {litres} litres",
        "Fill {litres} litres into the tank of {vehicle_id}",
    ),
    refuses=(
        "not_found",
        "wrong_energy",
        "vehicle_moving",
        "engine_on",
        "not_at_station",
        "station_unavailable",
        "tank_overflow",
    ),
    sample=samples.refuel,
)
def refuel_vehicle(fleet: Fleet, vehicle_id: VehicleId, litres: Litres) -> RefillReceipt:
    """Refuel a petrol or diesel vehicle at the fuel station where it stands, engine off.

    Args:
        vehicle_id: The vehicle.
        litres: How much to take in.
    """
    v = known_vehicle(fleet, vehicle_id)
    if v.is_electric:
        refuse("wrong_energy", f"the {v.nickname} is electric; charge it with charge_vehicle")
    station = require_station(fleet, v)
    amount, free = round(litres * 1000), v.capacity - v.level
    if amount > free:
        text = f"the tank of the {v.nickname} takes {free / 1000:.1f} more litres, not {litres:g}"
        refuse("tank_overflow", text, free_litres=f"{free / 1000:.1f}")
    return _fill(fleet, v, station, amount)


@tool(
    "write",
    phrases=(
        "Charge {vehicle_id} up to {target_percent} percent",
        "Load the battery of {vehicle_id} to {target_percent} percent",
        "Plug in {vehicle_id} until its battery is at {target_percent} percent",
    ),
    refuses=(
        "not_found",
        "wrong_energy",
        "vehicle_moving",
        "engine_on",
        "not_at_station",
        "station_unavailable",
        "already_charged",
    ),
    sample=samples.charge,
)
def charge_vehicle(fleet: Fleet, vehicle_id: VehicleId, target_percent: Percent) -> RefillReceipt:
    """Charge an electric vehicle at the charging station where it stands, engine off.

    Args:
        vehicle_id: The vehicle.
        target_percent: Charge at which to stop.
    """
    v = known_vehicle(fleet, vehicle_id)
    if not v.is_electric:
        text = f"the {v.nickname} runs on {v.energy}; refuel it with refuel_vehicle"
        refuse("wrong_energy", text, energy=v.energy)
    station = require_station(fleet, v)
    amount = v.capacity * target_percent // 100 - v.level
    if amount <= 0:
        text = f"the battery of the {v.nickname} is at {v.percent} %; give a higher target"
        refuse("already_charged", text, percent=v.percent)
    return _fill(fleet, v, station, amount)


# -- the log -----------------------------------------------------------------------------------


@tool(
    "read",
    phrases=(
        'Show the trips[ of {vehicle_id}][ from or to "{query}"][ since {since}]',
        "List the latest drives[ made with {vehicle_id}][ that touch {query}][ since {since}]",
        "Pull up the trip log[ of {vehicle_id}][ for {query}][ from {since} on]",
    ),
    refuses=("not_found",),
    sample=samples.trips,
)
def list_vehicle_trips(
    fleet: Fleet,
    vehicle_id: VehicleId | None = None,
    query: str = "",
    since: Date | None = None,
    limit: Limit = 5,
    cursor: str = "",
) -> TripPage:
    """List driven trips, latest first, and their total length.

    Args:
        vehicle_id: Only this vehicle.
        query: Part of the name of a trip's start or destination.
        since: First day.
        limit: Trips per page.
        cursor: next_cursor of the page before.
    """
    rows = list(fleet.trips)
    if vehicle_id is not None:
        rows = fleet.trips.where(vehicle_id=known_vehicle(fleet, vehicle_id).id)
    words = query.casefold()
    names = {d.id for d in fleet.destinations if words in d.name.casefold()} if words else None
    found = [
        t
        for t in rows
        if t.ended_at >= (since or "")
        and (names is None or t.origin_id in names or t.destination_id in names)
    ]
    found.sort(key=lambda t: t.ended_at, reverse=True)
    shown, total, after = page(found, limit, cursor)
    length = km(sum(t.distance_m for t in found))
    return TripPage([trip_item(fleet, t) for t in shown], total, length, after)


@tool(
    "read",
    phrases=(
        'Show the stops for fuel or charge[ of {vehicle_id}][ at "{query}"][ since {since}]',
        "List what refuelling and charging[ {vehicle_id}] cost[ at {query}][ since {since}]",
        "Pull up the refill log[ of {vehicle_id}][ for the station {query}][ from {since} on]",
    ),
    refuses=("not_found",),
    sample=samples.refills,
)
def list_vehicle_refills(
    fleet: Fleet,
    vehicle_id: VehicleId | None = None,
    query: str = "",
    since: Date | None = None,
    limit: Limit = 5,
    cursor: str = "",
) -> RefillPage:
    """List stops for fuel or charge, latest first, and their total cost.

    Args:
        vehicle_id: Only this vehicle.
        query: Part of the station's name.
        since: First day.
        limit: Refills per page.
        cursor: next_cursor of the page before.
    """
    rows = list(fleet.refills)
    if vehicle_id is not None:
        rows = fleet.refills.where(vehicle_id=known_vehicle(fleet, vehicle_id).id)
    words = query.casefold()
    found = [
        r
        for r in rows
        if r.at >= (since or "") and words in fleet.destinations[r.station_id].name.casefold()
    ]
    found.sort(key=lambda r: r.at, reverse=True)
    shown, total, after = page(found, limit, cursor)
    cost = money(sum(r.cost for r in found))
    return RefillPage([refill_item(fleet, r) for r in shown], total, cost, after)
