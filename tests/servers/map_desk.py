"""A session of the map and how tests talk to it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from provegym.servers.maps import SERVER
from provegym.servers.maps.routing import Options, closed_roads, find_route
from provegym.servers.maps.state import Atlas, Mode, Place, Road, SavedRoute
from provegym.world.world import World
from tests.servers.talk import Talk


@lru_cache
def world(seed: int) -> World:
    return World(seed, [SERVER])


@dataclass(frozen=True)
class Desk(Talk):
    """One session and the typed view of it."""

    atlas: Atlas

    def in_area(self, name: str) -> Place:
        """An operating place of the area of that name."""
        area = self.atlas.areas.where(name=name)[0]
        return self.atlas.places.where(area_id=area.id, status="operating")[0]

    def saved(self, nickname: str) -> Place:
        row = self.atlas.saved_places.where(nickname=nickname)[0]
        return self.atlas.places[row.place_id]

    def bridge(self) -> Road:
        return self.atlas.roads.where(name="Heron Bridge")[0]

    def trip(self, mode: Mode = "walking", index: int = 0) -> tuple[Place, Place]:
        """Two places some roads apart, with a way between them that is open."""
        places, closed = self.atlas.places.where(status="operating"), closed_roads(self.atlas)
        start = places[index]
        for end in places:
            route = find_route(self.atlas.roads.template, start, end, Options(mode), closed)
            if route and len(route.roads) > 3:
                return start, end
        raise AssertionError("no such trip")

    def blocked(self) -> SavedRoute:
        closed = closed_roads(self.atlas)
        return next(s for s in self.atlas.saved_routes if not closed.isdisjoint(s.roads))


def desk(seed: int = 11) -> Desk:
    session = world(seed).open()
    atlas = session.state("maps")
    assert isinstance(atlas, Atlas)
    return Desk(session, atlas)
