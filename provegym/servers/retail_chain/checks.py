"""What must hold in the chain after every call."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from provegym.servers.retail_chain.prices import discounted
from provegym.servers.retail_chain.state import Chain, Transfer
from provegym.servers.retail_chain.stock import MOST_RESERVATIONS, all_held, reservation_status


def violations(chain: Chain) -> Iterator[str]:
    """What is wrong: one sentence for each broken invariant."""
    yield from _level_violations(chain)
    yield from _total_violations(chain)
    yield from _transfer_violations(chain)
    yield from _sale_violations(chain)
    yield from _reservation_violations(chain)
    yield from _rule_violations(chain)


def _moved(transfer: Transfer) -> int:
    """Units that have left the source."""
    return transfer.quantity if transfer.status in ("in_transit", "received") else 0


def _level_violations(chain: Chain) -> Iterator[str]:
    """Each store's units are those counted, plus what came, less what went."""
    change, coming, promised = Counter[str](), Counter[str](), all_held(chain)
    for m in chain.movements:
        change[m.stock_level_id] += m.quantity if m.kind == "delivery" else -m.quantity
    for t in chain.transfers:
        change[t.source_id] -= _moved(t)
        change[t.target_id] += t.received
        coming[t.target_id] += t.quantity - t.received if t.status != "cancelled" else 0
    for level in chain.stock_levels:
        if level.on_hand != level.counted + change[level.id]:
            yield f"stock {level.id} has {level.on_hand} units against its movements"
        if level.on_hand < promised[level.id]:
            yield f"stock {level.id} has {level.on_hand} units, {promised[level.id]} are promised"
        if level.on_hand + coming[level.id] > level.capacity:
            yield f"stock {level.id} has and expects more units than its capacity"


def _total_violations(chain: Chain) -> Iterator[str]:
    """Over all stores and the way between, only sales and deliveries change a product's units."""
    product = {level.id: level.product_id for level in chain.stock_levels}
    total = Counter[str]()
    for level in chain.stock_levels:
        total[level.product_id] += level.on_hand - level.counted
    for t in chain.transfers:
        total[product[t.source_id]] += _moved(t) - t.received
    for m in chain.movements:
        total[product[m.stock_level_id]] += m.quantity if m.kind == "sale" else -m.quantity
    yield from (f"product {p}: {n} units came from nowhere" for p, n in total.items() if n)


def _transfer_violations(chain: Chain) -> Iterator[str]:
    for t in chain.transfers:
        source, target = chain.stock_levels[t.source_id], chain.stock_levels[t.target_id]
        if source.product_id != target.product_id or source.store_id == target.store_id:
            yield f"transfer {t.id} does not go from a store to another one"
        if not 0 <= t.received <= t.quantity or (t.status == "received") != (
            t.received == t.quantity
        ):
            yield f"transfer {t.id} is {t.status} with {t.received} of {t.quantity} received"
        if t.received and t.status not in ("in_transit", "received"):
            yield f"transfer {t.id} is {t.status} and was received"


def _sale_violations(chain: Chain) -> Iterator[str]:
    collected = Counter(m.reservation_id for m in chain.movements if m.reservation_id)
    for m in chain.movements:
        level = chain.stock_levels[m.stock_level_id]
        if m.kind == "sale" and chain.stores[level.store_id].kind == "warehouse":
            yield f"sale {m.id} was made at a warehouse"
        if m.unit_price < chain.products[level.product_id].cost:
            yield f"movement {m.id} is below cost"
        if m.reservation_id:
            r = chain.reservations[m.reservation_id]
            if (r.stock_level_id, r.quantity) != (m.stock_level_id, m.quantity):
                yield f"sale {m.id} is not what was reserved"
    for r in chain.reservations:
        if collected[r.id] != (r.status == "collected"):
            yield f"reservation {r.id} is {r.status} and has {collected[r.id]} sales"


def _reservation_violations(chain: Chain) -> Iterator[str]:
    active = [r for r in chain.reservations if reservation_status(chain, r) == "active"]
    for customer, n in Counter(r.customer.casefold() for r in active).items():
        if n > MOST_RESERVATIONS:
            yield f"{customer} has {n} active reservations"
    twice = Counter((r.customer.casefold(), r.stock_level_id) for r in active)
    yield from (f"{who} reserved {what} twice" for (who, what), n in twice.items() if n > 1)


def _rule_violations(chain: Chain) -> Iterator[str]:
    targets = Counter((r.product_id, r.department, r.store_id) for r in chain.price_rules)
    yield from (f"two price rules for {target}" for target, n in targets.items() if n > 1)
    for r in chain.price_rules:
        if r.starts_on > r.ends_on or (r.product_id and r.department):
            yield f"price rule {r.id} has no sense"
        if r.product_id:
            product = chain.products[r.product_id]
            if discounted(product, r.percent_off) < product.cost:
                yield f"price rule {r.id} is below cost"
