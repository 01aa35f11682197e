"""What must hold on the map after every call."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise, permutations

from provegym.servers.maps.geo import haversine, metres
from provegym.servers.maps.routing import (
    NOTHING_CLOSED,
    Options,
    closed_roads,
    find_route,
    is_avoided,
)
from provegym.servers.maps.state import SPEEDS, Atlas, Mode, Place, Road, SavedRoute, point

PROBES = 4
"""Places between which distances are compared."""


def violations(atlas: Atlas) -> Iterator[str]:
    """Every broken invariant of the map, one sentence each."""
    for road in atlas.roads:
        yield from _road(atlas, road)
    for place in atlas.places:
        yield from _place(atlas, place)
    yield from _saved_places(atlas)
    yield from _saved_routes(atlas)
    yield from _distances(atlas)


def _road(atlas: Atlas, road: Road) -> Iterator[str]:
    ends = atlas.junctions.get(road.start_id), atlas.junctions.get(road.end_id)
    if ends[0] is None or ends[1] is None:
        yield f"road {road.id} ends nowhere"
    elif road.length_m != metres(point(ends[0]), point(ends[1])):
        yield f"road {road.id} is {road.length_m} m long, which is not what lies between its ends"
    closed = road.status == "closed"
    if closed != bool(road.reason) or closed != bool(road.closed_by):
        yield f"road {road.id} is {road.status}, by {road.closed_by!r} for {road.reason!r}"


def _place(atlas: Atlas, place: Place) -> Iterator[str]:
    area, junction = atlas.areas.get(place.area_id), atlas.junctions.get(place.junction_id)
    if area is None or junction is None or place.category_id not in atlas.categories:
        yield f"place {place.id} has no area, junction or category"
        return
    lat, lon = point(place)
    if not (area.south <= lat <= area.north and area.west <= lon <= area.east):
        yield f"place {place.id} lies outside of its area"
    if place.access_m != metres(point(place), point(junction)):
        yield f"place {place.id} is not {place.access_m} m from its junction"


def _saved_places(atlas: Atlas) -> Iterator[str]:
    saved = list(atlas.saved_places)
    if len({s.place_id for s in saved}) < len(saved):
        yield "a place is saved twice"
    if len({s.nickname.casefold() for s in saved}) < len(saved):
        yield "two saved places have one nickname"
    yield from (f"{s.id} saves no place" for s in saved if s.place_id not in atlas.places)


def _saved_routes(atlas: Atlas) -> Iterator[str]:
    saved = list(atlas.saved_routes)
    if len({s.name.casefold() for s in saved}) < len(saved):
        yield "two saved routes have one name"
    for route in saved:
        yield from _chain(atlas, route)
        yield from _best(atlas, route)


def _chain(atlas: Atlas, saved: SavedRoute) -> Iterator[str]:
    """The roads of a saved route lead from its start to its end, and its mode may use them."""
    start, end = atlas.places[saved.from_place_id], atlas.places[saved.to_place_id]
    here, length = start.junction_id, start.access_m + end.access_m
    for road in map(atlas.roads.__getitem__, saved.roads):
        backwards = here == road.end_id
        if here not in (road.start_id, road.end_id):
            yield f"saved route {saved.id} leaps to road {road.id}"
        if backwards and road.one_way and saved.mode != "walking":
            yield f"saved route {saved.id} goes against the one-way road {road.id}"
        if road.kind not in SPEEDS[saved.mode] or is_avoided(road, saved.avoid or None):
            yield f"saved route {saved.id} uses road {road.id}, which it must not"
        here, length = road.start_id if backwards else road.end_id, length + road.length_m
    if here != end.junction_id or length != saved.distance_m:
        yield f"saved route {saved.id} ends elsewhere or is not {saved.distance_m} m long"


def _best(atlas: Atlas, saved: SavedRoute) -> Iterator[str]:
    """A saved route never beats the best of all routes; while it is clear, the best now exists
    and is no worse.
    """
    start, end = atlas.places[saved.from_place_id], atlas.places[saved.to_place_id]
    options = Options(saved.mode, saved.prefer, saved.avoid or None)
    cost = saved.duration_s if saved.prefer == "fastest" else saved.distance_m
    closed = closed_roads(atlas)
    ideal = find_route(atlas.roads.template, start, end, options, NOTHING_CLOSED)
    if ideal is None or cost < ideal.cost(saved.prefer):
        yield f"saved route {saved.id} is shorter than the shortest path"
    now = find_route(atlas.roads.template, start, end, options, closed)
    if closed.isdisjoint(saved.roads) and (now is None or now.cost(saved.prefer) > cost):
        yield f"the best route now is worse than saved route {saved.id}"


def _distances(atlas: Atlas) -> Iterator[str]:
    """The triangle inequality between some places, and that no way beats the straight line."""
    places = list(atlas.places)
    probes, closed = places[:: len(places) // PROBES][:PROBES], closed_roads(atlas)
    for mode in SPEEDS:
        far = {
            (a.id, b.id): _shortest(atlas, a, b, mode, closed) for a, b in permutations(probes, 2)
        }
        for a, b, c in permutations(probes, 3):
            legs = far[a.id, b.id], far[b.id, c.id]
            if None not in legs and (far[a.id, c.id] or 10**9) > sum(map(int, legs)):  # type: ignore[arg-type]
                yield f"{mode} from {a.name} to {c.name} is longer than by way of {b.name}"
        for a, b in pairwise(probes):
            if (far[a.id, b.id] or 10**9) < haversine(point(a), point(b)):
                yield f"{mode} from {a.name} to {b.name} is shorter than the straight line"


def _shortest(
    atlas: Atlas, start: Place, end: Place, mode: Mode, closed: frozenset[str]
) -> int | None:
    route = find_route(atlas.roads.template, start, end, Options(mode, "shortest"), closed)
    return None if route is None else route.distance_m
