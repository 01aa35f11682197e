"""The rows of a small fleet: its vehicles and their parts, where they go and what they use up.

Energy is counted in millilitres of fuel or in watt-hours of charge, lengths in metres, pressure
in kilopascals.
"""

from __future__ import annotations

from math import ceil, hypot
from typing import Annotated, ClassVar, Literal

from provegym.world.fields import Ref, Stamp
from provegym.world.server import State
from provegym.world.table import Row, table

VehicleId = Annotated[str, Ref("vehicle.vehicles")]
DestinationId = Annotated[str, Ref("vehicle.destinations")]

Energy = Literal["petrol", "diesel", "electric"]
Power = Literal["on", "off"]
Gear = Literal["park", "reverse", "neutral", "drive"]
BrakePosition = Literal["applied", "released"]
DoorName = Literal["front-left", "front-right", "rear-left", "rear-right", "trunk", "hood"]
TireName = Literal["front-left", "front-right", "rear-left", "rear-right"]
Zone = Literal["driver", "passenger", "rear"]
LightName = Literal["headlights", "fog-lights", "interior-lights", "hazard-lights"]
Kind = Literal["home", "office", "fuel", "charging", "garage", "sight", "restaurant"]
StationStatus = Literal["", "available", "occupied", "out_of_order"]

IN_GEAR: frozenset[Gear] = frozenset(("drive", "reverse"))
"""Gears in which the wheels are driven."""
ENGINE_LIGHTS: frozenset[LightName] = frozenset(("headlights", "fog-lights"))
"""Lights that shine only while the engine runs."""
FLAT_KPA = 150
"""Below this pressure a tire is flat."""
DETOUR = 1.25
"""How much longer roads are than the straight line."""


class Vehicle(Row, frozen=True):
    """A vehicle. `level` = `first_level` + all refills - what all trips used; `odometer_m` =
    `first_odometer_m` + the lengths of all trips.
    """

    label: ClassVar[str] = "the {nickname}"
    id: VehicleId
    nickname: str
    model: str
    energy: Energy
    capacity: int
    consumption: int
    """Millilitres or watt-hours a kilometre."""
    first_level: int
    first_odometer_m: int
    level: int
    odometer_m: int
    location_id: DestinationId
    engine: Power = "off"
    gear: Gear = "park"
    foot_brake: BrakePosition = "released"
    parking_brake: BrakePosition = "applied"
    speed_kmh: int = 0

    @property
    def is_electric(self) -> bool:
        """Whether it is charged, not refuelled."""
        return self.energy == "electric"

    @property
    def range_km(self) -> int:
        """Whole kilometres that it can still go."""
        return self.level // self.consumption

    @property
    def percent(self) -> int:
        """How full tank or battery is, rounded down."""
        return 100 * self.level // self.capacity


class Door(Row, frozen=True):
    """A door, the trunk lid or the hood of a vehicle."""

    vehicle_id: VehicleId
    name: DoorName
    is_open: bool = False
    is_locked: bool = True


class Tire(Row, frozen=True):
    """A tire; `recommended_kpa` is the maker's."""

    vehicle_id: VehicleId
    position: TireName
    pressure_kpa: int
    recommended_kpa: int


class ClimateZone(Row, frozen=True):
    """A seat area with its own temperature and fan."""

    vehicle_id: VehicleId
    zone: Zone
    power: Power
    temperature_c: int
    fan: int


class Light(Row, frozen=True):
    """A group of lights."""

    vehicle_id: VehicleId
    name: LightName
    power: Power = "off"


class Destination(Row, frozen=True):
    """Somewhere to drive to, by its place east and north of the city's centre. Stations have a
    price in cents for a litre or a kilowatt-hour, and a status.
    """

    label: ClassVar[str] = "{name}"
    id: DestinationId
    name: str
    kind: Kind
    address: str
    east_m: int
    north_m: int
    price: int = 0
    status: StationStatus = ""


class Navigation(Row, frozen=True):
    """Where a vehicle's navigation leads; at most one a vehicle."""

    vehicle_id: VehicleId
    destination_id: DestinationId
    distance_m: int


class Trip(Row, frozen=True):
    """A trip that was driven, and what it used up."""

    vehicle_id: VehicleId
    origin_id: DestinationId
    destination_id: DestinationId
    distance_m: int
    used: int
    ended_at: Stamp


class Refill(Row, frozen=True):
    """Fuel or charge taken in at a station, and its cost in US cents."""

    vehicle_id: VehicleId
    station_id: DestinationId
    amount: int
    cost: int
    at: Stamp


class Fleet(State):
    """One session's fleet, seen by its owner."""

    server = "vehicle"
    vehicles = table(Vehicle, "veh")
    doors = table(Door, "door")
    tires = table(Tire, "tire")
    climate_zones = table(ClimateZone, "zone")
    lights = table(Light, "lamp")
    destinations = table(Destination, "dst")
    navigations = table(Navigation, "nav")
    trips = table(Trip, "trip")
    refills = table(Refill, "fill")


def road_metres(one: Destination, other: Destination) -> int:
    """Length of the road between two destinations."""
    return ceil(DETOUR * hypot(one.east_m - other.east_m, one.north_m - other.north_m))


def energy_for(vehicle: Vehicle, distance_m: int) -> int:
    """What a vehicle uses up over a distance, rounded up."""
    return -(-distance_m * vehicle.consumption // 1000)


def amount_text(energy: Energy, amount: int) -> str:
    """An amount of energy as people write it: "41.2 kWh" or "38.0 L"."""
    return f"{amount / 1000:.1f} {'kWh' if energy == 'electric' else 'L'}"
