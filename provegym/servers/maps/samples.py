"""Plausible arguments for each tool, read off the rows of a session. An empty dict: none found."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random
from typing import Any, TypeVar

from provegym.servers.maps.routing import Options, closed_roads, find_route
from provegym.servers.maps.state import Atlas, Mode, Place
from provegym.servers.maps.words import NICKNAMES, ROUTE_NAMES

Arguments = dict[str, Any]
T = TypeVar("T")

SLIP = 0.05
"""How often a row is chosen without a look at its state."""
_MODES: tuple[Mode, ...] = ("driving", "cycling", "walking")
_TRIPS: dict[Mode, tuple[int, ...]] = {
    "driving": (3, 4, 5, 6),
    "cycling": (5, 8, 10),
    "walking": (5, 10, 15, 20),
}
"""Minutes that people would go, by mode."""
_TRIES = 12
_CLOCKS = ("08:00", "12:30", "18:00", "20:00", "22:30")
_REASONS = ("roadworks", "accident", "flooding", "event", "obstruction")


def _maybe(rnd: Random, **makers: Callable[[], Any]) -> Arguments:
    """Each of the fields with a chance of 30 %."""
    return {name: make() for name, make in makers.items() if rnd.random() < 0.3}


def _pick(rnd: Random, rows: Sequence[T]) -> T:
    return rows[rnd.randrange(len(rows))]


def _operating(atlas: Atlas) -> list[Place]:
    return atlas.places.where(status="operating")


def search(atlas: Atlas, rnd: Random) -> Arguments:
    """Filters that one place meets."""
    place = _pick(rnd, _operating(atlas))
    if rnd.random() < 0.5:
        return {"query": rnd.choice((place.name, place.name.split()[0]))}
    found: Arguments = {"category_id": place.category_id}
    if rnd.random() < 0.4:
        found["area_id"] = place.area_id
    if rnd.random() < 0.3:
        found["min_rating"] = max(1.0, int(place.rating * 2) / 2)
    elif rnd.random() < 0.3:
        found["open_at"] = place.opens or rnd.choice(_CLOCKS)
    return found


def one_place(atlas: Atlas, rnd: Random) -> Arguments:
    """Any place."""
    return {"place_id": _pick(rnd, list(atlas.places)).id}


def categories(atlas: Atlas, rnd: Random) -> Arguments:
    """A category's name, or an area."""
    if rnd.random() < 0.5:
        return {"query": _pick(rnd, list(atlas.categories)).name}
    return _maybe(rnd, area_id=lambda: _pick(rnd, list(atlas.areas)).id)


def areas(atlas: Atlas, rnd: Random) -> Arguments:
    """Mostly an area's name."""
    return {"query": _pick(rnd, list(atlas.areas)).name} if rnd.random() < 0.6 else {}


def nearby(atlas: Atlas, rnd: Random) -> Arguments:
    """A place, and now and then what is looked for around it."""
    return {
        "place_id": _pick(rnd, _operating(atlas)).id,
        **_maybe(
            rnd,
            within_m=lambda: rnd.choice((300, 500, 1000, 1500)),
            category_id=lambda: _pick(rnd, list(atlas.categories)).id,
            open_at=lambda: rnd.choice(_CLOCKS),
        ),
    }


def reachable(atlas: Atlas, rnd: Random) -> Arguments:
    """A start, a mode and a short trip."""
    mode = rnd.choice(_MODES)
    return {
        "from_place_id": _pick(rnd, _operating(atlas)).id,
        "mode": mode,
        "within_minutes": rnd.choice(_TRIPS[mode]),
        **_maybe(rnd, category_id=lambda: _pick(rnd, list(atlas.categories)).id),
    }


def _ends(atlas: Atlas, rnd: Random, options: Options) -> tuple[str, str]:
    """Two places between which there is a way now, as far as a few tries find any."""
    places, closed = _operating(atlas), closed_roads(atlas)
    for _ in range(_TRIES):
        start, end = rnd.sample(places, 2)
        if rnd.random() < SLIP or find_route(atlas.roads.template, start, end, options, closed):
            break
    return start.id, end.id


def _options(rnd: Random) -> tuple[Options, Arguments]:
    mode = rnd.choice(_MODES)
    avoids = {"driving": ("tolls", "motorways"), "cycling": ("ferries",), "walking": ("ferries",)}
    given = _maybe(
        rnd,
        prefer=lambda: rnd.choice(("fastest", "shortest")),
        avoid=lambda: rnd.choice(avoids[mode]),
    )
    return Options(mode, **given), given


def directions(atlas: Atlas, rnd: Random) -> Arguments:
    """Two places with a way between them, now and then with a stop."""
    options, given = _options(rnd)
    start, end = _ends(atlas, rnd, options)
    if rnd.random() < 0.2:
        stop = _ends(atlas, rnd, options)[1]
        given |= {"via_place_id": stop} if stop not in (start, end) else {}
    return {"from_place_id": start, "to_place_id": end, "mode": options.mode, **given}


def roads(atlas: Atlas, rnd: Random) -> Arguments:
    """A road's name, or the roads of an area or status."""
    road = _pick(rnd, list(atlas.roads))
    if rnd.random() < 0.5:
        return {"query": road.name, **_maybe(rnd, status=lambda: road.status)}
    return _maybe(rnd, area_id=lambda: road.area_id, status=lambda: rnd.choice(("open", "closed")))


def report(atlas: Atlas, rnd: Random) -> Arguments:
    """An open road that is closed now, or a closure of a user that is over."""
    users = atlas.roads.where(closed_by="user")
    if users and rnd.random() < 0.4:
        return {"road_id": _pick(rnd, users).id, "status": "open"}
    rows = list(atlas.roads) if rnd.random() < SLIP else atlas.roads.where(status="open")
    reason = _maybe(rnd, reason=lambda: rnd.choice(_REASONS))
    return {"road_id": _pick(rnd, rows).id, "status": "closed", **reason}


def saved_places(atlas: Atlas, rnd: Random) -> Arguments:
    """A nickname, or a collection."""
    saved = list(atlas.saved_places)
    if saved and rnd.random() < 0.5:
        return {"query": _pick(rnd, saved).nickname}
    return _maybe(rnd, collection=lambda: rnd.choice(("favorites", "wanted", "starred")))


def _fresh(rnd: Random, names: Sequence[str], taken: set[str]) -> str:
    free = [name for name in names if name not in taken]
    return _pick(rnd, free or [f"{one} {other}" for one in names for other in names])


def save_place(atlas: Atlas, rnd: Random) -> Arguments:
    """A place that is not saved yet."""
    saved = {s.place_id for s in atlas.saved_places}
    free = [p for p in _operating(atlas) if p.id not in saved]
    taken = {s.nickname for s in atlas.saved_places}
    place = _pick(rnd, free or list(atlas.places))
    if rnd.random() < SLIP:
        place = _pick(rnd, list(atlas.places))
    return {
        "place_id": place.id,
        **_maybe(
            rnd,
            nickname=lambda: _fresh(rnd, NICKNAMES, taken),
            collection=lambda: rnd.choice(("favorites", "wanted", "starred")),
        ),
    }


def unsave_place(atlas: Atlas, rnd: Random) -> Arguments:
    """A saved place."""
    saved = list(atlas.saved_places)
    return {"saved_place_id": _pick(rnd, saved).id} if saved else {}


def saved_routes(atlas: Atlas, rnd: Random) -> Arguments:
    """A route's name, or a mode."""
    saved = list(atlas.saved_routes)
    if saved and rnd.random() < 0.5:
        return {"query": _pick(rnd, saved).name}
    return _maybe(rnd, mode=lambda: rnd.choice(_MODES))


def save_route(atlas: Atlas, rnd: Random) -> Arguments:
    """Two places with a way between them and a name that is free."""
    options, given = _options(rnd)
    start, end = _ends(atlas, rnd, options)
    taken = {s.name for s in atlas.saved_routes}
    name = _fresh(rnd, ROUTE_NAMES, taken)
    ends = {"from_place_id": start, "to_place_id": end}
    return {"name": name, **ends, "mode": options.mode, **given}


def update_route(atlas: Atlas, rnd: Random) -> Arguments:
    """A blocked route as it is, or another one with a new mode or name."""
    saved, closed = list(atlas.saved_routes), closed_roads(atlas)
    if not saved:
        return {}
    blocked = [s for s in saved if not closed.isdisjoint(s.roads)]
    if blocked and rnd.random() < 0.5:
        return {"saved_route_id": _pick(rnd, blocked).id}
    route, taken = _pick(rnd, saved), {s.name for s in saved}
    changes: Arguments = {
        "mode": rnd.choice([mode for mode in _MODES if mode != route.mode]),
        "prefer": "fastest" if route.prefer == "shortest" else "shortest",
        "name": _fresh(rnd, ROUTE_NAMES, taken),
    }
    chosen = rnd.sample(list(changes), rnd.choice((1, 1, 2)))
    return {"saved_route_id": route.id, **{name: changes[name] for name in chosen}}


def unsave_route(atlas: Atlas, rnd: Random) -> Arguments:
    """A saved route."""
    saved = list(atlas.saved_routes)
    return {"saved_route_id": _pick(rnd, saved).id} if saved else {}
