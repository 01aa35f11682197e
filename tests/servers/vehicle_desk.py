"""A session of the fleet and how tests talk to it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

from provegym.servers.vehicle import SERVER
from provegym.servers.vehicle.state import FLAT_KPA, Destination, Fleet, Vehicle, road_metres
from provegym.world.world import World
from tests.servers.talk import Talk


@lru_cache
def world(seed: int) -> World:
    return World(seed, [SERVER])


@dataclass(frozen=True)
class Desk(Talk):
    """One session and the typed view of it."""

    fleet: Fleet

    def find(self, fits: Callable[[Vehicle], bool]) -> Vehicle:
        return next(v for v in self.fleet.vehicles if fits(v))

    def now(self, vehicle: Vehicle) -> Vehicle:
        return self.fleet.vehicles[vehicle.id]

    def kind(self, vehicle: Vehicle) -> str:
        return self.fleet.destinations[vehicle.location_id].kind

    def moving(self) -> Vehicle:
        """Drives forward, with a destination set."""
        return self.find(lambda v: v.speed_kmh > 0 and v.gear == "drive")

    def reversing(self) -> Vehicle:
        """Moves backwards with headlights and fog lights on."""
        return self.find(lambda v: v.gear == "reverse")

    def waiting(self) -> Vehicle:
        """In drive, its foot brake applied."""
        return self.find(lambda v: v.gear == "drive" and v.foot_brake == "applied")

    def flat(self) -> Vehicle:
        """In drive at a garage, its brakes released, with a flat tire."""
        ids = {t.vehicle_id for t in self.fleet.tires if t.pressure_kpa < FLAT_KPA}
        return self.find(lambda v: v.id in ids)

    def neutral(self) -> Vehicle:
        """Its engine runs in neutral; its doors are unlocked, both brakes applied."""
        return self.find(lambda v: v.gear == "neutral")

    def at_charger(self) -> Vehicle:
        """Almost empty, locked, at a charging station that works."""
        return self.find(lambda v: v.engine == "off" and v.is_electric and v.percent < 10)

    def boarding(self) -> Vehicle:
        """Stands with open doors at a charging station that is out of order."""
        ids = {x.vehicle_id for x in self.fleet.doors.where(is_open=True)}
        return self.find(lambda v: v.id in ids)

    def last_drop(self) -> Vehicle:
        """Out of fuel at a fuel station."""
        return self.find(lambda v: v.range_km == 0)

    def roadster(self) -> Vehicle:
        """Two doors; low on fuel at an occupied station, the foot brake applied."""
        return self.fleet.vehicles.where(nickname="Weekend Roadster")[0]

    def parked(self) -> Vehicle:
        """Locked at home."""
        home = self.fleet.destinations.where(name="Home")[0]
        return self.fleet.vehicles.where(location_id=home.id, engine="off")[0]

    def near(self, vehicle: Vehicle, kind: str = "office") -> Destination:
        """The nearest other destination of a kind, available if it is a station."""
        here = self.fleet.destinations[vehicle.location_id]
        rows = [
            d
            for d in self.fleet.destinations.where(kind=kind)
            if d.id != here.id and d.status in ("", "available")
        ]
        return min(rows, key=lambda d: road_metres(here, d))

    def far(self) -> Destination:
        return max(self.fleet.destinations, key=lambda d: abs(d.east_m) + abs(d.north_m))


def desk(seed: int = 11) -> Desk:
    session = world(seed).open()
    fleet = session.state("vehicle")
    assert isinstance(fleet, Fleet)
    return Desk(session, fleet)
