"""The verifiers taskset and environment: verifiers' own loop, its `null` harness and its CLI.

The gateway runs in an interpreter of its own, `PROVEGYM_GATEWAY_PYTHON`, for verifiers pins an MCP
SDK that is too old for it. The model is a scripted server on loopback.
"""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import provegym
from provegym.llm.scripted import ScriptedServer, fails, says
from tests.adapters import kiosk
from tests.adapters.served import model

pytestmark = pytest.mark.adapters

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def gateway() -> Iterator[str]:
    """Its URL; no session may be left in it at the end."""
    python = os.environ["PROVEGYM_GATEWAY_PYTHON"]
    command = [python, "-m", "tests.adapters.gateway"]
    pipe = subprocess.PIPE
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    with subprocess.Popen(
        command, stdin=pipe, stdout=pipe, cwd=ROOT, env=environment, text=True
    ) as process:
        assert process.stdout
        url = process.stdout.readline().strip()
        assert url, "the gateway did not start"
        yield url
        with provegym.connect(url) as gym:
            left = gym.ask("GET", "/healthz", None, dict[str, Any])["sessions"]
        assert process.stdin
        process.stdin.close()
    assert left == 0


@pytest.fixture(scope="module")
def tasks(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return kiosk.write(tmp_path_factory.mktemp("tasks") / "tasks.jsonl")


@pytest.fixture(autouse=True)
def _key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MODEL_KEY", "none")
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")


def play(gateway: str, tasks: Path, url: str, *names: str, **agent: Any) -> list[Any]:
    """Episodes of verifiers' own, all at once."""
    import verifiers.v1 as vf
    from verifiers.v1.utils.loaders import load_environment

    from provegym.train.verifiers import ProvegymEnvConfig

    told = {"id": "provegym-verifiers", "tasks": str(tasks), "task": {"gateway": gateway}}
    env = load_environment(ProvegymEnvConfig.model_validate({"taskset": told, "agent": agent}))
    by_name = {task.data.id: task for task in env.taskset}
    client = vf.EvalClientConfig(base_url=url, api_key_var="MODEL_KEY")
    context = vf.ModelContext(client=client, model="m", sampling=vf.SamplingConfig())

    async def episodes() -> list[Any]:
        async with env.serving():
            playing = [env.run_episode(by_name[name], context) for name in names]
            return await asyncio.gather(*playing)

    return asyncio.run(episodes())


@pytest.mark.parametrize("player", sorted(kiosk.PLAYERS))
def test_an_episode_through_verifiers_is_worth_what_it_is_in_process(
    gateway: str, tasks: Path, player: str
) -> None:
    with model(player) as server:
        episodes = play(gateway, tasks, server.url, *kiosk.FINE)
    for name, episode in zip(kiosk.FINE, episodes, strict=True):
        assert (episode.ok, episode.errors) == (True, [])
        (trace,) = episode.traces
        expected = kiosk.worth(kiosk.TASKS[name], player)
        assert trace.reward == expected.normalized
        assert (trace.reward == 1) == (player == "oracle" or (name, player) == ("none", "noop"))
        for part in ("validity", "coverage", "efficiency", "name", "argument"):
            assert trace.metrics[part] == getattr(expected, part)
        assert trace.metrics["finished"] == 1
        users = [m.content for m in trace.messages if m.role == "user"]
        assert users == [turn.user for turn in kiosk.TASKS[name].turns]


def test_the_task_s_own_tools_are_offered_each_from_its_turn_on(gateway: str, tasks: Path) -> None:
    with model("noop") as server:
        play(gateway, tasks, server.url, "late")
        shown = [request["tools"] for request in server.requests]
    names = [{tool["function"]["name"] for tool in tools} for tools in shown]
    assert names == [{"place_order", "pay_order"}, {*kiosk.ALL}]
    told = {tool["function"]["name"]: tool["function"] for tool in shown[0]}
    assert told["place_order"]["description"] == "Buy something."


def test_an_episode_that_the_limit_cuts_is_scored_as_far_as_it_came(
    gateway: str, tasks: Path
) -> None:
    with model("oracle") as server:
        (episode,) = play(gateway, tasks, server.url, "chain", max_turns=1)
    (trace,) = episode.traces
    assert (trace.metrics["calls"], trace.metrics["finished"]) == (1, 0)
    assert 0 < trace.metrics["coverage"] < 1


def test_our_faults_are_errors_of_the_episode_and_no_reward(gateway: str, tasks: Path) -> None:
    jam = {"id": "a", "type": "function", "function": {"name": "jam", "arguments": "{}"}}
    answers = [says("", finish="tool_calls", tool_calls=[jam]), says("Done.")]
    with ScriptedServer(answers=answers) as server:
        (episode,) = play(gateway, tasks, server.url, "broken")
    assert not episode.ok
    assert "InfrastructureError" in str(episode.errors)
    assert "provegym" not in episode.traces[0].rewards


def test_a_model_that_fails_gives_no_reward(gateway: str, tasks: Path) -> None:
    with ScriptedServer(lambda request: fails(400)) as server:
        (episode,) = play(gateway, tasks, server.url, "chain")
    assert not episode.ok
    assert all("provegym" not in trace.rewards for trace in episode.traces)


def test_the_command_line_of_verifiers_plays_the_file(
    gateway: str, tasks: Path, tmp_path: Path
) -> None:
    few = tmp_path / "few.jsonl"
    few.write_text("".join(tasks.read_text("utf-8").splitlines(True)[:3]), "utf-8")
    with model("oracle") as server:
        options = {
            "env.taskset.tasks": few,
            "env.taskset.task.gateway": gateway,
            "client.base-url": server.url,
            "client.api-key-var": "MODEL_KEY",
            "model": "m",
            "output-dir": tmp_path / "out",
        }
        words = [word for key, value in options.items() for word in (f"--{key}", str(value))]
        command = ["vf-eval", "provegym-verifiers", *words, "--no-push", "--no-rich"]
        subprocess.run(command, check=True, cwd=tmp_path, capture_output=True)
    (file,) = (tmp_path / "out").rglob("traces.jsonl")
    rows = [json.loads(line) for line in file.read_text("utf-8").splitlines()]
    rewards = [t["rewards"]["provegym"]["score"] for row in rows for t in row["traces"]]
    assert rewards == [1, 1, 1]
