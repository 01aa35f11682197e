"""The settings of a run: one TOML file, checked whole before anything starts.

This is the only place where defaults live; they are the paper's (arXiv 2606.03892, sections 3.2,
3.3 and 4) wherever it gives a number, and marked *ours* where it does not.
"""

from provegym.config.checking import changed, changed_run, checked, load, parse
from provegym.config.run import Policy, Run, RunConfig
from provegym.config.section import AtOnce, endpoint_url
from provegym.config.synthesis import (
    Edges,
    Engine,
    Information,
    Mix,
    Perturb,
    Style,
    Synth,
)
from provegym.config.teacher import Preset, Prices, Teacher, preset, presets
from provegym.config.toml import told
from provegym.config.training import Eval, Grpo, Sft

__all__ = [
    "AtOnce",
    "Edges",
    "Engine",
    "Eval",
    "Grpo",
    "Information",
    "Mix",
    "Perturb",
    "Policy",
    "Preset",
    "Prices",
    "Run",
    "RunConfig",
    "Sft",
    "Style",
    "Synth",
    "Teacher",
    "changed",
    "changed_run",
    "checked",
    "endpoint_url",
    "load",
    "parse",
    "preset",
    "presets",
    "told",
]
