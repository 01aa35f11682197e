"""Putting stock aside for customers, at the price of the day."""

from __future__ import annotations

from datetime import datetime, timedelta
from random import Random
from typing import Annotated, Any, Literal

from msgspec import Struct

from provegym.servers.retail_chain.prices import price_at
from provegym.servers.retail_chain.state import (
    Chain,
    ProductId,
    Reservation,
    ReservationId,
    ReservationStatus,
    StockLevel,
    Store,
    StoreId,
    find,
    find_product,
    find_store,
)
from provegym.servers.retail_chain.stock import (
    MOST_RESERVATIONS,
    available,
    book,
    check_available,
    check_hours,
    check_shop,
    level_at,
    reservation_status,
)
from provegym.servers.retail_chain.tools_stores import serves, some_level
from provegym.world.fields import VOLATILE, Format, Limit, Money, Range, Stamp, money
from provegym.world.page import page
from provegym.world.tool import refuse, tool

EXTENSION_HOURS = 24
NAME_LENGTH = 60
Hours = Annotated[int, Range(1, 72)]
Few = Annotated[int, Range(1, 10)]
Name = Annotated[
    str, Format("name", "Full name.", lambda text: bool(text.strip()) and len(text) <= NAME_LENGTH)
]
Day = Annotated[str, VOLATILE]
"""A date that follows from the clock."""
Action = Literal["collect", "extend", "cancel"]


class ReservationItem(Struct, frozen=True):
    """A reservation in a list."""

    reservation_id: ReservationId
    customer: str
    product: str
    quantity: int
    store: str
    status: ReservationStatus
    expires_on: Day


class ReservationPage(Struct, frozen=True):
    """Reservations, the active ones first, by when they expire."""

    reservations: list[ReservationItem]
    total: int
    next_cursor: str


class ReservationReceipt(Struct, frozen=True):
    """A reservation as it is now, at the price that it keeps."""

    reservation_id: ReservationId
    customer: str
    product_id: ProductId
    product: str
    store_id: StoreId
    store: str
    quantity: int
    total: Money
    status: ReservationStatus
    expires_at: Stamp


def _store(chain: Chain, r: Reservation) -> Store:
    return chain.stores[chain.stock_levels[r.stock_level_id].store_id]


def _item(chain: Chain, r: Reservation) -> ReservationItem:
    store, status = _store(chain, r).store, reservation_status(chain, r)
    return ReservationItem(
        *(r.id, r.customer, r.product, r.quantity, store, status, r.expires_at[:10])
    )


def _receipt(chain: Chain, r: Reservation) -> ReservationReceipt:
    store, level = _store(chain, r), chain.stock_levels[r.stock_level_id]
    return ReservationReceipt(
        *(r.id, r.customer, level.product_id, r.product, store.id, store.store, r.quantity),
        *(money(r.quantity * r.unit_price), reservation_status(chain, r), r.expires_at),
    )


# -- looking -------------------------------------------------------------------------------------


def _list_sample(chain: Chain, rnd: Random) -> dict[str, Any]:
    r = rnd.choice(list(chain.reservations))
    given: dict[str, Any] = {}
    if rnd.random() < 0.5:
        given["status"] = reservation_status(chain, r)
    luck = rnd.random()
    if luck < 0.35:
        given["store_id"] = _store(chain, r).id
    elif luck < 0.7:
        given["customer"] = r.customer
    return given


@tool(
    "read",
    phrases=(
        "List the[ {status}] customer reservations[ of {customer}][ at {store_id}]",
        "Which[ {status}] reservations of store stock are there[ for {customer}][ at {store_id}]",
        "Show what is reserved[ for the customer {customer}][ at {store_id}]"
        "[ with the status {status}] in our stores",
    ),
    refuses=("not_found",),
    sample=_list_sample,
)
def list_store_reservations(
    chain: Chain,
    customer: str = "",
    store_id: StoreId = "",
    status: ReservationStatus | None = None,
    limit: Limit = 5,
    cursor: str = "",
) -> ReservationPage:
    """List what stores have put aside for customers: active ones first, by when they expire.

    Args:
        customer: Words that must occur in the customer's name.
        store_id: Only at this store.
        status: Only reservations in this state.
        limit: Reservations per page.
        cursor: next_cursor of the page before.
    """
    words = customer.lower().split()
    store = find_store(chain, store_id).id if store_id else ""
    found = [
        r
        for r in chain.reservations
        if all(word in r.customer.lower() for word in words)
        and store in ("", _store(chain, r).id)
        and status in (None, reservation_status(chain, r))
    ]
    found.sort(key=lambda r: (reservation_status(chain, r) != "active", r.expires_at))
    rows, total, after = page(found, limit, cursor)
    return ReservationPage([_item(chain, r) for r in rows], total, after)


# -- reserving -----------------------------------------------------------------------------------


def _active(chain: Chain, customer: str) -> list[Reservation]:
    """The active reservations of a customer."""
    who = customer.casefold()
    mine = (r for r in chain.reservations.where(status="active") if r.customer.casefold() == who)
    return [r for r in mine if reservation_status(chain, r) == "active"]


def _reserve_sample(chain: Chain, rnd: Random) -> dict[str, Any]:
    who = next(
        (
            p.name
            for p in rnd.sample(chain.cast.others, 12)
            if len(_active(chain, p.name)) < MOST_RESERVATIONS
        ),
        chain.cast.user.name,
    )
    taken = {r.stock_level_id for r in _active(chain, who)}

    def can(x: StockLevel) -> bool:
        store = chain.stores[x.store_id]
        free = store.kind == "shop" and not store.refurbishing and available(chain, x) > 1
        return free and x.id not in taken

    x = some_level(chain, rnd, can)
    given: dict[str, Any] = {"customer": who, "quantity": rnd.choice((1, 1, 2))}
    if x is not None:
        given |= {"product_id": x.product_id, "store_id": x.store_id}
    return given | ({"hours": rnd.choice((4, 12, 24, 72))} if rnd.random() < 0.3 else {})


@tool(
    "write",
    phrases=(
        "Reserve {quantity} units of {product_id} at {store_id} for {customer}[ for {hours} hours]",
        "Put aside {quantity} of {product_id} at {store_id} for the customer {customer}"
        "[, kept for {hours} hours]",
        "Have {store_id} hold {quantity} units of {product_id} for {customer}[ over {hours} hours]",
    ),
    refuses=(
        *("not_found", "not_a_shop", "store_closed", "not_stocked", "insufficient_stock"),
        *("already_reserved", "reservation_limit"),
    ),
    sample=_reserve_sample,
)
def reserve_store_stock(
    chain: Chain,
    product_id: ProductId,
    store_id: StoreId,
    customer: Name,
    quantity: Few,
    hours: Hours = 48,
) -> ReservationReceipt:
    """Put units aside at a shop for a customer, at today's price, until the reservation expires.

    Args:
        product_id: The product.
        store_id: The shop.
        customer: For whom.
        quantity: Units.
        hours: How long they are kept.
    """
    store, product = find_store(chain, store_id), find_product(chain, product_id)
    check_shop(store)
    level, who = level_at(chain, store, product), " ".join(customer.split())
    _check_customer(chain, level, who)
    check_available(chain, level, quantity, product.product, "insufficient_stock")
    price, until = price_at(chain, store.id, product).amount, chain.now + timedelta(hours=hours)
    new = Reservation(
        *(chain.reservations.new_id(), level.id, who, product.product, quantity, price),
        *("active", False, until.isoformat()),
    )
    return _receipt(chain, chain.reservations.put(new))


def _check_customer(chain: Chain, level: StockLevel, customer: str) -> None:
    active = _active(chain, customer)
    if any(r.stock_level_id == level.id for r in active):
        text = f"{customer} has reserved this product at this store already"
        refuse("already_reserved", f"{text}; collect, extend or cancel that reservation")
    if len(active) >= MOST_RESERVATIONS:
        text = f"{customer} has {len(active)} active reservations, which is the most"
        refuse("reservation_limit", text, limit=MOST_RESERVATIONS)


def _update_sample(chain: Chain, rnd: Random) -> dict[str, Any]:
    action: Action = rnd.choice(("collect", "collect", "extend", "cancel"))
    active = chain.reservations.where(status="active")
    found = [
        r
        for r in active
        if reservation_status(chain, r) == "active"
        and not (action == "extend" and r.extended)
        and (action != "collect" or serves(chain, _store(chain, r)))
    ]
    return {"action": action, **({"reservation_id": rnd.choice(found).id} if found else {})}


@tool(
    "write",
    phrases=(
        "Please {action} {reservation_id}",
        "Update {reservation_id}: {action} it",
        "Make an update of {reservation_id}: {action} it",
    ),
    refuses=(
        *("not_found", "reservation_expired", "reservation_closed", "already_extended"),
        *("outside_hours",),
    ),
    sample=_update_sample,
)
def update_store_reservation(
    chain: Chain, reservation_id: ReservationId, action: Action
) -> ReservationReceipt:
    """Collect (a sale at the reserved price), extend by 24 hours (once) or cancel a reservation.

    Args:
        reservation_id: The reservation.
        action: What happens to it.
    """
    r = find(chain.reservations, reservation_id, "reservation", "list_store_reservations")
    _check_active(chain, r)
    if action == "cancel":
        return _receipt(chain, chain.reservations.update(r, status="cancelled"))
    if action == "extend":
        return _receipt(chain, _extend(chain, r))
    check_hours(chain, _store(chain, r))
    level = chain.stock_levels[r.stock_level_id]
    book(chain, level, "sale", r.quantity, r.unit_price, r.id)
    return _receipt(chain, chain.reservations.update(r, status="collected"))


def _check_active(chain: Chain, r: Reservation) -> None:
    status = reservation_status(chain, r)
    if status == "expired":
        text = f"the {r.product} for {r.customer} was held until {r.expires_at}; reserve anew"
        refuse("reservation_expired", text, expired_at=r.expires_at)
    if status != "active":
        refuse("reservation_closed", f"{r.customer}'s reservation is {status}", status=status)


def _extend(chain: Chain, r: Reservation) -> Reservation:
    if r.extended:
        text = f"{r.customer}'s reservation was extended before; once is allowed"
        refuse("already_extended", text, expires_at=r.expires_at)
    until = datetime.fromisoformat(r.expires_at) + timedelta(hours=EXTENSION_HOURS)
    return chain.reservations.update(r, extended=True, expires_at=until.isoformat())
