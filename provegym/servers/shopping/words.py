"""What the shop sells and what people say about it: the word lists that its seed draws from."""

from __future__ import annotations

from typing import NamedTuple

from provegym.servers.shopping.state import CategoryName


class Kind(NamedTuple):
    """A kind of thing: its name, its price range in whole dollars, how its variants differ."""

    noun: str
    low: int
    high: int
    options: str
    bulky: bool = False


class Shelf(NamedTuple):
    """A category: tax in basis points, days to return (0: never), its goods and their features."""

    tax_rate: int
    return_days: int
    kinds: tuple[Kind, ...]
    features: tuple[str, ...]


OPTIONS: dict[str, tuple[str, ...]] = {
    "colour": ("black", "white", "navy", "sage green", "terracotta", "silver", "sand"),
    "size": ("small", "medium", "large", "extra large"),
    "shoe": ("size 7", "size 8", "size 9", "size 10", "size 11"),
    "finish": ("oak", "walnut", "ash", "matte black"),
    "capacity": ("small", "standard", "family-size"),
    "storage": ("64 GB", "128 GB", "256 GB"),
    "pack": ("single-pack", "2-pack", "4-pack"),
    "bottle": ("50 ml", "100 ml", "250 ml"),
    "weight": ("250 g", "500 g", "1 kg"),
    "edition": ("standard", "travel", "deluxe"),
}

SHELVES: dict[CategoryName, Shelf] = {
    "kitchen": Shelf(
        825,
        30,
        (
            Kind("Gooseneck Kettle", 35, 90, "colour"),
            Kind("Cast Iron Skillet", 25, 80, "capacity"),
            Kind("Chef Knife", 30, 120, "finish"),
            Kind("Coffee Grinder", 40, 150, "colour"),
            Kind("Mixing Bowl Set", 18, 45, "colour"),
            Kind("Stand Mixer", 140, 320, "colour"),
            Kind("Salad Spinner", 15, 35, "capacity"),
        ),
        ("a heat-proof handle", "a non-slip base", "dishwasher-safe parts", "a brushed finish"),
    ),
    "electronics": Shelf(
        825,
        14,
        (
            Kind("Wireless Earbuds", 40, 160, "colour"),
            Kind("Desk Lamp", 25, 85, "colour"),
            Kind("Bluetooth Speaker", 35, 190, "colour"),
            Kind("Tablet", 180, 520, "storage"),
            Kind("Memory Card", 12, 45, "storage"),
            Kind("Power Bank", 20, 70, "colour"),
            Kind("Webcam", 35, 110, "edition"),
        ),
        ("USB-C charging", "a two-year warranty", "fast pairing", "a braided cable"),
    ),
    "clothing": Shelf(
        400,
        60,
        (
            Kind("Rain Jacket", 55, 160, "size"),
            Kind("Wool Sweater", 45, 130, "size"),
            Kind("Linen Shirt", 30, 80, "size"),
            Kind("Running Shoes", 60, 150, "shoe"),
            Kind("Leather Belt", 20, 60, "colour"),
            Kind("Beanie", 12, 35, "colour"),
        ),
        ("taped seams", "a relaxed fit", "recycled fibres", "reinforced stitching"),
    ),
    "outdoors": Shelf(
        825,
        45,
        (
            Kind("Hiking Backpack", 60, 190, "colour"),
            Kind("Camping Stove", 30, 95, "edition"),
            Kind("Headlamp", 18, 60, "colour"),
            Kind("Water Bottle", 12, 40, "colour"),
            Kind("Yoga Mat", 20, 75, "colour"),
            Kind("Tent", 110, 380, "capacity", True),
        ),
        ("a lifetime guarantee", "a packable design", "weather-proof zips", "a padded strap"),
    ),
    "furniture": Shelf(
        825,
        30,
        (
            Kind("Bookshelf", 80, 260, "finish", True),
            Kind("Standing Desk", 210, 540, "finish", True),
            Kind("Bedside Table", 60, 170, "finish", True),
            Kind("Armchair", 180, 460, "colour", True),
            Kind("Floor Lamp", 50, 140, "colour"),
            Kind("Wall Mirror", 40, 150, "finish"),
        ),
        ("tool-free assembly", "solid wood legs", "soft-close fittings", "felt pads included"),
    ),
    "toys": Shelf(
        825,
        30,
        (
            Kind("Board Game", 20, 60, "edition"),
            Kind("Building Blocks", 18, 90, "pack"),
            Kind("Jigsaw Puzzle", 12, 35, "edition"),
            Kind("Wooden Train", 25, 80, "pack"),
            Kind("Plush Bear", 14, 40, "size"),
            Kind("Kite", 15, 45, "colour"),
        ),
        ("rounded edges", "a storage box", "a full rule book", "spare parts included"),
    ),
    "beauty": Shelf(
        825,
        0,
        (
            Kind("Hand Cream", 8, 28, "bottle"),
            Kind("Shampoo", 9, 32, "bottle"),
            Kind("Face Serum", 22, 75, "bottle"),
            Kind("Sunscreen", 12, 34, "bottle"),
            Kind("Shaving Balm", 12, 36, "bottle"),
        ),
        ("no added scent", "oat extract", "a refillable bottle", "vitamin E"),
    ),
    "pantry": Shelf(
        200,
        0,
        (
            Kind("Coffee Beans", 10, 26, "weight"),
            Kind("Green Tea", 7, 24, "weight"),
            Kind("Olive Oil", 12, 38, "pack"),
            Kind("Granola", 6, 16, "weight"),
            Kind("Dark Chocolate", 5, 18, "pack"),
        ),
        ("single-farm produce", "no added sugar", "a resealable bag", "a mild taste"),
    ),
}

LINES = (
    *("Alder", "Aurora", "Bramble", "Calder", "Cascade", "Cobalt", "Corvus", "Delta", "Ember"),
    *("Fjord", "Galena", "Harlow", "Hearth", "Indigo", "Juniper", "Kestrel", "Lumen", "Maple"),
    *("Meridian", "Nimbus", "Nordic", "Orchard", "Pebble", "Pinnacle", "Quarry", "Ridge"),
    *("Sable", "Solstice", "Summit", "Tamarack", "Tundra", "Verdant", "Willow", "Zephyr"),
)
"""Product lines: the first word of a title."""

REVIEWS: dict[int, tuple[str, ...]] = {
    1: ("Broke within a week", "Arrived scratched", "Not worth the money"),
    2: ("Feels rather cheap", "Smaller than expected", "Poor instructions"),
    3: ("Decent for the price", "Does the job", "Average quality"),
    4: ("Very good overall", "Solid and well made", "Happy with it"),
    5: ("Exactly what I wanted", "Use it every day", "Excellent quality", "A perfect gift"),
}

NOTES = ("for my birthday", "wait for a sale", "gift for mum", "for the new flat", "next payday")

ADDRESS_NAMES = ("Home", "Office", "Studio", "Cabin", "Workshop", "Holiday", "Weekend", "Family")

STREETS = ("Birch Lane", "Mill Road", "Harbor Street", "Cedar Avenue", "Station Road", "Park Row")

COUPON_WORDS = ("WELCOME", "SPRING", "LOYAL", "WEEKEND", "HELLO", "BUNDLE", "FLASH", "THANKS")

FREE_SHIPPING_CODES = ("FREESHIP", "SHIPFREE", "NOPOSTAGE")
