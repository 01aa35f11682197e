"""The words that a chain's shops and goods are made of."""

from __future__ import annotations

from provegym.servers.retail_chain.state import Department

GOODS: dict[Department, tuple[tuple[str, int, int], ...]] = {
    "outdoor": (
        *(("Trail Backpack", 55, 120), ("Dome Tent", 110, 260), ("Camp Stove", 35, 80)),
        *(("Sleeping Bag", 60, 150), ("Trekking Poles", 30, 90), ("Dry Bag", 15, 35)),
    ),
    "footwear": (
        *(("Hiking Boots", 90, 190), ("Canvas Sneakers", 35, 75), ("Rain Boots", 30, 65)),
        *(("Running Shoes", 70, 160), ("Felt Slippers", 18, 40), ("Leather Sandals", 40, 85)),
    ),
    "kitchen": (
        *(("Cast Iron Pan", 35, 90), ("Pour Over Kettle", 40, 95), ("Knife Block", 60, 180)),
        *(("Stand Mixer", 180, 420), ("Mixing Bowls", 20, 50), ("Bread Box", 25, 60)),
    ),
    "toys": (
        *(("Wooden Train", 25, 70), ("Marble Run", 30, 80), ("Plush Bear", 15, 40)),
        *(("Balance Bike", 70, 140), ("Building Blocks", 20, 60), ("Jigsaw Puzzle", 12, 30)),
    ),
    "garden": (
        *(("Pruning Shears", 18, 45), ("Watering Can", 15, 40), ("Patio Chair", 50, 130)),
        *(("Raised Bed", 60, 140), ("Garden Hose", 25, 70), ("Bird Feeder", 14, 35)),
    ),
    "lighting": (
        *(("Desk Lamp", 30, 90), ("Floor Lamp", 70, 180), ("String Lights", 15, 40)),
        *(("Wall Sconce", 35, 95), ("Paper Lantern", 12, 30), ("Reading Light", 14, 35)),
    ),
}
"""What is sold, with the dollars it costs (at least, at most)."""
SHOPS = (
    *("Mill Lane", "Harbor Row", "Market Square", "Station Arcade", "Riverside", "Kings Gate"),
    *("Oak Park", "North Bridge", "Old Foundry", "Lakeside", "West End", "Garden Court"),
    *("Cathedral Walk", "Union Yard", "Beacon Street", "Mason Corner", "Elm Parade", "Quay House"),
)
WAREHOUSES = ("Central Depot", "Ridgeway Depot", "Southfield Depot", "Eastgate Depot")
