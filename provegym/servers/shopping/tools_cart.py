"""Filling the cart: lines, coupons and what it comes to."""

from __future__ import annotations

from random import Random
from typing import Annotated, Any, Literal

from msgspec import Struct

from provegym.servers.shopping.pricing import bill, cart_items, coupon_problem
from provegym.servers.shopping.state import (
    CartLine,
    CartLineId,
    Coupon,
    CouponCode,
    Product,
    Shop,
    Variant,
    VariantId,
    find,
)
from provegym.world.fields import Date, Limit, Money, Range, money
from provegym.world.page import page
from provegym.world.tool import refuse, tool

Quantity = Annotated[int, Range(1, 20)]
CouponStatus = Literal["active", "expired", "used"]


class CartLineView(Struct, frozen=True):
    """A line of the cart."""

    line_id: CartLineId
    variant_id: VariantId
    title: str
    option: str
    quantity: int
    line_total: Money


class CartView(Struct, frozen=True):
    """The cart at today's prices, with standard delivery.

    `coupon_problem` says why the coupon on it gives nothing, "" if it counts.
    """

    lines: list[CartLineView]
    subtotal: Money
    coupon: CouponCode
    coupon_problem: str
    discount: Money
    tax: Money
    shipping: Money
    total: Money


class CartReceipt(Struct, frozen=True):
    """The line as it is now and the cart's goods in all; quantity 0 is a line removed."""

    line_id: CartLineId
    variant_id: VariantId
    title: str
    option: str
    quantity: int
    line_total: Money
    cart_subtotal: Money


class CouponView(Struct, frozen=True):
    """A coupon; `goods` names the category it is for, or all."""

    code: CouponCode
    offer: str
    goods: str
    minimum: Money
    expires_on: Date
    status: CouponStatus


class CouponPage(Struct, frozen=True):
    """Coupons, the one that expires first at the top."""

    coupons: list[CouponView]
    total: int
    next_cursor: str


class CouponReceipt(Struct, frozen=True):
    """The coupon on the cart ("" for none) and what the cart comes to."""

    coupon: CouponCode
    subtotal: Money
    discount: Money
    shipping: Money
    total: Money


@tool(
    "read",
    phrases=(
        "Show what is in my cart",
        "What does my cart come to with tax and shipping",
        "Check my shopping cart",
    ),
)
def get_cart(shop: Shop) -> CartView:
    """Show the cart's lines and its total with discount, tax and standard shipping."""
    items, coupon = cart_items(shop), shop.coupons.get(shop.cart.coupon_code)
    problem = coupon and coupon_problem(coupon, items, shop.today, _scope(shop, coupon))
    cost = bill(items, None if problem else coupon)
    return CartView(
        lines=[_line_view(shop, line) for line in shop.cart_lines],
        subtotal=money(cost.subtotal),
        coupon=shop.cart.coupon_code,
        coupon_problem=problem.message if problem else "",
        discount=money(cost.discount),
        tax=money(cost.tax),
        shipping=money(cost.shipping),
        total=money(cost.total),
    )


def _line_view(shop: Shop, line: CartLine) -> CartLineView:
    total = line.quantity * shop.variants[line.variant_id].price
    return CartLineView(
        line.id, line.variant_id, line.title, line.option, line.quantity, money(total)
    )


def _receipt(shop: Shop, line: CartLine, quantity: int) -> CartReceipt:
    price = shop.variants[line.variant_id].price
    subtotal = sum(item.gross for item in cart_items(shop))
    return CartReceipt(
        *(line.id, line.variant_id, line.title, line.option, quantity),
        money(quantity * price),
        money(subtotal),
    )


def _in_cart(shop: Shop, product: Product) -> int:
    """Units of a product in the cart, over its variants."""
    variants = shop.variants.where(product_id=product.id)
    return sum(li.quantity for v in variants for li in shop.cart_lines.where(variant_id=v.id))


def _check_room(shop: Shop, variant: Variant, more: int) -> None:
    """Refuse to reserve `more` units where stock or the customer's limit does not allow it."""
    product, left = shop.products[variant.product_id], shop.stock_of(variant.id).available
    name = f"{variant.option} {variant.title}"
    if more > left:
        text = f"{more} more of the {name} wanted, {left} available"
        refuse("out_of_stock", text, wanted=more, available=left)
    held = _in_cart(shop, product)
    if held + more > product.most:
        text = f"at most {product.most} of the {product.title} a customer; the cart holds {held}"
        refuse("quantity_limit", text, limit=product.most, in_cart=held)


def _room(shop: Shop, variant: Variant) -> int:
    """How many more units could be put into the cart."""
    product = shop.products[variant.product_id]
    if product.discontinued:
        return 0
    return min(shop.stock_of(variant.id).available, product.most - _in_cart(shop, product))


def _add_sample(shop: Shop, rnd: Random) -> dict[str, Any]:
    variants = list(shop.variants)
    for _ in range(20):
        variant = rnd.choice(variants)
        room = _room(shop, variant)
        if room > 0:
            more = {"quantity": rnd.randint(1, min(room, 4))} if rnd.random() < 0.4 else {}
            return {"variant_id": variant.id, **more}
    return {}


@tool(
    "write",
    phrases=(
        "Add[ {quantity} of] {variant_id} to my cart",
        "Put[ {quantity} of] {variant_id} in my shopping cart",
        "I want to buy[ {quantity} of] {variant_id}, put it in the cart",
    ),
    refuses=("not_found", "discontinued", "out_of_stock", "quantity_limit"),
    sample=_add_sample,
)
def add_to_cart(shop: Shop, variant_id: VariantId, quantity: Quantity = 1) -> CartReceipt:
    """Put units of a product variant into the cart and reserve them.

    A variant that is in the cart already gets more units.

    Args:
        variant_id: The variant to buy.
        quantity: Units to add.
    """
    v = find(shop.variants, variant_id, "product variant", "get_product")
    if shop.products[v.product_id].discontinued:
        refuse("discontinued", f"{v.title} is no longer sold")
    _check_room(shop, v, quantity)
    lines = shop.cart_lines.where(variant_id=v.id)
    if lines:
        line = shop.cart_lines.update(lines[0], quantity=lines[0].quantity + quantity)
    else:
        new = shop.cart_lines.new_id()
        line = shop.cart_lines.put(CartLine(new, v.id, v.title, v.option, quantity))
    shop.move(v.id, quantity, "available", "reserved")
    return _receipt(shop, line, line.quantity)


def _update_sample(shop: Shop, rnd: Random) -> dict[str, Any]:
    options = []
    for line in shop.cart_lines:
        top = min(line.quantity + max(0, _room(shop, shop.variants[line.variant_id])), 6)
        options += [(line.id, n) for n in range(1, top + 1) if n != line.quantity]
    if not options:
        return {"quantity": rnd.randint(1, 4)}
    line_id, quantity = rnd.choice(options)
    return {"line_id": line_id, "quantity": quantity}


@tool(
    "write",
    phrases=(
        "Change the quantity of {line_id} in my cart to {quantity}",
        "Make it {quantity} of {line_id} in the cart",
        "Set {line_id} in my cart to {quantity} units",
    ),
    refuses=("not_found", "no_change", "out_of_stock", "quantity_limit"),
    sample=_update_sample,
)
def update_cart_line(shop: Shop, line_id: CartLineId, quantity: Quantity) -> CartReceipt:
    """Change how many units a line of the cart holds.

    Args:
        line_id: The line of the cart.
        quantity: Units it shall hold.
    """
    line = find(shop.cart_lines, line_id, "cart line", "get_cart")
    more = quantity - line.quantity
    if not more:
        refuse("no_change", f"the line holds {quantity} already", quantity=quantity)
    if more > 0:
        _check_room(shop, shop.variants[line.variant_id], more)
    shop.move(line.variant_id, more, "available", "reserved")
    return _receipt(shop, shop.cart_lines.update(line, quantity=quantity), quantity)


@tool(
    "write",
    phrases=(
        "Remove {line_id} from my cart",
        "Take {line_id} out of the cart",
        "Drop {line_id} from my shopping cart",
    ),
    refuses=("not_found",),
)
def remove_from_cart(shop: Shop, line_id: CartLineId) -> CartReceipt:
    """Remove a line from the cart and release its units.

    Args:
        line_id: The line of the cart.
    """
    line = find(shop.cart_lines, line_id, "cart line", "get_cart")
    shop.cart_lines.delete(line.id)
    shop.move(line.variant_id, line.quantity, "reserved", "available")
    return _receipt(shop, line, 0)


# -- coupons -----------------------------------------------------------------------------------


def _scope(shop: Shop, coupon: Coupon) -> str:
    return shop.categories[coupon.category_id].name if coupon.category_id else ""


def _status(shop: Shop, coupon: Coupon) -> CouponStatus:
    if coupon.used:
        return "used"
    return "expired" if coupon.expires_on < shop.today.isoformat() else "active"


def _coupon_view(shop: Shop, coupon: Coupon) -> CouponView:
    offer = {
        "percent": f"{coupon.value}% off",
        "amount": f"${money(coupon.value)} off",
        "free_shipping": "free standard shipping",
    }[coupon.kind]
    goods, minimum = _scope(shop, coupon) or "all", money(coupon.minimum)
    status = _status(shop, coupon)
    return CouponView(coupon.id, offer, goods, minimum, coupon.expires_on, status)


def _coupons_sample(shop: Shop, rnd: Random) -> dict[str, Any]:
    present = sorted({_status(shop, coupon) for coupon in shop.coupons})
    return {"status": rnd.choice(present)} if rnd.random() < 0.5 else {}


@tool(
    "read",
    phrases=(
        "List my[ {status}] coupons",
        "Show me which[ {status}] discount codes I have",
        "What[ {status}] coupons do I have for the shop",
    ),
    sample=_coupons_sample,
)
def list_coupons(
    shop: Shop, status: CouponStatus | None = None, limit: Limit = 5, cursor: str = ""
) -> CouponPage:
    """List the customer's coupons with offer, minimum spend and last day.

    Args:
        status: Only coupons in this state.
        limit: Coupons per page.
        cursor: next_cursor of the page before.
    """
    found = [c for c in shop.coupons if status in (None, _status(shop, c))]
    found.sort(key=lambda c: (c.expires_on, c.id))
    rows, total, after = page(found, limit, cursor)
    return CouponPage([_coupon_view(shop, c) for c in rows], total, after)


def _coupon_receipt(shop: Shop, coupon: Coupon | None) -> CouponReceipt:
    cost = bill(cart_items(shop), coupon)
    amounts = (cost.subtotal, cost.discount, cost.shipping, cost.total)
    return CouponReceipt(coupon.id if coupon else "", *(money(a) for a in amounts))


def check_coupon(shop: Shop, coupon: Coupon) -> None:
    """Refuse a coupon that gives nothing on the cart, with the code that says why."""
    problem = coupon_problem(coupon, cart_items(shop), shop.today, _scope(shop, coupon))
    if problem:
        refuse(problem.code, problem.message, **problem.details)


def _apply_sample(shop: Shop, rnd: Random) -> dict[str, Any]:
    items, now = cart_items(shop), shop.cart.coupon_code
    fits = [
        c.id for c in shop.coupons if c.id != now and not coupon_problem(c, items, shop.today, "")
    ]
    return {"code": rnd.choice(fits)} if fits else {}


@tool(
    "write",
    phrases=(
        "Apply the coupon {code} to my cart",
        "Use the discount code {code} on my cart",
        "Redeem coupon {code} on what is in my cart",
    ),
    refuses=(
        *("cart_empty", "unknown_coupon", "coupon_already_applied", "coupon_used"),
        *("coupon_expired", "coupon_not_applicable", "minimum_not_met"),
    ),
    sample=_apply_sample,
)
def apply_coupon(shop: Shop, code: CouponCode) -> CouponReceipt:
    """Put a coupon on the cart. A cart takes one coupon; a new one replaces it.

    Args:
        code: The coupon's code.
    """
    coupon = shop.coupons.get(code.upper())
    if coupon is None:
        refuse("unknown_coupon", f"there is no coupon {code!r}; see list_coupons", given=code)
    if not len(shop.cart_lines):
        refuse("cart_empty", "the cart is empty; add something before using a coupon")
    cart = shop.cart
    if cart.coupon_code == coupon.id:
        refuse("coupon_already_applied", f"coupon {coupon.id} is on the cart already")
    check_coupon(shop, coupon)
    shop.carts.update(cart, coupon_code=coupon.id)
    return _coupon_receipt(shop, coupon)


@tool(
    "write",
    phrases=(
        "Remove the coupon from my cart",
        "Take the discount code off my cart",
        "Undo the coupon that is on my cart",
    ),
    refuses=("no_coupon",),
)
def remove_coupon(shop: Shop) -> CouponReceipt:
    """Take the coupon off the cart, so that it stays unused."""
    cart = shop.cart
    if not cart.coupon_code:
        refuse("no_coupon", "there is no coupon on the cart")
    shop.carts.update(cart, coupon_code="")
    return _coupon_receipt(shop, None)
