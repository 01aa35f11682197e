"""Episodes over the URL of a fleet are those of this process."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from provegym import records, worlds
from provegym.config import Synth
from provegym.graph.build import build
from provegym.rollout.loop import run_episode
from provegym.rollout.policies import oracle
from provegym.servers import load
from provegym.synth.make import Plan
from provegym.synth.pipeline import synthesize
from provegym.train.chat import assistant_text
from provegym.types import Task
from tests.gateway import served_fleet
from tests.train.verl.played import Worker, check_tokens
from tests.train.verl.small import Scripted

pytestmark = pytest.mark.verl

SERVERS = ("calendar",)
ROOMY: dict[str, Any] = {
    "max_prompt_tokens": 40_000,
    "max_response_tokens": 20_000,
    "max_assistant_turns": 30,
}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> list[Task]:
    """Certified tasks with calls."""
    path = tmp_path_factory.mktemp("tasks") / "tasks.jsonl"
    plan = Plan(3, servers=SERVERS, others=SERVERS)
    synthesize(plan, Synth(limit=4), build([load(name) for name in SERVERS]), path)
    return [task for task in records.read_tasks(path) if task.ground_truth][:2]


@pytest.fixture(scope="module")
def fleet() -> Iterator[served_fleet.Served]:
    """`provegym serve --http --workers 2`, a process of its own."""
    with served_fleet.serving(2) as served:
        yield served


def oracle_says(task: Task) -> list[str]:
    """The ground truth as a model would write it."""
    session = worlds.open_session(task)
    played = asyncio.run(run_episode(task, session, oracle(task, 0), trace_id=task.id))
    return [assistant_text(m) for m in played.messages if m["role"] == "assistant"]


def reading(tokenizer: Any, replies: list[str]) -> Scripted:
    return Scripted(tokenizer, lambda prompt, n: replies[n])


def test_an_episode_over_a_fleet_is_the_one_of_this_process(
    made: list[Task], fleet: served_fleet.Served, model: Path, qwen: Any, tmp_path: Path
) -> None:
    assert made
    for number, task in enumerate(made):
        replies = oracle_says(task)
        client = reading(qwen, replies)
        here = Worker(model, tmp_path / f"here{number}", **ROOMY).play(client, task)
        (asked,) = client.asked.values()
        client = reading(qwen, replies)
        there = Worker(model, tmp_path / f"there{number}", fleet.url, **ROOMY).play(client, task)
        assert there == here
        check_tokens(here[0], asked)
        assert here[0]["reward"] == pytest.approx(1.3)
        assert here[0]["parts"]["calls"] == len(task.ground_truth)
    assert fleet.health().sessions == 0


def test_a_fleet_that_is_gone_loses_the_episode_and_gives_no_reward(
    made: list[Task], model: Path, qwen: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from provegym.errors import InfrastructureError
    from provegym.train import sessions
    from provegym.train.verl import episodes

    monkeypatch.setattr(sessions, "PATIENCE_SECONDS", 0.0)
    nobody = f"http://127.0.0.1:{served_fleet.free_port()}"
    client = Scripted(qwen, lambda prompt, n: "Done.")
    with pytest.raises(InfrastructureError, match=r"127\.0\.0\.1"):
        Worker(model, tmp_path, nobody, **ROOMY).play(client, made[0])
    (row,) = episodes.read(tmp_path / "episodes")
    assert row.reward is None
    assert "127.0.0.1" in row.fault
