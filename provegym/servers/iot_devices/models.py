"""The catalogue of device models: what each can do, within which limits, and what it draws."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

Capability = Literal[
    "power",
    "brightness",
    "color_temperature",
    "target_temperature",
    "level",
    "lock",
    "program",
    "child_lock",
]
Kind = Literal[
    "light",
    "plug",
    "thermostat",
    "blind",
    "fan",
    "speaker",
    "lock",
    "washing_machine",
    "dishwasher",
    "oven",
    "robot_vacuum",
]
Climate = Literal["heat", "cool", "auto", "off"]
Program = Literal[
    "eco", "normal", "quick", "delicate", "bake", "grill", "pizza", "whole_home", "spot"
]

WARMEST_WHITE, COLDEST_WHITE = 1000, 10000
"""Kelvin that any lamp could be asked for; a model's own range is narrower."""


class Model(Struct, frozen=True):
    """A model's abilities.

    `range` bounds its temperature in degrees Celsius, or its light in kelvin. `max_level` caps its
    level in percent. `programs` holds minutes by name. `watts` is what it draws at full power.
    `motor` means that a battery moves something heavy, which a low one cannot.
    """

    name: str
    kind: Kind
    capabilities: tuple[Capability, ...]
    watts: int = 0
    battery: bool = False
    motor: bool = False
    range: tuple[int, int] = (0, 0)
    max_level: int = 100
    modes: tuple[Climate, ...] = ()
    programs: tuple[tuple[Program, int], ...] = ()

    @property
    def minutes(self) -> dict[str, int]:
        """How long each program takes."""
        return dict(self.programs)


_CATALOGUE = (
    Model("Lumo Switch", "light", ("power",), 40),
    Model("Lumo Dim", "light", ("power", "brightness"), 12),
    Model(
        "Lumo Ambience", "light", ("power", "brightness", "color_temperature"), 10,
        range=(2200, 6500),
    ),
    Model("PlugOne", "plug", ("power", "child_lock"), 60),
    Model(
        "Heatwise Valve", "thermostat", ("target_temperature", "child_lock"), 0, battery=True,
        motor=True, range=(5, 28), modes=("heat", "off"),
    ),
    Model(
        "Climate Pro", "thermostat", ("target_temperature",), 900, range=(16, 30),
        modes=("heat", "cool", "auto", "off"),
    ),
    Model("Shade Roller", "blind", ("level",), 0, battery=True, motor=True),
    Model("Breeze Tower", "fan", ("power", "level", "child_lock"), 45),
    Model("Tune Mini", "speaker", ("power", "level"), 8),
    Model("Tune Junior", "speaker", ("power", "level", "child_lock"), 6, max_level=60),
    Model("SafeKey Bolt", "lock", ("lock",), 0, battery=True, motor=True),
    Model(
        "Aqua 8", "washing_machine", ("power", "program", "child_lock"), 520,
        programs=(("eco", 200), ("normal", 110), ("quick", 30), ("delicate", 60)),
    ),
    Model(
        "Sparkle 60", "dishwasher", ("power", "program", "child_lock"), 700,
        programs=(("eco", 195), ("normal", 120), ("quick", 35)),
    ),
    Model(
        "Forno S", "oven", ("power", "program", "child_lock"), 2100,
        programs=(("bake", 45), ("grill", 20), ("pizza", 15)),
    ),
    Model(
        "Rover 3", "robot_vacuum", ("power", "program"), 0, battery=True, motor=True,
        programs=(("whole_home", 75), ("spot", 10)),
    ),
)  # fmt: skip

MODELS: dict[str, Model] = {m.name: m for m in _CATALOGUE}
