"""Each refusal of the brokerage occurs in its worlds as seeded; broken books are noticed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from provegym.servers.trading import SERVER
from provegym.servers.trading.state import violations
from provegym.world.fields import money
from tests.servers.talk import declared
from tests.servers.trading_desk import Floor, floor

Scenario = Callable[[Floor], dict[str, Any]]


def _order(f: Floor, **given: Any) -> dict[str, Any]:
    base = {"portfolio_id": f.portfolio().id, "instrument_id": f.instrument().id}
    return {**base, "side": "buy", "quantity": 1, "order_type": "market", **given}


def _at(f: Floor, percent: int, **given: Any) -> dict[str, Any]:
    price = money(f.price(f.instrument().id) * percent // 100)
    return _order(f, price=price, **given)


def _too_many(f: Floor) -> dict[str, Any]:
    held = f.held()
    ids = {"portfolio_id": held.portfolio_id, "instrument_id": held.instrument_id}
    return {**ids, "side": "sell", "quantity": held.quantity + 1, "order_type": "market"}


def _too_dear(f: Floor) -> dict[str, Any]:
    ask = f.bid_ask(f.instrument().id)[1]
    return _order(f, quantity=f.free(f.portfolio()) // ask + 1)


def _change(f: Floor, side: str = "buy", **given: Any) -> dict[str, Any]:
    order = f.order(
        test=lambda o: (
            o.side == side
            and o.order_type == ("limit" if side == "buy" else o.order_type)
            and f.desk.instruments[o.instrument_id].status == "trading"
            and f.desk.portfolios[o.portfolio_id].status == "active"
        )
    )
    return {"order_id": order.id, **given}


def _stop(f: Floor) -> dict[str, Any]:
    order = f.order(
        test=lambda o: (
            o.order_type == "stop"
            and o.side == "sell"
            and f.desk.instruments[o.instrument_id].status == "trading"
        )
    )
    return {"order_id": order.id, "price": money(f.price(order.instrument_id) * 102 // 100)}


def _on_halted(f: Floor) -> dict[str, Any]:
    order = f.order(
        test=lambda o: (
            f.desk.instruments[o.instrument_id].status == "halted"
            and (o.side == "sell" or f.desk.portfolios[o.portfolio_id].status == "active")
        )
    )
    return {"order_id": order.id, "quantity": order.quantity - 1}


def _in_restricted(f: Floor) -> dict[str, Any]:
    restricted = f.portfolio(status="restricted").id
    order = f.order(test=lambda o: o.portfolio_id == restricted and o.side == "buy")
    return {"order_id": order.id, "quantity": order.quantity + 1}


def _same(f: Floor) -> dict[str, Any]:
    order = f.order()
    return {"order_id": order.id, "quantity": order.quantity}


def _below_filled(f: Floor) -> dict[str, Any]:
    order = f.order(test=lambda o: o.filled > 0)
    return {"order_id": order.id, "quantity": order.filled}


def _of(status: str, **given: Any) -> Scenario:
    return lambda f: {"order_id": f.order(status).id, **given}


def _cash(f: Floor, **given: Any) -> dict[str, Any]:
    ids = {"from_portfolio_id": f.portfolio().id, "to_portfolio_id": f.portfolio(kind="joint").id}
    return {**ids, "amount": "5.00", **given}


def _alert(f: Floor, percent: int = 110, **given: Any) -> dict[str, Any]:
    instrument = f.instrument()
    price = money(f.price(instrument.id) * percent // 100)
    return {"instrument_id": instrument.id, "direction": "above", "price": price, **given}


def _known_alert(f: Floor) -> dict[str, Any]:
    alert = f.desk.alerts.where(status="armed")[0]
    return {
        "instrument_id": alert.instrument_id,
        "direction": alert.direction,
        "price": money(alert.price),
    }


SCENARIOS: dict[tuple[str, str], Scenario] = {
    ("get_stock_quote", "not_found"): lambda f: {"instrument_id": "ins_none"},
    ("get_price_history", "not_found"): lambda f: {"instrument_id": "ins_none"},
    ("create_price_alert", "not_found"): lambda f: _alert(f, instrument_id="ins_none"),
    ("create_price_alert", "price_out_of_band"): lambda f: _alert(f, 201),
    ("create_price_alert", "already_reached"): lambda f: _alert(f, 100),
    ("create_price_alert", "alert_exists"): _known_alert,
    ("list_positions", "not_found"): lambda f: {"portfolio_id": "pf_none"},
    ("list_trade_orders", "not_found"): lambda f: {"portfolio_id": "pf_none"},
    ("list_trade_fills", "not_found"): lambda f: {"order_id": "ord_none"},
    ("transfer_portfolio_cash", "not_found"): lambda f: _cash(f, to_portfolio_id="pf_none"),
    ("transfer_portfolio_cash", "retirement_locked"): lambda f: _cash(
        f, from_portfolio_id=f.portfolio(kind="retirement").id
    ),
    ("transfer_portfolio_cash", "insufficient_buying_power"): lambda f: _cash(
        f, amount=money(f.free(f.portfolio()) + 1)
    ),
    ("place_trade_order", "not_found"): lambda f: _order(f, instrument_id="ins_none"),
    ("place_trade_order", "instrument_halted"): lambda f: _order(
        f, instrument_id=next(i.id for i in f.desk.instruments if i.status == "halted")
    ),
    ("place_trade_order", "market_closed"): lambda f: _order(
        f, instrument_id=f.instrument(opened=False).id
    ),
    ("place_trade_order", "portfolio_restricted"): lambda f: _order(
        f, portfolio_id=f.portfolio(status="restricted").id
    ),
    ("place_trade_order", "price_out_of_band"): lambda f: _at(f, 49, order_type="limit"),
    ("place_trade_order", "stop_already_passed"): lambda f: _at(f, 99, order_type="stop"),
    ("place_trade_order", "insufficient_buying_power"): _too_dear,
    ("place_trade_order", "insufficient_holdings"): _too_many,
    ("modify_trade_order", "not_found"): lambda f: {"order_id": "ord_none", "quantity": 3},
    ("modify_trade_order", "order_filled"): _of("filled", quantity=3),
    ("modify_trade_order", "order_cancelled"): _of("cancelled", quantity=3),
    ("modify_trade_order", "order_expired"): _of("rejected", quantity=3),
    ("modify_trade_order", "no_change"): _same,
    ("modify_trade_order", "below_filled"): _below_filled,
    ("modify_trade_order", "instrument_halted"): _on_halted,
    ("modify_trade_order", "portfolio_restricted"): _in_restricted,
    ("modify_trade_order", "price_out_of_band"): lambda f: _change(f, price="0.01"),
    ("modify_trade_order", "stop_already_passed"): _stop,
    ("modify_trade_order", "insufficient_buying_power"): lambda f: _change(f, quantity=100_000),
    ("modify_trade_order", "insufficient_holdings"): lambda f: _change(f, "sell", quantity=100_000),
    ("cancel_trade_order", "not_found"): lambda f: {"order_id": "ord_none"},
    ("cancel_trade_order", "order_filled"): _of("filled"),
    ("cancel_trade_order", "order_cancelled"): _of("cancelled"),
    ("cancel_trade_order", "order_expired"): _of("expired"),
}


@pytest.mark.parametrize(("tool", "code"), declared(SERVER))
@pytest.mark.parametrize("seed", [0, 1, 11])
def test_each_declared_refusal_occurs_in_a_seeded_world(tool: str, code: str, seed: int) -> None:
    f = floor(seed)
    assert f.refused(tool, **SCENARIOS[tool, code](f))["code"] == code


def test_what_is_needed_and_what_is_there_are_told() -> None:
    f = floor()
    error = f.refused("place_trade_order", **_too_many(f))
    assert error["details"]["available"] == f.held().quantity
    error = f.refused("place_trade_order", **_too_dear(f))
    assert error["details"]["available"] == money(f.free(f.portfolio()))


def test_shares_on_offer_cannot_be_offered_twice() -> None:
    f = floor()
    held = f.held()
    ids = {"portfolio_id": held.portfolio_id, "instrument_id": held.instrument_id}
    price = money(f.price(held.instrument_id) * 12 // 10)
    terms = {"side": "sell", "order_type": "limit", "price": price}
    f.ok("place_trade_order", **ids, **terms, quantity=held.quantity - 1)
    error = f.refused("place_trade_order", **ids, **terms, quantity=2)
    assert (error["code"], error["details"]["available"]) == ("insufficient_holdings", 1)


@pytest.mark.parametrize(
    ("given", "code"),
    [
        ({"price": "5.00"}, "price_not_allowed"),
        ({"order_type": "limit"}, "price_required"),
        ({"order_type": "stop", "price": "-1.00"}, "price_required"),
    ],
)
def test_a_price_belongs_to_limits_and_stops_alone(given: dict[str, Any], code: str) -> None:
    f = floor()
    assert f.refused("place_trade_order", **_order(f, **given))["code"] == code


def test_cash_moves_in_positive_amounts_between_two_portfolios() -> None:
    f = floor()
    error = f.refused("transfer_portfolio_cash", **_cash(f, amount="0.00"))
    assert error["code"] == "invalid_amount"
    call = _cash(f, to_portfolio_id=f.portfolio().id)
    assert f.refused("transfer_portfolio_cash", **call)["code"] == "same_portfolio"


# -- the invariants themselves -------------------------------------------------------------------


def _invent_cash(f: Floor) -> None:
    f.desk.portfolios.update(f.portfolio(), cash=f.portfolio().cash + 1)


def _lose_a_fill(f: Floor) -> None:
    f.desk.fills.delete(next(iter(f.desk.fills)).id)


def _pay_twice(f: Floor) -> None:
    move = next(m for m in f.desk.cash_movements if m.fill_id)
    other = next(m for m in f.desk.cash_movements if m.fill_id not in ("", move.fill_id))
    f.desk.cash_movements.update(other, fill_id=move.fill_id)


def _grow_position(f: Floor) -> None:
    held = next(iter(f.desk.positions))
    f.desk.positions.update(held, quantity=held.quantity + 1)


def _finish_early(f: Floor) -> None:
    f.desk.orders.update(f.order(), status="filled")


def _oversell(f: Floor) -> None:
    order = f.order(test=lambda o: o.side == "sell")
    f.desk.orders.update(order, quantity=100_000)


def _overspend(f: Floor) -> None:
    order = f.order(test=lambda o: o.side == "buy")
    f.desk.orders.update(order, quantity=100_000)


def _miss_a_cross(f: Floor) -> None:
    f.ok(
        "place_trade_order",
        **_order(f, order_type="limit", price=money(f.price(f.instrument().id) * 9 // 10)),
    )
    order = max(f.desk.working(), key=lambda o: o.placed_at)
    f.desk.orders.update(order, price=order.price * 2)


def _sleep_over_alert(f: Floor) -> None:
    alert = f.desk.alerts.where(status="triggered")[0]
    f.desk.alerts.update(alert, status="armed")


@pytest.mark.parametrize(
    ("harm", "said"),
    [
        (_invent_cash, "movements"),
        (_lose_a_fill, "fills that do not exist"),
        (_pay_twice, "paid twice"),
        (_grow_position, "not the sums of fills"),
        (_finish_early, "is filled at"),
        (_oversell, "more shares are offered"),
        (_overspend, "set aside more"),
        (_miss_a_cross, "has crossed"),
        (_sleep_over_alert, "is armed though"),
    ],
)
def test_broken_books_are_noticed(harm: Callable[[Floor], None], said: str) -> None:
    f = floor()
    harm(f)
    assert any(said in line for line in violations(f.desk))
