"""Presets: the weights, constants and switches of a reward."""

from __future__ import annotations

from math import isfinite
from typing import Any, Final

from msgspec import Struct, structs

from provegym.errors import InputError, UnknownName


class Preset(Struct, frozen=True):
    """How the components are computed and summed.

    `w_*` are the weights, `alpha` and `beta` the efficiency penalty and the share of spare calls.
    The switches: `match_ok`, a match must have executed; `match_turn`, it must be made in the
    ground-truth call's turn or later; `pad_calls`, validity and name are averaged over at least
    as many calls as were needed; `pad_pairs`, argument over all needed calls, not those matched.
    Raises `InputError` for a weight or constant that is negative or not finite.
    """

    name: str
    w_validity: float = 0.5
    w_coverage: float = 0.5
    w_efficiency: float = 0.15
    w_name: float = 0.2
    w_argument: float = 0.1
    w_state: float = 0.0
    alpha: float = 0.5
    beta: float = 0.5
    match_ok: bool = False
    match_turn: bool = False
    pad_calls: bool = False
    pad_pairs: bool = False

    def __post_init__(self) -> None:
        for key in _NUMBERS:
            value = getattr(self, key)
            if not (isfinite(value) and value >= 0):
                raise InputError(f"preset {self.name}: {key} must be 0 or more, not {value}")
        if not self.max_total:
            raise InputError(f"preset {self.name}: at least one weight that rewards must be over 0")

    @property
    def max_total(self) -> float:
        """The largest total: the sum of all weights but efficiency's, which only takes away."""
        return self.w_validity + self.w_coverage + self.w_name + self.w_argument + self.w_state


_SWITCHES: Final = ("match_ok", "match_turn", "pad_calls", "pad_pairs")
_NUMBERS: Final = tuple(f for f in Preset.__struct_fields__ if f not in ("name", *_SWITCHES))

PRESETS: Final[dict[str, Preset]] = {
    "paper": Preset("paper"),
    "strict": Preset(
        "strict",
        w_argument=0.5,
        w_state=0.5,
        match_ok=True,
        match_turn=True,
        pad_calls=True,
        pad_pairs=True,
    ),
    "-validity": Preset("-validity", w_validity=0.0),
    "-coverage": Preset("-coverage", w_coverage=0.0),
    "-efficiency": Preset("-efficiency", w_efficiency=0.0),
    "-name": Preset("-name", w_name=0.0),
    "-argument": Preset("-argument", w_argument=0.0),
    "beta0": Preset("beta0", beta=0.0),
}
"""The paper's reward (section 3.3), ours, and the paper's ablations (its Table 5)."""


def preset(name: str, **overrides: float | bool) -> Preset:
    """The preset `name`, with settings replaced; they may also stand in the name itself.

    `preset("paper", alpha=0.3)` is `preset("paper,alpha=0.3")`, and that is its name. Raises
    `UnknownName` for a preset or setting that does not exist and `InputError` for a bad value.
    """
    base, *settings = name.split(",")
    if base not in PRESETS:
        raise UnknownName("preset", base, list(PRESETS))
    changes: dict[str, Any] = {}
    for text in settings:
        key, _, value = text.partition("=")
        changes[key.strip()] = _parsed(key.strip(), value.strip())
    changes |= {key: _checked(key, value) for key, value in overrides.items()}
    if not changes:
        return PRESETS[base]
    label = ",".join([base, *(f"{key}={_written(value)}" for key, value in changes.items())])
    return structs.replace(PRESETS[base], name=label, **changes)


def _parsed(key: str, text: str) -> float | bool:
    """A setting's value from text: true or false for a switch, else a number."""
    value: float | bool = text == "true"
    if text not in ("true", "false"):
        try:
            value = float(text)
        except ValueError:
            _refuse_unknown(key)
            raise InputError(f"{key} must be {_kind(key)}, not {text!r}") from None
    return _checked(key, value)


def _checked(key: str, value: float | bool) -> float | bool:
    _refuse_unknown(key)
    if isinstance(value, bool) != (key in _SWITCHES):
        raise InputError(f"{key} must be {_kind(key)}, not {_written(value)}")
    return value if isinstance(value, bool) else float(value)


def _refuse_unknown(key: str) -> None:
    if key not in _NUMBERS + _SWITCHES:
        raise UnknownName("preset setting", key, [*_NUMBERS, *_SWITCHES])


def _kind(key: str) -> str:
    return "true or false" if key in _SWITCHES else "a number"


def _written(value: float | bool) -> str:
    return str(value).lower() if isinstance(value, bool) else repr(value)
