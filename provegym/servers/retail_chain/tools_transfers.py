"""Moving stock between stores: requested, shipped, received."""

from __future__ import annotations

from random import Random
from typing import Any, Literal

from msgspec import Struct

from provegym.servers.retail_chain.state import (
    Chain,
    ProductId,
    StockLevel,
    StoreId,
    Transfer,
    TransferId,
    TransferStatus,
    find,
    find_product,
    find_store,
)
from provegym.servers.retail_chain.stock import (
    available,
    check_available,
    check_not_refurbishing,
    check_space,
    level_at,
    space,
)
from provegym.servers.retail_chain.tools_stores import Units, some_level
from provegym.world.fields import Limit
from provegym.world.page import page
from provegym.world.tool import refuse, tool

Action = Literal["ship", "receive", "cancel"]


class TransferItem(Struct, frozen=True):
    """A transfer, and how many of its units have arrived."""

    transfer_id: TransferId
    product: str
    quantity: int
    received: int
    from_store: str
    to_store: str
    status: TransferStatus


class TransferPage(Struct, frozen=True):
    """Transfers, the newest first."""

    transfers: list[TransferItem]
    total: int
    next_cursor: str


class TransferReceipt(Struct, frozen=True):
    """A transfer as it is now, and the units on hand at both of its ends."""

    transfer_id: TransferId
    product: str
    quantity: int
    received: int
    from_store: str
    to_store: str
    status: TransferStatus
    from_on_hand: int
    to_on_hand: int


def _item(t: Transfer) -> TransferItem:
    return TransferItem(
        *(t.id, t.product, t.quantity, t.received, t.from_store, t.to_store, t.status)
    )


def _receipt(chain: Chain, t: Transfer) -> TransferReceipt:
    source, target = chain.stock_levels[t.source_id], chain.stock_levels[t.target_id]
    return TransferReceipt(
        *(t.id, t.product, t.quantity, t.received, t.from_store, t.to_store, t.status),
        *(source.on_hand, target.on_hand),
    )


# -- looking -------------------------------------------------------------------------------------


def _list_sample(chain: Chain, rnd: Random) -> dict[str, Any]:
    t = rnd.choice(list(chain.transfers))
    given: dict[str, Any] = {}
    if rnd.random() < 0.6:
        given["status"] = t.status
    luck = rnd.random()
    if luck < 0.3:
        given["to_store_id"] = chain.stock_levels[t.target_id].store_id
    elif luck < 0.45:
        given["from_store_id"] = chain.stock_levels[t.source_id].store_id
    elif luck < 0.7:
        given["query"] = t.product
    return given


@tool(
    "read",
    phrases=(
        "List the[ {status}] stock transfers[ of {query}][ from {from_store_id}]"
        "[ to {to_store_id}]",
        "Which[ {status}] transfers between stores are there[ for {query}]"
        "[ out of {from_store_id}][ into {to_store_id}]",
        "Show[ {status}] store transfers[ with {query} in the product name]"
        "[ leaving {from_store_id}][ going to {to_store_id}]",
    ),
    refuses=("not_found",),
    sample=_list_sample,
)
def list_stock_transfers(
    chain: Chain,
    status: TransferStatus | None = None,
    from_store_id: StoreId = "",
    to_store_id: StoreId = "",
    query: str = "",
    limit: Limit = 5,
    cursor: str = "",
) -> TransferPage:
    """List transfers of stock between stores, the newest first.

    Args:
        status: Only transfers in this state.
        from_store_id: Only from this store.
        to_store_id: Only to this store.
        query: Words that must occur in the product's name.
        limit: Transfers per page.
        cursor: next_cursor of the page before.
    """
    words = query.lower().split()
    source = find_store(chain, from_store_id).store if from_store_id else ""
    target = find_store(chain, to_store_id).store if to_store_id else ""
    found = [
        t
        for t in (chain.transfers.where(status=status) if status else chain.transfers)
        if source in ("", t.from_store)
        and target in ("", t.to_store)
        and all(word in t.product.lower() for word in words)
    ]
    found.sort(key=lambda t: t.requested_at, reverse=True)
    rows, total, after = page(found, limit, cursor)
    return TransferPage([_item(t) for t in rows], total, after)


# -- moving --------------------------------------------------------------------------------------


def _request_sample(chain: Chain, rnd: Random) -> dict[str, Any]:
    def takes(x: StockLevel) -> bool:
        store = chain.stores[x.store_id]
        return store.kind == "shop" and not store.refurbishing and space(chain, x) > 1

    target = some_level(chain, rnd, takes)
    if target is None:
        return {"quantity": 2}
    others = chain.stock_levels.where(product_id=target.product_id)
    sources = [x for x in others if x.id != target.id and available(chain, x) > 1]
    if not sources:
        return {"quantity": 2}
    source = rnd.choice(sources)
    most = min(available(chain, source), space(chain, target), 20)
    return {
        **{"product_id": target.product_id, "quantity": rnd.randint(1, most)},
        **{"from_store_id": source.store_id, "to_store_id": target.store_id},
    }


@tool(
    "write",
    phrases=(
        "Request a transfer of {quantity} units of {product_id} from {from_store_id}"
        " to {to_store_id}",
        "Have {from_store_id} send {quantity} units of {product_id} to {to_store_id}",
        "Move {quantity} units of {product_id} from {from_store_id} to {to_store_id}",
    ),
    refuses=("not_found", "not_stocked", "store_closed", "transfer_over_stock", "over_capacity"),
    sample=_request_sample,
)
def request_stock_transfer(
    chain: Chain,
    product_id: ProductId,
    from_store_id: StoreId,
    to_store_id: StoreId,
    quantity: Units,
) -> TransferReceipt:
    """Request a transfer between stores. The units are held at the source until it is shipped.

    Args:
        product_id: The product; both stores must carry it.
        from_store_id: The store that gives.
        to_store_id: The store that gets.
        quantity: Units.
    """
    product = find_product(chain, product_id)
    source, target = find_store(chain, from_store_id), find_store(chain, to_store_id)
    if source.id == target.id:
        refuse("same_store", f"{source.store} is both source and target; name two stores")
    check_not_refurbishing(target)
    giving, getting = level_at(chain, source, product), level_at(chain, target, product)
    check_available(chain, giving, quantity, product.product, "transfer_over_stock")
    check_space(chain, getting, quantity, product.product)
    new = Transfer(
        *(chain.transfers.new_id(), giving.id, getting.id, product.product, source.store),
        *(target.store, quantity, 0, "requested", chain.stamp),
    )
    return _receipt(chain, chain.transfers.put(new))


def _update_sample(chain: Chain, rnd: Random) -> dict[str, Any]:
    action: Action = rnd.choice(("ship", "receive", "receive", "cancel"))
    status = "in_transit" if action == "receive" else "requested"
    found = [
        t for t in chain.transfers.where(status=status) if action != "receive" or _open(chain, t)
    ]
    if not found:
        return {"action": action}
    t = rnd.choice(found)
    given: dict[str, Any] = {"transfer_id": t.id, "action": action}
    if action == "receive" and rnd.random() < 0.4:
        given["units"] = rnd.randint(1, t.quantity - t.received)
    return given


def _open(chain: Chain, t: Transfer) -> bool:
    """Whether the target of a transfer takes goods in."""
    return not chain.stores[chain.stock_levels[t.target_id].store_id].refurbishing


@tool(
    "write",
    phrases=(
        "Please {action} {transfer_id}[, {units} units of it]",
        "Update {transfer_id}: {action} it[, {units} units]",
        "Make an update of {transfer_id}: {action}[ {units} units of] it",
    ),
    refuses=(
        *("not_found", "already_shipped", "not_shipped", "transfer_closed", "over_received"),
        "store_closed",
    ),
    sample=_update_sample,
)
def update_stock_transfer(
    chain: Chain, transfer_id: TransferId, action: Action, units: Units | None = None
) -> TransferReceipt:
    """Ship or cancel a requested transfer, or receive all or some units of a shipped one.

    Args:
        transfer_id: The transfer.
        action: What happens to it.
        units: Units that arrived, when receiving; all that are on the way by default.
    """
    t = find(chain.transfers, transfer_id, "transfer", "list_stock_transfers")
    if units and action != "receive":
        refuse("invalid_value", f"units is {units}, but only the action receive counts units")
    if t.status in ("received", "cancelled"):
        refuse("transfer_closed", f"the transfer of {t.product} is {t.status}", status=t.status)
    if action == "receive":
        return _receipt(chain, _receive(chain, t, units or t.quantity - t.received))
    if t.status == "in_transit":
        text = f"the {t.quantity} {t.product} left {t.from_store} already; receive them"
        refuse("already_shipped", text, status=t.status)
    if action == "cancel":
        return _receipt(chain, chain.transfers.update(t, status="cancelled"))
    source = chain.stock_levels[t.source_id]
    chain.stock_levels.update(source, on_hand=source.on_hand - t.quantity)
    return _receipt(chain, chain.transfers.update(t, status="in_transit"))


def _receive(chain: Chain, t: Transfer, units: int) -> Transfer:
    """Put units that arrived on the shelves of the target."""
    if t.status == "requested":
        refuse("not_shipped", f"{t.from_store} has not shipped the {t.product} yet; ship it first")
    left = t.quantity - t.received
    if units > left:
        text = f"{left} units of {t.product} are on the way to {t.to_store}, not {units}"
        refuse("over_received", text, on_the_way=left)
    target = chain.stock_levels[t.target_id]
    check_not_refurbishing(chain.stores[target.store_id])
    chain.stock_levels.update(target, on_hand=target.on_hand + units)
    done: TransferStatus = "received" if units == left else "in_transit"
    return chain.transfers.update(t, received=t.received + units, status=done)
