"""Faults of ours that hit the ground truth while it is learnt from: counted, told, no reward."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from provegym.errors import InfrastructureError
from provegym.records import read_rows
from provegym.rollout.run import SessionOpener
from provegym.train import sft
from provegym.train.policy import Limits
from provegym.train.transcript import Codec
from provegym.train.trl import GrpoConfig, train
from provegym.types import Task

STEP = GrpoConfig(
    steps=1,
    prompts_per_step=2,
    group_size=4,
    demonstrations=1,
    max_steps=1,
    limits=Limits(prompt=1000, completion=60, reply=20),
)


def gone(task: Task) -> Any:
    raise InfrastructureError("the server is gone")


def test_a_lost_demonstration_is_counted_among_the_masked(
    fresh: Any, tokenizer: Any, tasks: list[Task], open_session: SessionOpener, tmp_path: Path
) -> None:
    opened = []

    def shaky(task: Task) -> Any:
        opened.append(task)
        # First the oracle plays every task once; the last of a group shows the ground truth.
        return gone(task) if len(opened) == len(tasks) + 4 else open_session(task)

    train(fresh, tokenizer, tasks, STEP, tmp_path, shaky)
    row = read_rows(tmp_path / "curves.jsonl")[0]
    assert row["masked"] == 1
    assert row["reward"] is not None


@pytest.mark.parametrize("places", [{1}, {0, 2}])
def test_tasks_on_which_a_fault_hits_the_oracle_are_counted_and_told(
    places: set[int],
    tasks: list[Task],
    tokenizer: Any,
    open_session: SessionOpener,
    caplog: pytest.LogCaptureFixture,
) -> None:
    lost = {tasks[place].id for place in places}

    def shaky(task: Task) -> Any:
        return gone(task) if task.id in lost else open_session(task)

    made = sft.examples(tasks, shaky, Codec(tokenizer))
    assert [example.task_id for example in made] == [t.id for t in tasks if t.id not in lost]
    assert f"faults of ours hit the oracle on {len(lost)} of 3 tasks" in caplog.text


def test_where_a_fault_hits_every_task_the_limits_are_not_blamed(
    fresh: Any, tokenizer: Any, tasks: list[Task], tmp_path: Path
) -> None:
    with pytest.raises(InfrastructureError, match="the oracle on 3 of 3 tasks"):
        train(fresh, tokenizer, tasks, STEP, tmp_path, gone)
