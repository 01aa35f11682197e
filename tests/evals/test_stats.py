"""Intervals against values known from elsewhere or worked out by hand."""

from __future__ import annotations

import math

import pytest

from provegym.evals.stats import NOTHING, mean, paired_difference, share


def test_the_wilson_interval_of_eight_in_ten() -> None:
    # z = 1.959964: centre (0.8 + z^2/20) / (1 + z^2/10), half width by Wilson (1927), by hand
    found = share(8, 10)
    assert found.mean == 0.8
    assert found.low == pytest.approx(0.4902, abs=1e-4)
    assert found.high == pytest.approx(0.9433, abs=1e-4)


def test_no_episodes_give_no_number() -> None:
    assert share(0, 0) == NOTHING or math.isnan(share(0, 0).mean)
    assert mean({}).n == 0


def test_trials_of_one_task_count_as_one_task() -> None:
    found = mean({"a": [1, 1, 1, 1], "b": [0]})
    assert (found.mean, found.n) == (0.5, 2)


def test_a_constant_gain_has_an_interval_of_no_width() -> None:
    found = paired_difference({"a": [0.0], "b": [0.5]}, {"a": [0.25], "b": [0.75]})
    assert (found.mean, found.low, found.high) == (0.25, 0.25, 0.25)


def test_tasks_that_only_one_side_has_are_left_out() -> None:
    assert paired_difference({"a": [0.0], "b": [1.0]}, {"a": [1.0]}).n == 1


def test_the_interval_of_many_coin_flips_is_about_two_standard_errors() -> None:
    found = mean({str(i): [i % 2] for i in range(400)})
    assert found.high - found.low == pytest.approx(2 * 1.96 * 0.5 / 20, rel=0.1)


def test_the_same_seed_gives_the_same_interval() -> None:
    data = {str(i): [i % 7] for i in range(50)}
    assert mean(data, seed=3) == mean(data, seed=3) != mean(data, seed=4)
