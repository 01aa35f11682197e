"""The rows of a city's map and of what its user has saved, and what must always hold.

Lengths are whole metres, times whole seconds. Roads join junctions; a place lies a few steps
from one junction. A route runs from door to junction, along roads, and from junction to door.
"""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from provegym.world.fields import Ref, Stamp
from provegym.world.server import State
from provegym.world.table import Row, table

AreaId = Annotated[str, Ref("maps.areas")]
CategoryId = Annotated[str, Ref("maps.categories")]
JunctionId = Annotated[str, Ref("maps.junctions")]
RoadId = Annotated[str, Ref("maps.roads")]
PlaceId = Annotated[str, Ref("maps.places")]
SavedPlaceId = Annotated[str, Ref("maps.saved_places")]
SavedRouteId = Annotated[str, Ref("maps.saved_routes")]

Mode = Literal["driving", "cycling", "walking"]
Prefer = Literal["fastest", "shortest"]
Avoid = Literal["tolls", "motorways", "ferries"]
RoadKind = Literal["motorway", "main", "street", "cycleway", "footpath", "ferry"]
RoadStatus = Literal["open", "closed"]
Reason = Literal["roadworks", "accident", "flooding", "event", "obstruction"]
ClosedBy = Literal["", "city", "user"]
Collection = Literal["favorites", "wanted", "starred"]

SPEEDS: dict[Mode, dict[RoadKind, int]] = {
    "driving": {"motorway": 90, "main": 50, "street": 30},
    "cycling": {"main": 16, "street": 16, "cycleway": 18, "ferry": 10},
    "walking": {"main": 5, "street": 5, "cycleway": 5, "footpath": 5, "ferry": 10},
}
"""Kilometres an hour by mode and kind of road; a kind that is missing is barred to the mode."""
WALK_KMH = 5
"""Speed between a road and a door, whatever the mode."""


class Area(Row, frozen=True):
    """A district, by the box that bounds it in degrees."""

    label: ClassVar[str] = "{name}"
    id: AreaId
    name: str
    south: float
    west: float
    north: float
    east: float


class Category(Row, frozen=True):
    """A kind of place, in the plural: "Cafes"."""

    label: ClassVar[str] = "{name}"
    id: CategoryId
    name: str


class Junction(Row, frozen=True):
    """Where roads meet."""

    id: JunctionId
    area_id: AreaId
    latitude: float
    longitude: float


class Road(Row, frozen=True):
    """A stretch of road between two junctions. `one_way`: vehicles go from start to end only."""

    label: ClassVar[str] = "{name} between {between}"
    id: RoadId
    name: str
    between: str
    """What it meets at both ends: "Mill Lane and Park Road"."""
    area_id: AreaId
    start_id: JunctionId
    end_id: JunctionId
    kind: RoadKind
    length_m: int
    one_way: bool = False
    toll: bool = False
    status: RoadStatus = "open"
    reason: Reason | Literal[""] = ""
    closed_by: ClosedBy = ""


class Place(Row, frozen=True):
    """A place on the map; `opens` and `closes` are "" where it never closes."""

    label: ClassVar[str] = "{name}"
    id: PlaceId
    name: str
    category_id: CategoryId
    area_id: AreaId
    junction_id: JunctionId
    access_m: int
    """From its door to the junction, straight."""
    latitude: float
    longitude: float
    address: str
    opens: str
    closes: str
    rating: float
    reviews: int
    status: Literal["operating", "permanently_closed"] = "operating"


class SavedPlace(Row, frozen=True):
    """A place that the user keeps, under a name of their own."""

    label: ClassVar[str] = 'the saved place "{nickname}"'
    id: SavedPlaceId
    place_id: PlaceId
    nickname: str
    collection: Collection
    saved_at: Stamp


class SavedRoute(Row, frozen=True):
    """A route that the user keeps, along the roads that were best when it was last computed."""

    label: ClassVar[str] = 'the saved route "{name}"'
    id: SavedRouteId
    name: str
    from_place_id: PlaceId
    to_place_id: PlaceId
    mode: Mode
    prefer: Prefer
    avoid: Avoid | Literal[""]
    roads: tuple[RoadId, ...]
    distance_m: int
    duration_s: int
    computed_at: Stamp


class Atlas(State):
    """One session's map and its user's saved places and routes."""

    server = "maps"
    areas = table(Area, "area")
    categories = table(Category, "cat")
    junctions = table(Junction, "jct")
    roads = table(Road, "rod")
    places = table(Place, "plc")
    saved_places = table(SavedPlace, "sav")
    saved_routes = table(SavedRoute, "rte")


def point(row: Junction | Place) -> tuple[float, float]:
    """Where a junction or a place lies."""
    return row.latitude, row.longitude
