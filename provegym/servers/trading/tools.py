"""Portfolios, positions and orders, as a customer uses them. Amounts are US dollars."""

from __future__ import annotations

from typing import Annotated

from msgspec.structs import replace

from provegym.servers.trading import samples
from provegym.servers.trading.market import (
    advance,
    book,
    free_cash,
    known_instrument,
    known_order,
    known_portfolio,
    release,
    require_cover,
    require_market,
)
from provegym.servers.trading.state import (
    Desk,
    InstrumentId,
    Order,
    OrderId,
    OrderStatus,
    OrderType,
    PortfolioId,
    Side,
    TimeInForce,
)
from provegym.servers.trading.venues import next_close
from provegym.servers.trading.views import (
    CashReceipt,
    FillPage,
    OrderPage,
    OrderReceipt,
    PortfolioPage,
    PositionPage,
    fill_item,
    order_item,
    order_receipt,
    portfolio_item,
    position_item,
    value_of,
)
from provegym.world.fields import Date, Limit, Money, Range, cents, money
from provegym.world.page import page
from provegym.world.period import period
from provegym.world.tool import refuse, tool

Quantity = Annotated[int, Range(1, 100_000)]


@tool(
    "read",
    phrases=(
        "List my investment portfolios[ named {query}] with their buying power",
        "How much cash and buying power do my portfolios[ called {query}] have",
        "Give me an overview of my trading portfolios[ with {query} in the name]",
    ),
    sample=samples.portfolios,
)
def list_portfolios(
    desk: Desk, query: str = "", limit: Limit = 5, cursor: str = ""
) -> PortfolioPage:
    """List your portfolios with cash, buying power and the value of their holdings.

    Args:
        query: Part of the portfolio's name.
        limit: Portfolios per page.
        cursor: next_cursor of the page before.
    """
    words = query.casefold()
    found = [p for p in desk.portfolios if words in p.name.casefold()]
    found.sort(key=lambda p: p.name)
    rows, total, after = page(found, limit, cursor)
    return PortfolioPage([portfolio_item(desk, p) for p in rows], total, after)


@tool(
    "read",
    phrases=(
        "Show the shares I hold[ in {portfolio_id}][ of {query}]",
        "List my positions[ in {portfolio_id}][ in {query}]",
        "Tell me what I am invested in[ through {portfolio_id}][; only {query}]",
    ),
    refuses=("not_found",),
    sample=samples.positions,
)
def list_positions(
    desk: Desk,
    portfolio_id: PortfolioId | None = None,
    query: str = "",
    limit: Limit = 5,
    cursor: str = "",
) -> PositionPage:
    """List what you hold at today's prices, the most valuable first.

    Args:
        portfolio_id: Only this portfolio.
        query: Part of the instrument's name.
        limit: Positions per page.
        cursor: next_cursor of the page before.
    """
    if portfolio_id is None:
        held = list(desk.positions)
    else:
        held = desk.positions.where(portfolio_id=known_portfolio(desk, portfolio_id).id)
    words = query.casefold()
    found = [p for p in held if words in desk.instruments[p.instrument_id].name.casefold()]
    found.sort(key=lambda p: value_of(desk, p), reverse=True)
    rows, total, after = page(found, limit, cursor)
    return PositionPage([position_item(desk, p) for p in rows], total, after)


@tool(
    "write",
    phrases=(
        "Move {amount} of cash from {from_portfolio_id} to {to_portfolio_id}",
        "Transfer {amount} out of {from_portfolio_id} into {to_portfolio_id}",
        "Fund {to_portfolio_id} with {amount} taken from {from_portfolio_id}",
    ),
    refuses=("not_found", "retirement_locked", "insufficient_buying_power"),
    sample=samples.transfer,
)
def transfer_portfolio_cash(
    desk: Desk, from_portfolio_id: PortfolioId, to_portfolio_id: PortfolioId, amount: Money
) -> CashReceipt:
    """Move free cash between two of your portfolios; none leaves a retirement portfolio.

    Args:
        from_portfolio_id: Portfolio the cash leaves.
        to_portfolio_id: Portfolio the cash enters.
        amount: US dollars.
    """
    advance(desk)
    value = cents(amount)
    if value <= 0:
        refuse("invalid_amount", f"the amount must be above 0.00, got {amount}", amount=amount)
    if from_portfolio_id == to_portfolio_id:
        refuse("same_portfolio", "cash must move between two different portfolios")
    source, target = (known_portfolio(desk, x) for x in (from_portfolio_id, to_portfolio_id))
    if source.kind == "retirement":
        refuse("retirement_locked", f"cash cannot leave the {source.name} retirement portfolio")
    free = free_cash(desk, source)
    if value > free:
        text = f"{amount} is more than the {money(free)} free in {source.name}"
        refuse("insufficient_buying_power", text, available=money(free), needed=amount)
    book(desk, source, -value, None, desk.stamp)
    book(desk, target, value, None, desk.stamp)
    advance(desk, minutes=1)
    items = (portfolio_item(desk, desk.portfolios[p.id]) for p in (source, target))
    return CashReceipt(money(value), *items)


@tool(
    "write",
    phrases=(
        "Place a {order_type} order in {portfolio_id} to {side} {quantity} shares of "
        "{instrument_id}[ at {price}][, time in force {time_in_force}]",
        "I want to {side} {quantity} shares of {instrument_id} in {portfolio_id} by {order_type} "
        "order[ at {price}][, time in force {time_in_force}]",
        "In {portfolio_id}, {side} {quantity} of {instrument_id} with a {order_type} order"
        "[ priced {price}][ with time in force {time_in_force}]",
    ),
    refuses=(
        "not_found",
        "instrument_halted",
        "market_closed",
        "portfolio_restricted",
        "price_out_of_band",
        "stop_already_passed",
        "insufficient_buying_power",
        "insufficient_holdings",
    ),
    sample=samples.place,
)
def place_trade_order(
    desk: Desk,
    portfolio_id: PortfolioId,
    instrument_id: InstrumentId,
    side: Side,
    quantity: Quantity,
    order_type: OrderType,
    price: Money | None = None,
    time_in_force: TimeInForce = "day",
) -> OrderReceipt:
    """Buy or sell shares. Market orders trade at once; limit and stop orders may rest.

    Args:
        portfolio_id: Portfolio that trades.
        instrument_id: The share or fund.
        side: Buy, or sell shares held.
        quantity: Number of shares.
        order_type: How it is priced; stop triggers a market order.
        price: Limit or stop price a share in US dollars; none for market.
        time_in_force: How long it may rest: until the close, or good till cancelled.
    """
    level = _level(order_type, price)
    advance(desk)
    portfolio = known_portfolio(desk, portfolio_id)
    instrument = known_instrument(desk, instrument_id)
    lapses = next_close(instrument.exchange, desk.now).isoformat() if time_in_force == "day" else ""
    order = Order(
        id=desk.orders.new_id(),
        portfolio_id=portfolio.id,
        instrument_id=instrument.id,
        side=side,
        order_type=order_type,
        quantity=quantity,
        filled=0,
        price=level,
        time_in_force=time_in_force,
        status="working",
        placed_at=desk.stamp,
        expires_at=lapses,
    )
    _require_allowed(desk, order, None)
    release(desk, order)
    advance(desk, minutes=1)
    return order_receipt(desk, order.id)


def _level(order_type: OrderType, price: str | None) -> int:
    """Cents of a limit or stop, 0 for a market order."""
    if order_type == "market":
        if price is not None:
            refuse("price_not_allowed", f"a market order takes no price, got {price}", price=price)
        return 0
    if price is None or cents(price) <= 0:
        refuse("price_required", f"a {order_type} order needs a price above 0.00", price=price)
    return cents(price)


def _require_allowed(desk: Desk, order: Order, before: Order | None) -> None:
    portfolio = desk.portfolios[order.portfolio_id]
    if portfolio.status == "restricted" and order.side == "buy":
        refuse("portfolio_restricted", f"the {portfolio.name} portfolio may sell but not buy")
    require_market(desk, desk.instruments[order.instrument_id], order)
    require_cover(desk, order, before)


@tool(
    "read",
    phrases=(
        "List my[ {status}][ {side}] orders[ in {portfolio_id}][ for {query}]",
        "Show the[ {status}] trade orders I placed[ to {side}][ in {portfolio_id}][ for {query}]",
        "Look through my[ {status}] trade orders[ that {side}][ through {portfolio_id}]"
        "[ on {query}]",
    ),
    refuses=("not_found",),
    sample=samples.orders,
)
def list_trade_orders(
    desk: Desk,
    portfolio_id: PortfolioId | None = None,
    query: str = "",
    status: OrderStatus | None = None,
    side: Side | None = None,
    limit: Limit = 5,
    cursor: str = "",
) -> OrderPage:
    """List your orders, newest first.

    Args:
        portfolio_id: Only this portfolio.
        query: Part of the instrument's name.
        status: Only orders in this state.
        side: Only purchases or only sales.
        limit: Orders per page.
        cursor: next_cursor of the page before.
    """
    if portfolio_id is None:
        placed = desk.orders.where(status=status) if status else list(desk.orders)
    else:
        placed = desk.orders.where(portfolio_id=known_portfolio(desk, portfolio_id).id)
    words = query.casefold()
    found = [
        o
        for o in placed
        if (status is None or o.status == status)
        and (side is None or o.side == side)
        and words in desk.instruments[o.instrument_id].name.casefold()
    ]
    found.sort(key=lambda o: o.placed_at, reverse=True)
    rows, total, after = page(found, limit, cursor)
    return OrderPage([order_item(desk, o) for o in rows], total, after)


@tool(
    "write",
    phrases=(
        "Change {order_id}[ to {quantity} shares][ to a price of {price}]",
        "Amend {order_id}[; make it {quantity} shares][; set its price to {price}]",
        "Modify {order_id}[ so that it covers {quantity} shares][ with {price} as the price]",
    ),
    refuses=(
        "not_found",
        "order_filled",
        "order_cancelled",
        "order_expired",
        "no_change",
        "below_filled",
        "instrument_halted",
        "portfolio_restricted",
        "price_out_of_band",
        "stop_already_passed",
        "insufficient_buying_power",
        "insufficient_holdings",
    ),
    sample=samples.modify,
)
def modify_trade_order(
    desk: Desk, order_id: OrderId, quantity: Quantity | None = None, price: Money | None = None
) -> OrderReceipt:
    """Change the total quantity or the price of a working order; it may then trade at once.

    Args:
        order_id: The order.
        quantity: New number of shares, those already traded included.
        price: New limit or stop price in US dollars.
    """
    advance(desk)
    order = known_order(desk, order_id)
    level = order.price if price is None else cents(price)
    total = quantity or order.quantity
    if (total, level) == (order.quantity, order.price):
        refuse("no_change", "give a quantity or price that differs from the present one")
    if total <= order.filled:
        text = f"{order.filled} shares have traded already; cancel the rest instead"
        refuse("below_filled", text, filled=order.filled)
    changed = replace(order, quantity=total, price=level)
    _require_allowed(desk, changed, order)
    fills = len(desk.fills.where(order_id=order.id))
    release(desk, changed)
    advance(desk, minutes=1)
    return order_receipt(desk, order.id, fills)


@tool(
    "write",
    phrases=(
        "Cancel {order_id}",
        "Withdraw {order_id} from the market",
        "Take {order_id} off the book",
    ),
    refuses=("not_found", "order_filled", "order_cancelled", "order_expired"),
    sample=samples.cancel,
)
def cancel_trade_order(desk: Desk, order_id: OrderId) -> OrderReceipt:
    """Cancel what has not traded yet of a working order.

    Args:
        order_id: The order.
    """
    advance(desk)
    order = known_order(desk, order_id)
    desk.orders.update(order, status="cancelled")
    advance(desk, minutes=1)
    return order_receipt(desk, order.id, len(desk.fills.where(order_id=order.id)))


@tool(
    "read",
    phrases=(
        "List my[ {side}] executions[ of {query}][ since {since}][ until {until}]"
        "[ that belong to {order_id}]",
        "Show at what prices my[ {side}] trades[ in {query}] were filled[ from {since} on]"
        "[ up to {until}][ under {order_id}]",
        "Pull up my[ {side}] fills[ for {query}][ since {since}][ through {until}]"
        "[ from {order_id}]",
    ),
    refuses=("not_found",),
    sample=samples.fills,
)
def list_trade_fills(
    desk: Desk,
    order_id: OrderId | None = None,
    query: str = "",
    side: Side | None = None,
    since: Date | None = None,
    until: Date | None = None,
    limit: Limit = 5,
    cursor: str = "",
) -> FillPage:
    """List executed trades with price and fee, newest first.

    Args:
        order_id: Only fills of this order.
        query: Part of the instrument's name.
        side: Only purchases or only sales.
        since: First day.
        until: Last day.
        limit: Fills per page.
        cursor: next_cursor of the page before.
    """
    if order_id is not None and order_id not in desk.orders:
        refuse("not_found", f"you have no order {order_id[:40]!r}", id=order_id)
    traded = list(desk.fills) if order_id is None else desk.fills.where(order_id=order_id)
    words, (first, last) = query.casefold(), period(since, until)
    found = [
        f
        for f in traded
        if first <= f.filled_at < last
        and (side is None or f.side == side)
        and words in desk.instruments[f.instrument_id].name.casefold()
    ]
    found.sort(key=lambda f: f.filled_at, reverse=True)
    rows, total, after = page(found, limit, cursor)
    return FillPage([fill_item(desk, f) for f in rows], total, after)
