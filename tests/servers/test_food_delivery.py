from __future__ import annotations

from datetime import UTC, date, datetime
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from provegym.servers.food_delivery import SERVER
from provegym.servers.food_delivery.checks import violations
from provegym.servers.food_delivery.pricing import Priced, bill, delivery_fee, promo_problem
from provegym.servers.food_delivery.service import free_courier, schedule
from provegym.servers.food_delivery.state import Promo, Restaurant, kilometres, metres
from tests.servers.food_delivery_desk import Desk, desk

GRILL = Restaurant(
    *("rest_1", "Grill", "american", "north", 0, 0, "08:00", "22:00", "", 1000, 199, 5000),
    *(12, 0, 0),
)
MEAL = [Priced(1250, 150, 2), Priced(900, 0, 1)]  # 34.00 of dishes, 3.00 of extras


def promo(kind: Any, value: int, minimum: int = 0, at: str = "") -> Promo:
    return Promo("CODE", kind, value, minimum, at, "2026-03-31", False)


# -- prices and times, worked out by hand --------------------------------------------------------


@pytest.mark.parametrize(
    ("distance", "fee"), [(0, 199), (2000, 199), (2001, 259), (3000, 259), (3400, 319)]
)
def test_the_fee_grows_with_each_kilometre_begun_beyond_two(distance: int, fee: int) -> None:
    assert delivery_fee(GRILL, distance) == fee


def test_a_meal_costs_dishes_extras_and_both_fees() -> None:
    cost = bill(MEAL, GRILL, 3400, None)  # 6 % of 37.00 is 2.22
    assert (cost.dishes, cost.extras, cost.delivery_fee, cost.service_fee) == (3400, 300, 319, 222)
    assert cost.total == 4241


@pytest.mark.parametrize(("price", "service"), [(500, 99), (1650, 99), (5000, 300), (10000, 499)])
def test_the_service_fee_has_a_floor_and_a_ceiling(price: int, service: int) -> None:
    assert bill([Priced(price, 0, 1)], GRILL, 0, None).service_fee == service


@pytest.mark.parametrize(
    ("kind", "value", "off"),
    [("percent", 10, 370), ("amount", 300, 300), ("amount", 9000, 3700), ("free_delivery", 0, 319)],
)
def test_a_promo_takes_off_what_it_says(kind: Any, value: int, off: int) -> None:
    cost = bill(MEAL, GRILL, 3400, promo(kind, value))
    assert (cost.discount, cost.total) == (off, 4241 - off)


@pytest.mark.parametrize(
    ("minimum", "at", "today", "code"),
    [
        (3700, "", date(2026, 3, 31), None),  # the last day counts, and so does the exact minimum
        (3701, "", date(2026, 3, 31), "promo_minimum_not_met"),
        (0, "", date(2026, 4, 1), "promo_expired"),
        (0, "rest_2", date(2026, 3, 1), "promo_not_applicable"),
        (0, "rest_1", date(2026, 3, 1), None),
    ],
)
def test_a_promo_counts_only_within_its_terms(
    minimum: int, at: str, today: date, code: str | None
) -> None:
    problem = promo_problem(promo("percent", 10, minimum, at), GRILL.id, 3700, today)
    assert (problem.code if problem else None) == code


def test_an_order_is_started_cooked_and_ridden_minute_by_minute() -> None:
    start = datetime(2026, 3, 2, 9, tzinfo=UTC)
    times = schedule(
        start, 12, 3800, "scooter"
    )  # 4 to start, 12 to cook, 10 to ride, 3 at the door
    assert [t[11:16] for t in times.values()] == ["09:00", "09:04", "09:16", "09:29"]


@given(
    st.lists(st.builds(Priced, *[st.integers(0, 5000)] * 2, st.integers(1, 9)), min_size=1),
    st.sampled_from([("percent", 25), ("amount", 700), ("free_delivery", 0)]),
    st.integers(0, 9000),
)
def test_nobody_pays_less_than_the_service_fee(
    lines: list[Priced], offer: tuple[Any, int], distance: int
) -> None:
    cost = bill(lines, GRILL, distance, promo(*offer))
    assert cost.total >= cost.service_fee > 0
    assert cost.goods == sum((p.price + p.extras) * p.quantity for p in lines)


# -- the server as a whole -----------------------------------------------------------------------


def test_seeded_towns_name_their_rows_apart() -> None:
    for seed in range(20):
        app = desk(seed).app
        names = [r.name for r in app.restaurants]
        assert len(set(names)) == len(names)
        dishes = [(i.dish, i.restaurant) for i in app.menu_items]
        assert len(set(dishes)) == len(dishes)


def test_the_invariants_do_notice_what_is_wrong() -> None:
    d = ready(0)
    app = d.app
    order = next(o for o in app.orders if o.tip == 0)
    app.orders.update(order, tip=100)
    item = next(iter(app.menu_items))
    app.menu_items.update(item, left=item.left + 1)
    courier = next(iter(app.couriers))
    app.couriers.update(courier, stars=courier.stars + 1)
    app.carts.update(app.cart, restaurant_id="")
    assert len(list(violations(app))) == 4


# -- ordering ------------------------------------------------------------------------------------


def ready(seed: int, portions: int = 3) -> Desk:
    """A session whose cart holds dishes that can be brought home now, above every minimum."""
    d = desk(seed)
    d.empty()
    for item in d.servable(portions):
        r = d.restaurant(item)
        distance = metres(r, d.app.home)
        near = distance <= r.radius and free_courier(d.app, r, distance)
        if near and item.price * portions >= r.minimum:
            d.ok("add_dish_to_cart", item_id=item.id, quantity=portions)
            return d
    raise AssertionError("no dish can be brought home")


def test_portions_are_taken_by_an_order_and_given_back_by_its_cancellation() -> None:
    d = ready(1)
    line = next(iter(d.app.cart_lines))
    before = d.app.menu_items[line.item_id].left
    order = d.ok("place_food_order", tip="2.50", note="ring twice")
    assert d.app.menu_items[line.item_id].left == before - 3
    assert d.ok("get_food_cart")["lines"] == []
    view = d.ok("get_food_order", order_id=order["order_id"])
    assert (view["tip"], view["note"], view["status"]) == ("2.50", "ring twice", "placed")
    assert d.ok("cancel_food_order", order_id=order["order_id"])["refund"] == order["total"]
    assert d.app.menu_items[line.item_id].left == before
    assert d.ok("track_food_order", order_id=order["order_id"])["arrives_at"] == ""


def test_the_clock_alone_takes_an_order_from_step_to_step() -> None:
    d = ready(2)
    order = d.ok("place_food_order")["order_id"]
    prep = d.app.restaurants[d.app.orders[order].restaurant_id].prep
    seen = []
    for minutes in (0, 4, prep, 40):
        d.wait(minutes) if minutes else None
        seen.append(d.ok("track_food_order", order_id=order)["status"])
    assert seen == ["placed", "preparing", "picked_up", "delivered"]
    steps = d.ok("track_food_order", order_id=order)["reached"]
    assert [s["step"] for s in steps] == ["placed", "preparing", "picked_up", "delivered"]
    assert d.ok("rate_food_order", order_id=order, stars=5, courier_stars=4)["stars"] == 5


def test_a_promo_is_used_by_the_order_and_comes_back_when_it_is_cancelled() -> None:
    d = ready(3)
    code = next(p.id for p in d.app.promos if (p.value, p.minimum) == (10, 0))
    cart = d.ok("get_food_cart")
    applied = d.ok("apply_food_promo", promo_code=code.lower())
    off = (int(cart["subtotal"].replace(".", "")) + 5) // 10
    assert applied["discount"] == f"{off // 100}.{off % 100:02d}"
    order = d.ok("place_food_order")
    assert (order["discount"], d.app.promos[code].used) == (applied["discount"], True)
    d.ok("cancel_food_order", order_id=order["order_id"])
    assert not d.app.promos[code].used


def test_options_add_to_the_price_and_make_a_line_of_their_own() -> None:
    d = desk(4)
    d.empty()
    options = {o.item_id: o for o in d.app.options if o.price}
    item = next(i for i in d.servable() if i.id in options)
    option = options[item.id]
    d.ok("add_dish_to_cart", item_id=item.id)
    large = d.ok("add_dish_to_cart", item_id=item.id, option_ids=[option.id], quantity=2)
    again = d.ok("add_dish_to_cart", item_id=item.id, option_ids=[option.id])
    assert (again["line_id"], again["quantity"]) == (large["line_id"], 3)
    cost = 3 * (item.price + option.price)
    assert again["line_total"] == f"{cost // 100}.{cost % 100:02d}"
    assert [line["options"] for line in d.ok("get_food_cart")["lines"]] == ["", option.option]


def test_the_last_line_taken_out_frees_the_cart_for_another_restaurant() -> None:
    d = ready(5)
    code = next(p.id for p in d.app.promos if (p.value, p.minimum) == (10, 0))
    d.ok("apply_food_promo", promo_code=code)
    d.ok("update_cart_dish", line_id=next(iter(d.app.cart_lines)).id, quantity=0)
    assert (d.app.cart.restaurant_id, d.app.cart.promo_code) == ("", "")
    assert d.ok("get_food_cart")["total"] == "0.00"


def test_two_orders_placed_in_either_order_change_the_same() -> None:
    changes = []
    for turn in (1, -1):
        d = ready(6)
        first = next(iter(d.app.cart_lines)).item_id
        second = next(
            i
            for i in d.servable(5)
            if i.restaurant_id != d.app.menu_items[first].restaurant_id
            and metres(r := d.restaurant(i), d.app.home) <= r.radius
            and free_courier(d.app, r, metres(r, d.app.home))
            and i.price * 5 >= r.minimum
        ).id
        d.ok("clear_food_cart")
        for item in (first, second)[::turn]:
            d.ok("add_dish_to_cart", item_id=item, quantity=5 if item == second else 3)
            d.ok("place_food_order")
        changes.append(d.session.changes())
    assert changes[0] == changes[1]


def test_a_rating_moves_the_average_by_its_stars() -> None:
    for seed in range(10):
        d = desk(seed)
        sample = SERVER.tools["rate_food_order"].sample
        assert sample is not None
        order_id = sample(d.app, Random(1))["order_id"]
        r = d.app.restaurants[d.app.orders[order_id].restaurant_id]
        got = d.ok("rate_food_order", order_id=order_id, stars=1, comment="Cold and late")
        assert got["restaurant_rating"] == round((r.stars + 1) / (r.ratings + 1), 1)
        assert d.ok("get_food_order", order_id=order_id)["stars_given"] == 1


# -- looking -------------------------------------------------------------------------------------


def test_a_search_for_restaurants_keeps_to_its_filters_and_its_order() -> None:
    d = desk(7)
    away = next(a for a in d.app.addresses if not a.default)
    got = d.ok("search_restaurants", address_id=away.id, open_now=True, sort="distance", limit=50)[
        "restaurants"
    ]
    rows = [d.app.restaurants[r["restaurant_id"]] for r in got]
    far = [metres(r, away) for r in rows]
    assert far == sorted(far)
    assert all(r.opens <= "09:00" < r.closes and metres(r, away) <= r.radius for r in rows)
    assert len(rows) < len(d.app.restaurants)


def test_pages_of_a_menu_hold_every_dish_once_from_cheap_to_dear() -> None:
    d = desk(8)
    r = next(iter(d.app.restaurants))
    seen, cursor = [], ""
    while True:
        got = d.ok("search_dishes", restaurant_id=r.id, limit=3, cursor=cursor)
        seen += got["dishes"]
        cursor = got["next_cursor"]
        if not cursor:
            break
    prices = [float(i["price"]) for i in seen]
    assert prices == sorted(prices)
    ids = {i["item_id"] for i in seen}
    assert ids == {i.id for i in d.app.menu_items if i.restaurant_id == r.id}
    assert len(ids) == len(seen) == got["total"]


def test_a_restaurant_says_how_far_it_is_and_what_it_asks() -> None:
    d = desk(9)
    r = next(iter(d.app.restaurants))
    view = d.ok("get_restaurant", restaurant_id=r.id)
    distance = metres(r, d.app.home)
    fee = r.fee + 60 * max(0, (distance - 2000 + 999) // 1000)
    assert view["delivery_fee"] == f"{fee // 100}.{fee % 100:02d}"
    assert view["distance_km"] == kilometres(distance)
    assert sum(m["dishes"] for m in view["menus"]) == len(
        d.app.menu_items.where(restaurant_id=r.id)
    )


def test_orders_are_found_by_dish_restaurant_state_and_day() -> None:
    d = desk(10)
    line = next(iter(d.app.order_lines))
    order = d.app.orders[line.order_id]
    got = d.ok("list_food_orders", query=line.dish, since=order.placed_on, limit=50)
    assert order.id in [o["order_id"] for o in got["orders"]]
    cancelled = d.ok("list_food_orders", status="cancelled", limit=50)["orders"]
    assert {o["order_id"] for o in cancelled} == {o.id for o in d.app.orders if o.cancelled}
    days = [o["placed_on"] for o in d.ok("list_food_orders", limit=50)["orders"]]
    assert days == sorted(days, reverse=True)
