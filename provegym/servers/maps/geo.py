"""Distances and bearings on a sphere."""

from __future__ import annotations

from math import asin, atan2, ceil, cos, degrees, radians, sin, sqrt

EARTH_RADIUS_M = 6_371_008.8
"""Mean radius of the Earth in metres (IUGG)."""

Point = tuple[float, float]
"""Latitude and longitude in degrees."""

_WINDS = ("north", "northeast", "east", "southeast", "south", "southwest", "west", "northwest")


def haversine(one: Point, other: Point) -> float:
    """Great-circle distance in metres by the haversine formula."""
    lat1, lat2 = radians(one[0]), radians(other[0])
    rise, run = sin((lat2 - lat1) / 2), sin(radians(other[1] - one[1]) / 2)
    return 2 * EARTH_RADIUS_M * asin(sqrt(rise * rise + cos(lat1) * cos(lat2) * run * run))


def metres(one: Point, other: Point) -> int:
    """The distance in whole metres, rounded up: no road is shorter than the straight line."""
    return ceil(haversine(one, other))


def heading(one: Point, other: Point) -> str:
    """The compass point in which `other` lies, by the initial bearing of the great circle."""
    lat1, lat2, run = radians(one[0]), radians(other[0]), radians(other[1] - one[1])
    east = sin(run) * cos(lat2)
    north = cos(lat1) * sin(lat2) - sin(lat1) * cos(lat2) * cos(run)
    return _WINDS[round(degrees(atan2(east, north)) / 45) % 8]


def seconds(length_m: int, speed_kmh: int) -> int:
    """Time for a length at a speed, in whole seconds, rounded up."""
    return -(-length_m * 18 // (speed_kmh * 5))
