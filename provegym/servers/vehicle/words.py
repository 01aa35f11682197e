"""What vehicles, streets and places to drive to are called."""

from __future__ import annotations

from typing import NamedTuple

from provegym.servers.vehicle.state import Energy


class Model(NamedTuple):
    """A make: its energy, its tank or battery and what it uses up a kilometre."""

    name: str
    energy: Energy
    capacity: int
    consumption: int


CARS: dict[Energy, tuple[tuple[str, Model], ...]] = {
    "petrol": (
        ("City Hatch", Model("Minori S", "petrol", 38_000, 49)),
        ("Family SUV", Model("Alpina Trek", "petrol", 55_000, 74)),
        ("Company Sedan", Model("Corvana 1.5", "petrol", 48_000, 58)),
        ("Blue Coupe", Model("Corvana GT", "petrol", 50_000, 71)),
    ),
    "diesel": (
        ("Work Van", Model("Hauler 250", "diesel", 80_000, 92)),
        ("Family Estate", Model("Norden Estate", "diesel", 62_000, 56)),
        ("Red Pickup", Model("Tundra Max", "diesel", 76_000, 101)),
        ("Camper", Model("Hauler Home", "diesel", 90_000, 112)),
        ("Site Truck", Model("Tundra Flatbed", "diesel", 95_000, 124)),
    ),
    "electric": (
        ("Pool Car", Model("Volta E3", "electric", 58_000, 158)),
        ("Weekend Crossover", Model("Lumen Cross", "electric", 77_000, 182)),
        ("Delivery Van", Model("Ampera Cargo", "electric", 68_000, 236)),
        ("Night Shuttle", Model("Ampera Shuttle", "electric", 75_000, 248)),
        ("Guest Car", Model("Volta E1", "electric", 42_000, 143)),
        ("Silver Sedan", Model("Lumen Line", "electric", 84_000, 161)),
    ),
}
"""Nickname and make of each vehicle that a fleet may have."""
ROADSTER = ("Weekend Roadster", Model("Spyder 2.0", "petrol", 45_000, 79))

STREETS = (
    *("Alder Way", "Bridge Street", "Cobalt Road", "Dover Lane", "Elmwood Drive", "Forge Street"),
    *("Granite Road", "Hillside Drive", "Industry Way", "Jubilee Road", "Kiln Lane", "Lake View"),
)
FUEL = (
    *("Northside Fuel", "Highway 9 Fuel Stop", "Blue Flag Fuel", "Crossroads Fuel"),
    *("Lakeview Fuel", "Airport Fuel Center", "Old Mill Fuel", "Summit Fuel", "Bayside Fuel"),
    *("Redwood Fuel",),
)
CHARGING = (
    *("Central Charging Hub", "Market Square Chargers", "Volt Garden", "Station Plaza Chargers"),
    *("Riverside Charge Point", "Campus Chargers", "Mall Charging Deck", "Harbor Charge Point"),
    *("Motorway East Chargers", "Library Charge Point"),
)
GARAGES = ("Miller's Garage", "Precision Auto Care", "Westside Tire Shop", "Quick Lane Garage")
SIGHTS = (
    *("Crystal Lake", "Pine Ridge Lodge", "Old Lighthouse", "Sandy Bay Beach", "Castle Ruins"),
    *("Eagle Canyon", "Hot Springs Resort", "Vineyard Estate", "Ski Village", "Botanic Gardens"),
    *("Zoo Park", "Concert Arena", "Airport Terminal", "Ferry Harbor"),
)
