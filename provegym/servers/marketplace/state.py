"""A marketplace as one member sees it, who buys and sells: its rows and its state.

Amounts are integer cents of US dollars inside rows; tools show decimal strings.
"""

from __future__ import annotations

from datetime import date
from typing import Annotated, ClassVar, Literal, TypeVar

from provegym.world.fields import DATE, VOLATILE, Ref, Stamp
from provegym.world.server import State
from provegym.world.table import Row, Table, table
from provegym.world.tool import refuse

SellerId = Annotated[str, Ref("marketplace.sellers")]
ListingId = Annotated[str, Ref("marketplace.listings")]
OfferId = Annotated[str, Ref("marketplace.offers")]
PurchaseId = Annotated[str, Ref("marketplace.purchases")]
Today = Annotated[str, DATE, VOLATILE]
"""A date that follows from the marketplace's clock."""

Category = Literal["music", "cameras", "furniture", "bicycles", "books", "games", "tools", "art"]
Condition = Literal["new", "mint", "good", "worn"]
Kind = Literal["auction", "fixed"]
ListingStatus = Literal["active", "ended", "sold", "withdrawn"]
Standing = Literal["none", "leading", "outbid", "won", "lost"]
"""How the member's bids on a listing stand."""
OfferStatus = Literal["pending", "accepted", "declined", "withdrawn", "expired"]
PurchaseStatus = Literal["paid", "shipped", "delivered", "refunded"]
Reason = Literal["missing", "damaged", "mismatched", "counterfeit"]
DisputeStatus = Literal["open", "refunded", "dropped"]


class Seller(Row, frozen=True):
    """A member; exactly one is the customer. `stars` is the sum over the ratings as a seller."""

    label: ClassVar[str] = "{seller}"

    id: SellerId
    seller: str
    city: str
    mine: bool
    stars: int
    ratings: int


class Listing(Row, frozen=True):
    """A thing for sale. An auction starts at `start` and stands at `price`; else they are equal.

    `ended` is never stored: it follows from the clock. At a fixed price, an offer of `take` or
    more is accepted at once and one below `ignore` is declined at once, if it takes offers.
    """

    label: ClassVar[str] = "the {title}"

    id: ListingId
    seller_id: SellerId
    seller: str
    title: str
    words: str
    category: Category
    condition: Condition
    kind: Kind
    start: int
    price: int
    bids: int
    shipping: int
    takes_offers: bool
    take: int
    ignore: int
    status: Literal["active", "sold", "withdrawn"]
    ends_at: Stamp


class Bid(Row, frozen=True):
    """The most that a bidder would pay; the marketplace bids no more than it must."""

    listing_id: ListingId
    bidder_id: SellerId
    maximum: int
    placed_at: Stamp


class Offer(Row, frozen=True):
    """A lower price that a buyer proposes. `expired` is never stored: it follows from the clock."""

    label: ClassVar[str] = "the ${amount} offer for the {title}"

    id: OfferId
    listing_id: ListingId
    title: str
    buyer_id: SellerId
    buyer: str
    seller_id: SellerId
    price: int
    """The amount offered."""
    message: str
    status: Literal["pending", "accepted", "declined", "withdrawn"]
    expires_at: Stamp


class Purchase(Row, frozen=True):
    """A sale: the buyer pays price and shipping, the seller gets `proceeds` = price - fee.

    A refund gives the buyer all back and leaves fee and proceeds at 0. A lost parcel never comes.
    """

    label: ClassVar[str] = "the purchase of the {title}"

    id: PurchaseId
    listing_id: ListingId
    title: str
    buyer_id: SellerId
    seller_id: SellerId
    price: int
    shipping: int
    fee: int
    proceeds: int
    refunded: bool
    lost: bool
    bought_on: Today
    ships_on: Today
    arrives_on: Today


class Rating(Row, frozen=True):
    """Stars (1 to 5) that the buyer of a purchase gave its seller."""

    purchase_id: PurchaseId
    seller_id: SellerId
    author: str
    stars: int
    comment: str
    written_on: Today


class Dispute(Row, frozen=True):
    """A buyer's claim to get the money of a purchase back."""

    purchase_id: PurchaseId
    reason: Reason
    details: str
    status: DisputeStatus
    opened_on: Today


class Market(State):
    """The marketplace's tables."""

    server = "marketplace"
    sellers = table(Seller, "mem")
    listings = table(Listing, "lst")
    bids = table(Bid, "bid")
    offers = table(Offer, "off")
    purchases = table(Purchase, "buy")
    ratings = table(Rating, "rate")
    disputes = table(Dispute, "disp")

    @property
    def today(self) -> date:
        """The session's date (UTC)."""
        return self.now.date()

    @property
    def me(self) -> Seller:
        """The customer as a member."""
        return self.sellers.where(mine=True)[0]

    def dispute_of(self, purchase_id: str) -> Dispute | None:
        """The dispute about a purchase; there is at most one."""
        return next(iter(self.disputes.where(purchase_id=purchase_id)), None)


R = TypeVar("R", bound=Row)


def find(rows: Table[R], row_id: str, noun: str, where: str) -> R:
    """The row of that id; refused with `not_found` if there is none."""
    row = rows.get(row_id)
    if row is None:
        refuse("not_found", f"there is no {noun} {row_id!r}; see {where}", id=row_id)
    return row


def average(stars: int, ratings: int) -> float:
    """The mean of ratings to one place; 0 without any."""
    return round(stars / ratings, 1) if ratings else 0.0
