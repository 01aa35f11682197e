"""Every refusal that a marketplace tool declares, reached by legal calls in seeded worlds."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import pytest

from provegym.servers.marketplace import SERVER
from provegym.servers.marketplace.state import Listing, Offer, Purchase
from provegym.servers.marketplace.trade import (
    DISPUTE_DAYS,
    RATING_DAYS,
    last_day,
    my_standing,
    offer_status,
    purchase_status,
)
from tests.servers.marketplace_desk import Desk, desk
from tests.servers.talk import declared

Arguments = dict[str, Any]
Scenario = Callable[[Desk], Arguments | None]
"""Brings a session to where the call is refused; None if this world has no such case."""

THING = {"category": "tools", "condition": "good", "kind": "fixed", "price": "9.00"}


def no_such(field: str, **more: Any) -> Scenario:
    return lambda d: {field: "nothing_000000", **more}


def first(rows: Iterable[Any], field: str, **more: Any) -> Arguments | None:
    row = next(iter(rows), None)
    return None if row is None else {field: row.id, **more}


def listing(
    wanted: Callable[[Desk, Listing], bool], status: str = "active", **more: Any
) -> Scenario:
    return lambda d: first(d.listings(lambda li: wanted(d, li), status), "listing_id", **more)


def bought(wanted: Callable[[Desk, Purchase], bool], **more: Any) -> Scenario:
    return lambda d: first((p for p in d.bought() if wanted(d, p)), "purchase_id", **more)


def mine(d: Desk, li: Listing) -> bool:
    return not d.theirs(li)


def auction(d: Desk, li: Listing) -> bool:
    return d.theirs(li) and li.kind == "auction"


def fixed(d: Desk, li: Listing) -> bool:
    return d.theirs(li) and li.kind == "fixed"


def takes_offers(d: Desk, li: Listing) -> bool:
    asked = d.market.offers.where(listing_id=li.id, buyer_id=d.market.me.id)
    return fixed(d, li) and li.takes_offers and not asked


def too_low(d: Desk) -> Arguments:
    lot = d.listings(lambda li: auction(d, li) and li.bids > 0)[0]
    return {"listing_id": lot.id, "amount": f"{lot.price // 100}.{lot.price % 100:02d}"}


def at_full_price(d: Desk) -> Arguments:
    lot = d.listings(lambda li: takes_offers(d, li))[0]
    return {"listing_id": lot.id, "amount": f"{lot.price // 100}.{lot.price % 100:02d}"}


def twice(d: Desk) -> Arguments | None:
    """A second offer while the first one waits."""
    offers = d.market.offers.where(buyer_id=d.market.me.id)
    waiting = (o for o in offers if offer_status(d.market, o) == "pending")
    offer = next(waiting, None)
    return {"listing_id": offer.listing_id, "amount": "5.00"} if offer else None


def four_times(d: Desk) -> Arguments:
    lot = d.listings(lambda li: takes_offers(d, li))[0]
    for _ in range(3):
        d.ok("make_offer", listing_id=lot.id, amount="1.00")
    return {"listing_id": lot.id, "amount": "2.00"}


def same_title(d: Desk) -> Arguments:
    d.ok("create_listing", title="Green Step Ladder", **THING)
    return {"title": "green  step ladder", **THING}


def full_stall(d: Desk) -> Arguments:
    for i in range(12 - len(d.listings(lambda li: mine(d, li)))):
        d.ok("create_listing", title=f"Ladder {i}", **THING)
    return {"title": "One more", **THING}


def offer(answer: str, wanted: Callable[[Desk, Offer], bool]) -> Scenario:
    return lambda d: first((o for o in d.market.offers if wanted(d, o)), "offer_id", answer=answer)


def of_me(d: Desk, o: Offer, side: str) -> bool:
    return bool(getattr(o, side) == d.market.me.id)


def over(d: Desk, o: Offer) -> bool:
    return of_me(d, o, "seller_id") and offer_status(d.market, o) != "pending"


def is_rated(d: Desk, p: Purchase) -> bool:
    return bool(d.market.ratings.where(purchase_id=p.id))


def is_status(d: Desk, p: Purchase, *statuses: str) -> bool:
    return purchase_status(p, d.market.today) in statuses and not d.market.dispute_of(p.id)


def sale(**more: Any) -> Scenario:
    return lambda d: first(d.sold(), "purchase_id", **more)


def disputed(side: str, **more: Any) -> Scenario:
    def scenario(d: Desk) -> Arguments | None:
        deals = d.bought() if side == "buyer" else d.sold()
        found = (p for p in deals if (c := d.market.dispute_of(p.id)) and c.status == "open")
        return first(found, "purchase_id", **more)

    return scenario


REFUSALS: dict[tuple[str, str], Scenario] = {
    ("search_listings", "not_found"): no_such("seller_id"),
    ("get_listing", "not_found"): no_such("listing_id"),
    ("create_listing", "duplicate_listing"): same_title,
    ("create_listing", "listing_limit"): full_stall,
    ("withdraw_listing", "not_found"): no_such("listing_id"),
    ("withdraw_listing", "not_your_listing"): listing(fixed),
    ("withdraw_listing", "already_sold"): listing(mine, "sold"),
    ("withdraw_listing", "already_withdrawn"): listing(mine, "withdrawn"),
    ("withdraw_listing", "listing_ended"): listing(mine, "ended"),
    ("withdraw_listing", "has_bids"): listing(lambda d, li: mine(d, li) and li.bids > 0),
    ("place_bid", "not_found"): no_such("listing_id", amount="10.00"),
    ("place_bid", "not_an_auction"): listing(fixed, amount="10.00"),
    ("place_bid", "own_listing"): listing(
        lambda d, li: mine(d, li) and li.kind == "auction", amount="900.00"
    ),
    ("place_bid", "auction_ended"): listing(auction, "ended", amount="900.00"),
    ("place_bid", "bid_too_low"): too_low,
    ("make_offer", "not_found"): no_such("listing_id", amount="10.00"),
    ("make_offer", "own_listing"): listing(mine, amount="1.00"),
    ("make_offer", "listing_closed"): listing(fixed, "sold", amount="1.00"),
    ("make_offer", "no_offers"): listing(
        lambda d, li: fixed(d, li) and not li.takes_offers, amount="1.00"
    ),
    ("make_offer", "offer_not_below_price"): at_full_price,
    ("make_offer", "offer_pending"): twice,
    ("make_offer", "offer_limit"): four_times,
    ("answer_offer", "not_found"): no_such("offer_id", answer="accept"),
    ("answer_offer", "offer_closed"): offer("accept", over),
    ("answer_offer", "not_your_listing"): offer("accept", lambda d, o: of_me(d, o, "buyer_id")),
    ("answer_offer", "not_your_offer"): offer("withdraw", lambda d, o: of_me(d, o, "seller_id")),
    ("buy_listing", "not_found"): no_such("listing_id"),
    ("buy_listing", "own_listing"): listing(mine),
    ("buy_listing", "already_sold"): listing(Desk.theirs, "sold"),
    ("buy_listing", "listing_withdrawn"): listing(Desk.theirs, "withdrawn"),
    ("buy_listing", "auction_running"): listing(auction),
    ("buy_listing", "not_winner"): listing(
        lambda d, li: my_standing(d.market, li) == "lost", "ended"
    ),
    ("buy_listing", "listing_ended"): listing(fixed, "ended"),
    ("rate_seller", "not_found"): no_such("purchase_id", stars=4),
    ("rate_seller", "not_the_buyer"): sale(stars=5),
    ("rate_seller", "not_delivered"): bought(lambda d, p: is_status(d, p, "paid"), stars=3),
    ("rate_seller", "already_rated"): bought(is_rated, stars=3),
    ("rate_seller", "rating_window_over"): bought(
        lambda d, p: last_day(p, RATING_DAYS) < d.market.today and not is_rated(d, p), stars=3
    ),
    ("open_dispute", "not_found"): no_such("purchase_id", reason="damaged"),
    ("open_dispute", "not_the_buyer"): sale(reason="damaged"),
    ("open_dispute", "already_disputed"): disputed("buyer", reason="damaged"),
    ("open_dispute", "dispute_window_over"): bought(
        lambda d, p: (
            last_day(p, DISPUTE_DAYS) < d.market.today and d.market.dispute_of(p.id) is None
        ),
        reason="damaged",
    ),
    ("open_dispute", "not_delivered"): bought(
        lambda d, p: is_status(d, p, "paid", "shipped"), reason="damaged"
    ),
    ("open_dispute", "already_delivered"): bought(
        lambda d, p: is_status(d, p, "delivered"), reason="missing"
    ),
    ("open_dispute", "not_overdue"): bought(lambda d, p: is_status(d, p, "paid"), reason="missing"),
    ("settle_dispute", "not_found"): no_such("purchase_id", outcome="drop"),
    ("settle_dispute", "no_open_dispute"): bought(
        lambda d, p: d.market.dispute_of(p.id) is None, outcome="drop"
    ),
    ("settle_dispute", "not_the_buyer"): disputed("seller", outcome="drop"),
    ("settle_dispute", "not_the_seller"): disputed("buyer", outcome="refund"),
}


@pytest.mark.parametrize(("name", "code"), declared(SERVER, REFUSALS))
def test_a_refusal_has_its_code_and_changes_nothing(name: str, code: str) -> None:
    for seed in range(40):
        d = desk(seed)
        given = REFUSALS[name, code](d)
        if given is None:
            continue
        before = d.session.digest()
        result = d.session.call(name, given)
        assert result.outcome == "tool_error", result
        assert result.value["error"]["code"] == code, result
        assert d.session.digest() == before
        return
    pytest.fail("no world has such a case")
