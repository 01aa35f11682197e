"""What the food delivery tells of a world's stories."""

from __future__ import annotations

import pytest

from provegym.servers.food_delivery.checks import violations
from provegym.world.cast import cast
from provegym.world.stories import stories
from tests.servers.food_delivery_desk import Desk, desk

SEEDS = range(16)


def kitchen_id(d: Desk, seed: int) -> str:
    """The told restaurant, as a search by its name gives it."""
    found = d.ok("search_restaurants", query=stories(cast(seed)).kitchen.name)["restaurants"]
    assert [r["name"] for r in found] == [stories(cast(seed)).kitchen.name]
    return str(found[0]["restaurant_id"])


@pytest.mark.parametrize("seed", SEEDS)
def test_the_told_restaurant_is_open_and_delivers_home(seed: int) -> None:
    d = desk(seed)
    view = d.ok("get_restaurant", restaurant_id=kitchen_id(d, seed))
    assert view["open_now"]
    assert view["distance_km"] <= view["range_km"]
    assert {m["menu"] for m in view["menus"]} == {"breakfast", "lunch", "all-day", "drinks"}
    assert view["ratings"] >= 3
    assert list(violations(d.app)) == []


@pytest.mark.parametrize("seed", SEEDS)
def test_the_customer_had_an_order_from_it(seed: int) -> None:
    d = desk(seed)
    orders = d.ok("list_food_orders", query=stories(cast(seed)).kitchen.name)["orders"]
    assert [o["status"] for o in orders] == ["delivered"]


def test_a_dish_of_it_can_be_ordered() -> None:
    ordered = 0
    for seed in SEEDS:
        d = desk(seed)
        here = kitchen_id(d, seed)
        dishes = [i for i in d.servable() if i.restaurant_id == here and i.price >= 800]
        if dishes:
            d.empty()
            d.ok("add_dish_to_cart", item_id=dishes[0].id, quantity=3)
            d.ok("place_food_order", address_id=d.app.home.id)
            ordered += 1
    assert ordered >= len(SEEDS) // 2
