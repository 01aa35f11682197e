from __future__ import annotations

from datetime import date
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from provegym.servers.marketplace import SERVER
from provegym.servers.marketplace.auction import increment, least, stand
from provegym.servers.marketplace.checks import violations
from provegym.servers.marketplace.state import Bid, Purchase
from provegym.servers.marketplace.trade import (
    fee,
    fitting_reasons,
    my_standing,
    offer_status,
    purchase_status,
)
from provegym.world.fields import cents
from tests.servers.marketplace_desk import desk


def bids(*named: tuple[str, int]) -> list[Bid]:
    return [Bid(f"bid_{i}", "lst", who, most, "") for i, (who, most) in enumerate(named)]


# -- auctions and money, worked out by hand ------------------------------------------------------


@pytest.mark.parametrize(
    ("price", "step"),
    [
        (99, 5),
        (100, 25),
        (499, 25),
        (500, 50),
        (2500, 100),
        (9999, 100),
        (10000, 250),
        (10**6, 10000),
    ],
)
def test_the_step_grows_with_the_price(price: int, step: int) -> None:
    assert increment(price) == step


def test_a_lone_bidder_pays_the_start_whatever_the_maximum() -> None:
    assert stand(1000, bids(("ann", 9000))) == (1000, "ann", 9000)


def test_a_lower_maximum_raises_the_price_by_one_step_above_it() -> None:
    assert stand(1000, bids(("ann", 9000), ("bob", 3000))) == (3100, "ann", 9000)


def test_a_higher_maximum_takes_the_lead_one_step_above_the_one_before() -> None:
    assert stand(1000, bids(("ann", 2000), ("bob", 3000))) == (2050, "bob", 3000)


def test_the_price_stops_at_the_leaders_maximum() -> None:
    assert stand(1000, bids(("ann", 3020), ("bob", 3000))) == (3020, "ann", 3020)


def test_of_equal_maxima_the_earlier_one_leads_at_its_maximum() -> None:
    assert stand(1000, bids(("ann", 3000), ("bob", 3000))) == (3000, "ann", 3000)


def test_raising_the_own_maximum_leaves_the_price() -> None:
    assert stand(1000, bids(("ann", 3000), ("bob", 2000), ("ann", 5000))) == (2050, "ann", 5000)


@given(st.lists(st.tuples(st.sampled_from("abcd"), st.integers(0, 5000)), min_size=1, max_size=12))
def test_the_price_only_rises_and_never_passes_the_leaders_maximum(
    tries: list[tuple[str, int]],
) -> None:
    made, price, own = list[tuple[str, int]](), 700, dict[str, int]()
    for who, more in tries:
        low = max(least(700, price, len(made)), own.get(who, 0) + 1)
        own[who] = low + more
        made.append((who, own[who]))
        standing = stand(700, bids(*made))
        assert standing is not None
        assert price <= standing.price <= standing.maximum == max(own.values())
        price = standing.price


@pytest.mark.parametrize(("price", "kept"), [(1000, 100), (1234, 123), (1235, 124), (90000, 5000)])
def test_the_fee_is_a_tenth_up_to_fifty_dollars(price: int, kept: int) -> None:
    assert fee(price) == kept


PARCEL = Purchase(
    *("buy_1", "lst_1", "Lamp", "mem_1", "mem_2", 1000, 0, 100, 900, False, False),
    *("2026-03-02", "2026-03-03", "2026-03-06"),
)
STRAY = Purchase(
    *("buy_1", "lst_1", "Lamp", "mem_1", "mem_2", 1000, 0, 100, 900, False, True),
    *("2026-03-02", "2026-03-03", "2026-03-06"),
)


@pytest.mark.parametrize(
    ("day", "status", "stray"),
    [(2, "paid", "paid"), (3, "shipped", "shipped"), (6, "delivered", "shipped")],
)
def test_a_parcel_goes_by_the_calendar_unless_it_is_lost(day: int, status: str, stray: str) -> None:
    today = date(2026, 3, day)
    assert (purchase_status(PARCEL, today), purchase_status(STRAY, today)) == (status, stray)


def test_a_claim_fits_how_far_the_parcel_is() -> None:
    assert fitting_reasons(PARCEL, date(2026, 3, 5)) == ()
    assert fitting_reasons(STRAY, date(2026, 3, 6)) == ()  # due today, not yet overdue
    assert fitting_reasons(STRAY, date(2026, 3, 7)) == ("missing",)
    assert "damaged" in fitting_reasons(PARCEL, date(2026, 3, 6))


# -- the server as a whole -----------------------------------------------------------------------


def test_seeded_markets_are_varied_and_name_their_rows_apart() -> None:
    for seed in range(20):
        market = desk(seed).market
        titles = [li.title for li in market.listings]
        assert len(set(titles)) == len(titles)
        assert {my_standing(market, li) for li in market.listings} == {
            *("none", "leading", "outbid", "won", "lost")
        }


def test_the_invariants_do_notice_what_is_wrong() -> None:
    d = desk(0)
    market = d.market
    lot = next(li for li in market.listings if li.bids)
    market.listings.update(lot, price=lot.price - 1)
    open_ = d.listings(lambda li: li.kind == "fixed" and not li.takes_offers)[0]
    market.listings.update(open_, status="sold")
    sale = next(p for p in d.sold() if not p.refunded)
    market.purchases.update(sale, proceeds=sale.proceeds + 1)
    seller = next(iter(market.sellers))
    market.sellers.update(seller, stars=seller.stars + 1)
    assert len(list(violations(market))) == 4


# -- dealing -------------------------------------------------------------------------------------


def test_a_bid_above_the_hidden_maximum_leads_and_one_below_is_outbid_at_once() -> None:
    d = desk(1)
    market = d.market
    lots = d.listings(lambda li: d.theirs(li) and li.bids > 0)
    lot = next(li for li in lots if my_standing(market, li) == "none")
    low = d.ok("get_listing", listing_id=lot.id)["next_bid"]
    standing = stand(lot.start, market.bids.where(listing_id=lot.id))
    assert standing is not None
    first = d.ok("place_bid", listing_id=lot.id, amount=low)
    assert (first["my_bid"] == "leading") == (cents(low) > standing.maximum)
    second = d.ok("place_bid", listing_id=lot.id, amount="9000.00")
    assert (second["my_bid"], second["bids"]) == ("leading", lot.bids + 2)
    assert lot.price < cents(second["price"]) < 900000
    assert cents(second["next_bid"]) == 900000 + 10000  # the own maximum is to be passed, too


def test_a_won_auction_is_bought_at_the_price_it_stands_at() -> None:
    d = desk(2)
    me = d.market.me
    won = d.listings(lambda li: my_standing(d.market, li) == "won", "ended")[0]
    got = d.ok("buy_listing", listing_id=won.id)
    p = d.market.purchases[got["purchase_id"]]
    assert (p.buyer_id, p.price, p.fee + p.proceeds) == (me.id, won.price, won.price)
    assert cents(got["total"]) == won.price + won.shipping
    top = d.ok("list_purchases", side="buyer", query=won.title)["purchases"][0]
    assert (top["purchase_id"], top["status"]) == (p.id, "paid")


def test_accepting_an_offer_sells_the_listing_and_declines_the_others() -> None:
    for seed in range(10):
        d = desk(seed)
        market = d.market
        waiting = [
            o
            for o in market.offers.where(seller_id=market.me.id)
            if offer_status(market, o) == "pending"
        ]
        offer = waiting[0]
        got = d.ok("answer_offer", offer_id=offer.id, answer="accept")
        assert cents(got["fee"]) + cents(got["proceeds"]) == offer.price
        assert market.listings[offer.listing_id].status == "sold"
        assert not market.offers.where(listing_id=offer.listing_id, status="pending")
        sold = market.purchases.where(listing_id=offer.listing_id)
        assert [(p.buyer_id, p.id) for p in sold] == [(offer.buyer_id, got["purchase_id"])]


@pytest.mark.parametrize(("percent", "status"), [(40, "declined"), (97, "accepted")])
def test_a_seller_takes_a_good_offer_at_once_and_declines_a_poor_one(
    percent: int, status: str
) -> None:
    d = desk(3)
    asked = {o.listing_id for o in d.market.offers.where(buyer_id=d.market.me.id)}
    lot = d.listings(lambda li: d.theirs(li) and li.takes_offers and li.id not in asked)[0]
    amount = lot.price * percent // 100
    got = d.ok("make_offer", listing_id=lot.id, amount=f"{amount // 100}.{amount % 100:02d}")
    assert (got["status"], bool(got["purchase_id"])) == (status, status == "accepted")
    assert (d.market.listings[lot.id].status == "sold") == (status == "accepted")


def test_a_new_listing_is_found_and_taken_back() -> None:
    d = desk(4)
    made = d.ok(
        "create_listing",
        **{"title": "Blue Bread Bin", "category": "furniture", "condition": "good"},
        **{"kind": "fixed", "price": "18.00", "days": 3, "takes_offers": True},
    )
    found = d.ok("search_listings", role="selling", query="bread bin")["listings"]
    assert [li["listing_id"] for li in found] == [made["listing_id"]]
    ends = date.fromisoformat(made["ends_at"][:10])
    assert (ends - d.market.today).days == 3
    d.ok("withdraw_listing", listing_id=made["listing_id"])
    assert d.ok("search_listings", role="selling", query="bread bin", status="active")["total"] == 0


def test_a_refund_gives_the_buyer_all_and_the_seller_nothing() -> None:
    d = desk(5)
    sale = next(p for p in d.sold() if (c := d.market.dispute_of(p.id)) and c.status == "open")
    got = d.ok("settle_dispute", purchase_id=sale.id, outcome="refund")
    assert cents(got["refund"]) == sale.price + sale.shipping
    after = d.market.purchases[sale.id]
    assert (after.fee, after.proceeds, got["purchase_status"]) == (0, 0, "refunded")
    listed = d.ok("list_purchases", side="seller", dispute="refunded")["purchases"]
    assert sale.id in [p["purchase_id"] for p in listed]


def test_a_rating_moves_the_sellers_average_by_its_stars() -> None:
    d = desk(6)
    sample = SERVER.tools["rate_seller"].sample
    assert sample is not None
    chosen = sample(d.market, Random(1))["purchase_id"]
    seller = d.market.sellers[d.market.purchases[chosen].seller_id]
    got = d.ok("rate_seller", purchase_id=chosen, stars=2, comment="Slow and badly packed")
    assert got["seller_rating"] == round((seller.stars + 2) / (seller.ratings + 1), 1)


def test_two_deals_in_either_order_change_the_same() -> None:
    changes = []
    for turn in (1, -1):
        d = desk(7)
        fixed = [li for li in d.listings(d.theirs) if li.kind == "fixed"][:2]
        for lot in fixed[::turn]:
            d.ok("buy_listing", listing_id=lot.id)
        changes.append(d.session.changes())
    assert changes[0] == changes[1]


# -- looking -------------------------------------------------------------------------------------


def test_pages_of_a_search_hold_every_listing_once_and_the_first_to_end_first() -> None:
    d = desk(8)
    seen, cursor = [], ""
    while True:
        got = d.ok("search_listings", cursor=cursor, limit=7)
        seen += got["listings"]
        cursor = got["next_cursor"]
        if not cursor:
            break
    assert len({li["listing_id"] for li in seen}) == len(seen) == got["total"]
    assert {li["status"] for li in seen} == {"active"}
    days = [li["ends_on"] for li in seen]
    assert days == sorted(days)


def test_a_search_keeps_to_its_filters() -> None:
    d = desk(9)
    cheap = d.ok("search_listings", kind="fixed", max_price="80.00", limit=50)["listings"]
    assert cheap
    assert all(li["kind"] == "fixed" and cents(li["price"]) <= 8000 for li in cheap)
    bidding = d.ok("search_listings", role="bidding", limit=50)["listings"]
    assert all(li["my_bid"] != "none" for li in bidding)
    assert {"leading", "outbid", "won", "lost"} <= {li["my_bid"] for li in bidding}
    seller = d.market.listings[cheap[0]["listing_id"]].seller_id
    theirs = d.ok("search_listings", seller_id=seller, limit=50)["listings"]
    assert {d.market.listings[li["listing_id"]].seller_id for li in theirs} == {seller}


def test_offers_are_listed_by_direction_with_those_that_wait_first() -> None:
    d = desk(10)
    for direction, side in (("made", "buyer_id"), ("received", "seller_id")):
        got = d.ok("list_offers", direction=direction, limit=50)["offers"]
        rows = [d.market.offers[o["offer_id"]] for o in got]
        assert all(getattr(o, side) == d.market.me.id for o in rows)
        waits = [o["status"] == "pending" for o in got]
        assert waits == sorted(waits, reverse=True)
        assert any(waits)
