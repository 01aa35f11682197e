"""The words that a marketplace's listings are made of."""

from __future__ import annotations

from provegym.servers.marketplace.state import Category, Reason

THINGS: dict[Category, tuple[tuple[str, int, int], ...]] = {
    "music": (
        *(("Acoustic Guitar", 120, 480), ("Violin", 150, 600), ("Snare Drum", 60, 220)),
        *(("Record Player", 80, 300), ("Keyboard Piano", 110, 450), ("Ukulele", 30, 110)),
    ),
    "cameras": (
        *(("Film Camera", 60, 320), ("Camera Lens", 90, 500), ("Tripod", 25, 120)),
        *(("Instant Camera", 40, 130), ("Camera Bag", 20, 90), ("Slide Projector", 35, 160)),
    ),
    "furniture": (
        *(("Writing Desk", 90, 380), ("Armchair", 70, 350), ("Bookshelf", 45, 190)),
        *(("Coffee Table", 50, 240), ("Floor Lamp", 25, 140), ("Bar Stool", 20, 95)),
    ),
    "bicycles": (
        *(("Road Bike", 220, 900), ("City Bike", 120, 420), ("Bike Trailer", 60, 230)),
        *(("Folding Bike", 180, 640), ("Bike Helmet", 15, 80), ("Cargo Rack", 20, 85)),
    ),
    "books": (
        *(("Atlas", 15, 90), ("Cookbook Set", 20, 80), ("Poetry Collection", 12, 60)),
        *(("Encyclopedia", 40, 180), ("Comic Album", 10, 75), ("Travel Guide Box", 18, 65)),
    ),
    "games": (
        *(("Chess Set", 20, 160), ("Board Game", 15, 75), ("Game Console", 90, 380)),
        *(("Puzzle Box", 10, 45), ("Arcade Stick", 40, 170), ("Card Deck", 8, 40)),
    ),
    "tools": (
        *(("Power Drill", 35, 160), ("Workbench", 70, 260), ("Hand Plane", 25, 140)),
        *(("Tool Chest", 50, 220), ("Table Saw", 120, 480), ("Soldering Iron", 20, 95)),
    ),
    "art": (
        *(("Oil Painting", 80, 650), ("Bronze Figure", 60, 420), ("Framed Print", 20, 130)),
        *(("Ceramic Vase", 25, 180), ("Easel", 30, 120), ("Wall Mirror", 35, 210)),
    ),
}
"""What is sold, with the dollars it goes for (at least, at most)."""
STYLES = (
    *("Vintage", "Walnut", "Compact", "Classic", "Red", "Blue", "Handmade", "Italian", "Black"),
    *("Retro", "Silver", "Green", "Travel", "Antique", "White", "Danish", "Large", "Small"),
)
MESSAGES = (
    *("I can pick it up", "paying today", "is it still there", "for my daughter"),
    *("happy to pay at once", "would love to have it", "cash if you like", "final offer"),
)
DETAILS: dict[Reason, tuple[str, ...]] = {
    "missing": ("nothing came so far", "tracking has not moved"),
    "damaged": ("cracked on one side", "broken in transit"),
    "mismatched": ("smaller than stated", "another colour"),
    "counterfeit": ("the logo is wrong", "a plain copy"),
}
COMMENTS: dict[int, tuple[str, ...]] = {
    1: ("Never answered me", "Not what I bought"),
    2: ("Slow and badly packed", "More worn than stated"),
    3: ("Fine in the end", "Took its time"),
    4: ("Good contact", "Well packed"),
    5: ("Perfect deal", "Fast and friendly", "Even better than the photos"),
}
