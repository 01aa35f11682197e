"""Plausible arguments for each tool, read off the rows of a session. An empty dict: none found."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from random import Random
from typing import Any, TypeVar

from provegym.servers.trading.market import free_cash, sellable
from provegym.servers.trading.state import (
    Desk,
    Instrument,
    Order,
    Portfolio,
    Position,
    mid,
    set_aside,
)
from provegym.servers.trading.venues import is_open
from provegym.world.fields import money

Arguments = dict[str, Any]
T = TypeVar("T")

SLIP = 0.05
"""How often a row is chosen without a look at its state."""


def _maybe(rnd: Random, **fields: Any) -> Arguments:
    """Each of the fields with a chance of 30 %."""
    return {name: value for name, value in fields.items() if rnd.random() < 0.3}


def _pick(rnd: Random, good: Sequence[T], every: Sequence[T]) -> T:
    """One of the good rows, now and then any row, as people forget what is closed or halted."""
    return rnd.choice(every if not good or rnd.random() < SLIP else good)


def _some_instrument(desk: Desk, rnd: Random) -> Instrument:
    return rnd.choice(list(desk.instruments))


def _word(name: str) -> str:
    """What people type to find a name: its first word."""
    return name.split()[0].rstrip(",")


def instruments(desk: Desk, rnd: Random) -> Arguments:
    """A name, a symbol or a group to look for."""
    wanted = _some_instrument(desk, rnd)
    if rnd.random() < 0.5:
        return {"query": rnd.choice((wanted.name, _word(wanted.name), wanted.symbol))}
    picked = rnd.choice(("sector", "exchange", "kind"))
    return {picked: getattr(wanted, picked)}


def history(desk: Desk, rnd: Random) -> Arguments:
    """An instrument and a day of the last two weeks."""
    days = [(desk.now - timedelta(days=n)).date().isoformat() for n in range(1, 15)]
    since, until = sorted(rnd.sample(days, 2))
    return {
        "instrument_id": _some_instrument(desk, rnd).id,
        **_maybe(rnd, since=since, until=until),
    }


def portfolios(desk: Desk, rnd: Random) -> Arguments:
    """A portfolio's name to look for, at times."""
    return _maybe(rnd, query=rnd.choice(list(desk.portfolios)).name)


def positions(desk: Desk, rnd: Random) -> Arguments:
    """A portfolio that holds something, or a name that is held."""
    held = list(desk.positions)
    if not held or rnd.random() < 0.2:
        return {}
    wanted = rnd.choice(held)
    if rnd.random() < 0.5:
        return {"portfolio_id": wanted.portfolio_id}
    return {"query": desk.instruments[wanted.instrument_id].name}


def transfer(desk: Desk, rnd: Random) -> Arguments:
    """Two portfolios and an amount that the first one has free."""
    every = list(desk.portfolios)
    free = {p.id: free_cash(desk, p) for p in every}
    sources = [p for p in every if p.kind != "retirement" and free[p.id] >= 20_00]
    source = _pick(rnd, sources, every)
    target = rnd.choice([p for p in every if p.id != source.id])
    most = max(1, min(free[source.id] // 10_00, 60))
    return {
        "from_portfolio_id": source.id,
        "to_portfolio_id": target.id,
        "amount": money(rnd.randrange(1, most + 1) * 10_00),
    }


def _trading(desk: Desk) -> list[Instrument]:
    return [i for i in desk.instruments if i.status == "trading" and is_open(i.exchange, desk.now)]


def _price(desk: Desk, instrument_id: str, factor: float) -> str:
    """A price near the last one, in tenths of a dollar."""
    last = mid(desk, instrument_id, desk.step)
    return money(max(1, round(last * factor / 10)) * 10)


def place(desk: Desk, rnd: Random) -> Arguments:
    """A purchase within buying power, or a sale of something held."""
    if rnd.random() < 0.4:
        sale = _sale(desk, rnd)
        if sale:
            return sale
    every = list(desk.portfolios)
    rich = [p for p in every if p.status == "active" and free_cash(desk, p) > 600_00]
    portfolio = _pick(rnd, rich, every)
    kind = rnd.choice(("market", "market", "limit", "limit", "stop"))
    waiting = [i for i in desk.instruments if i.status == "trading"]
    instruments = list(desk.instruments)
    instrument = _pick(rnd, _trading(desk) if kind == "market" else waiting, instruments)
    factor = rnd.uniform(1.02, 1.08) if kind == "stop" else rnd.uniform(0.94, 1.0)
    return {
        "portfolio_id": portfolio.id,
        "instrument_id": instrument.id,
        "side": "buy",
        "quantity": _affordable(desk, rnd, portfolio, instrument),
        **_terms(desk, rnd, instrument.id, kind, factor),
    }


def _affordable(desk: Desk, rnd: Random, portfolio: Portfolio, instrument: Instrument) -> int:
    last = mid(desk, instrument.id, desk.step)
    most = (free_cash(desk, portfolio) - 20_00) * 8 // (9 * last)
    return rnd.randrange(2, max(3, min(most, 50) + 1))


def _terms(desk: Desk, rnd: Random, instrument_id: str, kind: str, factor: float) -> Arguments:
    if kind == "market":
        return {"order_type": kind}
    terms = {"order_type": kind, "price": _price(desk, instrument_id, factor)}
    return {**terms, **_maybe(rnd, time_in_force=rnd.choice(("day", "gtc")))}


def _sale(desk: Desk, rnd: Random) -> Arguments:
    held = list(desk.positions)
    free = {p.id: sellable(desk, p.portfolio_id, p.instrument_id) for p in held}
    kind = rnd.choice(("market", "limit", "stop"))
    fit = [p for p in held if free[p.id] > 0 and _sells(desk, p, kind)]
    if not fit:
        return {}
    wanted = _pick(rnd, fit, held)
    factor = rnd.uniform(0.92, 0.98) if kind == "stop" else rnd.uniform(1.0, 1.06)
    most = max(1, free[wanted.id])
    return {
        "portfolio_id": wanted.portfolio_id,
        "instrument_id": wanted.instrument_id,
        "side": "sell",
        "quantity": rnd.randrange(min(2, most), most + 1),
        **_terms(desk, rnd, wanted.instrument_id, kind, factor),
    }


def _sells(desk: Desk, position: Position, kind: str) -> bool:
    instrument = desk.instruments[position.instrument_id]
    open_now = kind != "market" or is_open(instrument.exchange, desk.now)
    return instrument.status == "trading" and open_now


def orders(desk: Desk, rnd: Random) -> Arguments:
    """Filters that one existing order meets."""
    wanted = rnd.choice(list(desk.orders))
    choices = {
        "query": desk.instruments[wanted.instrument_id].name,
        "portfolio_id": wanted.portfolio_id,
        "status": wanted.status,
    }
    picked = rnd.choice(("query", "portfolio_id", "status", "status"))
    return {picked: choices[picked], **_maybe(rnd, side=wanted.side)}


def _changeable(desk: Desk) -> list[Order]:
    return [
        o
        for o in desk.working()
        if desk.instruments[o.instrument_id].status == "trading"
        and (o.side == "sell" or desk.portfolios[o.portfolio_id].status == "active")
    ]


def modify(desk: Desk, rnd: Random) -> Arguments:
    """A working order with another quantity or price that is covered as well."""
    good = _changeable(desk)
    if not good:
        return {}
    order = _pick(rnd, good, desk.working())
    more = order.quantity + rnd.randrange(1, 6)
    fewer = max(order.filled + 1, order.quantity - rnd.randrange(1, 6))
    spare = _room(desk, order)
    terms: Arguments = {"quantity": more if spare > 6 or rnd.random() < SLIP else fewer}
    if terms["quantity"] == order.quantity or rnd.random() < 0.5:
        up = order.order_type == "limit" and order.side == "buy"
        factor = rnd.uniform(0.94, 0.99) if up or order.side == "sell" else rnd.uniform(1.01, 1.05)
        factor = 2 - factor if order.order_type == "limit" and order.side == "sell" else factor
        terms = {"price": _price(desk, order.instrument_id, factor)}
    return {"order_id": order.id, **terms}


def _room(desk: Desk, order: Order) -> int:
    """How many more shares the order could cover."""
    if order.side == "sell":
        return sellable(desk, order.portfolio_id, order.instrument_id)
    free = free_cash(desk, desk.portfolios[order.portfolio_id])
    return free * order.open_quantity // (set_aside(order) + 1)


def cancel(desk: Desk, rnd: Random) -> Arguments:
    """A working order; now and then one that is done."""
    working = desk.working()
    return {"order_id": _pick(rnd, working, list(desk.orders)).id}


def fills(desk: Desk, rnd: Random) -> Arguments:
    """Filters that one existing fill meets."""
    wanted = rnd.choice(list(desk.fills))
    day = wanted.filled_at[:10]
    if rnd.random() < 0.25:
        return {"order_id": wanted.order_id}
    query = {"query": desk.instruments[wanted.instrument_id].name}
    return {
        **(query if rnd.random() < 0.6 else {}),
        **_maybe(rnd, side=wanted.side, since=day, until=day),
    }


def new_alert(desk: Desk, rnd: Random) -> Arguments:
    """A level some percent away from the last price."""
    instrument, direction = _some_instrument(desk, rnd), rnd.choice(("above", "below"))
    away = rnd.uniform(0.02, 0.2)
    factor = 1 + away if direction == "above" else 1 - away
    price = _price(desk, instrument.id, factor)
    return {"instrument_id": instrument.id, "direction": direction, "price": price}


def alerts(desk: Desk, rnd: Random) -> Arguments:
    """An instrument with an alert, or a status."""
    rows = list(desk.alerts)
    if rnd.random() < 0.5:
        return _maybe(rnd, status=rnd.choice(("armed", "triggered")))
    return {"query": desk.instruments[rnd.choice(rows).instrument_id].name}
