"""The rows of a brokerage, and what must always hold. Amounts and prices are integer US cents.

Every fill moves cash once: `cash_movements` is the ledger of which each portfolio's cash is the
sum. Prices step every half hour; `market` holds the step up to which the desk has matched orders.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from datetime import datetime
from typing import Annotated, ClassVar, Literal

from provegym.servers.trading.venues import HALF_HOUR, Exchange, is_isin, is_open
from provegym.world.fields import DATE, VOLATILE, Format, Ref, Stamp
from provegym.world.server import State
from provegym.world.table import Row, table

PortfolioId = Annotated[str, Ref("trading.portfolios")]
InstrumentId = Annotated[str, Ref("trading.instruments")]
OrderId = Annotated[str, Ref("trading.orders")]
FillId = Annotated[str, Ref("trading.fills")]
AlertId = Annotated[str, Ref("trading.alerts")]
ISIN = Format("isin", "ISIN.", is_isin)
Day = Annotated[str, DATE]

Side = Literal["buy", "sell"]
OrderType = Literal["market", "limit", "stop"]
TimeInForce = Literal["day", "gtc"]
OrderStatus = Literal["working", "filled", "cancelled", "expired", "rejected"]
Kind = Literal["stock", "etf"]
Sector = Literal["technology", "health", "finance", "energy", "consumer", "industrial", "broad"]
Direction = Literal["above", "below"]


class Portfolio(Row, frozen=True):
    """One of the customer's accounts. Restricted ones may sell and cancel, but not buy.

    `cash` is the sum of the portfolio's movements.
    """

    label: ClassVar[str] = "the {name} portfolio"
    id: PortfolioId
    name: str
    kind: Literal["individual", "retirement", "joint", "custodial"]
    status: Literal["active", "restricted"]
    cash: int


class CashMovement(Row, frozen=True):
    """One entry of a portfolio's cash: a fill's cost or proceeds, a deposit, a transfer."""

    portfolio_id: PortfolioId
    amount: int
    kind: Literal["deposit", "dividend", "transfer", "fill"]
    booked_at: Stamp
    fill_id: FillId = ""
    """The fill that it pays for, "" for others."""


class Instrument(Row, frozen=True):
    """A share or fund listed on one exchange, quoted in US dollars."""

    label: ClassVar[str] = "{name}"
    id: InstrumentId
    symbol: str
    isin: Annotated[str, ISIN]
    name: str
    exchange: Exchange
    kind: Kind
    sector: Sector
    status: Literal["trading", "halted"]


class Quote(Row, frozen=True):
    """Mid prices of the first day by half hour from `FIRST_STEP` on; the last one stays."""

    instrument_id: InstrumentId
    previous_close: int
    half_spread: int
    mids: tuple[int, ...]


class DailyBar(Row, frozen=True):
    """Prices and volume of one trading day."""

    instrument_id: InstrumentId
    date: Day
    open: int
    high: int
    low: int
    close: int
    volume: int


class Order(Row, frozen=True):
    """An order to trade. `price` is its limit or stop, 0 for a market order.

    `expires_at` is the close of the session in which a day order lapses, "" for none.
    """

    label: ClassVar[str] = "the {order_type} order to {side} {quantity} shares of {name}"
    id: OrderId
    portfolio_id: PortfolioId
    instrument_id: InstrumentId
    side: Side
    order_type: OrderType
    quantity: int
    filled: int
    price: int
    time_in_force: TimeInForce
    status: OrderStatus
    placed_at: Stamp
    expires_at: Annotated[str, VOLATILE]

    @property
    def open_quantity(self) -> int:
        """Shares that may still trade."""
        return self.quantity - self.filled if self.status == "working" else 0


class Fill(Row, frozen=True):
    """One execution of an order, or of a part of it. `profit` is what a sale realised."""

    id: FillId
    order_id: OrderId
    portfolio_id: PortfolioId
    instrument_id: InstrumentId
    side: Side
    quantity: int
    price: int
    fee: int
    filled_at: Stamp
    profit: int = 0


class Position(Row, frozen=True):
    """Shares held in a portfolio and what they cost; no row where none are held."""

    portfolio_id: PortfolioId
    instrument_id: InstrumentId
    quantity: int
    cost: int


class Alert(Row, frozen=True):
    """A wish to be told when the last price reaches `price` from the other side."""

    label: ClassVar[str] = "the alert on {name} {direction} ${price}"
    id: AlertId
    instrument_id: InstrumentId
    direction: Direction
    price: int
    status: Literal["armed", "triggered"]
    created_at: Stamp


class Market(Row, frozen=True):
    """The only row: the half hour up to which orders have been matched."""

    step: Annotated[int, VOLATILE]


FIRST_STEP, LAST_STEP = 18, 47
"""Half hours of the first day for which prices are made: 09:00 to 23:30 UTC."""


class Desk(State):
    """One session's view of the brokerage, seen by its customer."""

    server = "trading"
    portfolios = table(Portfolio, "pf")
    cash_movements = table(CashMovement, "mov")
    instruments = table(Instrument, "ins")
    quotes = table(Quote, "quo")
    daily_bars = table(DailyBar, "bar")
    orders = table(Order, "ord")
    fills = table(Fill, "fil")
    positions = table(Position, "pos")
    alerts = table(Alert, "alr")
    market = table(Market, "mkt")

    @property
    def midnight(self) -> datetime:
        """When the first day began (UTC)."""
        return self.cast.start.replace(hour=0, minute=0)

    @property
    def step(self) -> int:
        """The half hour since then for which quotes are shown."""
        return next(iter(self.market)).step

    def moment(self, step: int) -> datetime:
        """The start of a half hour."""
        return self.midnight + step * HALF_HOUR

    def position(self, portfolio_id: str, instrument_id: str) -> Position | None:
        """What a portfolio holds of an instrument."""
        held = self.positions.where(instrument_id=instrument_id, portfolio_id=portfolio_id)
        return held[0] if held else None

    def working(self, **equal: str) -> list[Order]:
        """Orders that may still trade."""
        return self.orders.where(status="working", **equal)


def mid(desk: Desk, instrument_id: str, step: int) -> int:
    """The last price at a half hour."""
    mids = desk.quotes.where(instrument_id=instrument_id)[0].mids
    return mids[min(max(step - FIRST_STEP, 0), len(mids) - 1)]


def bid_ask(desk: Desk, instrument_id: str, step: int) -> tuple[int, int]:
    """What a seller gets and a buyer pays at a half hour."""
    quote = desk.quotes.where(instrument_id=instrument_id)[0]
    last = mid(desk, instrument_id, step)
    return last - quote.half_spread, last + quote.half_spread


def crosses(order: Order, bid: int, ask: int) -> bool:
    """Whether a working order trades at these prices.

    A limit trades at its price or better; a stop becomes a market order once its price is reached.
    """
    if order.order_type == "market":
        return True
    if order.side == "buy":
        return ask <= order.price if order.order_type == "limit" else ask >= order.price
    return bid >= order.price if order.order_type == "limit" else bid <= order.price


def reached(alert: Alert, last: int) -> bool:
    """Whether the price that an alert waits for is there."""
    return last >= alert.price if alert.direction == "above" else last <= alert.price


FEE_MINIMUM, FEE_RATE = 1_00, 2000
"""Commission of a fill: one cent in 2,000 (0.05 %), at least 1.00."""
STOP_BUFFER = 20
"""A stop may fill beyond its price: one cent in 20 (5 %) more is set aside for a purchase."""


def commission(value: int) -> int:
    """The fee of a fill worth that many cents, rounded up."""
    return max(FEE_MINIMUM, -(-value // FEE_RATE))


def set_aside(order: Order) -> int:
    """Cash that a working purchase keeps from being spent otherwise."""
    if order.side == "sell":
        return 0
    value = order.open_quantity * order.price
    value += value // STOP_BUFFER if order.order_type == "stop" else 0
    return value + commission(value) if value else 0


def reserved(desk: Desk, portfolio_id: str) -> int:
    """Cash that the portfolio's working purchases have set aside."""
    return sum(set_aside(o) for o in desk.working(portfolio_id=portfolio_id))


def violations(desk: Desk) -> Iterator[str]:
    """Every broken invariant of the desk, one sentence each."""
    fills: dict[str, list[Fill]] = defaultdict(list)
    for fill in desk.fills:
        fills[fill.order_id].append(fill)
    for order in desk.orders:
        yield from _order(desk, order, fills[order.id])
    yield from _cash(desk)
    yield from _positions(desk)
    for alert in desk.alerts.where(status="armed"):
        if reached(alert, mid(desk, alert.instrument_id, desk.step)):
            yield f"alert {alert.id} is armed though its price is reached"
    if any(not is_isin(i.isin) for i in desk.instruments):
        yield "an ISIN has a wrong check digit"


def _order(desk: Desk, order: Order, fills: list[Fill]) -> Iterator[str]:
    traded = sum(f.quantity for f in fills)
    if order.filled != traded or not 0 <= traded <= order.quantity:
        yield f"order {order.id} has traded {order.filled} of {order.quantity}, its fills {traded}"
    if (order.status == "filled") != (order.filled == order.quantity):
        yield f"order {order.id} is {order.status} at {order.filled} of {order.quantity}"
    if (order.order_type == "market") != (order.price == 0):
        yield f"order {order.id} is a {order.order_type} order at {order.price}"
    for fill in fills:
        same = (fill.portfolio_id, fill.instrument_id, fill.side)
        if same != (order.portfolio_id, order.instrument_id, order.side):
            yield f"fill {fill.id} is of another portfolio, instrument or side than its order"
    yield from _resting(desk, order)


def _resting(desk: Desk, order: Order) -> Iterator[str]:
    """A working order rests because its exchange is closed or the price is not there."""
    instrument, moment = desk.instruments[order.instrument_id], desk.moment(desk.step)
    if order.status != "working" or instrument.status == "halted":
        return
    trades = is_open(instrument.exchange, moment)
    if trades and crosses(order, *bid_ask(desk, instrument.id, desk.step)):
        yield f"order {order.id} still works though the price has crossed"
    if order.expires_at and order.expires_at <= moment.isoformat():
        yield f"order {order.id} works after the close on which it lapses"


def _cash(desk: Desk) -> Iterator[str]:
    sums: dict[str, int] = defaultdict(int)
    paid: dict[str, int] = {}
    for move in desk.cash_movements:
        sums[move.portfolio_id] += move.amount
        if move.fill_id:
            if move.fill_id in paid:
                yield f"fill {move.fill_id} is paid twice"
            paid[move.fill_id] = move.amount
    for fill in desk.fills:
        value = fill.quantity * fill.price
        due = (-value if fill.side == "buy" else value) - fill.fee
        if paid.pop(fill.id, None) != due:
            yield f"fill {fill.id} moved another amount than {due}"
    if paid:
        yield f"cash moved for fills that do not exist: {sorted(paid)}"
    for portfolio in desk.portfolios:
        if portfolio.cash != sums[portfolio.id]:
            yield f"portfolio {portfolio.id} has {portfolio.cash}, movements {sums[portfolio.id]}"
        if reserved(desk, portfolio.id) > portfolio.cash:
            yield f"portfolio {portfolio.id} has set aside more than its cash"


def _positions(desk: Desk) -> Iterator[str]:
    held: dict[tuple[str, str], int] = defaultdict(int)
    offered: dict[tuple[str, str], int] = defaultdict(int)
    for fill in desk.fills:
        sign = 1 if fill.side == "buy" else -1
        held[fill.portfolio_id, fill.instrument_id] += sign * fill.quantity
    for order in desk.working(side="sell"):
        offered[order.portfolio_id, order.instrument_id] += order.open_quantity
    shown = [((p.portfolio_id, p.instrument_id), p) for p in desk.positions]
    if len(dict(shown)) < len(shown):
        yield "two positions are of one portfolio and instrument"
    if {key: p.quantity for key, p in shown} != {key: n for key, n in held.items() if n}:
        yield "positions are not the sums of fills"
    if any(p.quantity <= 0 or p.cost < 0 for p in desk.positions):
        yield "a position is empty, short or of negative cost"
    if any(n > held[key] for key, n in offered.items()):
        yield "more shares are offered than held"
