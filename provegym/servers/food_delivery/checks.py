"""What must hold in the food delivery service after every call."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from provegym.servers.food_delivery.pricing import delivery_fee
from provegym.servers.food_delivery.service import REACH, step_at
from provegym.servers.food_delivery.state import STEPS, CartLine, FoodApp, Order

MOST_EXTRAS = 2


def violations(app: FoodApp) -> Iterator[str]:
    """What is wrong: one sentence for each broken invariant."""
    for order in app.orders:
        yield from _order_violations(app, order)
    yield from _cart_violations(app)
    yield from _dish_violations(app)
    yield from _rating_violations(app)
    if len(app.addresses.where(default=True)) != 1:
        yield "there is not exactly one default address"
    used = {o.promo_code for o in app.orders if o.promo_code and not o.cancelled}
    for promo in app.promos:
        if promo.used != (promo.id in used):
            yield f"promo {promo.id} is marked used={promo.used} against the orders"


def _order_violations(app: FoodApp, o: Order) -> Iterator[str]:
    lines = app.order_lines.where(order_id=o.id)
    dishes = sum(line.price * line.quantity for line in lines)
    extras = sum(line.extras * line.quantity for line in lines)
    if (dishes, extras) != (o.dishes, o.extras) or not lines:
        yield f"order {o.id}: its lines give {dishes} and {extras}"
    paid = o.dishes + o.extras + o.delivery_fee + o.service_fee - o.discount + o.tip
    if o.total != paid or min(o.total, o.tip, o.discount) < 0:
        yield f"order {o.id}: total {o.total} is not the sum of its parts, {paid}"
    if {app.menu_items[line.item_id].restaurant_id for line in lines} != {o.restaurant_id}:
        yield f"order {o.id} holds dishes of another restaurant"
    restaurant = app.restaurants[o.restaurant_id]
    if o.delivery_fee != delivery_fee(restaurant, o.distance):
        yield f"order {o.id}: the fee is not that of {o.distance} m"
    if o.distance > min(restaurant.radius, REACH[app.couriers[o.courier_id].vehicle]):
        yield f"order {o.id} went further than the restaurant or its courier goes"
    yield from _tracking_violations(app, o)


def _tracking_violations(app: FoodApp, o: Order) -> Iterator[str]:
    steps = sorted(app.tracking.where(order_id=o.id), key=lambda s: STEPS.index(s.step))
    times = [s.at for s in steps]
    if tuple(s.step for s in steps) != STEPS or times != sorted(set(times)):
        yield f"order {o.id}: its steps are not in order"
    if times[0][:10] != o.placed_on or times[0] > app.stamp:
        yield f"order {o.id} is not placed when it says"
    if o.cancelled != bool(o.cancelled_at):
        yield f"order {o.id} says cancelled={o.cancelled} at {o.cancelled_at!r}"
    if o.cancelled and o.cancelled_at >= step_at(app, o, "picked_up"):
        yield f"order {o.id} was cancelled after its pick-up"


def _cart_violations(app: FoodApp) -> Iterator[str]:
    lines, cart = list(app.cart_lines), app.cart
    homes = {app.menu_items[line.item_id].restaurant_id for line in lines}
    if homes != ({cart.restaurant_id} if cart.restaurant_id else set()):
        yield f"the cart is for {cart.restaurant_id!r} and holds dishes of {sorted(homes)}"
    if cart.promo_code and not lines:
        yield "there is a promo on an empty cart"
    if len({(line.item_id, line.option_ids) for line in lines}) < len(lines):
        yield "two cart lines hold the same dish with the same options"
    for line in lines:
        yield from _line_violations(app, line)


def _line_violations(app: FoodApp, line: CartLine) -> Iterator[str]:
    options = app.chosen(line)
    if line.quantity < 1:
        yield f"cart line {line.id} holds {line.quantity} portions"
    if any(o.item_id != line.item_id for o in options):
        yield f"cart line {line.id} has options of another dish"
    groups = Counter(o.group for o in options)
    if groups["size"] > 1 or groups["extra"] > MOST_EXTRAS:
        yield f"cart line {line.id} has too many options"


def _dish_violations(app: FoodApp) -> Iterator[str]:
    ordered = Counter[str]()
    for line in app.order_lines:
        if not app.orders[line.order_id].cancelled:
            ordered[line.item_id] += line.quantity
    for item in app.menu_items:
        if item.left < 0 or item.portions - item.left != ordered[item.id]:
            yield f"{item.id}: {item.portions} made, {item.left} left, {ordered[item.id]} ordered"
        if app.menus[item.menu_id].restaurant_id != item.restaurant_id:
            yield f"{item.id} is on the menu of another restaurant"


def _rating_violations(app: FoodApp) -> Iterator[str]:
    stars, count = Counter[str](), Counter[str]()
    for r in app.ratings:
        stars[r.restaurant_id] += r.stars
        count[r.restaurant_id] += 1
        stars[r.courier_id] += r.courier_stars
        count[r.courier_id] += r.courier_stars > 0
    for rated in (*app.restaurants, *app.couriers):
        if (rated.stars, rated.ratings) != (stars[rated.id], count[rated.id]):
            yield f"{rated.id}: its stars are not those of its ratings"
    rated_orders = Counter(r.order_id for r in app.ratings if r.order_id)
    for order_id, times in rated_orders.items():
        if times > 1 or step_at(app, app.orders[order_id], "delivered") > app.stamp:
            yield f"order {order_id} is rated twice or before it came"
