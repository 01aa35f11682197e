"""An online shop as one customer sees it: its rows, its state, and what must always hold.

Amounts are integer cents of US dollars inside rows; tools show decimal strings.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from datetime import date
from typing import Annotated, ClassVar, Literal, TypeVar

from provegym.world.fields import DATE, VOLATILE, Date, Ref
from provegym.world.server import State
from provegym.world.table import Row, Table, table
from provegym.world.tool import refuse

CategoryId = Annotated[str, Ref("shopping.categories")]
ProductId = Annotated[str, Ref("shopping.products")]
VariantId = Annotated[str, Ref("shopping.variants")]
CartLineId = Annotated[str, Ref("shopping.cart_lines")]
CouponCode = Annotated[str, Ref("shopping.coupons")]
OrderId = Annotated[str, Ref("shopping.orders")]
OrderLineId = Annotated[str, Ref("shopping.order_lines")]
ReturnId = Annotated[str, Ref("shopping.returns")]
AddressId = Annotated[str, Ref("shopping.addresses")]
Today = Annotated[str, DATE, VOLATILE]
"""A date that the shop's clock sets."""

CategoryName = Literal[
    "kitchen", "electronics", "clothing", "outdoors", "furniture", "toys", "beauty", "pantry"
]
CouponKind = Literal["percent", "amount", "free_shipping"]
Speed = Literal["standard", "express"]
OrderStatus = Literal["processing", "shipped", "delivered", "cancelled"]
ReturnStatus = Literal["requested", "refunded"]
Reason = Literal["damaged", "defective", "unwanted", "unsuitable", "incorrect"]
UNSELLABLE = ("damaged", "defective")
"""Goods sent back for these reasons are written off, all others are sold again."""
Bin = Literal["available", "reserved", "sold", "returning", "written_off"]


class Category(Row, frozen=True):
    """A department, with its tax rate in basis points and its return window (0: no returns)."""

    id: CategoryId
    name: CategoryName
    tax_rate: int
    return_days: int


class Product(Row, frozen=True):
    """Something for sale; `price` is its cheapest variant's, `most` the units a customer may buy.

    A bulky product cannot go by express. A discontinued one is no longer sold. `words` is what
    a search looks at, in lower case.
    """

    label: ClassVar[str] = "the {title}"

    id: ProductId
    category_id: CategoryId
    title: str
    description: str
    words: str
    price: int
    most: int
    bulky: bool
    discontinued: bool
    stars: int
    """Sum of the stars of its reviews."""
    reviews: int


class Variant(Row, frozen=True):
    """One version of a product: the unit that is priced, stocked and bought."""

    label: ClassVar[str] = "the {option} {title}"

    id: VariantId
    product_id: ProductId
    title: str
    option: str
    price: int


class Stock(Row, frozen=True):
    """Where the `received` units of a variant are; the five bins always add up to them."""

    variant_id: VariantId
    received: int
    available: int
    reserved: int
    """In the customer's cart."""
    sold: int
    returning: int
    """On their way back."""
    written_off: int


class Cart(Row, frozen=True):
    """The customer's only cart and the coupon on it ("" for none)."""

    coupon_code: CouponCode


class CartLine(Row, frozen=True):
    """Units of one variant in the cart."""

    label: ClassVar[str] = "the {option} {title}"

    id: CartLineId
    variant_id: VariantId
    title: str
    option: str
    quantity: int


class Coupon(Row, frozen=True):
    """A discount, used once; the code is its id. `value` is in percent or cents.

    It counts for goods of its category ("": all) once they cost `minimum`, through `expires_on`.
    """

    id: CouponCode
    kind: CouponKind
    value: int
    minimum: int
    category_id: CategoryId
    expires_on: Date
    used: bool


class Order(Row, frozen=True):
    """A purchase: total = subtotal - discount + tax + shipping."""

    label: ClassVar[str] = "my order of {placed_on}"

    id: OrderId
    placed_on: Today
    status: OrderStatus
    address_id: AddressId
    ship_to: str
    speed: Speed
    coupon_code: CouponCode
    subtotal: int
    discount: int
    tax: int
    shipping: int
    total: int
    arrives_on: Today
    """When it was delivered or is expected."""


class OrderLine(Row, frozen=True):
    """Units of one variant as bought, with the line's share of discount and tax."""

    label: ClassVar[str] = "the {option} {title}"

    id: OrderLineId
    order_id: OrderId
    product_id: ProductId
    variant_id: VariantId
    title: str
    option: str
    quantity: int
    returned: int
    unit_price: int
    discount: int
    tax: int


class Return(Row, frozen=True):
    """Units of an order line sent back, and the money given for them."""

    label: ClassVar[str] = "the return of the {option} {title}"

    id: ReturnId
    order_line_id: OrderLineId
    variant_id: VariantId
    title: str
    option: str
    quantity: int
    reason: Reason
    status: ReturnStatus
    refund: int
    requested_on: Today


class Address(Row, frozen=True):
    """Where the customer has things sent; at most one is the default."""

    label: ClassVar[str] = "the {name} address"

    id: AddressId
    name: str
    recipient: str
    street: str
    city: str
    postcode: str
    default: bool


class Review(Row, frozen=True):
    """Stars (1 to 5) and words of a buyer; `mine` marks the customer's own."""

    product_id: ProductId
    author: str
    stars: int
    text: str
    mine: bool
    written_on: Today


class Wish(Row, frozen=True):
    """A product on the customer's wishlist."""

    product_id: ProductId
    note: str
    added_on: Today


class Shop(State):
    """The shop's tables, for one customer."""

    server = "shopping"
    categories = table(Category, "cat")
    products = table(Product, "prod")
    variants = table(Variant, "var")
    stock = table(Stock, "stk")
    carts = table(Cart, "cart")
    cart_lines = table(CartLine, "line")
    coupons = table(Coupon, "coupon")
    orders = table(Order, "ord")
    order_lines = table(OrderLine, "item")
    returns = table(Return, "ret")
    addresses = table(Address, "addr")
    reviews = table(Review, "rev")
    wishlists = table(Wish, "wish")

    @property
    def today(self) -> date:
        """The session's date (UTC)."""
        return self.now.date()

    @property
    def cart(self) -> Cart:
        """The customer's cart."""
        return next(iter(self.carts))

    def stock_of(self, variant_id: str) -> Stock:
        """The stock row of a variant."""
        return self.stock.where(variant_id=variant_id)[0]

    def category_of(self, product_id: str) -> Category:
        """The category of a product."""
        return self.categories[self.products[product_id].category_id]

    def move(self, variant_id: str, quantity: int, source: Bin, target: Bin) -> None:
        """Take units from one bin of a variant's stock and put them into another."""
        row = self.stock_of(variant_id)
        less, more = getattr(row, source) - quantity, getattr(row, target) + quantity
        self.stock.update(row, **{source: less, target: more})


R = TypeVar("R", bound=Row)


def find(rows: Table[R], row_id: str, noun: str, where: str) -> R:
    """The row of that id; refused with `not_found` if there is none."""
    row = rows.get(row_id)
    if row is None:
        refuse("not_found", f"there is no {noun} {row_id!r}; see {where}", id=row_id)
    return row


def violations(shop: Shop) -> Iterator[str]:
    """What is wrong in a shop: one sentence for each broken invariant."""
    yield from _stock_violations(shop)
    yield from _order_violations(shop)
    yield from _catalog_violations(shop)
    if sum(a.default for a in shop.addresses) > 1:
        yield "more than one address is the default"
    used = {o.coupon_code for o in shop.orders if o.coupon_code and o.status != "cancelled"}
    for coupon in shop.coupons:
        if coupon.used != (coupon.id in used):
            yield f"coupon {coupon.id} is marked used={coupon.used} against the orders"


def _stock_violations(shop: Shop) -> Iterator[str]:
    held = _held(shop)
    for stock in shop.stock:
        bins = (stock.available, stock.reserved, stock.sold, stock.returning, stock.written_off)
        if min(bins) < 0:
            yield f"stock of {stock.variant_id} is negative: {bins}"
        if sum(bins) != stock.received:
            yield f"stock of {stock.variant_id}: {bins} do not add up to {stock.received}"
        counted = tuple(units[stock.variant_id] for units in held)
        if bins[1:] != counted:
            yield f"stock of {stock.variant_id} says {bins[1:]}, carts and orders {counted}"


def _held(shop: Shop) -> tuple[Counter[str], ...]:
    """Units in the cart, sold, coming back and written off, counted from their documents."""
    reserved, sold, returning, lost = (Counter[str]() for _ in range(4))
    for line in shop.cart_lines:
        reserved[line.variant_id] += line.quantity
    for item in shop.order_lines:
        if shop.orders[item.order_id].status != "cancelled":
            sold[item.variant_id] += item.quantity - item.returned
    for back in shop.returns:
        if back.status == "requested":
            returning[back.variant_id] += back.quantity
        elif back.reason in UNSELLABLE:
            lost[back.variant_id] += back.quantity
    return reserved, sold, returning, lost


def _order_violations(shop: Shop) -> Iterator[str]:
    for order in shop.orders:
        lines = shop.order_lines.where(order_id=order.id)
        sums = (
            sum(line.quantity * line.unit_price for line in lines),
            sum(line.discount for line in lines),
            sum(line.tax for line in lines),
        )
        if sums != (order.subtotal, order.discount, order.tax) or not lines:
            yield f"order {order.id}: its lines give {sums}"
        if order.total != order.subtotal - order.discount + order.tax + order.shipping:
            yield f"order {order.id}: total {order.total} is not the sum of its parts"
    for line in shop.order_lines:
        back = shop.returns.where(order_line_id=line.id)
        paid = line.quantity * line.unit_price - line.discount + line.tax
        if sum(r.quantity for r in back) != line.returned or line.returned > line.quantity:
            yield f"order line {line.id}: {line.returned} of {line.quantity} returned, see returns"
        if sum(r.refund for r in back) > paid:
            yield f"order line {line.id}: more refunded than the {paid} paid"


def _catalog_violations(shop: Shop) -> Iterator[str]:
    stars, count, cheapest = Counter[str](), Counter[str](), dict[str, int]()
    for review in shop.reviews:
        stars[review.product_id] += review.stars
        count[review.product_id] += 1
    for v in shop.variants:
        cheapest[v.product_id] = min(v.price, cheapest.get(v.product_id, v.price))
    for product in shop.products:
        if (product.stars, product.reviews) != (stars[product.id], count[product.id]):
            yield f"product {product.id}: its rating is not that of its reviews"
        if product.price != cheapest[product.id]:
            yield f"product {product.id}: price is not its cheapest variant's"
    if _repeats(wish.product_id for wish in shop.wishlists):
        yield "a product is on the wishlist twice"
    if _repeats(line.variant_id for line in shop.cart_lines):
        yield "two cart lines hold the same variant"


def _repeats(values: Iterable[str]) -> bool:
    return any(count > 1 for count in Counter(values).values())
