"""Offering less than a fixed price, and answering such offers."""

from __future__ import annotations

from datetime import timedelta
from random import Random
from typing import Any, Literal

from msgspec import Struct

from provegym.servers.marketplace.state import (
    Listing,
    ListingId,
    Market,
    Offer,
    OfferId,
    OfferStatus,
    PurchaseId,
    find,
)
from provegym.servers.marketplace.tools_listings import Price, noun
from provegym.servers.marketplace.trade import OFFER_HOURS, offer_status, sell, status_of
from provegym.servers.marketplace.words import MESSAGES
from provegym.world.fields import Limit, Money, Stamp, Text, cents, money
from provegym.world.page import page
from provegym.world.tool import refuse, tool

MOST_OFFERS = 3
"""Offers that a buyer may make for one listing."""
Direction = Literal["received", "made"]
Answer = Literal["accept", "decline", "withdraw"]


class OfferItem(Struct, frozen=True):
    """An offer in a list."""

    offer_id: OfferId
    title: str
    amount: Money
    asked: Money
    buyer: str
    message: str
    status: OfferStatus


class OfferPage(Struct, frozen=True):
    """Offers, those that wait for an answer first."""

    offers: list[OfferItem]
    total: int
    next_cursor: str


class OfferReceipt(Struct, frozen=True):
    """An offer as it is now; an accepted one has a purchase, and what the seller gets of it."""

    offer_id: OfferId
    listing_id: ListingId
    title: str
    amount: Money
    status: OfferStatus
    expires_at: Stamp
    purchase_id: PurchaseId
    fee: Money
    proceeds: Money


def _receipt(market: Market, offer: Offer) -> OfferReceipt:
    sold = market.purchases.where(listing_id=offer.listing_id) if offer.status == "accepted" else []
    return OfferReceipt(
        *(offer.id, offer.listing_id, offer.title, money(offer.price), offer.status),
        *(offer.expires_at, sold[0].id if sold else ""),
        *(money(sold[0].fee if sold else 0), money(sold[0].proceeds if sold else 0)),
    )


def _mine(market: Market, li: Listing) -> list[Offer]:
    return market.offers.where(listing_id=li.id, buyer_id=market.me.id)


def _offerable(market: Market, li: Listing) -> bool:
    """Whether the customer can make an offer for the listing now."""
    if li.seller_id == market.me.id or status_of(market, li) != "active":
        return False
    made = _mine(market, li)
    waiting = any(offer_status(market, o) == "pending" for o in made)
    return not waiting and len(made) < MOST_OFFERS


def _make_sample(market: Market, rnd: Random) -> dict[str, Any]:
    open_ = [li for li in market.listings.where(takes_offers=True) if _offerable(market, li)]
    if not open_:
        return {}
    li = rnd.choice(open_)
    percent = rnd.choice((50, 65, 70, 75, 80, 90, 96))
    amount = max(li.price * percent // 100 // 100, 1) * 100
    given = {"listing_id": li.id, "amount": money(amount)}
    return given | ({"message": rnd.choice(MESSAGES)} if rnd.random() < 0.3 else {})


@tool(
    "write",
    phrases=(
        "Offer {amount} for {listing_id}[ with the message {message}]",
        "Make an offer of {amount} on {listing_id}[, saying {message}]",
        "Ask whether I can have {listing_id} for {amount}[, message: {message}]",
    ),
    refuses=(
        *("not_found", "own_listing", "listing_closed", "no_offers", "offer_not_below_price"),
        *("offer_pending", "offer_limit"),
    ),
    sample=_make_sample,
)
def make_offer(
    market: Market, listing_id: ListingId, amount: Price, message: Text = ""
) -> OfferReceipt:
    """Offer less than a fixed price. Sellers accept a good offer at once and decline a poor one.

    Args:
        listing_id: The listing.
        amount: What the customer would pay, without shipping.
        message: Words for the seller.
    """
    li, price = find(market.listings, listing_id, "listing", "search_listings"), cents(amount)
    _check_offer(market, li, price)
    me, until = market.me, (market.now + timedelta(hours=OFFER_HOURS)).isoformat()
    offer = market.offers.put(
        Offer(
            *(market.offers.new_id(), li.id, li.title, me.id, me.seller, li.seller_id),
            *(price, message, "declined" if price < li.ignore else "pending"),
            min(until, li.ends_at),
        )
    )
    if price >= li.take:
        offer = market.offers.update(offer, status="accepted")
        sell(market, li, me.id, price)
    return _receipt(market, offer)


def _check_offer(market: Market, li: Listing, price: int) -> None:
    if li.seller_id == market.me.id:
        refuse("own_listing", f"the {li.title} is your own listing")
    status = status_of(market, li)
    if status != "active":
        refuse("listing_closed", f"the listing of the {li.title} is {status}", status=status)
    if not li.takes_offers:
        way = "place_bid" if li.kind == "auction" else "buy_listing"
        refuse("no_offers", f"the {li.title} takes no offers; see {way}", kind=li.kind)
    if not 0 < price < li.price:
        text = f"an offer of {money(price)} is not below the price of {money(li.price)}"
        refuse("offer_not_below_price", text, price=money(li.price))
    made = _mine(market, li)
    if any(offer_status(market, o) == "pending" for o in made):
        text = f"an offer of yours for the {li.title} waits for its answer; answer_offer takes it"
        refuse("offer_pending", f"{text} back")
    if len(made) >= MOST_OFFERS:
        text = f"{len(made)} offers were made for the {li.title}, which is the most"
        refuse("offer_limit", text, limit=MOST_OFFERS)


def _list_sample(market: Market, rnd: Random) -> dict[str, Any]:
    offer = rnd.choice(_of_me(market))
    made = offer.buyer_id == market.me.id
    given: dict[str, Any] = {"direction": "made" if made else "received"}
    if rnd.random() < 0.35:
        given["status"] = offer_status(market, offer)
    return given | ({"query": noun(offer.title)} if rnd.random() < 0.3 else {})


def _of_me(market: Market) -> list[Offer]:
    me = market.me.id
    return market.offers.where(buyer_id=me) + market.offers.where(seller_id=me)


@tool(
    "read",
    phrases=(
        "List the[ {status}] offers that I have {direction}[ for {query}]",
        "Show the[ {status}] price offers {direction} by me[ with {query} in the title]",
        "Which[ {status}] marketplace offers have I {direction}[ for the {query}]",
    ),
    sample=_list_sample,
)
def list_offers(
    market: Market,
    direction: Direction,
    status: OfferStatus | None = None,
    query: str = "",
    limit: Limit = 5,
    cursor: str = "",
) -> OfferPage:
    """List offers that the customer made, or received for own listings; those that wait first.

    Args:
        direction: Made by the customer, or received.
        status: Only offers in this state.
        query: Words that must occur in the title of the listing.
        limit: Offers per page.
        cursor: next_cursor of the page before.
    """
    me, words = market.me.id, query.lower().split()
    mine = {"buyer_id": me} if direction == "made" else {"seller_id": me}
    found = [
        o
        for o in market.offers.where(**mine)
        if status in (None, offer_status(market, o))
        and all(word in o.title.lower() for word in words)
    ]
    found.sort(key=lambda o: (offer_status(market, o) != "pending", o.title, -o.price))
    rows, total, after = page(found, limit, cursor)
    return OfferPage([_item(market, o) for o in rows], total, after)


def _item(market: Market, o: Offer) -> OfferItem:
    asked, status = money(market.listings[o.listing_id].price), offer_status(market, o)
    return OfferItem(o.id, o.title, money(o.price), asked, o.buyer, o.message, status)


def _answer_sample(market: Market, rnd: Random) -> dict[str, Any]:
    waiting = [o for o in _of_me(market) if offer_status(market, o) == "pending"]
    if not waiting:
        return {}
    offer = rnd.choice(waiting)
    made = offer.buyer_id == market.me.id
    answer = "withdraw" if made else rnd.choice(("accept", "accept", "decline"))
    return {"offer_id": offer.id, "answer": answer}


@tool(
    "write",
    phrases=(
        "Answer {offer_id} with {answer}",
        "For {offer_id}, choose {answer}",
        "Please {answer} {offer_id}",
    ),
    refuses=("not_found", "offer_closed", "not_your_listing", "not_your_offer"),
    sample=_answer_sample,
)
def answer_offer(market: Market, offer_id: OfferId, answer: Answer) -> OfferReceipt:
    """Accept or decline an offer received, or withdraw one made. Accepting sells the listing.

    Args:
        offer_id: The offer.
        answer: As the seller accept or decline, as the buyer withdraw.
    """
    offer, me = find(market.offers, offer_id, "offer", "list_offers"), market.me.id
    if answer == "withdraw" and offer.buyer_id != me:
        refuse("not_your_offer", f"the offer for the {offer.title} was made by {offer.buyer}")
    if answer != "withdraw" and offer.seller_id != me:
        refuse("not_your_listing", f"the {offer.title} is not yours to sell")
    status = offer_status(market, offer)
    if status != "pending":
        text = f"the offer of {money(offer.price)} for the {offer.title} is {status}"
        refuse("offer_closed", text, status=status)
    if answer == "accept":
        offer = market.offers.update(offer, status="accepted")
        sell(market, market.listings[offer.listing_id], offer.buyer_id, offer.price)
    else:
        over: Literal["declined", "withdrawn"] = "declined" if answer == "decline" else "withdrawn"
        offer = market.offers.update(offer, status=over)
    return _receipt(market, offer)
