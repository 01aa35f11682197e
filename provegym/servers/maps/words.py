"""What streets, districts and places are called."""

from __future__ import annotations

from typing import NamedTuple

ROWS = (
    *("Maple Street", "Mill Lane", "Chapel Street", "Orchard Road", "Canal Street", "Bell Lane"),
    *("Weaver Street", "Tanner Street", "Juniper Road", "Copper Lane", "Linden Street"),
)
COLUMNS = (
    *("First Avenue", "Station Road", "Park Avenue", "Castle Avenue", "Bishop Avenue"),
    *("Harbor Avenue", "College Avenue", "Garden Avenue", "Foundry Avenue", "Summit Avenue"),
)
AREAS = (
    *("Old Town", "Riverside", "Northgate", "Market Quarter", "University Hill", "Docklands"),
    *("Garden District", "Westbrook", "Eastfield", "Silk Quarter", "Kingsway", "Brewery Yard"),
)
ISLAND, HILL, SERVICES = "Heron Island", "Lookout Hill", "Southgate Services"

FIRST = (
    *("Amber", "Blue Door", "Cedar", "Crown", "Daisy", "Eagle", "Fern", "Golden", "Hazel"),
    *("Indigo", "Ivory", "Jasmine", "Kestrel", "Lantern", "Lark", "Magnolia", "Marigold"),
    *("Nightingale", "Olive", "Opal", "Pearl", "Quince", "Raven", "Rosewood", "Saffron"),
    *("Silver", "Sparrow", "Sunrise", "Thistle", "Topaz", "Velvet", "Violet", "Walnut"),
    *("Willow", "Windmill", "Anchor", "Beacon", "Birch", "Clover", "Falcon"),
)


class Kind(NamedTuple):
    """A category: how many places it has, what they end in, and when they open and close."""

    name: str
    places: int
    nouns: tuple[str, ...]
    hours: tuple[tuple[str, str], ...]


_ALWAYS = (("", ""),)
_SHOP = (("08:00", "20:00"), ("09:00", "18:00"), ("07:00", "22:00"))
KINDS = (
    Kind(
        "Cafes", 12, ("Cafe", "Coffee House", "Tea Room"), (("07:00", "17:00"), ("08:00", "19:00"))
    ),
    Kind(
        "Restaurants", 14, ("Kitchen", "Bistro", "Grill"), (("11:30", "22:00"), ("17:00", "23:00"))
    ),
    Kind("Bars", 8, ("Bar", "Taproom", "Tavern"), (("17:00", "02:00"), ("16:00", "00:30"))),
    Kind("Bakeries", 7, ("Bakery", "Patisserie"), (("06:30", "15:00"), ("07:00", "18:00"))),
    Kind("Supermarkets", 8, ("Market", "Foods"), (("07:00", "22:00"), ("08:00", "21:00"))),
    Kind("Pharmacies", 7, ("Pharmacy",), (*_SHOP, ("", ""))),
    Kind("Hotels", 8, ("Hotel", "Inn"), _ALWAYS),
    Kind("Museums", 6, ("Museum", "Gallery"), (("10:00", "17:00"), ("10:00", "20:00"))),
    Kind("Parks", 6, ("Park", "Gardens"), (("", ""), ("06:00", "21:00"))),
    Kind("Gyms", 6, ("Gym", "Fitness"), (("06:00", "22:00"), ("", ""))),
    Kind("Cinemas", 4, ("Cinema",), (("12:00", "23:30"), ("10:00", "00:30"))),
    Kind("Libraries", 4, ("Library", "Reading Room"), (("09:00", "18:00"), ("10:00", "20:00"))),
    Kind("Bookshops", 5, ("Books",), _SHOP),
    Kind("Fuel stations", 5, ("Fuel",), (("", ""), ("06:00", "23:00"))),
    Kind("Car parks", 6, ("Car Park",), _ALWAYS),
    Kind("Clinics", 5, ("Clinic", "Dental Practice"), (("08:00", "18:00"), ("09:00", "17:00"))),
)
OFFICES, ADDRESSES = "Offices", "Homes"
OFFICE_HOURS = (("08:00", "18:00"), ("09:00", "17:30"))

SPECIAL = (
    (ISLAND, "Heron Island Lighthouse", "Museums"),
    (ISLAND, "Pier House Hotel", "Hotels"),
    (ISLAND, "Ferryman's Rest", "Bars"),
    (ISLAND, "Seal Bay Gardens", "Parks"),
    (HILL, "Lookout Tower", "Museums"),
    (HILL, "Summit Hut Cafe", "Cafes"),
    (HILL, "Pine Hollow Park", "Parks"),
    (SERVICES, "Southgate Fuel Plaza", "Fuel stations"),
    (SERVICES, "Southgate Diner", "Restaurants"),
)
"""Places off the street grid: their area, name and category."""

NICKNAMES = (
    *("Date Night", "Sunday Brunch", "Lunch Break", "Book Club", "Quiet Corner", "Team Drinks"),
    *("Weekly Shop", "Rainy Day", "Meeting Point", "Client Dinner", "Morning Stop"),
)
ROUTE_NAMES = (
    *("School Run", "Sunday Ride", "Evening Walk", "Shopping Trip", "Airport Pickup", "Gym Loop"),
    *("Scenic Way", "Delivery Round", "Visit Grandma", "Lunch Walk", "Late Shift", "Market Day"),
)
