"""Finding places and areas, and the places that a user saves."""

from __future__ import annotations

from typing import Annotated

from provegym.servers.maps import samples
from provegym.servers.maps.geo import haversine
from provegym.servers.maps.routing import access_s, travel_times
from provegym.servers.maps.state import (
    AreaId,
    Atlas,
    CategoryId,
    Collection,
    Mode,
    Place,
    PlaceId,
    SavedPlace,
    SavedPlaceId,
    point,
)
from provegym.servers.maps.views import (
    AreaItem,
    AreaPage,
    CategoryItem,
    CategoryPage,
    NearbyItem,
    NearbyPage,
    PlaceDetail,
    PlacePage,
    ReachableItem,
    ReachablePage,
    Removed,
    SavedPlaceItem,
    SavedPlacePage,
    category_name,
    is_open_at,
    minutes,
    place_detail,
    place_item,
    saved_place_item,
)
from provegym.world.fields import Clock, Limit, Range, Text
from provegym.world.page import page
from provegym.world.tool import refuse, tool

Rating = Annotated[float, Range(1, 5)]
Radius = Annotated[int, Range(50, 5000)]
Minutes = Annotated[int, Range(1, 120)]


def known_place(atlas: Atlas, place_id: str) -> Place:
    """The place; refused where there is none."""
    place = atlas.places.get(place_id)
    if place is None:
        text = f"there is no place {place_id[:40]!r}; find ids with search_places"
        refuse("unknown_place", text, place_id=place_id[:40])
    return place


def _known_area(atlas: Atlas, area_id: str | None) -> None:
    if area_id is not None and area_id not in atlas.areas:
        refuse("not_found", f"there is no area {area_id[:40]!r}; see list_map_areas")


def _known_category(atlas: Atlas, category_id: str | None) -> None:
    if category_id is not None and category_id not in atlas.categories:
        text = f"there is no category {category_id[:40]!r}; see list_place_categories"
        refuse("not_found", text)


@tool(
    "read",
    phrases=(
        'Search the map for places[ called "{query}"][ in the category {category_id}]'
        "[ in the {area_id} area][ rated {min_rating} or better][ that are open at {open_at}]",
        "Find the best rated places on the map[ named {query}][ under {category_id}]"
        "[ in {area_id}][ with a rating of at least {min_rating}][ open at {open_at}]",
        'Look up places[ with "{query}" in the name][ listed under {category_id}]'
        "[ around {area_id}][ with at least {min_rating} stars][ and open at {open_at}]",
    ),
    refuses=("not_found",),
    sample=samples.search,
)
def search_places(
    atlas: Atlas,
    query: str = "",
    category_id: CategoryId | None = None,
    area_id: AreaId | None = None,
    min_rating: Rating | None = None,
    open_at: Clock | None = None,
    limit: Limit = 5,
    cursor: str = "",
) -> PlacePage:
    """Search places in operation by name, category, area, rating or opening hours.

    Args:
        query: Part of the place's name.
        category_id: Only this category.
        area_id: Only in this area.
        min_rating: Least rating, 1 to 5.
        open_at: Only places open at this time of day.
        limit: Places per page.
        cursor: next_cursor of the page before.
    """
    _known_category(atlas, category_id)
    _known_area(atlas, area_id)
    words = query.casefold()
    rows = atlas.places if area_id is None else atlas.places.where(area_id=area_id)
    found = [
        p
        for p in rows
        if p.status == "operating"
        and (category_id is None or p.category_id == category_id)
        and p.rating >= (min_rating or 0)
        and words in p.name.casefold()
        and (open_at is None or is_open_at(p, open_at))
    ]
    found.sort(key=lambda p: (-p.rating, p.name))
    shown, total, after = page(found, limit, cursor)
    return PlacePage([place_item(atlas, p) for p in shown], total, after)


@tool(
    "read",
    phrases=(
        "Show the address and opening hours of {place_id}",
        "Give me the details of {place_id} on the map",
        "Tell me where {place_id} is and when it opens",
    ),
    refuses=("unknown_place",),
    sample=samples.one_place,
)
def get_place(atlas: Atlas, place_id: PlaceId) -> PlaceDetail:
    """Get a place's address, hours, rating and coordinates.

    Args:
        place_id: The place.
    """
    return place_detail(atlas, known_place(atlas, place_id))


@tool(
    "read",
    phrases=(
        "Show the categories of places on the map[ matching {query}][ in {area_id}]",
        'List which kinds of places there are[ called "{query}"][ around {area_id}]',
        "Count the places of each category[ named {query}][ in the {area_id} area]",
    ),
    refuses=("not_found",),
    sample=samples.categories,
)
def list_place_categories(
    atlas: Atlas,
    query: str = "",
    area_id: AreaId | None = None,
    limit: Limit = 10,
    cursor: str = "",
) -> CategoryPage:
    """List place categories that occur on the map, or in one area, with their number of places.

    Args:
        query: Part of the category's name.
        area_id: Count only this area.
        limit: Categories per page.
        cursor: next_cursor of the page before.
    """
    _known_area(atlas, area_id)
    words, counts = query.casefold(), dict[str, int]()
    for place in atlas.places if area_id is None else atlas.places.where(area_id=area_id):
        if place.status == "operating":
            counts[place.category_id] = counts.get(place.category_id, 0) + 1
    items = [
        CategoryItem(c.id, c.name, counts[c.id])
        for c in atlas.categories
        if c.id in counts and words in c.name.casefold()
    ]
    items.sort(key=lambda item: item.name)
    return CategoryPage(*page(items, limit, cursor))


@tool(
    "read",
    phrases=(
        'Show the areas of the city[ called "{query}"] and how many roads are closed in each',
        "List the city's districts[ matching {query}] with their places and closed roads",
        "Look up the map areas[ named {query}]",
    ),
    sample=samples.areas,
)
def list_map_areas(atlas: Atlas, query: str = "", limit: Limit = 6, cursor: str = "") -> AreaPage:
    """List the city's areas with their number of places and of closed roads.

    Args:
        query: Part of the area's name.
        limit: Areas per page.
        cursor: next_cursor of the page before.
    """
    words, closed = query.casefold(), dict[str, int]()
    for road in atlas.roads.where(status="closed"):
        closed[road.area_id] = closed.get(road.area_id, 0) + 1
    items = [
        AreaItem(a.id, a.name, len(atlas.places.where(area_id=a.id)), closed.get(a.id, 0))
        for a in atlas.areas
        if words in a.name.casefold()
    ]
    items.sort(key=lambda item: item.name)
    return AreaPage(*page(items, limit, cursor))


@tool(
    "read",
    phrases=(
        "List the places close to {place_id} as the crow flies[, at most {within_m} metres away]"
        "[, in the category {category_id}][, open at {open_at}]",
        "Find what lies nearest to {place_id} in a straight line[ within {within_m} m]"
        "[ under {category_id}][ and is open at {open_at}]",
        "Show what is near {place_id} by straight-line distance[ inside {within_m} metres]"
        "[ listed under {category_id}][ open at {open_at}]",
    ),
    refuses=("unknown_place", "not_found"),
    sample=samples.nearby,
)
def list_nearby_places(
    atlas: Atlas,
    place_id: PlaceId,
    within_m: Radius = 800,
    category_id: CategoryId | None = None,
    open_at: Clock | None = None,
    limit: Limit = 5,
    cursor: str = "",
) -> NearbyPage:
    """List places around a place by straight-line distance, nearest first.

    Args:
        place_id: The place in the middle.
        within_m: Greatest distance in metres.
        category_id: Only this category.
        open_at: Only places open at this time of day.
        limit: Places per page.
        cursor: next_cursor of the page before.
    """
    centre = known_place(atlas, place_id)
    _known_category(atlas, category_id)
    rows = atlas.places if category_id is None else atlas.places.where(category_id=category_id)
    items = [
        NearbyItem(p.id, p.name, category_name(atlas, p), round(distance))
        for p in rows
        if p.status == "operating"
        and p.id != centre.id
        and (distance := haversine(point(centre), point(p))) <= within_m
        and (open_at is None or is_open_at(p, open_at))
    ]
    items.sort(key=lambda item: (item.distance_m, item.name))
    return NearbyPage(*page(items, limit, cursor))


@tool(
    "read",
    phrases=(
        "List the places I can reach from {from_place_id} within {within_minutes} minutes {mode}"
        "[, in the category {category_id}]",
        "Find what is at most {within_minutes} minutes {mode} from {from_place_id}"
        "[ under {category_id}]",
        "Show where {mode} for up to {within_minutes} minutes from {from_place_id} gets me"
        "[, only places under {category_id}]",
    ),
    refuses=("unknown_place", "not_found"),
    sample=samples.reachable,
)
def list_reachable_places(
    atlas: Atlas,
    from_place_id: PlaceId,
    mode: Mode,
    within_minutes: Minutes,
    category_id: CategoryId | None = None,
    limit: Limit = 5,
    cursor: str = "",
) -> ReachablePage:
    """List places within a travel time over roads that are open now, quickest first.

    Args:
        from_place_id: Where the trip starts.
        mode: How to travel.
        within_minutes: Longest trip in minutes.
        category_id: Only this category.
        limit: Places per page.
        cursor: next_cursor of the page before.
    """
    start = known_place(atlas, from_place_id)
    _known_category(atlas, category_id)
    times, most = travel_times(atlas, start, mode), 60 * within_minutes
    rows = atlas.places if category_id is None else atlas.places.where(category_id=category_id)
    found = [
        (times[p.junction_id] + access_s(p), p)
        for p in rows
        if p.junction_id in times and p.status == "operating" and p.id != start.id
    ]
    found = sorted([f for f in found if f[0] <= most], key=lambda f: (f[0], f[1].name))
    shown, total, after = page(found, limit, cursor)
    items = [
        ReachableItem(p.id, p.name, category_name(atlas, p), minutes(time)) for time, p in shown
    ]
    return ReachablePage(items, total, after)


# -- saved places ------------------------------------------------------------------------------


@tool(
    "read",
    phrases=(
        'Show my saved places[ matching "{query}"][ in the {collection} collection]',
        "List the places I have saved on the map[ as {query}][ among my {collection} ones]",
        "Go through my saved places[ named {query}][ filed under {collection}]",
    ),
    sample=samples.saved_places,
)
def list_saved_places(
    atlas: Atlas,
    query: str = "",
    collection: Collection | None = None,
    limit: Limit = 5,
    cursor: str = "",
) -> SavedPlacePage:
    """List your saved places by nickname, such as Home and Work.

    Args:
        query: Part of the nickname or of the place's name.
        collection: Only this collection.
        limit: Saved places per page.
        cursor: next_cursor of the page before.
    """
    words = query.casefold()
    items = [
        saved_place_item(atlas, s)
        for s in atlas.saved_places
        if collection is None or s.collection == collection
    ]
    found = [i for i in items if words in i.nickname.casefold() or words in i.name.casefold()]
    found.sort(key=lambda item: item.nickname.casefold())
    return SavedPlacePage(*page(found, limit, cursor))


@tool(
    "write",
    phrases=(
        'Save {place_id} to my places[ as "{nickname}"][ in the {collection} collection]',
        "Add {place_id} to my saved places[ under the nickname {nickname}]"
        "[ among the {collection} ones]",
        "Keep {place_id} among my saved places[, call it {nickname}][, filed under {collection}]",
    ),
    refuses=("unknown_place", "permanently_closed", "already_saved", "nickname_taken"),
    sample=samples.save_place,
)
def save_place(
    atlas: Atlas,
    place_id: PlaceId,
    nickname: Text | None = None,
    collection: Collection = "favorites",
) -> SavedPlaceItem:
    """Save a place, under a nickname of your own if you like.

    Args:
        place_id: The place.
        nickname: Your own name for it; the place's name if left out.
        collection: Where to file it.
    """
    place = known_place(atlas, place_id)
    if place.status == "permanently_closed":
        refuse("permanently_closed", f"{place.name} has closed for good; choose another place")
    saved = atlas.saved_places.where(place_id=place_id)
    if saved:
        refuse("already_saved", f"{place.name} is saved already as {saved[0].nickname!r}")
    name = nickname or place.name
    if any(s.nickname.casefold() == name.casefold() for s in atlas.saved_places):
        refuse("nickname_taken", f"another saved place is called {name!r}; give another nickname")
    row = SavedPlace(atlas.saved_places.new_id(), place_id, name, collection, atlas.stamp)
    return saved_place_item(atlas, atlas.saved_places.put(row))


@tool(
    "write",
    phrases=(
        "Remove {saved_place_id} from my saved places",
        "Take {saved_place_id} off my saved places",
        "Stop keeping {saved_place_id}",
    ),
    refuses=("not_found",),
    sample=samples.unsave_place,
)
def remove_saved_place(atlas: Atlas, saved_place_id: SavedPlaceId) -> Removed:
    """Remove a place from your saved places.

    Args:
        saved_place_id: The saved place.
    """
    saved = atlas.saved_places.get(saved_place_id)
    if saved is None:
        refuse("not_found", f"you have no saved place {saved_place_id[:40]!r}")
    atlas.saved_places.delete(saved_place_id)
    return Removed(saved.nickname)
