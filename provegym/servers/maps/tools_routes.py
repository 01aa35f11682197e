"""Directions, the state of the roads, and the routes that a user saves."""

from __future__ import annotations

from provegym.servers.maps import samples
from provegym.servers.maps.routing import Options, Route, require_route
from provegym.servers.maps.state import (
    AreaId,
    Atlas,
    Avoid,
    Mode,
    Place,
    PlaceId,
    Prefer,
    Reason,
    Road,
    RoadId,
    RoadStatus,
    SavedRoute,
    SavedRouteId,
)
from provegym.servers.maps.tools_places import known_place as _known_place
from provegym.servers.maps.views import (
    Directions,
    Removed,
    RoadItem,
    RoadPage,
    SavedRouteItem,
    SavedRoutePage,
    avoided,
    directions,
    road_item,
    saved_route_item,
)
from provegym.world.fields import Limit, Text
from provegym.world.page import page
from provegym.world.tool import refuse, tool


@tool(
    "read",
    phrases=(
        "Give me[ the {prefer}] {mode} directions from {from_place_id} to {to_place_id}"
        "[ by way of {via_place_id}][ avoiding {avoid}]",
        "Plan the[ {prefer}] {mode} route from {from_place_id} to {to_place_id}"
        "[ with a stop at {via_place_id}][ without {avoid}]",
        "Show how to get {mode} from {from_place_id} to {to_place_id}[ via {via_place_id}]"
        "[ by the {prefer} way][, keeping off {avoid}]",
    ),
    refuses=("unknown_place", "no_route", "closed_road"),
    sample=samples.directions,
)
def get_directions(
    atlas: Atlas,
    from_place_id: PlaceId,
    to_place_id: PlaceId,
    mode: Mode,
    via_place_id: PlaceId | None = None,
    prefer: Prefer = "fastest",
    avoid: Avoid | None = None,
) -> Directions:
    """Get the best route between two places over the roads that are open now.

    Args:
        from_place_id: Where the trip starts.
        to_place_id: Where it ends.
        mode: How to travel.
        via_place_id: A stop on the way.
        prefer: Least time or least distance.
        avoid: What to keep off.
    """
    start, end = _known_place(atlas, from_place_id), _known_place(atlas, to_place_id)
    options = Options(mode, prefer, avoid)
    if via_place_id is None:
        legs = [require_route(atlas, start, end, options)]
    else:
        stop = _known_place(atlas, via_place_id)
        legs = [require_route(atlas, start, stop, options)]
        legs.append(require_route(atlas, stop, end, options))
    return directions(atlas, (start, end), mode, legs)


# -- roads -------------------------------------------------------------------------------------


@tool(
    "read",
    phrases=(
        'Show the stretches of road[ called "{query}"][ in {area_id}][ that are {status}]',
        "List the roads[ named {query}][ in the {area_id} area][ that are {status} now]",
        "Check the state of roads[ matching {query}][ around {area_id}][, only {status} ones]",
    ),
    refuses=("not_found",),
    sample=samples.roads,
)
def list_roads(
    atlas: Atlas,
    query: str = "",
    area_id: AreaId | None = None,
    status: RoadStatus | None = None,
    limit: Limit = 5,
    cursor: str = "",
) -> RoadPage:
    """List stretches of road between two crossings and whether they are open, closed ones first.

    Args:
        query: Part of the road's name or of what it crosses.
        area_id: Only roads that start in this area.
        status: Only open or only closed roads.
        limit: Roads per page.
        cursor: next_cursor of the page before.
    """
    if area_id is not None and area_id not in atlas.areas:
        refuse("not_found", f"there is no area {area_id[:40]!r}; see list_map_areas")
    words = query.casefold()
    rows = atlas.roads if area_id is None else atlas.roads.where(area_id=area_id)
    found = [
        r
        for r in rows
        if (status is None or r.status == status)
        and (words in r.name.casefold() or words in r.between.casefold())
    ]
    found.sort(key=lambda r: (r.status == "open", words not in r.name.casefold(), r.name))
    shown, total, after = page(found, limit, cursor)
    return RoadPage([road_item(r) for r in shown], total, after)


@tool(
    "write",
    phrases=(
        "Report that {road_id} is {status}[ because of {reason}]",
        "Mark {road_id} as {status} on the map[; the reason is {reason}]",
        "Let other drivers know that {road_id} is {status} now[, due to {reason}]",
    ),
    refuses=("not_found", "already_closed", "already_open", "official_closure"),
    sample=samples.report,
)
def report_road_status(
    atlas: Atlas, road_id: RoadId, status: RoadStatus, reason: Reason | None = None
) -> RoadItem:
    """Report a stretch of road as closed, or as open again; routes take it into account at once.

    Args:
        road_id: The stretch of road.
        status: How it is now.
        reason: Why it is closed; only with closed.
    """
    road = atlas.roads.get(road_id)
    if road is None:
        refuse("not_found", f"there is no road {road_id[:40]!r}; find ids with list_roads")
    if status == "open":
        if reason is not None:
            refuse("reason_not_used", "an open road has no reason; leave the reason out")
        return road_item(_reopened(atlas, road))
    if road.status == "closed":
        refuse("already_closed", f"{road.name} is closed already ({road.reason})")
    why = reason or "obstruction"
    return road_item(atlas.roads.update(road, status="closed", reason=why, closed_by="user"))


def _reopened(atlas: Atlas, road: Road) -> Road:
    if road.status == "open":
        refuse("already_open", f"{road.name} between {road.between} is open already")
    if road.closed_by == "city":
        text = f"the city closed {road.name} between {road.between} ({road.reason})"
        refuse("official_closure", f"{text}; only the city can open it again")
    return atlas.roads.update(road, status="open", reason="", closed_by="")


# -- saved routes ------------------------------------------------------------------------------


@tool(
    "read",
    phrases=(
        'Show my saved routes[ matching "{query}"][ for {mode}] and whether they are blocked',
        "List the routes I have saved[ named {query}][ that are for {mode}]",
        "Check my saved routes[ called {query}][, only those for {mode},] for closed roads",
    ),
    sample=samples.saved_routes,
)
def list_saved_routes(
    atlas: Atlas,
    query: str = "",
    mode: Mode | None = None,
    limit: Limit = 4,
    cursor: str = "",
) -> SavedRoutePage:
    """List your saved routes by name, with the closed road that blocks one, if any.

    Args:
        query: Part of the route's name, start or destination.
        mode: Only routes for this mode.
        limit: Routes per page.
        cursor: next_cursor of the page before.
    """
    words = query.casefold()
    items = [
        saved_route_item(atlas, s) for s in atlas.saved_routes if mode is None or s.mode == mode
    ]
    found = [i for i in items if words in f"{i.name}\n{i.origin}\n{i.destination}".casefold()]
    found.sort(key=lambda item: item.name.casefold())
    return SavedRoutePage(*page(found, limit, cursor))


@tool(
    "write",
    phrases=(
        'Save the[ {prefer}] {mode} route from {from_place_id} to {to_place_id} as "{name}"'
        "[, avoiding {avoid}]",
        "Store the[ {prefer}] {mode} way from {from_place_id} to {to_place_id} among my routes"
        " under the name {name}[, without {avoid}]",
        "Keep a {mode} route from {from_place_id} to {to_place_id} called {name}"
        "[, the {prefer} one][, without {avoid}]",
    ),
    refuses=("unknown_place", "route_name_taken", "no_route", "closed_road"),
    sample=samples.save_route,
)
def save_route(
    atlas: Atlas,
    name: Text,
    from_place_id: PlaceId,
    to_place_id: PlaceId,
    mode: Mode,
    prefer: Prefer = "fastest",
    avoid: Avoid | None = None,
) -> SavedRouteItem:
    """Save the route that is best between two places now, under a name.

    Args:
        name: Your name for the route.
        from_place_id: Where it starts.
        to_place_id: Where it ends.
        mode: How to travel.
        prefer: Least time or least distance.
        avoid: What to keep off.
    """
    start, end = _known_place(atlas, from_place_id), _known_place(atlas, to_place_id)
    _require_free_name(atlas, name)
    options = Options(mode, prefer, avoid)
    route = require_route(atlas, start, end, options)
    row = _saved(atlas, atlas.saved_routes.new_id(), name, (start, end), options, route)
    return saved_route_item(atlas, atlas.saved_routes.put(row))


def _saved(
    atlas: Atlas,
    row_id: str,
    name: str,
    ends: tuple[Place, Place],
    options: Options,
    route: Route,
) -> SavedRoute:
    return SavedRoute(
        id=row_id,
        name=name,
        from_place_id=ends[0].id,
        to_place_id=ends[1].id,
        mode=options.mode,
        prefer=options.prefer,
        avoid=avoided(options.avoid),
        roads=route.roads,
        distance_m=route.distance_m,
        duration_s=route.duration_s,
        computed_at=atlas.stamp,
    )


def _require_free_name(atlas: Atlas, name: str, but: str = "") -> None:
    words = name.casefold()
    if any(s.name.casefold() == words and s.id != but for s in atlas.saved_routes):
        text = f"another saved route is called {name!r}; give another name"
        refuse("route_name_taken", text, name=name)


def _saved_route(atlas: Atlas, route_id: str) -> SavedRoute:
    saved = atlas.saved_routes.get(route_id)
    if saved is None:
        refuse("not_found", f"you have no saved route {route_id[:40]!r}")
    return saved


@tool(
    "write",
    phrases=(
        "Recalculate {saved_route_id} for the roads as they are now[, for {mode}]"
        '[, as the {prefer} route][, and rename it "{name}"]',
        "Update {saved_route_id}[ to {mode}][ to the {prefer} way][ with the new name {name}]"
        " so that it fits the roads open now",
        "Work out {saved_route_id} afresh[ for {mode}][, choosing the {prefer} way]"
        "[, and call it {name}]",
    ),
    refuses=("not_found", "route_name_taken", "no_route", "closed_road", "no_change"),
    sample=samples.update_route,
)
def update_saved_route(
    atlas: Atlas,
    saved_route_id: SavedRouteId,
    mode: Mode | None = None,
    prefer: Prefer | None = None,
    name: Text | None = None,
) -> SavedRouteItem:
    """Recalculate a saved route over the roads open now; optionally change its mode or name.

    Args:
        saved_route_id: The saved route.
        mode: New way of travelling.
        prefer: Least time or least distance.
        name: New name.
    """
    saved = _saved_route(atlas, saved_route_id)
    _require_free_name(atlas, name or saved.name, saved.id)
    options = Options(mode or saved.mode, prefer or saved.prefer, saved.avoid or None)
    ends = atlas.places[saved.from_place_id], atlas.places[saved.to_place_id]
    route = require_route(atlas, *ends, options)
    row = _saved(atlas, saved.id, name or saved.name, ends, options, route)
    before = (saved.name, saved.mode, saved.prefer, saved.roads)
    if before == (row.name, row.mode, row.prefer, row.roads):
        refuse("no_change", f"{saved.name!r} is still the best route; nothing to update")
    return saved_route_item(atlas, atlas.saved_routes.put(row))


@tool(
    "write",
    phrases=(
        "Delete {saved_route_id}",
        "Remove {saved_route_id} from my saved routes",
        "Get rid of {saved_route_id} for good",
    ),
    refuses=("not_found",),
    sample=samples.unsave_route,
)
def remove_saved_route(atlas: Atlas, saved_route_id: SavedRouteId) -> Removed:
    """Delete a saved route.

    Args:
        saved_route_id: The saved route.
    """
    saved = _saved_route(atlas, saved_route_id)
    atlas.saved_routes.delete(saved.id)
    return Removed(saved.name)
