"""Intervals against values known from elsewhere or worked out by hand."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np
import pytest

from provegym.evals import stats
from provegym.evals.stats import (
    NOTHING,
    Estimate,
    mean,
    paired_difference,
    pass_hat,
    pass_hats,
    rate,
    share,
)


def test_the_wilson_interval_of_eight_in_ten() -> None:
    # z = 1.959964: centre (0.8 + z^2/20) / (1 + z^2/10), half width by Wilson (1927), by hand
    found = share(8, 10)
    assert found.mean == 0.8
    assert found.low == pytest.approx(0.4902, abs=1e-4)
    assert found.high == pytest.approx(0.9433, abs=1e-4)


def test_nothing_is_shown_with_a_sign() -> None:
    assert str(Estimate(-0.0001, -0.0004, 0.0, 8)) == "0.000 [0.000, 0.000]"


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


# -- pass^k ------------------------------------------------------------------------------------


def test_pass_hat_k_is_the_chance_that_k_trials_all_succeed() -> None:
    # By hand: of 4 trials with 3 successes C(3,2)/C(4,2) = 3/6, with 1 none, with 4 all.
    trials = {"a": [1.0, 1, 0, 1], "b": [0.0, 0, 1, 0], "c": [1.0, 1, 1, 1]}
    assert pass_hat(trials, 1).mean == pytest.approx((0.75 + 0.25 + 1) / 3)
    assert pass_hat(trials, 2).mean == pytest.approx((0.5 + 0 + 1) / 3)
    assert pass_hat(trials, 4).mean == pytest.approx(1 / 3)


def test_pass_hat_k_is_told_as_far_as_every_task_has_trials() -> None:
    trials = {"a": [1.0, 0, 1], "b": [1.0, 1]}
    assert pass_hats(trials).keys() == {1, 2}
    assert pass_hats({}) == {}


def test_tasks_that_came_out_alike_are_no_certainty() -> None:
    # By hand: after 0 of 10 the upper Wilson end is z^2 / (10 + z^2) = 3.8415 / 13.8415.
    found = rate({str(i): [0.0, 0.0] for i in range(10)})
    assert (found.mean, found.low) == (0, 0)
    assert found.high == pytest.approx(0.27753, abs=1e-5)
    assert rate({"a": [1.0, 0.0], "b": [1.0]}) == mean({"a": [1.0, 0.0], "b": [1.0]})
    assert rate({}).n == 0


# -- standard errors -----------------------------------------------------------------------------


def test_the_standard_error_is_clustered_by_task() -> None:
    # By hand: task means 1, 0, 1, 0; their variance is 4 x 0.25 / 3, over 4 tasks 1/12.
    by_task = {"a": [1.0] * 9, "b": [0.0] * 9, "c": [1.0] * 9, "d": [0.0] * 9}
    assert mean(by_task).se == pytest.approx(math.sqrt(1 / 12))
    assert share(50, 200).se == pytest.approx(math.sqrt(0.25 * 0.75 / 200))
    assert mean({"a": [1.0, 0.0]}).se is None


def test_the_interval_of_few_normal_values_is_as_wide_as_a_t_interval() -> None:
    # Mean 0 and variance 2.5 by hand; t of 4 degrees of freedom is 2.776 at 97.5 %. What five
    # values can show by resampling ends short of it, yet far beyond the plain 1.96 x 0.632.
    found = mean({str(i): [float(v)] for i, v in enumerate((-2, -1, 0, 1, 2))})
    assert 1.5 <= found.high <= 2.776 * math.sqrt(2.5 / 5) + 0.05
    assert found.high == -found.low


# -- simulation ----------------------------------------------------------------------------------

EXPERIMENTS = 2_000


def coverage(found: Iterable[tuple[Estimate, float]]) -> float:
    """The share of experiments whose interval holds the truth."""
    held = [estimate.low <= truth <= estimate.high for estimate, truth in found]
    assert len(held) == EXPERIMENTS
    return sum(held) / len(held)


def chances(rng: np.random.Generator, tasks: int | tuple[int, int]) -> Any:
    """How likely each of some tasks is solved: 0.4 in the mean, far apart."""
    return rng.beta(1.0, 1.5, tasks)


def played(rng: np.random.Generator, chance: Any, trials: int) -> dict[str, list[float]]:
    rolls = rng.random((len(chance), trials)) < chance[:, None]
    return {str(i): [float(x) for x in row] for i, row in enumerate(rolls)}


@pytest.mark.parametrize(("rate", "episodes"), [(0.3, 100), (0.1, 150)])
def test_a_wilson_interval_holds_the_truth_in_95_of_100_experiments(
    rate: float, episodes: int
) -> None:
    rng = np.random.default_rng(1)
    counts = rng.binomial(episodes, rate, EXPERIMENTS)
    found = {count: share(count, episodes) for count in set(counts.tolist())}
    assert 0.93 <= coverage((found[count], rate) for count in counts.tolist()) <= 0.97


@pytest.mark.parametrize(("tasks", "trials"), [(15, 4), (40, 1)])
def test_an_interval_over_tasks_holds_the_truth_in_95_of_100_experiments(
    tasks: int, trials: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stats, "RESAMPLES", 999)  # ten times as fast, and as wide in the mean
    rng = np.random.default_rng(tasks + trials)
    draws = (mean(played(rng, chances(rng, tasks), trials), seed=i) for i in range(EXPERIMENTS))
    assert 0.93 <= coverage((estimate, 0.4) for estimate in draws) <= 0.97


def test_an_interval_that_takes_trials_for_tasks_holds_the_truth_far_too_seldom() -> None:
    rng = np.random.default_rng(2)
    solved = rng.binomial(8, chances(rng, (EXPERIMENTS, 40))).sum(axis=1).tolist()
    found = {count: share(count, 40 * 8) for count in set(solved)}
    assert coverage((found[count], 0.4) for count in solved) < 0.8  # so the others can fail


def test_an_interval_of_a_gain_holds_the_truth_in_95_of_100_experiments(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(stats, "RESAMPLES", 999)
    rng = np.random.default_rng(3)

    def gained(seed: int) -> Estimate:
        chance = chances(rng, 40) * 0.8
        return paired_difference(
            played(rng, chance, 2), played(rng, chance + rng.uniform(0, 0.2, 40), 2), seed
        )

    assert 0.93 <= coverage((gained(i), 0.1) for i in range(EXPERIMENTS)) <= 0.97
