"""Verdicts on the paper's claims."""

from __future__ import annotations

import pytest

from provegym.ablation import claims
from provegym.ablation.cells import BASE, RECIPES
from provegym.ablation.claims import Claim
from provegym.ablation.compare import Difference
from provegym.evals.stats import Estimate
from provegym.rewards.presets import PRESETS

UP = Claim("More", "table 1", "tiny", "-name", "full", "coverage", 1)
SAME = Claim("As much", "table 1", "tiny", "-name", "full", "coverage", 0)


def seen(
    low: float, high: float, holm: float, edge: str = "", seeds: int = 5
) -> dict[str, Difference]:
    gain = Estimate((low + high) / 2, low, high, 9)
    return {UP.key: Difference(gain, seeds, holm, holm, edge)}


@pytest.mark.parametrize(
    ("found", "verdict", "why"),
    [
        (seen(0.1, 0.3, 0.01), "supported", "difference +0.200 [+0.100, +0.300]"),
        (seen(-0.3, -0.1, 0.01), "not supported", "the other way"),
        (seen(0.0, 0.2, 0.2), "not supported", "none that holds after correction"),
        (seen(0.0, 0.0, 0.01, "floor"), "not testable at this size", "both are at the floor"),
        (seen(0.1, 0.3, 0.01, seeds=1), "not testable at this size", "of one seed alone"),
        ({}, "not testable at this size", "were not both trained with tiny"),
    ],
)
def test_a_claim_of_more_needs_a_difference_that_holds(
    found: dict[str, Difference], verdict: str, why: str
) -> None:
    told, reason = claims.verdict(UP, found)
    assert told == verdict
    assert why in reason


@pytest.mark.parametrize(
    ("found", "verdict"),
    [
        (seen(-0.04, 0.05, 0.9), "supported"),
        (seen(-0.04, 0.2, 0.9), "not testable at this size"),
        (seen(0.1, 0.2, 0.01), "not supported"),
    ],
)
def test_a_claim_of_no_difference_needs_a_narrow_interval(
    found: dict[str, Difference], verdict: str
) -> None:
    assert claims.verdict(SAME, found)[0] == verdict


def test_success_of_the_two_layer_policy_decides_nothing() -> None:
    claim = Claim("Better", "table 3", "tiny", "full", BASE, "success", 1)
    assert claims.verdict(claim, {claim.key: seen(0.1, 0.3, 0.01)[UP.key]}) == (
        "not testable at this size",
        "tiny is not judged by success",
    )


def test_every_claim_is_about_cells_and_every_cell_has_its_reward() -> None:
    known = {BASE, *RECIPES}
    assert all({claim.cell, claim.against} <= known for claim in claims.CLAIMS)
    assert {recipe.preset for recipe in RECIPES.values()} == PRESETS.keys()
    for name in ("validity", "coverage", "efficiency", "name", "argument"):
        # The paper's reward with one weight 0 and the others as they are (its table 5).
        assert getattr(PRESETS[f"-{name}"], f"w_{name}") == 0
        rest = {"name", f"w_{name}"}
        assert all(
            getattr(PRESETS[f"-{name}"], key) == getattr(PRESETS["paper"], key)
            for key in PRESETS["paper"].__struct_fields__
            if key not in rest
        )
