"""A chain some weeks after its stocktake: sales, deliveries, goods on their way and put aside."""

from __future__ import annotations

from collections import Counter
from datetime import timedelta
from random import Random
from typing import Literal

from msgspec.structs import replace

from provegym.servers.retail_chain.state import (
    Department,
    Goods,
    Movement,
    MovementKind,
    PriceRule,
    Product,
    Reservation,
    StockLevel,
    Store,
    Transfer,
    TransferStatus,
)
from provegym.servers.retail_chain.stock import MOST_RESERVATIONS
from provegym.servers.retail_chain.words import GOODS, SHOPS, WAREHOUSES
from provegym.world.cast import Cast
from provegym.world.server import Seeds

LETTERS = "0123456789abcdefghjkmnpqrstvwxyz"
PAIRS = [a + b for a in LETTERS for b in LETTERS]
SHOP_COUNT = 11
REFURBISHING = 2
"""Shops that are closed; the last ones."""
CARRIED = 0.72
"""Share of the products that a shop carries."""
HOURS = (*(("08:00", "19:00"),) * 4, *(("09:00", "20:00"),) * 4, ("10:00", "18:00"))
SALES, DELIVERIES, DEPLETED, LOW = 80, 36, 18, 26
TRANSFERS: tuple[TransferStatus, ...] = (
    *("requested",) * 10,
    *("in_transit",) * 12,
    *("received",) * 12,
    *("cancelled",) * 4,
)
Fate = Literal["active", "lapsed", "collected", "cancelled"]
"""What became of a reservation; a lapsed one expired before the world's start."""
FATES: tuple[Fate, ...] = (
    *("active",) * 24,
    *("lapsed",) * 8,
    *("collected",) * 10,
    *("cancelled",) * 5,
)
PERCENTS = (5, 10, 10, 15, 20, 25, 30)
DEPARTMENTS: tuple[Department, ...] = tuple(GOODS)


def seed(cast: Cast, rnd: Random) -> Seeds:
    """All rows of one world's chain; `cast.user` looks after its stores, others manage them."""
    return _Maker(cast, rnd).rows()


class _Maker:
    """Collects the rows while they are made. Units are counted up as the history is written."""

    def __init__(self, cast: Cast, rnd: Random) -> None:
        self.cast, self.rnd, self.now = cast, rnd, cast.start
        self.taken: set[str] = set()
        self.managers = rnd.sample(cast.others, SHOP_COUNT + 1)
        self.stores: dict[str, Store] = {}
        self.products: dict[str, Product] = {}
        self.levels: list[StockLevel] = []
        self.units: dict[str, int] = {}
        self.held, self.coming = Counter[str](), Counter[str]()
        self.movements: list[Movement] = []
        self.transfers: list[Transfer] = []
        self.reservations: list[Reservation] = []
        self.rules: dict[tuple[str, str, str], PriceRule] = {}

    def rows(self) -> Seeds:
        """Make every table, in an order in which each finds what it refers to."""
        self.make_stores()
        self.make_products()
        self.make_levels()
        for _ in range(DELIVERIES):
            self.move("delivery", self.rnd.choice(self.levels), self.rnd.randint(2, 8) * 3)
        for _ in range(SALES):
            level = self.rnd.choice(self.at_shops)
            self.move("sale", level, min(self.rnd.randint(1, 3), self.free(level)))
        self.make_transfers()
        self.make_reservations()
        self.sell_down()
        self.make_rules()
        return {
            "stores": self.stores.values(),
            "products": self.products.values(),
            "stock_levels": [self.finished(level) for level in self.levels],
            "movements": self.movements,
            "transfers": self.transfers,
            "reservations": self.reservations,
            "price_rules": self.rules.values(),
        }

    def id(self, prefix: str) -> str:
        """A fresh id."""
        while True:
            bits = self.rnd.getrandbits(30)
            new = f"{prefix}_{PAIRS[bits >> 20]}{PAIRS[(bits >> 10) & 1023]}{PAIRS[bits & 1023]}"
            if new not in self.taken:
                self.taken.add(new)
                return new

    def at(self, minutes: int) -> str:
        """The time that many minutes from the start."""
        return (self.now + timedelta(minutes=minutes)).isoformat()

    def day(self, days: int) -> str:
        """The date that many days from the start."""
        return (self.now + timedelta(days=days)).date().isoformat()

    def free(self, level: StockLevel) -> int:
        """Units that nobody was promised."""
        return self.units[level.id] - self.held[level.id]

    # -- what there is -----------------------------------------------------------------------

    def make_stores(self) -> None:
        """A warehouse and the shops, spread over the cities of the cast."""
        cities = list(dict.fromkeys(p.city for p in self.cast.people))
        names = [self.rnd.choice(WAREHOUSES), *self.rnd.sample(SHOPS, SHOP_COUNT)]
        for i, (name, who) in enumerate(zip(names, self.managers, strict=True)):
            hours = self.rnd.choice(HOURS) if i else ("00:00", "24:00")
            new = Store(
                *(self.id("sto"), name, cities[i // 2 % len(cities)]),
                "shop" if i else "warehouse",
                i > SHOP_COUNT - REFURBISHING,
                *hours,
                who.name,
            )
            self.stores[new.id] = new

    def make_products(self) -> None:
        """Every product of the assortment; it costs the chain up to six tenths of its price."""
        for department, goods in GOODS.items():
            for name, low, high in goods:
                price = self.rnd.randint(low, high) * 100 - self.rnd.choice((0, 1, 5, 50))
                cost = price * self.rnd.randint(45, 60) // 100
                new = Product(self.id("prd"), name, department, price, cost)
                self.products[new.id] = new

    def make_levels(self) -> None:
        """What each store carries: the warehouse everything, a shop most of it."""
        rnd = self.rnd
        for store in self.stores.values():
            for product in self.products.values():
                if store.kind == "shop" and rnd.random() > CARRIED:
                    continue
                counted = rnd.randint(6, 30) if store.kind == "shop" else rnd.randint(60, 200)
                low = rnd.choice((3, 4, 5)) if store.kind == "shop" else 40
                new = StockLevel(self.id("stk"), store.id, product.id, counted, 0, low, 0)
                self.levels.append(new)
                self.units[new.id] = counted
        warehouse = next(iter(self.stores))
        self.at_shops = [x for x in self.levels if x.store_id != warehouse]

    def finished(self, level: StockLevel) -> StockLevel:
        """A stock level at the world's start: some shelves are full."""
        now = self.units[level.id]
        slack = self.rnd.choice((0, 4, 10, 20, 30, 40)) * (1 if level.reorder_at < 40 else 8)
        return replace(level, on_hand=now, capacity=max(now + self.coming[level.id] + slack, 12))

    def move(
        self,
        kind: MovementKind,
        level: StockLevel,
        quantity: int,
        price: int = 0,
        reservation: str = "",
    ) -> None:
        """A sale or delivery of the last weeks."""
        if not quantity:
            return
        product = self.products[level.product_id]
        price = price or (product.price if kind == "sale" else product.cost)
        self.units[level.id] += quantity if kind == "delivery" else -quantity
        when = self.at(-self.rnd.randint(30, 40_000))
        new = self.id("mov")
        self.movements.append(Movement(new, kind, level.id, quantity, price, reservation, when))

    def sell_down(self) -> None:
        """Leave some shelves empty or nearly so."""
        for i, level in enumerate(self.rnd.sample(self.at_shops, DEPLETED + LOW)):
            left = 0 if i < DEPLETED else self.rnd.randint(1, level.reorder_at)
            self.move("sale", level, max(self.free(level) - left, 0))

    # -- on the way, and put aside -----------------------------------------------------------

    def make_transfers(self) -> None:
        """Transfers in every state, most of them from the warehouse; no two are called alike."""
        warehouse, seen = next(iter(self.stores)), set[tuple[str, str, int]]()
        targets = [x for x in self.at_shops if self.rnd.random() < 0.6]
        for i, status in enumerate(TRANSFERS):
            target = self.rnd.choice(targets)
            same = [x for x in self.levels if x.product_id == target.product_id and x != target]
            sources = [x for x in same if (x.store_id == warehouse) == (i % 3 > 0)]
            source = self.rnd.choice([x for x in sources if self.free(x) > 3] or same[:1])
            quantity = min(self.rnd.randint(2, 12), self.free(source) - 1)
            if quantity > 0 and (source.id, target.id, quantity) not in seen:
                seen.add((source.id, target.id, quantity))
                self.transfer(source, target, quantity, status)

    def transfer(
        self, source: StockLevel, target: StockLevel, quantity: int, status: TransferStatus
    ) -> None:
        """One transfer, with what it does to the units of its two ends."""
        received = quantity if status == "received" else 0
        if status == "in_transit" and self.rnd.random() < 0.25:
            received = quantity // 2
        if status == "requested":
            self.held[source.id] += quantity
        if status in ("in_transit", "received"):
            self.units[source.id] -= quantity
            self.units[target.id] += received
        if status != "cancelled":
            self.coming[target.id] += quantity - received
        new = Transfer(
            *(self.id("trf"), source.id, target.id, self.products[source.product_id].product),
            from_store=self.stores[source.store_id].store,
            to_store=self.stores[target.store_id].store,
            quantity=quantity,
            received=received,
            status=status,
            requested_at=self.at(-self.rnd.randint(60, 9000)),
        )
        self.transfers.append(new)

    def make_reservations(self) -> None:
        """Reservations of customers at the open shops; one customer has all that are allowed."""
        people = [p.name for p in self.cast.others if p not in self.managers]
        busy, *others = self.rnd.sample(people, 20)
        closed = {s.id for s in self.stores.values() if s.refurbishing}
        ample = [x for x in self.at_shops if x.store_id not in closed and self.free(x) > 6]
        count, seen = Counter[str](), set[tuple[str, str]]()
        for i, fate in enumerate(FATES):
            who = busy if i < MOST_RESERVATIONS else self.rnd.choice(others)
            level = self.rnd.choice(ample)
            full = fate == "active" and count[who] >= MOST_RESERVATIONS
            if full or self.free(level) < 3 or (who, level.product_id) in seen:
                continue
            seen.add((who, level.product_id))
            count[who] += fate == "active"
            self.reserve(level, who, fate)

    def reserve(self, level: StockLevel, customer: str, fate: Fate) -> None:
        """One reservation; those active hold their units, a collected one is a sale."""
        product, rnd = self.products[level.product_id], self.rnd
        quantity = rnd.choice((1, 1, 1, 2))
        price = product.price * rnd.choice((100, 100, 90, 80)) // 100
        new = self.id("rsv")
        if fate == "active":
            self.held[level.id] += quantity
            until = rnd.choice((rnd.randint(20, 120), rnd.randint(300, 2800)))
        else:
            until = -rnd.randint(5, 3000)
        if fate == "collected":
            self.move("sale", level, quantity, price, new)
        self.reservations.append(
            Reservation(
                *(new, level.id, customer, product.product, quantity, price),
                "active" if fate == "lapsed" else fate,
                extended=rnd.random() < 0.25,
                expires_at=self.at(until),
            )
        )

    # -- price rules -------------------------------------------------------------------------

    def make_rules(self) -> None:
        """Rules of every width, most of them in force."""
        shops = [s for s in self.stores.values() if s.kind == "shop"]
        self.rule("", "", "", 5, 20)
        for department in self.rnd.sample(DEPARTMENTS, 4):
            self.rule("", department, "", self.rnd.choice(PERCENTS))
        for store in self.rnd.sample(shops, 3):
            self.rule("", self.rnd.choice(DEPARTMENTS), store.id, self.rnd.choice(PERCENTS))
        self.rule("", "", self.rnd.choice(shops).id, 10)
        for product in self.rnd.sample(list(self.products), 7):
            self.rule(product, "", "", self.rnd.choice(PERCENTS))
        for level in self.rnd.sample(self.at_shops, 6):
            self.rule(level.product_id, "", level.store_id, self.rnd.choice(PERCENTS))

    def rule(
        self, product: str, department: Goods, store: str, percent: int, start: int = 0
    ) -> None:
        """One rule: in force, still to come, or over."""
        rnd = self.rnd
        first = start or rnd.choice((*(-rnd.randint(1, 14),) * 5, rnd.randint(2, 20), -40))
        days = rnd.randint(7, 14) if first in (start, -40) else rnd.randint(16, 45)
        span = (self.day(first), self.day(first + days))
        new = PriceRule(self.id("rul"), product, department, store, percent, *span)
        self.rules[product, department, store] = new
