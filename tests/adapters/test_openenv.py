"""The OpenEnv environment, behind OpenEnv's own server and client on loopback."""

from __future__ import annotations

import asyncio
import json
import runpy
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from provegym.errors import InputError
from provegym.evals.canary import CANARY
from provegym.world.session import Session
from tests.adapters import kiosk
from tests.adapters.served import looping, running

pytestmark = pytest.mark.adapters

ROOT = Path(__file__).parents[2]
NUMBERS = {name: number for number, name in enumerate(kiosk.TASKS)}


@pytest.fixture
def url(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, opened: list[Session]) -> Iterator[str]:
    """The server as the page says to start it, in a thread."""
    from provegym.train import openenv

    monkeypatch.setenv("PROVEGYM_TASKS", str(kiosk.write(tmp_path / "tasks.jsonl")))
    with looping() as loop, running(openenv.app(), loop) as url:
        yield url


def play(url: str, name: str, player: str) -> tuple[float, dict[str, Any], list[Any], list[Any]]:
    """Reward, parts, messages and the tools of each turn, as a trainer gets them."""
    from openenv import GenericEnvClient

    with GenericEnvClient(base_url=url).sync() as env:
        heard = env.reset(index=NUMBERS[name], episode_id="e1")
        messages, tools = heard.observation["messages"], [heard.observation["tools"]]
        policy, rewards = kiosk.PLAYERS[player](kiosk.TASKS[name], 0), [heard.reward]
        while not heard.done:
            said = kiosk.next_message(policy, messages, tools[-1])
            action = {"content": said["content"], "tool_calls": said["tool_calls"]}
            heard = env.step(action)
            messages += [said, *heard.observation["messages"]]
            tools.append(heard.observation["tools"])
            rewards.append(heard.reward)
        assert env.state()["episode_id"] == "e1"
        assert env.state()["step_count"] == len(rewards) - 1
    assert set(rewards[:-1]) == {0.0}
    return rewards[-1], heard.metadata, messages, tools


@pytest.mark.parametrize("player", sorted(kiosk.PLAYERS))
@pytest.mark.parametrize("name", kiosk.FINE)
def test_an_episode_through_openenv_is_worth_what_it_is_in_process(
    url: str, opened: list[Session], name: str, player: str
) -> None:
    reward, parts, messages, _ = play(url, name, player)
    expected = kiosk.worth(kiosk.TASKS[name], player)
    assert reward == expected.normalized
    assert (reward == 1) == (player == "oracle" or (name, player) == ("none", "noop"))
    for part in ("validity", "coverage", "efficiency", "name", "argument"):
        assert parts[part] == getattr(expected, part)
    assert parts["stop"] == "done"
    users = [m["content"] for m in messages if m["role"] == "user"]
    assert users == [turn.user for turn in kiosk.TASKS[name].turns]


def test_the_task_s_own_tools_are_offered_each_from_its_turn_on(
    url: str, opened: list[Session]
) -> None:
    _, _, _, tools = play(url, "late", "noop")
    names = [[tool["function"]["name"] for tool in shown] for shown in tools]
    assert names[:2] == [["place_order", "pay_order"], ["place_order", "pay_order", kiosk.LATE]]
    assert tools[0][0]["function"]["description"] == "Buy something."


def test_text_alone_with_tags_is_an_action(url: str, opened: list[Session]) -> None:
    from openenv import GenericEnvClient

    with GenericEnvClient(base_url=url).sync() as env:
        env.reset(index=0)
        call = '<tool_call>{"name": "list_orders", "arguments": {"limit": 1}}</tool_call>'
        (result,) = env.step({"content": call}).observation["messages"]
        assert result["role"] == "tool"
        assert '"ord_1"' in result["content"]


def test_the_rollout_function_of_the_page_plays_the_oracle(url: str, opened: list[Session]) -> None:
    path = ROOT / "examples" / "trainers" / "openenv_rollout.py"
    example = runpy.run_path(str(path))
    player = kiosk.PLAYERS["oracle"](kiosk.TASKS["late"], 0)

    def generate(messages: list[Any], tools: list[Any]) -> str:
        return kiosk.as_text(asyncio.run(player(messages, tools)))

    messages, reward = example["rollout"](url, NUMBERS["late"], generate)
    assert reward == 1
    assert [m["content"] for m in messages if m["role"] == "user"][1:] == ["What did I order?"]


def test_our_faults_are_raised_and_are_no_reward(url: str, opened: list[Session]) -> None:
    from openenv import GenericEnvClient

    jam = {"id": "a", "type": "function", "function": {"name": "jam", "arguments": "{}"}}
    with GenericEnvClient(base_url=url).sync() as env:
        env.reset(index=NUMBERS["broken"])
        with pytest.raises(RuntimeError, match="jammed"):
            env.step({"tool_calls": [jam]})
        with pytest.raises(RuntimeError, match="is over"):
            env.step({"content": "Done."})
        env.reset(index=0)
        assert env.step({"content": "Done."}).done is False


def test_a_client_that_leaves_ends_its_session(url: str, opened: list[Session]) -> None:
    from openenv import GenericEnvClient

    with GenericEnvClient(base_url=url).sync() as env:
        env.reset(index=0)
        env.reset(index=1)
        assert [session.closed for session in opened] == [True, False]
    # that the second is closed, too, is seen at the end of every test


def test_clients_at_once_have_worlds_of_their_own(url: str, opened: list[Session]) -> None:
    from openenv import GenericEnvClient

    order = '{"item": "cake", "count": 3}'
    make = {"id": "a", "type": "function", "function": {"name": "place_order", "arguments": order}}
    with (
        GenericEnvClient(base_url=url).sync() as one,
        GenericEnvClient(base_url=url).sync() as two,
    ):
        for env in (one, two):
            env.reset(index=0)
        first, second = (
            env.step({"tool_calls": [make]}).observation["messages"][0]["content"]
            for env in (one, two)
        )
        assert json.loads(first)["item"] == "cake"
        assert first == second  # the first new order of a world, in each of the two


def test_seeds_and_numbers_choose_the_task(url: str, opened: list[Session]) -> None:
    from openenv import GenericEnvClient

    with GenericEnvClient(base_url=url).sync() as env:
        chosen = [{}, {"seed": 1}, {"seed": 6}, {"index": 3, "seed": 1}]
        begun = [(env.reset(**told), env.state()["task_id"])[1] for told in chosen]
        assert begun == ["chain", "late", "none", "broken"]
        with pytest.raises(RuntimeError, match="there is no task 4; the last is 3"):
            env.reset(index=4)


def test_the_task_api_lists_what_there_is(url: str) -> None:
    import httpx

    split = {"split": "train"}
    asked = [("num_tasks", split), ("task", {**split, "index": 1})]
    number, task = [httpx.post(f"{url}/provegym/{verb}", json=body).json() for verb, body in asked]
    assert number == {"num_tasks": 4}
    assert task["task"] == {"id": "late", "index": 1, "kind": "workflow", "turns": 2}


def test_tasks_of_the_benchmark_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from provegym.train import openenv

    path = kiosk.write(tmp_path / "tasks.jsonl")
    path.write_text(path.read_text("utf-8") + f'{{"canary": "{CANARY}"}}\n', "utf-8")
    monkeypatch.setenv("PROVEGYM_TASKS", str(path))
    with pytest.raises(InputError, match="train on others"):
        openenv.app()
