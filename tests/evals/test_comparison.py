"""Paired tests and their correction, against values worked out by hand."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from provegym.evals.comparison import Comparison, compare, holm, paired_p
from provegym.evals.stats import NOTHING


def test_single_trials_give_mcnemars_exact_test() -> None:
    # By hand: of ten tasks that changed nine got better; 2 x (C(10,0) + C(10,1)) / 2^10 = 22/1024.
    assert paired_p([1.0] * 9 + [-1.0] + [0.0] * 50) == pytest.approx(22 / 1024)


def test_gains_of_many_sizes_are_tested_by_all_flips_of_their_signs() -> None:
    # By hand: they sum to 2.25 of 2.75. So far from 0 comes a flip of nothing or of one 0.25:
    # 3 of 32 ways, and as many on the other side.
    assert paired_p([0.5, 0.25, -0.25, 1.0, 0.75]) == pytest.approx(6 / 32)


def test_where_nothing_moved_there_is_no_difference() -> None:
    assert paired_p([]) == paired_p([0.0, 0.0]) == 1


def test_holm_steps_down_and_never_falls() -> None:
    # By hand: 4 x 0.005, 3 x 0.01, 2 x 0.03, and 0.04 raised to the one before it.
    found = holm({"a": 0.01, "b": 0.04, "c": 0.03, "d": 0.005})
    assert found == pytest.approx({"a": 0.03, "b": 0.06, "c": 0.06, "d": 0.02})
    assert list(found) == ["a", "b", "c", "d"]
    assert holm({}) == {}


@given(st.dictionaries(st.text(max_size=2), st.floats(0, 1), max_size=8))
def test_a_corrected_value_is_never_below_the_plain_one_nor_above_bonferronis(
    p: dict[str, float],
) -> None:
    for name, value in holm(p).items():
        assert p[name] <= value <= min(1, p[name] * len(p)) + 1e-12


def test_of_true_nulls_one_in_twenty_is_called_a_difference() -> None:
    rng = np.random.default_rng(4)
    ups = rng.binomial(101, 0.5, 2_000).tolist()
    found = {up: paired_p([1.0] * up + [-1.0] * (101 - up)) <= 0.05 for up in set(ups)}
    assert (
        0.03 <= sum(found[up] for up in ups) / len(ups) <= 0.06
    )  # the exact test is a little shy: 101 signs come in steps


def test_cells_are_corrected_together_and_need_a_common_task() -> None:
    before = {str(i): [0.0] for i in range(10)}
    after = {name: [1.0] for name in before}
    found = compare({"all": (before, after), "none": (before, before), "other": (before, {})})
    assert found.keys() == {"all", "none"}
    assert found["all"].p == pytest.approx(2 / 1024)
    assert found["all"].holm == pytest.approx(4 / 1024)
    assert found["all"].differs
    assert not found["none"].differs
    assert (found["all"].gain.mean, found["all"].gain.n) == (1, 10)


def test_a_difference_at_the_very_limit_counts() -> None:
    assert Comparison(NOTHING, 0.01, 0.05).differs
    assert not Comparison(NOTHING, 0.01, 0.0500001).differs
