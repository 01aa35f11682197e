"""The brokerage: fills, resting orders, cash and positions, and how natural its worlds are."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from provegym.seeding import rng
from provegym.servers.trading import SERVER
from provegym.servers.trading.state import commission, violations
from provegym.servers.trading.venues import (
    Exchange,
    is_isin,
    is_open,
    isin,
    next_close,
    next_open,
)
from provegym.world.fields import money
from provegym.world.sample import arguments
from tests.servers.talk import agree
from tests.servers.trading_desk import Floor, floor

# -- exchanges and numbers -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("exchange", "day", "opens", "closes"),
    [
        ("LSE", "2026-03-27", "08:00", "16:30"),  # the last weekday of winter time
        ("LSE", "2026-03-30", "07:00", "15:30"),  # the first one of summer time
        ("XETRA", "2026-03-27", "08:00", "16:30"),
        ("XETRA", "2026-03-30", "07:00", "15:30"),
        ("NYSE", "2026-03-05", "14:30", "21:00"),  # summer time begins on 8 March there
        ("NASDAQ", "2026-03-10", "13:30", "20:00"),
    ],
)
def test_sessions_follow_the_exchanges_own_clock(
    exchange: Exchange, day: str, opens: str, closes: str
) -> None:
    at_open, at_close = (datetime.fromisoformat(f"{day}T{t}:00+00:00") for t in (opens, closes))
    midnight = datetime.fromisoformat(f"{day}T00:00:00+00:00")
    assert next_open(exchange, midnight) == at_open
    assert next_close(exchange, at_open) == at_close
    assert is_open(exchange, at_open)
    assert not is_open(exchange, at_close)


def test_the_session_after_friday_is_mondays() -> None:
    friday = datetime(2026, 6, 5, 18, tzinfo=UTC)
    assert next_open("LSE", friday) == datetime(2026, 6, 8, 7, tzinfo=UTC)
    assert not is_open("LSE", datetime(2026, 6, 6, 10, tzinfo=UTC))


@pytest.mark.parametrize("known", ["US0378331005", "GB0002634946", "DE0007164600"])
def test_isin_check_digits_are_those_of_real_securities(known: str) -> None:
    assert is_isin(known)
    assert isin(known[:2], int(known[2:11])) == known if known[2:11].isdecimal() else True
    assert not is_isin(known[:-1] + str((int(known[-1]) + 1) % 10))


def test_commission_is_a_twentieth_of_a_percent_and_at_least_a_dollar() -> None:
    assert [commission(v) for v in (1, 2000_00, 2000_01, 10_000_00)] == [100, 100, 101, 500]


# -- trading -------------------------------------------------------------------------------------


def _buy(f: Floor, **given: Any) -> dict[str, Any]:
    base = {"portfolio_id": f.portfolio().id, "side": "buy", "quantity": 10}
    return {**base, "instrument_id": f.instrument().id, "order_type": "market", **given}


def _sell(f: Floor, **given: Any) -> dict[str, Any]:
    held = f.held()
    ids = {"portfolio_id": held.portfolio_id, "instrument_id": held.instrument_id}
    return {**ids, "side": "sell", "quantity": 2, "order_type": "market", **given}


def test_a_market_purchase_pays_the_ask_and_the_fee_at_once() -> None:
    f = floor()
    instrument, portfolio = f.instrument(), f.portfolio()
    f.set_path(instrument.id, 50_00)
    got = f.ok("place_trade_order", **_buy(f, instrument_id=instrument.id, quantity=100))
    assert got["order"]["status"] == "filled"
    assert (got["fill_price"], got["fee"]) == ("50.01", "2.51")  # 5001.00 / 2000, rounded up
    assert f.desk.portfolios[portfolio.id].cash == portfolio.cash - 5001_00 - 2_51
    shown = f.ok("list_positions", portfolio_id=portfolio.id, query=instrument.name)
    assert shown["positions"][0]["quantity"] >= 100


def test_a_sale_takes_the_average_cost_out_and_tells_the_profit() -> None:
    f = floor()
    instrument, portfolio = f.instrument(), f.portfolio()
    before = f.desk.position(portfolio.id, instrument.id)
    assert before is None
    f.set_path(instrument.id, 20_00)
    f.ok("place_trade_order", **_buy(f, instrument_id=instrument.id, quantity=10))
    f.set_path(instrument.id, 30_00)
    f.ok("place_trade_order", **_buy(f, instrument_id=instrument.id, quantity=10))
    f.set_path(instrument.id, 40_00)
    sale = _buy(f, instrument_id=instrument.id, side="sell", quantity=5)
    got = f.ok("place_trade_order", **sale)
    # bought at 20.01 and 30.01, so 25.01 on average; sold at 39.99: 5 x 14.98
    fill = f.ok("list_trade_fills", order_id=got["order"]["id"])["fills"][0]
    assert (fill["price"], fill["profit"]) == ("39.99", "74.90")
    held = f.desk.position(portfolio.id, instrument.id)
    assert held is not None
    assert (held.quantity, held.cost) == (15, 15 * 25_01)


def test_selling_all_ends_the_position() -> None:
    f = floor()
    held = f.held()
    f.ok("place_trade_order", **_sell(f, quantity=held.quantity))
    assert f.desk.position(held.portfolio_id, held.instrument_id) is None
    assert list(violations(f.desk)) == []


def test_a_limit_rests_until_the_price_crosses_and_then_trades_at_the_better_price() -> None:
    f = floor()
    instrument = f.instrument()
    f.set_path(instrument.id, 50_00, 48_50, 47_00)
    portfolio, free = f.portfolio(), f.free(f.portfolio())
    terms = {"order_type": "limit", "price": "48.00", "time_in_force": "gtc"}
    got = f.ok("place_trade_order", **_buy(f, instrument_id=instrument.id, **terms))
    order_id = got["order"]["id"]
    assert got["order"]["status"] == "working"
    assert f.free(portfolio) == free - 480_00 - 1_00
    f.wait(30)
    f.nudge()
    assert f.desk.orders[order_id].status == "working"
    f.wait(30)
    f.nudge()
    assert f.desk.orders[order_id].status == "filled"
    assert f.desk.fills.where(order_id=order_id)[0].price == 47_01
    assert f.free(portfolio) == free - 470_10 - 1_00 - 2  # less the two cents of the nudges


def test_a_limit_that_crosses_at_once_does_not_rest() -> None:
    f = floor()
    instrument = f.instrument()
    f.set_path(instrument.id, 50_00)
    got = f.ok(
        "place_trade_order",
        **_buy(f, instrument_id=instrument.id, order_type="limit", price="55.00"),
    )
    assert (got["order"]["status"], got["fill_price"]) == ("filled", "50.01")


def test_a_stop_sells_when_the_price_falls_to_it_at_whatever_is_bid_then() -> None:
    f = floor()
    held = f.held()
    f.set_path(held.instrument_id, 50_00, 42_00)
    got = f.ok("place_trade_order", **_sell(f, order_type="stop", price="45.00"))
    f.wait(30)
    f.nudge()
    fill = f.desk.fills.where(order_id=got["order"]["id"])[0]
    assert fill.price == 41_99


def test_a_stop_purchase_that_became_too_dear_is_rejected() -> None:
    f = floor()
    instrument, portfolio = f.instrument(), f.portfolio()
    f.set_path(instrument.id, 100_00, 190_00)
    quantity = (f.free(portfolio) - 50_00) // 110_00
    terms = {"order_type": "stop", "price": "102.00", "quantity": quantity}
    got = f.ok("place_trade_order", **_buy(f, instrument_id=instrument.id, **terms))
    f.wait(30)
    f.nudge()
    assert f.desk.orders[got["order"]["id"]].status == "rejected"
    assert list(violations(f.desk)) == []


def test_a_day_order_lapses_at_the_close_and_frees_its_cash() -> None:
    f = floor()
    instrument, portfolio = f.instrument(), f.portfolio()
    f.set_path(instrument.id, 50_00)
    terms = {"order_type": "limit", "price": "30.00", "time_in_force": "day"}
    order_id = f.ok("place_trade_order", **_buy(f, instrument_id=instrument.id, **terms))["order"][
        "id"
    ]
    closes = next_close(instrument.exchange, f.desk.now)
    f.wait(int((closes - f.desk.now).total_seconds()) // 60 - 2)
    f.nudge()
    assert f.desk.orders[order_id].status == "working"
    f.nudge()  # ends at the very minute of the close
    assert f.desk.orders[order_id].status == "expired"
    assert all(o.id != order_id for o in f.desk.working(portfolio_id=portfolio.id))
    assert f.refused("cancel_trade_order", order_id=order_id)["code"] == "order_expired"


def test_orders_of_a_closed_exchange_wait_for_its_opening() -> None:
    f = floor()
    instrument = f.instrument(opened=False)
    f.set_path(instrument.id, 50_00)
    call = _buy(f, instrument_id=instrument.id, order_type="limit", price="55.00")
    order_id = f.ok("place_trade_order", **call)["order"]["id"]
    assert f.desk.orders[order_id].status == "working"
    opens = next_open(instrument.exchange, f.desk.now)
    f.wait(int((opens - f.desk.now).total_seconds()) // 60)
    f.nudge()
    assert f.desk.orders[order_id].status == "filled"
    assert f.desk.fills.where(order_id=order_id)[0].filled_at == opens.isoformat()


def test_a_changed_order_trades_at_once_where_its_new_price_allows() -> None:
    f = floor()
    instrument = f.instrument()
    f.set_path(instrument.id, 50_00)
    call = _buy(f, instrument_id=instrument.id, order_type="limit", price="40.00")
    placed = f.ok("place_trade_order", **call)["order"]
    got = f.ok("modify_trade_order", order_id=placed["id"], quantity=12, price="50.50")
    assert (got["order"]["status"], got["order"]["filled"], got["fill_price"]) == (
        *("filled", 12),
        "50.01",
    )


def test_cancelling_keeps_what_has_traded() -> None:
    f = floor()
    order = f.order(test=lambda o: o.filled > 0)
    got = f.ok("cancel_trade_order", order_id=order.id)
    assert (got["order"]["status"], got["order"]["filled"]) == ("cancelled", order.filled)
    assert list(violations(f.desk)) == []


def test_cash_moves_between_portfolios_and_none_is_lost() -> None:
    f = floor()
    source, target = f.portfolio(), f.portfolio(kind="custodial")
    total = sum(p.cash for p in f.desk.portfolios)
    call = {"from_portfolio_id": source.id, "to_portfolio_id": target.id, "amount": "123.45"}
    got = f.ok("transfer_portfolio_cash", **call)
    assert got["source"]["cash"] == money(source.cash - 123_45)
    assert got["target"]["cash"] == money(target.cash + 123_45)
    assert sum(p.cash for p in f.desk.portfolios) == total


def test_an_alert_goes_off_when_its_price_is_reached() -> None:
    f = floor()
    instrument = f.instrument()
    f.set_path(instrument.id, 50_00, 52_00)
    call = {"instrument_id": instrument.id, "direction": "above", "price": "51.00"}
    made = f.ok("create_price_alert", **call)
    assert made["status"] == "armed"
    f.wait(30)
    f.nudge()
    assert f.desk.alerts[made["id"]].status == "triggered"
    assert made["id"] in [
        a["id"] for a in f.ok("list_price_alerts", status="triggered", limit=50)["alerts"]
    ]


def test_readers_see_orders_matched_against_the_prices_they_are_shown() -> None:
    f = floor()
    instrument = f.instrument()
    f.set_path(instrument.id, 50_00, 40_00)
    call = _buy(f, instrument_id=instrument.id, order_type="limit", price="45.00")
    f.wait(29)
    order_id = f.ok("place_trade_order", **call)["order"]["id"]  # this write ends at 09:30
    assert f.ok("get_stock_quote", instrument_id=instrument.id)["last"] == "40.00"
    assert f.desk.orders[order_id].status == "filled"


def test_the_same_writes_in_either_order_give_the_same_changes() -> None:
    alert = arguments(SERVER.tools["create_price_alert"], floor().desk, rng(1, "alert"))
    writes = [
        ("place_trade_order", _buy(floor())),
        ("place_trade_order", _sell(floor())),
        ("cancel_trade_order", {"order_id": floor().order().id}),
        ("create_price_alert", alert),
    ]
    one, two = floor(), floor()
    agree(one, writes, two)
    assert len(one.session.changes()["trading.fills"]) == 2


# -- what is shown -------------------------------------------------------------------------------


def test_searches_find_by_name_symbol_and_isin() -> None:
    f = floor()
    wanted = f.instrument()
    for query in (wanted.name, wanted.symbol.lower(), wanted.isin):
        found = f.ok("search_instruments", query=query)["instruments"]
        assert wanted.id in [i["id"] for i in found]


def test_history_holds_the_days_asked_for_newest_first() -> None:
    f = floor()
    instrument = f.instrument()
    days = sorted(b.date for b in f.desk.daily_bars.where(instrument_id=instrument.id))
    call = {"instrument_id": instrument.id, "since": days[2], "until": days[6], "limit": 50}
    got = f.ok("get_price_history", **call)
    assert [d["date"] for d in got["days"]] == days[6:1:-1]
    for day in got["days"]:
        prices = [float(day[k]) for k in ("low", "open", "close", "high")]
        assert prices[0] == min(prices)
        assert prices[3] == max(prices)


def test_the_last_close_of_the_history_is_the_quotes_previous_close() -> None:
    f = floor()
    for instrument in list(f.desk.instruments)[:8]:
        bar = f.ok("get_price_history", instrument_id=instrument.id)["days"][0]
        quote = f.ok("get_stock_quote", instrument_id=instrument.id)
        assert bar["close"] == quote["previous_close"]
        assert float(quote["bid"]) < float(quote["last"]) < float(quote["ask"])


# -- what holds in every world -------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(12))
def test_a_seeded_world_is_varied(seed: int) -> None:
    f = floor(seed)
    assert {o.status for o in f.desk.orders} == {
        *("working", "filled", "cancelled", "expired", "rejected"),
    }
    names = [i.name for i in f.desk.instruments]
    assert len(set(names)) == len(names) == len({i.symbol for i in f.desk.instruments})
    assert min(f.free(p) for p in f.desk.portfolios) < 200_00
    assert any(i.status == "halted" for i in f.desk.instruments)


_RANK = {"working": 0, "filled": 1, "cancelled": 1, "expired": 1, "rejected": 1}
