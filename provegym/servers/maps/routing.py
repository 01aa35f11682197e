"""Shortest paths over the roads that are open, by networkx's Dijkstra.

A graph is made once for each set of closed roads, mode and kind of road avoided, and shared:
the roads' ends and lengths never change, so closures are all that a session adds.
"""

from __future__ import annotations

from functools import lru_cache
from itertools import pairwise
from typing import Any

import networkx as nx
from msgspec import Struct

from provegym.servers.maps.geo import seconds
from provegym.servers.maps.state import (
    SPEEDS,
    WALK_KMH,
    Atlas,
    Avoid,
    Mode,
    Place,
    Prefer,
    Road,
)
from provegym.world.table import Template
from provegym.world.tool import refuse

Closed = frozenset[str]
NOTHING_CLOSED: Closed = frozenset()


class Options(Struct, frozen=True):
    """How one wants to travel."""

    mode: Mode
    prefer: Prefer = "fastest"
    avoid: Avoid | None = None


class Route(Struct, frozen=True):
    """A way from door to door: the junctions it passes, its roads, metres and seconds."""

    junctions: tuple[str, ...]
    roads: tuple[str, ...]
    distance_m: int
    duration_s: int

    def cost(self, prefer: Prefer) -> int:
        """What the route was chosen to make least."""
        return self.duration_s if prefer == "fastest" else self.distance_m


class Tree(Struct, frozen=True):
    """Best paths from one junction to all that can be reached: the cost and the junctions."""

    costs: dict[str, int]
    paths: dict[str, list[str]]


def closed_roads(atlas: Atlas) -> Closed:
    """The ids of roads that are closed now."""
    return frozenset([road.id for road in atlas.roads.where(status="closed")])


def is_avoided(road: Road, avoid: Avoid | None) -> bool:
    """Whether a traveller who avoids that keeps off the road."""
    return (
        (avoid == "tolls" and road.toll)
        or (avoid == "motorways" and road.kind == "motorway")
        or (avoid == "ferries" and road.kind == "ferry")
    )


@lru_cache(maxsize=64)
def _graph(roads: Template[Road], closed: Closed, mode: Mode, avoid: Avoid | None) -> Any:
    """The directed graph of roads that the mode may use."""
    graph, speeds = nx.DiGraph(), SPEEDS[mode]
    for road in roads.rows.values():
        if road.kind not in speeds or road.id in closed or is_avoided(road, avoid):
            continue
        time = seconds(road.length_m, speeds[road.kind])
        facts = {"road": road.id, "shortest": road.length_m, "fastest": time}
        graph.add_edge(road.start_id, road.end_id, **facts)
        if mode == "walking" or not road.one_way:
            graph.add_edge(road.end_id, road.start_id, **facts)
    return graph


@lru_cache(maxsize=512)
def _tree(roads: Template[Road], closed: Closed, options: Options, start: str) -> Tree:
    """All best paths from a junction; only the junction itself where no road leads away."""
    graph = _graph(roads, closed, options.mode, options.avoid)
    if start not in graph:
        return Tree({start: 0}, {start: [start]})
    costs, paths = nx.single_source_dijkstra(graph, start, weight=options.prefer)
    return Tree(costs, paths)


def access_s(place: Place) -> int:
    """Seconds from the place's door to its junction, on foot."""
    return seconds(place.access_m, WALK_KMH)


def find_route(
    roads: Template[Road], start: Place, end: Place, options: Options, closed: Closed
) -> Route | None:
    """The best way between two places while those roads are closed; None where there is none."""
    path = _tree(roads, closed, options, start.junction_id).paths.get(end.junction_id)
    if path is None:
        return None
    graph = _graph(roads, closed, options.mode, options.avoid)
    edges = [graph.edges[one, two] for one, two in pairwise(path)]
    return Route(
        junctions=tuple(path),
        roads=tuple([e["road"] for e in edges]),
        distance_m=sum([e["shortest"] for e in edges], start.access_m + end.access_m),
        duration_s=sum([e["fastest"] for e in edges], access_s(start) + access_s(end)),
    )


def require_route(atlas: Atlas, start: Place, end: Place, options: Options) -> Route:
    """The best way now; refused where there is none, or none but over closed roads."""
    if start.id == end.id:
        refuse("same_place", "start and destination are the same place; give two places")
    route = find_route(atlas.roads.template, start, end, options, closed_roads(atlas))
    if route is not None:
        return route
    usual = find_route(atlas.roads.template, start, end, options, NOTHING_CLOSED)
    if usual is not None:
        _refuse_closed(atlas, start, usual, options)
    kept_off = f" that avoids {options.avoid}" if options.avoid else ""
    text = f"there is no {options.mode} route{kept_off} from {start.name} to {end.name}"
    refuse("no_route", f"{text}; try another mode", mode=options.mode)


def _refuse_closed(atlas: Atlas, start: Place, usual: Route, options: Options) -> None:
    """Name the closed road behind the last junction of the usual way that can be reached."""
    tree = _tree(atlas.roads.template, closed_roads(atlas), options, start.junction_id)
    last = max(i for i, junction in enumerate(usual.junctions) if junction in tree.costs)
    road = atlas.roads[usual.roads[last]]
    where = f"{road.name} between {road.between}"
    text = f"every {options.mode} route is blocked: {where} is closed ({road.reason})"
    refuse("closed_road", f"{text}; try another mode", road=where, reason=road.reason)


def travel_times(atlas: Atlas, start: Place, mode: Mode) -> dict[str, int]:
    """Seconds from a place's door to each junction that can be reached."""
    costs = _tree(atlas.roads.template, closed_roads(atlas), Options(mode), start.junction_id).costs
    walk = access_s(start)
    return {junction: walk + cost for junction, cost in costs.items()}
