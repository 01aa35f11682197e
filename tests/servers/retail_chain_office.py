"""A session of the retail chain and how tests talk to it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from provegym.servers.retail_chain import SERVER
from provegym.servers.retail_chain.state import Chain, Product, StockLevel, Store, Transfer
from provegym.servers.retail_chain.stock import available, reservation_status, space
from provegym.servers.retail_chain.tools_stores import serves
from provegym.world.world import World
from tests.servers.talk import Talk


@lru_cache(maxsize=80)
def world(seed: int) -> World:
    return World(seed, [SERVER])


@dataclass(frozen=True)
class Office(Talk):
    """One session and the typed view of it."""

    chain: Chain

    def store(self, level: StockLevel) -> Store:
        return self.chain.stores[level.store_id]

    def product(self, level: StockLevel) -> Product:
        return self.chain.products[level.product_id]

    def serving(self, least: int = 1) -> list[StockLevel]:
        """Stock at shops that are open now, with so many units to spare."""
        levels = self.chain.stock_levels
        return [x for x in levels if serves(self.chain, self.store(x)) and self.free(x) >= least]

    def free(self, level: StockLevel) -> int:
        return available(self.chain, self.chain.stock_levels[level.id])

    def room(self, level: StockLevel) -> int:
        return space(self.chain, self.chain.stock_levels[level.id])

    def where(self, level: StockLevel) -> dict[str, str]:
        """The two arguments that name a stock level."""
        return {"product_id": level.product_id, "store_id": level.store_id}

    def movable(self, wanted: Callable[[StockLevel, StockLevel], bool]) -> dict[str, str]:
        """The arguments that name a product, a store that carries it, and another one."""
        for source in self.chain.stock_levels:
            for target in self.chain.stock_levels.where(product_id=source.product_id):
                if target.id != source.id and wanted(source, target):
                    ends = {"from_store_id": source.store_id, "to_store_id": target.store_id}
                    return {"product_id": source.product_id, **ends}
        raise AssertionError("no two stores are so")

    def transfers(self, status: str, refurbishing: bool = False) -> list[Transfer]:
        """Transfers in that state to stores that take goods in, or do not."""
        levels = self.chain.stock_levels
        found = [t for t in self.chain.transfers if t.status == status]
        return [t for t in found if self.store(levels[t.target_id]).refurbishing == refurbishing]

    def reservations(self, status: str) -> list[Any]:
        """Reservations that stand so now."""
        return [r for r in self.chain.reservations if reservation_status(self.chain, r) == status]


def office(seed: int) -> Office:
    session = world(seed).open()
    chain = session.state("retail_chain")
    assert isinstance(chain, Chain)
    return Office(session, chain)
