"""The map: its geometry, its routes, what is saved, and how its tools read."""

from __future__ import annotations

import re
from itertools import pairwise, permutations
from math import pi

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from provegym.servers.maps.geo import EARTH_RADIUS_M, haversine, heading, metres, seconds
from provegym.servers.maps.routing import Options, find_route
from provegym.servers.maps.rules import violations
from provegym.servers.maps.state import SPEEDS, Mode, Place, Road, point
from provegym.servers.maps.views import is_open_at
from provegym.world.table import Template
from tests.servers.map_desk import Desk, desk

# -- geometry ----------------------------------------------------------------------------------

POINTS = st.tuples(st.floats(-89, 89), st.floats(-179, 179))


def test_a_degree_along_a_meridian_is_one_360th_of_the_circumference() -> None:
    degree = 2 * pi * EARTH_RADIUS_M / 360  # 111,195.08 m
    assert haversine((10, 20), (11, 20)) == pytest.approx(degree, rel=1e-9)
    assert haversine((0, 20), (0, 21)) == pytest.approx(degree, rel=1e-9)
    # the circle at 60 degrees north is half as long; the great circle is a little shorter yet
    assert haversine((60, 20), (60, 21)) == pytest.approx(degree / 2, rel=1e-4)
    assert metres((10, 20), (11, 20)) == 111_196


def test_a_quarter_of_the_globe_lies_between_pole_and_equator() -> None:
    assert haversine((90, 0), (0, 77)) == pytest.approx(pi / 2 * EARTH_RADIUS_M)
    assert haversine((1, 2), (1, 2)) == 0


@given(POINTS, POINTS, POINTS)
def test_distance_is_a_metric(
    a: tuple[float, float], b: tuple[float, float], c: tuple[float, float]
) -> None:
    assert haversine(a, b) == pytest.approx(haversine(b, a))
    assert haversine(a, c) <= haversine(a, b) + haversine(b, c) + 1e-3


@pytest.mark.parametrize(
    ("to", "said"),
    [((1, 0), "north"), ((1, 1), "northeast"), ((0, 1), "east"), ((-1, -1), "southwest")],
)
def test_headings_are_compass_points(to: tuple[float, float], said: str) -> None:
    assert heading((0, 0), to) == said


def test_times_are_rounded_up_to_whole_seconds() -> None:
    assert seconds(100, 5) == 72  # 5 km/h is 100 m in 72 s
    assert seconds(101, 5) == 73  # 72.72 s
    assert seconds(1000, 50) == 72
    assert seconds(0, 5) == 0


# -- shortest paths worked out by hand -----------------------------------------------------------


def _place(name: str, junction: str) -> Place:
    return Place(
        *(f"plc_{name}", name, "cat", "area", junction, 10, 0.0, 0.0, "1 Road", "", "", 4.0, 9)
    )


def _road(number: str, start: str, end: str, length: int, **more: object) -> Road:
    facts = {"kind": "street", "length_m": length, **more}
    road = Road(f"rod_{number}", number, "x and y", "area", start, end, **facts)  # type: ignore[arg-type]
    return road


DIAMOND = Template(
    "maps.roads",
    "rod",
    Road,
    [
        _road("ab", "A", "B", 1000),
        _road("bd", "B", "D", 1000, one_way=True),
        _road("ac", "A", "C", 1100, kind="main"),
        _road("cd", "C", "D", 1100, kind="main"),
        _road("ad", "A", "D", 1900, kind="footpath"),
        _road("ae", "A", "E", 9000, kind="motorway", toll=True),
        _road("ed", "E", "D", 9000, kind="ferry"),
    ],
)
A, D, E = _place("a", "A"), _place("d", "D"), _place("e", "E")


def _way(start: Place, end: Place, options: Options, *closed: str) -> tuple[str, ...] | None:
    route = find_route(DIAMOND, start, end, options, frozenset(f"rod_{c}" for c in closed))
    return None if route is None else tuple(r.removeprefix("rod_") for r in route.roads)


def test_the_shortest_way_is_not_the_fastest() -> None:
    # A-B-D: 2000 m at 30 km/h, 240 s. A-C-D: 2200 m at 50 km/h, 2 * 80 s (79.2 rounded up).
    assert _way(A, D, Options("driving", "shortest")) == ("ab", "bd")
    assert _way(A, D, Options("driving", "fastest")) == ("ac", "cd")
    route = find_route(DIAMOND, A, D, Options("driving"), frozenset())
    assert route is not None
    assert (route.distance_m, route.duration_s) == (2220, 160 + 2 * 8)  # 10 m on foot: 7.2 s


def test_footpaths_are_for_walkers_and_one_way_streets_bind_vehicles() -> None:
    assert _way(A, D, Options("walking")) == ("ad",)
    assert _way(D, A, Options("walking"), "ad") == ("bd", "ab")
    assert _way(D, A, Options("cycling", "shortest")) == ("cd", "ac")


def test_closed_and_avoided_roads_are_kept_off() -> None:
    assert _way(A, D, Options("driving"), "cd") == ("ab", "bd")
    assert _way(A, D, Options("driving"), "cd", "ab") is None
    assert _way(A, E, Options("driving")) == ("ae",)
    assert _way(A, E, Options("driving", avoid="tolls")) is None
    assert _way(A, E, Options("driving", avoid="motorways")) is None
    assert _way(A, E, Options("walking")) == ("ad", "ed")
    assert _way(A, E, Options("walking", avoid="ferries")) is None
    assert _way(E, E, Options("walking")) == ()


# -- routes over seeded worlds -------------------------------------------------------------------


def _metres(d: Desk, a: Place, b: Place, mode: Mode) -> int | None:
    call = {"from_place_id": a.id, "to_place_id": b.id, "mode": mode, "prefer": "shortest"}
    result = d.session.call("get_directions", call)
    return int(result.value.distance_m) if result.outcome == "ok" else None


@pytest.mark.parametrize("mode", SPEEDS)
def test_no_detour_is_shorter_and_no_way_beats_the_straight_line(mode: Mode) -> None:
    d = desk()
    places = list(d.atlas.places)[::25]
    far = {(a.id, b.id): _metres(d, a, b, mode) for a, b in permutations(places, 2)}
    assert sum(distance is not None for distance in far.values()) > 10
    for a, b, c in permutations(places, 3):
        legs = far[a.id, b.id], far[b.id, c.id]
        if legs[0] is not None and legs[1] is not None:
            whole = far[a.id, c.id]
            assert whole is not None
            assert whole <= legs[0] + legs[1]
    for a, b in permutations(places, 2):
        assert (far[a.id, b.id] or 10**9) >= haversine(point(a), point(b))


def test_steps_name_each_road_once_in_a_row_and_add_up() -> None:
    d = desk()
    start, end = d.trip()
    got = d.ok("get_directions", from_place_id=start.id, to_place_id=end.id, mode="walking")
    parts = [re.fullmatch(r"\w+ on (.+), (\d+) m", step) for step in got["steps"]]
    assert all(parts)
    names = [p[1] for p in parts if p]
    assert all(one != two for one, two in pairwise(names))
    lengths = sum(int(p[2]) for p in parts if p)
    assert got["distance_m"] == lengths + start.access_m + end.access_m


def test_a_stop_on_the_way_joins_two_routes() -> None:
    d = desk()
    start, end = d.trip()
    stop = d.saved("Home")
    call = {"from_place_id": start.id, "to_place_id": end.id, "mode": "walking"}
    got = d.ok("get_directions", **call, via_place_id=stop.id)
    one = d.ok("get_directions", **{**call, "to_place_id": stop.id})
    two = d.ok("get_directions", **{**call, "from_place_id": stop.id})
    assert got["distance_m"] == one["distance_m"] + two["distance_m"]
    assert got["steps"] == one["steps"] + two["steps"]


def test_a_reported_closure_changes_the_route_and_opening_the_road_restores_it() -> None:
    d = desk()
    start, end = d.trip("cycling")
    call = {"from_place_id": start.id, "to_place_id": end.id, "mode": "cycling"}
    before = d.ok("get_directions", **call)
    name = d.ok("save_route", name="To the test", **call)["name"]
    saved = d.atlas.saved_routes.where(name=name)[0]
    road = saved.roads[1]
    d.ok("report_road_status", road_id=road, status="closed", reason="flooding")
    listed = d.ok("list_saved_routes", query="To the test")["saved_routes"][0]
    assert d.atlas.roads[road].name in listed["blocked_by"]
    assert d.ok("get_directions", **call)["minutes"] >= before["minutes"]
    assert d.ok("get_directions", **call) != before
    d.ok("update_saved_route", saved_route_id=saved.id)
    assert road not in d.atlas.saved_routes[saved.id].roads
    assert "blocked_by" not in d.ok("list_saved_routes", query="To the test")["saved_routes"][0]
    d.ok("report_road_status", road_id=road, status="open")
    assert d.ok("get_directions", **call) == before
    assert not list(violations(d.atlas))


def test_the_island_is_reached_on_foot_by_ferry_while_the_bridge_is_closed() -> None:
    d = desk()
    call = {"from_place_id": d.saved("Work").id, "to_place_id": d.in_area("Heron Island").id}
    got = d.ok("get_directions", **call, mode="walking")
    assert any("Heron Ferry" in step for step in got["steps"])
    error = d.refused("get_directions", **call, mode="driving")
    assert error["code"] == "closed_road"
    assert error["details"]["road"].startswith("Heron Bridge between ")


def test_motorway_tolls_are_told_to_drivers() -> None:
    d = desk()
    call = {"from_place_id": d.saved("Work").id, "to_place_id": d.in_area("Southgate Services").id}
    assert d.ok("get_directions", **call, mode="driving")["tolls"] is True
    error = d.refused("get_directions", **call, mode="driving", avoid="tolls")
    assert (error["code"], "avoids tolls" in error["message"]) == ("no_route", True)


# -- finding places ------------------------------------------------------------------------------


def test_hours_may_run_past_midnight() -> None:
    bar = msgspec.structs.replace(A, opens="17:00", closes="02:00")
    assert [is_open_at(bar, t) for t in ("16:59", "17:00", "23:59", "01:59", "02:00")] == [
        *(False, True, True, True, False)
    ]
    shop = msgspec.structs.replace(A, opens="09:00", closes="18:00")
    assert [is_open_at(shop, t) for t in ("08:59", "09:00", "18:00")] == [False, True, False]
    gone = msgspec.structs.replace(A, status="permanently_closed")
    assert is_open_at(A, "03:00")
    assert not is_open_at(gone, "03:00")


def test_a_search_keeps_to_all_of_its_filters() -> None:
    d = desk()
    wanted = next(p for p in d.atlas.places if p.opens == "17:00" and p.status == "operating")
    got = d.ok(
        "search_places",
        category_id=wanted.category_id,
        min_rating=3,
        open_at="21:00",
        limit=50,
    )
    expected = {
        p.id
        for p in d.atlas.places.where(category_id=wanted.category_id, status="operating")
        if p.rating >= 3 and (not p.opens or is_open_at(p, "21:00"))
    }
    assert {p["id"] for p in got["places"]} == expected
    ratings = [p["rating"] for p in got["places"]]
    assert ratings == sorted(ratings, reverse=True)


def test_nearby_places_are_within_the_radius_nearest_first() -> None:
    d = desk()
    home = d.saved("Home")
    got = d.ok("list_nearby_places", place_id=home.id, within_m=500, limit=50)
    expected = [
        p
        for p in d.atlas.places.where(status="operating")
        if p.id != home.id and haversine(point(home), point(p)) <= 500
    ]
    assert got["total"] == len(expected)
    distances = [p["distance_m"] for p in got["places"]]
    assert distances == sorted(distances)


def test_reachable_places_are_those_whose_directions_take_no_longer() -> None:
    d = desk()
    home = d.saved("Home")
    call = {"from_place_id": home.id, "mode": "walking"}
    got = d.ok("list_reachable_places", **call, within_minutes=12, limit=50)
    times = {p["id"]: p["minutes"] for p in got["places"]}
    for place in d.atlas.places.where(status="operating")[::7]:
        if place.id == home.id:
            continue
        result = d.session.call("get_directions", {**call, "to_place_id": place.id})
        within = result.outcome == "ok" and result.value.minutes <= 12
        if within and got["total"] <= 50:
            assert times[place.id] == result.value.minutes
        elif not within:
            assert place.id not in times


def test_areas_and_categories_count_what_is_there() -> None:
    d = desk()
    areas = d.ok("list_map_areas", limit=50)["areas"]
    assert sum(a["places"] for a in areas) == len(d.atlas.places)
    assert sum(a["closed_roads"] for a in areas) == len(d.atlas.roads.where(status="closed"))
    kinds = d.ok("list_place_categories", limit=50)["categories"]
    assert sum(c["places"] for c in kinds) == len(d.atlas.places.where(status="operating"))
    island = next(a for a in areas if a["name"] == "Heron Island")
    here = d.ok("list_place_categories", area_id=island["id"])["categories"]
    assert {c["name"] for c in here} <= {"Museums", "Hotels", "Bars", "Parks"}


def test_a_saved_place_can_be_found_by_nickname_and_removed() -> None:
    d = desk()
    place = next(
        p
        for p in d.atlas.places.where(status="operating")
        if not d.atlas.saved_places.where(place_id=p.id)
    )
    got = d.ok("save_place", place_id=place.id, nickname="Secret Spot", collection="wanted")
    assert (got["name"], got["place_id"]) == (place.name, place.id)
    found = d.ok("list_saved_places", query="secret")["saved_places"]
    assert found == [got]
    assert d.ok("remove_saved_place", saved_place_id=got["id"]) == {"removed": "Secret Spot"}
    assert d.session.changes() == {}
