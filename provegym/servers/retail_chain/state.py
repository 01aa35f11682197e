"""A retail chain as its area manager sees it: its rows and its state.

Amounts are integer cents of US dollars inside rows; tools show decimal strings. Opening hours
and days are those of the session's clock (UTC).
"""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal, TypeVar

from provegym.world.fields import Ref, Stamp
from provegym.world.server import State
from provegym.world.table import Row, Table, table
from provegym.world.tool import refuse

StoreId = Annotated[str, Ref("retail_chain.stores")]
ProductId = Annotated[str, Ref("retail_chain.products")]
StockLevelId = Annotated[str, Ref("retail_chain.stock_levels")]
MovementId = Annotated[str, Ref("retail_chain.movements")]
TransferId = Annotated[str, Ref("retail_chain.transfers")]
ReservationId = Annotated[str, Ref("retail_chain.reservations")]
RuleId = Annotated[str, Ref("retail_chain.price_rules")]

Department = Literal["outdoor", "footwear", "kitchen", "toys", "garden", "lighting"]
Goods = Department | Literal[""]
"""A department, or none in particular."""
StoreKind = Literal["shop", "warehouse"]
StoreStatus = Literal["open", "closed", "refurbishing"]
"""`open` and `closed` follow from the hours and the clock."""
MovementKind = Literal["sale", "delivery"]
TransferStatus = Literal["requested", "in_transit", "received", "cancelled"]
ReservationStatus = Literal["active", "expired", "collected", "cancelled"]
RuleStatus = Literal["current", "upcoming", "ended"]


class Store(Row, frozen=True):
    """A shop, or a warehouse that supplies the shops and sells nothing itself."""

    label: ClassVar[str] = "{store}"

    id: StoreId
    store: str
    city: str
    kind: StoreKind
    refurbishing: bool
    opens: str
    closes: str
    manager: str


class Product(Row, frozen=True):
    """Something the chain sells: its list price, and the cost that no price may go below."""

    label: ClassVar[str] = "the {product}"

    id: ProductId
    product: str
    department: Department
    price: int
    cost: int


class StockLevel(Row, frozen=True):
    """Units of a product at a store that carries it; `counted` at the last stocktake.

    Units on hand and on their way never exceed the `capacity` of the shelves.
    """

    store_id: StoreId
    product_id: ProductId
    counted: int
    on_hand: int
    reorder_at: int
    capacity: int


class Movement(Row, frozen=True):
    """Units that left the chain by a sale or came into it by a supplier's delivery."""

    kind: MovementKind
    stock_level_id: StockLevelId
    quantity: int
    unit_price: int
    """What a customer paid a unit, or what the unit cost."""
    reservation_id: ReservationId
    """Empty unless the sale was a collected reservation."""
    recorded_at: Stamp


class Transfer(Row, frozen=True):
    """Units going from one store to another; `received` of them have arrived so far."""

    label: ClassVar[str] = "the {quantity}-unit {product} transfer from {from_store} to {to_store}"

    id: TransferId
    source_id: StockLevelId
    target_id: StockLevelId
    product: str
    from_store: str
    to_store: str
    quantity: int
    received: int
    status: TransferStatus
    requested_at: Stamp


class Reservation(Row, frozen=True):
    """Units put aside for a customer at the price of that day.

    `expired` is never stored: an active reservation lapses when the clock passes `expires_at`.
    """

    label: ClassVar[str] = "{customer}'s reservation of the {product}"

    id: ReservationId
    stock_level_id: StockLevelId
    customer: str
    product: str
    quantity: int
    unit_price: int
    status: Literal["active", "collected", "cancelled"]
    extended: bool
    expires_at: Stamp


class PriceRule(Row, frozen=True):
    """Percent off a product, a department or (both empty) everything, at one store or (empty) all.

    The days count inclusively; without `starts_on` it holds from the start. There is one rule for
    the same goods and store.
    """

    id: RuleId
    product_id: ProductId
    department: Goods
    store_id: StoreId
    percent_off: int
    starts_on: str
    ends_on: str


class Chain(State):
    """The chain's tables."""

    server = "retail_chain"
    stores = table(Store, "sto")
    products = table(Product, "prd")
    stock_levels = table(StockLevel, "stk")
    movements = table(Movement, "mov")
    transfers = table(Transfer, "trf")
    reservations = table(Reservation, "rsv")
    price_rules = table(PriceRule, "rul")

    @property
    def today(self) -> str:
        """The session's date, ISO 8601."""
        return self.stamp[:10]


R = TypeVar("R", bound=Row)


def find(rows: Table[R], row_id: str, noun: str, where: str) -> R:
    """The row of that id; refused with `not_found` if there is none."""
    row = rows.get(row_id)
    if row is None:
        refuse("not_found", f"there is no {noun} {row_id!r}; see {where}", id=row_id)
    return row


def find_store(chain: Chain, store_id: str) -> Store:
    """The store of that id; refused with `not_found` if there is none."""
    return find(chain.stores, store_id, "store", "search_stores")


def find_product(chain: Chain, product_id: str) -> Product:
    """The product of that id; refused with `not_found` if there is none."""
    return find(chain.products, product_id, "product", "search_store_stock")
