"""Is training sound: alarms, the best policy, groups played anew, short tasks first."""

from __future__ import annotations

import logging
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import pytest

from provegym.records import read_rows
from provegym.rollout.run import SessionOpener
from provegym.train import models, sft, stability, tiny, trl
from provegym.train.policy import Limits
from provegym.train.transcript import Codec
from provegym.train.trl import GrpoConfig, schedule, train
from provegym.types import GroundCall, Task, Turn

SHORT = GrpoConfig(
    steps=2,
    prompts_per_step=1,
    group_size=2,
    learning_rate=1e-3,
    max_steps=2,
    limits=Limits(prompt=1000, completion=60, reply=20),
)


def rows(*rewards: float, **more: Any) -> list[dict[str, Any]]:
    row = {"abstention": 0.1, "entropy": 0.5, "loss": 0.0, "grad_norm": 1.0, "kl": None}
    return [{**row, "reward": reward, **more} for reward in rewards]


def test_a_steady_run_raises_no_alarm() -> None:
    assert stability.collapse([]) == ""
    assert stability.collapse(rows(*[0.5] * 20)) == ""
    assert stability.collapse(rows(*[0.5] * 5, *[0.26] * 5)) == ""  # over half of the best


def test_a_reward_below_half_of_the_best_window_is_a_collapse() -> None:
    fallen = rows(*[0.6] * 5, *[0.24] * 5)
    assert stability.collapse(fallen) == "the reward fell to 0.240 from 0.600"
    assert stability.collapse(fallen[:9]) == ""  # too early to tell


def test_a_reward_that_varies_with_the_tasks_of_a_step_is_no_collapse() -> None:
    """Each step earns 0.6 or nothing by its tasks alone, as with few groups of mixed tasks."""
    alarms = 0
    for seed in range(100):
        rnd = Random(seed)
        run = rows(*(rnd.choice((0.0, 0.1, 0.3, 0.6)) for _ in range(60)))
        alarms += any(stability.collapse(run[:end]) for end in range(len(run) + 1))
    assert alarms <= 3


def test_a_collapse_of_such_a_run_is_told_within_twenty_steps() -> None:
    told = 0
    for seed in range(100):
        rnd = Random(seed)
        learnt = [rnd.choice((0.1, 0.3, 0.4, 0.6)) for _ in range(30)]
        lost = [rnd.choice((0.0, 0.05)) for _ in range(30)]
        run = rows(*learnt, *lost)
        assert not stability.collapse(run[:30])
        told += any(stability.collapse(run[:end]) for end in range(31, 51))
    assert told >= 95


def test_a_number_that_is_none_is_told_at_once() -> None:
    assert "no number" in stability.collapse(rows(0.5, loss=float("nan")))
    assert "no number" in stability.collapse(rows(0.5, grad_norm=float("inf")))


def test_vanished_calls_and_noise_are_collapses() -> None:
    begun = rows(*[0.5] * 5)
    assert "no call" in stability.collapse(begun + rows(*[0.5] * 5, abstention=1.0))
    assert "entropy rose to 4.00" in stability.collapse(begun + rows(*[0.5] * 5, entropy=4.0))
    silent = rows(*[0.5] * 10, abstention=1.0)  # it never called, so nothing vanished
    assert stability.collapse(silent) == ""


def test_the_best_window_is_told_from_the_others() -> None:
    assert not stability.is_best(rows(*[0.5] * 4))
    assert stability.is_best(rows(*[0.5] * 5))
    assert not stability.is_best(rows(*[0.5] * 6))
    assert stability.is_best(rows(*[0.5] * 5, 0.6))
    assert not stability.is_best(rows(*[0.5] * 5, 0.6, loss=float("nan")))


@pytest.fixture
def start(fresh: Any, tokenizer: Any, tmp_path: Path) -> Path:
    models.save(fresh, tokenizer, tmp_path / "start")
    return tmp_path / "start"


def learn(
    start: Path, tasks: list[Task], config: GrpoConfig, out: Path, open_session: SessionOpener
) -> list[dict[str, Any]]:
    model, tokenizer = models.load(start, trainable=True)
    train(model, tokenizer, tasks, config, out, open_session)
    return [{k: v for k, v in r.items() if k != "seconds"} for r in read_rows(out / "curves.jsonl")]


def test_a_run_tells_lengths_entropy_and_kl_and_is_the_same_from_the_same_seed(
    start: Path, tasks: list[Task], open_session: SessionOpener, tmp_path: Path
) -> None:
    config = replace(SHORT, beta=0.1)
    found = [learn(start, tasks, config, tmp_path / name, open_session) for name in ("one", "two")]
    assert found[0] == found[1]
    other = learn(start, tasks, replace(config, seed=1), tmp_path / "three", open_session)
    assert other != found[0]
    for row in found[0]:
        assert row["tokens"] > 0
        # A policy that knows nothing draws nearly evenly from its vocabulary: ln 457 is 6.1.
        assert 5 < row["entropy"] < 6.5
        assert row["kl"] is not None
        assert row["masked"] == 0


def test_groups_that_teach_nothing_are_played_anew_with_other_tasks(
    start: Path, tasks: list[Task], open_session: SessionOpener, tmp_path: Path
) -> None:
    opened: list[str] = []

    def watched(task: Task) -> Any:
        opened.append(task.id)
        return open_session(task)

    config = replace(SHORT, steps=3, resample=1)
    curve = learn(start, tasks, config, tmp_path / "out", watched)
    # The policy knows nothing, so all earn 0: each of three groups is played once more.
    assert [row["resampled"] for row in curve] == [1, 1, 1]
    assert len(opened) == len(tasks) + 3 * 2 * 2
    first, again = opened[len(tasks)], opened[len(tasks) + 2]
    assert first != again
    assert curve[0]["tasks"] == [again]
    assert curve == learn(start, tasks, config, tmp_path / "same", open_session)


def test_an_alarm_is_told_once_and_the_best_policy_is_kept(
    start: Path,
    tasks: list[Task],
    open_session: SessionOpener,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setattr(stability, "is_best", lambda rows: len(rows) == 1)
    monkeypatch.setattr(stability, "collapse", lambda rows: "it fell" if len(rows) > 1 else "")
    with caplog.at_level(logging.WARNING, trl.__name__):
        curve = learn(start, tasks, replace(SHORT, steps=3), tmp_path / "out", open_session)
    assert [row["collapse"] for row in curve] == ["", "it fell", "it fell"]
    assert caplog.messages == [f"step 2: it fell; the best policy is in {tmp_path / 'out/good'}"]
    assert models.is_policy(tmp_path / "out" / "good")


def test_a_curriculum_begins_with_tasks_of_few_calls(tasks: list[Task]) -> None:
    call = GroundCall("g", "set_lamp", {})
    made = [
        Task(id=f"{n}-{i}", kind="workflow", turns=(Turn("Do it.", (call,) * n, "Done."),))
        for n in (3, 1, 2)
        for i in range(3)
    ]
    config = replace(SHORT, steps=18, curriculum=True)
    order = [task.id for task in schedule(made, config)]
    assert len(order) == 18
    assert set(order[:6]) == {"1-0", "1-1", "1-2"}
    assert sorted(order[6:12]) == sorted(t.id for t in made if t.id[0] in "12")
    assert any(name.startswith("3") for name in order[12:])
    plain = [task.id for task in schedule(made, replace(config, curriculum=False))]
    assert sorted(plain[:9]) == sorted(task.id for task in made)


def test_the_lamps_tokenizer_is_that_of_the_entropy_above(
    tasks: list[Task], open_session: SessionOpener
) -> None:
    made = tiny.tokenizer(sft.texts(tasks, open_session))
    assert len(made) == 457
    assert Codec(made).end == made.eos_token_id
