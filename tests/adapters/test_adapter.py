"""What the adapters share, without any foreign package."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

from provegym import records
from provegym.errors import InfrastructureError, InputError
from provegym.evals.canary import CANARY
from provegym.records import Manifest, write_manifest
from provegym.rollout.reply import Reply, ToolCall
from provegym.rollout.steps import Steps
from provegym.train.adapter import announcement, begin, judged, tasks_of
from provegym.types import Trace
from provegym.world.session import Session
from tests.adapters import kiosk


def played(name: str, player: str) -> Trace:
    steps = begin(kiosk.TASKS[name], "e")
    policy = kiosk.PLAYERS[player](kiosk.TASKS[name], 0)
    while steps.trace is None:
        said = kiosk.next_message(policy, steps.messages, steps.tools)
        calls = [(c["id"], c["function"]) for c in said["tool_calls"]]
        made = tuple(ToolCall(id_, f["name"], f["arguments"]) for id_, f in calls)
        steps.step(Reply(said["content"], made, form="native"))
    return steps.trace


@pytest.mark.parametrize("name", kiosk.FINE)
@pytest.mark.parametrize("player", sorted(kiosk.PLAYERS))
def test_the_reward_is_the_share_of_the_most_there_is(
    opened: list[Session], name: str, player: str
) -> None:
    reward, parts = judged(kiosk.TASKS[name], played(name, player), "paper")
    assert reward == kiosk.worth(kiosk.TASKS[name], player).normalized
    assert (reward == 1) == (player == "oracle" or (name, player) == ("none", "noop"))
    assert (
        parts["calls"]
        == {"oracle": (3, 3, 0), "noop": (0, 0, 0), "clumsy": (6, 6, 3)}[player][
            kiosk.FINE.index(name)
        ]
    )


def test_the_parts_have_the_same_keys_for_every_task(opened: list[Session]) -> None:
    keys = {
        tuple(judged(kiosk.TASKS[name], played(name, player), "strict")[1])
        for name in kiosk.FINE
        for player in kiosk.PLAYERS
    }
    assert len(keys) == 1
    assert {"validity", "coverage", "strict", "malformed", "finished"} <= set(*keys)


def test_an_episode_that_our_fault_ended_has_no_reward(opened: list[Session]) -> None:
    steps = begin(kiosk.TASKS["broken"], "e")
    steps.step(Reply(calls=(ToolCall("", "jam", "{}"),), form="native"))
    assert steps.trace is not None
    with pytest.raises(InfrastructureError, match="jammed"):
        judged(steps.task, steps.trace, "paper")
    silent = replace(steps.trace, messages=())
    with pytest.raises(InfrastructureError, match="a call was lost"):
        judged(steps.task, silent, "paper")


def test_each_user_turn_has_its_limit_of_messages(opened: list[Session]) -> None:
    steps: Steps = begin(kiosk.TASKS["chain"], "e", max_steps=2)
    for _ in range(2):
        steps.step(Reply(calls=(ToolCall("", "list_orders", "{}"),), form="native"))
    assert steps.trace is not None
    assert (steps.trace.id, steps.trace.stop_reason) == ("e", "max_steps")


def test_tasks_that_cannot_be_learnt_from_are_refused(tmp_path: Path) -> None:
    path = kiosk.write(tmp_path / "tasks.jsonl")
    assert [task.id for task in tasks_of(path)] == [*kiosk.TASKS]
    write_manifest(path, Manifest("tasks"))
    with pytest.raises(InputError, match="is unfinished"):
        tasks_of(path)
    marked = tmp_path / "marked.jsonl"
    records.write_atomic(marked, [path.read_bytes() + f'{{"canary": "{CANARY}"}}'.encode()])
    with pytest.raises(InputError, match="train on others"):
        tasks_of(marked)


def test_tools_that_appear_are_told_a_line_each() -> None:
    told = announcement(['{"a":1}', '{"b":2}'])
    assert told.splitlines()[1:] == ["<tools>", '{"a":1}', '{"b":2}', "</tools>", ""]
