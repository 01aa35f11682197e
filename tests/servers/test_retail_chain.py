from __future__ import annotations

from collections import Counter
from datetime import date, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from provegym.servers.retail_chain.checks import violations
from provegym.servers.retail_chain.prices import discounted, rank, rule_status
from provegym.servers.retail_chain.state import Chain, PriceRule, Product
from provegym.servers.retail_chain.stock import all_held, held, store_status
from provegym.world.fields import cents
from tests.servers.retail_chain_office import Office, office, world

LAMP = Product("prd_1", "Lamp", "lighting", 1999, 1000)


def in_days(o: Office, days: int) -> str:
    return (date.fromisoformat(o.chain.today) + timedelta(days=days)).isoformat()


# -- prices, worked out by hand ------------------------------------------------------------------


@pytest.mark.parametrize(
    ("percent", "price"),
    [(0, 1999), (10, 1799), (25, 1499), (50, 1000), (70, 600)],  # 1799.1, 1499.25, 999.5, 599.7
)
def test_a_discount_is_rounded_half_up_to_the_cent(percent: int, price: int) -> None:
    assert discounted(LAMP, percent) == price


@given(st.integers(1, 10**6), st.integers(0, 70))
def test_a_discounted_price_is_within_half_a_cent(price: int, percent: int) -> None:
    product = Product("prd_1", "Lamp", "lighting", price, 0)
    assert abs(100 * discounted(product, percent) - price * (100 - percent)) <= 50


def rule(
    product: str = "", store: str = "", first: str = "", last: str = "2026-03-09"
) -> PriceRule:
    return PriceRule("rul_1", product, "", store, 10, first, last)


@pytest.mark.parametrize(
    ("day", "status"),
    [("2026-03-04", "upcoming"), ("2026-03-05", "current"), ("2026-03-09", "current")],
)
def test_the_first_and_the_last_day_count(day: str, status: str) -> None:
    assert rule_status(rule(first="2026-03-05"), day) == status
    assert rule_status(rule(first="2026-03-05"), "2026-03-10") == "ended"


def test_a_rule_without_a_first_day_holds_at_once() -> None:
    assert rule_status(rule(), "2026-03-01") == "current"


def test_goods_count_before_stores() -> None:
    by_width = [rule("prd_1", "sto_1"), rule("prd_1"), rule("", "sto_1"), rule()]
    assert sorted(by_width, key=rank, reverse=True) == by_width


def price(o: Office, product_id: str, store_id: str) -> int:
    found = o.ok("search_store_stock", product_id=product_id, store_id=store_id)["stock"]
    return cents(found[0]["price"])


def test_the_narrowest_rule_makes_the_price() -> None:
    o = office(3)
    x = o.serving(2)[0]
    product, last = o.product(x), in_days(o, 3)
    for r in o.chain.price_rules:
        o.chain.price_rules.delete(r.id)
    wider: tuple[tuple[dict[str, str], int], ...] = (
        ({}, 5),
        ({"store_id": x.store_id}, 10),
        ({"department": product.department}, 15),
        ({"department": product.department, "store_id": x.store_id}, 20),
        ({"product_id": product.id}, 25),
        ({"product_id": product.id, "store_id": x.store_id}, 30),
    )
    for target, percent in wider:
        o.ok("set_price_rule", percent_off=percent, ends_on=last, **target)
        expected = (product.price * (100 - percent) + 50) // 100
        assert price(o, product.id, x.store_id) == expected
    o.ok("set_price_rule", percent_off=0, ends_on=last, **wider[-1][0])
    assert price(o, product.id, x.store_id) == product.price
    o.ok("set_price_rule", percent_off=30, ends_on=last, starts_on=last, **wider[-1][0])
    assert price(o, product.id, x.store_id) == (product.price * 75 + 50) // 100


def test_a_broad_rule_stops_at_cost() -> None:
    o = office(4)
    for r in o.chain.price_rules:
        o.chain.price_rules.delete(r.id)
    o.ok("set_price_rule", percent_off=70, ends_on=in_days(o, 0))
    x = o.serving(2)[0]
    assert price(o, x.product_id, x.store_id) == o.product(x).cost


def test_a_rule_replaces_the_one_for_the_same_goods_and_store() -> None:
    o = office(5)
    made = o.ok("set_price_rule", department="toys", percent_off=11, ends_on=in_days(o, 5))
    again = o.ok("set_price_rule", department="toys", percent_off=12, ends_on=in_days(o, 6))
    assert made["rule_id"] == again["rule_id"]
    listed = o.ok("list_price_rules", department="toys", limit=50)["rules"]
    of_all = [r for r in listed if (r["goods"], r["store"]) == ("toys", "all stores")]
    assert [(r["percent_off"], r["ends_on"]) for r in of_all] == [(12, in_days(o, 6))]


# -- the server as a whole -----------------------------------------------------------------------


def test_seeded_chains_are_varied_and_name_their_rows_apart() -> None:
    for seed in range(20):
        o = office(seed)
        for table in (o.chain.stores, o.chain.products, o.chain.transfers, o.chain.reservations):
            said = [row.label.format(**{f: getattr(row, f) for f in slots(row)}) for row in table]
            assert len(set(said)) == len(said)
        for status in ("active", "expired", "collected", "cancelled"):
            assert o.reservations(status)
        assert {"open", "refurbishing"} <= {store_status(o.chain, s) for s in o.chain.stores}


def slots(row: object) -> tuple[str, ...]:
    names: tuple[str, ...] = getattr(row, "__struct_fields__", ())
    return names


def test_the_invariants_do_notice_what_is_wrong() -> None:
    o = office(0)
    chain = o.chain
    x = next(x for x in chain.stock_levels if o.free(x) > 2 and o.room(x) > 2)
    chain.stock_levels.update(x, on_hand=x.on_hand - 1)  # at the store, and over all stores
    t = o.transfers("cancelled")[0]
    chain.transfers.update(t, status="received")  # not all is received, and its source is short
    r = o.reservations("collected")[0]
    chain.reservations.update(r, status="cancelled")
    narrow = next(r for r in chain.price_rules if r.product_id)
    chain.price_rules.update(narrow, percent_off=70)
    found = " ".join(violations(chain))
    assert f"stock {x.id} has" in found
    assert f"product {x.product_id}: -1 units came from nowhere" in found
    assert f"transfer {t.id} is received with 0 of {t.quantity}" in found
    assert f"reservation {r.id} is cancelled and has 1 sales" in found
    assert f"price rule {narrow.id} is below cost" in found


# -- units ---------------------------------------------------------------------------------------


def units(chain: Chain, product_id: str) -> int:
    """Units of a product in all stores and between them."""
    levels = chain.stock_levels.where(product_id=product_id)
    ends = {x.id for x in levels}
    way = [t for t in chain.transfers if t.source_id in ends and t.status == "in_transit"]
    return sum(x.on_hand for x in levels) + sum(t.quantity - t.received for t in way)


def test_a_transfer_is_held_then_on_its_way_then_there() -> None:
    o = office(1)
    ends = o.movable(lambda a, b: o.free(a) >= 5 and o.room(b) >= 5 and not o.store(b).refurbishing)
    levels = o.chain.stock_levels
    at = [levels.where(product_id=ends["product_id"], store_id=ends[e])[0] for e in list(ends)[1:]]
    source, target = at
    free, total = o.free(source), units(o.chain, ends["product_id"])
    made = o.ok("request_stock_transfer", **ends, quantity=5)
    assert (o.free(source), levels[source.id].on_hand) == (free - 5, source.on_hand)
    which = {"transfer_id": made["transfer_id"]}
    o.ok("update_stock_transfer", **which, action="ship")
    assert (o.free(source), levels[source.id].on_hand) == (free - 5, source.on_hand - 5)
    some = o.ok("update_stock_transfer", **which, action="receive", units=2)
    assert (some["status"], some["to_on_hand"]) == ("in_transit", target.on_hand + 2)
    rest = o.ok("update_stock_transfer", **which, action="receive")
    assert (rest["status"], rest["received"], rest["to_on_hand"]) == (
        *("received", 5),
        target.on_hand + 5,
    )
    assert units(o.chain, ends["product_id"]) == total


def test_a_cancelled_transfer_frees_its_units_and_its_shelf() -> None:
    o = office(2)
    t = o.transfers("requested")[0]
    levels = o.chain.stock_levels
    free, room = o.free(levels[t.source_id]), o.room(levels[t.target_id])
    o.ok("update_stock_transfer", transfer_id=t.id, action="cancel")
    assert o.free(levels[t.source_id]) == free + t.quantity
    assert o.room(levels[t.target_id]) == room + t.quantity


def test_a_sale_and_a_delivery_change_the_units_of_the_chain() -> None:
    o = office(3)
    x = next(x for x in o.serving(3) if o.room(x) >= 4)
    total, unit = units(o.chain, x.product_id), price(o, x.product_id, x.store_id)
    sold = o.ok("record_stock_movement", **o.where(x), kind="sale", quantity=3)
    assert (cents(sold["total"]), sold["on_hand"]) == (3 * unit, x.on_hand - 3)
    came = o.ok("record_stock_movement", **o.where(x), kind="delivery", quantity=4)
    assert cents(came["total"]) == 4 * o.product(x).cost
    assert units(o.chain, x.product_id) == total + 1


def test_a_reservation_keeps_units_and_price_until_it_is_collected() -> None:
    o = office(4)
    x = o.serving(4)[0]
    free, unit = o.free(x), price(o, x.product_id, x.store_id)
    made = o.ok("reserve_store_stock", **o.where(x), customer="Ada  Byron", quantity=2, hours=3)
    assert (made["customer"], cents(made["total"]), o.free(x)) == ("Ada Byron", 2 * unit, free - 2)
    assert datetime.fromisoformat(made["expires_at"]) == world(4).cast.start + timedelta(hours=3)
    o.ok("set_price_rule", percent_off=1, ends_on=in_days(o, 9), **o.where(x))
    got = o.ok("update_store_reservation", reservation_id=made["reservation_id"], action="collect")
    assert (got["status"], got["total"]) == ("collected", made["total"])
    assert (o.free(x), o.chain.stock_levels[x.id].on_hand) == (free - 2, x.on_hand - 2)


def test_an_expired_reservation_frees_its_units() -> None:
    o = office(5)
    x, y = o.serving(4)[:2]
    free = o.free(x)
    made = o.ok("reserve_store_stock", **o.where(x), customer="Ada Byron", quantity=2, hours=1)
    for i in range(59):  # the reservation itself took the first minute
        assert o.free(x) == free - 2
        o.ok("set_price_rule", percent_off=1, ends_on=in_days(o, 9 + i), store_id=y.store_id)
    assert o.free(x) == free
    listed = o.ok("list_store_reservations", customer="ada byron", status="expired")
    assert [r["reservation_id"] for r in listed["reservations"]] == [made["reservation_id"]]


def test_an_extension_adds_a_day() -> None:
    o = office(6)
    r = next(r for r in o.reservations("active") if not r.extended)
    got = o.ok("update_store_reservation", reservation_id=r.id, action="extend")
    moved = datetime.fromisoformat(got["expires_at"]) - datetime.fromisoformat(r.expires_at)
    assert moved == timedelta(days=1)


def test_two_sales_in_either_order_change_the_same() -> None:
    changes = []
    for turn in (1, -1):
        o = office(7)
        for x in o.serving(3)[:2][::turn]:
            o.ok("record_stock_movement", **o.where(x), kind="sale", quantity=2)
        changes.append(o.session.changes())
    assert changes[0] == changes[1]


# -- looking -------------------------------------------------------------------------------------


def test_pages_of_a_search_hold_every_row_once_by_product_and_store() -> None:
    o = office(8)
    seen, cursor = [], ""
    while True:
        got = o.ok("search_store_stock", cursor=cursor, limit=50)
        seen += [(s["product"], s["store"]) for s in got["stock"]]
        cursor = got["next_cursor"]
        if not cursor:
            break
    assert len(set(seen)) == len(seen) == got["total"] == len(o.chain.stock_levels)
    assert seen == sorted(seen)


def test_the_levels_of_a_search_tell_available_low_and_depleted_apart() -> None:
    o = office(9)
    totals = {
        level: o.ok("search_store_stock", level=level)["total"]
        for level in ("available", "low", "depleted")
    }
    free = {x.id: o.free(x) for x in o.chain.stock_levels}
    assert totals["available"] + totals["depleted"] == len(free)
    assert totals["depleted"] == Counter(free.values())[0] > 0
    low = [x for x in o.chain.stock_levels if 0 < free[x.id] <= x.reorder_at]
    assert totals["low"] == len(low) > 0


def test_what_is_held_is_the_same_counted_one_by_one_and_all_at_once() -> None:
    chain = office(10).chain
    promised = all_held(chain)
    assert all(promised[x.id] == held(chain, x) for x in chain.stock_levels)
    assert sum(promised.values()) > 0


def test_transfers_are_found_by_their_ends_and_the_newest_first() -> None:
    o = office(11)
    t = o.transfers("in_transit")[0]
    target = o.chain.stock_levels[t.target_id].store_id
    listed = o.ok("list_stock_transfers", to_store_id=target, query=t.product.lower(), limit=50)
    assert t.id in [x["transfer_id"] for x in listed["transfers"]]
    assert all(x["to_store"] == t.to_store for x in listed["transfers"])
    every = o.ok("list_stock_transfers", limit=50)["transfers"]
    times = [o.chain.transfers[x["transfer_id"]].requested_at for x in every]
    assert times == sorted(times, reverse=True)


def test_stores_are_found_by_city_kind_and_name() -> None:
    o = office(12)
    depot = o.ok("search_stores", kind="warehouse")["stores"]
    assert len(depot) == 1
    found = o.ok("search_stores", city=depot[0]["city"].upper(), query="depot")["stores"]
    assert found == depot
    assert o.ok("search_stores", status="refurbishing")["total"] == 2
