"""Proxy bidding: bidders name the most they would pay, and the price rises only as it must.

The price stands one increment above the second highest maximum, never above the highest. Of
equal maxima the earlier one leads. Increments grow with the price, as at the large auction sites.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from provegym.servers.marketplace.state import Bid

INCREMENTS = (
    *((100, 5), (500, 25), (2500, 50), (10000, 100), (25000, 250), (50000, 500)),
    *((100000, 1000), (250000, 2500), (500000, 5000)),
)
"""Below a price, the step; both in cents."""
LARGEST_STEP = 10000


class Standing(NamedTuple):
    """What an auction has come to: its price, who leads, and the leader's maximum."""

    price: int
    leader_id: str
    maximum: int


def increment(price: int) -> int:
    """The least by which a bid must raise a price."""
    return next((step for below, step in INCREMENTS if price < below), LARGEST_STEP)


def maxima(bids: Iterable[Bid]) -> dict[str, int]:
    """Each bidder's latest maximum; who reached theirs earlier stands first."""
    latest: dict[str, int] = {}
    for bid in bids:
        latest.pop(bid.bidder_id, None)
        latest[bid.bidder_id] = bid.maximum
    return latest


def stand(start: int, bids: Sequence[Bid]) -> Standing | None:
    """The standing after these bids in their order; None without any."""
    if not bids:
        return None
    latest = maxima(bids)
    leader = max(latest, key=lambda bidder: latest[bidder])
    top = latest.pop(leader)
    second = max(latest.values(), default=0)
    price = min(top, second + increment(second)) if second else start
    return Standing(price, leader, top)


def least(start: int, price: int, bids: int) -> int:
    """The smallest maximum that the next bid may name."""
    return price + increment(price) if bids else start
