from __future__ import annotations

from datetime import date
from functools import lru_cache
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from provegym.servers.shopping import SERVER
from provegym.servers.shopping.pricing import Item, bill, coupon_problem, refund_of, spread
from provegym.servers.shopping.state import (
    Category,
    Coupon,
    OrderLine,
    Shop,
    Variant,
    violations,
)
from provegym.servers.shopping.tools_orders import returnable
from provegym.world.session import Session
from provegym.world.world import World

SEEDS = range(40)
KITCHEN = Category("cat_k", "kitchen", 825, 30)
CLOTHING = Category("cat_c", "clothing", 400, 60)
BASKET = [Item("var_1", 1250, 2, KITCHEN), Item("var_2", 3000, 1, CLOTHING)]


@lru_cache(maxsize=64)
def world(seed: int) -> World:
    return World(seed, [SERVER])


def opened(seed: int) -> tuple[Session, Shop]:
    session = world(seed).open()
    shop = session.state("shopping")
    assert isinstance(shop, Shop)
    return session, shop


def ok(session: Session, name: str, /, **args: Any) -> Any:
    result = session.call(name, args)
    assert result.outcome == "ok", result
    return result.builtins()


def coupon(kind: Any, value: int, minimum: int = 0, category: str = "") -> Coupon:
    return Coupon("CODE", kind, value, minimum, category, "2026-03-31", False)


# -- prices, worked out by hand ----------------------------------------------------------------


def test_a_basket_without_coupon_costs_goods_and_tax_and_ships_free_from_fifty() -> None:
    cost = bill(BASKET, None)  # 25.00 + 30.00; 8.25 % of 25.00 is 2.0625, 4 % of 30.00 is 1.20
    assert (cost.subtotal, cost.discount, cost.taxes, cost.shipping) == (5500, 0, (206, 120), 0)
    assert cost.total == 5826


def test_a_percentage_is_split_over_the_lines_and_taxed_after() -> None:
    cost = bill(BASKET, coupon("percent", 10))  # 2.50 and 3.00 off; 8.25 % of 22.50 is 1.85625
    assert (cost.discounts, cost.taxes) == ((250, 300), (186, 108))
    assert (cost.shipping, cost.total) == (495, 5500 - 550 + 294 + 495)  # goods fell to 49.50


def test_an_amount_is_split_in_proportion_and_adds_up_to_the_cent() -> None:
    cost = bill(BASKET, coupon("amount", 500))  # 5.00 * 25 / 55 = 2.2727
    assert (cost.discounts, cost.taxes) == ((227, 273), (188, 109))
    assert (cost.shipping, cost.total) == (0, 5297)  # goods at exactly 50.00 ship free


def test_an_amount_never_exceeds_the_goods() -> None:
    assert bill(BASKET, coupon("amount", 9000)).total == 495


def test_a_category_coupon_touches_its_category_alone() -> None:
    cost = bill(BASKET, coupon("percent", 20, category="cat_c"))
    assert (cost.discounts, cost.taxes, cost.total) == ((0, 600), (206, 96), 5697)


@pytest.mark.parametrize(
    ("speed", "expected"), [("standard", 1250 + 103), ("express", 1250 + 103 + 1295)]
)
def test_free_shipping_is_for_standard_delivery_alone(speed: Any, expected: int) -> None:
    one = [Item("var_1", 1250, 1, KITCHEN)]  # 8.25 % of 12.50 is 1.03125
    assert bill(one, coupon("free_shipping", 0), speed).total == expected


def test_an_empty_basket_costs_nothing() -> None:
    assert bill([], None).total == 0


def test_units_sent_back_one_by_one_give_back_exactly_what_was_paid() -> None:
    line = OrderLine("i", "o", "p", "v", "T", "black", 3, 0, 1000, 100, 239)  # 31.39 paid
    refunds = []
    for n in range(3):
        now = OrderLine("i", "o", "p", "v", "T", "black", 3, n, 1000, 100, 239)
        refunds.append(refund_of(now, 1))
    assert refunds == [1046, 1046, 1047]
    assert refund_of(line, 3) == 3139


@given(st.lists(st.integers(0, 10**6), min_size=1, max_size=9), st.integers(0, 100))
def test_a_split_adds_up_and_no_part_exceeds_its_line(weights: list[int], percent: int) -> None:
    amount = sum(weights) * percent // 100
    parts = spread(amount, weights)
    assert sum(parts) == amount
    assert all(0 <= part <= weight for part, weight in zip(parts, weights, strict=True))


@pytest.mark.parametrize(
    ("minimum", "category", "today", "code"),
    [
        (5500, "", date(2026, 3, 31), None),  # the last day counts, and so does the exact minimum
        (0, "", date(2026, 4, 1), "coupon_expired"),
        (5501, "", date(2026, 3, 1), "minimum_not_met"),
        (2501, "cat_k", date(2026, 3, 1), "minimum_not_met"),  # kitchen goods cost 25.00
        (0, "cat_toys", date(2026, 3, 1), "coupon_not_applicable"),
    ],
)
def test_a_coupon_counts_only_within_its_terms(
    minimum: int, category: str, today: date, code: str | None
) -> None:
    problem = coupon_problem(coupon("percent", 10, minimum, category), BASKET, today, "toys")
    assert (problem.code if problem else None) == code


# -- the server as a whole ---------------------------------------------------------------------


@pytest.mark.parametrize("seed", SEEDS)
def test_a_seeded_shop_tells_its_products_and_orders_apart(seed: int) -> None:
    _, shop = opened(seed)
    titles = [p.title for p in shop.products]
    assert len(set(titles)) == len(titles)
    days = [o.placed_on for o in shop.orders]
    assert len(set(days)) == len(days)


def test_the_invariants_do_notice_what_is_wrong() -> None:
    session, shop = opened(0)
    stock = next(iter(shop.stock))
    shop.stock.update(stock, available=stock.available + 1)
    order = next(iter(shop.orders))
    shop.orders.update(order, total=order.total + 1)
    product = next(iter(shop.products))
    shop.products.update(product, reviews=product.reviews + 1)
    assert len(list(violations(shop))) == 3
    session.close()


# -- buying ------------------------------------------------------------------------------------


def buyable(shop: Shop, at_least: int = 3) -> list[Variant]:
    """Variants still sold, not bulky, not in the cart, with enough units."""
    held = {line.variant_id for line in shop.cart_lines}
    return [
        v
        for v in shop.variants
        if v.id not in held
        and (p := shop.products[v.product_id]).most == 10
        and not (p.discontinued or p.bulky)
        and shop.stock_of(v.id).available >= at_least
    ]


def emptied(seed: int) -> tuple[Session, Shop]:
    """A session whose cart holds nothing."""
    session, shop = opened(seed)
    for line in list(shop.cart_lines):
        ok(session, "remove_from_cart", line_id=line.id)
    if shop.cart.coupon_code:
        ok(session, "remove_coupon")
    return session, shop


def destination(session: Session) -> str:
    """A new address."""
    given_ = {"name": "Barn", "street": "1 Elm Row", "city": "Lowell", "postcode": "01850"}
    return str(ok(session, "add_address", **given_)["address_id"])


def bins(shop: Shop, variant_id: str) -> tuple[int, int, int, int]:
    s = shop.stock_of(variant_id)
    return s.available, s.reserved, s.sold, s.returning


def test_units_go_from_the_shelf_to_the_cart_to_the_order_and_back_on_cancelling() -> None:
    session, shop = emptied(1)
    v = buyable(shop)[0].id
    shelf, _, sold, back = bins(shop, v)
    line = ok(session, "add_to_cart", variant_id=v, quantity=2)
    assert bins(shop, v) == (shelf - 2, 2, sold, back)
    ok(session, "update_cart_line", line_id=line["line_id"], quantity=3)
    assert bins(shop, v) == (shelf - 3, 3, sold, back)
    order = ok(session, "place_order", address_id=destination(session))
    assert bins(shop, v) == (shelf - 3, 0, sold + 3, back)
    assert ok(session, "get_cart")["lines"] == []
    cancelled = ok(session, "cancel_order", order_id=order["order_id"])
    assert cancelled["refund"] == order["total"]
    assert bins(shop, v) == (shelf, 0, sold, back)


def test_units_sent_back_are_on_their_way_and_no_longer_sold() -> None:
    session, shop = opened(2)
    line = next(li for li in shop.order_lines if returnable(shop, li))
    shelf, cart, sold, back = bins(shop, line.variant_id)
    paid = line.unit_price * line.quantity - line.discount + line.tax
    got = ok(
        session, "return_item", order_line_id=line.id, reason="damaged", quantity=line.quantity
    )
    assert bins(shop, line.variant_id) == (
        *(shelf, cart, sold - line.quantity),
        back + line.quantity,
    )
    assert got["refund"] == f"{paid // 100}.{paid % 100:02d}"
    assert got["status"] == "requested"


def test_a_purchase_goes_from_search_to_a_discounted_order() -> None:
    session, shop = emptied(3)
    wanted = buyable(shop)[0]
    found = ok(session, "search_products", query=wanted.title)["products"]
    assert wanted.product_id in [p["product_id"] for p in found]
    versions = ok(session, "get_product", product_id=wanted.product_id)["variants"]
    assert {v["variant_id"]: v["option"] for v in versions}[wanted.id] == wanted.option
    ok(session, "add_to_cart", variant_id=wanted.id)
    code = next(c.id for c in shop.coupons if c.value == 10 and c.minimum == 0 and not c.used)
    applied = ok(session, "apply_coupon", code=code.lower())
    off = (wanted.price * 10 + 50) // 100
    assert applied["discount"] == f"{off // 100}.{off % 100:02d}"
    order = ok(session, "place_order", address_id=destination(session))
    assert shop.coupons[code].used
    assert shop.cart.coupon_code == ""
    seen = ok(session, "get_order", order_id=order["order_id"])
    assert (seen["ship_to"], seen["coupon"]) == ("1 Elm Row, Lowell", code)
    assert seen["lines"][0]["variant_id"] == wanted.id
    assert ok(session, "list_orders", status="processing")["orders"][0]["total"] == order["total"]


def test_the_order_in_which_the_cart_was_filled_does_not_show_in_the_changes() -> None:
    changes = []
    for turn in (1, -1):
        session, shop = emptied(4)
        home = destination(session)
        for v in buyable(shop)[:3][::turn]:
            ok(session, "add_to_cart", variant_id=v.id, quantity=2)
        code = next(c.id for c in shop.coupons if c.value == 10 and c.minimum == 0)
        ok(session, "apply_coupon", code=code)
        ok(session, "place_order", address_id=home)
        changes.append(session.changes())
    assert changes[0] == changes[1]


def test_adding_a_variant_twice_makes_one_line() -> None:
    session, shop = emptied(5)
    v = buyable(shop)[0]
    first = ok(session, "add_to_cart", variant_id=v.id)
    second = ok(session, "add_to_cart", variant_id=v.id, quantity=2)
    assert (second["line_id"], second["quantity"]) == (first["line_id"], 3)
    assert len(shop.cart_lines) == 1


def test_a_cancelled_order_gives_its_coupon_back() -> None:
    session, shop = emptied(6)
    ok(session, "add_to_cart", variant_id=buyable(shop)[0].id)
    code = next(c.id for c in shop.coupons if c.value == 10 and c.minimum == 0)
    ok(session, "apply_coupon", code=code)
    order = ok(session, "place_order", address_id=destination(session))
    ok(session, "cancel_order", order_id=order["order_id"])
    assert not shop.coupons[code].used


def test_an_order_without_address_goes_to_the_default_one() -> None:
    session, shop = emptied(7)
    ok(session, "add_to_cart", variant_id=buyable(shop)[0].id)
    ok(session, "set_default_address", address_id=destination(session))
    assert ok(session, "list_addresses")["addresses"][0]["name"] == "Barn"
    order = ok(session, "place_order", speed="express")
    assert shop.orders[order["order_id"]].ship_to == "1 Elm Row, Lowell"
    assert order["shipping"] == "12.95"
    wait = date.fromisoformat(order["arrives_on"]) - date.fromisoformat(order["placed_on"])
    assert wait.days == 2


# -- looking -----------------------------------------------------------------------------------


def test_search_keeps_to_its_filters_and_its_order() -> None:
    session, shop = opened(8)
    found = ok(session, "search_products", query="with", max_price="60.00", sort="price", limit=50)[
        "products"
    ]
    prices = [float(p["price_from"]) for p in found]
    expected = [p for p in shop.products if p.price <= 6000 and not p.discontinued]
    assert len(found) == min(50, len(expected)) > 20
    assert prices == sorted(prices)
    toys = ok(session, "search_products", query="with", category="toys", min_rating=4)["products"]
    assert toys
    assert all(p["category"] == "toys" and p["rating"] >= 4 for p in toys)


def test_pages_of_a_search_hold_every_product_once() -> None:
    session, _ = opened(9)
    seen, cursor = [], ""
    while True:
        got = ok(session, "search_products", query="with", cursor=cursor)
        seen += [p["product_id"] for p in got["products"]]
        cursor = got["next_cursor"]
        if not cursor:
            break
    assert len(seen) == len(set(seen)) == got["total"]


def test_a_review_moves_the_rating_by_its_stars() -> None:
    session, shop = opened(10)
    came = {o.id for o in shop.orders if o.status == "delivered"}
    rated = {r.product_id for r in shop.reviews if r.mine}
    bought = [li.product_id for li in shop.order_lines if li.order_id in came]
    p = next(p for p in (shop.products[b] for b in bought) if p.id not in rated and p.reviews)
    got = ok(session, "write_product_review", product_id=p.id, stars=1, text="Broke at once")
    assert got["rating"] == round((p.stars + 1) / (p.reviews + 1), 1)
    newest = ok(session, "list_product_reviews", product_id=p.id, stars=1)["reviews"][0]
    assert (newest["author"], newest["text"]) == (shop.cast.user.name, "Broke at once")


def test_a_wish_comes_and_goes() -> None:
    session, shop = opened(11)
    before = len(shop.wishlists)
    taken = {w.product_id for w in shop.wishlists}
    p = next(p for p in shop.products if p.id not in taken and not p.discontinued)
    ok(session, "add_to_wishlist", product_id=p.id, note="next payday")
    top = ok(session, "list_wishlist", query=p.title)["items"][0]
    assert (top["product_id"], top["note"]) == (p.id, "next payday")
    assert ok(session, "remove_from_wishlist", product_id=p.id)["wishlist_size"] == before
    assert session.changes() == {}
