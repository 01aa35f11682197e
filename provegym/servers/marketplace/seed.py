"""A marketplace in full swing: auctions that run and have ended, offers, a year of sales."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from datetime import timedelta
from random import Random

from msgspec.structs import replace

from provegym.servers.marketplace.auction import increment, least, stand
from provegym.servers.marketplace.state import (
    Bid,
    Category,
    Condition,
    Dispute,
    DisputeStatus,
    Kind,
    Listing,
    Offer,
    OfferStatus,
    Purchase,
    Rating,
    Reason,
    Seller,
)
from provegym.servers.marketplace.trade import (
    ARRIVES_AFTER,
    OFFER_HOURS,
    RATING_DAYS,
    SHIPS_AFTER,
    fee,
)
from provegym.servers.marketplace.words import COMMENTS, DETAILS, MESSAGES, STYLES, THINGS
from provegym.world.cast import Cast
from provegym.world.server import Seeds
from provegym.world.stories import stories

LETTERS = "0123456789abcdefghjkmnpqrstvwxyz"
PAIRS = [a + b for a in LETTERS for b in LETTERS]
MEMBERS = 24
CONDITIONS: tuple[Condition, ...] = ("new", "mint", "mint", "good", "good", "worn")
RUNNING: tuple[str, ...] = (*("leading",) * 3, *("outbid",) * 3, *("",) * 14)
"""How the customer stands in the auctions of others that run."""
OVER: tuple[str, ...] = ("won", "won", "won", "lost", "lost", "")
"""The same for auctions that have ended, unpaid so far."""
FIXED = 34
BOUGHT = (0, 1, 2, 3, 6, 8, 9, 12, 15, 18, 25, 33, 45, 80, 120, 200)
"""Days since each purchase of the customer; two of them are overdue."""
LOST = (8, 15)
DISPUTED: dict[int, tuple[DisputeStatus, Reason]] = {
    8: ("open", "missing"),
    12: ("open", "damaged"),
    45: ("refunded", "mismatched"),
}
SOLD = (0, 2, 5, 7, 11, 16, 28, 50, 90)
"""Days since each sale by the customer."""
COMPLAINED: dict[int, tuple[DisputeStatus, Reason]] = {
    5: ("open", "damaged"),
    11: ("open", "mismatched"),
    50: ("dropped", "counterfeit"),
}
AMONG_OTHERS = 26
MY_OFFERS: tuple[OfferStatus, ...] = (
    *("pending", "pending", "pending", "declined", "declined", "expired", "withdrawn"),
)
SHELVES: dict[str, Category] = {
    "walnut writing desk": "furniture",
    "copper kettle set": "tools",
    "folding canoe": "games",
    "oak record cabinet": "furniture",
    "vintage slide projector": "cameras",
    "brass floor lamp": "furniture",
    "linen sofa bed": "furniture",
    "enamel stove": "tools",
}
"""Where the thing that a story tells of is listed."""


def seed(cast: Cast, rnd: Random) -> Seeds:
    """All rows of one world's marketplace; `cast.user` is the customer."""
    return _Maker(cast, rnd).rows()


class _Maker:
    """Collects the rows while they are made; later tables look at earlier ones."""

    def __init__(self, cast: Cast, rnd: Random) -> None:
        self.cast, self.rnd, self.now = cast, rnd, cast.start
        self.taken: set[str] = set()
        self.titles = self.make_titles()
        self.sellers: list[Seller] = []
        self.listings: dict[str, Listing] = {}
        self.bids: list[Bid] = []
        self.offers: list[Offer] = []
        self.purchases: list[Purchase] = []
        self.ratings: list[Rating] = []
        self.disputes: list[Dispute] = []

    def rows(self) -> Seeds:
        """Make every table, in an order in which each finds what it refers to."""
        people = (self.cast.user, *self.rnd.sample(self.cast.others, MEMBERS - 1))
        for who in people:
            mine = who is self.cast.user
            self.sellers.append(Seller(self.id("mem"), who.name, who.city, mine, 0, 0))
        self.me, *self.others = self.sellers
        self.make_running()
        self.make_own()
        self.make_sales()
        self.make_offers()
        self.make_told_sale()
        stars, count = Counter[str](), Counter[str]()
        for r in self.ratings:
            stars[r.seller_id] += r.stars
            count[r.seller_id] += 1
        return {
            "sellers": [replace(s, stars=stars[s.id], ratings=count[s.id]) for s in self.sellers],
            "listings": self.listings.values(),
            "bids": self.bids,
            "offers": self.offers,
            "purchases": self.purchases,
            "ratings": self.ratings,
            "disputes": self.disputes,
        }

    def id(self, prefix: str) -> str:
        """A fresh id."""
        while True:
            bits = self.rnd.getrandbits(30)
            new = f"{prefix}_{PAIRS[bits >> 20]}{PAIRS[(bits >> 10) & 1023]}{PAIRS[bits & 1023]}"
            if new not in self.taken:
                self.taken.add(new)
                return new

    def at(self, minutes: int) -> str:
        """The time that many minutes from the start."""
        return (self.now + timedelta(minutes=minutes)).isoformat()

    def day(self, days: int) -> str:
        """The date that many days from the start."""
        return (self.now + timedelta(days=days)).date().isoformat()

    def other(self, *but: str) -> Seller:
        """A member who is neither the customer nor one of those."""
        return self.rnd.choice([s for s in self.others if s.id not in but])

    # -- listings ----------------------------------------------------------------------------

    def make_titles(self) -> Iterator[tuple[Category, str, int, int]]:
        """Every thing in several styles, mixed; no title comes twice."""
        things = [(c, f"{style} {thing}", low, high) for c, thing, low, high, style in self.all()]
        self.rnd.shuffle(things)
        return iter(things)

    def all(self) -> Iterator[tuple[Category, str, int, int, str]]:
        """Each thing in five of the styles."""
        for category, things in THINGS.items():
            for thing, low, high in things:
                for style in self.rnd.sample(STYLES, 5):
                    yield category, thing, low, high, style

    def listing(self, seller: Seller, kind: Kind, ends: int, *, offers: bool = False) -> Listing:
        """A listing that ends so many minutes from now."""
        rnd = self.rnd
        category, title, low, high = next(self.titles)
        worth = rnd.randint(low, high) * 100
        price = worth // 4 if kind == "auction" else worth - rnd.choice((0, 0, 1, 500))
        new = Listing(
            *(self.id("lst"), seller.id, seller.seller, title, f"{title} {category}".lower()),
            category=category,
            condition=rnd.choice(CONDITIONS),
            kind=kind,
            start=price,
            price=price,
            bids=0,
            shipping=rnd.choice((0, 450, 690, 990, 1500)),
            takes_offers=offers,
            take=price * rnd.choice((85, 90, 95)) // 100 if offers else 0,
            ignore=price * 60 // 100 if offers else 0,
            status="active",
            ends_at=self.at(ends),
        )
        self.listings[new.id] = new
        return new

    def auction(self, seller: Seller, ends: int, mine: str, most: int = 4) -> Listing:
        """An auction with some bids; `mine` says how the customer stands in it."""
        lot = self.listing(seller, "auction", ends)
        bids: list[Bid] = []
        for _ in range(self.rnd.randint(1, most) if mine else self.rnd.randint(0, most)):
            self.bid(lot, bids, self.bidder(lot, bids), ends)
        if mine:
            self.bid(lot, bids, self.me, ends, leads=mine in ("leading", "won"))
        if mine in ("outbid", "lost"):
            self.bid(lot, bids, self.bidder(lot, bids), ends, leads=True)
        standing = stand(lot.start, bids)
        lot = replace(lot, price=standing.price if standing else lot.start, bids=len(bids))
        self.bids += bids
        self.listings[lot.id] = lot
        return lot

    def bidder(self, lot: Listing, bids: list[Bid]) -> Seller:
        """Someone who may bid and does not lead."""
        standing = stand(lot.start, bids)
        return self.other(lot.seller_id, standing.leader_id if standing else "")

    def bid(
        self, lot: Listing, bids: list[Bid], who: Seller, ends: int, *, leads: bool = False
    ) -> None:
        """One more bid; `leads` if it must be above every other."""
        standing = stand(lot.start, bids)
        price = standing.price if standing else lot.start
        low = least(lot.start, price, len(bids))
        if leads and standing:
            low = max(low, standing.maximum + increment(standing.maximum))
        amount = low + increment(low) * self.rnd.randint(0, 6)
        minute = min(ends, 0) - 600 + 60 * len(bids)
        bids.append(Bid(self.id("bid"), lot.id, who.id, amount, self.at(minute)))

    def make_running(self) -> None:
        """What others sell: auctions that run or have ended, and fixed prices."""
        for mine in RUNNING:
            self.auction(self.other(), self.ending(), mine)
        for mine in OVER:
            self.auction(self.other(), -self.rnd.randint(60, 3000), mine)
        for i in range(FIXED):
            self.listing(self.other(), "fixed", self.ending() + 1440, offers=i % 3 > 0)
        for _ in range(3):
            self.withdraw(self.listing(self.other(), "fixed", self.ending()))
            self.listing(self.other(), "fixed", -self.rnd.randint(100, 4000))

    def ending(self) -> int:
        """Minutes until a listing ends: some within the hours to come, most within a week."""
        return self.rnd.choice((self.rnd.randint(20, 240), *[self.rnd.randint(600, 10000)] * 4))

    def withdraw(self, lot: Listing) -> None:
        """Mark a listing as taken back by its seller."""
        self.listings[lot.id] = replace(lot, status="withdrawn")

    def make_own(self) -> None:
        """What the customer sells."""
        for i in range(4):
            self.listing(self.me, "fixed", self.ending() + 3000, offers=i < 3)
        self.auction(self.me, self.ending(), "", most=0)
        self.auction(self.me, self.ending() + 600, "", most=5)
        self.auction(self.me, self.ending(), "")
        self.listing(self.me, "fixed", -self.rnd.randint(100, 4000))
        self.withdraw(self.listing(self.me, "fixed", self.ending()))

    # -- sales -------------------------------------------------------------------------------

    def make_sales(self) -> None:
        """What the customer bought and sold, and sales among others."""
        for i, age in enumerate(BOUGHT):
            buy = self.sale(self.other(), self.me, age, i % 4 == 0, lost=age in LOST)
            self.judge(buy, age, 0.4, DISPUTED.get(age))
        for i, age in enumerate(SOLD):
            buy = self.sale(self.me, self.other(), age, i % 4 == 1)
            self.judge(buy, age, 0.6, COMPLAINED.get(age))
        for _ in range(AMONG_OTHERS):
            seller, age = self.other(), self.rnd.randint(6, 200)
            buy = self.sale(seller, self.other(seller.id), age, False)
            self.judge(buy, age, 0.9, None)

    def sale(
        self, seller: Seller, buyer: Seller, age: int, auctioned: bool, *, lost: bool = False
    ) -> Purchase:
        """A sale so many days ago: by auction, at the fixed price, or by an offer."""
        ended = -1440 * age - 30
        if auctioned:
            lot = self.auction(seller, ended, "won" if buyer is self.me else "", most=3)
            if buyer is not self.me:
                lot, buyer = self.won(lot, ended)
        else:
            lot = self.listing(seller, "fixed", ended + 4000, offers=self.rnd.random() < 0.4)
        price = self.agreed(lot, buyer, age) if lot.takes_offers else lot.price
        self.listings[lot.id] = replace(lot, status="sold")
        buy = replace(self.paid(lot, buyer, price, age), lost=lost)
        self.purchases.append(buy)
        return buy

    def paid(self, lot: Listing, buyer: Seller, price: int, age: int) -> Purchase:
        """The purchase of something so many days ago."""
        return Purchase(
            *(self.id("buy"), lot.id, lot.title, buyer.id, lot.seller_id, price, lot.shipping),
            *(fee(price), price - fee(price), False, False),
            *(self.day(-age), self.day(SHIPS_AFTER - age), self.day(ARRIVES_AFTER - age)),
        )

    def won(self, lot: Listing, ended: int) -> tuple[Listing, Seller]:
        """The auction with its winner; someone bids where nobody did."""
        bids = [b for b in self.bids if b.listing_id == lot.id]
        if not bids:
            self.bid(lot, bids, self.bidder(lot, bids), ended)
            self.bids += bids
            lot = replace(lot, bids=1)
        standing = stand(lot.start, bids)
        winner = standing.leader_id if standing else ""
        return lot, next(s for s in self.sellers if s.id == winner)

    def agreed(self, lot: Listing, buyer: Seller, age: int) -> int:
        """The price of an offer that was accepted."""
        price = lot.price * self.rnd.randint(80, 97) // 100 // 100 * 100
        self.offer(lot, buyer, price, "accepted", -1440 * age)
        return price

    def judge(
        self, buy: Purchase, age: int, rate: float, claim: tuple[DisputeStatus, Reason] | None
    ) -> None:
        """What became of a purchase: a dispute, a rating, or neither."""
        if claim:
            status, reason = claim
            words, opened = self.rnd.choice(DETAILS[reason]), self.day(-max(age - 5, 1))
            new = self.id("disp")
            self.disputes.append(Dispute(new, buy.id, reason, words, status, opened))
            if status == "refunded":
                paid_back = replace(buy, refunded=True, fee=0, proceeds=0)
                self.purchases[self.purchases.index(buy)] = paid_back
        elif age > ARRIVES_AFTER and not buy.lost and self.rnd.random() < rate:
            stars = self.rnd.choice((1, 2, 3, 4, 4, 5, 5, 5, 5))
            comment = self.rnd.choice(COMMENTS[stars])
            author = next(s.seller for s in self.sellers if s.id == buy.buyer_id)
            written = self.day(-self.rnd.randint(max(0, age - RATING_DAYS), age - ARRIVES_AFTER))
            new = self.id("rate")
            self.ratings.append(Rating(new, buy.id, buy.seller_id, author, stars, comment, written))

    # -- offers ------------------------------------------------------------------------------

    def make_offers(self) -> None:
        """Offers of the customer to others, of others to the customer, and among others."""
        open_ = [li for li in self.listings.values() if li.takes_offers and li.status == "active"]
        mine = [li for li in open_ if li.seller_id == self.me.id]
        others = [li for li in open_ if li.seller_id != self.me.id]
        picked = self.rnd.sample(others, len(MY_OFFERS) + 6)
        for status, lot in zip(MY_OFFERS, picked, strict=False):
            self.propose(lot, self.me, status)
        for lot in picked[len(MY_OFFERS) :]:
            self.propose(lot, self.other(lot.seller_id), "declined")
        for lot in mine:
            for buyer in self.rnd.sample(self.others, 3):
                self.propose(lot, buyer, self.rnd.choice(("pending", "pending", "expired")))
            self.propose(lot, self.other(), "declined")

    def propose(self, lot: Listing, buyer: Seller, status: OfferStatus) -> None:
        """An offer on an open listing: one that waits lies between the seller's two limits."""
        span = (45, 58) if status == "declined" else (62, 84)
        price = max(lot.price * self.rnd.randint(*span) // 100 // 100, 1) * 100
        age = 50 * 60 if status == "expired" else self.rnd.randint(30, 1200)
        self.offer(lot, buyer, price, "pending" if status == "expired" else status, -age)

    def offer(
        self, lot: Listing, buyer: Seller, price: int, status: OfferStatus, made: int
    ) -> None:
        """One offer, made so many minutes from now."""
        assert status != "expired"
        words = self.rnd.choice(MESSAGES) if self.rnd.random() < 0.5 else ""
        until = min(self.at(made + 60 * OFFER_HOURS), lot.ends_at)
        self.offers.append(
            Offer(
                *(self.id("off"), lot.id, lot.title, buyer.id, buyer.seller, lot.seller_id),
                *(price, words, status, until),
            )
        )

    # -- the story ---------------------------------------------------------------------------

    def make_told_sale(self) -> None:
        """What the customer bought of a seller that other servers know of, sent for nothing."""
        self.rnd, told = self.cast.rng("stories", "marketplace"), stories(self.cast).sale
        who, age = told.seller, (self.now.date() - told.bought).days
        known = next((s for s in self.others if s.seller == who.name), None)
        seller = known or Seller(self.id("mem"), who.name, who.city, False, 0, 0)
        self.sellers += [] if known else [seller]
        same = any(li.title.lower() == told.title for li in self.listings.values())
        title, category = f"{'restored ' * same}{told.title}", SHELVES[told.title]
        lot = Listing(
            *(self.id("lst"), seller.id, seller.seller, title, f"{title} {category}".lower()),
            category=category,
            condition=self.rnd.choice(CONDITIONS[2:]),
            kind="fixed",
            start=told.price,
            price=told.price,
            bids=0,
            shipping=0,
            takes_offers=False,
            take=0,
            ignore=0,
            status="sold",
            ends_at=self.at(4000 - 1440 * age),
        )
        self.listings[lot.id] = lot
        self.purchases.append(self.paid(lot, self.me, lot.price, age))
