"""The resources server for NeMo Gym, played by its `gymnasium_agent` through its model server.

All three are NeMo Gym's own applications over real HTTP; the endpoint behind the model server is
scripted. Rows are those that `provegym dataset export --format nemo-gym` writes.
"""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

import pytest

from provegym.dataset.export import Plan, export
from provegym.dataset.rows import Entry, nemo_gym_rows
from provegym.llm.scripted import ScriptedServer, says
from provegym.records import encode
from provegym.types import Task, Turn
from provegym.world.session import Session
from tests.adapters import kiosk
from tests.adapters.served import looping, model, running
from tests.gateway.served_fleet import free_port

pytestmark = pytest.mark.adapters

ROOT = Path(__file__).parents[2]
AGENT = "provegym_agent"
JSON = {"content-type": "application/json"}
KINDS = {
    "provegym": "resources_servers",
    AGENT: "responses_api_agents",
    "policy_model": "responses_api_models",
}


@pytest.fixture(scope="module")
def rows(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    folder = tmp_path_factory.mktemp("rows")
    tasks, out = kiosk.write(folder / "tasks.jsonl"), folder / "nemo.jsonl"
    export(tasks, out, Plan("nemo-gym"), {})
    found = map(json.loads, out.read_text("utf-8").splitlines())
    return {row["task_id"]: row for row in found}


class Stack(ExitStack):
    """What a test has started, and the loop that its servers run in."""

    loop: asyncio.AbstractEventLoop


class Gym:
    """NeMo Gym's three servers."""

    def __init__(self, stack: Stack, endpoint: str, **settings: Any) -> None:
        from nemo_gym.config_types import BaseServerConfig
        from nemo_gym.server_utils import ServerClient
        from omegaconf import OmegaConf
        from responses_api_agents.gymnasium_agent.app import GymnasiumAgent, GymnasiumAgentConfig
        from responses_api_models.vllm_model.app import VLLMModel, VLLMModelConfig

        from provegym.train.nemo_gym import ProvegymConfig, ProvegymServer

        self.ports = {name: free_port() for name in KINDS}
        places = {
            name: {kind: {name: {"host": "127.0.0.1", "port": self.ports[name]}}}
            for name, kind in KINDS.items()
        }
        told = {name: self._base(name) for name in KINDS}
        client = ServerClient(
            head_server_config=BaseServerConfig(host="127.0.0.1", port=0),
            global_config_dict=OmegaConf.create(places),
        )
        self.server = ProvegymServer(
            config=ProvegymConfig(**told["provegym"]), server_client=client
        )
        agent = GymnasiumAgent(
            config=GymnasiumAgentConfig(
                **told[AGENT],
                resources_server={"type": "resources_servers", "name": "provegym"},
                model_server={"type": "responses_api_models", "name": "policy_model"},
                **{"max_steps": 50, **settings},
            ),
            server_client=client,
        )
        policy = VLLMModel(
            config=VLLMModelConfig(
                **told["policy_model"],
                base_url=endpoint,
                api_key="none",
                model="m",
                return_token_id_information=False,
                uses_reasoning_parser=False,
            ),
            server_client=client,
        )
        for name, server in (("provegym", self.server), (AGENT, agent), ("policy_model", policy)):
            app = server.setup_webserver()
            server.setup_exception_middleware(app)
            stack.enter_context(running(app, stack.loop, self.ports[name]))

    def _base(self, name: str) -> dict[str, Any]:
        return {"host": "127.0.0.1", "port": self.ports[name], "entrypoint": "app.py", "name": name}

    def run(self, row: dict[str, Any]) -> Any:
        """What the agent answers to a row."""
        import httpx

        url = f"http://127.0.0.1:{self.ports[AGENT]}/run"
        return httpx.post(url, json=row, timeout=60)


@pytest.fixture(scope="module")
def loop() -> Iterator[asyncio.AbstractEventLoop]:
    """One for all servers of all tests, for NeMo Gym's client is one a process."""
    with looping() as running_loop:
        yield running_loop


@pytest.fixture
def stack(
    monkeypatch: pytest.MonkeyPatch, opened: list[Session], loop: asyncio.AbstractEventLoop
) -> Iterator[Stack]:
    monkeypatch.setenv("NEMO_GYM_CONFIG_DICT", "{}")
    with Stack() as entered:
        entered.loop = loop
        yield entered


@pytest.mark.parametrize("player", sorted(kiosk.PLAYERS))
def test_an_episode_through_nemo_gym_is_worth_what_it_is_in_process(
    stack: Stack, rows: dict[str, dict[str, Any]], player: str
) -> None:
    endpoint = stack.enter_context(model(player))
    gym = Gym(stack, endpoint.url)
    for name in kiosk.FINE:
        answer = gym.run(rows[name])
        assert answer.status_code == 200, answer.text
        told, expected = answer.json(), kiosk.worth(kiosk.TASKS[name], player)
        assert told["reward"] == expected.normalized
        best = player == "oracle" or (name, player) == ("none", "noop")
        assert (told["reward"] == 1) == best
        assert (told["terminated"], told["truncated"]) == (True, False)
        for part in ("validity", "coverage", "efficiency", "name", "argument"):
            assert told["info"][part] == getattr(expected, part)
        said = [item for item in told["response"]["output"] if item.get("role") == "user"]
        later = [turn.user for turn in kiosk.TASKS[name].turns[1:]]
        assert [item["content"].split("\n")[-1] for item in said] == later
    assert gym.server.session_state == {}


def test_the_task_s_own_tools_are_offered_and_later_ones_told_with_their_turn(
    stack: Stack, rows: dict[str, dict[str, Any]]
) -> None:
    endpoint = stack.enter_context(model("noop"))
    Gym(stack, endpoint.url).run(rows["late"])
    first, second = endpoint.requests
    functions = [tool["function"] for tool in first["tools"]]
    assert [function["name"] for function in functions] == ["place_order", "pay_order"]
    assert functions[0]["description"] == "Buy something."
    said = second["messages"][-1]["content"]
    text = said if isinstance(said, str) else said[0]["text"]
    assert text.startswith("From now on there are these tools, too:\n<tools>\n")
    assert '"name":"list_orders"' in text
    assert text.endswith("</tools>\n\nWhat did I order?")


def test_our_faults_are_answered_with_an_error_and_no_reward(
    stack: Stack, rows: dict[str, dict[str, Any]], opened: list[Session]
) -> None:
    jam = {"id": "a", "type": "function", "function": {"name": "jam", "arguments": "{}"}}
    answers = [says("", finish="tool_calls", tool_calls=[jam]), says("Done.")]
    endpoint = stack.enter_context(ScriptedServer(answers=answers))
    gym = Gym(stack, endpoint.url)
    answer = gym.run(rows["broken"])
    assert answer.status_code >= 500
    assert "reward" not in answer.text
    assert [session.closed for session in opened] == [True]
    assert gym.server.session_state == {}


def test_an_episode_that_the_agent_cuts_is_closed(
    stack: Stack, rows: dict[str, dict[str, Any]], opened: list[Session]
) -> None:
    endpoint = stack.enter_context(model("oracle"))
    gym = Gym(stack, endpoint.url, max_steps=1)
    assert gym.run(rows["chain"]).json()["truncated"] is True
    assert [session.closed for session in opened] == [True]


def test_a_message_for_no_episode_is_an_error(
    stack: Stack, rows: dict[str, dict[str, Any]], tmp_path: Path
) -> None:
    import httpx

    gym = Gym(stack, "http://127.0.0.1:9/v1")
    response = {
        "id": "r",
        "created_at": 0.0,
        "model": "m",
        "object": "response",
        "output": [],
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
    }
    url = f"http://127.0.0.1:{gym.ports['provegym']}"
    body = {**rows["chain"], "response": response}
    answer = httpx.post(f"{url}/step", json=body, timeout=60)
    assert answer.status_code >= 500
    assert "no episode is on" in answer.text
    assert httpx.post(f"{url}/close", json={}, timeout=60).json() == {"ok": True}


def test_the_example_starts_as_nemo_gym_starts_it(tmp_path: Path) -> None:
    import httpx
    from omegaconf import OmegaConf

    folder = ROOT / "examples" / "trainers" / "nemo_gym" / "resources_servers" / "provegym"
    port = free_port()
    told: Any = OmegaConf.load(folder / "configs" / "provegym.yaml")
    told.provegym.resources_servers.provegym.update({"host": "127.0.0.1", "port": port})
    head = {"head_server": {"host": "127.0.0.1", "port": 0}, "dry_run": False}
    environment = {
        **os.environ,
        "NEMO_GYM_CONFIG_DICT": OmegaConf.to_yaml(OmegaConf.merge(told, head)),
        "NEMO_GYM_CONFIG_PATH": "provegym",
    }
    task = Task("t", "abstention", (Turn("Sing!"),), servers=("calendar",))
    (row,) = nemo_gym_rows(Entry(task, "t", "train", 0))
    command = [sys.executable, "app.py"]
    with (tmp_path / "log").open("wb") as log:
        process = subprocess.Popen(command, cwd=folder, env=environment, stdout=log, stderr=log)
    try:
        with httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=120) as client:
            until = time.monotonic() + 300
            while time.monotonic() < until:
                assert process.poll() is None, (tmp_path / "log").read_text("utf-8")
                with suppress(httpx.ConnectError):
                    answer = client.post("/reset", content=encode(row), headers=JSON)
                    break
                time.sleep(0.1)
            assert answer.status_code == 200, answer.text
            assert answer.json()["info"] == {"supports_explicit_close": True}
            assert client.post("/close", json={}).json() == {"ok": True}
    finally:
        process.terminate()
        process.wait()
