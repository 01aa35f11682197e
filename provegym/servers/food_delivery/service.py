"""What the service can do at this minute: who is open, who can bring it, how far an order is."""

from __future__ import annotations

from datetime import datetime, timedelta

from provegym.servers.food_delivery.pricing import Problem
from provegym.servers.food_delivery.state import (
    STEPS,
    WEEK,
    Address,
    Courier,
    FoodApp,
    MenuItem,
    Order,
    OrderStatus,
    Restaurant,
    Step,
    Vehicle,
    kilometres,
    metres,
)

REACH: dict[Vehicle, int] = {"bike": 3500, "scooter": 6000, "car": 20000}
"""How many metres a courier goes for one order."""
SPEED: dict[Vehicle, int] = {"bike": 220, "scooter": 380, "car": 450}
"""Metres a minute."""
CONFIRMED, HANDOVER = 4, 3
"""Minutes until a kitchen starts, and at the door."""
AT_ONCE = 2
"""Orders that one courier has at a time."""


def is_open(app: FoodApp, r: Restaurant) -> bool:
    """Whether the kitchen takes orders now."""
    return r.day_off != WEEK[app.now.weekday()] and r.opens <= app.clock < r.closes


def closed_problem(app: FoodApp, r: Restaurant) -> Problem | None:
    """Why the restaurant takes no order now."""
    if is_open(app, r):
        return None
    off = f", closed on {r.day_off}s" if r.day_off else ""
    text = f"{r.name} is closed at {app.clock}; it opens from {r.opens} to {r.closes}{off}"
    return Problem("restaurant_closed", text, {"opens": r.opens, "closes": r.closes})


def item_problem(app: FoodApp, item: MenuItem, quantity: int) -> Problem | None:
    """Why so many portions of a dish cannot be had now."""
    menu = app.menus[item.menu_id]
    if not menu.served_from <= app.clock < menu.served_until:
        hours = f"from {menu.served_from} to {menu.served_until}"
        text = f"{item.dish} is on the {menu.name} menu, served {hours}; it is {app.clock}"
        return Problem("not_served_now", text, {"served_from": menu.served_from})
    if item.left < quantity:
        text = f"{quantity} of {item.dish} wanted, {item.left or 'none'} left today"
        return Problem("sold_out", text, {"left": str(item.left)})
    return None


def range_problem(r: Restaurant, address: Address) -> Problem | None:
    """Why the restaurant does not deliver to the address."""
    distance = metres(r, address)
    if distance <= r.radius:
        return None
    away, most = kilometres(distance), kilometres(r.radius)
    text = f"the {address.name} address is {away} km from {r.name}, which delivers up to {most} km"
    return Problem("out_of_range", text, {"distance_km": str(away), "range_km": str(most)})


def status_of(app: FoodApp, order: Order) -> OrderStatus:
    """How far an order is at this minute."""
    if order.cancelled:
        return "cancelled"
    reached = steps_until(app, order, app.stamp)
    return max(reached, key=STEPS.index)


def steps_until(app: FoodApp, order: Order, moment: str) -> dict[Step, str]:
    """The steps of an order that are reached at a moment, with their times."""
    return {s.step: s.at for s in app.tracking.where(order_id=order.id) if s.at <= moment}


def step_at(app: FoodApp, order: Order, step: Step) -> str:
    """When an order reaches a step, or would have."""
    return app.tracking.where(order_id=order.id, step=step)[0].at


def free_courier(app: FoodApp, r: Restaurant, distance: int) -> Courier | None:
    """The courier on duty in the restaurant's district who can go that far, has the fewest
    orders, and is rated best.
    """
    able = [
        (_load(app, c), -c.stars / max(c.ratings, 1), c.id, c)
        for c in app.couriers.where(district=r.district, on_duty=True)
        if REACH[c.vehicle] >= distance
    ]
    load, _, _, courier = min(able, default=(AT_ONCE, 0.0, "", None))
    return courier if load < AT_ONCE else None


def _load(app: FoodApp, courier: Courier) -> int:
    open_ = (status_of(app, o) for o in app.orders.where(courier_id=courier.id))
    return sum(status not in ("delivered", "cancelled") for status in open_)


def schedule(start: datetime, prep: int, distance: int, vehicle: Vehicle) -> dict[Step, str]:
    """When an order placed at `start` reaches its steps."""
    ride = distance // SPEED[vehicle] + HANDOVER
    minutes = (0, CONFIRMED, CONFIRMED + prep, CONFIRMED + prep + ride)
    times = (start + timedelta(minutes=m) for m in minutes)
    return {step: t.isoformat() for step, t in zip(STEPS, times, strict=True)}
