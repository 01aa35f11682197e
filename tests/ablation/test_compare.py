"""Differences over seeds and tasks, on numbers that are worked out by hand."""

from __future__ import annotations

import pytest

from provegym.ablation import compare
from provegym.ablation.compare import Difference
from provegym.evals.stats import NOTHING, Estimate

BASE = {1: {"a": 0.0, "b": 1.0}, 2: {"a": 0.5, "b": 0.5}}
CELL = {1: {"a": 1.0, "b": 1.0}, 2: {"a": 0.5, "b": 1.0}}


def test_a_mean_is_over_all_seeds_and_tasks() -> None:
    found = compare.mean(BASE)
    assert found.mean == 0.5  # (0 + 1 + 0.5 + 0.5) / 4
    assert found.n == 2
    # One of 16 draws is seed 1 twice and task a twice, or task b twice: more than 2.5 % each.
    assert (found.low, found.high) == (0.0, 1.0)


def test_a_difference_is_paired_by_task_and_seed() -> None:
    found = compare.difference(BASE, CELL, share=True)
    assert found.gain.mean == 0.375  # (1 + 0 + 0 + 0.5) / 4
    assert found.seeds == 2
    assert found.gain.low <= 0.375 <= found.gain.high


def test_what_is_the_same_everywhere_has_no_interval() -> None:
    shifted = {seed: {t: v + 2 for t, v in row.items()} for seed, row in BASE.items()}
    found = compare.difference(BASE, shifted, share=False)
    assert (found.gain.low, found.gain.mean, found.gain.high) == (2.0, 2.0, 2.0)
    assert found.p == pytest.approx(2 / 10_001)
    same = compare.difference(BASE, BASE, share=False)
    assert (same.gain.low, same.gain.high, same.p) == (0.0, 0.0, 1.0)


def test_a_difference_of_one_task_in_many_is_no_sure_one() -> None:
    base = {1: {str(i): 0.0 for i in range(40)}}
    cell = {1: {str(i): float(i == 0) for i in range(40)}}
    found = compare.difference(base, cell, share=False)
    assert found.gain.mean == 0.025
    assert found.gain.low == 0.0
    # The one task is drawn by no replicate of (39/40)^40 = 0.363 of all.
    assert found.p == pytest.approx(2 * 0.363, abs=0.03)


def test_seeds_are_drawn_too_so_that_one_odd_seed_widens_the_interval() -> None:
    tasks = [str(i) for i in range(200)]
    base = {seed: dict.fromkeys(tasks, 0.0) for seed in (1, 2)}
    cell = {1: dict.fromkeys(tasks, 1.0), 2: dict.fromkeys(tasks, 0.0)}
    found = compare.difference(base, cell, share=False)
    assert (found.gain.low, found.gain.mean, found.gain.high) == (0.0, 0.5, 1.0)
    # Both draws are the seed without a difference with chance 1/4.
    assert found.p == pytest.approx(0.5, abs=0.03)


def test_only_seeds_and_tasks_that_both_have_are_compared() -> None:
    other = {2: {"a": 1.0, "c": 9.0}, 3: {"a": 5.0}}
    found = compare.difference(BASE, other, share=True)
    assert (found.seeds, found.gain.n, found.gain.mean) == (1, 1, 0.5)
    assert not compare.difference(BASE, {3: {"a": 5.0}}, share=True).testable


@pytest.mark.parametrize(
    ("values", "edge"), [((0.0, 0.02), "floor"), ((0.98, 1.0), "ceiling"), ((0.0, 1.0), "")]
)
def test_shares_that_are_both_at_an_edge_tell_nothing(
    values: tuple[float, float], edge: str
) -> None:
    first, second = ({1: {"a": value}} for value in values)
    found = compare.difference(first, second, share=True)
    assert found.at_edge == edge
    assert found.testable == (not edge)
    assert not compare.difference(first, second, share=False).at_edge


def test_holm_counts_what_can_be_tested() -> None:
    gain = Estimate(0.1, 0.0, 0.2, 4)
    found = compare.corrected(
        {
            "a": Difference(gain, 2, 0.01),
            "b": Difference(gain, 2, 0.04),
            "c": Difference(gain, 2, 0.001, at_edge="floor"),
            "d": Difference(NOTHING, 0, 1.0),
        }
    )
    # Two can be tested: 0.01 * 2 and 0.04 * 1.
    assert (found["a"].holm, found["b"].holm) == (0.02, 0.04)
    assert [name for name, d in found.items() if d.differs] == ["a", "b"]
