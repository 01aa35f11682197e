"""What the map's tools answer: small records, lengths in metres, times in whole minutes."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from provegym.servers.maps.geo import heading
from provegym.servers.maps.routing import Route, closed_roads
from provegym.servers.maps.state import (
    AreaId,
    Atlas,
    Avoid,
    CategoryId,
    Collection,
    Mode,
    Place,
    PlaceId,
    Reason,
    Road,
    RoadId,
    RoadKind,
    RoadStatus,
    SavedPlace,
    SavedPlaceId,
    SavedRoute,
    SavedRouteId,
    point,
)


class PlaceItem(Struct, frozen=True):
    """A place in a list."""

    id: PlaceId
    name: str
    category: str
    area: str
    rating: float


class PlacePage(Struct, frozen=True):
    """A page of places, best rated first."""

    places: list[PlaceItem]
    total: int
    next_cursor: str


class PlaceDetail(Struct, frozen=True):
    """All that the map says about a place; `hours` as "08:00-18:00" or "always open"."""

    id: PlaceId
    name: str
    category: str
    area: str
    address: str
    hours: str
    rating: float
    reviews: int
    status: Literal["operating", "permanently_closed"]
    latitude: float
    longitude: float


class NearbyItem(Struct, frozen=True):
    """A place and how far it is in a straight line."""

    id: PlaceId
    name: str
    category: str
    distance_m: int


class NearbyPage(Struct, frozen=True):
    """A page of places, nearest first."""

    places: list[NearbyItem]
    total: int
    next_cursor: str


class ReachableItem(Struct, frozen=True):
    """A place and how long it takes to get there."""

    id: PlaceId
    name: str
    category: str
    minutes: int


class ReachablePage(Struct, frozen=True):
    """A page of places, quickest first."""

    places: list[ReachableItem]
    total: int
    next_cursor: str


class CategoryItem(Struct, frozen=True):
    """A category and how many places it has."""

    id: CategoryId
    name: str
    places: int


class CategoryPage(Struct, frozen=True):
    """A page of categories by name."""

    categories: list[CategoryItem]
    total: int
    next_cursor: str


class AreaItem(Struct, frozen=True):
    """An area, how many places it has and how many of its roads are closed."""

    id: AreaId
    name: str
    places: int
    closed_roads: int


class AreaPage(Struct, frozen=True):
    """A page of areas by name."""

    areas: list[AreaItem]
    total: int
    next_cursor: str


class Directions(Struct, frozen=True, omit_defaults=True):
    """The best route. The distance includes the steps between the road and each door."""

    origin: str
    destination: str
    mode: Mode
    distance_m: int
    minutes: int
    steps: list[str]
    tolls: bool = False


class RoadItem(Struct, frozen=True, omit_defaults=True):
    """A stretch of road between two crossings; while it is closed, why and by whom."""

    id: RoadId
    name: str
    between: str
    kind: RoadKind
    status: RoadStatus
    reason: Reason | Literal[""] = ""
    closed_by: str = ""


class RoadPage(Struct, frozen=True):
    """A page of roads, closed ones first."""

    roads: list[RoadItem]
    total: int
    next_cursor: str


class SavedPlaceItem(Struct, frozen=True):
    """A saved place: the nickname is the user's, the name the map's."""

    id: SavedPlaceId
    nickname: str
    collection: Collection
    place_id: PlaceId
    name: str


class SavedPlacePage(Struct, frozen=True):
    """A page of saved places by nickname."""

    saved_places: list[SavedPlaceItem]
    total: int
    next_cursor: str


class SavedRouteItem(Struct, frozen=True, omit_defaults=True):
    """A saved route as last computed; `blocked_by` is a closed road on it, if there is one."""

    id: SavedRouteId
    name: str
    origin: str
    destination: str
    mode: Mode
    distance_m: int
    minutes: int
    blocked_by: str = ""


class SavedRoutePage(Struct, frozen=True):
    """A page of saved routes by name."""

    saved_routes: list[SavedRouteItem]
    total: int
    next_cursor: str


class Removed(Struct, frozen=True):
    """What was removed, by name."""

    removed: str


def minutes(duration_s: int) -> int:
    """Whole minutes, rounded up."""
    return -(-duration_s // 60)


def category_name(atlas: Atlas, place: Place) -> str:
    """The name of a place's category."""
    return atlas.categories[place.category_id].name


def place_item(atlas: Atlas, p: Place) -> PlaceItem:
    """A place as a list shows it."""
    area = atlas.areas[p.area_id].name
    return PlaceItem(p.id, p.name, category_name(atlas, p), area, p.rating)


def place_detail(atlas: Atlas, p: Place) -> PlaceDetail:
    """A place with all that is known of it."""
    return PlaceDetail(
        id=p.id,
        name=p.name,
        category=category_name(atlas, p),
        area=atlas.areas[p.area_id].name,
        address=p.address,
        hours=f"{p.opens}-{p.closes}" if p.opens else "always open",
        rating=p.rating,
        reviews=p.reviews,
        status=p.status,
        latitude=p.latitude,
        longitude=p.longitude,
    )


def is_open_at(place: Place, clock: str) -> bool:
    """Whether the place is open at that time of day; hours may run past midnight."""
    if place.status != "operating" or not place.opens:
        return place.status == "operating"
    if place.opens < place.closes:
        return place.opens <= clock < place.closes
    return clock >= place.opens or clock < place.closes


def directions(
    atlas: Atlas, ends: tuple[Place, Place], mode: Mode, legs: list[Route]
) -> Directions:
    """Legs one after the other, as one answer."""
    roads = [atlas.roads[road_id] for leg in legs for road_id in leg.roads]
    return Directions(
        origin=ends[0].name,
        destination=ends[1].name,
        mode=mode,
        distance_m=sum(leg.distance_m for leg in legs),
        minutes=minutes(sum(leg.duration_s for leg in legs)),
        steps=[step for leg in legs for step in _steps(atlas, leg)],
        tolls=mode == "driving" and any(road.toll for road in roads),
    )


def _steps(atlas: Atlas, route: Route) -> list[str]:
    """One line for each road: stretches of one name in a row are one step."""
    steps: list[tuple[str, str, str, int]] = []
    passed = zip(route.roads, route.junctions, route.junctions[1:], strict=False)
    for road_id, here, there in passed:
        road = atlas.roads[road_id]
        if steps and steps[-1][0] == road.name:
            name, first, _, length = steps.pop()
            steps.append((name, first, there, length + road.length_m))
        else:
            steps.append((road.name, here, there, road.length_m))
    points = {j: point(atlas.junctions[j]) for j in route.junctions}
    return [f"{heading(points[a], points[b])} on {name}, {m} m" for name, a, b, m in steps]


def road_item(r: Road) -> RoadItem:
    """A stretch of road as a list shows it."""
    return RoadItem(r.id, r.name, r.between, r.kind, r.status, r.reason, r.closed_by)


def saved_place_item(atlas: Atlas, s: SavedPlace) -> SavedPlaceItem:
    """A saved place with the map's name for it."""
    return SavedPlaceItem(s.id, s.nickname, s.collection, s.place_id, atlas.places[s.place_id].name)


def saved_route_item(atlas: Atlas, s: SavedRoute) -> SavedRouteItem:
    """A saved route with its ends' names."""
    closed = closed_roads(atlas)
    blocked = next((atlas.roads[r] for r in s.roads if r in closed), None)
    return SavedRouteItem(
        id=s.id,
        name=s.name,
        origin=atlas.places[s.from_place_id].name,
        destination=atlas.places[s.to_place_id].name,
        mode=s.mode,
        distance_m=s.distance_m,
        minutes=minutes(s.duration_s),
        blocked_by=f"{blocked.name} between {blocked.between}" if blocked else "",
    )


def avoided(avoid: Avoid | None) -> Avoid | Literal[""]:
    """What is avoided as a row holds it."""
    return avoid or ""
