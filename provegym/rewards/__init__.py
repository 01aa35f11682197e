"""The reward of PROVE section 3.3, one pure function a file."""

from provegym.rewards.presets import PRESETS, Preset, preset
from provegym.rewards.total import score

__all__ = ["PRESETS", "Preset", "preset", "score"]
