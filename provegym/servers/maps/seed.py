"""A city at the start of an episode: a street grid, an island, a hill, a motorway; its places."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from math import cos, radians
from random import Random

from msgspec.structs import replace

from provegym.servers.maps import words
from provegym.servers.maps.geo import metres
from provegym.servers.maps.routing import Options, Route, find_route
from provegym.servers.maps.state import (
    Area,
    Category,
    ClosedBy,
    Collection,
    Junction,
    Mode,
    Place,
    Reason,
    Road,
    RoadKind,
    SavedPlace,
    SavedRoute,
    point,
)
from provegym.world.cast import Cast
from provegym.world.server import Seeds, later
from provegym.world.stories import stories
from provegym.world.table import Template

LETTERS = "0123456789abcdefghjkmnpqrstvwxyz"
WIDE, HIGH = 8, 7
"""Junctions of the grid, west to east and north to south."""
SPACING_M, JITTER_M, MARGIN_M = 300, 40, 200
_DEGREE_M = 111_195.0
"""Metres in a degree of latitude."""
HOMES = 12
CITY_CLOSURES, USER_CLOSURES = 4, 4
REASONS: tuple[Reason, ...] = ("roadworks", "accident", "flooding", "event", "obstruction")


class Survey:
    """Collects the rows of a map while it is made."""

    def __init__(self, cast: Cast, rnd: Random) -> None:
        self.cast, self.rnd = cast, rnd
        self.latitude, self.longitude = rnd.uniform(34, 46), rnd.uniform(-118, -76)
        self._used: set[str] = set()
        self._corners: dict[str, list[tuple[float, float]]] = {}
        self.area_ids: dict[str, str] = {}
        self.category_ids: dict[str, str] = {}
        self.junctions: dict[str, Junction] = {}
        self.streets: dict[str, str] = {}
        """For each junction, a street there, for addresses."""
        self.roads: list[Road] = []
        self.places: list[Place] = []
        self.saved: list[SavedPlace] = []

    def id(self, prefix: str) -> str:
        """A fresh id."""
        while True:
            bits = self.rnd.getrandbits(30)
            new = f"{prefix}_{''.join([LETTERS[bits >> 5 * i & 31] for i in range(6)])}"
            if new not in self._used:
                self._used.add(new)
                return new

    def spot(self, east_m: float, south_m: float) -> tuple[float, float]:
        """The point so many metres east and south of the city's north-west corner."""
        lat = self.latitude - south_m / _DEGREE_M
        run = east_m / (_DEGREE_M * cos(radians(self.latitude)))
        return round(lat, 5), round(self.longitude + run, 5)

    def junction(self, area: str, east_m: float, south_m: float, street: str) -> str:
        """A junction of an area; gives its id."""
        area_id = self.area_ids.setdefault(area, "") or self.id("area")
        self.area_ids[area] = area_id
        lat, lon = self.spot(east_m, south_m)
        row = Junction(self.id("jct"), area_id, lat, lon)
        self.junctions[row.id], self.streets[row.id] = row, street
        self._corners.setdefault(area, []).append((lat, lon))
        return row.id

    def road(
        self,
        ends: tuple[str, str],
        name: str,
        between: tuple[str, str],
        kind: RoadKind,
        *,
        one_way: bool = False,
        toll: bool = False,
    ) -> None:
        """A road between two junctions."""
        start, end = self.junctions[ends[0]], self.junctions[ends[1]]
        row = Road(
            id=self.id("rod"),
            name=name,
            between=" and ".join(between),
            area_id=start.area_id,
            start_id=start.id,
            end_id=end.id,
            kind=kind,
            length_m=metres(point(start), point(end)),
            one_way=one_way,
            toll=toll,
        )
        self.roads.append(row)

    def areas(self) -> list[Area]:
        """Each area with the box around its junctions."""
        lat_m, lon_m = MARGIN_M / _DEGREE_M, MARGIN_M / (_DEGREE_M * cos(radians(self.latitude)))
        found = []
        for name, corners in self._corners.items():
            lats, lons = [c[0] for c in corners], [c[1] for c in corners]
            south, north = min(lats) - lat_m, max(lats) + lat_m
            west, east = min(lons) - lon_m, max(lons) + lon_m
            box = [round(edge, 5) for edge in (south, west, north, east)]
            found.append(Area(self.area_ids[name], name, *box))
        return found


def seed(cast: Cast, rnd: Random) -> Seeds:
    """Rows of every table for one world."""
    survey = Survey(cast, rnd)
    corners = _grid(survey)
    _outskirts(survey, corners)
    streets = _close_for_works(survey)
    _places(survey)
    _offices_and_homes(survey)
    _saved(survey)
    routes = _routes(survey)
    _reports(survey, routes, streets)
    _told_kitchen(survey)
    return {
        "areas": survey.areas(),
        "categories": [Category(i, name) for name, i in survey.category_ids.items()],
        "junctions": survey.junctions.values(),
        "roads": survey.roads,
        "places": survey.places,
        "saved_places": survey.saved,
        "saved_routes": routes,
    }


Corners = dict[str, str]


def _grid(survey: Survey) -> Corners:
    """Streets in rows and columns; gives the junctions at the corners and on the east side."""
    rnd = survey.rnd
    rows, columns = rnd.sample(words.ROWS, HIGH), rnd.sample(words.COLUMNS, WIDE)
    areas = rnd.sample(words.AREAS, 8)
    at: dict[tuple[int, int], str] = {}
    for y in range(HIGH):
        for x in range(WIDE):
            east = SPACING_M * x + rnd.randint(-JITTER_M, JITTER_M)
            south = SPACING_M * y + rnd.randint(-JITTER_M, JITTER_M)
            street = rnd.choice((rows[y], columns[x]))
            at[x, y] = survey.junction(areas[x // 2 + 4 * (y > 3)], east, south, street)
    for y, name in enumerate(rows):
        ends = [at[x, y] for x in range(WIDE)]
        _street(survey, name, ends, columns, main=y % 3 == 0, one_way=y in (2, 4))
    for x, name in enumerate(columns):
        ends = [at[x, y] for y in range(HIGH)]
        _street(survey, name, ends, rows, main=x in (0, 3, 7), one_way=x in (2, 5))
    names = {"east": columns[-1], "north": rows[0], "west": columns[0], "south": columns[-1]}
    spots = {"east": at[7, 2], "north": at[3, 0], "west": at[0, 6], "south": at[7, 6]}
    return {**spots, **{f"{side} street": name for side, name in names.items()}}


def _street(
    survey: Survey,
    name: str,
    ends: Sequence[str],
    crossed: Sequence[str],
    *,
    main: bool,
    one_way: bool,
) -> None:
    """A street from end to end; here and there a quiet stretch is closed to cars for good."""
    forward = survey.rnd.random() < 0.5
    stretches = list(zip(pairwise(ends), pairwise(crossed), strict=True))
    for i, (pair, between) in enumerate(stretches):
        kind: RoadKind = "main" if main else "street"
        inner = 0 < i < len(stretches) - 1
        if not main and not one_way and inner and survey.rnd.random() < 0.12:
            kind = survey.rnd.choice(("cycleway", "footpath"))
        ordered = pair if forward or not one_way else (pair[1], pair[0])
        survey.road(ordered, name, between, kind, one_way=one_way)


def _outskirts(survey: Survey, at: Corners) -> None:
    """An island behind a bridge and a ferry, a hill of footpaths, a toll motorway."""
    far, loop = WIDE * SPACING_M + 500, "Island Loop"
    island = [
        survey.junction(words.ISLAND, far + east, 600 + south, loop)
        for east, south in ((0, 0), (280, 30), (300, 310), (10, 290))
    ]
    bends = ("the Bridge Head", "the Lighthouse", "Seal Bay", "the Ferry Pier")
    for i in range(4):
        j = (i + 1) % 4
        survey.road((island[i], island[j]), loop, (bends[i], bends[j]), "street")
    survey.road((at["east"], island[0]), "Heron Bridge", (at["east street"], bends[0]), "main")
    survey.road((at["south"], island[3]), "Heron Ferry", (at["south street"], bends[3]), "ferry")
    _hill(survey, at)
    _motorway(survey, at)


def _hill(survey: Survey, at: Corners) -> None:
    trail, bends = "Hill Trail", ("the Hill Gate", "the Pine Hollow", "the Summit")
    middle = WIDE // 2 * SPACING_M
    steps = [
        survey.junction(words.HILL, middle + east, -south, trail)
        for east, south in ((-200, 350), (-80, 600), (120, 840))
    ]
    path = [at["north"], *steps]
    for pair, between in zip(pairwise(path), pairwise((at["north street"], *bends)), strict=True):
        survey.road(pair, trail, between, "footpath")
    ridge = survey.junction(words.HILL, middle + 260, -560, "Ridge Path")
    survey.road((steps[2], ridge), "Ridge Path", (bends[2], "the Old Quarry"), "footpath")
    survey.road((ridge, steps[0]), "Ridge Path", ("the Old Quarry", bends[0]), "footpath")


def _motorway(survey: Survey, at: Corners) -> None:
    name, stop = "Southern Motorway", "Southgate Services"
    middle = WIDE * SPACING_M // 2
    services = survey.junction(words.SERVICES, middle, HIGH * SPACING_M + 350, name)
    for side in ("west", "south"):
        between = (at[f"{side} street"], stop)
        survey.road((at[side], services), name, between, "motorway", toll=True)


def _close(survey: Survey, ids: Sequence[str], by: ClosedBy) -> None:
    """Close those roads."""
    wanted = set(ids)
    for i, road in enumerate(survey.roads):
        if road.id in wanted:
            reason: Reason = "roadworks" if road.kind == "main" else survey.rnd.choice(REASONS)
            survey.roads[i] = replace(road, status="closed", reason=reason, closed_by=by)


def _close_for_works(survey: Survey) -> list[str]:
    """The city closes the bridge and some streets; gives the other streets of the grid."""
    bridge = next(road.id for road in survey.roads if road.name == "Heron Bridge")
    streets = [r.id for r in survey.roads if r.kind == "street" and r.name != "Island Loop"]
    survey.rnd.shuffle(streets)
    _close(survey, [bridge, *streets[:CITY_CLOSURES]], "city")
    return streets[CITY_CLOSURES:]


def _places(survey: Survey) -> None:
    """Places of every category, each with a name of its own, at junctions of the grid."""
    rnd = survey.rnd
    grid = list(survey.junctions)[: WIDE * HIGH]
    hours = {}
    for kind in words.KINDS:
        survey.category_ids[kind.name] = survey.id("cat")
        hours[kind.name] = kind.hours
        for first in rnd.sample(words.FIRST, kind.places):
            name = f"{first} {rnd.choice(kind.nouns)}"
            _place(survey, rnd.choice(grid), name, kind.name, rnd.choice(kind.hours))
    homes = {survey.area_ids[area]: area for area, _, _ in words.SPECIAL}
    spots: dict[str, list[str]] = {}
    for junction in survey.junctions.values():
        spots.setdefault(homes.get(junction.area_id, ""), []).append(junction.id)
    for area, name, category in words.SPECIAL:
        _place(survey, rnd.choice(spots[area]), name, category, rnd.choice(hours[category]))
    shut = rnd.sample(range(len(survey.places)), 6)
    for i in shut:
        survey.places[i] = replace(survey.places[i], status="permanently_closed")


def _place(
    survey: Survey,
    junction_id: str,
    name: str,
    category: str,
    hours: tuple[str, str],
    address: str = "",
) -> Place:
    rnd, junction = survey.rnd, survey.junctions[junction_id]
    lat = round(junction.latitude + rnd.choice((-1, 1)) * rnd.uniform(0.0002, 0.0007), 5)
    lon = round(junction.longitude + rnd.choice((-1, 1)) * rnd.uniform(0.0002, 0.0007), 5)
    row = Place(
        id=survey.id("plc"),
        name=name,
        category_id=survey.category_ids[category],
        area_id=junction.area_id,
        junction_id=junction.id,
        access_m=metres((lat, lon), point(junction)),
        latitude=lat,
        longitude=lon,
        address=address or f"{rnd.randrange(1, 240)} {survey.streets[junction.id]}",
        opens=hours[0],
        closes=hours[1],
        rating=rnd.randrange(28, 50) / 10,
        reviews=int(rnd.expovariate(1 / 120)) + 3,
    )
    survey.places.append(row)
    return row


def _offices_and_homes(survey: Survey) -> None:
    """The offices of the world's companies, and where some of its people live."""
    rnd, cast = survey.rnd, survey.cast
    grid = list(survey.junctions)[: WIDE * HIGH]
    for category in (words.OFFICES, words.ADDRESSES):
        survey.category_ids[category] = survey.id("cat")
    for company in cast.companies:
        hours = rnd.choice(words.OFFICE_HOURS)
        _place(survey, rnd.choice(grid), company, words.OFFICES, hours)
    neighbours = [p for p in cast.others if p.city == cast.user.city]
    for person in (cast.user, *neighbours)[:HOMES]:
        where = rnd.choice(grid)
        _place(survey, where, person.street, words.ADDRESSES, ("", ""), person.street)


def _saved(survey: Survey) -> None:
    """Home, work and a dozen more, half of them under a nickname."""
    rnd, cast = survey.rnd, survey.cast
    named = {place.name: place for place in survey.places}
    _save(survey, named[cast.user.street], "Home", "starred")
    _save(survey, named[cast.user.company], "Work", "starred")
    taken = {cast.user.street, cast.user.company}
    open_places = [p for p in survey.places if p.status == "operating" and p.name not in taken]
    nicknames = rnd.sample(words.NICKNAMES, 6)
    for i, place in enumerate(rnd.sample(open_places, 12)):
        nickname = nicknames[i] if i < 6 else place.name
        _save(survey, place, nickname, rnd.choice(("favorites", "wanted", "starred")))


def _save(survey: Survey, place: Place, nickname: str, collection: Collection) -> None:
    days = survey.rnd.randrange(2, 400)
    when = later(survey.cast.start, days=-days, minutes=survey.rnd.randrange(600))
    survey.saved.append(SavedPlace(survey.id("sav"), place.id, nickname, collection, when))


def _routes(survey: Survey) -> list[SavedRoute]:
    """The commute and eight more, computed before users reported the latest closures."""
    rnd = survey.rnd
    by_id = {place.id: place for place in survey.places}
    home, work = (by_id[s.place_id] for s in survey.saved[:2])
    modes: tuple[Mode, ...] = ("driving", "cycling", "walking")
    plans = [("Commute", home, work, modes[0]), ("Way Home", work, home, modes[1])]
    for name in rnd.sample(words.ROUTE_NAMES, 7):
        start, end = rnd.sample(survey.places[:100], 2)
        plans.append((name, start, end, rnd.choice(modes)))
    roads = Template("maps.roads", "rod", Road, survey.roads)
    closed = frozenset([road.id for road in survey.roads if road.status == "closed"])
    found = []
    for name, start, end, mode in plans:
        options = Options(mode, rnd.choice(("fastest", "fastest", "shortest")))
        route = find_route(roads, start, end, options, closed)
        if route is not None:
            found.append(_saved_route(survey, name, (start, end), options, route))
    return found


def _saved_route(
    survey: Survey, name: str, ends: tuple[Place, Place], options: Options, route: Route
) -> SavedRoute:
    when = later(survey.cast.start, days=-survey.rnd.randrange(3, 200))
    return SavedRoute(
        id=survey.id("rte"),
        name=name,
        from_place_id=ends[0].id,
        to_place_id=ends[1].id,
        mode=options.mode,
        prefer=options.prefer,
        avoid="",
        roads=route.roads,
        distance_m=route.distance_m,
        duration_s=route.duration_s,
        computed_at=when,
    )


def _reports(survey: Survey, routes: list[SavedRoute], streets: Sequence[str]) -> None:
    """Users report closures, among them a stretch of the commute."""
    roads = next((route.roads for route in routes if route.roads), ())
    on_the_way = roads[len(roads) // 2 :][:1]
    _close(survey, [*on_the_way, *streets[:USER_CLOSURES]], "user")


def _told_kitchen(survey: Survey) -> None:
    """The restaurant that others know of too; drawn apart and last, so that all else stays."""
    told = stories(survey.cast).kitchen
    survey.rnd = survey.cast.rng("stories", "maps")
    where = survey.rnd.choice(list(survey.junctions)[: WIDE * HIGH])
    _place(survey, where, told.name, "Restaurants", ("08:00", "23:00"), told.street)
