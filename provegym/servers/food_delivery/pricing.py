"""What an order costs, in integer cents: dishes, extras, fees, discount."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from typing import NamedTuple

from provegym.servers.food_delivery.state import CartLine, FoodApp, Promo, Restaurant
from provegym.world.fields import money

NEAR, EACH_KM = 2000, 60
"""The restaurant's own fee covers so many metres; each kilometre begun beyond costs more."""
SERVICE_PERCENT, SERVICE_LEAST, SERVICE_MOST = 6, 99, 499


class Priced(NamedTuple):
    """Portions of a dish to be priced; `extras` is for the options of one portion."""

    price: int
    extras: int
    quantity: int


class Bill(NamedTuple):
    """A priced cart without its tip."""

    dishes: int
    extras: int
    delivery_fee: int
    service_fee: int
    discount: int

    @property
    def goods(self) -> int:
        """Dishes with their options: what minimums are measured by."""
        return self.dishes + self.extras

    @property
    def total(self) -> int:
        """What is to be paid, the tip apart."""
        return self.goods + self.delivery_fee + self.service_fee - self.discount


class Problem(NamedTuple):
    """Why something cannot be had: a refusal's code, sentence and details."""

    code: str
    message: str
    details: dict[str, str]


def priced(app: FoodApp, line: CartLine) -> Priced:
    """A cart line at its menu's prices."""
    extras = sum(option.price for option in app.chosen(line))
    return Priced(app.menu_items[line.item_id].price, extras, line.quantity)


def delivery_fee(restaurant: Restaurant, distance: int) -> int:
    """The fee for a distance in metres."""
    beyond = max(0, distance - NEAR)
    return restaurant.fee + EACH_KM * -(-beyond // 1000)


def bill(
    lines: Sequence[Priced], restaurant: Restaurant, distance: int, promo: Promo | None
) -> Bill:
    """Price a cart. The promo is taken as it is; ask `promo_problem` whether it counts."""
    dishes = sum(line.price * line.quantity for line in lines)
    extras = sum(line.extras * line.quantity for line in lines)
    fee = delivery_fee(restaurant, distance)
    share = (SERVICE_PERCENT * (dishes + extras) + 50) // 100
    service = min(max(share, SERVICE_LEAST), SERVICE_MOST)
    return Bill(dishes, extras, fee, service, _discount(promo, dishes + extras, fee))


def _discount(promo: Promo | None, goods: int, fee: int) -> int:
    if promo is None:
        return 0
    if promo.kind == "free_delivery":
        return fee
    return min(promo.value, goods) if promo.kind == "amount" else (goods * promo.value + 50) // 100


def promo_problem(promo: Promo, restaurant_id: str, goods: int, today: date) -> Problem | None:
    """Why a promo does not count for a cart, None if it does. Its last day still counts."""
    if promo.expires_on < today.isoformat():
        text = f"promo {promo.id} ended on {promo.expires_on}; today is {today}"
        return Problem("promo_expired", text, {"expires_on": promo.expires_on})
    if promo.restaurant_id not in ("", restaurant_id):
        text = f"promo {promo.id} is for another restaurant; see list_food_promos"
        return Problem("promo_not_applicable", text, {})
    if goods < promo.minimum:
        text = f"promo {promo.id} needs dishes for {money(promo.minimum)}, not {money(goods)}"
        return Problem("promo_minimum_not_met", text, {"minimum": money(promo.minimum)})
    return None
