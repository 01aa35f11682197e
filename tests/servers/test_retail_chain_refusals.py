"""Every refusal that a tool of the chain declares, reached by legal calls in seeded worlds."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import date, timedelta
from typing import Any

import pytest

from provegym.servers.retail_chain import SERVER
from provegym.servers.retail_chain.state import StockLevel
from provegym.servers.retail_chain.stock import MOST_RESERVATIONS, store_status
from tests.servers.retail_chain_office import Office, office
from tests.servers.talk import declared

Arguments = dict[str, Any]
Scenario = Callable[[Office], Arguments | None]
"""Brings a session to where the call is refused; None if this world has no such case."""

PAIR = {"product_id": "prd_none", "store_id": "sto_none"}
SALE = {"kind": "sale", "quantity": 1}


def given(arguments: Arguments) -> Scenario:
    return lambda o: arguments


def first(rows: Iterable[Any], field: str, **more: Any) -> Arguments | None:
    row = next(iter(rows), None)
    return None if row is None else {field: row.id, **more}


def level(wanted: Callable[[Office, StockLevel], bool], **more: Any) -> Scenario:
    def scenario(o: Office) -> Arguments | None:
        found = next((x for x in o.chain.stock_levels if wanted(o, x)), None)
        return {**o.where(found), **more} if found else None

    return scenario


def not_carried(**more: Any) -> Scenario:
    """A product at an open shop that does not carry it."""

    def scenario(o: Office) -> Arguments | None:
        shop = o.store(o.serving()[0])
        carried = {x.product_id for x in o.chain.stock_levels.where(store_id=shop.id)}
        missing = [p.id for p in o.chain.products if p.id not in carried]
        return {"product_id": missing[0], "store_id": shop.id, **more} if missing else None

    return scenario


def warehouse(o: Office, x: StockLevel) -> bool:
    return o.store(x).kind == "warehouse"


def refurbishing(o: Office, x: StockLevel) -> bool:
    return o.store(x).refurbishing


def before_opening(o: Office, x: StockLevel) -> bool:
    return store_status(o.chain, o.store(x)) == "closed"


def beyond(**more: Any) -> Scenario:
    """One unit more than an open shop has to spare, of which some units are held."""

    def scenario(o: Office) -> Arguments | None:
        found = next((x for x in o.serving() if 0 < o.free(x) < min(x.on_hand, 10)), None)
        return {**o.where(found), "quantity": o.free(found) + 1, **more} if found else None

    return scenario


def too_much(o: Office) -> Arguments:
    x = o.serving()[0]
    return {**o.where(x), "kind": "delivery", "quantity": o.room(x) + 1}


def moved(wanted: Callable[[Office, StockLevel, StockLevel], int]) -> Scenario:
    """A transfer of as many units as `wanted` says; 0 if it does not want these two ends."""

    def scenario(o: Office) -> Arguments:
        ends = o.movable(lambda a, b: wanted(o, a, b) > 0)
        source, target = (
            o.chain.stock_levels.where(product_id=ends["product_id"], store_id=ends[end])[0]
            for end in ("from_store_id", "to_store_id")
        )
        return {**ends, "quantity": wanted(o, source, target)}

    return scenario


def over_stock(o: Office, source: StockLevel, target: StockLevel) -> int:
    return 0 if refurbishing(o, target) or o.free(source) < 1 else o.free(source) + 1


def over_capacity(o: Office, source: StockLevel, target: StockLevel) -> int:
    more = o.room(target) + 1
    return 0 if refurbishing(o, target) or o.free(source) < more else more


def to_a_closed_store(o: Office, source: StockLevel, target: StockLevel) -> int:
    return int(refurbishing(o, target) and o.free(source) > 0)


def to_where_it_is_not_carried(o: Office) -> Arguments | None:
    found = not_carried()(o)
    if found is None:
        return None
    carried = o.chain.stock_levels.where(product_id=found["product_id"])
    ends = {"from_store_id": carried[0].store_id, "to_store_id": found["store_id"]}
    return {"product_id": found["product_id"], **ends, "quantity": 1}


def transfer(status: str, action: str, closed: bool = False) -> Scenario:
    return lambda o: first(o.transfers(status, closed), "transfer_id", action=action)


def over_received(o: Office) -> Arguments:
    t = o.transfers("in_transit")[0]
    return {"transfer_id": t.id, "action": "receive", "units": t.quantity - t.received + 1}


def reservation(status: str, action: str) -> Scenario:
    return lambda o: first(o.reservations(status), "reservation_id", action=action)


def extended_twice(o: Office) -> Arguments:
    r = next(r for r in o.reservations("active") if not r.extended)
    o.ok("update_store_reservation", reservation_id=r.id, action="extend")
    return {"reservation_id": r.id, "action": "extend"}


def collected_too_early(o: Office) -> Arguments | None:
    levels = o.chain.stock_levels
    early = [r for r in o.reservations("active") if before_opening(o, levels[r.stock_level_id])]
    return first(early, "reservation_id", action="collect")


def reserved_twice(o: Office) -> Arguments:
    x = o.serving(4)[0]
    o.ok("reserve_store_stock", **o.where(x), customer="Ada Byron", quantity=1)
    return {**o.where(x), "customer": "  ada   BYRON", "quantity": 1}


def fourth_reservation(o: Office) -> Arguments:
    *before, x = o.serving(4)[: MOST_RESERVATIONS + 1]
    for y in before:
        o.ok("reserve_store_stock", **o.where(y), customer="Ada Byron", quantity=1)
    return {**o.where(x), "customer": "Ada Byron", "quantity": 1}


def in_days(days: int) -> Callable[[Office], str]:
    return lambda o: (date.fromisoformat(o.chain.today) + timedelta(days=days)).isoformat()


def rule(ends: int = 5, **more: Any) -> Scenario:
    return lambda o: {"percent_off": 10, "ends_on": in_days(ends)(o), **more}


def rule_not_carried(o: Office) -> Arguments | None:
    found = not_carried()(o)
    return found and {**found, "percent_off": 10, "ends_on": in_days(5)(o)}


def rule_below_cost(o: Office) -> Arguments:
    product = next(iter(o.chain.products))
    return {"product_id": product.id, "percent_off": 70, "ends_on": in_days(5)(o)}


def rule_again(o: Office) -> Arguments:
    same = {"department": "toys", "percent_off": 12, "ends_on": in_days(9)(o)}
    o.ok("set_price_rule", **same)
    return same


REFUSALS: dict[tuple[str, str], Scenario] = {
    ("search_store_stock", "not_found"): given({"store_id": "sto_none"}),
    ("record_stock_movement", "not_found"): given({**PAIR, **SALE}),
    ("record_stock_movement", "not_stocked"): not_carried(**SALE),
    ("record_stock_movement", "not_a_shop"): level(warehouse, **SALE),
    ("record_stock_movement", "store_closed"): level(refurbishing, kind="delivery", quantity=1),
    ("record_stock_movement", "outside_hours"): level(before_opening, **SALE),
    ("record_stock_movement", "insufficient_stock"): beyond(kind="sale"),
    ("record_stock_movement", "over_capacity"): too_much,
    ("list_stock_transfers", "not_found"): given({"to_store_id": "sto_none"}),
    ("request_stock_transfer", "not_found"): given(
        {"product_id": "p", "from_store_id": "a", "to_store_id": "b", "quantity": 1}
    ),
    ("request_stock_transfer", "not_stocked"): to_where_it_is_not_carried,
    ("request_stock_transfer", "store_closed"): moved(to_a_closed_store),
    ("request_stock_transfer", "transfer_over_stock"): moved(over_stock),
    ("request_stock_transfer", "over_capacity"): moved(over_capacity),
    ("update_stock_transfer", "not_found"): given({"transfer_id": "trf_0", "action": "ship"}),
    ("update_stock_transfer", "already_shipped"): transfer("in_transit", "cancel"),
    ("update_stock_transfer", "not_shipped"): transfer("requested", "receive"),
    ("update_stock_transfer", "transfer_closed"): transfer("received", "receive"),
    ("update_stock_transfer", "over_received"): over_received,
    ("update_stock_transfer", "store_closed"): transfer("in_transit", "receive", closed=True),
    ("list_store_reservations", "not_found"): given({"store_id": "sto_none"}),
    ("reserve_store_stock", "not_found"): given({**PAIR, "customer": "Ada Byron", "quantity": 1}),
    ("reserve_store_stock", "not_a_shop"): level(warehouse, customer="Ada Byron", quantity=1),
    ("reserve_store_stock", "store_closed"): level(refurbishing, customer="Ada Byron", quantity=1),
    ("reserve_store_stock", "not_stocked"): not_carried(customer="Ada Byron", quantity=1),
    ("reserve_store_stock", "insufficient_stock"): beyond(customer="Ada Byron"),
    ("reserve_store_stock", "already_reserved"): reserved_twice,
    ("reserve_store_stock", "reservation_limit"): fourth_reservation,
    ("update_store_reservation", "not_found"): given(
        {"reservation_id": "rsv_0", "action": "cancel"}
    ),
    ("update_store_reservation", "reservation_expired"): reservation("expired", "collect"),
    ("update_store_reservation", "reservation_closed"): reservation("collected", "cancel"),
    ("update_store_reservation", "already_extended"): extended_twice,
    ("update_store_reservation", "outside_hours"): collected_too_early,
    ("list_price_rules", "not_found"): given({"product_id": "prd_none"}),
    ("set_price_rule", "not_found"): rule(product_id="prd_none"),
    ("set_price_rule", "not_stocked"): rule_not_carried,
    ("set_price_rule", "period_over"): rule(ends=-1),
    ("set_price_rule", "below_cost"): rule_below_cost,
    ("set_price_rule", "no_change"): rule_again,
}


@pytest.mark.parametrize(("name", "code"), declared(SERVER, REFUSALS))
def test_a_refusal_has_its_code_and_changes_nothing(name: str, code: str) -> None:
    for seed in range(40):
        o = office(seed)
        arguments = REFUSALS[name, code](o)
        if arguments is None:
            continue
        before = o.session.digest()
        result = o.session.call(name, arguments)
        assert result.outcome == "tool_error", result
        assert result.value["error"]["code"] == code, result
        assert o.session.digest() == before
        return
    pytest.fail("no world has such a case")


@pytest.mark.parametrize("action", ["ship", "cancel"])
def test_units_are_counted_on_arrival_only(action: str) -> None:
    o = office(0)
    t = o.transfers("requested")[0]
    given_ = {"transfer_id": t.id, "action": action, "units": 1}
    assert o.session.call("update_stock_transfer", given_).value["error"]["code"] == "invalid_value"


def test_a_rule_is_about_a_product_or_a_department_and_ends_after_it_starts() -> None:
    o = office(0)
    product = next(iter(o.chain.products))
    days = {"percent_off": 10, "ends_on": in_days(3)(o)}
    both = {"product_id": product.id, "department": "toys", **days}
    assert o.session.call("set_price_rule", both).value["error"]["code"] == "invalid_target"
    late = {"starts_on": in_days(4)(o), **days}
    assert o.session.call("set_price_rule", late).value["error"]["code"] == "invalid_period"


def test_a_store_sends_nothing_to_itself() -> None:
    o = office(0)
    x = o.serving(1)[0]
    ends = {"from_store_id": x.store_id, "to_store_id": x.store_id}
    given_ = {"product_id": x.product_id, **ends, "quantity": 1}
    assert o.session.call("request_stock_transfer", given_).value["error"]["code"] == "same_store"
