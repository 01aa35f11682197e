"""Finding restaurants and dishes."""

from __future__ import annotations

from random import Random
from typing import Annotated, Any, Literal

from msgspec import Struct

from provegym.servers.food_delivery.pricing import delivery_fee
from provegym.servers.food_delivery.seed import noun
from provegym.servers.food_delivery.service import is_open
from provegym.servers.food_delivery.state import (
    Address,
    AddressId,
    Cuisine,
    Diet,
    FoodApp,
    Group,
    ItemId,
    MenuItem,
    MenuName,
    OptionId,
    Restaurant,
    RestaurantId,
    Weekday,
    average,
    find,
    kilometres,
    metres,
)
from provegym.world.fields import Clock, Limit, Money, Range, cents, money
from provegym.world.page import page
from provegym.world.tool import tool

Sort = Literal["rating", "fee", "distance"]
Stars = Annotated[int, Range(1, 5)]
LATEST = 2
"""Comments that a restaurant's page shows."""


class RestaurantItem(Struct, frozen=True):
    """A restaurant as a search shows it."""

    restaurant_id: RestaurantId
    name: str
    cuisine: Cuisine
    rating: float
    delivery_fee: Money
    open_now: bool


class RestaurantPage(Struct, frozen=True):
    """Restaurants in the order asked for."""

    restaurants: list[RestaurantItem]
    total: int
    next_cursor: str


class MenuHours(Struct, frozen=True):
    """A menu and when its dishes are served."""

    menu: MenuName
    served_from: Clock
    served_until: Clock
    dishes: int


class Comment(Struct, frozen=True):
    """What a customer said."""

    author: str
    stars: int
    comment: str


class RestaurantView(Struct, frozen=True):
    """A restaurant's page; distance and fee are for the customer's default address."""

    restaurant_id: RestaurantId
    name: str
    cuisine: Cuisine
    open_now: bool
    opens: Clock
    closes: Clock
    day_off: Weekday | Literal[""]
    minimum: Money
    distance_km: float
    range_km: float
    delivery_fee: Money
    rating: float
    ratings: int
    menus: list[MenuHours]
    comments: list[Comment]


class DishItem(Struct, frozen=True):
    """A dish as a search shows it."""

    item_id: ItemId
    dish: str
    restaurant: str
    price: Money
    diet: Diet
    sold_out: bool


class DishPage(Struct, frozen=True):
    """Dishes, the cheapest first."""

    dishes: list[DishItem]
    total: int
    next_cursor: str


class OptionView(Struct, frozen=True):
    """A size or extra and what it adds to the price of a portion."""

    option_id: OptionId
    option: str
    group: Group
    price: Money


class DishView(Struct, frozen=True):
    """A dish with its options."""

    item_id: ItemId
    dish: str
    restaurant_id: RestaurantId
    restaurant: str
    description: str
    diet: Diet
    price: Money
    menu: MenuName
    served_from: Clock
    served_until: Clock
    left: int
    options: list[OptionView]


def _maybe(rnd: Random, rate: float, **fields: Any) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if rnd.random() < rate}


def _restaurants_sample(app: FoodApp, rnd: Random) -> dict[str, Any]:
    r = rnd.choice(list(app.restaurants))
    given = _maybe(rnd, 0.6, cuisine=r.cuisine)
    given |= _maybe(rnd, 0.25, query=r.name) if not given else {}
    reaching = [a.id for a in app.addresses if metres(r, a) <= r.radius]
    given |= _maybe(rnd, 0.2, address_id=rnd.choice(reaching)) if reaching else {}
    given |= {"open_now": True} if rnd.random() < 0.2 and is_open(app, r) else {}
    return given | _maybe(rnd, 0.2, sort=rnd.choice(("fee", "distance")))


@tool(
    "read",
    phrases=(
        "Find[ {cuisine}] restaurants[ called {query}][ that deliver to {address_id}]"
        "[, open now: {open_now}][, sorted by {sort}]",
        "Which[ {cuisine}] restaurants can I order food from[, with {query} in the name]"
        "[, for {address_id}][, open now: {open_now}][, ordered by {sort}]",
        "List the[ {cuisine}] restaurants[ matching {query}][ which bring food to {address_id}]"
        "[, open now: {open_now}][, by {sort}]",
    ),
    refuses=("not_found",),
    sample=_restaurants_sample,
)
def search_restaurants(
    app: FoodApp,
    query: str = "",
    cuisine: Cuisine | None = None,
    address_id: AddressId = "",
    open_now: bool = False,
    sort: Sort = "rating",
    limit: Limit = 5,
    cursor: str = "",
) -> RestaurantPage:
    """Search restaurants by name, cuisine, opening and the address they deliver to.

    Args:
        query: Words that must occur in the name.
        cuisine: Only this cuisine.
        address_id: Only restaurants that deliver to this address.
        open_now: Only restaurants that take orders now.
        sort: Best rating, lowest fee or shortest distance first.
        limit: Restaurants per page.
        cursor: next_cursor of the page before.
    """
    to = _address(app, address_id) if address_id else None
    words, target = query.lower().split(), to or app.home
    found = [
        r
        for r in (app.restaurants.where(cuisine=cuisine) if cuisine else app.restaurants)
        if (to is None or metres(r, to) <= r.radius)
        and all(word in r.name.lower() for word in words)
        and (not open_now or is_open(app, r))
    ]
    found.sort(key=lambda r: (_rank(r, sort, metres(r, target)), r.name))
    rows, total, after = page(found, limit, cursor)
    return RestaurantPage([_item(app, r, metres(r, target)) for r in rows], total, after)


def _address(app: FoodApp, address_id: str) -> Address:
    return find(app.addresses, address_id, "address", "list_delivery_addresses")


def _rank(r: Restaurant, sort: Sort, distance: int) -> float:
    if sort == "rating":
        return -average(r.stars, r.ratings)
    return distance if sort == "distance" else delivery_fee(r, distance)


def _item(app: FoodApp, r: Restaurant, distance: int) -> RestaurantItem:
    rating, fee = average(r.stars, r.ratings), money(delivery_fee(r, distance))
    return RestaurantItem(r.id, r.name, r.cuisine, rating, fee, is_open(app, r))


@tool(
    "read",
    phrases=(
        "Show the opening hours, minimum order and menus of {restaurant_id}",
        "Open the page of the restaurant {restaurant_id}",
        "Is {restaurant_id} open and what does it charge for delivery to my home",
    ),
    refuses=("not_found",),
)
def get_restaurant(app: FoodApp, restaurant_id: RestaurantId) -> RestaurantView:
    """Show a restaurant: hours, minimum, distance and fee to the default address, menus, ratings.

    Args:
        restaurant_id: The restaurant.
    """
    r = find(app.restaurants, restaurant_id, "restaurant", "search_restaurants")
    distance = metres(r, app.home)
    latest = sorted(app.ratings.where(restaurant_id=r.id), key=lambda x: x.written_on)[-LATEST:]
    return RestaurantView(
        *(r.id, r.name, r.cuisine, is_open(app, r), r.opens, r.closes, r.day_off),
        minimum=money(r.minimum),
        distance_km=kilometres(distance),
        range_km=kilometres(r.radius),
        delivery_fee=money(delivery_fee(r, distance)),
        rating=average(r.stars, r.ratings),
        ratings=r.ratings,
        menus=[
            MenuHours(
                *(m.name, m.served_from, m.served_until, len(app.menu_items.where(menu_id=m.id)))
            )
            for m in app.menus.where(restaurant_id=r.id)
        ],
        comments=[Comment(x.author, x.stars, x.comment) for x in reversed(latest)],
    )


def _dishes_sample(app: FoodApp, rnd: Random) -> dict[str, Any]:
    wanted = app.menu_items[rnd.choice(app.menu_items.template.ids)]
    luck = rnd.random()
    if luck < 0.4:
        return {"restaurant_id": wanted.restaurant_id, **_maybe(rnd, 0.3, menu=wanted.menu)}
    given: dict[str, Any] = {"query": wanted.dish if luck < 0.55 else noun(wanted.dish)}
    if rnd.random() < 0.3:
        given = _maybe(rnd, 0.5, menu=wanted.menu) | {"diet": wanted.diet}
    return given | _maybe(rnd, 0.3, max_price=money(-(-wanted.price // 100) * 100))


@tool(
    "read",
    phrases=(
        "Find[ {diet}] dishes[ from the {menu} menu][ called {query}][ at {restaurant_id}]"
        "[ for at most {max_price}]",
        "What[ {diet}] food[ on the {menu} menu][ matching {query}] can I get"
        "[ from {restaurant_id}][ for up to {max_price}]",
        "Look for[ {diet}] dishes[ with {query} in them][ on the {menu} menu][ of {restaurant_id}]"
        "[ that cost no more than {max_price}]",
    ),
    refuses=("not_found",),
    sample=_dishes_sample,
)
def search_dishes(
    app: FoodApp,
    query: str = "",
    restaurant_id: RestaurantId = "",
    menu: MenuName | None = None,
    diet: Diet | None = None,
    max_price: Money | None = None,
    limit: Limit = 5,
    cursor: str = "",
) -> DishPage:
    """Search dishes of one restaurant or of all, the cheapest first.

    Args:
        query: Words that must occur in the dish, its ingredients or its restaurant.
        restaurant_id: Only dishes of this restaurant.
        menu: Only dishes of this menu.
        diet: Only dishes of this kind.
        max_price: Highest price of a portion.
        limit: Dishes per page.
        cursor: next_cursor of the page before.
    """
    words, most = query.lower().split(), cents(max_price) if max_price else 10**9
    found = [
        item
        for item in _offered(app, restaurant_id, menu)
        if item.price <= most
        and diet in (None, item.diet)
        and all(word in item.words for word in words)
    ]
    found.sort(key=lambda item: (item.price, item.dish, item.restaurant))
    rows, total, after = page(found, limit, cursor)
    return DishPage([_dish(item) for item in rows], total, after)


def _offered(app: FoodApp, restaurant_id: str, menu: MenuName | None) -> list[MenuItem]:
    """The dishes of one restaurant or of all, on one menu or on any."""
    if restaurant_id:
        r = find(app.restaurants, restaurant_id, "restaurant", "search_restaurants")
        items = app.menu_items.where(restaurant_id=r.id)
        return [item for item in items if menu in (None, item.menu)]
    return app.menu_items.where(menu=menu) if menu else list(app.menu_items)


def _dish(item: MenuItem) -> DishItem:
    price = money(item.price)
    return DishItem(item.id, item.dish, item.restaurant, price, item.diet, not item.left)


@tool(
    "read",
    phrases=(
        "Show {item_id} with its sizes and extras",
        "What options are there for {item_id}",
        "Tell me what is in {item_id} and when it is served",
    ),
    refuses=("not_found",),
)
def get_dish(app: FoodApp, item_id: ItemId) -> DishView:
    """Show a dish: ingredients, price, serving hours, portions left, sizes and extras.

    Args:
        item_id: The dish.
    """
    item = find(app.menu_items, item_id, "dish", "search_dishes")
    menu = app.menus[item.menu_id]
    return DishView(
        *(item.id, item.dish, item.restaurant_id, item.restaurant, item.description, item.diet),
        *(money(item.price), item.menu, menu.served_from, menu.served_until, item.left),
        [
            OptionView(o.id, o.option, o.group, money(o.price))
            for o in app.options.where(item_id=item.id)
        ],
    )
