"""Finding stores and stock, and recording what is sold and what suppliers deliver."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Annotated, Any, Literal

from msgspec import Struct

from provegym.servers.retail_chain.prices import price_at
from provegym.servers.retail_chain.state import (
    Chain,
    Department,
    MovementId,
    MovementKind,
    ProductId,
    StockLevel,
    Store,
    StoreId,
    StoreKind,
    StoreStatus,
    find_product,
    find_store,
)
from provegym.servers.retail_chain.stock import (
    all_held,
    available,
    book,
    check_available,
    check_hours,
    check_not_refurbishing,
    check_shop,
    check_space,
    level_at,
    space,
    store_status,
)
from provegym.world.fields import Limit, Money, Range, money
from provegym.world.page import page
from provegym.world.tool import tool

Level = Literal["available", "low", "depleted"]
"""How much is left: any unit; at most what calls for a new order; none."""
Units = Annotated[int, Range(1, 500)]


class StoreItem(Struct, frozen=True):
    """A store, and whether it is open now."""

    store_id: StoreId
    store: str
    city: str
    kind: StoreKind
    status: StoreStatus
    manager: str


class StorePage(Struct, frozen=True):
    """Stores by name."""

    stores: list[StoreItem]
    total: int
    next_cursor: str


class StockItem(Struct, frozen=True):
    """A product at a store: units to spare, units on hand, and today's price there."""

    product_id: ProductId
    product: str
    store_id: StoreId
    store: str
    available: int
    on_hand: int
    price: Money


class StockPage(Struct, frozen=True):
    """Stock by product, then by store."""

    stock: list[StockItem]
    total: int
    next_cursor: str


class MovementReceipt(Struct, frozen=True):
    """A sale or a delivery, and what is left of the product at the store."""

    movement_id: MovementId
    kind: MovementKind
    product_id: ProductId
    product: str
    store_id: StoreId
    store: str
    quantity: int
    unit_price: Money
    total: Money
    available: int
    on_hand: int


def some_level(
    chain: Chain, rnd: Random, wanted: Callable[[StockLevel], bool]
) -> StockLevel | None:
    """A stock level for a sample, of those that are wanted; None if there is none."""
    levels = list(chain.stock_levels)
    for level in rnd.sample(levels, min(len(levels), 60)):
        if wanted(level):
            return level
    return next(filter(wanted, levels), None)


# -- looking -------------------------------------------------------------------------------------


def _stores_sample(chain: Chain, rnd: Random) -> dict[str, Any]:
    store = rnd.choice(list(chain.stores))
    luck = rnd.random()
    if luck < 0.3:
        return {"city": store.city}
    if luck < 0.5:
        return {"query": store.store}
    if luck < 0.7:
        return {"status": store_status(chain, store)}
    return {"kind": store.kind} if luck < 0.85 else {}


@tool(
    "read",
    phrases=(
        "List the chain's stores[ of kind {kind}][ called {query}][ in {city}]"
        "[ that are {status} right now]",
        "Which of our stores[ named {query}][ in {city}][ of the {kind} kind] are there"
        "[ with the status {status}]",
        "Find stores of our chain[ in {city}][ of kind {kind}][ with {query} in the name]"
        "[ that are now {status}]",
    ),
    sample=_stores_sample,
)
def search_stores(
    chain: Chain,
    query: str = "",
    city: str = "",
    kind: StoreKind | None = None,
    status: StoreStatus | None = None,
    limit: Limit = 5,
    cursor: str = "",
) -> StorePage:
    """Search the chain's shops and warehouses, with their manager and whether they are open now.

    Args:
        query: Words that must occur in the store's name.
        city: Only stores in this city.
        kind: Only shops or only warehouses.
        status: Only stores that stand like this now.
        limit: Stores per page.
        cursor: next_cursor of the page before.
    """
    words, town = query.lower().split(), city.strip().lower()
    found = [
        s
        for s in chain.stores
        if kind in (None, s.kind)
        and town in ("", s.city.lower())
        and all(word in s.store.lower() for word in words)
        and status in (None, store_status(chain, s))
    ]
    rows, total, after = page(sorted(found, key=lambda s: s.store), limit, cursor)
    items = [
        StoreItem(s.id, s.store, s.city, s.kind, store_status(chain, s), s.manager) for s in rows
    ]
    return StorePage(items, total, after)


def _stock_sample(chain: Chain, rnd: Random) -> dict[str, Any]:
    level = chain.stock_levels[rnd.choice(chain.stock_levels.template.ids)]
    product, luck = chain.products[level.product_id], rnd.random()
    given: dict[str, Any] = {}
    if luck < 0.25:
        given["product_id"] = product.id
    elif luck < 0.6:
        name = product.product
        given["query"] = name if rnd.random() < 0.5 else name.rsplit(" ", 1)[-1].lower()
    elif luck < 0.8:
        given["department"] = product.department
    if rnd.random() < 0.5 or not given:
        given["store_id"] = level.store_id
    if "store_id" not in given and rnd.random() < 0.5:
        given["level"] = rnd.choice(("available", "low"))
    return given


@tool(
    "read",
    phrases=(
        "Show the[ {level}] store stock[ of {product_id}][ matching {query}]"
        "[ in the {department} department][ at {store_id}]",
        "What is our[ {level}] stock[ of {product_id}][ for {query}][ of {department} goods]"
        "[ at {store_id}]",
        "Look up[ {level}] stock and prices[ of {product_id}][ for products named {query}]"
        "[ in {department}][ in the store {store_id}]",
    ),
    refuses=("not_found",),
    sample=_stock_sample,
)
def search_store_stock(
    chain: Chain,
    query: str = "",
    product_id: ProductId = "",
    store_id: StoreId = "",
    department: Department | None = None,
    level: Level | None = None,
    limit: Limit = 5,
    cursor: str = "",
) -> StockPage:
    """Search which stores carry which products: units available, units on hand, today's price.

    Args:
        query: Words that must occur in the product's name.
        product_id: Only this product.
        store_id: Only this store.
        department: Only this department.
        level: available: any to spare; low: time to reorder; depleted: none to spare.
        limit: Rows per page.
        cursor: next_cursor of the page before.
    """
    words = query.lower().split()
    goods = [find_product(chain, product_id)] if product_id else list(chain.products)
    named = {
        p.id: p.product
        for p in goods
        if department in (None, p.department) and all(w in p.product.lower() for w in words)
    }
    free, promised = dict[str, int](), all_held(chain)
    found = []
    for x in _carried(chain, product_id, store_id):
        if x.product_id in named:
            free[x.id] = x.on_hand - promised[x.id]
            if level is None or _is_at(x, free[x.id], level):
                found.append(x)
    found.sort(key=lambda x: (named[x.product_id], chain.stores[x.store_id].store))
    rows, total, after = page(found, limit, cursor)
    return StockPage([_stock_item(chain, x, free[x.id]) for x in rows], total, after)


def _carried(chain: Chain, product_id: str, store_id: str) -> list[StockLevel]:
    if store_id:
        more = {"product_id": product_id} if product_id else {}
        return chain.stock_levels.where(store_id=find_store(chain, store_id).id, **more)
    if product_id:
        return chain.stock_levels.where(product_id=product_id)
    return list(chain.stock_levels)


def _is_at(x: StockLevel, free: int, level: Level) -> bool:
    if level == "available":
        return free > 0
    return free == 0 if level == "depleted" else 0 < free <= x.reorder_at


def _stock_item(chain: Chain, x: StockLevel, free: int) -> StockItem:
    product, store = chain.products[x.product_id], chain.stores[x.store_id]
    price = price_at(chain, store.id, product).amount
    return StockItem(
        *(product.id, product.product, store.id, store.store, free, x.on_hand, money(price))
    )


# -- selling and taking in -----------------------------------------------------------------------


def serves(chain: Chain, store: Store) -> bool:
    """Whether customers can be served at a store at this minute."""
    return store.kind == "shop" and store_status(chain, store) == "open"


def _movement_sample(chain: Chain, rnd: Random) -> dict[str, Any]:
    kind: MovementKind = rnd.choice(("sale", "sale", "delivery"))

    def can(x: StockLevel) -> bool:
        store = chain.stores[x.store_id]
        if kind == "delivery":
            return not store.refurbishing and space(chain, x) > 2
        return serves(chain, store) and available(chain, x) > 0

    x = some_level(chain, rnd, can)
    if x is None:
        return {"kind": kind, "quantity": 1}
    most = space(chain, x) if kind == "delivery" else min(available(chain, x), 4)
    quantity = rnd.randint(1, min(most, 24))
    return {
        **{"kind": kind, "product_id": x.product_id, "store_id": x.store_id},
        "quantity": quantity,
    }


@tool(
    "write",
    phrases=(
        "Record a {kind} of {quantity} units of {product_id} at {store_id}",
        "Book a {kind} at {store_id}: {quantity} units of {product_id}",
        "Enter a {kind} of {product_id} at {store_id}, {quantity} units",
    ),
    refuses=(
        *("not_found", "not_stocked", "not_a_shop", "store_closed", "outside_hours"),
        *("insufficient_stock", "over_capacity"),
    ),
    sample=_movement_sample,
)
def record_stock_movement(
    chain: Chain, kind: MovementKind, product_id: ProductId, store_id: StoreId, quantity: Units
) -> MovementReceipt:
    """Record a sale at today's price, or a delivery from a supplier at cost.

    Args:
        kind: Units sold to a customer, or delivered by a supplier.
        product_id: The product.
        store_id: The store; sales only at shops that are open now.
        quantity: Units.
    """
    store, product = find_store(chain, store_id), find_product(chain, product_id)
    if kind == "sale":
        check_shop(store)
        level = level_at(chain, store, product)
        check_hours(chain, store)
        check_available(chain, level, quantity, product.product, "insufficient_stock")
        price = price_at(chain, store.id, product).amount
    else:
        check_not_refurbishing(store)
        level = level_at(chain, store, product)
        check_space(chain, level, quantity, product.product)
        price = product.cost
    movement, level = book(chain, level, kind, quantity, price)
    return MovementReceipt(
        *(movement.id, kind, product.id, product.product, store.id, store.store, quantity),
        *(money(price), money(price * quantity), available(chain, level), level.on_hand),
    )
