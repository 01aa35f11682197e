"""The SkyRL environment, made by SkyRL's own registry from rows of an export."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest

from provegym.errors import InfrastructureError
from provegym.records import encode
from provegym.types import Task
from provegym.world.session import Session
from tests.adapters import kiosk

pytestmark = [pytest.mark.adapters, pytest.mark.usefixtures("_registered")]


@pytest.fixture(scope="module")
def _registered() -> Iterator[None]:
    import skyrl_gym

    skyrl_gym.register(id="provegym", entry_point="provegym.train.skyrl:ProvegymTextEnv")
    yield
    skyrl_gym.envs.registration.registry.pop("provegym")


def make(name: str, **config: Any) -> Any:
    """The environment as SkyRL's generator makes it."""
    import skyrl_gym
    from omegaconf import OmegaConf

    extras = {"task": encode(kiosk.TASKS[name]).decode(), "max_turns": 99}
    return skyrl_gym.make("provegym", env_config=OmegaConf.create(config), extras=extras)


def results(text: str) -> list[str]:
    parts = text.split("<tool_response>\n")[1:]
    return [part.partition("\n</tool_response>")[0] for part in parts]


def said_by(task: Task, player: str, heard: list[dict[str, str]]) -> str:
    """A player's next text from what SkyRL showed so far."""
    messages: list[dict[str, str]] = []
    for message in heard:
        found = results(message["content"]) if message["role"] == "user" else []
        told = [{"role": "tool", "content": result} for result in found]
        messages += told or [message]
    return kiosk.as_text(asyncio.run(kiosk.PLAYERS[player](task, 0)(messages, [])))


def play(env: Any, task: Task, player: str) -> tuple[float, list[dict[str, str]], dict[str, Any]]:
    heard, _ = env.init([])
    total, done = 0.0, False
    while not done:
        text = said_by(task, player, heard)
        out = env.step(text)
        heard = [*heard, {"role": "assistant", "content": text}, *out["observations"]]
        total, done = total + out["reward"], out["done"]
    return total, heard, out["metadata"]


@pytest.mark.parametrize("player", sorted(kiosk.PLAYERS))
@pytest.mark.parametrize("name", kiosk.FINE)
def test_an_episode_through_skyrl_is_worth_what_it_is_in_process(
    opened: list[Session], name: str, player: str
) -> None:
    env = make(name)
    reward, heard, parts = play(env, kiosk.TASKS[name], player)
    expected = kiosk.worth(kiosk.TASKS[name], player)
    assert reward == expected.normalized
    assert (reward == 1) == (player == "oracle" or (name, player) == ("none", "noop"))
    assert parts == env.get_metrics()
    for part in ("validity", "coverage", "efficiency", "name", "argument"):
        assert parts[part] == getattr(expected, part)
    for turn in kiosk.TASKS[name].turns:
        assert any(m["role"] == "user" and m["content"].endswith(turn.user) for m in heard)


def test_the_task_s_own_tools_are_told_each_with_its_turn(opened: list[Session]) -> None:
    env = make("late")
    (system, user), _ = env.init([])
    lines = system["content"].partition("<tools>\n")[2].partition("\n</tools>")[0].splitlines()
    shown = [msgspec.json.decode(line)["function"] for line in lines]
    assert [function["name"] for function in shown] == ["place_order", "pay_order"]
    assert shown[0]["description"] == "Buy something."
    assert user["content"] == kiosk.TASKS["late"].turns[0].user
    (second,) = env.step("I cannot.")["observations"]
    assert '"name":"list_orders"' in second["content"]
    assert second["content"].endswith(kiosk.TASKS["late"].turns[1].user)
    env.close()


def test_our_faults_are_raised_and_are_no_reward(opened: list[Session]) -> None:
    env = make("broken")
    env.init([])
    with pytest.raises(InfrastructureError, match="jammed"):
        env.step('<tool_call>{"name": "jam", "arguments": {}}</tool_call>')


def test_an_episode_that_is_left_ends_its_session(opened: list[Session]) -> None:
    env = make("chain", max_steps=3)
    env.init([])
    assert env.max_turns == 6
    env.close()
    assert [session.closed for session in opened] == [True]
