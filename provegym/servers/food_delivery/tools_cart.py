"""Filling the cart: dishes of one restaurant with their options, and a promo."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from random import Random
from typing import Annotated, Any, Literal

from msgspec import Struct

from provegym.servers.food_delivery.checks import MOST_EXTRAS
from provegym.servers.food_delivery.pricing import Bill, Problem, bill, priced, promo_problem
from provegym.servers.food_delivery.service import closed_problem, item_problem
from provegym.servers.food_delivery.state import (
    CartLine,
    CartLineId,
    FoodApp,
    ItemId,
    MenuItem,
    Option,
    OptionId,
    Promo,
    PromoCode,
    RestaurantId,
    find,
    metres,
)
from provegym.world.fields import Date, Limit, Money, Range, money
from provegym.world.page import page
from provegym.world.tool import refuse, tool

SLIP = 0.05
"""How often a sample is made without a look at the rules."""
Portions = Annotated[int, Range(1, 20)]
NewPortions = Annotated[int, Range(0, 20)]
PromoStatus = Literal["active", "expired", "used"]


class CartLineView(Struct, frozen=True):
    """A line of the cart."""

    line_id: CartLineId
    dish: str
    options: str
    quantity: int
    line_total: Money


class CartView(Struct, frozen=True):
    """The cart priced for the default address; `promo_problem` says why the promo gives nothing."""

    restaurant: str
    lines: list[CartLineView]
    subtotal: Money
    minimum: Money
    promo: PromoCode
    promo_problem: str
    discount: Money
    delivery_fee: Money
    service_fee: Money
    total: Money


class CartReceipt(Struct, frozen=True):
    """The line as it is now and what is in the cart; quantity 0 is a line removed."""

    line_id: CartLineId
    dish: str
    options: str
    quantity: int
    line_total: Money
    restaurant: str
    cart_subtotal: Money


class ClearReceipt(Struct, frozen=True):
    """What was thrown out."""

    restaurant: str
    lines_removed: int


class PromoView(Struct, frozen=True):
    """A promo; `restaurant` is where it counts, or all."""

    promo_code: PromoCode
    offer: str
    restaurant: str
    minimum: Money
    expires_on: Date
    status: PromoStatus


class PromoPage(Struct, frozen=True):
    """Promos, the one that ends first at the top."""

    promos: list[PromoView]
    total: int
    next_cursor: str


class PromoReceipt(Struct, frozen=True):
    """The promo on the cart and what the cart comes to."""

    promo_code: PromoCode
    subtotal: Money
    discount: Money
    total: Money


def stop(problem: Problem | None) -> None:
    """Refuse for the problem, if there is one."""
    if problem:
        refuse(problem.code, problem.message, **problem.details)


def cart_bill(app: FoodApp, distance: int, promo: Promo | None) -> Bill:
    """The price of the cart; it must not be empty."""
    lines = [priced(app, line) for line in app.cart_lines]
    return bill(lines, app.restaurants[app.cart.restaurant_id], distance, promo)


def goods(app: FoodApp) -> int:
    """What the dishes in the cart cost with their options."""
    lines = (priced(app, line) for line in app.cart_lines)
    return sum((line.price + line.extras) * line.quantity for line in lines)


def options_text(options: Sequence[Option]) -> str:
    """The options as people read them."""
    return ", ".join(o.option for o in options)


@tool(
    "read",
    phrases=(
        "Show what is in my food cart",
        "What does the food in my cart come to with delivery",
        "Check my food delivery cart",
    ),
)
def get_food_cart(app: FoodApp) -> CartView:
    """Show the food cart: its restaurant, lines, promo, fees and total to the default address."""
    restaurant = app.restaurants.get(app.cart.restaurant_id)
    if restaurant is None:
        zero = money(0)
        return CartView("", [], zero, zero, "", "", zero, zero, zero, zero)
    promo, subtotal = app.promos.get(app.cart.promo_code), goods(app)
    problem = promo and promo_problem(promo, restaurant.id, subtotal, app.today)
    cost = cart_bill(app, metres(restaurant, app.home), None if problem else promo)
    return CartView(
        restaurant=restaurant.name,
        lines=[_line_view(app, line) for line in app.cart_lines],
        subtotal=money(subtotal),
        minimum=money(restaurant.minimum),
        promo=app.cart.promo_code,
        promo_problem=problem.message if problem else "",
        discount=money(cost.discount),
        delivery_fee=money(cost.delivery_fee),
        service_fee=money(cost.service_fee),
        total=money(cost.total),
    )


def _line_total(app: FoodApp, line: CartLine) -> str:
    one = priced(app, line)
    return money((one.price + one.extras) * one.quantity)


def _line_view(app: FoodApp, line: CartLine) -> CartLineView:
    said, total = options_text(app.chosen(line)), _line_total(app, line)
    return CartLineView(line.id, line.dish, said, line.quantity, total)


def _receipt(app: FoodApp, line: CartLine, restaurant_id: str) -> CartReceipt:
    said, total = options_text(app.chosen(line)), _line_total(app, line)
    name, subtotal = app.restaurants[restaurant_id].name, money(goods(app))
    return CartReceipt(line.id, line.dish, said, line.quantity, total, name, subtotal)


# -- lines ---------------------------------------------------------------------------------------


def _in_cart(app: FoodApp, item: MenuItem) -> int:
    return sum(line.quantity for line in app.cart_lines.where(item_id=item.id))


def _orderable(app: FoodApp, item: MenuItem) -> bool:
    """Whether one more portion can go into the cart."""
    if closed_problem(app, app.restaurants[item.restaurant_id]):
        return False
    return item_problem(app, item, _in_cart(app, item) + 1) is None


def _add_sample(app: FoodApp, rnd: Random) -> dict[str, Any]:
    here, ids = app.cart.restaurant_id, app.menu_items.template.ids
    items = app.menu_items.where(restaurant_id=here) if here else [app.menu_items[i] for i in ids]
    if rnd.random() < SLIP:
        return {"item_id": rnd.choice(items).id, "option_ids": _any_options(app, rnd, items)}
    for item in rnd.sample(items, min(len(items), 20)):
        if _orderable(app, item):
            room = min(item.left - _in_cart(app, item), 3)
            more = {"quantity": rnd.randint(1, room)} if rnd.random() < 0.4 else {}
            options = app.options.where(item_id=item.id)
            picked = [rnd.choice(options).id] if options and rnd.random() < 0.4 else []
            return {"item_id": item.id, **more, **({"option_ids": picked} if picked else {})}
    return {}


def _any_options(app: FoodApp, rnd: Random, items: Sequence[MenuItem]) -> list[str]:
    """All options of some dish, or one twice."""
    item = rnd.choice(items)
    return [o.id for o in app.options.where(item_id=item.id)] or ["opt_000000"]


@tool(
    "write",
    phrases=(
        "Add[ {quantity} portions of] {item_id}[ with {option_ids}] to my food cart",
        "Put[ {quantity} of] {item_id}[, option {option_ids},] in my food delivery cart",
        "I'd like to have[ {quantity} of] {item_id}[ with {option_ids}], put it in the food cart",
    ),
    refuses=(
        *("not_found", "restaurant_closed", "other_restaurant", "not_served_now", "sold_out"),
        *("wrong_option", "too_many_options"),
    ),
    sample=_add_sample,
)
def add_dish_to_cart(
    app: FoodApp,
    item_id: ItemId,
    quantity: Portions = 1,
    option_ids: list[OptionId] | None = None,
) -> CartReceipt:
    """Put portions of a dish into the food cart. A cart holds dishes of one restaurant only.

    Args:
        item_id: The dish.
        quantity: Portions to add.
        option_ids: Options of this dish: at most one size and two extras.
    """
    item = find(app.menu_items, item_id, "dish", "search_dishes")
    restaurant, cart = app.restaurants[item.restaurant_id], app.cart
    stop(closed_problem(app, restaurant))
    if cart.restaurant_id not in ("", restaurant.id):
        now = app.restaurants[cart.restaurant_id].name
        text = f"the cart is for {now}, not {restaurant.name}; clear_food_cart empties it"
        refuse("other_restaurant", text, cart_restaurant=now)
    stop(item_problem(app, item, _in_cart(app, item) + quantity))
    chosen = _checked_options(app, item, option_ids or ())
    if not cart.restaurant_id:
        app.carts.update(cart, restaurant_id=restaurant.id)
    return _receipt(app, _add_line(app, item, chosen, quantity), restaurant.id)


def _checked_options(
    app: FoodApp, item: MenuItem, option_ids: Sequence[str]
) -> tuple[OptionId, ...]:
    """The options in a fixed order; refused where the dish has none such, or not so many."""
    own = {o.id: o for o in app.options.where(item_id=item.id)}
    wrong = [o for o in option_ids if o not in own]
    if wrong:
        valid = ", ".join(f"{o.id} ({o.option})" for o in own.values()) or "none"
        text = f"{wrong[0]!r} is no option of {item.dish}; its options: {valid}"
        refuse("wrong_option", text, option_id=wrong[0])
    groups = Counter(own[o].group for o in set(option_ids))
    if groups["size"] > 1 or groups["extra"] > MOST_EXTRAS:
        text = f"{groups['size']} sizes and {groups['extra']} extras chosen; at most 1 and"
        refuse("too_many_options", f"{text} {MOST_EXTRAS} go with a dish")
    return tuple(sorted(set(option_ids)))


def _add_line(
    app: FoodApp, item: MenuItem, chosen: tuple[OptionId, ...], quantity: int
) -> CartLine:
    """The line of that dish with those options, made or grown."""
    for line in app.cart_lines.where(item_id=item.id, option_ids=chosen):
        return app.cart_lines.update(line, quantity=line.quantity + quantity)
    new = app.cart_lines.new_id()
    return app.cart_lines.put(CartLine(new, item.id, item.dish, chosen, quantity))


def _update_sample(app: FoodApp, rnd: Random) -> dict[str, Any]:
    wishes = []
    for line in app.cart_lines:
        item = app.menu_items[line.item_id]
        served = item_problem(app, item, _in_cart(app, item)) is None
        room = min(item.left - _in_cart(app, item), 5 - line.quantity) if served else 0
        most = line.quantity + max(room, rnd.random() < (SLIP if served else SLIP * 6))
        wishes += [(line.id, n) for n in range(most + 1) if n != line.quantity]
    if not wishes:
        return {"quantity": rnd.randint(0, 3)}
    line_id, quantity = rnd.choice(wishes)
    return {"line_id": line_id, "quantity": quantity}


@tool(
    "write",
    phrases=(
        "Change {line_id} in my food cart to {quantity} portions",
        "Make it {quantity} of {line_id} in the food cart",
        "Set the portions of {line_id} in my food delivery cart to {quantity}",
    ),
    refuses=("not_found", "no_change", "not_served_now", "sold_out"),
    sample=_update_sample,
)
def update_cart_dish(app: FoodApp, line_id: CartLineId, quantity: NewPortions) -> CartReceipt:
    """Change the portions of a line of the food cart; 0 removes the line.

    Args:
        line_id: The line of the cart.
        quantity: Portions it shall hold, 0 for none.
    """
    line = find(app.cart_lines, line_id, "cart line", "get_food_cart")
    if quantity == line.quantity:
        refuse("no_change", f"the line holds {quantity} already", quantity=quantity)
    restaurant_id = app.cart.restaurant_id
    if not quantity:
        _remove(app, line)
        return _receipt(app, _emptied(line), restaurant_id)
    if quantity > line.quantity:
        item = app.menu_items[line.item_id]
        stop(item_problem(app, item, _in_cart(app, item) + quantity - line.quantity))
    return _receipt(app, app.cart_lines.update(line, quantity=quantity), restaurant_id)


def _emptied(line: CartLine) -> CartLine:
    return CartLine(line.id, line.item_id, line.dish, line.option_ids, 0)


def _remove(app: FoodApp, line: CartLine) -> None:
    """Take a line out; the last one takes restaurant and promo with it."""
    app.cart_lines.delete(line.id)
    if not len(app.cart_lines):
        app.carts.update(app.cart, restaurant_id="", promo_code="")


@tool(
    "write",
    phrases=(
        "Empty my food cart",
        "Throw everything out of my food delivery cart",
        "Clear the food cart so that I can order from somewhere else",
    ),
    refuses=("cart_empty",),
)
def clear_food_cart(app: FoodApp) -> ClearReceipt:
    """Remove all dishes and the promo from the food cart."""
    restaurant, lines = app.restaurants.get(app.cart.restaurant_id), list(app.cart_lines)
    if restaurant is None:
        refuse("cart_empty", "the food cart is empty already")
    for line in lines:
        _remove(app, line)
    return ClearReceipt(restaurant.name, len(lines))


# -- promos --------------------------------------------------------------------------------------


def _promo_status(app: FoodApp, promo: Promo) -> PromoStatus:
    if promo.used:
        return "used"
    return "expired" if promo.expires_on < app.today.isoformat() else "active"


def _promos_sample(app: FoodApp, rnd: Random) -> dict[str, Any]:
    given: dict[str, Any] = {"status": "active"} if rnd.random() < 0.4 else {}
    at = [p.restaurant_id for p in app.promos if p.restaurant_id]
    return given | ({"restaurant_id": rnd.choice(at)} if rnd.random() < 0.3 else {})


@tool(
    "read",
    phrases=(
        "List my[ {status}] food promo codes[ that count at {restaurant_id}]",
        "Which[ {status}] promos do I have for food delivery[ from {restaurant_id}]",
        "Show the[ {status}] discount promos for ordering food[ at {restaurant_id}]",
    ),
    refuses=("not_found",),
    sample=_promos_sample,
)
def list_food_promos(
    app: FoodApp,
    status: PromoStatus | None = None,
    restaurant_id: RestaurantId = "",
    limit: Limit = 5,
    cursor: str = "",
) -> PromoPage:
    """List the customer's promo codes, the one that ends first at the top.

    Args:
        status: Only promos in this state.
        restaurant_id: Only promos that count at this restaurant.
        limit: Promos per page.
        cursor: next_cursor of the page before.
    """
    at = ("", restaurant_id)
    if restaurant_id:
        find(app.restaurants, restaurant_id, "restaurant", "search_restaurants")
    found = [
        p
        for p in app.promos
        if status in (None, _promo_status(app, p)) and (not restaurant_id or p.restaurant_id in at)
    ]
    found.sort(key=lambda p: (p.expires_on, p.id))
    rows, total, after = page(found, limit, cursor)
    return PromoPage([_promo_view(app, p) for p in rows], total, after)


def _offer(promo: Promo) -> str:
    if promo.kind == "free_delivery":
        return "free delivery"
    return f"{promo.value}% off" if promo.kind == "percent" else f"${money(promo.value)} off"


def _promo_view(app: FoodApp, p: Promo) -> PromoView:
    at = app.restaurants[p.restaurant_id].name if p.restaurant_id else "all"
    status = _promo_status(app, p)
    return PromoView(p.id, _offer(p), at, money(p.minimum), p.expires_on, status)


def _apply_sample(app: FoodApp, rnd: Random) -> dict[str, Any]:
    cart, total = app.cart, goods(app)
    good = [
        p.id
        for p in app.promos
        if not (p.used or p.id == cart.promo_code)
        and promo_problem(p, cart.restaurant_id, total, app.today) is None
    ]
    return {"promo_code": rnd.choice(good if good and rnd.random() > SLIP else _codes(app))}


def _codes(app: FoodApp) -> Sequence[str]:
    return app.promos.template.ids


@tool(
    "write",
    phrases=(
        "Use the promo code {promo_code} on my food cart",
        "Apply promo {promo_code} to the food in my cart",
        "Redeem {promo_code} for the dishes in my food cart",
    ),
    refuses=(
        *("cart_empty", "unknown_promo", "promo_already_applied", "promo_used", "promo_expired"),
        *("promo_not_applicable", "promo_minimum_not_met"),
    ),
    sample=_apply_sample,
)
def apply_food_promo(app: FoodApp, promo_code: PromoCode) -> PromoReceipt:
    """Put a promo on the food cart; it replaces the one that is there.

    Args:
        promo_code: Code of the promo.
    """
    cart = app.cart
    restaurant = app.restaurants.get(cart.restaurant_id)
    if restaurant is None:
        refuse("cart_empty", "there is nothing in the food cart; add_dish_to_cart fills it")
    promo = app.promos.get(promo_code.strip().upper())
    if promo is None:
        refuse("unknown_promo", f"there is no promo {promo_code!r}; see list_food_promos")
    if promo.id == cart.promo_code:
        refuse("promo_already_applied", f"promo {promo.id} is on the cart already")
    if promo.used:
        refuse("promo_used", f"promo {promo.id} was used for an order before")
    stop(promo_problem(promo, restaurant.id, goods(app), app.today))
    app.carts.update(cart, promo_code=promo.id)
    cost = cart_bill(app, metres(restaurant, app.home), promo)
    return PromoReceipt(promo.id, money(cost.goods), money(cost.discount), money(cost.total))
