"""Placing orders, following them, calling them off and rating them."""

from __future__ import annotations

from datetime import date, datetime, timedelta
from random import Random
from typing import Annotated, Any

from msgspec import Struct

from provegym.servers.food_delivery.pricing import Bill, Problem, priced, promo_problem
from provegym.servers.food_delivery.service import (
    closed_problem,
    free_courier,
    item_problem,
    range_problem,
    schedule,
    status_of,
    step_at,
    steps_until,
)
from provegym.servers.food_delivery.state import (
    Address,
    AddressId,
    Courier,
    CourierId,
    FoodApp,
    ItemId,
    Order,
    OrderId,
    OrderLine,
    OrderStatus,
    Promo,
    Rating,
    Restaurant,
    RestaurantId,
    Step,
    Today,
    Tracked,
    Vehicle,
    average,
    find,
    kilometres,
    metres,
)
from provegym.servers.food_delivery.tools_cart import (
    SLIP,
    cart_bill,
    goods,
    options_text,
    stop,
)
from provegym.servers.food_delivery.tools_restaurants import Stars
from provegym.servers.food_delivery.words import COMMENTS, NOTES
from provegym.world.fields import Date, Format, Limit, Money, Stamp, Text, cents, money
from provegym.world.page import page
from provegym.world.tool import refuse, tool

RATING_DAYS = 14
"""How long after its day an order can be rated."""


def _is_tip(text: str) -> bool:
    whole, _, rest = text.partition(".")
    return (
        text.isascii() and whole.isdigit() and len(whole) <= 2 and rest.isdigit() and len(rest) == 2
    )


Tip = Annotated[str, Format("money", 'From "0.00" to "99.99".', _is_tip)]


class AddressView(Struct, frozen=True):
    """A delivery address by the name the customer gave it."""

    address_id: AddressId
    name: str
    street: str
    city: str
    default: bool
    restaurants_in_range: int


class AddressPage(Struct, frozen=True):
    """Addresses, the default first."""

    addresses: list[AddressView]
    total: int
    next_cursor: str


class OrderReceipt(Struct, frozen=True):
    """A new order."""

    order_id: OrderId
    restaurant: str
    placed_on: Today
    address: str
    discount: Money
    tip: Money
    total: Money
    courier: str
    arrives_at: Stamp


class OrderItem(Struct, frozen=True):
    """An order in a list; `first_dish` is one of its `dishes` dishes."""

    order_id: OrderId
    restaurant: str
    placed_on: Today
    status: OrderStatus
    total: Money
    first_dish: str


class OrderPage(Struct, frozen=True):
    """Orders, newest first."""

    orders: list[OrderItem]
    total: int
    next_cursor: str


class OrderLineView(Struct, frozen=True):
    """A dish as ordered."""

    item_id: ItemId
    dish: str
    restaurant: str
    options: str
    quantity: int
    line_total: Money


class OrderView(Struct, frozen=True):
    """An order with its costs."""

    order_id: OrderId
    restaurant_id: RestaurantId
    restaurant: str
    placed_on: Today
    status: OrderStatus
    address: str
    note: str
    lines: list[OrderLineView]
    delivery_fee: Money
    service_fee: Money
    discount: Money
    tip: Money
    total: Money
    stars_given: int


class TrackView(Struct, frozen=True):
    """How far an order is; `arrives_at` is when it came, or is expected, "" if it never will."""

    order_id: OrderId
    restaurant: str
    placed_on: Today
    status: OrderStatus
    reached: list[StepView]
    courier_id: CourierId
    courier: str
    courier_phone: str
    vehicle: Vehicle
    courier_rating: float
    distance_km: float
    arrives_at: Stamp
    minutes_left: int


class StepView(Struct, frozen=True):
    """A step that is reached, and when."""

    step: Step
    at: Stamp


class CancelReceipt(Struct, frozen=True):
    """A cancelled order and the money given back."""

    order_id: OrderId
    restaurant: str
    placed_on: Today
    status: OrderStatus
    refund: Money


class RatingReceipt(Struct, frozen=True):
    """A rating as it stands, and the restaurant's average with it."""

    order_id: OrderId
    restaurant: str
    placed_on: Today
    stars: int
    courier_stars: int
    comment: str
    restaurant_rating: float


# -- addresses -----------------------------------------------------------------------------------


def _addresses_sample(app: FoodApp, rnd: Random) -> dict[str, Any]:
    return {"query": rnd.choice(list(app.addresses)).name} if rnd.random() < 0.35 else {}


@tool(
    "read",
    phrases=(
        "List the addresses that I have food delivered to[, named {query}]",
        "Where can I have food brought to[, searching for {query}]",
        "Show my food delivery addresses[ that match {query}]",
    ),
    sample=_addresses_sample,
)
def list_delivery_addresses(
    app: FoodApp, query: str = "", limit: Limit = 5, cursor: str = ""
) -> AddressPage:
    """List the addresses that food can be brought to, the default one first.

    Args:
        query: Text that must occur in the name or street.
        limit: Addresses per page.
        cursor: next_cursor of the page before.
    """
    text = query.lower()
    found = [a for a in app.addresses if text in f"{a.name} {a.street}".lower()]
    found.sort(key=lambda a: (not a.default, a.name))
    rows, total, after = page(found, limit, cursor)
    return AddressPage([_address_view(app, a) for a in rows], total, after)


def _address_view(app: FoodApp, a: Address) -> AddressView:
    near = sum(metres(r, a) <= r.radius for r in app.restaurants)
    return AddressView(a.id, a.name, a.street, a.city, a.default, near)


# -- placing -------------------------------------------------------------------------------------


def _way_problem(app: FoodApp, r: Restaurant, to: Address) -> Problem | None:
    """Why nobody can bring food from the restaurant to the address now."""
    problem, distance = range_problem(r, to), metres(r, to)
    if problem is None and free_courier(app, r, distance) is None:
        text = f"no courier on duty near {r.name} can go {kilometres(distance)} km now"
        return Problem("no_courier", text, {"distance_km": str(kilometres(distance))})
    return problem


def _place_sample(app: FoodApp, rnd: Random) -> dict[str, Any]:
    r = app.restaurants.get(app.cart.restaurant_id)
    others = [a for a in app.addresses if not a.default]
    given: dict[str, Any] = {}
    if r and rnd.random() < 0.3:
        able = [a for a in others if _way_problem(app, r, a) is None]
        pool = others if rnd.random() < SLIP * 4 else able
        given = {"address_id": rnd.choice(pool).id} if pool else {}
    if rnd.random() < 0.3:
        given["tip"] = rnd.choice(("1.00", "2.00", "2.50", "3.00", "5.00"))
    return given | ({"note": rnd.choice(NOTES)} if rnd.random() < 0.25 else {})


@tool(
    "write",
    phrases=(
        "Order the food in my cart[ to {address_id}][ with a tip of {tip}][ and the note {note}]",
        "Place my food order[ for {address_id}][, tip {tip}][, note for the courier: {note}]",
        "Check out my food cart[, to deliver to {address_id}][, tipping {tip}][, saying {note}]",
    ),
    refuses=(
        *("cart_empty", "not_found", "restaurant_closed", "not_served_now", "sold_out"),
        *("below_minimum", "promo_expired", "promo_minimum_not_met", "out_of_range", "no_courier"),
    ),
    sample=_place_sample,
)
def place_food_order(
    app: FoodApp, address_id: AddressId = "", tip: Tip = "0.00", note: Text = ""
) -> OrderReceipt:
    """Order what is in the food cart, for now; the cart is empty afterwards.

    Args:
        address_id: Where to; without it, the default address.
        tip: Tip for the courier.
        note: Words for the courier.
    """
    r = app.restaurants.get(app.cart.restaurant_id)
    if r is None:
        refuse("cart_empty", "there is nothing in the food cart; add_dish_to_cart fills it")
    to = app.home
    if address_id:
        to = find(app.addresses, address_id, "address", "list_delivery_addresses")
    promo = _check_cart(app, r)
    stop(_way_problem(app, r, to))
    courier = free_courier(app, r, metres(r, to))
    assert courier is not None
    cost = cart_bill(app, metres(r, to), promo)
    order = _put_order(app, r, to, courier, cost, cents(tip), note)
    return OrderReceipt(
        *(order.id, r.name, order.placed_on, to.name, money(order.discount), money(order.tip)),
        *(money(order.total), courier.courier, step_at(app, order, "delivered")),
    )


def _check_cart(app: FoodApp, r: Restaurant) -> Promo | None:
    """The promo on the cart; refused where the kitchen cannot or will not make what is in it."""
    stop(closed_problem(app, r))
    portions: dict[str, int] = {}
    for line in app.cart_lines:
        portions[line.item_id] = portions.get(line.item_id, 0) + line.quantity
    for item_id, wanted in sorted(portions.items()):
        stop(item_problem(app, app.menu_items[item_id], wanted))
    subtotal = goods(app)
    if subtotal < r.minimum:
        text = f"{r.name} delivers from {money(r.minimum)} on; the dishes cost {money(subtotal)}"
        refuse("below_minimum", text, minimum=money(r.minimum), subtotal=money(subtotal))
    promo = app.promos.get(app.cart.promo_code)
    stop(promo_problem(promo, r.id, subtotal, app.today) if promo else None)
    return promo


def _put_order(
    app: FoodApp, r: Restaurant, to: Address, courier: Courier, cost: Bill, tip: int, note: str
) -> Order:
    """Turn the cart into an order."""
    new, distance, cart = app.orders.new_id(), metres(r, to), app.cart
    order = app.orders.put(
        Order(
            *(new, r.id, r.name, to.id, distance, courier.id, cart.promo_code),
            *(cost.dishes, cost.extras, cost.delivery_fee, cost.service_fee, cost.discount),
            tip=tip,
            total=cost.total + tip,
            note=note,
            cancelled=False,
            cancelled_at="",
            placed_on=app.today.isoformat(),
        )
    )
    for step, at in schedule(app.now, r.prep, distance, courier.vehicle).items():
        app.tracking.put(Tracked(app.tracking.new_id(), new, step, at))
    _sell_cart(app, order)
    if cart.promo_code:
        app.promos.update(app.promos[cart.promo_code], used=True)
    app.carts.update(cart, restaurant_id="", promo_code="")
    return order


def _sell_cart(app: FoodApp, order: Order) -> None:
    """Turn cart lines into order lines; their portions are no longer to be had."""
    for line in sorted(app.cart_lines, key=lambda line: (line.item_id, line.option_ids)):
        one, item = priced(app, line), app.menu_items[line.item_id]
        said, new = options_text(app.chosen(line)), app.order_lines.new_id()
        app.order_lines.put(
            OrderLine(
                *(new, order.id, line.item_id, line.dish, said),
                *(line.quantity, one.price, one.extras),
            )
        )
        app.menu_items.update(item, left=item.left - line.quantity)
        app.cart_lines.delete(line.id)


# -- looking -------------------------------------------------------------------------------------


def _orders_sample(app: FoodApp, rnd: Random) -> dict[str, Any]:
    order = rnd.choice(list(app.orders))
    given: dict[str, Any] = {"query": order.restaurant} if rnd.random() < 0.35 else {}
    if rnd.random() < 0.35:
        given["status"] = status_of(app, order)
    if rnd.random() < 0.25:
        given["since"] = date.fromisoformat(order.placed_on).replace(day=1).isoformat()
    return given


@tool(
    "read",
    phrases=(
        "List my[ {status}] food orders[ with {query}][ since {since}]",
        "Show the[ {status}] food deliveries I ordered[ from {since} on][, searching for {query}]",
        "Which[ {status}] meals did I order[ that match {query}][ since {since}]",
    ),
    sample=_orders_sample,
)
def list_food_orders(
    app: FoodApp,
    status: OrderStatus | None = None,
    query: str = "",
    since: Date | None = None,
    limit: Limit = 5,
    cursor: str = "",
) -> OrderPage:
    """List the customer's food orders, newest first.

    Args:
        status: Only orders that have come this far.
        query: Words that must occur in the restaurant or a dish.
        since: First day on which they were placed.
        limit: Orders per page.
        cursor: next_cursor of the page before.
    """
    words, first = query.lower().split(), since or ""
    found = [
        o
        for o in app.orders
        if o.placed_on >= first
        and (not status or status_of(app, o) == status)
        and (not words or _matches(app, o, words))
    ]
    found.sort(key=lambda o: (o.placed_on, step_at(app, o, "placed")), reverse=True)
    rows, total, after = page(found, limit, cursor)
    return OrderPage([_order_item(app, o) for o in rows], total, after)


def _matches(app: FoodApp, order: Order, words: list[str]) -> bool:
    dishes = " ".join(line.dish for line in app.order_lines.where(order_id=order.id))
    text = f"{order.restaurant} {dishes}".lower()
    return all(word in text for word in words)


def _order_item(app: FoodApp, o: Order) -> OrderItem:
    first = app.order_lines.where(order_id=o.id)[0].dish
    return OrderItem(o.id, o.restaurant, o.placed_on, status_of(app, o), money(o.total), first)


@tool(
    "read",
    phrases=(
        "Show what was in {order_id} and what it cost",
        "Open the receipt of {order_id}",
        "Which dishes, fees and tip are on {order_id}",
    ),
    refuses=("not_found",),
)
def get_food_order(app: FoodApp, order_id: OrderId) -> OrderView:
    """Show a food order with its dishes, fees, discount, tip and total.

    Args:
        order_id: The order.
    """
    o = find(app.orders, order_id, "food order", "list_food_orders")
    rated = app.ratings.where(order_id=o.id)
    return OrderView(
        *(o.id, o.restaurant_id, o.restaurant, o.placed_on, status_of(app, o)),
        address=app.addresses[o.address_id].name,
        note=o.note,
        lines=[
            OrderLineView(
                *(line.item_id, line.dish, o.restaurant, line.options, line.quantity),
                money((line.price + line.extras) * line.quantity),
            )
            for line in app.order_lines.where(order_id=o.id)
        ],
        delivery_fee=money(o.delivery_fee),
        service_fee=money(o.service_fee),
        discount=money(o.discount),
        tip=money(o.tip),
        total=money(o.total),
        stars_given=rated[0].stars if rated else 0,
    )


def _recent_sample(app: FoodApp, rnd: Random) -> dict[str, Any]:
    today = [o for o in app.orders if o.placed_on == app.today.isoformat()]
    return {"order_id": rnd.choice(today).id} if today and rnd.random() < 0.7 else {}


@tool(
    "read",
    phrases=(
        "Track {order_id}",
        "Where is {order_id} and when will the courier be here",
        "Who brings {order_id} and how far is it",
    ),
    refuses=("not_found",),
    sample=_recent_sample,
)
def track_food_order(app: FoodApp, order_id: OrderId) -> TrackView:
    """Follow a food order: the steps it has reached, its courier and when it arrives.

    Args:
        order_id: The order.
    """
    o = find(app.orders, order_id, "food order", "list_food_orders")
    courier, arrives = app.couriers[o.courier_id], step_at(app, o, "delivered")
    reached = steps_until(app, o, min(app.stamp, o.cancelled_at or app.stamp))
    left = datetime.fromisoformat(arrives) - app.now
    return TrackView(
        *(o.id, o.restaurant, o.placed_on, status_of(app, o)),
        [StepView(step, at) for step, at in reached.items()],
        *(courier.id, courier.courier, courier.phone, courier.vehicle),
        *(average(courier.stars, courier.ratings), kilometres(o.distance)),
        "" if o.cancelled else arrives,
        0 if o.cancelled else max(0, left // timedelta(minutes=1)),
    )


# -- calling off and rating ----------------------------------------------------------------------


def _cancel_sample(app: FoodApp, rnd: Random) -> dict[str, Any]:
    early = [o for o in app.orders if status_of(app, o) in ("placed", "preparing")]
    return {"order_id": rnd.choice(early).id} if early else {}


@tool(
    "write",
    phrases=(
        "Cancel {order_id}",
        "Call off {order_id} before the courier picks it up",
        "I no longer want {order_id}, cancel it",
    ),
    refuses=("not_found", "already_cancelled", "already_picked_up", "already_delivered"),
    sample=_cancel_sample,
)
def cancel_food_order(app: FoodApp, order_id: OrderId) -> CancelReceipt:
    """Cancel a food order that no courier has picked up; all is refunded, its promo comes back.

    Args:
        order_id: The order.
    """
    o = find(app.orders, order_id, "food order", "list_food_orders")
    status = status_of(app, o)
    if status == "cancelled":
        refuse("already_cancelled", f"the {o.restaurant} order is cancelled already")
    if status in ("picked_up", "delivered"):
        at = step_at(app, o, "picked_up" if status == "picked_up" else "delivered")
        text = f"the {o.restaurant} order was {status.replace('_', ' ')} at {at}"
        refuse(f"already_{status}", f"{text}; it can be cancelled until it is picked up", at=at)
    for line in app.order_lines.where(order_id=o.id):
        item = app.menu_items[line.item_id]
        app.menu_items.update(item, left=item.left + line.quantity)
    if o.promo_code:
        app.promos.update(app.promos[o.promo_code], used=False)
    o = app.orders.update(o, cancelled=True, cancelled_at=app.stamp)
    return CancelReceipt(o.id, o.restaurant, o.placed_on, "cancelled", money(o.total))


def _ratable(app: FoodApp, o: Order) -> bool:
    """Whether the order came lately and is not rated yet."""
    if app.today > _last_day(o) or status_of(app, o) != "delivered":
        return False
    return not app.ratings.where(order_id=o.id)


def _last_day(o: Order) -> date:
    return date.fromisoformat(o.placed_on) + timedelta(days=RATING_DAYS)


def _rate_sample(app: FoodApp, rnd: Random) -> dict[str, Any]:
    stars = rnd.choice((1, 2, 3, 4, 4, 5, 5))
    given: dict[str, Any] = {"stars": stars}
    if rnd.random() < 0.4:
        given["courier_stars"] = rnd.choice((3, 4, 5, 5))
    if rnd.random() < 0.4:
        given["comment"] = rnd.choice(COMMENTS[stars])
    found = [o for o in app.orders if _ratable(app, o)]
    return given | ({"order_id": rnd.choice(found).id} if found else {})


@tool(
    "write",
    phrases=(
        "Rate {order_id} with {stars} stars[, its courier with {courier_stars}]"
        "[ and comment {comment}]",
        "Give {order_id} {stars} stars[ and the courier {courier_stars}][, saying {comment}]",
        "I want to rate {order_id}: {stars} stars for the food[, {courier_stars} for the courier]"
        "[, comment {comment}]",
    ),
    refuses=("not_found", "not_delivered", "rating_window_over", "already_rated"),
    sample=_rate_sample,
)
def rate_food_order(
    app: FoodApp,
    order_id: OrderId,
    stars: Stars,
    courier_stars: Stars | None = None,
    comment: Text = "",
) -> RatingReceipt:
    """Rate the restaurant, and if wanted the courier, of an order delivered in the past 14 days.

    Args:
        order_id: The order.
        stars: Stars for the restaurant.
        courier_stars: Stars for the courier.
        comment: A few words.
    """
    o = find(app.orders, order_id, "food order", "list_food_orders")
    _check_ratable(app, o)
    today, polite, who = app.today.isoformat(), courier_stars or 0, app.cast.user.name
    new, r, c = app.ratings.new_id(), app.restaurants[o.restaurant_id], app.couriers[o.courier_id]
    app.ratings.put(Rating(new, o.id, r.id, c.id, who, stars, polite, comment, today))
    r = app.restaurants.update(r, stars=r.stars + stars, ratings=r.ratings + 1)
    if polite:
        app.couriers.update(c, stars=c.stars + polite, ratings=c.ratings + 1)
    rating = average(r.stars, r.ratings)
    return RatingReceipt(o.id, r.name, o.placed_on, stars, polite, comment, rating)


def _check_ratable(app: FoodApp, o: Order) -> None:
    status, last = status_of(app, o), _last_day(o)
    if status != "delivered":
        text = f"the {o.restaurant} order is {status.replace('_', ' ')}, not delivered"
        refuse("not_delivered", text, status=status)
    if app.ratings.where(order_id=o.id):
        refuse("already_rated", f"the {o.restaurant} order of {o.placed_on} is rated already")
    if app.today > last:
        text = f"the {o.restaurant} order could be rated until {last}; today is {app.today}"
        refuse("rating_window_over", text, last_day=last.isoformat())
