"""The restaurant that maps and cars know of too, with a lunch that the customer had from it."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from msgspec.structs import replace

from provegym.servers.food_delivery.state import Cuisine
from provegym.servers.food_delivery.words import KITCHENS
from provegym.world.stories import stories

if TYPE_CHECKING:
    from provegym.servers.food_delivery.seed import Maker

CUISINES: dict[str, Cuisine] = {
    "Saffron Table": "indian",
    "Blue Lantern": "thai",
    "Harvest Corner": "american",
    "Juniper Kitchen": "mediterranean",
    "Pepper Mill": "italian",
}
OPENS, CLOSES = "08:00", "23:00"
RADIUS = 8000
"""Metres; from any district this reaches the customer's home."""


def tell(maker: Maker) -> None:
    """Add it after all else; its draws are apart, so that all other rows stay as they are."""
    name = stories(maker.cast).kitchen.name
    kept, maker.rnd = maker.rnd, maker.cast.rng("stories", "food_delivery")
    cuisine = CUISINES[name]
    maker.restaurant(name, cuisine, KITCHENS[cuisine], OPENS, CLOSES)
    key, place = maker.places.popitem()
    row = replace(place.restaurant, day_off="", radius=RADIUS)
    maker.places[key] = place = place._replace(restaurant=row)
    day = maker.now - timedelta(days=maker.rnd.randint(3, 12))
    maker.order(place, day.replace(hour=12, minute=maker.rnd.randrange(60)))
    for guest in maker.rnd.sample(maker.cast.others, 3):
        maker.rating("", row.id, "", guest.name, maker.rnd.randint(5, 300))
    maker.rnd = kept
