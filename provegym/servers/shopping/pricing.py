"""What a basket costs: discount, tax and shipping in integer cents, and what a return gives back.

A bill does not depend on the order in which things were put into the cart, so callers sort items.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from typing import NamedTuple

from provegym.servers.shopping.state import Category, Coupon, OrderLine, Shop, Speed
from provegym.world.fields import money

FREE_FROM = 5000
"""Standard delivery is free from this amount, after discount."""
RATES: dict[Speed, int] = {"standard": 495, "express": 1295}
DAYS: dict[Speed, int] = {"standard": 5, "express": 2}


class Item(NamedTuple):
    """Units of one variant to be priced."""

    variant_id: str
    unit_price: int
    quantity: int
    category: Category

    @property
    def gross(self) -> int:
        """Price of all its units before discount and tax."""
        return self.unit_price * self.quantity


class Bill(NamedTuple):
    """A priced basket; `discounts` and `taxes` are those of each item."""

    subtotal: int
    discount: int
    tax: int
    shipping: int
    discounts: tuple[int, ...]
    taxes: tuple[int, ...]

    @property
    def total(self) -> int:
        """What is to be paid."""
        return self.subtotal - self.discount + self.tax + self.shipping


class Problem(NamedTuple):
    """Why a coupon does not count: a refusal's code, sentence and details."""

    code: str
    message: str
    details: dict[str, str]


def cart_items(shop: Shop) -> list[Item]:
    """What is in the cart, by variant id."""
    lines = sorted(shop.cart_lines, key=lambda line: line.variant_id)
    variants = [shop.variants[line.variant_id] for line in lines]
    return [
        Item(v.id, v.price, line.quantity, shop.category_of(v.product_id))
        for v, line in zip(variants, lines, strict=True)
    ]


def bill(items: Sequence[Item], coupon: Coupon | None, speed: Speed = "standard") -> Bill:
    """Price a basket. The coupon is taken as it is; ask `coupon_problem` whether it counts."""
    counted = [_eligible(item, coupon) for item in items]
    discounts = spread(_discount(sum(counted), coupon), counted)
    taxes = tuple(
        _percent(item.gross - less, item.category.tax_rate, 10_000)
        for item, less in zip(items, discounts, strict=True)
    )
    subtotal, discount = sum(item.gross for item in items), sum(discounts)
    shipping = _shipping(subtotal - discount, coupon, speed) if items else 0
    return Bill(subtotal, discount, sum(taxes), shipping, discounts, taxes)


def spread(amount: int, weights: Sequence[int]) -> tuple[int, ...]:
    """Split an amount in proportion to the weights; the parts add up to it exactly."""
    total, seen, parts = sum(weights), 0, []
    for weight in weights:
        before = amount * seen // total if total else 0
        seen += weight
        parts.append((amount * seen // total if total else 0) - before)
    return tuple(parts)


def _eligible(item: Item, coupon: Coupon | None) -> int:
    applies = coupon is not None and coupon.category_id in ("", item.category.id)
    return item.gross if applies else 0


def _discount(eligible: int, coupon: Coupon | None) -> int:
    if coupon is None or coupon.kind == "free_shipping":
        return 0
    if coupon.kind == "percent":
        return _percent(eligible, coupon.value, 100)
    return min(coupon.value, eligible)


def _percent(amount: int, rate: int, whole: int) -> int:
    """`amount * rate / whole`, half a cent rounded up."""
    return (amount * rate + whole // 2) // whole


def _shipping(goods: int, coupon: Coupon | None, speed: Speed) -> int:
    free = goods >= FREE_FROM or (coupon is not None and coupon.kind == "free_shipping")
    return 0 if speed == "standard" and free else RATES[speed]


def coupon_problem(
    coupon: Coupon, items: Sequence[Item], today: date, scope: str
) -> Problem | None:
    """Why the coupon gives nothing on these items today; None if it counts.

    `scope` names the goods it is for, "" for all.
    """
    code = coupon.id
    if coupon.used:
        return Problem("coupon_used", f"coupon {code} was used on an earlier order", {})
    if coupon.expires_on < today.isoformat():
        text = f"coupon {code} expired on {coupon.expires_on}; today is {today}"
        return Problem("coupon_expired", text, {"expired_on": coupon.expires_on})
    eligible = sum(_eligible(item, coupon) for item in items)
    if not eligible:
        text = f"coupon {code} is for {scope} goods and the cart holds none"
        return Problem("coupon_not_applicable", text, {"category": scope})
    if eligible < coupon.minimum:
        goods = f"{scope} goods" if scope else "goods"
        need, have = money(coupon.minimum), money(eligible)
        text = f"coupon {code} needs {goods} for {need}; the cart has {have}"
        return Problem("minimum_not_met", text, {"minimum": need, "eligible": have})
    return None


def refund_of(line: OrderLine, quantity: int) -> int:
    """What the next `quantity` units sent back give: all units together give what was paid."""
    paid = line.quantity * line.unit_price - line.discount + line.tax
    after = line.returned + quantity
    return paid * after // line.quantity - paid * line.returned // line.quantity
