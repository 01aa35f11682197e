"""A town's restaurants on a weekday morning: some open, some sold out, a year of orders."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from random import Random
from typing import NamedTuple, TypeVar

from msgspec.structs import replace

from provegym.servers.food_delivery.pricing import Priced, bill, promo_problem
from provegym.servers.food_delivery.service import REACH, schedule
from provegym.servers.food_delivery.state import (
    STEPS,
    WEEK,
    Address,
    Cart,
    CartLine,
    Courier,
    Cuisine,
    District,
    Group,
    Menu,
    MenuItem,
    MenuName,
    Option,
    Order,
    OrderLine,
    Promo,
    PromoKind,
    Rating,
    Restaurant,
    Tracked,
    Vehicle,
    metres,
)
from provegym.servers.food_delivery.told import tell
from provegym.servers.food_delivery.words import (
    ADDRESS_NAMES,
    BIG_DRINK,
    BREAKFAST,
    COMMENTS,
    DESSERTS,
    DRINKS,
    FREE_DELIVERY_CODES,
    KITCHENS,
    NOTES,
    PROMO_WORDS,
    SIZES,
    Dish,
    Kitchen,
)
from provegym.world.cast import Cast
from provegym.world.server import Seeds

LETTERS = "0123456789abcdefghjkmnpqrstvwxyz"
PAIRS = [a + b for a in LETTERS for b in LETTERS]
CENTRES: dict[District, tuple[int, int]] = {
    "north": (5000, 8000),
    "east": (8000, 5000),
    "south": (5000, 2000),
    "west": (2000, 5000),
}
HOURS = (
    *(("06:30", "22:00"), ("07:00", "15:00"), ("07:30", "22:30"), ("08:00", "23:00")),
    *(("07:00", "21:30"), ("08:00", "14:00"), ("11:00", "22:00"), ("17:00", "23:30")),
)
"""Opening hours; three restaurants in four are open in the morning."""
MENU_HOURS: dict[MenuName, tuple[str, str]] = {
    "breakfast": ("06:00", "11:30"),
    "lunch": ("11:00", "15:30"),
    "all-day": ("00:00", "23:59"),
    "drinks": ("00:00", "23:59"),
}
UNDER_WAY = (2, 9, 34)
"""Minutes since the orders that have not come yet were placed."""
HISTORY = (
    *((1, 1), (2, 3), (4, 5), (6, 8), (9, 11), (12, 13), (15, 18), (20, 26), (28, 34), (36, 45)),
    *((48, 60), (63, 75), (80, 95), (100, 120), (125, 150), (160, 190), (200, 240), (250, 330)),
)
"""Days since each order before (at least, at most)."""
CANCELLED = (3, 8, 14)
WITH_PROMO = (4, 10, 15)
CART_STATES = (
    *(("empty", 0.06), ("closed", 0.06), ("not_served", 0.09), ("sold_out", 0.05)),
    *(("expired", 0.05), ("below", 0.05), ("promo_short", 0.06)),
)
"""What is wrong with the cart, and how often; else it can be ordered."""


T = TypeVar("T", Restaurant, Courier)


def seed(cast: Cast, rnd: Random) -> Seeds:
    """All rows of one world's food delivery; `cast.user` is the customer."""
    return Maker(cast, rnd).rows()


class _Place(NamedTuple):
    """A restaurant with its dishes."""

    restaurant: Restaurant
    items: list[MenuItem]


class Maker:
    """Collects the rows while they are made; later tables look at earlier ones."""

    def __init__(self, cast: Cast, rnd: Random) -> None:
        self.cast, self.rnd, self.now = cast, rnd, cast.start
        self.clock, self.weekday = cast.start.strftime("%H:%M"), WEEK[cast.start.weekday()]
        self.taken: set[str] = set()
        self.places: dict[str, _Place] = {}
        self.menus: dict[str, Menu] = {}
        self.options: dict[str, list[Option]] = {}
        self.couriers: list[Courier] = []
        self.addresses: list[Address] = []
        self.promos: dict[str, Promo] = {}
        self.orders: list[Order] = []
        self.order_lines: list[OrderLine] = []
        self.tracking: list[Tracked] = []
        self.ratings: list[Rating] = []
        self.lines: list[CartLine] = []
        self.sold_out: set[str] = set()

    def rows(self) -> Seeds:
        """Make every table, in an order in which each finds what it refers to."""
        self.make_addresses()
        self.make_restaurants()
        self.make_couriers()
        self.make_promos()
        self.make_orders()
        cart = self.make_cart()
        self.rate_by_others()
        tell(self)
        stars, count = self.counted()
        places = self.places.values()
        return {
            "restaurants": [self.rated(p.restaurant, stars, count) for p in places],
            "menus": self.menus.values(),
            "menu_items": list(self.stocked()),
            "options": [o for options in self.options.values() for o in options],
            "carts": [cart],
            "cart_lines": self.lines,
            "promos": self.promos.values(),
            "orders": self.orders,
            "order_lines": self.order_lines,
            "tracking": self.tracking,
            "couriers": [self.rated(c, stars, count) for c in self.couriers],
            "ratings": self.ratings,
            "addresses": self.addresses,
        }

    def id(self, prefix: str) -> str:
        """A fresh id."""
        while True:
            bits = self.rnd.getrandbits(30)
            new = f"{prefix}_{PAIRS[bits >> 20]}{PAIRS[(bits >> 10) & 1023]}{PAIRS[bits & 1023]}"
            if new not in self.taken:
                self.taken.add(new)
                return new

    def spot(self, district: District, spread: int) -> tuple[int, int]:
        """A point around the centre of a district."""
        x, y = CENTRES[district]
        rnd = self.rnd
        return x + rnd.randint(-spread, spread), y + rnd.randint(-spread, spread)

    # -- the town ----------------------------------------------------------------------------

    def make_addresses(self) -> None:
        """The customer's home in the middle of the town, and three or four other places."""
        user, rnd = self.cast.user, self.rnd
        x, y = 5000 + rnd.randint(-800, 800), 5000 + rnd.randint(-800, 800)
        self.addresses.append(Address(self.id("addr"), "Home", user.street, user.city, x, y, True))
        names = rnd.sample(ADDRESS_NAMES, rnd.randint(3, 4))
        for name, at in zip(names, rnd.sample(self.cast.others, len(names)), strict=True):
            x, y = self.spot(rnd.choice(list(CENTRES)), 1500)
            new = self.id("addr")
            self.addresses.append(Address(new, name, at.street, user.city, x, y, False))

    def make_restaurants(self) -> None:
        """Two or three restaurants of each cuisine."""
        hours = list(HOURS)
        for cuisine, kitchen in KITCHENS.items():
            for name in self.rnd.sample(kitchen.names, self.rnd.choice((2, 3, 3))):
                if not hours:
                    hours = list(HOURS)
                opens, closes = hours.pop(self.rnd.randrange(len(hours)))
                self.restaurant(name, cuisine, kitchen, opens, closes)

    def restaurant(
        self, name: str, cuisine: Cuisine, kitchen: Kitchen, opens: str, closes: str
    ) -> None:
        """One restaurant with its menus and dishes."""
        rnd = self.rnd
        district = rnd.choice(list(CENTRES))
        x, y = self.spot(district, 1200)
        r = Restaurant(
            *(self.id("rest"), name, cuisine, district, x, y, opens, closes),
            day_off=rnd.choice(WEEK) if rnd.random() < 0.3 else "",
            minimum=rnd.choice((800, 1000, 1200, 1500, 2000)),
            fee=rnd.choice((99, 149, 199, 249, 299, 399)),
            radius=rnd.choice((4500, 5000, 6000, 7000, 8000)),
            prep=rnd.randint(8, 25),
            stars=0,
            ratings=0,
        )
        self.places[r.id] = _Place(r, [])
        if opens < "09:00":
            self.menu(r, "breakfast", rnd.sample(BREAKFAST, 2), kitchen)
        self.menu(r, "lunch", rnd.sample(kitchen.lunch, 1), kitchen)
        mains = rnd.sample(kitchen.mains, rnd.choice((3, 4)))
        self.menu(r, "all-day", [*mains, rnd.choice(DESSERTS)], kitchen)
        self.menu(r, "drinks", rnd.sample(DRINKS, 1), kitchen)

    def menu(self, r: Restaurant, name: MenuName, dishes: Sequence[Dish], kitchen: Kitchen) -> None:
        """One menu and its dishes."""
        menu = Menu(self.id("menu"), r.id, name, *MENU_HOURS[name])
        self.menus[menu.id] = menu
        for dish in dishes:
            price = self.rnd.randint(dish.low, dish.high) * 100 - self.rnd.choice((0, 5, 10, 50))
            words = f"{dish.name} {dish.inside} {r.name} {r.cuisine} {dish.diet}".lower()
            item = MenuItem(
                *(self.id("dish"), r.id, menu.id, name, dish.name, r.name),
                *(f"{dish.name} with {dish.inside}.", dish.diet, words, price, 0, 0),
            )
            self.places[r.id].items.append(item)
            self.options[item.id] = list(self.options_of(item, kitchen))

    def options_of(self, item: MenuItem, kitchen: Kitchen) -> Iterator[Option]:
        """Some drinks and main dishes come in sizes, most main dishes with extras."""
        main = any(dish.name == item.dish for dish in kitchen.mains)
        groups: list[tuple[Group, str, int]] = []
        if (main or item.menu == "drinks") and self.rnd.random() < 0.5:
            groups += SIZES if main else BIG_DRINK
        if main:
            picked = self.rnd.sample(kitchen.extras, self.rnd.choice((0, 2, 3)))
            groups += [("extra", name, price) for name, price in picked]
        for group, name, price in groups:
            yield Option(self.id("opt"), item.id, group, name, price)

    def stocked(self) -> Iterator[MenuItem]:
        """The dishes with their portions: what orders took, and what is left."""
        gone = {o.id for o in self.orders if o.cancelled}
        ordered, wanted = Counter[str](), Counter[str]()
        for line in self.order_lines:
            ordered[line.item_id] += 0 if line.order_id in gone else line.quantity
        for in_cart in self.lines:
            wanted[in_cart.item_id] += in_cart.quantity
        for item in (i for place in self.places.values() for i in place.items):
            left = 0 if item.id in self.sold_out else self.left() + wanted[item.id]
            yield replace(item, left=left, portions=left + ordered[item.id])

    def left(self) -> int:
        """Portions still to be had: some dishes are sold out, of some there are few."""
        luck = self.rnd.random()
        if luck < 0.1:
            return 0
        return self.rnd.randint(1, 3) if luck < 0.25 else self.rnd.randint(6, 40)

    def make_couriers(self) -> None:
        """Four couriers in each district, some of them off duty."""
        people = iter(self.rnd.sample(self.cast.others, 4 * len(CENTRES)))
        for district in CENTRES:
            vehicles: list[Vehicle] = ["scooter", self.rnd.choice(("scooter", "bike"))]
            vehicles += ["car" if self.rnd.random() < 0.6 else "bike", "bike"]
            for i, vehicle in enumerate(vehicles):
                who, duty = next(people), i == 0 or self.rnd.random() < 0.6
                new = self.id("cour")
                self.couriers.append(
                    Courier(new, who.name, who.phone, district, vehicle, duty, 0, 0)
                )

    def make_promos(self) -> None:
        """A dozen promos: one always counts, one has ended, one is for feasts, others vary."""
        rnd = self.rnd
        words = iter(rnd.sample(PROMO_WORDS, len(PROMO_WORDS)))
        self.promo(f"{next(words)}10", "percent", 10, 0, "", 40)
        self.promo(f"{next(words)}3OFF", "amount", 300, 1200, "", 30)
        self.promo(rnd.choice(FREE_DELIVERY_CODES), "free_delivery", 0, 1500, "", 20)
        for place in rnd.sample(list(self.places.values()), 3):
            code = "".join(c for c in place.restaurant.name.upper() if c.isalpha())
            value = rnd.choice((15, 20, 25))
            self.promo(f"{code[:8]}{value}", "percent", value, 1000, place.restaurant.id, 25)
        for i, word in enumerate(words):
            value, minimum = rnd.choice(((5, 0), (15, 3500), (20, 6000), (25, 9000)))
            days = rnd.choice((-20, -6, -1, 7, 18)) if i else -4
            if i == 1:
                value, minimum, days = 25, 12000, 14
            self.promo(f"{word}{value}", "percent", value, minimum, "", days)

    def promo(
        self, code: str, kind: PromoKind, value: int, minimum: int, at: str, days: int
    ) -> None:
        """One promo that ends `days` from today."""
        ends = (self.now + timedelta(days=days)).date().isoformat()
        self.promos[code] = Promo(code, kind, value, minimum, at, ends, False)

    # -- orders ------------------------------------------------------------------------------

    def make_orders(self) -> None:
        """Three orders under way and those of the past year."""
        for minutes in UNDER_WAY:
            before = (self.now - timedelta(minutes=minutes)).strftime("%H:%M")
            self.order(self.open_place(before), self.now - timedelta(minutes=minutes))
        for i, (low, high) in enumerate(HISTORY):
            day = self.now - timedelta(days=self.rnd.randint(low, high))
            place = self.rnd.choice([p for p in self.places.values() if self.near(p)])
            late = max(int(place.restaurant.opens[:2]), 12) + self.rnd.randint(0, 1)
            placed = day.replace(hour=late, minute=self.rnd.randrange(60))
            self.order(place, placed, cancel=i in CANCELLED, promote=i in WITH_PROMO)

    def near(self, place: _Place) -> bool:
        """Whether the restaurant delivers home."""
        return metres(place.restaurant, self.addresses[0]) <= place.restaurant.radius

    def is_open(self, place: _Place, clock: str) -> bool:
        """Whether the restaurant takes orders today at that time."""
        r = place.restaurant
        return r.day_off != self.weekday and r.opens <= clock < r.closes

    def open_place(self, clock: str) -> _Place:
        """A restaurant that was open at that time of today, delivers home and was not asked yet."""
        asked = {o.restaurant_id for o in self.orders}
        near = [p for p in self.places.values() if self.near(p) and p.restaurant.id not in asked]
        return self.rnd.choice([p for p in near if self.is_open(p, clock)] or near)

    def order(
        self, place: _Place, placed: datetime, *, cancel: bool = False, promote: bool = False
    ) -> None:
        """One order home, with its lines and its way."""
        rnd, r, home = self.rnd, place.restaurant, self.addresses[0]
        distance, new = metres(r, home), self.id("ord")
        lines = [self.order_line(new, item) for item in self.dishes(place, placed)]
        goods = sum((li.price + li.extras) * li.quantity for li in lines)
        promo = self.usable(r.id, goods) if promote else None
        cost = bill([Priced(li.price, li.extras, li.quantity) for li in lines], r, distance, promo)
        courier, tip = self.courier(r, distance), rnd.choice((0, 0, 200, 300, 500))
        times = schedule(placed, r.prep, distance, courier.vehicle)
        stopped = (placed + timedelta(minutes=rnd.randint(1, 9))).isoformat() if cancel else ""
        self.order_lines += lines
        self.tracking += [Tracked(self.id("trk"), new, s, times[s]) for s in STEPS]
        order = Order(
            *(new, r.id, r.name, home.id, distance, courier.id, promo.id if promo else ""),
            *(cost.dishes, cost.extras, cost.delivery_fee, cost.service_fee, cost.discount),
            *(tip, cost.total + tip, rnd.choice(NOTES) if rnd.random() < 0.3 else ""),
            *(cancel, stopped, placed.date().isoformat()),
        )
        self.orders.append(order)
        age = (self.now - placed).days
        if age and not cancel and rnd.random() < (0.35 if age < 14 else 0.7):
            self.rate(order, age)

    def dishes(self, place: _Place, placed: datetime) -> list[MenuItem]:
        """One to three dishes that are served at that time."""
        clock = placed.strftime("%H:%M")
        hours = {i.id: self.menus[i.menu_id] for i in place.items}
        served = [
            i for i in place.items if hours[i.id].served_from <= clock < hours[i.id].served_until
        ]
        return self.rnd.sample(served, self.rnd.choice((1, 2, 2, 3)))

    def order_line(self, order: str, item: MenuItem) -> OrderLine:
        """One or two portions of a dish, some with an option."""
        options = self.options[item.id]
        chosen = [self.rnd.choice(options)] if options and self.rnd.random() < 0.4 else []
        said, extras = ", ".join(o.option for o in chosen), sum(o.price for o in chosen)
        count = self.rnd.choice((1, 1, 1, 2))
        return OrderLine(
            self.id("item"), order, item.id, item.dish, said, count, item.price, extras
        )

    def usable(self, restaurant: str, goods: int) -> Promo | None:
        """A promo that counts here, now used; the first is kept for the customer."""
        today = self.now.date()
        unused = [p for p in list(self.promos.values())[1:] if not p.used]
        fitting = [p for p in unused if promo_problem(p, restaurant, goods, today) is None]
        if not fitting:
            return None
        promo = self.rnd.choice(fitting)
        self.promos[promo.id] = replace(promo, used=True)
        return promo

    def courier(self, r: Restaurant, distance: int) -> Courier:
        """Someone of the district who goes that far."""
        able = [
            c for c in self.couriers if c.district == r.district and REACH[c.vehicle] >= distance
        ]
        return self.rnd.choice(able or [c for c in self.couriers if c.vehicle == "car"])

    # -- ratings -----------------------------------------------------------------------------

    def rate(self, order: Order, age: int) -> None:
        """The customer's rating of an order that came."""
        self.rating(order.id, order.restaurant_id, order.courier_id, self.cast.user.name, age)

    def rating(self, order: str, restaurant: str, courier: str, author: str, age: int) -> None:
        """One rating; most people are pleased."""
        stars = self.rnd.choice((1, 2, 3, 3, 4, 4, 4, 5, 5, 5))
        polite = self.rnd.choice((0, 3, 4, 5, 5)) if courier else 0
        day = (self.now - timedelta(days=self.rnd.randint(0, age - 1))).date().isoformat()
        comment, new = self.rnd.choice(COMMENTS[stars]), self.id("rate")
        self.ratings.append(
            Rating(new, order, restaurant, courier, author, stars, polite, comment, day)
        )

    def rate_by_others(self) -> None:
        """Two to five ratings of each restaurant by other customers."""
        by_district: dict[District, list[Courier]] = {}
        for c in self.couriers:
            by_district.setdefault(c.district, []).append(c)
        for place in self.places.values():
            r = place.restaurant
            for person in self.rnd.sample(self.cast.others, self.rnd.randint(2, 5)):
                courier = self.rnd.choice(by_district[r.district])
                self.rating("", r.id, courier.id, person.name, self.rnd.randint(5, 300))

    def counted(self) -> tuple[Counter[str], Counter[str]]:
        """Stars and number of ratings of each restaurant and courier."""
        stars, count = Counter[str](), Counter[str]()
        for r in self.ratings:
            stars.update({r.restaurant_id: r.stars, r.courier_id: r.courier_stars})
            count.update({r.restaurant_id: 1, r.courier_id: int(r.courier_stars > 0)})
        return stars, count

    def rated(self, row: T, stars: Counter[str], count: Counter[str]) -> T:
        """The row with its ratings counted."""
        return replace(row, stars=stars[row.id], ratings=count[row.id])

    # -- the cart ----------------------------------------------------------------------------

    def make_cart(self) -> Cart:
        """A cart of one restaurant; most can be ordered, each of the others has one flaw."""
        luck, flaw = self.rnd.random(), ""
        for name, share in CART_STATES:
            luck -= share
            if luck < 0:
                flaw = name
                break
        if flaw == "empty":
            return Cart(self.id("cart"), "", "")
        place = self.closed_place() if flaw == "closed" else self.ready_place()
        for item in self.cart_items(place, flaw):
            self.cart_line(item, few=flaw == "below")
        if flaw == "sold_out":
            self.sold_out.add(self.lines[0].item_id)
        return Cart(self.id("cart"), place.restaurant.id, self.cart_promo(flaw))

    def closed_place(self) -> _Place:
        """A restaurant that is closed now."""
        closed = [p for p in self.places.values() if not self.is_open(p, self.clock)]
        return self.rnd.choice(closed or list(self.places.values()))

    def ready_place(self) -> _Place:
        """An open restaurant that delivers home, with someone on duty to bring it."""
        home, ready = self.addresses[0], []
        for place in self.places.values():
            r = place.restaurant
            on_duty = [c for c in self.couriers if c.district == r.district and c.on_duty]
            reach = max(REACH[c.vehicle] for c in on_duty)
            if self.near(place) and self.is_open(place, self.clock) and reach >= metres(r, home):
                ready.append(place)
        return self.rnd.choice(ready) if ready else self.open_place(self.clock)

    def cart_items(self, place: _Place, flaw: str) -> list[MenuItem]:
        """Dishes served now; one of the lunch menu, or a drink alone, where the flaw is that."""
        by_menu = {i.menu: i for i in place.items}
        if flaw == "below":
            return [by_menu["drinks"]]
        dear = sorted(self.dishes(place, self.now), key=lambda i: -i.price)
        mains = [i for i in place.items if i.menu == "all-day"][:2]
        picked = list(dict.fromkeys((*mains, dear[0])))
        return [*picked, by_menu["lunch"]] if flaw == "not_served" else picked

    def cart_line(self, item: MenuItem, *, few: bool) -> None:
        """One or two portions of a dish with at most one option."""
        options = self.options[item.id]
        chosen = (self.rnd.choice(options).id,) if options and self.rnd.random() < 0.4 else ()
        count = 1 if few else self.rnd.choice((1, 1, 2))
        self.lines.append(CartLine(self.id("line"), item.id, item.dish, chosen, count))

    def cart_promo(self, flaw: str) -> str:
        """The promo on the cart, if any."""
        if flaw == "expired":
            today = self.now.date().isoformat()
            return self.rnd.choice([p.id for p in self.promos.values() if p.expires_on < today])
        if flaw == "promo_short":
            return max(self.promos.values(), key=lambda p: p.minimum).id
        return next(iter(self.promos)) if self.rnd.random() < 0.15 else ""


def noun(dish: str) -> str:
    """The last word of a dish's name, as people search for it."""
    return dish.rsplit(" ", 1)[-1]
