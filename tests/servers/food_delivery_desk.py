"""A session of the food delivery service and how tests talk to it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from provegym.servers.food_delivery import SERVER
from provegym.servers.food_delivery.service import closed_problem, item_problem
from provegym.servers.food_delivery.state import FoodApp, MenuItem, Restaurant
from provegym.world.world import World
from tests.servers.talk import Talk


@lru_cache(maxsize=80)
def world(seed: int) -> World:
    return World(seed, [SERVER])


@dataclass(frozen=True)
class Desk(Talk):
    """One session and the typed view of it."""

    app: FoodApp

    def empty(self) -> None:
        """Throw out what is in the cart."""
        if self.app.cart.restaurant_id:
            self.ok("clear_food_cart")

    def servable(self, portions: int = 6) -> list[MenuItem]:
        """Dishes that can be had now in so many portions."""
        open_ = {r.id for r in self.app.restaurants if closed_problem(self.app, r) is None}
        items = [i for i in self.app.menu_items if i.restaurant_id in open_]
        return [i for i in items if item_problem(self.app, i, portions) is None]

    def restaurant(self, item: MenuItem) -> Restaurant:
        return self.app.restaurants[item.restaurant_id]

    def wait(self, minutes: int) -> None:
        """Let the clock run by putting something into the cart and taking it out."""
        self.empty()
        before = self.app.now
        line = self.ok("add_dish_to_cart", item_id=self.servable(2)[0].id)["line_id"]
        count = 1
        while (self.app.now - before).seconds < minutes * 60:
            count = 3 - count
            self.ok("update_cart_dish", line_id=line, quantity=count)


def desk(seed: int) -> Desk:
    session = world(seed).open()
    app = session.state("food_delivery")
    assert isinstance(app, FoodApp)
    return Desk(session, app)
