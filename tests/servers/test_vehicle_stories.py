"""What the fleet's navigation tells of a world's stories."""

from __future__ import annotations

import pytest

from provegym.world.cast import cast
from provegym.world.stories import stories
from tests.servers.vehicle_desk import desk


@pytest.mark.parametrize("seed", range(12))
def test_the_told_restaurant_is_a_destination_found_by_name_and_by_street(seed: int) -> None:
    d, told = desk(seed), stories(cast(seed)).kitchen
    for query in (told.name, told.street):
        found = d.ok("search_vehicle_destinations", query=query, kind="restaurant")["destinations"]
        assert [(x["name"], x["address"]) for x in found] == [(told.name, told.street)]


def test_a_vehicle_can_be_led_there() -> None:
    for seed in range(6):
        d, told = desk(seed), stories(cast(seed)).kitchen
        ids = {"vehicle_id": d.neutral().id}
        ids["destination_id"] = d.fleet.destinations.where(name=told.name)[0].id
        estimate = d.ok("estimate_vehicle_trip", **ids)
        assert d.ok("start_vehicle_navigation", **ids)["heading_to"] == told.name
        assert estimate["range_after_km"] > 0
