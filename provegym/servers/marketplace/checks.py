"""What must hold in the marketplace after every call."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from provegym.servers.marketplace.auction import maxima, stand
from provegym.servers.marketplace.state import Listing, Market, Purchase
from provegym.servers.marketplace.trade import fee, purchase_status


def violations(market: Market) -> Iterator[str]:
    """What is wrong: one sentence for each broken invariant."""
    for listing in market.listings:
        yield from _listing_violations(market, listing)
        yield from _auction_violations(market, listing)
    for purchase in market.purchases:
        yield from _purchase_violations(market, purchase)
    yield from _offer_violations(market)
    yield from _rating_violations(market)
    if len(market.sellers.where(mine=True)) != 1:
        yield "the customer is not exactly one member"


def _listing_violations(market: Market, listing: Listing) -> Iterator[str]:
    buyers = len(market.purchases.where(listing_id=listing.id))
    if buyers != (listing.status == "sold"):
        yield f"listing {listing.id} is {listing.status} and has {buyers} buyers"
    if listing.status != "active" and market.offers.where(listing_id=listing.id, status="pending"):
        yield f"listing {listing.id} is {listing.status} and has pending offers"
    if listing.kind == "fixed" and (listing.bids or listing.price != listing.start):
        yield f"listing {listing.id} has a fixed price and moved"
    if market.sellers[listing.seller_id].seller != listing.seller:
        yield f"listing {listing.id} names another seller"


def _auction_violations(market: Market, listing: Listing) -> Iterator[str]:
    """The price never falls, and is what the bids make it."""
    bids = market.bids.where(listing_id=listing.id)
    if listing.bids != len(bids):
        yield f"listing {listing.id} counts {listing.bids} bids of {len(bids)}"
    price = listing.start
    for count in range(1, len(bids) + 1):
        standing = stand(listing.start, bids[:count])
        if standing is None or standing.price < price or standing.maximum < standing.price:
            yield f"listing {listing.id}: bid {count} lowers the price of {price}"
        price = standing.price if standing else price
    if listing.price != price:
        yield f"listing {listing.id} stands at {listing.price}, its bids make {price}"
    if listing.seller_id in maxima(bids):
        yield f"listing {listing.id} has a bid of its own seller"


def _purchase_violations(market: Market, p: Purchase) -> Iterator[str]:
    kept = (0, 0) if p.refunded else (fee(p.price), p.price - fee(p.price))
    if (p.fee, p.proceeds) != kept:
        yield f"purchase {p.id}: fee {p.fee} and proceeds {p.proceeds} of {p.price}"
    listing = market.listings[p.listing_id]
    if p.seller_id != listing.seller_id or p.buyer_id == p.seller_id:
        yield f"purchase {p.id} has the wrong seller"
    standing = stand(listing.start, market.bids.where(listing_id=listing.id))
    if standing and (standing.leader_id, standing.price) != (p.buyer_id, p.price):
        yield f"purchase {p.id} is not of the auction's winner at its price"
    if len(disputes := market.disputes.where(purchase_id=p.id)) > 1:
        yield f"purchase {p.id} is disputed {len(disputes)} times"
    if any((d.status == "refunded") != p.refunded for d in disputes):
        yield f"purchase {p.id} says refunded={p.refunded} against its dispute"


def _offer_violations(market: Market) -> Iterator[str]:
    accepted = Counter(o.listing_id for o in market.offers if o.status == "accepted")
    for offer in market.offers:
        listing = market.listings[offer.listing_id]
        if not (0 < offer.price < listing.price and listing.takes_offers):
            yield f"offer {offer.id} of {offer.price} does not fit its listing"
        if offer.seller_id != listing.seller_id or offer.buyer_id == offer.seller_id:
            yield f"offer {offer.id} has the wrong seller"
        if offer.status == "accepted":
            sold = market.purchases.where(listing_id=listing.id)
            wrong = [p for p in sold if (p.buyer_id, p.price) != (offer.buyer_id, offer.price)]
            if wrong or accepted[listing.id] > 1:
                yield f"offer {offer.id} was accepted and another sale made"


def _rating_violations(market: Market) -> Iterator[str]:
    stars, count = Counter[str](), Counter[str]()
    for r in market.ratings:
        stars[r.seller_id] += r.stars
        count[r.seller_id] += 1
        purchase = market.purchases[r.purchase_id]
        if purchase.seller_id != r.seller_id or not (
            purchase.refunded or purchase_status(purchase, market.today) == "delivered"
        ):
            yield f"rating {r.id} is of a purchase that did not arrive"
    for s in market.sellers:
        if (s.stars, s.ratings) != (stars[s.id], count[s.id]):
            yield f"seller {s.id}: the stars are not those of the ratings"
    twice = [p for p, n in Counter(r.purchase_id for r in market.ratings).items() if n > 1]
    yield from (f"purchase {p} is rated twice" for p in twice)
