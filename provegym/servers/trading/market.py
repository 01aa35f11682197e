"""The matching engine: prices move on, orders fill, cash and positions follow."""

from __future__ import annotations

from datetime import timedelta
from typing import NoReturn

from provegym.servers.trading.state import (
    CashMovement,
    Desk,
    Fill,
    Instrument,
    Order,
    Portfolio,
    Position,
    bid_ask,
    commission,
    crosses,
    mid,
    reached,
    reserved,
    set_aside,
)
from provegym.servers.trading.venues import HALF_HOUR, is_open, next_open
from provegym.world.fields import money
from provegym.world.tool import refuse

PRICE_BAND = 2
"""A limit or stop lies between the last price divided and multiplied by this."""


def advance(desk: Desk, *, minutes: int = 0) -> None:
    """Bring the market to the session's time: orders fill or lapse, alerts trigger.

    Every tool that writes does this first, and at its end for the minute that its own write
    takes, so that readers see orders matched against the very prices that they are shown.
    """
    market = next(iter(desk.market))
    now = (desk.now + timedelta(minutes=minutes) - desk.midnight) // HALF_HOUR
    if now <= market.step:
        return
    for step in range(market.step + 1, now + 1):
        _match(desk, step)
    desk.market.update(market, step=now)


def _match(desk: Desk, step: int) -> None:
    stamp = desk.moment(step).isoformat()
    for order in desk.working():
        if order.expires_at and order.expires_at <= stamp:
            desk.orders.update(order, status="expired")
        elif _trades(desk, order, step):
            execute(desk, order, step, stamp)
    for alert in desk.alerts.where(status="armed"):
        if reached(alert, mid(desk, alert.instrument_id, step)):
            desk.alerts.update(alert, status="triggered")


def _trades(desk: Desk, order: Order, step: int) -> bool:
    """Whether an order meets an open market at its price."""
    instrument = desk.instruments[order.instrument_id]
    takes = instrument.status == "trading" and is_open(instrument.exchange, desk.moment(step))
    return takes and crosses(order, *bid_ask(desk, instrument.id, step))


def execute(desk: Desk, order: Order, step: int, stamp: str) -> Order:
    """Trade all that is open of an order at the prices of a half hour.

    A triggered stop that has become dearer than the free cash is rejected.
    """
    bid, ask = bid_ask(desk, order.instrument_id, step)
    price, quantity = (ask if order.side == "buy" else bid), order.open_quantity
    fee = commission(quantity * price)
    portfolio = desk.portfolios[order.portfolio_id]
    free = free_cash(desk, portfolio) + set_aside(order)
    if order.side == "buy" and quantity * price + fee > free:
        return desk.orders.update(order, status="rejected")
    profit = _move_shares(desk, order, quantity, price)
    fill = Fill(
        id=desk.fills.new_id(),
        order_id=order.id,
        portfolio_id=order.portfolio_id,
        instrument_id=order.instrument_id,
        side=order.side,
        quantity=quantity,
        price=price,
        fee=fee,
        filled_at=stamp,
        profit=profit,
    )
    value = -quantity * price if order.side == "buy" else quantity * price
    book(desk, portfolio, value - fee, desk.fills.put(fill), stamp)
    return desk.orders.update(order, status="filled", filled=order.quantity)


def book(desk: Desk, portfolio: Portfolio, amount: int, fill: Fill | None, stamp: str) -> Portfolio:
    """Move cash into (or out of) a portfolio, for a fill or as a transfer."""
    row = CashMovement(
        id=desk.cash_movements.new_id(),
        portfolio_id=portfolio.id,
        amount=amount,
        kind="fill" if fill else "transfer",
        booked_at=stamp,
        fill_id=fill.id if fill else "",
    )
    desk.cash_movements.put(row)
    return desk.portfolios.update(portfolio, cash=portfolio.cash + amount)


def _move_shares(desk: Desk, order: Order, quantity: int, price: int) -> int:
    """Change the position; gives the profit realised, at average cost and before fees."""
    held = desk.position(order.portfolio_id, order.instrument_id)
    value = quantity * price
    if order.side == "buy":
        if held is None:
            where = (order.portfolio_id, order.instrument_id)
            desk.positions.put(Position(desk.positions.new_id(), *where, quantity, value))
        else:
            desk.positions.update(held, quantity=held.quantity + quantity, cost=held.cost + value)
        return 0
    assert held is not None, "working sales never exceed what is held"
    cost = cost_of(held, quantity)
    if quantity == held.quantity:
        desk.positions.delete(held.id)
    else:
        desk.positions.update(held, quantity=held.quantity - quantity, cost=held.cost - cost)
    return value - cost


def cost_of(held: Position, quantity: int) -> int:
    """What a part of a position cost, at its average."""
    return held.cost * quantity // held.quantity


# -- checks --------------------------------------------------------------------------------------


def free_cash(desk: Desk, portfolio: Portfolio) -> int:
    """Buying power: cash less what working purchases have set aside."""
    return portfolio.cash - reserved(desk, portfolio.id)


def sellable(desk: Desk, portfolio_id: str, instrument_id: str) -> int:
    """Shares held that no working order offers yet."""
    held = desk.position(portfolio_id, instrument_id)
    offered = sum(
        o.open_quantity
        for o in desk.working(portfolio_id=portfolio_id, instrument_id=instrument_id)
        if o.side == "sell"
    )
    return held.quantity - offered if held else 0


def known_instrument(desk: Desk, instrument_id: str) -> Instrument:
    """The instrument, else `not_found`."""
    return desk.instruments.get(instrument_id) or _unknown("instrument", instrument_id)


def known_portfolio(desk: Desk, portfolio_id: str) -> Portfolio:
    """The customer's portfolio, else `not_found`."""
    return desk.portfolios.get(portfolio_id) or _unknown("portfolio", portfolio_id)


def known_order(desk: Desk, order_id: str) -> Order:
    """An order that can still be changed; `not_found`, `order_filled`, ... for others."""
    order = desk.orders.get(order_id) or _unknown("order", order_id)
    if order.status == "working":
        return order
    if order.status == "filled":
        text = f"all {order.quantity} shares have traded; a filled order cannot be changed"
        refuse("order_filled", text, filled=order.filled)
    if order.status == "cancelled":
        refuse("order_cancelled", "the order is cancelled already; place a new one instead")
    text = f"the order is {order.status} and works no more; place a new one instead"
    refuse("order_expired", text, status=order.status)


def _unknown(noun: str, row_id: str) -> NoReturn:
    refuse("not_found", f"you have no {noun} {row_id[:40]!r}", id=row_id)


def require_market(desk: Desk, instrument: Instrument, order: Order) -> None:
    """Refuse what the exchange would not take at this time or price."""
    if instrument.status == "halted":
        refuse("instrument_halted", f"trading in {instrument.name} is halted")
    if order.order_type == "market":
        _require_open(desk, instrument)
        return
    require_band(desk, instrument, order.price)
    last = mid(desk, instrument.id, desk.step)
    if order.order_type == "stop" and crosses(order, *bid_ask(desk, instrument.id, desk.step)):
        side = "above" if order.side == "buy" else "below"
        text = f"a {order.side} stop must be {side} the market; the last price is {money(last)}"
        refuse("stop_already_passed", text, last=money(last))


def require_band(desk: Desk, instrument: Instrument, price: int) -> None:
    """`price_out_of_band` where a price is so far from the last one that it must be a slip."""
    last = mid(desk, instrument.id, desk.step)
    low, high = -(-last // PRICE_BAND), last * PRICE_BAND
    if not low <= price <= high:
        text = f"{money(price)} is too far from the last price {money(last)}"
        refuse("price_out_of_band", text, lowest=money(low), highest=money(high))


def _require_open(desk: Desk, instrument: Instrument) -> None:
    if not is_open(instrument.exchange, desk.now):
        opens = next_open(instrument.exchange, desk.now).isoformat()
        text = f"{instrument.exchange} is closed until {opens}; only limit and stop orders can wait"
        refuse("market_closed", text, opens_at=opens)


def require_cover(desk: Desk, order: Order, before: Order | None = None) -> None:
    """Refuse an order beyond buying power or holdings; `before` is the order that it replaces."""
    if order.side == "sell":
        free = sellable(desk, order.portfolio_id, order.instrument_id)
        free += before.open_quantity if before else 0
        if order.open_quantity > free:
            text = f"{order.open_quantity} shares are more than the {free} that can be sold"
            refuse("insufficient_holdings", text, available=free)
        return
    portfolio = desk.portfolios[order.portfolio_id]
    free = free_cash(desk, portfolio) + (set_aside(before) if before else 0)
    cost = _cost(desk, order)
    if cost > free:
        text = f"{money(cost)} is more than the {money(free)} buying power of {portfolio.name}"
        refuse("insufficient_buying_power", text, needed=money(cost), available=money(free))


def _cost(desk: Desk, order: Order) -> int:
    """Cash that a purchase takes or sets aside, its fee included."""
    if order.order_type != "market":
        return set_aside(order)
    value = order.open_quantity * bid_ask(desk, order.instrument_id, desk.step)[1]
    return value + commission(value)


def release(desk: Desk, order: Order) -> Order:
    """Put an order on the book: it trades at once where the price allows, else it rests."""
    order = desk.orders.put(order)
    if _trades(desk, order, desk.step):
        return execute(desk, order, desk.step, desk.stamp)
    return order
