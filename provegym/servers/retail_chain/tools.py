"""The chain's 11 tools: stores and their stock, transfers, reservations and prices."""

from __future__ import annotations

from provegym.servers.retail_chain.tools_prices import list_price_rules, set_price_rule
from provegym.servers.retail_chain.tools_reservations import (
    list_store_reservations,
    reserve_store_stock,
    update_store_reservation,
)
from provegym.servers.retail_chain.tools_stores import (
    record_stock_movement,
    search_store_stock,
    search_stores,
)
from provegym.servers.retail_chain.tools_transfers import (
    list_stock_transfers,
    request_stock_transfer,
    update_stock_transfer,
)

__all__ = [
    "list_price_rules",
    "list_stock_transfers",
    "list_store_reservations",
    "record_stock_movement",
    "request_stock_transfer",
    "reserve_store_stock",
    "search_store_stock",
    "search_stores",
    "set_price_rule",
    "update_stock_transfer",
    "update_store_reservation",
]
