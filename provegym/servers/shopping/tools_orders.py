"""Buying and what comes after: orders, cancellations and returns."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, timedelta
from random import Random
from typing import Any

from msgspec import Struct

from provegym.servers.shopping.pricing import DAYS, Bill, bill, cart_items, refund_of
from provegym.servers.shopping.state import (
    Address,
    AddressId,
    CouponCode,
    Order,
    OrderId,
    OrderLine,
    OrderLineId,
    OrderStatus,
    ProductId,
    Reason,
    Return,
    ReturnId,
    ReturnStatus,
    Shop,
    Speed,
    Today,
    VariantId,
    find,
)
from provegym.servers.shopping.tools_cart import Quantity, check_coupon
from provegym.servers.shopping.tools_catalog import noun
from provegym.world.fields import Date, Limit, Money, money
from provegym.world.page import page
from provegym.world.tool import refuse, tool


class OrderReceipt(Struct, frozen=True):
    """An order as placed; total = subtotal - discount + tax + shipping."""

    order_id: OrderId
    placed_on: Today
    status: OrderStatus
    subtotal: Money
    discount: Money
    tax: Money
    shipping: Money
    total: Money
    arrives_on: Today


class OrderSummary(Struct, frozen=True):
    """An order in a list; `first_item` is one of the things in it."""

    order_id: OrderId
    placed_on: Today
    status: OrderStatus
    total: Money
    first_item: str
    line_count: int


class OrderPage(Struct, frozen=True):
    """Orders, newest first."""

    orders: list[OrderSummary]
    total: int
    next_cursor: str


class OrderLineView(Struct, frozen=True):
    """A line of an order; `returned` counts the units sent back."""

    order_line_id: OrderLineId
    product_id: ProductId
    variant_id: VariantId
    title: str
    option: str
    quantity: int
    returned: int
    price: Money


class OrderView(Struct, frozen=True):
    """An order with its lines; `arrives_on` is when it came or is expected."""

    order_id: OrderId
    placed_on: Today
    status: OrderStatus
    ship_to: str
    lines: list[OrderLineView]
    coupon: CouponCode
    discount: Money
    tax: Money
    shipping: Money
    total: Money
    arrives_on: Today


class CancelReceipt(Struct, frozen=True):
    """A cancelled order and the money that goes back."""

    order_id: OrderId
    placed_on: Today
    status: OrderStatus
    refund: Money


class ReturnView(Struct, frozen=True):
    """A return: what is sent back, why, and the money for it."""

    return_id: ReturnId
    title: str
    option: str
    quantity: int
    reason: Reason
    status: ReturnStatus
    refund: Money


class ReturnPage(Struct, frozen=True):
    """Returns, newest first."""

    returns: list[ReturnView]
    total: int
    next_cursor: str


# -- placing -----------------------------------------------------------------------------------


def _bulky(shop: Shop) -> list[str]:
    """Titles in the cart that cannot go by express."""
    variants = [shop.variants[line.variant_id] for line in shop.cart_lines]
    return sorted({v.title for v in variants if shop.products[v.product_id].bulky})


def _default(shop: Shop) -> Address | None:
    return next(iter(shop.addresses.where(default=True)), None)


def _place_sample(shop: Shop, rnd: Random) -> dict[str, Any]:
    given: dict[str, Any] = {}
    addresses = list(shop.addresses)
    if addresses and (not _default(shop) or rnd.random() < 0.4):
        given["address_id"] = rnd.choice(addresses).id
    if not _bulky(shop) and rnd.random() < 0.3:
        given["speed"] = "express"
    return given


@tool(
    "write",
    phrases=(
        "Place the order for what is in my cart[, sent to {address_id}][ with {speed} delivery]",
        "Check out my cart[ and ship it to {address_id}][ by {speed} delivery]",
        "Buy everything in my cart now[, delivered to {address_id}][, {speed} delivery]",
    ),
    refuses=(
        *("cart_empty", "address_missing", "not_found", "express_unavailable"),
        *("coupon_expired", "coupon_not_applicable", "minimum_not_met"),
    ),
    sample=_place_sample,
)
def place_order(
    shop: Shop, address_id: AddressId | None = None, speed: Speed = "standard"
) -> OrderReceipt:
    """Buy everything in the cart with the coupon on it; the cart is empty afterwards.

    Args:
        address_id: Where to send it; without it, the default address.
        speed: Standard (5 days, free from 50.00) or express (2 days, 12.95).
    """
    if not len(shop.cart_lines):
        refuse("cart_empty", "the cart is empty; add something before placing an order")
    address = _destination(shop, address_id)
    bulky = _bulky(shop)
    if speed == "express" and bulky:
        text = f"the {bulky[0]} is too bulky for express; use standard delivery"
        refuse("express_unavailable", text, bulky=bulky)
    coupon = shop.coupons.get(shop.cart.coupon_code)
    if coupon:
        check_coupon(shop, coupon)
    cost = bill(cart_items(shop), coupon, speed)
    order = shop.orders.put(_new_order(shop, address, speed, coupon.id if coupon else "", cost))
    _sell_cart(shop, order, cost)
    if coupon:
        shop.coupons.update(coupon, used=True)
        shop.carts.update(shop.cart, coupon_code="")
    return OrderReceipt(
        order_id=order.id,
        placed_on=order.placed_on,
        status=order.status,
        subtotal=money(order.subtotal),
        discount=money(order.discount),
        tax=money(order.tax),
        shipping=money(order.shipping),
        total=money(order.total),
        arrives_on=order.arrives_on,
    )


def _destination(shop: Shop, address_id: str | None) -> Address:
    if address_id is not None:
        return find(shop.addresses, address_id, "address", "list_addresses")
    address = _default(shop)
    if address is None:
        text = "no address is given and none is the default; name one of list_addresses or add one"
        refuse("address_missing", text, addresses=len(shop.addresses))
    return address


def _new_order(shop: Shop, to: Address, speed: Speed, coupon: str, cost: Bill) -> Order:
    return Order(
        id=shop.orders.new_id(),
        placed_on=shop.today.isoformat(),
        status="processing",
        address_id=to.id,
        ship_to=f"{to.street}, {to.city}",
        speed=speed,
        coupon_code=coupon,
        subtotal=cost.subtotal,
        discount=cost.discount,
        tax=cost.tax,
        shipping=cost.shipping,
        total=cost.total,
        arrives_on=(shop.today + timedelta(days=DAYS[speed])).isoformat(),
    )


def _sell_cart(shop: Shop, order: Order, cost: Bill) -> None:
    """Turn the cart's lines into the order's; `cost` has them by variant id."""
    lines = sorted(shop.cart_lines, key=lambda line: line.variant_id)
    for line, less, tax in zip(lines, cost.discounts, cost.taxes, strict=True):
        v = shop.variants[line.variant_id]
        shop.order_lines.put(
            OrderLine(
                *(shop.order_lines.new_id(), order.id, v.product_id, v.id, v.title, v.option),
                *(line.quantity, 0, v.price, less, tax),
            )
        )
        shop.cart_lines.delete(line.id)
        shop.move(v.id, line.quantity, "reserved", "sold")


# -- looking and cancelling --------------------------------------------------------------------


def _orders_sample(shop: Shop, rnd: Random) -> dict[str, Any]:
    order = rnd.choice(list(shop.orders))
    given: dict[str, Any] = {}
    if rnd.random() < 0.4:
        given["status"] = order.status
    if rnd.random() < 0.3:
        given["query"] = noun(rnd.choice(shop.order_lines.where(order_id=order.id)).title)
    if rnd.random() < 0.3:
        given["since"] = date.fromisoformat(order.placed_on).replace(day=1).isoformat()
    return given


@tool(
    "read",
    phrases=(
        "List my[ {status}] shop orders[ with {query} in them][ placed since {since}]",
        "Show the[ {status}] orders I placed in the shop[ since {since}][ that contain {query}]",
        "Which[ {status}] purchases did I make[ of {query}][ from {since} on]",
    ),
    sample=_orders_sample,
)
def list_orders(
    shop: Shop,
    status: OrderStatus | None = None,
    query: str = "",
    since: Date | None = None,
    limit: Limit = 5,
    cursor: str = "",
) -> OrderPage:
    """List the customer's orders, newest first.

    Args:
        status: Only orders in this state.
        query: Words that must occur in the title of a product ordered.
        since: First day on which they were placed.
        limit: Orders per page.
        cursor: next_cursor of the page before.
    """
    words, first = query.lower().split(), since or ""
    orders = shop.orders.where(status=status) if status else shop.orders
    found = [order for order in orders if order.placed_on >= first]
    if words:
        holding = {line.order_id for line in shop.order_lines if _hits(line, words)}
        found = [order for order in found if order.id in holding]
    found.sort(key=lambda order: order.placed_on, reverse=True)
    rows, total, after = page(found, limit, cursor)
    return OrderPage([_order_summary(shop, order, words) for order in rows], total, after)


def _hits(line: OrderLine, words: Sequence[str]) -> bool:
    title = line.title.lower()
    return all(word in title for word in words)


def _order_summary(shop: Shop, order: Order, words: Sequence[str]) -> OrderSummary:
    lines = shop.order_lines.where(order_id=order.id)
    first = next((line for line in lines if _hits(line, words)), lines[0])
    item, total = f"{first.option} {first.title}", money(order.total)
    return OrderSummary(order.id, order.placed_on, order.status, total, item, len(lines))


@tool(
    "read",
    phrases=(
        "Show the details of {order_id}",
        "What is in {order_id} and when does it arrive",
        "Open {order_id}",
    ),
    refuses=("not_found",),
)
def get_order(shop: Shop, order_id: OrderId) -> OrderView:
    """Show an order with its lines, costs and delivery.

    Args:
        order_id: The order.
    """
    o = find(shop.orders, order_id, "order", "list_orders")
    return OrderView(
        order_id=o.id,
        placed_on=o.placed_on,
        status=o.status,
        ship_to=o.ship_to,
        lines=[
            OrderLineView(
                *(line.id, line.product_id, line.variant_id, line.title, line.option),
                *(line.quantity, line.returned, money(line.unit_price)),
            )
            for line in shop.order_lines.where(order_id=o.id)
        ],
        coupon=o.coupon_code,
        discount=money(o.discount),
        tax=money(o.tax),
        shipping=money(o.shipping),
        total=money(o.total),
        arrives_on=o.arrives_on,
    )


def _cancel_sample(shop: Shop, rnd: Random) -> dict[str, Any]:
    open_ = shop.orders.where(status="processing")
    return {"order_id": rnd.choice(open_).id} if open_ else {}


@tool(
    "write",
    phrases=(
        "Cancel {order_id}",
        "Please call off {order_id} before it ships",
        "I changed my mind, cancel {order_id}",
    ),
    refuses=("not_found", "order_shipped", "already_cancelled"),
    sample=_cancel_sample,
)
def cancel_order(shop: Shop, order_id: OrderId) -> CancelReceipt:
    """Cancel an order that has not shipped: all is refunded and its coupon may be used again.

    Args:
        order_id: The order.
    """
    order = find(shop.orders, order_id, "order", "list_orders")
    if order.status == "cancelled":
        refuse("already_cancelled", f"the order of {order.placed_on} is cancelled already")
    if order.status != "processing":
        text = f"the order of {order.placed_on} is {order.status}; return its items instead"
        refuse("order_shipped", text, status=order.status)
    for line in shop.order_lines.where(order_id=order.id):
        shop.move(line.variant_id, line.quantity, "sold", "available")
    if order.coupon_code:
        shop.coupons.update(shop.coupons[order.coupon_code], used=False)
    order = shop.orders.update(order, status="cancelled", arrives_on="")
    return CancelReceipt(order.id, order.placed_on, order.status, money(order.total))


# -- returns -----------------------------------------------------------------------------------


def returnable(shop: Shop, line: OrderLine) -> bool:
    """Whether units of the line can still be sent back."""
    order, days = shop.orders[line.order_id], shop.category_of(line.product_id).return_days
    if order.status != "delivered" or line.returned == line.quantity:
        return False
    return bool(days) and shop.today <= _last_day(order, days)


def _last_day(order: Order, days: int) -> date:
    return date.fromisoformat(order.arrives_on) + timedelta(days=days)


def _return_sample(shop: Shop, rnd: Random) -> dict[str, Any]:
    reason = rnd.choice(("damaged", "defective", "unwanted", "unsuitable", "incorrect"))
    lines = [line for line in shop.order_lines if returnable(shop, line)]
    if not lines:
        return {"reason": reason}
    line = rnd.choice(lines)
    left = line.quantity - line.returned
    count = {"quantity": left} if left > 1 and rnd.random() < 0.5 else {}
    return {"order_line_id": line.id, "reason": reason, **count}


@tool(
    "write",
    phrases=(
        "Return[ {quantity} of] {order_line_id} as {reason}",
        "Send back[ {quantity} of] {order_line_id} that I ordered, reason: {reason}",
        "Start a return for[ {quantity} of] {order_line_id} and give {reason} as the reason",
    ),
    refuses=(
        *("not_found", "not_delivered", "not_returnable", "return_window_over"),
        "too_many_returned",
    ),
    sample=_return_sample,
)
def return_item(
    shop: Shop, order_line_id: OrderLineId, reason: Reason, quantity: Quantity = 1
) -> ReturnView:
    """Send back units of a delivered order line for a refund of their price and tax.

    Args:
        order_line_id: The line of the order.
        reason: Why it goes back.
        quantity: Units to return.
    """
    line = find(shop.order_lines, order_line_id, "order line", "get_order")
    _check_returnable(shop, line, quantity)
    back = Return(
        *(shop.returns.new_id(), line.id, line.variant_id, line.title, line.option),
        *(quantity, reason, "requested", refund_of(line, quantity), shop.today.isoformat()),
    )
    shop.returns.put(back)
    shop.order_lines.update(line, returned=line.returned + quantity)
    shop.move(line.variant_id, quantity, "sold", "returning")
    return _return_view(back)


def _check_returnable(shop: Shop, line: OrderLine, quantity: int) -> None:
    order, category = shop.orders[line.order_id], shop.category_of(line.product_id)
    if order.status != "delivered":
        text = f"the order of {order.placed_on} is {order.status}, not delivered"
        refuse("not_delivered", text, status=order.status)
    if not category.return_days:
        refuse("not_returnable", f"{category.name} goods cannot be returned")
    last = _last_day(order, category.return_days)
    if shop.today > last:
        text = f"the {line.title} could be returned until {last}; today is {shop.today}"
        refuse("return_window_over", text, last_day=last.isoformat())
    left = line.quantity - line.returned
    if quantity > left:
        text = f"{quantity} to return, but only {left} of {line.quantity} are left to send back"
        refuse("too_many_returned", text, left=left)


def _return_view(back: Return) -> ReturnView:
    return ReturnView(
        *(back.id, back.title, back.option, back.quantity, back.reason, back.status),
        money(back.refund),
    )


def _returns_sample(shop: Shop, rnd: Random) -> dict[str, Any]:
    back = list(shop.returns)
    if not back or rnd.random() > 0.4:
        return {}
    return {"status": rnd.choice(back).status}


@tool(
    "read",
    phrases=(
        "Show my[ {status}] returns",
        "List the things I sent back[ whose return is {status}]",
        "How much do I get back for my[ {status}] returns",
    ),
    sample=_returns_sample,
)
def list_returns(
    shop: Shop, status: ReturnStatus | None = None, limit: Limit = 5, cursor: str = ""
) -> ReturnPage:
    """List what the customer sent back, newest first, with the refunds.

    Args:
        status: Requested (on its way back) or refunded (done).
        limit: Returns per page.
        cursor: next_cursor of the page before.
    """
    found = [r for r in shop.returns if status in (None, r.status)]
    found.sort(key=lambda r: r.requested_on, reverse=True)
    rows, total, after = page(found, limit, cursor)
    return ReturnPage([_return_view(r) for r in rows], total, after)
