"""A policy behind OpenAI's protocol, asked by the official client over real HTTP."""

from __future__ import annotations

import asyncio
import re
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import openai
import pytest

uvicorn = pytest.importorskip("uvicorn")

from provegym.llm.relay import stated  # noqa: E402
from provegym.llm.serving import Card, app, vllm_command  # noqa: E402
from provegym.rollout.reply import Policy, PolicyFactory, Reply, ToolCall  # noqa: E402
from provegym.types import Task, Usage  # noqa: E402

PROVEGYM = (sys.executable, "-c", "from provegym.entry import main; main()")
CARD = Card("mine", 0.0, "t" * 64, "w" * 64)
TOOLS: Any = [{"type": "function", "function": {"name": "pay", "parameters": {"type": "object"}}}]
ASK: Any = [{"role": "user", "content": "Pay."}]


def pays(task: Task, seed: int) -> Policy:
    """Calls a tool once, then tells what it got."""

    async def policy(messages: list[dict[str, Any]], tools: list[dict[str, Any]]) -> Reply:
        usage = Usage(len(messages), 1)
        last = messages[-1]
        if last["content"] == "endless":
            return Reply(overflow=True)
        if tools and last["role"] == "user":
            name = tools[0]["function"]["name"]
            return Reply(calls=(ToolCall("", name, '{"amount": 3}'),), usage=usage)
        return Reply(f"It said {last['content']}.", usage=usage, reasoning="Read it.")

    return policy


@contextmanager
def serving(make: PolicyFactory, card: Card = CARD) -> Iterator[openai.OpenAI]:
    """A client of a server in a thread, ended with the block."""
    config = uvicorn.Config(app(make, card), port=0, log_level="error", lifespan="off")
    server = uvicorn.Server(config)
    ready = threading.Event()

    async def run() -> None:
        config.load()
        server.lifespan = config.lifespan_class(config)
        await server.startup()
        ready.set()
        await server.main_loop()
        await server.shutdown()

    thread = threading.Thread(target=lambda: asyncio.run(run()))
    thread.start()
    ready.wait()
    port = server.servers[0].sockets[0].getsockname()[1]
    try:
        with openai.OpenAI(base_url=f"http://127.0.0.1:{port}/v1", api_key="k") as client:
            yield client
    finally:
        server.should_exit = True
        thread.join()


def test_a_client_gets_calls_and_gives_results_back() -> None:
    with serving(pays) as client:
        first = client.chat.completions.create(
            model="mine", messages=ASK, tools=TOOLS, temperature=0.001
        )
        message = first.choices[0].message
        assert message.tool_calls
        call = message.tool_calls[0]
        assert call.type == "function"
        assert (call.function.name, call.function.arguments) == ("pay", '{"amount": 3}')
        assert first.choices[0].finish_reason == "tool_calls"
        result = {"role": "tool", "tool_call_id": call.id, "content": "ok"}
        messages = [*ASK, message.model_dump(exclude_none=True), result]
        second = client.chat.completions.create(model="mine", messages=messages, tools=TOOLS)
    assert second.choices[0].message.content == "It said ok."
    assert second.usage
    assert (second.usage.prompt_tokens, second.usage.total_tokens) == (3, 4)


def test_a_stream_holds_the_same_answer_in_pieces() -> None:
    with serving(pays) as client:
        pieces = client.chat.completions.create(model="mine", messages=ASK, stream=True)
        text = "".join(p.choices[0].delta.content or "" for p in pieces if p.choices)
    assert text == "It said Pay.."


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        ({"messages": [{"role": "user", "content": "endless"}]}, "longer than the context"),
        ({"messages": ASK, "temperature": 0.7}, "--temperature 0.7"),
        ({"messages": ASK, "n": 2}, "one answer at a time"),
        ({"messages": []}, "no messages"),
    ],
)
def test_what_cannot_be_answered_is_refused_with_a_reason(fields: Any, told: str) -> None:
    with serving(pays) as client, pytest.raises(openai.BadRequestError, match=told):
        client.chat.completions.create(model="mine", **fields)


def test_the_list_of_models_states_what_a_result_pins() -> None:
    with serving(pays) as client:
        found = stated("mine", str(client.base_url))
    assert found == {"template_hash": "t" * 64, "weights_hash": "w" * 64}


def checkpoint(parent: Path) -> Path:
    """A policy that knows nothing."""
    from provegym.train import models, tiny

    tokenizer = tiny.tokenizer(["<|im_start|>user\nPay.<|im_end|>"])
    models.save(tiny.model(tokenizer, width=32), tokenizer, parent / "policy")
    return parent / "policy"


def test_a_saved_policy_is_served_in_its_own_rendering(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    from provegym.learning import served_policy

    folder = checkpoint(tmp_path)
    policies, template = served_policy(folder, 0.0, 4)
    with serving(policies, Card("tiny", 0.0, template, "w")) as client:
        told = [
            client.chat.completions.create(model="tiny", messages=ASK, tools=TOOLS)
            for _ in range(2)
        ]
        long: Any = [{"role": "user", "content": "Pay. " * 5000}]
        with pytest.raises(openai.BadRequestError, match="longer than the context"):
            client.chat.completions.create(model="tiny", messages=long)
    assert told[0].usage == told[1].usage
    assert told[0].choices[0].message == told[1].choices[0].message  # greedy
    assert told[0].usage
    assert 0 < told[0].usage.completion_tokens <= 4


def test_the_verb_serves_a_checkpoint_until_it_is_interrupted(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    command = [*PROVEGYM, "serve-model", str(checkpoint(tmp_path)), "--port", "0"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr
        where = re.fullmatch(r"serving policy at (http://\S+)\n", process.stderr.readline())
        assert where
        client = openai.OpenAI(base_url=where[1], api_key="none", max_retries=0)
        assert [model.id for model in client.models.list()] == ["policy"]
        client.close()
        process.send_signal(signal.SIGINT)
        assert (process.wait(60), process.stderr.read()) == (0, "")


def test_a_port_that_is_taken_is_one_line_before_anything_is_loaded(tmp_path: Path) -> None:
    (tmp_path / "policy").mkdir()
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        done = subprocess.run(
            [*PROVEGYM, "serve-model", str(tmp_path / "policy"), "--port", port],
            capture_output=True,
            text=True,
        )
    assert done.returncode == 2
    assert re.fullmatch(rf"error: cannot listen on 127\.0\.0\.1 port {port}: .*\n", done.stderr)


def test_the_line_for_vllm_lets_models_call_tools() -> None:
    line = " ".join(vllm_command("folder", "mine", "127.0.0.1", 8000))
    assert line.startswith("vllm serve folder --served-model-name mine")
    assert "--enable-auto-tool-choice" in line
