"""Every refusal that a food delivery tool declares, reached by legal calls in seeded worlds."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import pytest

from provegym.servers.food_delivery import SERVER
from provegym.servers.food_delivery.pricing import promo_problem
from provegym.servers.food_delivery.service import (
    closed_problem,
    free_courier,
    item_problem,
    range_problem,
    status_of,
)
from provegym.servers.food_delivery.state import MenuItem, Order, metres
from tests.servers.food_delivery_desk import Desk, desk
from tests.servers.talk import declared

Arguments = dict[str, Any]
Scenario = Callable[[Desk], Arguments | None]
"""Brings a session to where the call is refused; None if this world has no such case."""


def no_such(field: str, **more: Any) -> Scenario:
    return lambda d: {field: "nothing_000000", **more}


def first(rows: Iterable[Any], field: str, **more: Any) -> Arguments | None:
    row = next(iter(rows), None)
    return None if row is None else {field: row.id, **more}


# -- the cart ------------------------------------------------------------------------------------


def dish(wanted: Callable[[Desk, MenuItem], bool]) -> Scenario:
    """A dish of the description for an empty cart."""

    def scenario(d: Desk) -> Arguments | None:
        d.empty()
        return first((i for i in d.app.menu_items if wanted(d, i)), "item_id")

    return scenario


def opened(d: Desk, item: MenuItem) -> bool:
    return closed_problem(d.app, d.restaurant(item)) is None


def has_problem(d: Desk, item: MenuItem, code: str) -> bool:
    problem = item_problem(d.app, item, 1)
    return problem is not None and problem.code == code and opened(d, item)


def elsewhere(d: Desk) -> Arguments:
    d.empty()
    one = d.servable()[0]
    d.ok("add_dish_to_cart", item_id=one.id)
    other = next(i for i in d.servable() if i.restaurant_id != one.restaurant_id)
    return {"item_id": other.id}


def strange_option(d: Desk) -> Arguments:
    d.empty()
    item = d.servable()[0]
    option = next(o for o in d.app.options if o.item_id != item.id)
    return {"item_id": item.id, "option_ids": [option.id]}


def all_options(d: Desk) -> Arguments | None:
    d.empty()
    for item in d.servable():
        own = d.app.options.where(item_id=item.id)
        if sum(o.group == "extra" for o in own) > 2 or sum(o.group == "size" for o in own) > 1:
            return {"item_id": item.id, "option_ids": [o.id for o in own]}
    return None


def one_line(d: Desk, quantity: int = 2) -> str:
    d.empty()
    got = d.ok("add_dish_to_cart", item_id=d.servable(3)[0].id, quantity=quantity)
    return str(got["line_id"])


def too_many_portions(d: Desk) -> Arguments | None:
    d.empty()
    few = [i for i in d.servable(1) if i.left < 20]
    if not few:
        return None
    line = d.ok("add_dish_to_cart", item_id=few[0].id)["line_id"]
    return {"line_id": line, "quantity": 20}


def lunch_in_the_cart(d: Desk) -> Arguments | None:
    lines = (li for li in d.app.cart_lines if d.app.menu_items[li.item_id].menu == "lunch")
    return first(lines, "line_id", quantity=5)


# -- promos --------------------------------------------------------------------------------------


def promo(code: str) -> Scenario:
    """An unused promo with that problem for one dish in the cart."""

    def scenario(d: Desk) -> Arguments | None:
        one_line(d, 1)
        item = d.app.menu_items[next(iter(d.app.cart_lines)).item_id]
        for p in d.app.promos:
            problem = promo_problem(p, item.restaurant_id, item.price, d.app.today)
            if not p.used and problem and problem.code == code:
                return {"promo_code": p.id}
        return None

    return scenario


def used_promo(d: Desk) -> Arguments | None:
    one_line(d)
    return first((p for p in d.app.promos if p.used), "promo_code")


def same_promo(d: Desk) -> Arguments:
    one_line(d)
    code = next(p.id for p in d.app.promos if (p.value, p.minimum) == (10, 0))
    d.ok("apply_food_promo", promo_code=code)
    return {"promo_code": code}


def on_empty_cart(**given: Any) -> Scenario:
    def scenario(d: Desk) -> Arguments:
        d.empty()
        return given

    return scenario


def any_promo(d: Desk) -> Arguments:
    one_line(d)
    return {"promo_code": "NOSUCHCODE"}


# -- placing -------------------------------------------------------------------------------------


def as_it_is(d: Desk) -> Arguments | None:
    """The cart as the world holds it."""
    return {} if d.app.cart.restaurant_id else None


def small(d: Desk) -> Arguments | None:
    d.empty()
    item = next(i for i in d.servable() if i.price < d.restaurant(i).minimum)
    d.ok("add_dish_to_cart", item_id=item.id)
    return {}


def away(code: str) -> Scenario:
    """An address that the cart's restaurant, or no courier of it, goes to."""

    def scenario(d: Desk) -> Arguments | None:
        d.empty()
        for item in d.servable(9):
            r = d.restaurant(item)
            for a in d.app.addresses:
                far, none = range_problem(r, a), not free_courier(d.app, r, metres(r, a))
                if (far and code == "out_of_range") or (not far and none and code == "no_courier"):
                    d.ok("add_dish_to_cart", item_id=item.id, quantity=9)
                    return {"address_id": a.id}
        return None

    return scenario


def unknown_address(d: Desk) -> Arguments:
    one_line(d)
    return {"address_id": "nothing_000000"}


def bigger_then_smaller(d: Desk) -> Arguments | None:
    """A promo that counted until portions were taken out."""
    d.empty()
    for item in d.servable(20):
        for p in d.app.promos:
            now = promo_problem(p, item.restaurant_id, item.price * 20, d.app.today)
            enough = d.restaurant(item).minimum <= item.price * 2 < p.minimum
            if not (p.used or now) and enough:
                line = d.ok("add_dish_to_cart", item_id=item.id, quantity=20)["line_id"]
                d.ok("apply_food_promo", promo_code=p.id)
                d.ok("update_cart_dish", line_id=line, quantity=2)
                return {}
    return None


# -- orders --------------------------------------------------------------------------------------


def order(*statuses: str, **more: Any) -> Scenario:
    return lambda d: first(
        (o for o in d.app.orders if status_of(d.app, o) in statuses), "order_id", **more
    )


def rated(d: Desk, o: Order) -> bool:
    return bool(d.app.ratings.where(order_id=o.id))


def old(d: Desk) -> Arguments | None:
    orders = sorted(d.app.orders, key=lambda o: o.placed_on)
    found = (o for o in orders[:6] if not (o.cancelled or rated(d, o)))
    return first(found, "order_id", stars=4)


REFUSALS: dict[tuple[str, str], Scenario] = {
    ("search_restaurants", "not_found"): no_such("address_id"),
    ("get_restaurant", "not_found"): no_such("restaurant_id"),
    ("search_dishes", "not_found"): no_such("restaurant_id"),
    ("get_dish", "not_found"): no_such("item_id"),
    ("add_dish_to_cart", "not_found"): no_such("item_id"),
    ("add_dish_to_cart", "restaurant_closed"): dish(lambda d, i: not opened(d, i)),
    ("add_dish_to_cart", "not_served_now"): dish(lambda d, i: has_problem(d, i, "not_served_now")),
    ("add_dish_to_cart", "sold_out"): dish(lambda d, i: has_problem(d, i, "sold_out")),
    ("add_dish_to_cart", "other_restaurant"): elsewhere,
    ("add_dish_to_cart", "wrong_option"): strange_option,
    ("add_dish_to_cart", "too_many_options"): all_options,
    ("update_cart_dish", "not_found"): no_such("line_id", quantity=2),
    ("update_cart_dish", "no_change"): lambda d: {"line_id": one_line(d), "quantity": 2},
    ("update_cart_dish", "sold_out"): too_many_portions,
    ("update_cart_dish", "not_served_now"): lunch_in_the_cart,
    ("clear_food_cart", "cart_empty"): on_empty_cart(),
    ("list_food_promos", "not_found"): no_such("restaurant_id"),
    ("apply_food_promo", "cart_empty"): on_empty_cart(promo_code="FREERIDE"),
    ("apply_food_promo", "unknown_promo"): any_promo,
    ("apply_food_promo", "promo_already_applied"): same_promo,
    ("apply_food_promo", "promo_used"): used_promo,
    ("apply_food_promo", "promo_expired"): promo("promo_expired"),
    ("apply_food_promo", "promo_not_applicable"): promo("promo_not_applicable"),
    ("apply_food_promo", "promo_minimum_not_met"): promo("promo_minimum_not_met"),
    ("place_food_order", "cart_empty"): on_empty_cart(),
    ("place_food_order", "not_found"): unknown_address,
    ("place_food_order", "restaurant_closed"): as_it_is,
    ("place_food_order", "not_served_now"): as_it_is,
    ("place_food_order", "sold_out"): as_it_is,
    ("place_food_order", "below_minimum"): small,
    ("place_food_order", "promo_expired"): as_it_is,
    ("place_food_order", "promo_minimum_not_met"): bigger_then_smaller,
    ("place_food_order", "out_of_range"): away("out_of_range"),
    ("place_food_order", "no_courier"): away("no_courier"),
    ("get_food_order", "not_found"): no_such("order_id"),
    ("track_food_order", "not_found"): no_such("order_id"),
    ("cancel_food_order", "not_found"): no_such("order_id"),
    ("cancel_food_order", "already_cancelled"): order("cancelled"),
    ("cancel_food_order", "already_picked_up"): order("picked_up"),
    ("cancel_food_order", "already_delivered"): order("delivered"),
    ("rate_food_order", "not_found"): no_such("order_id", stars=3),
    ("rate_food_order", "not_delivered"): order("placed", "preparing", "cancelled", stars=5),
    ("rate_food_order", "already_rated"): lambda d: first(
        (o for o in d.app.orders if rated(d, o)), "order_id", stars=2
    ),
    ("rate_food_order", "rating_window_over"): old,
}


@pytest.mark.parametrize(("name", "code"), declared(SERVER, REFUSALS))
def test_a_refusal_has_its_code_and_changes_nothing(name: str, code: str) -> None:
    seen = []
    for seed in range(80):
        d = desk(seed)
        given = REFUSALS[name, code](d)
        if given is None:
            continue
        before = d.session.digest()
        result = d.session.call(name, given)
        seen.append("ok" if result.outcome == "ok" else result.value["error"]["code"])
        if seen[-1] == code:
            assert d.session.digest() == before
            return
        assert REFUSALS[name, code] is as_it_is, result
    pytest.fail(f"no world has such a case; found {sorted(set(seen))}")
