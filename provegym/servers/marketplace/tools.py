"""The marketplace's 13 tools, in the order in which a deal goes."""

from __future__ import annotations

from provegym.servers.marketplace.tools_deals import (
    buy_listing,
    list_purchases,
    open_dispute,
    rate_seller,
    settle_dispute,
)
from provegym.servers.marketplace.tools_listings import (
    create_listing,
    get_listing,
    place_bid,
    search_listings,
    withdraw_listing,
)
from provegym.servers.marketplace.tools_offers import answer_offer, list_offers, make_offer

__all__ = [
    "answer_offer",
    "buy_listing",
    "create_listing",
    "get_listing",
    "list_offers",
    "list_purchases",
    "make_offer",
    "open_dispute",
    "place_bid",
    "rate_seller",
    "search_listings",
    "settle_dispute",
    "withdraw_listing",
]
