"""What stands where in the homes of the seed, and how its routines are built."""

from __future__ import annotations

from provegym.servers.iot_devices.models import Capability
from provegym.servers.iot_devices.state import Action, Days, Floor, SensorKind

HOUSES = ("Maple House", "Oak House", "Hillside House", "Garden House", "Corner House")
RETREATS = ("Lakeside Cabin", "Forest Cabin", "Beach Cottage", "Mountain Lodge", "Valley Cottage")

Rooms = tuple[tuple[str, Floor], ...]
MAIN_ROOMS: Rooms = (
    ("Living Room", "ground"),
    ("Kitchen", "ground"),
    ("Hallway", "ground"),
    ("Dining Room", "ground"),
    ("Bedroom", "upper"),
    ("Kids Room", "upper"),
    ("Bathroom", "upper"),
    ("Office", "upper"),
    ("Laundry Room", "basement"),
    ("Garage", "outdoor"),
    ("Patio", "outdoor"),
)
RETREAT_ROOMS: Rooms = (
    ("Retreat Lounge", "ground"),
    ("Retreat Kitchen", "ground"),
    ("Retreat Bedroom", "upper"),
    ("Retreat Porch", "outdoor"),
)
"""In the seed, "Retreat" becomes the last word of the second home's name."""

DEVICES: tuple[tuple[str, str, str], ...] = (
    ("Living Room", "ceiling light", "Lumo Ambience"),
    ("Living Room", "floor lamp", "Lumo Dim"),
    ("Living Room", "blind", "Shade Roller"),
    ("Living Room", "speaker", "Tune Mini"),
    ("Living Room", "TV plug", "PlugOne"),
    ("Living Room", "thermostat", "Climate Pro"),
    ("Living Room", "robot vacuum", "Rover 3"),
    ("Kitchen", "ceiling light", "Lumo Dim"),
    ("Kitchen", "counter light", "Lumo Switch"),
    ("Kitchen", "dishwasher", "Sparkle 60"),
    ("Kitchen", "oven", "Forno S"),
    ("Kitchen", "coffee plug", "PlugOne"),
    ("Kitchen", "blind", "Shade Roller"),
    ("Hallway", "light", "Lumo Dim"),
    ("Hallway", "front door lock", "SafeKey Bolt"),
    ("Dining Room", "pendant light", "Lumo Ambience"),
    ("Dining Room", "radiator", "Heatwise Valve"),
    ("Bedroom", "ceiling light", "Lumo Dim"),
    ("Bedroom", "reading lamp", "Lumo Ambience"),
    ("Bedroom", "blind", "Shade Roller"),
    ("Bedroom", "fan", "Breeze Tower"),
    ("Bedroom", "radiator", "Heatwise Valve"),
    ("Bedroom", "robot vacuum", "Rover 3"),
    ("Kids Room", "night light", "Lumo Ambience"),
    ("Kids Room", "speaker", "Tune Junior"),
    ("Kids Room", "fan", "Breeze Tower"),
    ("Kids Room", "radiator", "Heatwise Valve"),
    ("Bathroom", "mirror light", "Lumo Dim"),
    ("Bathroom", "heater plug", "PlugOne"),
    ("Bathroom", "radiator", "Heatwise Valve"),
    ("Office", "desk lamp", "Lumo Ambience"),
    ("Office", "computer plug", "PlugOne"),
    ("Office", "blind", "Shade Roller"),
    ("Office", "speaker", "Tune Mini"),
    ("Office", "fan", "Breeze Tower"),
    ("Laundry Room", "washing machine", "Aqua 8"),
    ("Laundry Room", "light", "Lumo Switch"),
    ("Garage", "light", "Lumo Switch"),
    ("Garage", "door lock", "SafeKey Bolt"),
    ("Garage", "charger plug", "PlugOne"),
    ("Patio", "string lights", "Lumo Switch"),
    ("Patio", "door lock", "SafeKey Bolt"),
    ("Retreat Lounge", "lamp", "Lumo Ambience"),
    ("Retreat Lounge", "thermostat", "Climate Pro"),
    ("Retreat Lounge", "blind", "Shade Roller"),
    ("Retreat Kitchen", "light", "Lumo Dim"),
    ("Retreat Kitchen", "dishwasher", "Sparkle 60"),
    ("Retreat Bedroom", "lamp", "Lumo Dim"),
    ("Retreat Bedroom", "radiator", "Heatwise Valve"),
    ("Retreat Porch", "door lock", "SafeKey Bolt"),
    ("Retreat Porch", "light", "Lumo Switch"),
)
NEW_DEVICES = ("Lumo Ambience", "Lumo Dim", "PlugOne", "Breeze Tower")
"""Models that wait to be set up."""

SENSORS: tuple[tuple[str, str, SensorKind, float, float], ...] = (
    ("Living Room", "thermometer", "temperature", 20.5, 1.5),
    ("Kitchen", "thermometer", "temperature", 20.0, 2.0),
    ("Bedroom", "thermometer", "temperature", 18.5, 1.5),
    ("Kids Room", "thermometer", "temperature", 19.5, 1.5),
    ("Office", "thermometer", "temperature", 21.0, 2.5),
    ("Laundry Room", "thermometer", "temperature", 15.5, 1.0),
    ("Patio", "thermometer", "temperature", 12.0, 6.0),
    ("Retreat Lounge", "thermometer", "temperature", 16.5, 3.0),
    ("Bathroom", "humidity sensor", "humidity", 58, -7),
    ("Bedroom", "humidity sensor", "humidity", 47, -4),
    ("Laundry Room", "humidity sensor", "humidity", 63, -5),
    ("Office", "air monitor", "air_quality", 720, 220),
    ("Kids Room", "air monitor", "air_quality", 680, -150),
    ("Patio", "light sensor", "light_level", 320, 330),
    ("Living Room", "light sensor", "light_level", 180, 190),
    ("Hallway", "front door sensor", "contact", 0.08, 0),
    ("Patio", "door sensor", "contact", 0.12, 0),
    ("Garage", "door sensor", "contact", 0.1, 0),
    ("Kitchen", "window sensor", "contact", 0.14, 0),
    ("Bedroom", "window sensor", "contact", 0.12, 0),
    ("Retreat Porch", "door sensor", "contact", 0.1, 0),
    ("Hallway", "motion sensor", "motion", 0.4, 0),
    ("Patio", "motion sensor", "motion", 0.2, 0),
    ("Garage", "motion sensor", "motion", 0.15, 0),
    ("Laundry Room", "leak sensor", "water_leak", 0.02, 0),
    ("Kitchen", "leak sensor", "water_leak", 0.02, 0),
    ("Kitchen", "smoke detector", "smoke", 0.01, 0),
    ("Retreat Kitchen", "smoke detector", "smoke", 0.01, 0),
)
"""Room, noun, kind, base and swing; see `sensing.value_at`."""
GUARDED = {
    "Hallway front door sensor": "Hallway front door lock",
    "Patio door sensor": "Patio door lock",
    "Garage door sensor": "Garage door lock",
    "Retreat Porch door sensor": "Retreat Porch door lock",
}
"""Which lock's door a contact sensor watches."""

SCENES: tuple[tuple[str, tuple[tuple[str, Capability, float], ...]], ...] = (
    (
        "Movie night",
        (
            ("Living Room ceiling light", "brightness", 20),
            ("Living Room floor lamp", "power", 0),
            ("Living Room blind", "level", 0),
            ("Living Room speaker", "level", 40),
        ),
    ),
    (
        "Good night",
        (
            ("Hallway front door lock", "lock", 1),
            ("Kitchen ceiling light", "power", 0),
            ("Bedroom radiator", "target_temperature", 17),
            ("Bedroom reading lamp", "brightness", 10),
        ),
    ),
    (
        "Good morning",
        (
            ("Kitchen ceiling light", "brightness", 90),
            ("Bedroom blind", "level", 100),
            ("Living Room thermostat", "target_temperature", 21),
        ),
    ),
    (
        "Dinner",
        (
            ("Dining Room pendant light", "brightness", 60),
            ("Dining Room pendant light", "color_temperature", 2700),
            ("Kitchen counter light", "power", 0),
        ),
    ),
    (
        "Deep work",
        (
            ("Office desk lamp", "brightness", 90),
            ("Office desk lamp", "color_temperature", 5000),
            ("Office blind", "level", 60),
        ),
    ),
    (
        "Bedtime story",
        (
            ("Kids Room night light", "brightness", 15),
            ("Kids Room speaker", "level", 20),
        ),
    ),
    (
        "Fresh air",
        (
            ("Office fan", "level", 50),
            ("Bedroom fan", "level", 40),
            ("Bedroom radiator", "target_temperature", 16),
        ),
    ),
    (
        "Leaving",
        (
            ("Hallway light", "power", 0),
            ("Living Room floor lamp", "power", 0),
            ("Office computer plug", "power", 0),
            ("Patio door lock", "lock", 1),
        ),
    ),
    (
        "Welcome home",
        (
            ("Hallway light", "brightness", 80),
            ("Living Room floor lamp", "brightness", 50),
        ),
    ),
    ("Garden evening", (("Patio string lights", "power", 1), ("Garage light", "power", 1))),
    (
        "Warm arrival",
        (
            ("Retreat Lounge lamp", "brightness", 70),
            ("Retreat Lounge thermostat", "target_temperature", 21),
            ("Retreat Porch light", "power", 1),
        ),
    ),
    (
        "Closing up",
        (
            ("Retreat Lounge blind", "level", 0),
            ("Retreat Lounge thermostat", "target_temperature", 16),
            ("Retreat Porch door lock", "lock", 1),
        ),
    ),
    (
        "Quiet evening",
        (
            ("Retreat Lounge lamp", "brightness", 30),
            ("Retreat Kitchen light", "power", 0),
            ("Retreat Bedroom lamp", "brightness", 25),
        ),
    ),
)
AUTOMATIONS: tuple[tuple[str, str, str, float, str], ...] = (
    ("Lights out when away", "main", "away", 0, "Leaving"),
    ("Night routine", "main", "night", 0, "Good night"),
    ("Holiday shutdown", "main", "vacation", 0, "Leaving"),
    ("Film time", "Living Room TV plug", "on", 0, "Movie night"),
    ("Door greeting", "Hallway front door lock", "unlocked", 0, "Welcome home"),
    ("Coffee wakes the house", "Kitchen coffee plug", "on", 0, "Good morning"),
    ("Dusk lights", "Patio light sensor", "below", 90, "Garden evening"),
    ("Cool the bedroom", "Bedroom thermometer", "above", 20, "Fresh air"),
    ("Air the office", "Office air monitor", "above", 900, "Fresh air"),
    ("Hallway glow", "Hallway motion sensor", "active", 0, "Welcome home"),
    ("Visitor at the patio", "Patio motion sensor", "active", 0, "Garden evening"),
    ("Retreat awakes", "retreat", "home", 0, "Warm arrival"),
    ("Retreat frost guard", "Retreat Lounge thermometer", "below", 15, "Warm arrival"),
    ("Retreat door shut", "Retreat Porch door lock", "locked", 0, "Closing up"),
)
"""Name, what is watched (a home by its role), event, threshold and scene."""
SCHEDULES: tuple[tuple[str, str, Days, Action], ...] = (
    ("Patio string lights", "19:30", "daily", "on"),
    ("Patio string lights", "23:00", "daily", "off"),
    ("Kitchen coffee plug", "06:30", "weekdays", "on"),
    ("Kitchen coffee plug", "08:00", "weekends", "on"),
    ("Bedroom blind", "07:00", "weekdays", "open"),
    ("Bedroom blind", "21:30", "daily", "close"),
    ("Hallway front door lock", "22:45", "daily", "lock"),
    ("Kids Room speaker", "20:00", "daily", "off"),
    ("Bathroom heater plug", "06:15", "weekdays", "on"),
    ("Bathroom heater plug", "07:45", "weekdays", "off"),
    ("Office desk lamp", "18:30", "weekdays", "off"),
    ("Retreat Porch light", "18:00", "weekends", "on"),
    ("Retreat Porch door lock", "22:00", "daily", "lock"),
)
NAMES = (
    "Corner lamp",
    "Guest fan",
    "Study plug",
    "Window lamp",
    "Aquarium plug",
    "Shelf light",
    "Piano lamp",
    "Plant light",
)
"""Names that people give to devices."""
SCENE_NAMES = ("Game evening", "Slow Sunday", "Guests tonight", "Yoga hour", "Homework", "Siesta")
AUTOMATION_NAMES = ("Cosy corner", "Early bird", "Guard duty", "Energy saver", "Rainy mood")
