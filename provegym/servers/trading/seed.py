"""The brokerage at the start of an episode: half a year of one customer's trading."""

from __future__ import annotations

from datetime import datetime, timedelta
from random import Random

from msgspec.structs import replace

from provegym.servers.trading.state import (
    FIRST_STEP,
    LAST_STEP,
    Alert,
    CashMovement,
    DailyBar,
    Fill,
    Instrument,
    Kind,
    Market,
    Order,
    OrderStatus,
    OrderType,
    Portfolio,
    Position,
    Quote,
    Sector,
    Side,
    TimeInForce,
    commission,
    set_aside,
)
from provegym.servers.trading.venues import (
    HALF_HOUR,
    VENUES,
    Exchange,
    is_open,
    isin,
    next_close,
)
from provegym.world.cast import Cast
from provegym.world.server import Seeds
from provegym.world.stories import stories

LETTERS = "0123456789abcdefghjkmnpqrstvwxyz"
_SHIFTS = range(0, 30, 5)
BAR_DAYS = 10
_SATURDAY = 5

STOCKS: tuple[tuple[str, Sector], ...] = (
    ("Northgate Semiconductors", "technology"),
    ("Bluefin Software", "technology"),
    ("Quantum Harbor Systems", "technology"),
    ("Lumen Biologics", "health"),
    ("Cedar Medical Devices", "health"),
    ("Meridian Bancorp", "finance"),
    ("Keystone Insurance", "finance"),
    ("Solstice Power", "energy"),
    ("Tidewater Renewables", "energy"),
    ("Juniper Foods", "consumer"),
    ("Alder Outfitters", "consumer"),
    ("Ironbridge Engineering", "industrial"),
    ("Falcon Freight", "industrial"),
    ("Granite Aerospace", "industrial"),
)
FUNDS: tuple[tuple[str, Sector], ...] = (
    ("World Equity Index Fund", "broad"),
    ("Large Cap 500 Fund", "broad"),
    ("Emerging Markets Fund", "broad"),
    ("Euro Blue Chip Fund", "broad"),
    ("Global Dividend Fund", "broad"),
    ("Small Cap Value Fund", "broad"),
    ("Clean Energy Fund", "energy"),
    ("Health Care Leaders Fund", "health"),
    ("Digital Technology Fund", "technology"),
    ("World Financials Fund", "finance"),
    ("Consumer Staples Fund", "consumer"),
    ("Infrastructure Fund", "industrial"),
)
SECTORS: tuple[Sector, ...] = (
    *("technology", "health", "finance", "energy", "consumer", "industrial"),
)
EXCHANGES: tuple[Exchange, ...] = (*("LSE", "XETRA", "LSE", "NYSE", "XETRA", "LSE", "NASDAQ"),)
"""In turn; those in Europe trade when an episode begins."""
OWN = ("Growth", "Long-Term", "Dividend", "Momentum", "Core Holdings", "Swing Trading")
RETIREMENT = ("Retirement", "Pension Plus", "Golden Years")
JOINT = ("Family", "Joint Savings", "House Fund")
CUSTODIAL = ("College Fund", "Kids Future", "Education")
RESTRICTED = ("Old Employer", "Inherited", "Legacy")


def _trading_days(start: datetime) -> list[str]:
    """The weekdays before the start, the latest first."""
    back = (start - timedelta(days=n) for n in range(1, 2 * BAR_DAYS))
    return [day.date().isoformat() for day in back if day.weekday() < _SATURDAY][:BAR_DAYS]


class Book:
    """Collects rows while the world is made; cash and positions follow from the fills."""

    def __init__(self, cast: Cast, rnd: Random) -> None:
        self.cast, self.rnd, self.start = cast, rnd, cast.start
        self._used: set[str] = set()
        self.portfolios: list[Portfolio] = []
        self.moves: list[CashMovement] = []
        self.instruments: list[Instrument] = []
        self.quotes: dict[str, Quote] = {}
        self.bars: list[DailyBar] = []
        self.orders: list[Order] = []
        self.fills: list[Fill] = []
        self.held: dict[tuple[str, str], tuple[int, int]] = {}
        self.alerts: list[Alert] = []
        midnight = cast.start.replace(hour=0)
        steps = [midnight + step * HALF_HOUR for step in range(FIRST_STEP, LAST_STEP + 1)]
        self.trading = {x: [is_open(x, moment) for moment in steps] for x in VENUES}
        self.days = _trading_days(cast.start)

    def id(self, prefix: str) -> str:
        """A fresh id."""
        while True:
            n = self.rnd.getrandbits(30)
            new = f"{prefix}_{''.join([LETTERS[n >> shift & 31] for shift in _SHIFTS])}"
            if new not in self._used:
                self._used.add(new)
                return new

    def days_ago(self, days: int, exchange: Exchange) -> datetime:
        """A moment about that many days before the start at which the exchange traded."""
        rnd = self.rnd
        day = self.start - timedelta(days=days)
        while day.weekday() >= _SATURDAY:
            day -= timedelta(days=1)
        hour = rnd.randrange(9, 15) if exchange in ("LSE", "XETRA") else rnd.randrange(15, 20)
        return day.replace(hour=hour, minute=rnd.randrange(60))

    def move(
        self, portfolio: str, amount: int, kind: str, when: datetime, fill_id: str = ""
    ) -> None:
        """Book cash."""
        row = CashMovement(self.id("mov"), portfolio, amount, kind, when.isoformat(), fill_id)  # type: ignore[arg-type]
        self.moves.append(row)

    def order(
        self,
        portfolio: Portfolio,
        instrument: Instrument,
        side: Side,
        quantity: int,
        when: datetime,
        *,
        order_type: OrderType = "market",
        price: int = 0,
        status: OrderStatus = "filled",
        time_in_force: TimeInForce = "gtc",
    ) -> Order:
        """Place an order; its fills are added by `fill`."""
        closes = next_close(instrument.exchange, when).isoformat() if time_in_force == "day" else ""
        row = Order(
            id=self.id("ord"),
            portfolio_id=portfolio.id,
            instrument_id=instrument.id,
            side=side,
            order_type=order_type,
            quantity=quantity,
            filled=quantity if status == "filled" else 0,
            price=price,
            time_in_force=time_in_force,
            status=status,
            placed_at=when.isoformat(),
            expires_at=closes,
        )
        self.orders.append(row)
        return row

    def fill(self, order: Order, quantity: int, price: int, when: datetime) -> None:
        """Execute a part of an order."""
        key, value = (order.portfolio_id, order.instrument_id), quantity * price
        fee = commission(value)
        shares, cost = self.held.get(key, (0, 0))
        profit = 0
        if order.side == "buy":
            self.held[key] = shares + quantity, cost + value
        else:
            part = cost * quantity // shares
            self.held[key] = shares - quantity, cost - part
            profit = value - part
        row = Fill(
            id=self.id("fil"),
            order_id=order.id,
            portfolio_id=order.portfolio_id,
            instrument_id=order.instrument_id,
            side=order.side,
            quantity=quantity,
            price=price,
            fee=fee,
            filled_at=when.isoformat(),
            profit=profit,
        )
        self.fills.append(row)
        sign = -1 if order.side == "buy" else 1
        self.move(order.portfolio_id, sign * value - fee, "fill", when, row.id)

    def last(self, instrument: Instrument) -> int:
        """The price at the start."""
        return self.quotes[instrument.id].mids[0]

    def rows(self) -> Seeds:
        """All tables, with cash and positions filled in."""
        sums = {p.id: 0 for p in self.portfolios}
        for move in self.moves:
            sums[move.portfolio_id] += move.amount
        held = [(key, *state) for key, state in self.held.items() if state[0]]
        return {
            "portfolios": [replace(p, cash=sums[p.id]) for p in self.portfolios],
            "cash_movements": self.moves,
            "instruments": self.instruments,
            "quotes": list(self.quotes.values()),
            "daily_bars": self.bars,
            "orders": self.orders,
            "fills": self.fills,
            "positions": [Position(self.id("pos"), *key, n, cost) for key, n, cost in held],
            "alerts": self.alerts,
            "market": [Market(self.id("mkt"), FIRST_STEP)],
        }


def seed(cast: Cast, rnd: Random) -> Seeds:
    """Rows of every table for one world."""
    book = Book(cast, rnd)
    _portfolios(book)
    _instruments(book)
    pairs = _history(book)
    _finished(book)
    _working(book, pairs)
    _alerts(book)
    _fund(book)
    _told_deposit(book)
    return book.rows()


def _portfolios(book: Book) -> None:
    """Two own ones, the second nearly spent; retirement, joint, custodial; a restricted one."""
    rnd = book.rnd
    first, second = rnd.sample(OWN, 2)
    plan = (
        (first, "individual", "active"),
        (second, "individual", "active"),
        (rnd.choice(RETIREMENT), "retirement", "active"),
        (rnd.choice(JOINT), "joint", "active"),
        (rnd.choice(CUSTODIAL), "custodial", "active"),
        (rnd.choice(RESTRICTED), "individual", "restricted"),
    )
    for name, kind, status in plan:
        book.portfolios.append(Portfolio(book.id("pf"), name, kind, status, 0))  # type: ignore[arg-type]


def _instruments(book: Book) -> None:
    """The companies of the cast, other shares, and funds; two of them are halted."""
    rnd = book.rnd
    companies = [(name, rnd.choice(SECTORS)) for name in book.cast.companies]
    listed: list[tuple[str, Sector, Kind]] = [(n, s, "stock") for n, s in (*companies, *STOCKS)]
    listed += [(name, sector, "etf") for name, sector in FUNDS]
    halted = {rnd.randrange(0, 7), rnd.randrange(16, 30)}
    symbols: set[str] = set()
    for i, (name, sector, kind) in enumerate(listed):
        symbol = _symbol(name, symbols)
        exchange = EXCHANGES[i % len(EXCHANGES)]
        number = isin(VENUES[exchange].country, rnd.randrange(10**9))
        status = "halted" if i in halted else "trading"
        row = Instrument(book.id("ins"), symbol, number, name, exchange, kind, sector, status)  # type: ignore[arg-type]
        book.instruments.append(row)
        _prices(book, row)


def _symbol(name: str, used: set[str]) -> str:
    """Four letters of the name, the last one changed until no other has them."""
    letters = [c for c in name.upper() if "A" <= c <= "Z"]
    tails = [*letters[3:], *"ABCDEFGHIJKLMNOPQRSTUVWXYZ"]
    start = "".join(letters[:3])
    symbol: str = start + next(tail for tail in tails if start + tail not in used)
    used.add(symbol)
    return symbol


def _prices(book: Book, instrument: Instrument) -> None:
    """Daily bars backwards from the close before the start, then the first day's path."""
    rnd = book.rnd
    close = before = rnd.randrange(8_00, 260_00)
    for date in book.days:
        opened = round(close * (0.985 + 0.03 * rnd.random()))
        high = round(max(opened, close) * (1 + 0.012 * rnd.random()))
        low = round(min(opened, close) * (1 - 0.012 * rnd.random()))
        volume = int(20 + 4000 * rnd.random()) * 1000
        bar = DailyBar(book.id("bar"), instrument.id, date, opened, high, low, close, volume)
        book.bars.append(bar)
        close = round(opened * (0.992 + 0.016 * rnd.random()))
    half = max(1, round(before * (0.0001 + 0.0007 * rnd.random())))
    mids = _path(rnd, book.trading[instrument.exchange], before)
    book.quotes[instrument.id] = Quote(book.id("quo"), instrument.id, before, half, mids)


def _path(rnd: Random, trading: list[bool], close: int) -> tuple[int, ...]:
    """A random walk over half hours that moves only while the exchange is open."""
    price, mids = float(close), list[int]()
    for moves in trading:
        if moves:
            price *= 1 + rnd.gauss(0, 0.006)
        mids.append(round(price))
    return tuple(mids)


Pair = tuple[Portfolio, Instrument]


def _history(book: Book) -> list[Pair]:
    """Purchases of the past months and some sales; gives who holds what."""
    rnd, pairs = book.rnd, list[Pair]()
    for i, portfolio in enumerate(book.portfolios):
        count = (7, 4, 5, 4, 3, 4)[i]
        pairs += [(portfolio, x) for x in rnd.sample(book.instruments, count)]
    for portfolio, instrument in pairs:
        ages = sorted((rnd.randrange(16, 200) for _ in range(rnd.choice((1, 2, 3)))), reverse=True)
        for age in ages:
            _trade(book, portfolio, instrument, "buy", rnd.randrange(2, 30) * 5, age)
        if rnd.random() < 0.4:
            held = book.held[portfolio.id, instrument.id][0]
            sold = max(1, round(held * rnd.choice((0.25, 0.5, 0.5, 0.8))))
            _trade(book, portfolio, instrument, "sell", sold, rnd.randrange(1, max(2, ages[-1])))
    return pairs


def _trade(
    book: Book, portfolio: Portfolio, instrument: Instrument, side: Side, quantity: int, age: int
) -> None:
    """One filled order, at times in two executions."""
    rnd, when = book.rnd, book.days_ago(age, instrument.exchange)
    price = round(book.last(instrument) * (1 - age * rnd.uniform(-0.0006, 0.0012)))
    limited = rnd.random() < 0.4
    limit = price + round(price * 0.01) * (1 if side == "buy" else -1)
    order = book.order(
        portfolio,
        instrument,
        side,
        quantity,
        when,
        order_type="limit" if limited else "market",
        price=limit if limited else 0,
    )
    first = rnd.randrange(1, quantity) if quantity > 20 and rnd.random() < 0.3 else quantity
    book.fill(order, first, price, when)
    if first < quantity:
        book.fill(order, quantity - first, price, when + timedelta(minutes=3))


def _finished(book: Book) -> None:
    """Orders that came to nothing: cancelled, lapsed, or rejected for want of cash."""
    rnd = book.rnd
    plan: tuple[OrderStatus, ...] = (*("cancelled",) * 6, *("expired",) * 4, *("rejected",) * 2)
    for status in plan:
        instrument = rnd.choice(book.instruments)
        last = book.last(instrument)
        book.order(
            rnd.choice(book.portfolios[:5]),
            instrument,
            "buy",
            rnd.randrange(2, 40) * 5,
            book.days_ago(rnd.randrange(2, 60), instrument.exchange),
            order_type="stop" if status == "rejected" else "limit",
            price=round(last * (1.05 if status == "rejected" else rnd.uniform(0.85, 0.96))),
            status=status,
            time_in_force="day" if status == "expired" else "gtc",
        )


def _working(book: Book, pairs: list[Pair]) -> None:
    """Orders that rest: purchases below and above the market, sales of a part of what is held."""
    rnd = book.rnd
    halted = [x for x in book.instruments if x.status == "halted"]
    buyers = [book.portfolios[i] for i in (0, 0, 1, 2, 3, 5, 4)]
    wanted = [*rnd.sample(book.instruments, 6), halted[0]]
    for i, (portfolio, instrument) in enumerate(zip(buyers, wanted, strict=True)):
        kind: OrderType = "stop" if i == 3 else "limit"
        away = 1 + _distance(rnd) if kind == "stop" else 1 - _distance(rnd)
        _rest(book, portfolio, instrument, "buy", rnd.randrange(2, 12) * 5, kind, away)
    sellers = [pair for pair in pairs if book.held[pair[0].id, pair[1].id][0] >= 8]
    for i, (portfolio, instrument) in enumerate(rnd.sample(sellers, 7)):
        kind = "stop" if i % 2 else "limit"
        away = 1 - _distance(rnd) if kind == "stop" else 1 + _distance(rnd)
        held = book.held[portfolio.id, instrument.id][0]
        _rest(book, portfolio, instrument, "sell", rnd.randrange(2, held // 2 + 1), kind, away)
    _part_filled(book)


def _distance(rnd: Random) -> float:
    """How far from the market an order rests: often so near that a day's moves reach it."""
    return rnd.choice((0.004, 0.008, 0.015, 0.03, 0.06, 0.1)) + 0.002


def _rest(
    book: Book,
    portfolio: Portfolio,
    instrument: Instrument,
    side: Side,
    quantity: int,
    order_type: OrderType,
    away: float,
) -> None:
    today = book.rnd.random() < 0.3
    yesterday = book.days_ago(book.rnd.randrange(1, 15), instrument.exchange)
    when = book.start - timedelta(minutes=book.rnd.randrange(5, 50)) if today else yesterday
    book.order(
        portfolio,
        instrument,
        side,
        quantity,
        when,
        order_type=order_type,
        price=round(book.last(instrument) * away),
        status="working",
        time_in_force="day" if today else "gtc",
    )


def _part_filled(book: Book) -> None:
    """Two of the older limit orders have traded in part."""
    found = [
        (i, o)
        for i, o in enumerate(book.orders)
        if o.status == "working" and o.order_type == "limit" and o.time_in_force != "day"
    ]
    for i, order in found[:2]:
        part = max(1, order.quantity // 3)
        when = datetime.fromisoformat(order.placed_at) + timedelta(minutes=5)
        book.fill(order, part, order.price, when)
        book.orders[i] = replace(order, filled=part)


def _alerts(book: Book) -> None:
    """Ten alerts; every third has gone off."""
    rnd = book.rnd
    for i, instrument in enumerate(rnd.sample(book.instruments, 10)):
        triggered, direction = i % 3 == 2, rnd.choice(("above", "below"))
        away = rnd.uniform(0.01, 0.12) * (-1 if triggered else 1)
        price = round(book.last(instrument) * (1 + away if direction == "above" else 1 - away))
        made = book.days_ago(rnd.randrange(1, 40), instrument.exchange).isoformat()
        status = "triggered" if triggered else "armed"
        row = Alert(book.id("alr"), instrument.id, direction, price, status, made)  # type: ignore[arg-type]
        book.alerts.append(row)


def _fund(book: Book) -> None:
    """Dividends, and deposits of long ago that leave a plausible buying power today."""
    rnd = book.rnd
    for portfolio_id, _ in rnd.sample(list(book.held), 12):
        when = book.days_ago(rnd.randrange(5, 150), "LSE")
        book.move(portfolio_id, rnd.randrange(4_00, 90_00), "dividend", when)
    spend = ((9000, 24000), (30, 160), (1500, 9000), (2500, 12000), (300, 2500), (80, 900))
    for portfolio, (low, high) in zip(book.portfolios, spend, strict=True):
        aside = sum(
            set_aside(o)
            for o in book.orders
            if o.portfolio_id == portfolio.id and o.status == "working"
        )
        mine = sorted(
            (m for m in book.moves if m.portfolio_id == portfolio.id), key=lambda m: m.booked_at
        )
        total = deepest = 0
        for move in mine:
            total += move.amount
            deepest = min(deepest, total)
        power = rnd.randrange(low * 100, high * 100)
        deposit = max(-deepest, aside + power - total)
        book.move(portfolio.id, deposit, "deposit", book.days_ago(220, "LSE"))
        left = total + deposit - aside - power
        if left > 0:
            book.move(portfolio.id, -left, "transfer", book.start - timedelta(hours=30))


def _told_deposit(book: Book) -> None:
    """What the bank sent to the first portfolio; drawn apart, so that all else stays as it is."""
    told, kept = stories(book.cast).deposit, book.rnd
    book.rnd = book.cast.rng("stories", "trading")
    book.move(book.portfolios[0].id, told.amount, "deposit", told.moved)
    book.rnd = kept
