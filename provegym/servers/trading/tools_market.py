"""What can be looked up about the market, and price alerts. Prices are US dollars a share."""

from __future__ import annotations

from typing import Literal

from provegym.servers.trading import samples
from provegym.servers.trading.market import advance, known_instrument, require_band
from provegym.servers.trading.state import (
    Alert,
    Desk,
    Direction,
    InstrumentId,
    Kind,
    Sector,
    mid,
    reached,
)
from provegym.servers.trading.venues import Exchange
from provegym.servers.trading.views import (
    AlertItem,
    AlertPage,
    BarPage,
    InstrumentPage,
    QuoteItem,
    alert_item,
    bar_item,
    instrument_item,
    quote_item,
)
from provegym.world.fields import Date, Limit, Money, cents, money
from provegym.world.page import page
from provegym.world.period import period
from provegym.world.tool import refuse, tool


@tool(
    "read",
    phrases=(
        'Search the market for[ {kind}] instruments[ matching "{query}"]'
        "[ in the {sector} sector][ on {exchange}]",
        "Which[ {kind}] instruments can I trade[ under the name {query}]"
        "[ in the {sector} sector][ at {exchange}]",
        "Look up the listed[ {kind}] instruments[ called {query}]"
        "[ from the {sector} sector][ listed on {exchange}]",
    ),
    sample=samples.instruments,
)
def search_instruments(
    desk: Desk,
    query: str = "",
    kind: Kind | None = None,
    sector: Sector | None = None,
    exchange: Exchange | None = None,
    limit: Limit = 5,
    cursor: str = "",
) -> InstrumentPage:
    """Find shares and funds that can be traded, by name, with their last price.

    Args:
        query: Part of the name, the symbol or the ISIN.
        kind: Only shares or only funds.
        sector: Only this sector; broad is for index funds.
        exchange: Only listings on this exchange.
        limit: Instruments per page.
        cursor: next_cursor of the page before.
    """
    words = query.casefold()
    found = [
        i
        for i in (desk.instruments.where(exchange=exchange) if exchange else desk.instruments)
        if (kind is None or i.kind == kind)
        and (sector is None or i.sector == sector)
        and (words in i.name.casefold() or words in (i.symbol.casefold(), i.isin.casefold()))
    ]
    found.sort(key=lambda i: i.name)
    rows, total, after = page(found, limit, cursor)
    return InstrumentPage([instrument_item(desk, i) for i in rows], total, after)


@tool(
    "read",
    phrases=(
        "Get the current quote for {instrument_id}",
        "What are the bid and ask prices of {instrument_id} right now",
        "Check at what price {instrument_id} trades at the moment",
    ),
    refuses=("not_found",),
)
def get_stock_quote(desk: Desk, instrument_id: InstrumentId) -> QuoteItem:
    """Show bid, ask, last price and change of an instrument, and whether its market is open.

    Args:
        instrument_id: The share or fund.
    """
    return quote_item(desk, known_instrument(desk, instrument_id))


@tool(
    "read",
    phrases=(
        "Show the daily price history of {instrument_id}[ since {since}][ until {until}]",
        "Pull up the past daily prices of {instrument_id}[ from {since} on][ up to {until}]",
        "Give me {instrument_id}'s daily closing prices[ starting {since}][ ending {until}]",
    ),
    refuses=("not_found",),
    sample=samples.history,
)
def get_price_history(
    desk: Desk,
    instrument_id: InstrumentId,
    since: Date | None = None,
    until: Date | None = None,
    limit: Limit = 5,
    cursor: str = "",
) -> BarPage:
    """List an instrument's past trading days, newest first: open, high, low, close, volume.

    Args:
        instrument_id: The share or fund.
        since: First day.
        until: Last day.
        limit: Days per page.
        cursor: next_cursor of the page before.
    """
    instrument, (first, last) = known_instrument(desk, instrument_id), period(since, until)
    bars = [
        bar
        for bar in desk.daily_bars.where(instrument_id=instrument.id)
        if first <= bar.date <= last
    ]
    bars.sort(key=lambda bar: bar.date, reverse=True)
    rows, total, after = page(bars, limit, cursor)
    days = [bar_item(bar) for bar in rows]
    return BarPage(instrument.id, instrument.name, days, total, after)


@tool(
    "write",
    phrases=(
        "Alert me when {instrument_id} goes {direction} {price}",
        "Set a price alert on {instrument_id} for {direction} {price}",
        "Let me know once {instrument_id} trades {direction} {price}",
    ),
    refuses=("not_found", "price_out_of_band", "already_reached", "alert_exists"),
    sample=samples.new_alert,
)
def create_price_alert(
    desk: Desk, instrument_id: InstrumentId, direction: Direction, price: Money
) -> AlertItem:
    """Set an alert that triggers once the last price reaches a level.

    Args:
        instrument_id: The share or fund.
        direction: On which side of the level to trigger.
        price: The level in US dollars.
    """
    advance(desk)
    instrument, level = known_instrument(desk, instrument_id), cents(price)
    require_band(desk, instrument, level)
    alert = Alert(
        desk.alerts.new_id(), instrument.id, direction, level, status="armed", created_at=desk.stamp
    )
    last = mid(desk, instrument.id, desk.step)
    if reached(alert, last):
        text = f"{instrument.name} trades at {money(last)}, which is {direction} {price} already"
        refuse("already_reached", text, last=money(last))
    for other in desk.alerts.where(instrument_id=instrument.id, status="armed"):
        if (other.direction, other.price) == (direction, level):
            refuse("alert_exists", "the same alert is armed already", alert_id=other.id)
    desk.alerts.put(alert)
    advance(desk, minutes=1)
    return alert_item(desk, desk.alerts[alert.id])


@tool(
    "read",
    phrases=(
        "List my[ {status}] price alerts[ on {query}]",
        "Show which[ {status}] price alerts I have[ for {query}]",
        "Go over the[ {status}] price alerts I set[ for {query}]",
    ),
    sample=samples.alerts,
)
def list_price_alerts(
    desk: Desk,
    query: str = "",
    status: Literal["armed", "triggered"] | None = None,
    limit: Limit = 5,
    cursor: str = "",
) -> AlertPage:
    """List your price alerts by instrument, armed ones first.

    Args:
        query: Part of the instrument's name.
        status: Only alerts that wait, or only those that went off.
        limit: Alerts per page.
        cursor: next_cursor of the page before.
    """
    words = query.casefold()
    names = {a.id: desk.instruments[a.instrument_id].name for a in desk.alerts}
    found = [
        a
        for a in desk.alerts
        if words in names[a.id].casefold() and (status is None or a.status == status)
    ]
    found.sort(key=lambda a: (a.status, names[a.id], a.price))
    rows, total, after = page(found, limit, cursor)
    return AlertPage([alert_item(desk, a) for a in rows], total, after)
