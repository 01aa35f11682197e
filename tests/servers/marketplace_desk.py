"""A session of the marketplace and how tests talk to it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

from provegym.servers.marketplace import SERVER
from provegym.servers.marketplace.state import Listing, Market, Purchase
from provegym.servers.marketplace.trade import status_of
from provegym.world.world import World
from tests.servers.talk import Talk


@lru_cache(maxsize=80)
def world(seed: int) -> World:
    return World(seed, [SERVER])


@dataclass(frozen=True)
class Desk(Talk):
    """One session and the typed view of it."""

    market: Market

    def listings(self, wanted: Callable[[Listing], bool], status: str = "active") -> list[Listing]:
        """Listings in that state that fit."""
        found = [li for li in self.market.listings if status_of(self.market, li) == status]
        return [li for li in found if wanted(li)]

    def theirs(self, li: Listing) -> bool:
        return li.seller_id != self.market.me.id

    def bought(self) -> list[Purchase]:
        return self.market.purchases.where(buyer_id=self.market.me.id)

    def sold(self) -> list[Purchase]:
        return self.market.purchases.where(seller_id=self.market.me.id)


def desk(seed: int) -> Desk:
    session = world(seed).open()
    market = session.state("marketplace")
    assert isinstance(market, Market)
    return Desk(session, market)
