"""A policy behind OpenAI's protocol, asked by the official client over real HTTP."""

from __future__ import annotations

import asyncio
import os
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

import httpx2
import openai
import pytest

uvicorn = pytest.importorskip("uvicorn")

from provegym.cli import call  # noqa: E402
from provegym.errors import InputError, Unrenderable  # noqa: E402
from provegym.gateway.guard import Guard  # noqa: E402
from provegym.gateway.http import background  # noqa: E402
from provegym.gateway.settings import Settings  # noqa: E402
from provegym.llm.relay import stated  # noqa: E402
from provegym.llm.scripted import Response, ScriptedServer, fails, says  # noqa: E402
from provegym.llm.serving import Card, app, vllm_command  # noqa: E402
from provegym.records import encode, write_atomic  # noqa: E402
from provegym.rollout.reply import Policy, PolicyFactory, Reply, ToolCall  # noqa: E402
from provegym.types import Task, Turn, Usage  # noqa: E402

PROVEGYM = (sys.executable, "-c", "from provegym.entry import main; main()")
CARD = Card("mine", 0.0, "t" * 64, "w" * 64)
TOOLS: Any = [{"type": "function", "function": {"name": "pay", "parameters": {"type": "object"}}}]
IMAGE: Any = {"type": "image_url", "image_url": {"url": "data:image/png;base64,"}}
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
        ({"messages": []}, "of length >= 1 - at `\\$.messages`"),
        ({"messages": [{"role": "user"}]}, "`content` - at `\\$.messages\\[0\\]`"),
        ({"messages": [{"role": "robot", "content": "x"}]}, "'robot' - at .*\\.role"),
        (
            {"messages": [{"role": "user", "content": [IMAGE]}]},
            "'image_url' - at .*content.0.*type",
        ),
        ({"messages": ASK, "tools": [{"x": 1}]}, "`function` - at `\\$.tools\\[0\\]`"),
        ({"messages": ASK, "tools": "x"}, "got `str` - at `\\$.tools`"),
        ({"messages": ASK, "max_tokens": 0}, ">= 1 - at `\\$.max_tokens`"),
        ({"messages": ASK, "max_completion_tokens": "9"}, "`int.*at `\\$.max_completion_tokens`"),
        ({"messages": ASK, "max_tokens": 1.5}, "`int.*at `\\$.max_tokens`"),
        ({"messages": ASK, "max_tokens": 9}, "max_tokens is not honoured here"),
        ({"messages": ASK, "n": 2}, "n 2 is not honoured here"),
        ({"messages": ASK, "stop": ["\n"]}, "stop .* is not honoured here"),
        ({"messages": ASK, "tools": TOOLS, "tool_choice": "required"}, "tool_choice 'required' is"),
        (
            {"messages": ASK, "response_format": {"type": "json_object"}},
            "response_format .* is not",
        ),
        ({"messages": ASK, "logprobs": True}, "logprobs True is not"),
        ({"messages": ASK, "top_p": 0.9}, "top_p 0.9 is not"),
    ],
)
def test_what_cannot_be_answered_is_refused_with_a_reason(fields: Any, told: str) -> None:
    with serving(pays) as client, pytest.raises(openai.BadRequestError, match=told):
        client.chat.completions.create(model="mine", **fields)


DEFAULTS: Any = {
    "n": 1,
    "stop": None,
    "top_p": 1.0,
    "tool_choice": "auto",
    "response_format": {"type": "text"},
    "logprobs": False,
    "frequency_penalty": 0,
    "stream": False,
    "seed": 7,
    "user": "me",
    "store": False,
    "parallel_tool_calls": True,
    "max_tokens": None,
}


def test_what_leaves_an_answer_as_it_is_passes() -> None:
    history: Any = [
        {"role": "developer", "content": "Be brief."},
        {
            "role": "user",
            "content": [{"type": "text", "text": "P"}, {"type": "text", "text": "ay"}],
        },
    ]
    with serving(pays) as client:
        ask = client.chat.completions.create
        calls = ask(model="mine", messages=history, tools=TOOLS, **DEFAULTS)
        told = ask(
            model="mine", messages=history, tools=TOOLS, **DEFAULTS | {"tool_choice": "none"}
        )
    assert calls.choices[0].message.tool_calls
    assert told.choices[0].message.content == "It said Pay."  # and called nothing


def post(client: openai.OpenAI, body: bytes | str) -> tuple[int, dict[str, Any]]:
    """The status and the error that a body of any kind is answered with."""
    answer = httpx2.post(f"{client.base_url}chat/completions", content=body)
    return answer.status_code, answer.json()["error"]


@pytest.mark.parametrize(
    ("body", "param"),
    [
        ("", None),
        ("{", None),
        ("[]", None),
        ('{"model": "mine"}', "messages"),
        (b'{"model": "\xff"}', None),
        ("[" * 100_000, None),
        ('{"model": "mine", "messages": [{"role": "user", "content": 3}]}', "messages[0].content"),
    ],
)
def test_a_body_that_is_no_request_is_refused_without_words_of_python(
    body: bytes | str, param: str | None
) -> None:
    with serving(pays) as client:
        status, error = post(client, body)
    assert (status, error["type"], error["param"]) == (400, "invalid_request_error", param)
    assert not re.search(r"Error\(|Traceback", error["message"])


def test_an_unknown_path_and_a_wrong_method_are_told_in_the_protocol_s_form() -> None:
    with serving(pays) as client:
        unknown = httpx2.post(f"{client.base_url}embeddings")
        method = httpx2.get(f"{client.base_url}chat/completions")
    assert (unknown.status_code, method.status_code) == (404, 405)
    assert unknown.json()["error"]["message"] == "POST /v1/embeddings: not found"
    assert method.json()["error"]["type"] == "invalid_request_error"
    assert method.headers["allow"] == "POST"


def test_a_model_that_is_not_served_is_not_found() -> None:
    with serving(pays) as client, pytest.raises(openai.NotFoundError, match="known: mine") as told:
        client.chat.completions.create(model="gpt-4o", messages=ASK)
    assert told.value.code == "model_not_found"


def test_a_model_is_found_by_its_name_and_each_answer_has_an_id_of_its_own() -> None:
    with serving(pays) as client:
        assert client.models.retrieve("mine").id == "mine"
        with pytest.raises(openai.NotFoundError, match="unknown model 'other'; known: mine"):
            client.models.retrieve("other")
        asked = [client.chat.completions.create(model="mine", messages=ASK) for _ in range(3)]
    assert len({answer.id for answer in asked}) == 3


def test_the_list_of_models_states_what_a_result_pins() -> None:
    with serving(pays) as client:
        found = stated("mine", str(client.base_url))
    assert found == {"template_hash": "t" * 64, "weights_hash": "w" * 64}


def test_a_model_that_is_not_in_the_list_has_nothing_stated() -> None:
    with (
        serving(pays) as client,
        pytest.raises(InputError, match="unknown model 'min'; known: mine"),
    ):
        stated("min", str(client.base_url))


def test_the_verb_eval_names_the_listed_models_where_the_wanted_is_not_among_them(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tasks, asked = tmp_path / "tasks.jsonl", []

    def watched(task: Task, seed: int) -> Policy:
        asked.append(task)
        return pays(task, seed)

    write_atomic(tasks, [encode(Task("t1", "workflow", (Turn(user="Hi."),), ("banking",)))])
    with serving(watched) as client:
        where = ["--base-url", str(client.base_url), "--out", str(tmp_path / "out")]
        assert call(["eval", "min", "--suite", "heldout", "--tasks", str(tasks), *where]) == 2
    assert capsys.readouterr().err.splitlines()[-1] == "error: unknown model 'min'; known: mine"
    assert not asked


def test_a_model_that_is_served_under_a_name_besides_the_listed_is_taken() -> None:
    def script(request: dict[str, Any]) -> Response:
        return says("Hello.") if request["model"] == "alias" else fails(404, "no such model")

    with ScriptedServer(script, models=["long/name"]) as endpoint:
        assert stated("alias", endpoint.url) == {"template_hash": "", "weights_hash": ""}
        with pytest.raises(InputError, match="unknown model 'other'; known: long/name"):
            stated("other", endpoint.url)
        assert endpoint.requests[0]["max_tokens"] == 1


def checkpoint(parent: Path) -> Path:
    """A policy that knows nothing."""
    from provegym.train import models, tiny

    tokenizer = tiny.tokenizer(["<|im_start|>user\nPay.<|im_end|>"])
    models.save(tiny.model(tokenizer, width=32), tokenizer, parent / "policy")
    return parent / "policy"


def test_a_conversation_that_the_chat_template_refuses_is_the_clients_mistake() -> None:
    def refuses(task: Task, seed: int) -> Policy:
        async def policy(messages: list[dict[str, Any]], tools: list[dict[str, Any]]) -> Reply:
            raise Unrenderable("the model's chat template refuses a conversation of system: no")

        return policy

    with serving(refuses) as client, pytest.raises(openai.BadRequestError, match="refuses") as told:
        client.chat.completions.create(model="mine", messages=ASK)
    assert told.value.param == "messages"


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
        short = client.chat.completions.create(
            model="tiny", messages=ASK, tools=TOOLS, max_tokens=1
        )
        most = client.chat.completions.create(
            model="tiny", messages=ASK, tools=TOOLS, max_tokens=99
        )
        long: Any = [{"role": "user", "content": "Pay. " * 5000}]
        with pytest.raises(openai.BadRequestError, match="longer than the context"):
            client.chat.completions.create(model="tiny", messages=long)
    assert told[0].usage == told[1].usage == most.usage  # never more than the server's 4
    assert short.usage
    assert short.usage.completion_tokens == 1
    assert short.choices[0].finish_reason == "length"
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


TOKEN = "t" * 16


def test_off_this_machine_no_model_is_served_without_a_token(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("PROVEGYM_TOKEN", raising=False)
    for more, told in (
        ([], "0.0.0.0 can be reached from other machines: give a token"),
        (["--vllm"], "0.0.0.0 can be reached from other machines: give a token"),
        (["--token", "short"], "a token of 5 characters can be guessed"),
        (["--token", TOKEN, "--allow-host", "a:80"], "--allow-host 'a:80' is no host's name"),
    ):
        assert call(["serve-model", str(tmp_path), "--host", "0.0.0.0", "--port", "0", *more]) == 2
        assert capsys.readouterr().err.startswith(f"error: {told}")


def test_with_a_token_the_verb_answers_nobody_who_does_not_hold_it(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    command = [*PROVEGYM, "serve-model", str(checkpoint(tmp_path)), "--port", "0"]
    command += ["--host", "0.0.0.0", "--token", TOKEN]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr
        where = re.fullmatch(r"serving policy at (http://\S+)/v1\n", process.stderr.readline())
        assert where
        for path in ("/v1/models", "/v1/chat/completions", "/health", "/s/any/v1/models"):
            for key in ({}, {"authorization": "Bearer " + TOKEN[1:]}, {"authorization": TOKEN}):
                status = httpx2.get(where[1] + path, headers=key).status_code
                assert status == (404 if path.startswith("/s/") else 401), (path, key)
        with openai.OpenAI(base_url=f"{where[1]}/v1", api_key=TOKEN, max_retries=0) as client:
            assert [model.id for model in client.models.list()] == ["policy"]
        process.send_signal(signal.SIGINT)
        assert (process.wait(60), process.stderr.read()) == (0, "")


def test_another_site_s_page_gets_no_answer_of_a_model() -> None:
    settings = Settings(port=0)
    with background(Guard(app(pays, CARD), settings), settings) as url:
        answers = [
            httpx2.get(f"{url}/v1/models", headers=told).status_code
            for told in ({}, {"host": "evil.example"}, {"origin": "https://evil.example"})
        ]
    assert answers == [200, 421, 403]


def test_vllm_gets_the_token_where_no_list_of_processes_shows_it(tmp_path: Path) -> None:
    program, seen = tmp_path / "vllm", tmp_path / "seen"
    program.write_text(f'#!/bin/sh\necho "$VLLM_API_KEY" "$@" > {seen}\n')
    program.chmod(0o755)
    verb = [*PROVEGYM, "serve-model", str(tmp_path), "--vllm", "--host", "0.0.0.0"]
    subprocess.run(
        verb,
        env={**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}", "PROVEGYM_TOKEN": TOKEN},
        check=True,
        timeout=60,
    )
    first, *arguments = seen.read_text().split()
    assert (first, arguments[0]) == (TOKEN, "serve")
    assert TOKEN not in arguments


def test_an_empty_name_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert call(["serve-model", str(tmp_path), "--name", ""]) == 2
    assert capsys.readouterr().err.startswith("error: --name is empty; ")


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
    assert done.stderr.count(port) == 1
    assert done.stderr.endswith("in use; choose another with --port\n")


def test_the_line_for_vllm_lets_models_call_tools() -> None:
    line = " ".join(vllm_command("folder", "mine", "127.0.0.1", 8000))
    assert line.startswith("vllm serve folder --served-model-name mine")
    assert "--enable-auto-tool-choice" in line
