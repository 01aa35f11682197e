"""What the tools answer: small records, amounts as decimal strings in US dollars."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Struct

from provegym.servers.trading.market import free_cash
from provegym.servers.trading.state import (
    Alert,
    AlertId,
    DailyBar,
    Day,
    Desk,
    Direction,
    Fill,
    FillId,
    Instrument,
    InstrumentId,
    Kind,
    Order,
    OrderId,
    OrderStatus,
    OrderType,
    Portfolio,
    PortfolioId,
    Position,
    Side,
    bid_ask,
    mid,
)
from provegym.servers.trading.venues import Exchange, is_open
from provegym.world.fields import DATE, VOLATILE, Money, Stamp, money


class InstrumentItem(Struct, frozen=True):
    """A listed share or fund with its last price."""

    id: InstrumentId
    symbol: str
    name: str
    exchange: Exchange
    kind: Kind
    last: Money


class InstrumentPage(Struct, frozen=True):
    """A page of instruments by name."""

    instruments: list[InstrumentItem]
    total: int
    next_cursor: str


class QuoteItem(Struct, frozen=True):
    """The prices of an instrument at `as_of`; `market` says whether market orders are taken."""

    instrument_id: InstrumentId
    symbol: str
    name: str
    isin: str
    market: Literal["open", "closed", "halted"]
    last: Money
    bid: Money
    ask: Money
    previous_close: Money
    change_percent: str
    as_of: Stamp


class BarItem(Struct, frozen=True):
    """One trading day."""

    date: Day
    open: Money
    high: Money
    low: Money
    close: Money
    volume: int


class BarPage(Struct, frozen=True):
    """A page of an instrument's trading days, newest first."""

    instrument_id: InstrumentId
    name: str
    days: list[BarItem]
    total: int
    next_cursor: str


class PortfolioItem(Struct, frozen=True):
    """A portfolio: its cash, what of it can be spent, what its holdings are worth, and what was
    last deposited from outside.
    """

    id: PortfolioId
    name: str
    kind: str
    status: str
    cash: Money
    buying_power: Money
    holdings: Money
    last_deposit: Money
    deposited_on: Day


class PortfolioPage(Struct, frozen=True):
    """A page of portfolios."""

    portfolios: list[PortfolioItem]
    total: int
    next_cursor: str


class PositionItem(Struct, frozen=True):
    """Shares held in a portfolio; `profit` is not realised yet."""

    instrument_id: InstrumentId
    name: str
    portfolio: str
    quantity: int
    average_price: Money
    value: Money
    profit: Money


class PositionPage(Struct, frozen=True):
    """A page of positions, the most valuable first."""

    positions: list[PositionItem]
    total: int
    next_cursor: str


class OrderItem(Struct, frozen=True, omit_defaults=True):
    """An order; `filled` shares have traded; `price` is its limit or stop."""

    id: OrderId
    name: str
    portfolio: str
    side: Side
    order_type: OrderType
    quantity: int
    status: OrderStatus
    filled: int = 0
    price: str = ""


class OrderPage(Struct, frozen=True):
    """A page of orders, newest first."""

    orders: list[OrderItem]
    total: int
    next_cursor: str


class OrderReceipt(Struct, frozen=True, omit_defaults=True):
    """An order as it stands; `fill_price` and `fee` once it has traded."""

    order: OrderItem
    buying_power: Money
    fill_price: str = ""
    fee: str = ""


class FillItem(Struct, frozen=True, omit_defaults=True):
    """One execution; `profit` is what a sale realised before fees."""

    id: FillId
    order_id: OrderId
    date: Annotated[str, DATE, VOLATILE]
    name: str
    side: Side
    quantity: int
    price: Money
    fee: Money
    profit: str = ""


class FillPage(Struct, frozen=True):
    """A page of executions, newest first."""

    fills: list[FillItem]
    total: int
    next_cursor: str


class CashReceipt(Struct, frozen=True):
    """Both portfolios after cash has moved between them."""

    moved: Money
    source: PortfolioItem
    target: PortfolioItem


class AlertItem(Struct, frozen=True):
    """A price alert."""

    id: AlertId
    name: str
    direction: Direction
    price: Money
    status: Literal["armed", "triggered"]


class AlertPage(Struct, frozen=True):
    """A page of price alerts."""

    alerts: list[AlertItem]
    total: int
    next_cursor: str


def instrument_item(desk: Desk, i: Instrument) -> InstrumentItem:
    """An instrument at its last price."""
    last = money(mid(desk, i.id, desk.step))
    return InstrumentItem(i.id, i.symbol, i.name, i.exchange, i.kind, last)


def quote_item(desk: Desk, i: Instrument) -> QuoteItem:
    """An instrument's prices now."""
    step = desk.step
    last, (bid, ask) = mid(desk, i.id, step), bid_ask(desk, i.id, step)
    before = desk.quotes.where(instrument_id=i.id)[0].previous_close
    market: Literal["open", "closed"] = "open" if is_open(i.exchange, desk.now) else "closed"
    return QuoteItem(
        instrument_id=i.id,
        symbol=i.symbol,
        name=i.name,
        isin=i.isin,
        market="halted" if i.status == "halted" else market,
        last=money(last),
        bid=money(bid),
        ask=money(ask),
        previous_close=money(before),
        change_percent=f"{100 * (last - before) / before:+.2f}",
        as_of=desk.moment(step).isoformat(),
    )


def bar_item(bar: DailyBar) -> BarItem:
    """One trading day in dollars."""
    opened, high, low, close = map(money, (bar.open, bar.high, bar.low, bar.close))
    return BarItem(bar.date, opened, high, low, close, bar.volume)


def portfolio_item(desk: Desk, p: Portfolio) -> PortfolioItem:
    """A portfolio at today's prices."""
    worth = sum(value_of(desk, x) for x in desk.positions.where(portfolio_id=p.id))
    amounts = map(money, (p.cash, free_cash(desk, p), worth))
    deposits = desk.cash_movements.where(portfolio_id=p.id, kind="deposit")
    last = max(deposits, key=lambda m: m.booked_at)
    return PortfolioItem(
        *(p.id, p.name, p.kind, p.status, *amounts, money(last.amount), last.booked_at[:10])
    )


def value_of(desk: Desk, position: Position) -> int:
    """What a position is worth at the last price."""
    return position.quantity * mid(desk, position.instrument_id, desk.step)


def position_item(desk: Desk, p: Position) -> PositionItem:
    """A position at today's price."""
    value = value_of(desk, p)
    return PositionItem(
        instrument_id=p.instrument_id,
        name=desk.instruments[p.instrument_id].name,
        portfolio=desk.portfolios[p.portfolio_id].name,
        quantity=p.quantity,
        average_price=money(round(p.cost / p.quantity)),
        value=money(value),
        profit=money(value - p.cost),
    )


def order_item(desk: Desk, o: Order) -> OrderItem:
    """An order with its names filled in."""
    return OrderItem(
        id=o.id,
        name=desk.instruments[o.instrument_id].name,
        portfolio=desk.portfolios[o.portfolio_id].name,
        side=o.side,
        order_type=o.order_type,
        quantity=o.quantity,
        status=o.status,
        filled=o.filled,
        price=money(o.price) if o.price else "",
    )


def order_receipt(desk: Desk, order_id: str, fills_before: int = 0) -> OrderReceipt:
    """An order after an instruction; `fills_before` is how many fills it had before."""
    order = desk.orders[order_id]
    fills = desk.fills.where(order_id=order_id)[fills_before:]
    power = money(free_cash(desk, desk.portfolios[order.portfolio_id]))
    price, fee = (money(fills[-1].price), money(fills[-1].fee)) if fills else ("", "")
    return OrderReceipt(order_item(desk, order), power, price, fee)


def fill_item(desk: Desk, f: Fill) -> FillItem:
    """An execution."""
    return FillItem(
        id=f.id,
        order_id=f.order_id,
        date=f.filled_at[:10],
        name=desk.instruments[f.instrument_id].name,
        side=f.side,
        quantity=f.quantity,
        price=money(f.price),
        fee=money(f.fee),
        profit=money(f.profit) if f.side == "sell" else "",
    )


def alert_item(desk: Desk, a: Alert) -> AlertItem:
    """A price alert with its instrument's name."""
    name = desk.instruments[a.instrument_id].name
    return AlertItem(a.id, name, a.direction, money(a.price), a.status)
