"""What the fleet's tools answer: small records, distances in kilometres."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Struct

from provegym.servers.vehicle.state import (
    FLAT_KPA,
    BrakePosition,
    Destination,
    DestinationId,
    DoorName,
    Energy,
    Fleet,
    Gear,
    Kind,
    LightName,
    Power,
    Refill,
    Tire,
    TireName,
    Trip,
    Vehicle,
    VehicleId,
    Zone,
    amount_text,
)
from provegym.world.fields import DATE, VOLATILE, Money, money

Day = Annotated[str, DATE, VOLATILE]
DoorStatus = Literal["locked", "closed", "open"]


class VehicleItem(Struct, frozen=True):
    """A vehicle in a list."""

    id: VehicleId
    nickname: str
    model: str
    energy: Energy
    location: str
    range_km: int


class VehiclePage(Struct, frozen=True):
    """A page of vehicles by nickname."""

    vehicles: list[VehicleItem]
    total: int
    next_cursor: str


class VehicleStatus(Struct, frozen=True, omit_defaults=True):
    """All that the dashboard shows; `heading_to` while the navigation is on."""

    id: VehicleId
    nickname: str
    location: str
    engine: Power
    gear: Gear
    foot_brake: BrakePosition
    parking_brake: BrakePosition
    speed_kmh: int
    energy_percent: int
    range_km: int
    odometer_km: int
    doors_open: list[DoorName]
    doors_unlocked: list[DoorName]
    lights_on: list[LightName]
    climate_on: list[Zone]
    heading_to: str = ""


class DriveState(Struct, frozen=True):
    """How a vehicle stands or moves after a change."""

    id: VehicleId
    nickname: str
    engine: Power
    gear: Gear
    foot_brake: BrakePosition
    parking_brake: BrakePosition
    speed_kmh: int


class DoorItem(Struct, frozen=True):
    """A door: locked, closed or open."""

    name: DoorName
    status: DoorStatus


class DoorReceipt(Struct, frozen=True):
    """A vehicle's doors after a change."""

    id: VehicleId
    nickname: str
    doors: list[DoorItem]


class ZoneReceipt(Struct, frozen=True):
    """A climate zone after a change."""

    id: VehicleId
    nickname: str
    zone: Zone
    power: Power
    temperature_c: int
    fan: int


class LightReceipt(Struct, frozen=True):
    """The lights that are on after a change."""

    id: VehicleId
    nickname: str
    lights_on: list[LightName]


class TireItem(Struct, frozen=True):
    """A tire and how its pressure compares with the recommended one."""

    position: TireName
    pressure_kpa: int
    recommended_kpa: int
    status: Literal["ok", "low", "flat", "high"]


class TireReport(Struct, frozen=True):
    """The tires of a vehicle."""

    id: VehicleId
    nickname: str
    tires: list[TireItem]


class TireReceipt(Struct, frozen=True):
    """A tire after a change."""

    id: VehicleId
    nickname: str
    tire: TireItem


class DestinationItem(Struct, frozen=True, omit_defaults=True):
    """A destination; stations with the price of a litre or kilowatt-hour and their status."""

    id: DestinationId
    name: str
    kind: Kind
    address: str
    distance_km: float | None = None
    price: str = ""
    status: str = ""


class DestinationPage(Struct, frozen=True):
    """A page of destinations: nearest first if seen from a vehicle, else by name."""

    destinations: list[DestinationItem]
    total: int
    next_cursor: str


class Estimate(Struct, frozen=True):
    """A trip before it is driven; `range_after_km` below 0 is out of range."""

    vehicle: str
    destination: str
    distance_km: float
    minutes: int
    uses: str
    range_after_km: int


class Guidance(Struct, frozen=True):
    """A navigation that was started."""

    id: VehicleId
    nickname: str
    heading_to: str
    distance_km: float
    minutes: int


class Arrival(Struct, frozen=True):
    """A trip that was driven."""

    id: VehicleId
    nickname: str
    arrived_at: str
    distance_km: float
    used: str
    range_km: int


class TripItem(Struct, frozen=True):
    """A trip in the log."""

    date: Day
    vehicle: str
    origin: str
    destination: str
    distance_km: float


class TripPage(Struct, frozen=True):
    """A page of trips, latest first, and the length of all that were found."""

    trips: list[TripItem]
    total: int
    total_km: float
    next_cursor: str


class RefillItem(Struct, frozen=True):
    """A stop for fuel or charge."""

    date: Day
    vehicle: str
    station: str
    amount: str
    cost: Money


class RefillPage(Struct, frozen=True):
    """A page of refills, latest first, and what all that were found cost."""

    refills: list[RefillItem]
    total: int
    total_cost: Money
    next_cursor: str


class RefillReceipt(Struct, frozen=True):
    """Fuel or charge taken in, and the vehicle's range after it."""

    id: VehicleId
    nickname: str
    station: str
    amount: str
    cost: Money
    energy_percent: int
    range_km: int


def km(distance_m: int) -> float:
    """Kilometres to one decimal."""
    return round(distance_m / 1000, 1)


def drive_minutes(distance_m: int) -> int:
    """Driving time: 40 km/h for the first 15 km, 90 km/h beyond; whole minutes, rounded up."""
    town = min(distance_m, 15_000)
    return -(-(town * 60 * 9 + (distance_m - town) * 60 * 4) // 360_000)


def vehicle_item(fleet: Fleet, v: Vehicle) -> VehicleItem:
    """A vehicle as a list shows it."""
    where = fleet.destinations[v.location_id].name
    return VehicleItem(v.id, v.nickname, v.model, v.energy, where, v.range_km)


def vehicle_status(fleet: Fleet, v: Vehicle) -> VehicleStatus:
    """A vehicle's dashboard."""
    doors = fleet.doors.where(vehicle_id=v.id)
    routes = fleet.navigations.where(vehicle_id=v.id)
    return VehicleStatus(
        id=v.id,
        nickname=v.nickname,
        location=fleet.destinations[v.location_id].name,
        engine=v.engine,
        gear=v.gear,
        foot_brake=v.foot_brake,
        parking_brake=v.parking_brake,
        speed_kmh=v.speed_kmh,
        energy_percent=v.percent,
        range_km=v.range_km,
        odometer_km=v.odometer_m // 1000,
        doors_open=[d.name for d in doors if d.is_open],
        doors_unlocked=[d.name for d in doors if not d.is_locked],
        lights_on=lights_on(fleet, v),
        climate_on=[z.zone for z in fleet.climate_zones.where(vehicle_id=v.id, power="on")],
        heading_to=fleet.destinations[routes[0].destination_id].name if routes else "",
    )


def lights_on(fleet: Fleet, v: Vehicle) -> list[LightName]:
    """The lights of a vehicle that shine."""
    return sorted(x.name for x in fleet.lights.where(vehicle_id=v.id, power="on"))


def drive_state(v: Vehicle) -> DriveState:
    """How the vehicle stands or moves."""
    return DriveState(
        v.id, v.nickname, v.engine, v.gear, v.foot_brake, v.parking_brake, v.speed_kmh
    )


def door_receipt(fleet: Fleet, v: Vehicle) -> DoorReceipt:
    """All doors of a vehicle."""
    items = []
    for door in fleet.doors.where(vehicle_id=v.id):
        status: DoorStatus = "open" if door.is_open else "locked" if door.is_locked else "closed"
        items.append(DoorItem(door.name, status))
    return DoorReceipt(v.id, v.nickname, sorted(items, key=lambda item: item.name))


def tire_item(t: Tire) -> TireItem:
    """A tire: flat, more than 20 kPa below or 40 above what is recommended, or fine."""
    status: Literal["ok", "low", "flat", "high"] = "ok"
    if t.pressure_kpa < FLAT_KPA:
        status = "flat"
    elif t.pressure_kpa < t.recommended_kpa - 20:
        status = "low"
    elif t.pressure_kpa > t.recommended_kpa + 40:
        status = "high"
    return TireItem(t.position, t.pressure_kpa, t.recommended_kpa, status)


def destination_item(d: Destination, distance_m: int | None) -> DestinationItem:
    """A destination, with its distance if it is seen from a vehicle."""
    unit = "kWh" if d.kind == "charging" else "L"
    return DestinationItem(
        id=d.id,
        name=d.name,
        kind=d.kind,
        address=d.address,
        distance_km=None if distance_m is None else km(distance_m),
        price=f"{money(d.price)}/{unit}" if d.price else "",
        status=d.status,
    )


def trip_item(fleet: Fleet, t: Trip) -> TripItem:
    """A trip as the log shows it."""
    places = fleet.destinations
    ends = places[t.origin_id].name, places[t.destination_id].name
    nickname = fleet.vehicles[t.vehicle_id].nickname
    return TripItem(t.ended_at[:10], nickname, *ends, km(t.distance_m))


def refill_item(fleet: Fleet, r: Refill) -> RefillItem:
    """A refill as the log shows it."""
    vehicle, station = fleet.vehicles[r.vehicle_id], fleet.destinations[r.station_id].name
    amount = amount_text(vehicle.energy, r.amount)
    return RefillItem(r.at[:10], vehicle.nickname, station, amount, money(r.cost))
