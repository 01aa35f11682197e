"""What the map tells of a world's stories."""

from __future__ import annotations

import pytest

from provegym.servers.maps.geo import haversine
from provegym.servers.maps.rules import violations
from provegym.servers.maps.state import point
from provegym.world.cast import cast
from provegym.world.stories import stories
from tests.servers.map_desk import desk


@pytest.mark.parametrize("seed", range(12))
def test_the_told_restaurant_is_found_by_name_with_its_street(seed: int) -> None:
    d, told = desk(seed), stories(cast(seed)).kitchen
    kind = d.atlas.categories.where(name="Restaurants")[0]
    found = d.ok("search_places", query=told.name, category_id=kind.id)["places"]
    (place,) = [d.ok("get_place", place_id=p["id"]) for p in found]
    assert (place["name"], place["address"]) == (told.name, told.street)
    assert list(violations(d.atlas)) == []


def test_there_is_a_way_to_it_from_home() -> None:
    for seed in range(6):
        d, told = desk(seed), stories(cast(seed)).kitchen
        home, kitchen = d.saved("Home"), d.atlas.places.where(name=told.name)[0]
        ends = {"from_place_id": home.id, "to_place_id": kitchen.id}
        way = d.ok("get_directions", mode="walking", **ends)
        assert way["destination"] == told.name
        assert way["distance_m"] >= haversine(point(home), point(kitchen))
