"""What can be sold, moved and put aside: availability, shelf space and opening hours."""

from __future__ import annotations

from collections import Counter

from provegym.servers.retail_chain.state import (
    Chain,
    Movement,
    MovementKind,
    Product,
    Reservation,
    ReservationStatus,
    StockLevel,
    Store,
    StoreStatus,
)
from provegym.world.tool import refuse

MOST_RESERVATIONS = 3
"""Active reservations that a customer may have."""


def store_status(chain: Chain, store: Store) -> StoreStatus:
    """Whether a store is open at this minute."""
    if store.refurbishing:
        return "refurbishing"
    return "open" if store.opens <= chain.stamp[11:16] < store.closes else "closed"


def reservation_status(chain: Chain, r: Reservation) -> ReservationStatus:
    """How a reservation stands at this minute."""
    return "expired" if r.status == "active" and r.expires_at <= chain.stamp else r.status


def held(chain: Chain, level: StockLevel) -> int:
    """Units on hand that are promised: put aside for customers, or for requested transfers."""
    now = chain.stamp
    reserved = chain.reservations.where(stock_level_id=level.id, status="active")
    leaving = chain.transfers.where(source_id=level.id, status="requested")
    put_aside = sum(r.quantity for r in reserved if r.expires_at > now)
    return put_aside + sum(t.quantity for t in leaving)


def all_held(chain: Chain) -> Counter[str]:
    """`held` of every stock level that has any, by its id."""
    now, found = chain.stamp, Counter[str]()
    for r in chain.reservations.where(status="active"):
        if r.expires_at > now:
            found[r.stock_level_id] += r.quantity
    for t in chain.transfers.where(status="requested"):
        found[t.source_id] += t.quantity
    return found


def available(chain: Chain, level: StockLevel) -> int:
    """Units on hand that nobody was promised."""
    return level.on_hand - held(chain, level)


def incoming(chain: Chain, level: StockLevel) -> int:
    """Units that other stores are to send, or have sent."""
    coming = chain.transfers.where(target_id=level.id)
    return sum(t.quantity - t.received for t in coming if t.status in ("requested", "in_transit"))


def space(chain: Chain, level: StockLevel) -> int:
    """Units for which the shelves have room beside those on their way."""
    return level.capacity - level.on_hand - incoming(chain, level)


def level_at(chain: Chain, store: Store, product: Product) -> StockLevel:
    """The stock of a product at a store; refused with `not_stocked` where it is not carried."""
    found = chain.stock_levels.where(product_id=product.id, store_id=store.id)
    if not found:
        carried = [
            chain.stores[x.store_id] for x in chain.stock_levels.where(product_id=product.id)
        ]
        names = sorted(s.store for s in carried)[:3]
        text = f"{store.store} does not carry the {product.product}; {', '.join(names)} do"
        refuse("not_stocked", text, stores=names)
    return found[0]


def check_not_refurbishing(store: Store) -> None:
    """Refuse where the store is being refurbished."""
    if store.refurbishing:
        refuse(
            "store_closed", f"{store.store} is closed while it is refurbished", store=store.store
        )


def check_shop(store: Store) -> None:
    """Refuse where no customer can be served: in a warehouse, or in a shop under refurbishment."""
    if store.kind == "warehouse":
        refuse("not_a_shop", f"{store.store} is a warehouse and serves no customers")
    check_not_refurbishing(store)


def check_hours(chain: Chain, store: Store) -> None:
    """Refuse outside of a shop's opening hours."""
    if store_status(chain, store) == "closed":
        text = f"it is {chain.stamp[11:16]}; {store.store} is open {store.opens} to {store.closes}"
        refuse("outside_hours", text, opens=store.opens, closes=store.closes)


def check_available(chain: Chain, level: StockLevel, quantity: int, what: str, code: str) -> None:
    """Refuse with `code` to take more units than are available."""
    free = available(chain, level)
    if quantity > free:
        store = chain.stores[level.store_id].store
        text = f"{store} has {free} units of {what} to spare, not {quantity}"
        refuse(code, f"{text}; {level.on_hand - free} of {level.on_hand} are held", available=free)


def check_space(chain: Chain, level: StockLevel, quantity: int, what: str) -> None:
    """Refuse to bring more units than there is room for."""
    free = space(chain, level)
    if quantity > free:
        store = chain.stores[level.store_id].store
        text = f"{store} has room for {free} more units of {what}, not {quantity}"
        refuse("over_capacity", text, room=free, capacity=level.capacity)


def book(
    chain: Chain,
    level: StockLevel,
    kind: MovementKind,
    quantity: int,
    price: int,
    held_by: str = "",
) -> tuple[Movement, StockLevel]:
    """Write a sale or a delivery, and change the units on hand by it."""
    change = -quantity if kind == "sale" else quantity
    level = chain.stock_levels.update(level, on_hand=level.on_hand + change)
    new = Movement(
        *(chain.movements.new_id(), kind, level.id, quantity, price, held_by, chain.stamp)
    )
    return chain.movements.put(new), level
