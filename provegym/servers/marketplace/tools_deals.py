"""Buying, what was bought and sold, rating sellers and settling disputes."""

from __future__ import annotations

from random import Random
from typing import Annotated, Any, Literal, NoReturn

from msgspec import Struct

from provegym.servers.marketplace.state import (
    Dispute,
    DisputeStatus,
    Listing,
    ListingId,
    Market,
    Purchase,
    PurchaseId,
    PurchaseStatus,
    Rating,
    Reason,
    SellerId,
    Today,
    average,
    find,
)
from provegym.servers.marketplace.tools_listings import noun
from provegym.servers.marketplace.trade import (
    DISPUTE_DAYS,
    RATING_DAYS,
    fitting_reasons,
    last_day,
    my_standing,
    open_dispute_of,
    purchase_status,
    sell,
    standing_of,
    status_of,
)
from provegym.servers.marketplace.words import COMMENTS, DETAILS
from provegym.world.fields import Limit, Money, Range, Text, money
from provegym.world.page import page
from provegym.world.tool import refuse, tool

SLIP = 0.06
"""How often a purchase is chosen without a look at its state."""
Stars = Annotated[int, Range(1, 5)]
Side = Literal["buyer", "seller"]
Outcome = Literal["refund", "drop"]


class BuyReceipt(Struct, frozen=True):
    """A purchase just made."""

    purchase_id: PurchaseId
    title: str
    seller: str
    price: Money
    shipping: Money
    total: Money
    arrives_on: Today


class PurchaseItem(Struct, frozen=True):
    """A purchase; `amount` is what the customer paid in all or got after the fee."""

    purchase_id: PurchaseId
    title: str
    side: Side
    amount: Money
    status: PurchaseStatus
    bought_on: Today
    dispute: DisputeStatus | Literal[""]


class PurchasePage(Struct, frozen=True):
    """Purchases, the latest first."""

    purchases: list[PurchaseItem]
    total: int
    next_cursor: str


class RatingReceipt(Struct, frozen=True):
    """A rating, and the seller's average with it."""

    purchase_id: PurchaseId
    title: str
    seller_id: SellerId
    seller: str
    stars: int
    comment: str
    seller_rating: float


class DisputeReceipt(Struct, frozen=True):
    """A dispute as it is now; `refund` is what the buyer got back."""

    purchase_id: PurchaseId
    title: str
    reason: Reason
    status: DisputeStatus
    purchase_status: PurchaseStatus
    refund: Money


# -- buying --------------------------------------------------------------------------------------


def _buyable(market: Market, li: Listing) -> bool:
    if li.kind == "auction":
        return li.status == "active" and my_standing(market, li) == "won"
    return status_of(market, li) == "active" and li.seller_id != market.me.id


def _buy_sample(market: Market, rnd: Random) -> dict[str, Any]:
    kind = "auction" if rnd.random() < 0.3 else "fixed"
    open_ = [li for li in market.listings.where(kind=kind) if _buyable(market, li)]
    return {"listing_id": rnd.choice(open_).id} if open_ else {}


@tool(
    "write",
    phrases=(
        "Buy {listing_id} on the marketplace",
        "Pay the price of {listing_id} and have it sent to me",
        "I'll take {listing_id}, buy it for me",
    ),
    refuses=(
        *("not_found", "own_listing", "already_sold", "listing_withdrawn", "auction_running"),
        *("not_winner", "listing_ended"),
    ),
    sample=_buy_sample,
)
def buy_listing(market: Market, listing_id: ListingId) -> BuyReceipt:
    """Buy something at its fixed price, or pay for an auction that the customer has won.

    Args:
        listing_id: The listing.
    """
    li = find(market.listings, listing_id, "listing", "search_listings")
    if li.seller_id == market.me.id:
        refuse("own_listing", f"the {li.title} is your own listing")
    if not _buyable(market, li):
        _refuse_sale(market, li)
    p = sell(market, li, market.me.id, li.price)
    return BuyReceipt(
        *(p.id, p.title, li.seller, money(p.price), money(p.shipping)),
        *(money(p.price + p.shipping), p.arrives_on),
    )


def _refuse_sale(market: Market, li: Listing) -> NoReturn:
    """Say why the listing cannot be bought."""
    status, standing = status_of(market, li), standing_of(market, li)
    if status == "sold":
        refuse("already_sold", f"the {li.title} is sold already")
    if status == "withdrawn":
        refuse("listing_withdrawn", f"{li.seller} took the {li.title} off the marketplace")
    if status == "active":
        text = f"the {li.title} is auctioned until {li.ends_at}; see place_bid"
        refuse("auction_running", text, ends_at=li.ends_at)
    if standing:
        text = f"the auction of the {li.title} was won by another bidder at {money(li.price)}"
        refuse("not_winner", text, price=money(li.price))
    refuse("listing_ended", f"the listing of the {li.title} ended at {li.ends_at} unsold")


# -- looking -------------------------------------------------------------------------------------


def _of_me(market: Market, side: Side | None = None) -> list[Purchase]:
    me = market.me.id
    bought = market.purchases.where(buyer_id=me) if side != "seller" else []
    return bought + (market.purchases.where(seller_id=me) if side != "buyer" else [])


def _purchases_sample(market: Market, rnd: Random) -> dict[str, Any]:
    wanted = rnd.choice(_of_me(market))
    given: dict[str, Any] = {}
    if rnd.random() < 0.4:
        given["side"] = "buyer" if wanted.buyer_id == market.me.id else "seller"
    if rnd.random() < 0.3:
        given["status"] = purchase_status(wanted, market.today)
    if rnd.random() < 0.35:
        given["query"] = noun(wanted.title)
    disputed = market.dispute_of(wanted.id)
    return given | ({"dispute": disputed.status} if disputed and rnd.random() < 0.6 else {})


@tool(
    "read",
    phrases=(
        "List my[ {status}] marketplace purchases[ of {query}][ where I am the {side}]"
        "[ with a dispute that is {dispute}]",
        "Show the[ {status}] deals I made on the marketplace[ as the {side}][ over {query}]"
        "[, dispute: {dispute}]",
        "Which[ {status}] marketplace sales[ of {query}] was I part of[ as {side}]"
        "[ that have a dispute which is {dispute}]",
    ),
    sample=_purchases_sample,
)
def list_purchases(
    market: Market,
    side: Side | None = None,
    status: PurchaseStatus | None = None,
    query: str = "",
    dispute: DisputeStatus | None = None,
    limit: Limit = 5,
    cursor: str = "",
) -> PurchasePage:
    """List what the customer bought and sold, the latest first.

    Args:
        side: Only where the customer is the buyer, or the seller.
        status: Only purchases that have come this far.
        query: Words that must occur in the title.
        dispute: Only purchases with a dispute in this state.
        limit: Purchases per page.
        cursor: next_cursor of the page before.
    """
    words = query.lower().split()
    found = [
        p
        for p in _of_me(market, side)
        if status in (None, purchase_status(p, market.today))
        and all(word in p.title.lower() for word in words)
        and (dispute is None or ((d := market.dispute_of(p.id)) and d.status == dispute))
    ]
    found.sort(key=lambda p: p.title)
    found.sort(key=lambda p: p.bought_on, reverse=True)
    rows, total, after = page(found, limit, cursor)
    return PurchasePage([_item(market, p) for p in rows], total, after)


def _item(market: Market, p: Purchase) -> PurchaseItem:
    bought, claim = p.buyer_id == market.me.id, market.dispute_of(p.id)
    return PurchaseItem(
        *(p.id, p.title, "buyer" if bought else "seller"),
        money(p.price + p.shipping if bought else p.proceeds),
        *(purchase_status(p, market.today), p.bought_on, claim.status if claim else ""),
    )


# -- after the deal ------------------------------------------------------------------------------


def _bought(market: Market, purchase_id: str) -> Purchase:
    """A purchase of which the customer is the buyer."""
    p = find(market.purchases, purchase_id, "purchase", "list_purchases")
    if p.buyer_id != market.me.id:
        refuse("not_the_buyer", f"the {p.title} was not bought by you")
    return p


def _ratable(market: Market, p: Purchase) -> bool:
    over = market.today > last_day(p, RATING_DAYS) or market.ratings.where(purchase_id=p.id)
    return not over and purchase_status(p, market.today) == "delivered"


def _rate_sample(market: Market, rnd: Random) -> dict[str, Any]:
    stars = rnd.choice((1, 2, 3, 4, 5, 5, 5))
    given: dict[str, Any] = {"stars": stars}
    if rnd.random() < 0.4:
        given["comment"] = rnd.choice(COMMENTS[stars])
    good = [p for p in _of_me(market, "buyer") if _ratable(market, p)]
    pool = _of_me(market) if rnd.random() < SLIP else good
    return given | ({"purchase_id": rnd.choice(pool).id} if pool else {})


@tool(
    "write",
    phrases=(
        "Rate the seller of {purchase_id} with {stars} stars[ and comment {comment}]",
        "Give the seller {stars} stars for {purchase_id}[, saying {comment}]",
        "Leave a rating of {stars} for {purchase_id}[ with the words {comment}]",
    ),
    refuses=("not_found", "not_the_buyer", "not_delivered", "already_rated", "rating_window_over"),
    sample=_rate_sample,
)
def rate_seller(
    market: Market, purchase_id: PurchaseId, stars: Stars, comment: Text = ""
) -> RatingReceipt:
    """Rate the seller of something that the customer bought and got within the past 60 days.

    Args:
        purchase_id: The purchase.
        stars: From 1, poor, to 5, perfect.
        comment: A few words for other buyers.
    """
    p = _bought(market, purchase_id)
    _check_ratable(market, p)
    today, who = market.today.isoformat(), market.me.seller
    seller, new = market.sellers[p.seller_id], market.ratings.new_id()
    market.ratings.put(Rating(new, p.id, seller.id, who, stars, comment, today))
    s = market.sellers.update(seller, stars=seller.stars + stars, ratings=seller.ratings + 1)
    rating = average(s.stars, s.ratings)
    return RatingReceipt(p.id, p.title, s.id, s.seller, stars, comment, rating)


def _check_ratable(market: Market, p: Purchase) -> None:
    if market.ratings.where(purchase_id=p.id):
        refuse("already_rated", f"the seller of the {p.title} is rated already")
    status = purchase_status(p, market.today)
    if status != "delivered":
        refuse("not_delivered", f"the {p.title} is {status}, not delivered", status=status)
    last = last_day(p, RATING_DAYS)
    if market.today > last:
        text = f"the purchase of the {p.title} could be rated until {last}"
        refuse("rating_window_over", text, last_day=last.isoformat())


def _open_sample(market: Market, rnd: Random) -> dict[str, Any]:
    fitting = {
        p.id: fitting_reasons(p, market.today)
        for p in _of_me(market, "buyer")
        if not market.dispute_of(p.id) and market.today <= last_day(p, DISPUTE_DAYS)
    }
    good = [purchase_id for purchase_id, reasons in fitting.items() if reasons]
    if not good or rnd.random() < SLIP:
        return {"purchase_id": rnd.choice(_of_me(market)).id, "reason": rnd.choice(list(DETAILS))}
    chosen = rnd.choice(good)
    reason = rnd.choice(fitting[chosen])
    details = {"details": rnd.choice(DETAILS[reason])} if rnd.random() < 0.3 else {}
    return {"purchase_id": chosen, "reason": reason, **details}


@tool(
    "write",
    phrases=(
        "Open a dispute about {purchase_id}, reason {reason}[, details: {details}]",
        "I want my money back for {purchase_id}: {reason}[, {details}]",
        "Complain about {purchase_id} with the reason {reason}[ and the details {details}]",
    ),
    refuses=(
        *("not_found", "not_the_buyer", "already_disputed", "dispute_window_over"),
        *("not_delivered", "already_delivered", "not_overdue"),
    ),
    sample=_open_sample,
)
def open_dispute(
    market: Market, purchase_id: PurchaseId, reason: Reason, details: Text = ""
) -> DisputeReceipt:
    """Claim the money of a purchase back, within 30 days after it came or should have come.

    Args:
        purchase_id: A purchase of the customer's.
        reason: What is wrong; missing only once it is overdue.
        details: What happened.
    """
    p = _bought(market, purchase_id)
    if claim := market.dispute_of(p.id):
        refuse("already_disputed", f"there is a dispute about the {p.title}: {claim.status}")
    last = last_day(p, DISPUTE_DAYS)
    if market.today > last:
        text = f"the purchase of the {p.title} could be disputed until {last}"
        refuse("dispute_window_over", text, last_day=last.isoformat())
    if reason not in fitting_reasons(p, market.today):
        _refuse_reason(market, p, reason)
    today, new = market.today.isoformat(), market.disputes.new_id()
    return _receipt(
        market, p, market.disputes.put(Dispute(new, p.id, reason, details, "open", today))
    )


def _refuse_reason(market: Market, p: Purchase, reason: Reason) -> NoReturn:
    """Say why the reason does not fit how far the purchase is."""
    status = purchase_status(p, market.today)
    if reason != "missing":
        refuse("not_delivered", f"the {p.title} is {status}, not delivered", status=status)
    if status == "delivered":
        refuse("already_delivered", f"the {p.title} was delivered on {p.arrives_on}")
    text = f"the {p.title} is {status} and due on {p.arrives_on}; it is not overdue"
    refuse("not_overdue", text, arrives_on=p.arrives_on)


def _receipt(market: Market, p: Purchase, claim: Dispute) -> DisputeReceipt:
    back = money(p.price + p.shipping if p.refunded else 0)
    status = purchase_status(p, market.today)
    return DisputeReceipt(p.id, p.title, claim.reason, claim.status, status, back)


def _settle_sample(market: Market, rnd: Random) -> dict[str, Any]:
    good = [p for p in _of_me(market) if open_dispute_of(market, p)]
    if not good or rnd.random() < SLIP:
        wrong: Outcome = rnd.choice(("refund", "drop"))
        return {"purchase_id": rnd.choice(good or _of_me(market)).id, "outcome": wrong}
    p = rnd.choice(good)
    return {"purchase_id": p.id, "outcome": "drop" if p.buyer_id == market.me.id else "refund"}


@tool(
    "write",
    phrases=(
        "Settle the dispute about {purchase_id} with {outcome}",
        "End the dispute over {purchase_id}: {outcome}",
        "Close the claim about {purchase_id}, choosing {outcome}",
    ),
    refuses=("not_found", "no_open_dispute", "not_the_buyer", "not_the_seller"),
    sample=_settle_sample,
)
def settle_dispute(market: Market, purchase_id: PurchaseId, outcome: Outcome) -> DisputeReceipt:
    """End an open dispute: as the seller by refunding the buyer, as the buyer by dropping it.

    Args:
        purchase_id: The purchase in dispute.
        outcome: Refund (sellers) or drop (buyers).
    """
    p, me = find(market.purchases, purchase_id, "purchase", "list_purchases"), market.me.id
    claim = open_dispute_of(market, p)
    if claim is None:
        refuse("no_open_dispute", f"there is no open dispute about the {p.title}")
    if outcome == "refund":
        if p.seller_id != me:
            refuse("not_the_seller", f"only the seller of the {p.title} can refund it")
        p = market.purchases.update(p, refunded=True, fee=0, proceeds=0)
        return _receipt(market, p, market.disputes.update(claim, status="refunded"))
    if p.buyer_id != me:
        refuse("not_the_buyer", f"only the buyer of the {p.title} can drop the dispute")
    return _receipt(market, p, market.disputes.update(claim, status="dropped"))
