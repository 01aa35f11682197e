"""What follows from the clock and from a sale: how listings, offers, purchases and bids stand."""

from __future__ import annotations

from datetime import date, timedelta

from provegym.servers.marketplace.auction import Standing, maxima, stand
from provegym.servers.marketplace.state import (
    Dispute,
    Listing,
    ListingStatus,
    Market,
    Offer,
    OfferStatus,
    Purchase,
    PurchaseStatus,
    Reason,
)
from provegym.servers.marketplace.state import Standing as BidStanding

FEE_PERCENT, FEE_MOST = 10, 5000
"""What the marketplace keeps of a price, at most."""
SHIPS_AFTER, ARRIVES_AFTER = 1, 4
"""Days from the sale."""
DISPUTE_DAYS, RATING_DAYS = 30, 60
"""How long after its arrival a purchase can be disputed and rated."""
OFFER_HOURS = 48


def fee(price: int) -> int:
    """The marketplace's share of a price."""
    return min((price * FEE_PERCENT + 50) // 100, FEE_MOST)


def status_of(market: Market, listing: Listing) -> ListingStatus:
    """How a listing stands at this minute."""
    if listing.status == "active" and listing.ends_at <= market.stamp:
        return "ended"
    return listing.status


def standing_of(market: Market, listing: Listing) -> Standing | None:
    """The standing of an auction; None without bids."""
    return stand(listing.start, market.bids.where(listing_id=listing.id))


def my_standing(market: Market, listing: Listing) -> BidStanding:
    """How the customer's bids on a listing stand."""
    bids, me = market.bids.where(listing_id=listing.id), market.me.id
    standing = stand(listing.start, bids)
    if standing is None or all(bid.bidder_id != me for bid in bids):
        return "none"
    over = status_of(market, listing) != "active"
    if standing.leader_id == me:
        return "won" if over else "leading"
    return "lost" if over else "outbid"


def my_maximum(market: Market, listing: Listing) -> int:
    """The most that the customer bid; 0 if nothing."""
    return maxima(market.bids.where(listing_id=listing.id)).get(market.me.id, 0)


def offer_status(market: Market, offer: Offer) -> OfferStatus:
    """How an offer stands at this minute."""
    if offer.status == "pending" and offer.expires_at <= market.stamp:
        return "expired"
    return offer.status


def purchase_status(purchase: Purchase, today: date) -> PurchaseStatus:
    """How far a purchase is today."""
    if purchase.refunded:
        return "refunded"
    day = today.isoformat()
    if day >= purchase.arrives_on and not purchase.lost:
        return "delivered"
    return "shipped" if day >= purchase.ships_on else "paid"


def sell(market: Market, listing: Listing, buyer_id: str, price: int) -> Purchase:
    """Make the sale: the listing is sold, its other pending offers are declined."""
    today, cut = market.today, fee(price)
    market.listings.update(listing, status="sold")
    for offer in market.offers.where(listing_id=listing.id, status="pending"):
        market.offers.update(offer, status="declined")
    return market.purchases.put(
        Purchase(
            *(market.purchases.new_id(), listing.id, listing.title, buyer_id, listing.seller_id),
            *(price, listing.shipping, cut, price - cut),
            refunded=False,
            lost=False,
            bought_on=today.isoformat(),
            ships_on=(today + timedelta(days=SHIPS_AFTER)).isoformat(),
            arrives_on=(today + timedelta(days=ARRIVES_AFTER)).isoformat(),
        )
    )


def last_day(purchase: Purchase, days: int) -> date:
    """The day so many days after a purchase arrived, or should have."""
    return date.fromisoformat(purchase.arrives_on) + timedelta(days=days)


def fitting_reasons(purchase: Purchase, today: date) -> tuple[Reason, ...]:
    """The reasons for which a purchase can be disputed today."""
    if purchase_status(purchase, today) == "delivered":
        return ("damaged", "mismatched", "counterfeit")
    overdue = today.isoformat() > purchase.arrives_on and not purchase.refunded
    return ("missing",) if overdue else ()


def open_dispute_of(market: Market, purchase: Purchase) -> Dispute | None:
    """The dispute about a purchase if it is still open."""
    dispute = market.dispute_of(purchase.id)
    return dispute if dispute and dispute.status == "open" else None
