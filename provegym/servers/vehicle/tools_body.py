"""Doors, climate, lights and tires."""

from __future__ import annotations

from typing import Annotated, Literal

from provegym.servers.vehicle import samples
from provegym.servers.vehicle.gates import (
    known_vehicle,
    require_engine,
    require_out_of_gear,
    require_standing,
)
from provegym.servers.vehicle.state import (
    ENGINE_LIGHTS,
    Door,
    DoorName,
    Fleet,
    LightName,
    Power,
    TireName,
    Vehicle,
    VehicleId,
    Zone,
)
from provegym.servers.vehicle.views import (
    DoorReceipt,
    LightReceipt,
    TireReceipt,
    TireReport,
    ZoneReceipt,
    door_receipt,
    lights_on,
    tire_item,
)
from provegym.world.fields import Range
from provegym.world.tool import refuse, tool

Celsius = Annotated[int, Range(16, 28)]
Fan = Annotated[int, Range(1, 5)]
Kilopascals = Annotated[int, Range(100, 400)]
OVER_KPA = 50
"""How far a tire may be inflated beyond what is recommended."""
PRECONDITION_PERCENT = 10
"""Charge below which an electric vehicle heats and cools only with its engine on."""
PUMPS = frozenset(("fuel", "garage"))
"""Kinds of places that have an air pump."""


def _door(fleet: Fleet, v: Vehicle, name: DoorName) -> Door:
    found = fleet.doors.where(vehicle_id=v.id, name=name)
    if not found:
        names = sorted(d.name for d in fleet.doors.where(vehicle_id=v.id))
        text = f"the {v.nickname} has no {name} door; it has {', '.join(names)}"
        refuse("no_such_door", text, doors=names)
    return found[0]


@tool(
    "write",
    phrases=(
        "Go ahead and {action} the {door} door of {vehicle_id}",
        "I want you to {action} the {door} door of {vehicle_id}",
        "Please {action} the {door} door on {vehicle_id}",
    ),
    refuses=(
        "not_found",
        "no_such_door",
        "already_open",
        "already_closed",
        "vehicle_moving",
        "in_gear",
        "door_locked",
    ),
    sample=samples.door,
)
def set_vehicle_door(
    fleet: Fleet, vehicle_id: VehicleId, door: DoorName, action: Literal["open", "close"]
) -> DoorReceipt:
    """Open or close a door, the trunk or the hood; only unlocked ones can be opened.

    Args:
        vehicle_id: The vehicle.
        door: Which door.
        action: Whether to open or close it.
    """
    v = known_vehicle(fleet, vehicle_id)
    row = _door(fleet, v, door)
    if action == "close":
        if not row.is_open:
            refuse("already_closed", f"the {door} door of the {v.nickname} is closed already")
        fleet.doors.update(row, is_open=False)
        return door_receipt(fleet, v)
    if row.is_open:
        refuse("already_open", f"the {door} door of the {v.nickname} is open already")
    require_out_of_gear(v)
    if row.is_locked:
        refuse("door_locked", f"the {door} door of the {v.nickname} is locked; unlock it first")
    fleet.doors.update(row, is_open=True)
    return door_receipt(fleet, v)


@tool(
    "write",
    phrases=(
        "Go ahead and {action} {vehicle_id}[, only its {door} door]",
        "Use the central locking to {action} {vehicle_id}[, just the {door} door]",
        "I want the doors of {vehicle_id} {action}ed[, only the {door} one]",
    ),
    refuses=(
        "not_found",
        "no_such_door",
        "already_locked",
        "already_unlocked",
        "doors_open",
        "vehicle_moving",
        "in_gear",
    ),
    sample=samples.lock,
)
def lock_vehicle_doors(
    fleet: Fleet,
    vehicle_id: VehicleId,
    action: Literal["lock", "unlock"],
    door: DoorName | None = None,
) -> DoorReceipt:
    """Lock or unlock all doors of a vehicle, or one of them. Open doors cannot be locked.

    Args:
        vehicle_id: The vehicle.
        action: Whether to lock or unlock.
        door: Only this door; all if left out.
    """
    v, locking = known_vehicle(fleet, vehicle_id), action == "lock"
    rows = [_door(fleet, v, door)] if door else fleet.doors.where(vehicle_id=v.id)
    changed = [d for d in rows if d.is_locked != locking]
    if not changed:
        text = f"the {v.nickname} is {action}ed there already"
        refuse("already_locked" if locking else "already_unlocked", text)
    if not locking:
        require_out_of_gear(v)
    opened = [d.name for d in changed if d.is_open]
    if locking and opened:
        text = f"these doors of the {v.nickname} are open: {', '.join(opened)}; close them first"
        refuse("doors_open", text, doors=opened)
    for row in changed:
        fleet.doors.update(row, is_locked=locking)
    return door_receipt(fleet, v)


@tool(
    "write",
    phrases=(
        "Switch the {zone} climate of {vehicle_id} {power}[, at {temperature_c} degrees]"
        "[, with the fan at {fan}]",
        "Get the {zone} climate zone of {vehicle_id} {power}[ with {temperature_c} degrees]"
        "[ and fan level {fan}]",
        "I want the air conditioning for the {zone} of {vehicle_id} {power}"
        "[, set to {temperature_c} degrees][, fan {fan}]",
    ),
    refuses=("not_found", "no_such_zone", "no_change", "engine_off", "battery_low"),
    sample=samples.climate,
)
def set_vehicle_climate(
    fleet: Fleet,
    vehicle_id: VehicleId,
    zone: Zone,
    power: Power,
    temperature_c: Celsius | None = None,
    fan: Fan | None = None,
) -> ZoneReceipt:
    """Heat or cool one seat area. Fuel vehicles need the engine on, electric ones do not.

    Args:
        vehicle_id: The vehicle.
        zone: The seat area.
        power: Whether it shall be on.
        temperature_c: Degrees Celsius; as before if left out.
        fan: Fan level; as before if left out.
    """
    v = known_vehicle(fleet, vehicle_id)
    found = fleet.climate_zones.where(vehicle_id=v.id, zone=zone)
    if not found:
        refuse("no_such_zone", f"the {v.nickname} has no climate zone for the {zone}")
    row = found[0]
    degrees, level = temperature_c or row.temperature_c, fan or row.fan
    if (power, degrees, level) == (row.power, row.temperature_c, row.fan):
        refuse("no_change", f"the {zone} climate of the {v.nickname} is {power} like that already")
    if power == "on":
        _require_power(v)
    fleet.climate_zones.update(row, power=power, temperature_c=degrees, fan=level)
    return ZoneReceipt(v.id, v.nickname, zone, power, degrees, level)


def _require_power(v: Vehicle) -> None:
    if not v.is_electric:
        require_engine(v)
    elif v.engine == "off" and v.percent < PRECONDITION_PERCENT:
        text = f"the battery of the {v.nickname} is at {v.percent} %; charge it first"
        refuse("battery_low", text, percent=v.percent, least=PRECONDITION_PERCENT)


@tool(
    "write",
    phrases=(
        "Switch the {light} of {vehicle_id} {power}",
        "I want the {light} of {vehicle_id} {power}",
        "Get the {light} on {vehicle_id} switched {power}",
    ),
    refuses=("not_found", "no_change", "engine_off", "headlights_off", "fog_lights_on"),
    sample=samples.light,
)
def set_vehicle_lights(
    fleet: Fleet, vehicle_id: VehicleId, light: LightName, power: Power
) -> LightReceipt:
    """Switch lights. Headlights need the engine, fog lights need the headlights.

    Args:
        vehicle_id: The vehicle.
        light: Which lights.
        power: On or off.
    """
    v = known_vehicle(fleet, vehicle_id)
    rows = {x.name: x for x in fleet.lights.where(vehicle_id=v.id)}
    if rows[light].power == power:
        refuse("no_change", f"the {light} of the {v.nickname} are {power} already")
    if power == "on" and light in ENGINE_LIGHTS:
        require_engine(v)
    if power == "on" and light == "fog-lights" and rows["headlights"].power == "off":
        refuse("headlights_off", f"switch on the headlights of the {v.nickname} first")
    if power == "off" and light == "headlights" and rows["fog-lights"].power == "on":
        refuse("fog_lights_on", f"switch off the fog-lights of the {v.nickname} first")
    fleet.lights.update(rows[light], power=power)
    return LightReceipt(v.id, v.nickname, lights_on(fleet, v))


@tool(
    "read",
    phrases=(
        "Check the tire pressures of {vehicle_id}",
        "Look at the tires of {vehicle_id}",
        "See whether any tire of {vehicle_id} is low or flat",
    ),
    refuses=("not_found",),
    sample=samples.one_vehicle,
)
def check_vehicle_tires(fleet: Fleet, vehicle_id: VehicleId) -> TireReport:
    """Read the tire pressures of a vehicle beside those recommended.

    Args:
        vehicle_id: The vehicle.
    """
    v = known_vehicle(fleet, vehicle_id)
    items = [tire_item(t) for t in fleet.tires.where(vehicle_id=v.id)]
    return TireReport(v.id, v.nickname, sorted(items, key=lambda item: item.position))


@tool(
    "write",
    phrases=(
        "Inflate the {tire} tire of {vehicle_id} to {pressure_kpa} kPa",
        "Set the pressure of the {tire} tire on {vehicle_id} to {pressure_kpa} kPa",
        "Pump up the {tire} tire of {vehicle_id} until it has {pressure_kpa} kPa",
    ),
    refuses=("not_found", "vehicle_moving", "no_air_pump", "too_much_pressure", "no_change"),
    sample=samples.inflate,
)
def inflate_vehicle_tire(
    fleet: Fleet, vehicle_id: VehicleId, tire: TireName, pressure_kpa: Kilopascals
) -> TireReceipt:
    """Bring a tire to a pressure, at a fuel station or garage.

    Args:
        vehicle_id: The vehicle.
        tire: Which tire.
        pressure_kpa: Kilopascals; at most 50 above what is recommended.
    """
    v = known_vehicle(fleet, vehicle_id)
    require_standing(v)
    place = fleet.destinations[v.location_id]
    if place.kind not in PUMPS:
        text = f"the {v.nickname} is at {place.name}, which has no air pump"
        refuse("no_air_pump", f"{text}; drive to a fuel station or garage", location=place.name)
    row = fleet.tires.where(vehicle_id=v.id, position=tire)[0]
    most = row.recommended_kpa + OVER_KPA
    if pressure_kpa > most:
        refuse("too_much_pressure", f"{pressure_kpa} kPa is too much; at most {most}", maximum=most)
    if pressure_kpa == row.pressure_kpa:
        refuse("no_change", f"the {tire} tire of the {v.nickname} is at {pressure_kpa} kPa already")
    changed = fleet.tires.update(row, pressure_kpa=pressure_kpa)
    return TireReceipt(v.id, v.nickname, tire_item(changed))
