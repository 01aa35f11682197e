"""A shop in mid-season: goods in and out of stock, a half-filled cart, a year of orders."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from datetime import date, timedelta
from random import Random

from msgspec.structs import replace

from provegym.servers.shopping.pricing import DAYS, Bill, Item, bill, coupon_problem, refund_of
from provegym.servers.shopping.state import (
    UNSELLABLE,
    Address,
    Cart,
    CartLine,
    Category,
    Coupon,
    CouponKind,
    Order,
    OrderLine,
    OrderStatus,
    Product,
    Reason,
    Return,
    ReturnStatus,
    Review,
    Speed,
    Stock,
    Variant,
    Wish,
)
from provegym.servers.shopping.words import (
    ADDRESS_NAMES,
    COUPON_WORDS,
    FREE_SHIPPING_CODES,
    LINES,
    NOTES,
    OPTIONS,
    REVIEWS,
    SHELVES,
    Kind,
    Shelf,
)
from provegym.world.cast import Cast
from provegym.world.server import Seeds

LETTERS = "0123456789abcdefghjkmnpqrstvwxyz"
PAIRS = [a + b for a in LETTERS for b in LETTERS]
HISTORY: tuple[tuple[OrderStatus, int, int], ...] = (
    *(("processing", 1, 1), ("processing", 2, 2), ("shipped", 3, 3), ("shipped", 4, 6)),
    *(("delivered", 7, 9), ("delivered", 10, 12), ("delivered", 13, 16), ("delivered", 17, 24)),
    *(("cancelled", 30, 38), ("delivered", 40, 55), ("delivered", 60, 85), ("delivered", 90, 120)),
    *(("cancelled", 130, 150), ("delivered", 160, 200), ("delivered", 220, 330)),
)
"""The customer's orders, newest first: status and the days since (at least, at most)."""
WITH_COUPON = (5, 9, 13)
"""Orders that used a coupon, if one fits."""
CART_COUPON = (
    *(("coupon_expired", 0.08), ("coupon_not_applicable", 0.12), ("minimum_not_met", 0.07)),
    ("", 0.55),
)
"""What is wrong with the coupon on the cart, and how often; the rest have no coupon."""
REASONS: tuple[Reason, ...] = ("damaged", "defective", "unwanted", "unsuitable", "incorrect")


def seed(cast: Cast, rnd: Random) -> Seeds:
    """All rows of one world's shop; `cast.user` is the customer."""
    return _Maker(cast, rnd).rows()


class _Maker:
    """Collects the rows while they are made; later tables look at earlier ones."""

    def __init__(self, cast: Cast, rnd: Random) -> None:
        self.cast, self.rnd, self.today = cast, rnd, cast.start.date()
        self.taken: set[str] = set()
        self.categories: dict[str, Category] = {}
        self.products: dict[str, Product] = {}
        self.variants: dict[str, Variant] = {}
        self.versions: dict[str, list[Variant]] = {}
        self.coupons: dict[str, Coupon] = {}
        self.orders: list[Order] = []
        self.order_lines: list[OrderLine] = []
        self.returns: list[Return] = []
        self.cart_lines: list[CartLine] = []

    def rows(self) -> Seeds:
        """Make every table, in an order in which each finds what it refers to."""
        for name, shelf in SHELVES.items():
            self.shelf(Category(self.id("cat"), name, shelf.tax_rate, shelf.return_days), shelf)
        self.make_coupons()
        addresses = list(self.addresses())
        for i, (status, low, high) in enumerate(HISTORY):
            address = self.rnd.choice(addresses) if addresses else None
            self.order(status, self.rnd.randint(low, high), address, i in WITH_COUPON)
        self.fill_cart()
        cart = Cart(self.id("cart"), self.cart_coupon())
        reviews = list(self.reviews())
        return {
            "categories": self.categories.values(),
            "products": list(self.rated(self.products.values(), reviews)),
            "variants": self.variants.values(),
            "stock": list(self.stock()),
            "carts": [cart],
            "cart_lines": self.cart_lines,
            "coupons": self.coupons.values(),
            "orders": self.orders,
            "order_lines": self.order_lines,
            "returns": self.returns,
            "addresses": addresses,
            "reviews": reviews,
            "wishlists": list(self.wishes()),
        }

    def id(self, prefix: str) -> str:
        """A fresh id."""
        while True:
            bits = self.rnd.getrandbits(30)
            new = f"{prefix}_{PAIRS[bits >> 20]}{PAIRS[(bits >> 10) & 1023]}{PAIRS[bits & 1023]}"
            if new not in self.taken:
                self.taken.add(new)
                return new

    def ago(self, days: int) -> str:
        """The date that many days before today."""
        return (self.today - timedelta(days=days)).isoformat()

    # -- goods -------------------------------------------------------------------------------

    def shelf(self, category: Category, shelf: Shelf) -> None:
        """One category with one or two products of each kind."""
        self.categories[category.id] = category
        for kind in shelf.kinds:
            for line in self.rnd.sample(LINES, self.rnd.choice((1, 2, 2))):
                self.product(category, kind, f"{line} {kind.noun}", self.rnd.choice(shelf.features))

    def product(self, category: Category, kind: Kind, title: str, feature: str) -> None:
        """One product and its two or three variants."""
        rnd, new = self.rnd, self.id("prod")
        base = rnd.randint(kind.low, kind.high) * 100 - rnd.choice((1, 5, 10, 50))
        options = OPTIONS[kind.options]
        grows = kind.options in ("storage", "pack", "bottle", "weight", "edition", "capacity")
        picked = sorted(rnd.sample(range(len(options)), rnd.choice((2, 3, 3))))
        self.versions[new] = [
            Variant(self.id("var"), new, title, options[j], base + grows * n * (base // 300) * 100)
            for n, j in enumerate(picked)
        ]
        self.variants.update({v.id: v for v in self.versions[new]})
        most = rnd.choice((2, 3)) if rnd.random() < 0.15 else 10
        text = f"{kind.noun} with {feature}."
        gone = rnd.random() < 0.06
        words = f"{title} {text} {category.name}".lower()
        self.products[new] = Product(
            new, category.id, title, text, words, base, most, kind.bulky, gone, 0, 0
        )

    def stock(self) -> Iterator[Stock]:
        """Stock of every variant: what carts, orders and returns hold, and what is left."""
        reserved, sold, returning, lost = (Counter[str]() for _ in range(4))
        for line in self.cart_lines:
            reserved[line.variant_id] += line.quantity
        cancelled = {o.id for o in self.orders if o.status == "cancelled"}
        for item in self.order_lines:
            kept = item.quantity - item.returned
            sold[item.variant_id] += 0 if item.order_id in cancelled else kept
        for back in self.returns:
            returning[back.variant_id] += back.quantity * (back.status == "requested")
            gone = back.status == "refunded" and back.reason in UNSELLABLE
            lost[back.variant_id] += back.quantity * gone
        for v in self.variants:
            left = self.left()
            held = (reserved[v], sold[v], returning[v], lost[v])
            yield Stock(self.id("stk"), v, left + sum(held), left, *held)

    def left(self) -> int:
        """Units still on the shelf: some variants are out of stock, some nearly."""
        luck = self.rnd.random()
        if luck < 0.12:
            return 0
        return self.rnd.randint(1, 3) if luck < 0.3 else self.rnd.randint(5, 60)

    # -- coupons -----------------------------------------------------------------------------

    def make_coupons(self) -> None:
        """Eleven coupons: one always works, one has expired, others have their terms."""
        words = iter(self.rnd.sample(COUPON_WORDS, len(COUPON_WORDS)))
        self.coupon(f"{next(words)}10", "percent", 10, 0, "", 60)
        self.coupon(f"{next(words)}5OFF", "amount", 500, 1500, "", 45)
        self.coupon(self.rnd.choice(FREE_SHIPPING_CODES), "free_shipping", 0, 2500, "", 30)
        for category in self.rnd.sample(list(self.categories.values()), 2):
            value = self.rnd.choice((15, 20, 25))
            code = f"{category.name.upper()}{value}"
            self.coupon(code, "percent", value, 2000, category.id, 40)
        for i, word in enumerate(words):
            value, minimum = self.rnd.choice(((5, 0), (15, 7500), (20, 15000), (30, 40000)))
            days = self.rnd.choice((-30, -9, -2, 8, 25, 80)) if i else -9
            self.coupon(f"{word}{value}", "percent", value, minimum, "", days)

    def coupon(
        self, code: str, kind: CouponKind, value: int, minimum: int, category: str, days: int
    ) -> None:
        """One coupon that runs out about `days` from today."""
        expires = self.ago(self.rnd.choice((0, 1)) - days)
        self.coupons[code] = Coupon(code, kind, value, minimum, category, expires, False)

    def usable(self, items: Sequence[Item]) -> list[Coupon]:
        """Coupons that count for these items today; the first is the one that always does."""
        found = self.coupons.values()
        return [c for c in found if coupon_problem(c, items, self.today, "") is None]

    # -- orders and returns ------------------------------------------------------------------

    def items(self, most: int) -> list[Item]:
        """Up to `most` variants of different products in small quantities, by id."""
        products = self.rnd.sample(list(self.versions), self.rnd.randint(1, most))
        picked = [self.rnd.choice(self.versions[p]) for p in products]
        return [
            Item(v.id, v.price, self.rnd.choice((1, 1, 1, 2)), self.category(v))
            for v in sorted(picked, key=lambda v: v.id)
        ]

    def category(self, variant: Variant) -> Category:
        """The category that a variant's product is in."""
        return self.categories[self.products[variant.product_id].category_id]

    def order(self, status: OrderStatus, age: int, address: Address | None, save: bool) -> None:
        """An order `age` days old with its lines; `save` uses a coupon if one fits."""
        items, coupon = self.items(3), None
        if save and (fitting := self.usable(items)[1:]):
            coupon = self.rnd.choice(fitting)
            self.coupons[coupon.id] = replace(coupon, used=True)
        bulky = any(self.products[self.variants[i.variant_id].product_id].bulky for i in items)
        speed: Speed = "express" if not bulky and self.rnd.random() < 0.3 else "standard"
        cost = bill(items, coupon, speed)
        to, home = address, self.cast.user
        order = Order(
            id=self.id("ord"),
            placed_on=self.ago(age),
            status=status,
            address_id=to.id if to else "",
            ship_to=f"{to.street}, {to.city}" if to else f"{home.street}, {home.city}",
            speed=speed,
            coupon_code=coupon.id if coupon else "",
            subtotal=cost.subtotal,
            discount=cost.discount,
            tax=cost.tax,
            shipping=cost.shipping,
            total=cost.total,
            arrives_on=self.arrival(status, age - DAYS[speed]),
        )
        self.orders.append(order)
        self.lines(order, items, cost)

    def arrival(self, status: OrderStatus, days_ago: int) -> str:
        """When an order came or will come; "" if it never does."""
        if status == "cancelled":
            return ""
        return self.ago(max(days_ago, 1) if status == "delivered" else min(days_ago, -1))

    def lines(self, order: Order, items: Sequence[Item], cost: Bill) -> None:
        """The lines of an order; some delivered ones have been sent back."""
        for item, less, tax in zip(items, cost.discounts, cost.taxes, strict=True):
            v, new = self.variants[item.variant_id], self.id("item")
            line = OrderLine(
                *(new, order.id, v.product_id, v.id, v.title, v.option),
                *(item.quantity, 0, v.price, less, tax),
            )
            if order.status == "delivered" and item.category.return_days:
                line = self.send_back(line, order.arrives_on) if self.rnd.random() < 0.2 else line
            self.order_lines.append(line)

    def send_back(self, line: OrderLine, arrived: str) -> OrderLine:
        """Return all units of a line some days after they arrived; recent ones are on their way."""
        day = date.fromisoformat(arrived)
        asked = min(day + timedelta(days=self.rnd.randint(1, 9)), self.today)
        status: ReturnStatus = "refunded" if (self.today - asked).days > 12 else "requested"
        count, reason = line.quantity, self.rnd.choice(REASONS)
        refund = refund_of(line, count)
        self.returns.append(
            Return(
                *(self.id("ret"), line.id, line.variant_id, line.title, line.option),
                *(count, reason, status, refund, asked.isoformat()),
            )
        )
        return replace(line, returned=count)

    # -- the customer ------------------------------------------------------------------------

    def fill_cart(self) -> None:
        """One to three lines of goods still sold; one cart in eight is empty."""
        if self.rnd.random() < 0.12:
            return
        for item in self.items(3):
            v = self.variants[item.variant_id]
            if not self.products[v.product_id].discontinued:
                new = self.id("line")
                self.cart_lines.append(CartLine(new, v.id, v.title, v.option, item.quantity))

    def cart_coupon(self) -> str:
        """The coupon on the cart: most count, a few no longer do, some carts have none."""
        held = [self.variants[line.variant_id] for line in self.cart_lines]
        items = [
            Item(v.id, v.price, line.quantity, self.category(v))
            for v, line in zip(held, self.cart_lines, strict=True)
        ]
        luck, by_problem = self.rnd.random(), dict[str, list[str]]()
        for coupon in self.coupons.values() if items else ():
            problem = coupon_problem(coupon, items, self.today, "")
            by_problem.setdefault(problem.code if problem else "", []).append(coupon.id)
        for code, share in CART_COUPON:
            luck -= share
            if luck < 0:
                return self.rnd.choice(by_problem.get(code, [""]))
        return ""

    def addresses(self) -> Iterator[Address]:
        """Two to four; some customers have no default among them, a few have none at all."""
        luck, user = self.rnd.random(), self.cast.user
        if luck < 0.1:
            return
        names = self.rnd.sample(ADDRESS_NAMES, self.rnd.randint(2, 4))
        people = (user, *self.rnd.sample(self.cast.others, len(names) - 1))
        for i, (name, at) in enumerate(zip(names, people, strict=True)):
            who = at if self.rnd.random() < 0.4 else user
            default = i == 0 and luck > 0.3
            new = self.id("addr")
            yield Address(new, name, who.name, at.street, at.city, at.postcode, default)

    def reviews(self) -> Iterator[Review]:
        """None to five of each product by others, and the customer's of some that were bought."""
        for product in self.products:
            for person in self.rnd.sample(self.cast.others, self.rnd.randint(0, 5)):
                yield self.review(product, person.name, self.rnd.randint(5, 300), mine=False)
        came = {o.id for o in self.orders if o.status == "delivered"}
        bought = dict.fromkeys(li.product_id for li in self.order_lines if li.order_id in came)
        for product in bought:
            if self.rnd.random() < 0.3:
                yield self.review(product, self.cast.user.name, self.rnd.randint(0, 4), mine=True)

    def review(self, product: str, author: str, age: int, *, mine: bool) -> Review:
        """One review; most people are pleased."""
        stars = self.rnd.choice((1, 2, 3, 3, 4, 4, 4, 5, 5, 5))
        text = self.rnd.choice(REVIEWS[stars])
        return Review(self.id("rev"), product, author, stars, text, mine, self.ago(age))

    def rated(self, products: Iterable[Product], reviews: Sequence[Review]) -> Iterator[Product]:
        """The products with their ratings counted."""
        stars, count = Counter[str](), Counter[str]()
        for review in reviews:
            stars[review.product_id] += review.stars
            count[review.product_id] += 1
        for product in products:
            yield replace(product, stars=stars[product.id], reviews=count[product.id])

    def wishes(self) -> Iterator[Wish]:
        """Four to eight products, some of them no longer sold."""
        for product in self.rnd.sample(list(self.products), self.rnd.randint(4, 8)):
            note = self.rnd.choice(NOTES) if self.rnd.random() < 0.4 else ""
            yield Wish(self.id("wish"), product, note, self.ago(self.rnd.randint(1, 200)))
