"""Each refusal of the map occurs in its worlds as seeded; a broken map is noticed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from provegym.servers.maps import SERVER
from provegym.servers.maps.rules import violations
from tests.servers.map_desk import Desk, desk
from tests.servers.talk import declared

Scenario = Callable[[Desk], dict[str, Any]]


def _trip(d: Desk, **given: Any) -> dict[str, Any]:
    start, end = d.trip()
    return {"from_place_id": start.id, "to_place_id": end.id, "mode": "walking", **given}


def _to(area: str, mode: str) -> Callable[..., dict[str, Any]]:
    return lambda d, **given: _trip(d, to_place_id=d.in_area(area).id, mode=mode, **given)


_to_the_hill = _to("Lookout Hill", "driving")
_to_the_island = _to("Heron Island", "driving")


def _unsaved(d: Desk) -> str:
    saved = {s.place_id for s in d.atlas.saved_places}
    return next(p.id for p in d.atlas.places if p.id not in saved and p.status == "operating")


def _route(d: Desk, index: int = 0) -> str:
    return list(d.atlas.saved_routes)[index].id


def _walk_to(d: Desk, area: str) -> str:
    """A route on foot to that area, saved in this session."""
    end = d.in_area(area)
    start = next(p for p in (d.saved("Work"), d.saved("Home")) if p.id != end.id)
    call = {"from_place_id": start.id, "to_place_id": end.id, "mode": "walking"}
    saved: str = d.ok("save_route", name=f"Walk to {area}", **call)["id"]
    return saved


SCENARIOS: dict[tuple[str, str], Scenario] = {
    ("search_places", "not_found"): lambda d: {"category_id": "cat_none"},
    ("get_place", "unknown_place"): lambda d: {"place_id": "plc_none"},
    ("list_place_categories", "not_found"): lambda d: {"area_id": "area_none"},
    ("list_nearby_places", "unknown_place"): lambda d: {"place_id": "plc_none"},
    ("list_nearby_places", "not_found"): lambda d: {
        "place_id": d.saved("Home").id,
        "category_id": "cat_none",
    },
    ("list_reachable_places", "unknown_place"): lambda d: {
        "from_place_id": "plc_none",
        "mode": "walking",
        "within_minutes": 5,
    },
    ("list_reachable_places", "not_found"): lambda d: {
        "from_place_id": d.saved("Home").id,
        "mode": "walking",
        "within_minutes": 5,
        "category_id": "cat_none",
    },
    ("save_place", "unknown_place"): lambda d: {"place_id": "plc_none"},
    ("save_place", "permanently_closed"): lambda d: {
        "place_id": d.atlas.places.where(status="permanently_closed")[0].id
    },
    ("save_place", "already_saved"): lambda d: {"place_id": d.saved("Home").id},
    ("save_place", "nickname_taken"): lambda d: {"place_id": _unsaved(d), "nickname": "home"},
    ("remove_saved_place", "not_found"): lambda d: {"saved_place_id": "sav_none"},
    ("get_directions", "unknown_place"): lambda d: _trip(d, to_place_id="plc_none"),
    ("get_directions", "no_route"): _to_the_hill,
    ("get_directions", "closed_road"): _to_the_island,
    ("list_roads", "not_found"): lambda d: {"area_id": "area_none"},
    ("report_road_status", "not_found"): lambda d: {"road_id": "rod_none", "status": "open"},
    ("report_road_status", "already_closed"): lambda d: {
        "road_id": d.bridge().id,
        "status": "closed",
    },
    ("report_road_status", "already_open"): lambda d: {
        "road_id": d.atlas.roads.where(status="open")[0].id,
        "status": "open",
    },
    ("report_road_status", "official_closure"): lambda d: {
        "road_id": d.bridge().id,
        "status": "open",
    },
    ("save_route", "unknown_place"): lambda d: _trip(d, name="Fresh", to_place_id="plc_none"),
    ("save_route", "route_name_taken"): lambda d: _trip(d, name="commute"),
    ("save_route", "no_route"): lambda d: _to_the_hill(d, name="Fresh"),
    ("save_route", "closed_road"): lambda d: _to_the_island(d, name="Fresh"),
    ("update_saved_route", "not_found"): lambda d: {"saved_route_id": "rte_none"},
    ("update_saved_route", "route_name_taken"): lambda d: {
        "saved_route_id": _route(d, 1),
        "name": "Commute",
    },
    ("update_saved_route", "no_route"): lambda d: {
        "saved_route_id": _walk_to(d, "Lookout Hill"),
        "mode": "driving",
    },
    ("update_saved_route", "closed_road"): lambda d: {
        "saved_route_id": _walk_to(d, "Heron Island"),
        "mode": "driving",
    },
    ("update_saved_route", "no_change"): lambda d: {
        "saved_route_id": _walk_to(d, "Heron Island"),
        "mode": "walking",
    },
    ("remove_saved_route", "not_found"): lambda d: {"saved_route_id": "rte_none"},
}  # fmt: skip

DECLARED = declared(SERVER)


@pytest.mark.parametrize(("tool", "code"), DECLARED)
@pytest.mark.parametrize("seed", [0, 11])
def test_each_declared_refusal_occurs_in_a_seeded_world(tool: str, code: str, seed: int) -> None:
    d = desk(seed)
    error = d.refused(tool, **SCENARIOS[tool, code](d))
    assert error["code"] == code
    assert len(error["message"]) > 20


def test_a_trip_needs_two_places_and_an_open_road_no_reason() -> None:
    d = desk()
    home = d.saved("Home").id
    call = {"from_place_id": home, "to_place_id": home, "mode": "walking"}
    assert d.refused("get_directions", **call)["code"] == "same_place"
    road = d.atlas.roads.where(closed_by="user")[0].id
    call = {"road_id": road, "status": "open", "reason": "event"}
    assert d.refused("report_road_status", **call)["code"] == "reason_not_used"


def test_independent_writes_in_either_order_give_the_same_changes() -> None:
    d = desk()
    start, end = d.trip("walking", 3)
    ends = {"from_place_id": start.id, "to_place_id": end.id}
    user_closed = d.atlas.roads.where(closed_by="user")[0].id
    writes: list[tuple[str, dict[str, Any]]] = [
        ("save_route", {"name": "On foot", **ends, "mode": "walking"}),
        ("save_place", {"place_id": _unsaved(d)}),
        ("save_route", {"name": "On foot again", **ends, "mode": "walking"}),
        ("remove_saved_place", {"saved_place_id": next(iter(d.atlas.saved_places)).id}),
        ("remove_saved_route", {"saved_route_id": _route(d)}),
    ]
    one, two = desk(), desk()
    for session, order in ((one, writes), (two, writes[::-1])):
        for tool, arguments in order:
            session.ok(tool, **arguments)
        session.ok("report_road_status", road_id=user_closed, status="open")
    assert one.session.changes() == two.session.changes()


def _shorten_road(d: Desk) -> None:
    road = d.bridge()
    d.atlas.roads.update(road, length_m=road.length_m - 1)


def _close_silently(d: Desk) -> None:
    d.atlas.roads.update(d.atlas.roads.where(status="open")[0], status="closed")


def _move_place(d: Desk) -> None:
    d.atlas.places.update(d.saved("Home"), latitude=0.0)


def _save_twice(d: Desk) -> None:
    one, two, *_ = d.atlas.saved_places
    d.atlas.saved_places.update(one, place_id=two.place_id)


def _lose_a_road(d: Desk) -> None:
    saved = next(s for s in d.atlas.saved_routes if len(s.roads) > 1)
    d.atlas.saved_routes.update(saved, roads=saved.roads[1:])


def _boast(d: Desk) -> None:
    saved = next(iter(d.atlas.saved_routes))
    d.atlas.saved_routes.update(saved, duration_s=1, distance_m=1)


def _wrong_mode(d: Desk) -> None:
    saved = d.atlas.saved_routes[_walk_to(d, "Lookout Hill")]
    d.atlas.saved_routes.update(saved, mode="driving")


@pytest.mark.parametrize(
    ("harm", "said"),
    [
        (_shorten_road, "lies between its ends"),
        (_close_silently, "is closed, by ''"),
        (_move_place, "outside of its area"),
        (_save_twice, "saved twice"),
        (_lose_a_road, "leaps"),
        (_boast, "shorter than the shortest path"),
        (_wrong_mode, "which it must not"),
    ],
)
def test_a_broken_map_is_noticed(harm: Callable[[Desk], None], said: str) -> None:
    d = desk()
    assert not list(violations(d.atlas))
    harm(d)
    assert any(said in line for line in violations(d.atlas))
