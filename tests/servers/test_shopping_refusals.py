"""Every refusal that a shop tool declares, reached in seeded worlds by legal calls alone."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import Any

import pytest

from provegym.servers.shopping import SERVER
from provegym.servers.shopping.state import OrderLine, Shop, Variant
from provegym.world.session import Session
from provegym.world.table import Row
from provegym.world.world import World
from tests.servers.talk import declared

Arguments = dict[str, Any]
Scenario = Callable[[Session, Shop], Arguments | None]
"""Brings a session to where the call is refused; None if this world has no such case."""

ADDRESS = {"street": "1 Elm Row", "city": "Lowell", "postcode": "01850"}


@lru_cache(maxsize=80)
def world(seed: int) -> World:
    return World(seed, [SERVER])


def ok(session: Session, name: str, /, **args: Any) -> Any:
    result = session.call(name, args)
    assert result.outcome == "ok", result
    return result.builtins()


def first(rows: Iterable[Row], field: str, **more: Any) -> Arguments | None:
    """Arguments that name the first of some rows."""
    row = next(iter(rows), None)
    return None if row is None else {field: row.id, **more}


def no_such(field: str, **more: Any) -> Scenario:
    return lambda session, shop: {field: "nothing_000000", **more}


def always(**args: Any) -> Scenario:
    return lambda session, shop: args


# -- finding rows ------------------------------------------------------------------------------


def sold(shop: Shop) -> list[Variant]:
    """Variants of products that are still sold."""
    return [v for v in shop.variants if not shop.products[v.product_id].discontinued]


def stocked(shop: Shop, *, bulky: bool = False) -> list[Variant]:
    """Those with units left and no low limit on a customer."""
    products = shop.products
    return [
        v
        for v in sold(shop)
        if products[v.product_id].bulky == bulky
        and products[v.product_id].most == 10
        and shop.stock_of(v.id).available >= 3
    ]


def limited(shop: Shop) -> list[Variant]:
    """Those of which a customer may buy two or three, with more on the shelf."""
    few = [v for v in sold(shop) if shop.products[v.product_id].most <= 3]
    return [v for v in few if shop.stock_of(v.id).available >= 9]


def lines(shop: Shop, *statuses: str) -> list[OrderLine]:
    return [li for li in shop.order_lines if shop.orders[li.order_id].status in statuses]


def return_days(shop: Shop, line: OrderLine) -> int:
    return shop.category_of(line.product_id).return_days


def days_since(shop: Shop, line: OrderLine) -> int:
    arrived = shop.orders[line.order_id].arrives_on
    return (shop.today - type(shop.today).fromisoformat(arrived)).days


# -- preparing the cart ------------------------------------------------------------------------


def empty(session: Session, shop: Shop) -> None:
    for line in list(shop.cart_lines):
        ok(session, "remove_from_cart", line_id=line.id)


def fill(session: Session, shop: Shop, *, bulky: bool = False, quantity: int = 1) -> str:
    """A cart of one line, and the line's id."""
    empty(session, shop)
    wanted = min(stocked(shop, bulky=bulky), key=lambda v: (v.price, v.id))
    line = ok(session, "add_to_cart", variant_id=wanted.id, quantity=quantity)
    return str(line["line_id"])


def without_coupon(session: Session, shop: Shop) -> None:
    if shop.cart.coupon_code:
        ok(session, "remove_coupon")


def filled_line(quantity: int, then: int) -> Scenario:
    def scenario(session: Session, shop: Shop) -> Arguments:
        return {"line_id": fill(session, shop, quantity=quantity), "quantity": then}

    return scenario


def add_limited(session: Session, shop: Shop) -> Arguments | None:
    empty(session, shop)
    return first(limited(shop), "variant_id", quantity=4)


def update_limited(session: Session, shop: Shop) -> Arguments | None:
    empty(session, shop)
    variants = limited(shop)
    if not variants:
        return None
    line = ok(session, "add_to_cart", variant_id=variants[0].id)
    return {"line_id": line["line_id"], "quantity": 4}


def update_beyond_stock(session: Session, shop: Shop) -> Arguments | None:
    empty(session, shop)
    few = [v for v in sold(shop) if shop.stock_of(v.id).available == 1]
    if not few:
        return None
    line = ok(session, "add_to_cart", variant_id=few[0].id)
    return {"line_id": line["line_id"], "quantity": 2}


def coupon(matches: Callable[[Shop, Any], bool]) -> Scenario:
    """A coupon that fits the description, on a cart with one cheap thing."""

    def scenario(session: Session, shop: Shop) -> Arguments | None:
        fill(session, shop)
        without_coupon(session, shop)
        return first((c for c in shop.coupons if matches(shop, c)), "code")

    return scenario


def _live(shop: Shop, c: Any) -> bool:
    return not c.used and c.expires_on >= shop.today.isoformat()


def _for_other_goods(shop: Shop, c: Any) -> bool:
    line = next(iter(shop.cart_lines))
    home = shop.products[shop.variants[line.variant_id].product_id].category_id
    return _live(shop, c) and c.category_id not in ("", home)


def _too_dear(shop: Shop, c: Any) -> bool:
    return _live(shop, c) and c.category_id == "" and c.minimum >= 7500


def on_empty_cart(session: Session, shop: Shop) -> Arguments:
    empty(session, shop)
    return {"code": next(iter(shop.coupons)).id}


def twice(session: Session, shop: Shop) -> Arguments:
    fill(session, shop)
    code = next(c.id for c in shop.coupons if (c.value, c.minimum) == (10, 0))
    if shop.cart.coupon_code != code:
        ok(session, "apply_coupon", code=code)
    return {"code": code}


def bare(session: Session, shop: Shop) -> Arguments:
    without_coupon(session, shop)
    return {}


# -- placing -----------------------------------------------------------------------------------


def place_empty(session: Session, shop: Shop) -> Arguments:
    empty(session, shop)
    return {}


def place_nowhere(session: Session, shop: Shop) -> Arguments | None:
    fill(session, shop)
    return None if shop.addresses.where(default=True) else {}


def place_unknown(session: Session, shop: Shop) -> Arguments:
    fill(session, shop)
    return {"address_id": "nothing_000000"}


def home(session: Session) -> Arguments:
    return {"address_id": ok(session, "add_address", name="Barn", **ADDRESS)["address_id"]}


def place_bulky(session: Session, shop: Shop) -> Arguments:
    fill(session, shop, bulky=True)
    return {**home(session), "speed": "express"}


def place_stale(session: Session, shop: Shop) -> Arguments | None:
    """The seeded cart still carries a coupon that has run out since."""
    now = shop.coupons.get(shop.cart.coupon_code)
    if now is None or now.expires_on >= shop.today.isoformat():
        return None
    return home(session)


def place_reduced(shrink: Callable[[Session, Shop, Any], bool]) -> Scenario:
    """Use a coupon, then change the cart so that it no longer counts."""

    def scenario(session: Session, shop: Shop) -> Arguments | None:
        for c in list(shop.coupons):
            if _live(shop, c) and shrink(session, shop, c):
                return home(session)
        return None

    return scenario


def below_minimum(session: Session, shop: Shop, c: Any) -> bool:
    if c.category_id or c.minimum < 2500:
        return False
    cheap = fill(session, shop)
    price = next(iter(shop.cart_lines))
    if shop.variants[price.variant_id].price >= c.minimum:
        return False
    dear = max(stocked(shop), key=lambda v: (v.price, v.id))
    line = ok(session, "add_to_cart", variant_id=dear.id)
    if session.call("apply_coupon", {"code": c.id}).outcome != "ok":
        return False
    ok(session, "remove_from_cart", line_id=line["line_id"])
    return cheap in shop.cart_lines


def other_goods(session: Session, shop: Shop, c: Any) -> bool:
    if not c.category_id:
        return False
    empty(session, shop)
    products = shop.products
    inside = [v for v in stocked(shop) if products[v.product_id].category_id == c.category_id]
    outside = [v for v in stocked(shop) if products[v.product_id].category_id != c.category_id]
    if not inside:
        return False
    dear = max(inside, key=lambda v: (v.price, v.id))
    line = ok(session, "add_to_cart", variant_id=dear.id, quantity=2)
    ok(session, "add_to_cart", variant_id=outside[0].id)
    if session.call("apply_coupon", {"code": c.id}).outcome != "ok":
        return False
    ok(session, "remove_from_cart", line_id=line["line_id"])
    return True


# -- orders, reviews, wishes, addresses --------------------------------------------------------


def give_back(matches: Callable[[Shop, OrderLine], bool], *statuses: str) -> Scenario:
    def scenario(session: Session, shop: Shop) -> Arguments | None:
        found = (li for li in lines(shop, *statuses) if matches(shop, li))
        return first(found, "order_line_id", reason="unwanted")

    return scenario


def _late(shop: Shop, li: OrderLine) -> bool:
    return 0 < return_days(shop, li) < days_since(shop, li)


def _all_returned(shop: Shop, li: OrderLine) -> bool:
    return li.returned == li.quantity and days_since(shop, li) <= return_days(shop, li)


def review(wanted: Callable[[Shop], Iterable[str]]) -> Scenario:
    def scenario(session: Session, shop: Shop) -> Arguments | None:
        found = (shop.products[p] for p in wanted(shop))
        return first(found, "product_id", stars=3, text="Does the job")

    return scenario


def never_bought(shop: Shop) -> Iterable[str]:
    bought = {li.product_id for li in shop.order_lines}
    return (p.id for p in shop.products if p.id not in bought)


def reviewed(shop: Shop) -> Iterable[str]:
    return (r.product_id for r in shop.reviews if r.mine)


def unwished(shop: Shop, *, discontinued: bool) -> list[Row]:
    taken = {w.product_id for w in shop.wishlists}
    found = [p for p in shop.products if p.discontinued == discontinued]
    return [p for p in found if p.id not in taken]


def full_book(session: Session, shop: Shop) -> Arguments:
    for n in range(len(shop.addresses), 10):
        ok(session, "add_address", name=f"Place {n}", **ADDRESS)
    return {"name": "One more", **ADDRESS}


def same_name(session: Session, shop: Shop) -> Arguments:
    ok(session, "add_address", name="Barn", **ADDRESS)
    return {"name": "barn", **ADDRESS}


REFUSALS: dict[tuple[str, str], Scenario] = {
    ("get_product", "not_found"): no_such("product_id"),
    ("list_product_reviews", "not_found"): no_such("product_id"),
    ("write_product_review", "not_found"): no_such("product_id", stars=3, text="Fine"),
    ("write_product_review", "not_purchased"): review(never_bought),
    ("write_product_review", "already_reviewed"): review(reviewed),
    ("add_to_wishlist", "not_found"): no_such("product_id"),
    ("add_to_wishlist", "discontinued"): lambda session, shop: first(
        unwished(shop, discontinued=True), "product_id"
    ),
    ("add_to_wishlist", "already_on_wishlist"): lambda session, shop: first(
        (p for w in shop.wishlists if not (p := shop.products[w.product_id]).discontinued),
        "product_id",
    ),
    ("remove_from_wishlist", "not_found"): no_such("product_id"),
    ("remove_from_wishlist", "not_on_wishlist"): lambda session, shop: first(
        unwished(shop, discontinued=False), "product_id"
    ),
    ("add_to_cart", "not_found"): no_such("variant_id"),
    ("add_to_cart", "discontinued"): lambda session, shop: first(
        (v for v in shop.variants if shop.products[v.product_id].discontinued), "variant_id"
    ),
    ("add_to_cart", "out_of_stock"): lambda session, shop: first(
        (v for v in sold(shop) if not shop.stock_of(v.id).available), "variant_id"
    ),
    ("add_to_cart", "quantity_limit"): add_limited,
    ("update_cart_line", "not_found"): no_such("line_id", quantity=2),
    ("update_cart_line", "no_change"): filled_line(2, then=2),
    ("update_cart_line", "out_of_stock"): update_beyond_stock,
    ("update_cart_line", "quantity_limit"): update_limited,
    ("remove_from_cart", "not_found"): no_such("line_id"),
    ("apply_coupon", "cart_empty"): on_empty_cart,
    ("apply_coupon", "unknown_coupon"): always(code="NOSUCHCODE"),
    ("apply_coupon", "coupon_already_applied"): twice,
    ("apply_coupon", "coupon_used"): coupon(lambda shop, c: c.used),
    ("apply_coupon", "coupon_expired"): coupon(
        lambda shop, c: not c.used and c.expires_on < shop.today.isoformat()
    ),
    ("apply_coupon", "coupon_not_applicable"): coupon(_for_other_goods),
    ("apply_coupon", "minimum_not_met"): coupon(_too_dear),
    ("remove_coupon", "no_coupon"): bare,
    ("place_order", "cart_empty"): place_empty,
    ("place_order", "address_missing"): place_nowhere,
    ("place_order", "not_found"): place_unknown,
    ("place_order", "express_unavailable"): place_bulky,
    ("place_order", "coupon_expired"): place_stale,
    ("place_order", "coupon_not_applicable"): place_reduced(other_goods),
    ("place_order", "minimum_not_met"): place_reduced(below_minimum),
    ("get_order", "not_found"): no_such("order_id"),
    ("cancel_order", "not_found"): no_such("order_id"),
    ("cancel_order", "order_shipped"): lambda session, shop: first(
        shop.orders.where(status="shipped"), "order_id"
    ),
    ("cancel_order", "already_cancelled"): lambda session, shop: first(
        shop.orders.where(status="cancelled"), "order_id"
    ),
    ("return_item", "not_found"): no_such("order_line_id", reason="damaged"),
    ("return_item", "not_delivered"): give_back(lambda shop, li: True, "processing", "shipped"),
    ("return_item", "not_returnable"): give_back(
        lambda shop, li: not return_days(shop, li), "delivered"
    ),
    ("return_item", "return_window_over"): give_back(_late, "delivered"),
    ("return_item", "too_many_returned"): give_back(_all_returned, "delivered"),
    ("add_address", "address_name_taken"): same_name,
    ("add_address", "too_many_addresses"): full_book,
    ("set_default_address", "not_found"): no_such("address_id"),
    ("set_default_address", "already_default"): lambda session, shop: first(
        shop.addresses.where(default=True), "address_id"
    ),
}


@pytest.mark.parametrize(("name", "code"), declared(SERVER, REFUSALS))
def test_a_refusal_has_its_code_and_changes_nothing(name: str, code: str) -> None:
    for seed in range(80):
        session = world(seed).open()
        shop = session.state("shopping")
        assert isinstance(shop, Shop)
        args = REFUSALS[name, code](session, shop)
        if args is None:
            continue
        before = session.digest()
        result = session.call(name, args)
        assert result.outcome == "tool_error"
        assert result.value["error"]["code"] == code, result
        assert session.digest() == before
        return
    pytest.fail("no world has such a case")
