"""The smallest gain that a plan can see, by hand and by simulation."""

from __future__ import annotations

import math

import numpy as np
import pytest

from provegym.evals.power import ASSUMED, Spread, alone, detectable, plan, spread


def test_the_smallest_gain_is_what_the_formula_gives() -> None:
    # By hand: (1.96 + 0.8416) sqrt((0.01 + 2 x 0.2 / 4) / 100) = 2.8016 x sqrt(0.0011)
    assert detectable(100, 4, Spread(within=0.2, gain=0.01)) == pytest.approx(0.09292, abs=1e-5)


def test_a_plan_is_told_in_one_line() -> None:
    # By hand: 2.8016 sqrt((0.0142 + 0.32) / 400) and 2.8016 sqrt((0.0142 + 0.08) / 400)
    told = plan(400, (1, 4), Spread(within=0.16, gain=0.0142))
    assert told == "with 1 trial you can see 8.1 points; with 4, 4.3"
    assert plan(400, (2,)).startswith("with 2 trials you can see ")


def test_a_plan_that_would_need_more_than_all_points_can_see_nothing() -> None:
    # By hand: 2.8016 sqrt((0 + 2 x 0.25) / 2) = 1.4008, and 2.8016 sqrt(0.125 / 2) = 0.7004
    told = plan(2, (1, 4), Spread(within=0.25, gain=0.0))
    assert told == "with 1 trial you can see no gain at all; with 4, 70.0"


def test_what_is_assumed_is_an_even_spread_of_chances() -> None:
    chances = (np.arange(10_000) + 0.5) / 10_000
    assert ASSUMED.within == pytest.approx(float((chances * (1 - chances)).mean()), abs=1e-6)
    assert math.sqrt(ASSUMED.gain) == 0.125


def test_a_gain_of_that_size_is_found_four_times_in_five() -> None:
    rng = np.random.default_rng(5)
    tasks, trials, experiments = 200, 3, 2_000
    known = Spread(within=0.2, gain=0.02)
    gain = detectable(tasks, trials, known)
    noise = math.sqrt(known.gain + 2 * known.within / trials)
    values = rng.normal(gain, noise, (experiments, tasks))
    z = values.mean(axis=1) / (values.std(axis=1, ddof=1) / math.sqrt(tasks))
    assert 0.78 <= (abs(z) > 1.96).mean() <= 0.82


def test_the_spread_is_found_again_in_simulated_trials() -> None:
    rng = np.random.default_rng(6)
    tasks, trials = 20_000, 3
    chance = rng.uniform(0.2, 0.6, tasks)
    better = chance + rng.uniform(-0.2, 0.4, tasks)  # a variance of 0.6^2 / 12 = 0.03
    sides = [
        {str(i): row.tolist() for i, row in enumerate(rng.random((tasks, trials)) < p[:, None])}
        for p in (chance, better)
    ]
    found = spread(*sides)
    assert found is not None
    within = np.mean([chance * (1 - chance), better * (1 - better)])
    assert found.within == pytest.approx(float(within), abs=0.003)
    assert found.gain == pytest.approx(0.03, abs=0.005)


def test_single_trials_do_not_tell_noise_from_difference() -> None:
    assert spread({"a": [1.0], "b": [0.0]}, {"a": [1.0], "b": [1.0]}) is None
    assert spread({"a": [1.0, 0.0]}, {"a": [1.0, 1.0]}) is None
    constant = {"a": [1.0, 1.0], "b": [0.0, 0.0]}
    assert spread(constant, constant) == Spread(0, 0)


def test_one_policy_tells_its_own_noise_alone() -> None:
    # By hand: the variance of 1 and 0 is 1/2, that of 1 and 1 is 0; c has one trial.
    seen = alone({"a": [1.0, 0.0], "b": [1.0, 1.0], "c": [1.0]})
    assert seen == Spread(0.25, ASSUMED.gain)
    assert alone({"a": [1.0]}) is None
