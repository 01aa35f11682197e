"""Finding, making and taking back listings, and bidding on auctions."""

from __future__ import annotations

from datetime import timedelta
from random import Random
from typing import Annotated, Any, Literal

from msgspec import Struct

from provegym.servers.marketplace.auction import increment, least
from provegym.servers.marketplace.state import (
    Bid,
    Category,
    Condition,
    Kind,
    Listing,
    ListingId,
    ListingStatus,
    Market,
    Seller,
    SellerId,
    Standing,
    Today,
    average,
    find,
)
from provegym.servers.marketplace.trade import my_maximum, my_standing, standing_of, status_of
from provegym.servers.marketplace.words import STYLES, THINGS
from provegym.world.fields import Format, Limit, Money, Range, Stamp, Text, cents, money
from provegym.world.page import page
from provegym.world.tool import refuse, tool

MOST_ACTIVE = 12
"""Listings that a member may have at a time."""
LATEST = 2
"""Comments on a seller that a listing shows."""
Role = Literal["selling", "bidding"]
Days = Annotated[int, Range(1, 30)]


def _is_price(text: str) -> bool:
    whole, _, rest = text.partition(".")
    digits = text.isascii() and whole.isdigit() and rest.isdigit()
    return digits and len(rest) == 2 and 0 < len(whole) <= 6


Price = Annotated[str, Format("money", 'From "0.00" to "999999.99".', _is_price)]


class ListingItem(Struct, frozen=True):
    """A listing as a search shows it; the price of an auction is what it stands at."""

    listing_id: ListingId
    title: str
    kind: Kind
    price: Money
    ends_on: Today
    status: ListingStatus
    my_bid: Standing


class ListingPage(Struct, frozen=True):
    """Listings, the one that ends first at the top."""

    listings: list[ListingItem]
    total: int
    next_cursor: str


class Comment(Struct, frozen=True):
    """What a buyer said about the seller."""

    author: str
    stars: int
    comment: str


class ListingView(Struct, frozen=True):
    """A listing with its seller; `next_bid` is "" and `my_maximum` "0.00" where there is none."""

    listing_id: ListingId
    title: str
    category: Category
    condition: Condition
    kind: Kind
    status: ListingStatus
    price: Money
    shipping: Money
    takes_offers: bool
    bids: int
    next_bid: str
    my_bid: Standing
    my_maximum: Money
    ends_at: Stamp
    seller_id: SellerId
    seller: str
    city: str
    seller_rating: float
    comments: list[Comment]


class ListingReceipt(Struct, frozen=True):
    """A listing of the customer's as it is now."""

    listing_id: ListingId
    title: str
    kind: Kind
    price: Money
    shipping: Money
    status: ListingStatus
    ends_at: Stamp


class BidReceipt(Struct, frozen=True):
    """Where an auction stands after the bid."""

    listing_id: ListingId
    title: str
    my_bid: Standing
    my_maximum: Money
    price: Money
    next_bid: Money
    bids: int
    ends_at: Stamp


# -- looking -------------------------------------------------------------------------------------


def noun(title: str) -> str:
    """The last word of a title, as people search for it."""
    return title.rsplit(" ", 1)[-1]


def _search_sample(market: Market, rnd: Random) -> dict[str, Any]:
    luck = rnd.random()
    if luck < 0.3:
        role = rnd.choice(("selling", "bidding"))
        return {"role": role, **({"status": "active"} if rnd.random() < 0.3 else {})}
    wanted = market.listings[rnd.choice(market.listings.template.ids)]
    if luck < 0.4:
        return {"seller_id": wanted.seller_id}
    given: dict[str, Any] = {}
    if rnd.random() < 0.6:
        given["query"] = wanted.title if rnd.random() < 0.4 else noun(wanted.title)
    if rnd.random() < 0.4 or not given:
        given["category"] = wanted.category
    if status_of(market, wanted) != "active":
        given["status"] = status_of(market, wanted)
    if rnd.random() < 0.3:
        given["kind"] = wanted.kind
    if rnd.random() < 0.2:
        given["max_price"] = money(-(-wanted.price // 1000) * 1000)
    return given


@tool(
    "read",
    phrases=(
        "Find[ {status}][ {category}] listings[ of kind {kind}][ matching {query}]"
        "[ by the seller {seller_id}][ for at most {max_price}][ where I am {role}]",
        "Which[ {status}] listings[ in {category}][ called {query}] are there on the marketplace"
        "[ of kind {kind}][ from {seller_id}][ up to {max_price}][ where I am {role}]",
        "Search the marketplace for[ {status}][ {category}] listings[ with {query} in the title]"
        "[ of kind {kind}][ sold by {seller_id}][ below {max_price}][ where I am {role}]",
    ),
    refuses=("not_found",),
    sample=_search_sample,
)
def search_listings(
    market: Market,
    query: str = "",
    category: Category | None = None,
    kind: Kind | None = None,
    seller_id: SellerId = "",
    max_price: Money | None = None,
    role: Role | None = None,
    status: ListingStatus | None = None,
    limit: Limit = 5,
    cursor: str = "",
) -> ListingPage:
    """Search listings, the one that ends first at the top.

    Args:
        query: Words that must occur in the title.
        category: Only this category.
        kind: Only auctions or only fixed prices.
        seller_id: Only listings of this seller.
        max_price: Highest price.
        role: Only what the customer sells, or bids on.
        status: Only listings in this state; without it active ones, with a role all.
        limit: Listings per page.
        cursor: next_cursor of the page before.
    """
    words, most = query.lower().split(), cents(max_price) if max_price else 10**9
    wanted = status or (None if role else "active")
    found = [
        listing
        for listing in _pool(market, seller_id, role, category)
        if (category or listing.category) == listing.category
        and (kind or listing.kind) == listing.kind
        and listing.price <= most
        and all(word in listing.words for word in words)
        and wanted in (None, status_of(market, listing))
    ]
    found.sort(key=lambda li: (li.status != "active", li.ends_at, li.title))
    rows, total, after = page(found, limit, cursor)
    return ListingPage([_item(market, listing) for listing in rows], total, after)


def _pool(
    market: Market, seller_id: str, role: Role | None, category: Category | None
) -> list[Listing]:
    """The listings to look through: a seller's, the customer's, a category's or all."""
    if seller_id:
        find(market.sellers, seller_id, "seller", "get_listing")
        return [li for li in market.listings.where(seller_id=seller_id) if _fits(market, li, role)]
    if role == "selling":
        return market.listings.where(seller_id=market.me.id)
    if role == "bidding":
        mine = market.bids.where(bidder_id=market.me.id)
        return [market.listings[i] for i in dict.fromkeys(b.listing_id for b in mine)]
    return market.listings.where(category=category) if category else list(market.listings)


def _fits(market: Market, listing: Listing, role: Role | None) -> bool:
    if role == "selling":
        return listing.seller_id == market.me.id
    return role is None or my_maximum(market, listing) > 0


def _item(market: Market, li: Listing) -> ListingItem:
    status, mine = status_of(market, li), my_standing(market, li)
    return ListingItem(li.id, li.title, li.kind, money(li.price), li.ends_at[:10], status, mine)


@tool(
    "read",
    phrases=(
        "Show the listing of {listing_id}",
        "What does {listing_id} on the marketplace stand at and who sells it",
        "Tell me about the condition, price and seller of {listing_id}",
    ),
    refuses=("not_found",),
)
def get_listing(market: Market, listing_id: ListingId) -> ListingView:
    """Show a listing: price, shipping, bids, the lowest next bid, its end and its seller.

    Args:
        listing_id: The listing.
    """
    li = find(market.listings, listing_id, "listing", "search_listings")
    seller, status = market.sellers[li.seller_id], status_of(market, li)
    open_ = li.kind == "auction" and status == "active"
    return ListingView(
        *(li.id, li.title, li.category, li.condition, li.kind, status, money(li.price)),
        *(money(li.shipping), li.takes_offers, li.bids),
        next_bid=money(least(li.start, li.price, li.bids)) if open_ else "",
        my_bid=my_standing(market, li),
        my_maximum=money(my_maximum(market, li)),
        ends_at=li.ends_at,
        seller_id=seller.id,
        seller=seller.seller,
        city=seller.city,
        seller_rating=average(seller.stars, seller.ratings),
        comments=_comments(market, seller),
    )


def _comments(market: Market, seller: Seller) -> list[Comment]:
    given = sorted(market.ratings.where(seller_id=seller.id), key=lambda r: r.written_on)
    return [Comment(r.author, r.stars, r.comment) for r in reversed(given[-LATEST:])]


# -- selling -------------------------------------------------------------------------------------


def _active(market: Market) -> list[Listing]:
    mine = market.listings.where(seller_id=market.me.id)
    return [listing for listing in mine if status_of(market, listing) == "active"]


def _create_sample(market: Market, rnd: Random) -> dict[str, Any]:
    category = rnd.choice(list(THINGS))
    thing, low, high = rnd.choice(THINGS[category])
    kind: Kind = rnd.choice(("auction", "fixed", "fixed"))
    given: dict[str, Any] = {
        "title": f"{rnd.choice(STYLES)} {thing}",
        "category": category,
        "condition": rnd.choice(("new", "mint", "good", "worn")),
        "kind": kind,
        "price": money(max(rnd.randint(low, high) // (4 if kind == "auction" else 1), 1) * 100),
    }
    if rnd.random() < 0.3:
        given["shipping"] = rnd.choice(("4.50", "6.90", "9.90", "15.00"))
    if rnd.random() < 0.3:
        given["days"] = rnd.choice((3, 5, 10, 14, 30))
    if kind == "fixed" and rnd.random() < 0.3:
        given["takes_offers"] = True
    return given


@tool(
    "write",
    phrases=(
        "List {title} in the category {category}, condition {condition}, as {kind} sale"
        " at {price}[ plus {shipping} for shipping][ for {days} days][, taking offers:"
        " {takes_offers}]",
        "Put {title} up for sale on the marketplace: {category}, {condition}, kind {kind},"
        " price {price}[, shipping {shipping}][, {days} days][, offers: {takes_offers}]",
        "Sell {title} for me as {kind} sale from {price}, category {category}, condition"
        " {condition}[, shipping {shipping}][, running {days} days][, offers: {takes_offers}]",
    ),
    refuses=("duplicate_listing", "listing_limit"),
    sample=_create_sample,
)
def create_listing(
    market: Market,
    title: Text,
    category: Category,
    condition: Condition,
    kind: Kind,
    price: Price,
    shipping: Price = "0.00",
    days: Days = 7,
    takes_offers: bool = False,
) -> ListingReceipt:
    """Put something up for sale, as an auction or at a fixed price.

    Args:
        title: What it is, in a few words.
        category: Where it belongs.
        condition: How used it is.
        kind: Whether buyers bid or pay the price.
        price: The fixed price, or where the auction starts; at least 1.00.
        shipping: What the buyer pays for shipping.
        days: How long it runs.
        takes_offers: Whether buyers may offer less; fixed prices only.
    """
    amount, name = cents(price), " ".join(title.split())[:80]
    _check_new(market, name, kind, amount, takes_offers)
    me, words = market.me, f"{name} {category}".lower()
    ends = (market.now + timedelta(days=days)).isoformat()
    listing = market.listings.put(
        Listing(
            *(market.listings.new_id(), me.id, me.seller, name, words, category, condition),
            *(kind, amount, amount, 0, cents(shipping), takes_offers),
            take=amount,
            ignore=0,
            status="active",
            ends_at=ends,
        )
    )
    return _receipt(market, listing)


def _check_new(market: Market, title: str, kind: Kind, amount: int, takes_offers: bool) -> None:
    if amount < 100:
        refuse("price_too_low", f"a price of {money(amount)} is below the least, 1.00")
    if takes_offers and kind == "auction":
        refuse("offers_on_auction", "an auction takes bids, not offers; choose a fixed price")
    active = _active(market)
    if any(listing.title.lower() == title.lower() for listing in active):
        refuse("duplicate_listing", f"there is an active listing {title!r} of yours already")
    if len(active) >= MOST_ACTIVE:
        text = f"{len(active)} listings are active, which is the most; withdraw_listing ends one"
        refuse("listing_limit", text, limit=MOST_ACTIVE)


def _receipt(market: Market, li: Listing) -> ListingReceipt:
    status = status_of(market, li)
    return ListingReceipt(
        *(li.id, li.title, li.kind, money(li.price), money(li.shipping), status, li.ends_at)
    )


def _withdraw_sample(market: Market, rnd: Random) -> dict[str, Any]:
    free = [li for li in _active(market) if not li.bids]
    return {"listing_id": rnd.choice(free).id} if free else {}


@tool(
    "write",
    phrases=(
        "Take {listing_id} off the marketplace",
        "Withdraw my listing of {listing_id}",
        "I no longer want to sell {listing_id}, end the listing",
    ),
    refuses=(
        *("not_found", "not_your_listing", "already_sold", "already_withdrawn", "listing_ended"),
        "has_bids",
    ),
    sample=_withdraw_sample,
)
def withdraw_listing(market: Market, listing_id: ListingId) -> ListingReceipt:
    """End a listing of the customer's that has no bids; its pending offers are declined.

    Args:
        listing_id: The listing.
    """
    li = find(market.listings, listing_id, "listing", "search_listings")
    if li.seller_id != market.me.id:
        refuse("not_your_listing", f"the {li.title} is sold by {li.seller}", seller=li.seller)
    status = status_of(market, li)
    if status in ("sold", "withdrawn"):
        refuse(f"already_{status}", f"the {li.title} is {status} already", status=status)
    if status == "ended":
        refuse("listing_ended", f"the listing of the {li.title} ended at {li.ends_at}")
    if li.bids:
        text = f"the {li.title} has {li.bids} bids; an auction with bids runs to its end"
        refuse("has_bids", text, bids=li.bids)
    for offer in market.offers.where(listing_id=li.id, status="pending"):
        market.offers.update(offer, status="declined")
    return _receipt(market, market.listings.update(li, status="withdrawn"))


# -- bidding -------------------------------------------------------------------------------------


def _next_bid(market: Market, li: Listing) -> int:
    """The least that the customer may name: above the price, and above the own maximum."""
    own = my_maximum(market, li)
    return max(least(li.start, li.price, li.bids), own + increment(own) if own else 0)


def _bid_sample(market: Market, rnd: Random) -> dict[str, Any]:
    lots = [li for li in market.listings.where(kind="auction") if _open_to_me(market, li)]
    if not lots:
        return {}
    li = rnd.choice(lots)
    low = _next_bid(market, li)
    amount = low + increment(low) * rnd.choice((0, 0, 1, 2, 5, 10))
    return {"listing_id": li.id, "amount": money(-(-amount // 50) * 50)}


def _open_to_me(market: Market, li: Listing) -> bool:
    return status_of(market, li) == "active" and li.seller_id != market.me.id


@tool(
    "write",
    phrases=(
        "Bid up to {amount} on {listing_id}",
        "Place a bid of {amount} in the auction of {listing_id}",
        "I'd pay {amount} at most for {listing_id}, bid on it",
    ),
    refuses=("not_found", "not_an_auction", "own_listing", "auction_ended", "bid_too_low"),
    sample=_bid_sample,
)
def place_bid(market: Market, listing_id: ListingId, amount: Price) -> BidReceipt:
    """Bid on an auction. Proxy bidding raises the price only as far as it must for the customer.

    Args:
        listing_id: The auction.
        amount: The most that the customer would pay.
    """
    li = find(market.listings, listing_id, "listing", "search_listings")
    _check_bid(market, li, cents(amount))
    new = market.bids.new_id()
    market.bids.put(Bid(new, li.id, market.me.id, cents(amount), market.stamp))
    standing = standing_of(market, li)
    assert standing is not None
    li = market.listings.update(li, price=standing.price, bids=li.bids + 1)
    return BidReceipt(
        *(li.id, li.title, my_standing(market, li), money(my_maximum(market, li))),
        *(money(li.price), money(_next_bid(market, li)), li.bids, li.ends_at),
    )


def _check_bid(market: Market, li: Listing, amount: int) -> None:
    if li.kind != "auction":
        text = f"the {li.title} has a fixed price of {money(li.price)}; see buy_listing, make_offer"
        refuse("not_an_auction", text, price=money(li.price))
    if li.seller_id == market.me.id:
        refuse("own_listing", f"the {li.title} is your own listing")
    status = status_of(market, li)
    if status != "active":
        text = f"the auction of the {li.title} is {status}, it ended at {li.ends_at}"
        refuse("auction_ended", text, status=status)
    low = _next_bid(market, li)
    if amount < low:
        own = my_maximum(market, li)
        mine = f" and your maximum is {money(own)}" if own else ""
        text = f"{money(amount)} is too low: the {li.title} stands at {money(li.price)}{mine}"
        refuse("bid_too_low", f"{text}; bid {money(low)} or more", minimum=money(low))
