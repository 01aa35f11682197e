"""A session of the brokerage and how tests talk to it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import msgspec

from provegym.servers.trading import SERVER
from provegym.servers.trading.market import free_cash, sellable
from provegym.servers.trading.state import (
    LAST_STEP,
    Desk,
    Instrument,
    Order,
    Portfolio,
    Position,
    bid_ask,
    mid,
)
from provegym.servers.trading.venues import is_open
from provegym.world.world import World
from tests.servers.talk import Talk


@lru_cache
def world(seed: int) -> World:
    return World(seed, [SERVER])


@dataclass(frozen=True)
class Floor(Talk):
    """One session and the typed view of it."""

    desk: Desk

    def wait(self, minutes: int) -> None:
        """Let time pass without a write at this desk."""
        now = self.session.snapshot()
        self.session.restore(msgspec.structs.replace(now, writes=now.writes + minutes))

    def nudge(self) -> None:
        """A write that trades nothing: the desk catches up with the clock."""
        source, target = self.portfolio(), self.portfolio(kind="joint")
        self.ok(
            "transfer_portfolio_cash",
            from_portfolio_id=source.id,
            to_portfolio_id=target.id,
            amount="0.01",
        )

    def portfolio(self, **equal: Any) -> Portfolio:
        """The first portfolio that is like that; without a wish, the well-funded one."""
        return next(p for p in self.desk.portfolios if _equals(p, equal))

    def instrument(self, *, opened: bool = True, status: str = "trading") -> Instrument:
        """An instrument that no working order is about."""
        busy = {o.instrument_id for o in self.desk.working()}
        return next(
            i
            for i in self.desk.instruments
            if i.status == status
            and i.id not in busy
            and is_open(i.exchange, self.desk.now) == opened
        )

    def held(self, *, opened: bool = True) -> Position:
        """A position of which all can be sold."""
        return next(
            p
            for p in self.desk.positions
            if sellable(self.desk, p.portfolio_id, p.instrument_id) == p.quantity >= 4
            and (i := self.desk.instruments[p.instrument_id]).status == "trading"
            and is_open(i.exchange, self.desk.now) == opened
        )

    def order(self, status: str = "working", test: Callable[[Order], bool] = bool) -> Order:
        return next(o for o in self.desk.orders.where(status=status) if test(o))

    def price(self, instrument_id: str) -> int:
        return mid(self.desk, instrument_id, self.desk.step)

    def bid_ask(self, instrument_id: str) -> tuple[int, int]:
        return bid_ask(self.desk, instrument_id, self.desk.step)

    def free(self, portfolio: Portfolio) -> int:
        return free_cash(self.desk, self.desk.portfolios[portfolio.id])

    def set_path(self, instrument_id: str, *mids: int) -> None:
        """Give an instrument these prices from the start on, the last one for good."""
        quote = self.desk.quotes.where(instrument_id=instrument_id)[0]
        rest = (mids[-1],) * (LAST_STEP - len(mids))
        self.desk.quotes.update(quote, half_spread=1, mids=(*mids, *rest))
        self.keep()


def _equals(row: Any, wanted: dict[str, Any]) -> bool:
    return all(getattr(row, name) == value for name, value in wanted.items())


def floor(seed: int = 11) -> Floor:
    session = world(seed).open()
    desk = session.state("trading")
    assert isinstance(desk, Desk)
    return Floor(session, desk)
