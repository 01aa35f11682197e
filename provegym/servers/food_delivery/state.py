"""A food delivery service as one customer sees it: its rows and its state.

Amounts are integer cents of US dollars inside rows; tools show decimal strings. Places lie on a
flat plan of the town, x and y in metres.
"""

from __future__ import annotations

import math
from datetime import date
from typing import Annotated, ClassVar, Literal, TypeVar

from provegym.world.fields import DATE, VOLATILE, Clock, Date, Ref, Stamp
from provegym.world.server import State
from provegym.world.table import Row, Table, table
from provegym.world.tool import refuse

RestaurantId = Annotated[str, Ref("food_delivery.restaurants")]
MenuId = Annotated[str, Ref("food_delivery.menus")]
ItemId = Annotated[str, Ref("food_delivery.menu_items")]
OptionId = Annotated[str, Ref("food_delivery.options")]
CartLineId = Annotated[str, Ref("food_delivery.cart_lines")]
PromoCode = Annotated[str, Ref("food_delivery.promos")]
OrderId = Annotated[str, Ref("food_delivery.orders")]
AddressId = Annotated[str, Ref("food_delivery.addresses")]
CourierId = Annotated[str, Ref("food_delivery.couriers")]
AssignedCourier = Annotated[str, Ref("food_delivery.couriers"), VOLATILE]
"""Whoever was free at that moment."""
Today = Annotated[str, DATE, VOLATILE]
"""A date that the service's clock sets."""

Cuisine = Literal[
    "italian", "japanese", "mexican", "indian", "american", "thai", "mediterranean", "bakery"
]
District = Literal["north", "east", "south", "west"]
Weekday = Literal["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"]
WEEK: tuple[Weekday, ...] = (
    *("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"),
)
MenuName = Literal["breakfast", "lunch", "all-day", "drinks"]
Diet = Literal["vegan", "vegetarian", "fish", "meat"]
Group = Literal["size", "extra"]
Vehicle = Literal["bike", "scooter", "car"]
PromoKind = Literal["percent", "amount", "free_delivery"]
Step = Literal["placed", "preparing", "picked_up", "delivered"]
STEPS: tuple[Step, ...] = ("placed", "preparing", "picked_up", "delivered")
OrderStatus = Literal["placed", "preparing", "picked_up", "delivered", "cancelled"]


class Restaurant(Row, frozen=True):
    """A kitchen that delivers within `radius` metres, from `minimum` cents on.

    It is open from `opens` to `closes` except on its day off ("": none). `prep` is in minutes.
    """

    label: ClassVar[str] = "{name}"

    id: RestaurantId
    name: str
    cuisine: Cuisine
    district: District
    x: int
    y: int
    opens: Clock
    closes: Clock
    day_off: Weekday | Literal[""]
    minimum: int
    fee: int
    radius: int
    prep: int
    stars: int
    """Sum of the stars of its ratings."""
    ratings: int


class Menu(Row, frozen=True):
    """Dishes of a restaurant that are served in the same hours."""

    restaurant_id: RestaurantId
    name: MenuName
    served_from: Clock
    served_until: Clock


class MenuItem(Row, frozen=True):
    """A dish: `portions` were made, `left` of them are not ordered yet.

    `words` is what a search looks at, in lower case.
    """

    label: ClassVar[str] = "the {dish} from {restaurant}"

    id: ItemId
    restaurant_id: RestaurantId
    menu_id: MenuId
    menu: MenuName
    dish: str
    restaurant: str
    description: str
    diet: Diet
    words: str
    price: int
    portions: int
    left: int


class Option(Row, frozen=True):
    """A size or an extra of one dish, for `price` more."""

    label: ClassVar[str] = "{option}"

    id: OptionId
    item_id: ItemId
    group: Group
    option: str
    price: int


class Cart(Row, frozen=True):
    """The customer's only cart: its restaurant ("" while empty) and the promo on it."""

    restaurant_id: RestaurantId
    promo_code: PromoCode


class CartLine(Row, frozen=True):
    """Portions of one dish with the same options."""

    label: ClassVar[str] = "the {dish}"

    id: CartLineId
    item_id: ItemId
    dish: str
    option_ids: tuple[OptionId, ...]
    quantity: int


class Promo(Row, frozen=True):
    """A discount, used once; the code is its id. `value` is in percent or cents.

    It counts at its restaurant ("": everywhere) for dishes of `minimum` or more.
    """

    id: PromoCode
    kind: PromoKind
    value: int
    minimum: int
    restaurant_id: RestaurantId
    expires_on: Date
    used: bool


class Order(Row, frozen=True):
    """An order: total = dishes + extras + delivery fee + service fee - discount + tip."""

    label: ClassVar[str] = "my order from {restaurant} of {placed_on}"

    id: OrderId
    restaurant_id: RestaurantId
    restaurant: str
    address_id: AddressId
    distance: int
    """Metres from the restaurant to the address."""
    courier_id: AssignedCourier
    promo_code: PromoCode
    dishes: int
    extras: int
    delivery_fee: int
    service_fee: int
    discount: int
    tip: int
    total: int
    note: str
    cancelled: bool
    cancelled_at: Stamp
    placed_on: Today


class OrderLine(Row, frozen=True):
    """Portions of one dish as ordered; `extras` is the price of one portion's options."""

    order_id: OrderId
    item_id: ItemId
    dish: str
    options: str
    quantity: int
    price: int
    extras: int


class Tracked(Row, frozen=True):
    """When an order reaches a step. The step is reached once the clock is there."""

    order_id: OrderId
    step: Step
    at: Stamp


class Courier(Row, frozen=True):
    """Someone who brings orders of a district's restaurants while on duty."""

    label: ClassVar[str] = "{courier}"

    id: CourierId
    courier: str
    phone: str
    district: District
    vehicle: Vehicle
    on_duty: bool
    stars: int
    ratings: int


class Rating(Row, frozen=True):
    """Stars (1 to 5) for a restaurant and its courier (0: none given); others' name no order."""

    order_id: OrderId
    restaurant_id: RestaurantId
    courier_id: AssignedCourier
    author: str
    stars: int
    courier_stars: int
    comment: str
    written_on: Today


class Address(Row, frozen=True):
    """Where the customer has food brought; one is the default."""

    label: ClassVar[str] = "the {name} address"

    id: AddressId
    name: str
    street: str
    city: str
    x: int
    y: int
    default: bool


class FoodApp(State):
    """The service's tables, for one customer."""

    server = "food_delivery"
    restaurants = table(Restaurant, "rest")
    menus = table(Menu, "menu")
    menu_items = table(MenuItem, "dish")
    options = table(Option, "opt")
    carts = table(Cart, "cart")
    cart_lines = table(CartLine, "line")
    promos = table(Promo, "promo")
    orders = table(Order, "ord")
    order_lines = table(OrderLine, "item")
    tracking = table(Tracked, "trk")
    couriers = table(Courier, "cour")
    ratings = table(Rating, "rate")
    addresses = table(Address, "addr")

    @property
    def today(self) -> date:
        """The session's date (UTC)."""
        return self.now.date()

    @property
    def clock(self) -> str:
        """The session's time of day (UTC), as "09:00"."""
        return self.now.strftime("%H:%M")

    @property
    def cart(self) -> Cart:
        """The customer's cart."""
        return next(iter(self.carts))

    @property
    def home(self) -> Address:
        """The default address."""
        return self.addresses.where(default=True)[0]

    def chosen(self, line: CartLine) -> list[Option]:
        """The options of a cart line."""
        return [self.options[o] for o in line.option_ids]


R = TypeVar("R", bound=Row)


def find(rows: Table[R], row_id: str, noun: str, where: str) -> R:
    """The row of that id; refused with `not_found` if there is none."""
    row = rows.get(row_id)
    if row is None:
        refuse("not_found", f"there is no {noun} {row_id!r}; see {where}", id=row_id)
    return row


def metres(one: Restaurant | Address, other: Restaurant | Address) -> int:
    """The straight distance of two places."""
    return math.isqrt((one.x - other.x) ** 2 + (one.y - other.y) ** 2)


def kilometres(distance: int) -> float:
    """Metres as kilometres to one place."""
    return round(distance / 1000, 1)


def average(stars: int, ratings: int) -> float:
    """The mean of ratings to one place; 0 without any."""
    return round(stars / ratings, 1) if ratings else 0.0
