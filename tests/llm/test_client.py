"""The client, against a real server on loopback."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any

import httpx2
import pytest
from hypothesis import given
from hypothesis.strategies import text

from provegym.errors import EndpointDown, InputError, ModelFault, ProvegymError
from provegym.llm.client import OpenAIPolicies, Sampling, address, openai_policy
from provegym.llm.scripted import ScriptedServer, fails, says
from provegym.rollout.reply import Reply, ToolCall
from provegym.types import Task, Usage

TASK = Task("t", "workflow", ())
TOOLS = [{"type": "function", "function": {"name": "pay", "description": "", "parameters": {}}}]
ASK = [{"role": "user", "content": "Pay."}]


def call(name: str, arguments: str, call_id: str = "c1") -> dict[str, Any]:
    function = {"name": name, "arguments": arguments}
    return {"id": call_id, "type": "function", "function": function}


def policies(endpoint: ScriptedServer, **options: Any) -> OpenAIPolicies:
    return openai_policy("m", endpoint.url, **{"retries": 2, **options})


def use(factory: OpenAIPolicies, work: Callable[[], Awaitable[Any]]) -> Any:
    async def all_of_it() -> Any:
        try:
            return await work()
        finally:
            await factory.aclose()

    return asyncio.run(all_of_it())


def ask(
    endpoint: ScriptedServer,
    messages: list[dict[str, Any]] = ASK,
    tools: list[dict[str, Any]] = TOOLS,
    **options: Any,
) -> Reply:
    factory = policies(endpoint, **options)
    reply: Reply = use(factory, lambda: factory(TASK, 7)(messages, tools))
    return reply


def test_an_answer_in_words_comes_with_its_usage(endpoint: ScriptedServer) -> None:
    endpoint.answers = [says(content="Which account?")]
    reply = ask(endpoint)
    assert (reply.content, reply.calls, reply.form) == ("Which account?", (), "none")
    assert reply.usage == Usage(11, 3)


def test_the_request_holds_model_messages_tools_and_seed_and_no_unset_setting(
    endpoint: ScriptedServer,
) -> None:
    endpoint.answers = [says(content="ok")]
    ask(endpoint)
    assert endpoint.requests == [{"model": "m", "messages": ASK, "tools": TOOLS, "seed": 7}]


def test_sampling_settings_are_sent_and_an_empty_list_of_tools_is_not(
    endpoint: ScriptedServer,
) -> None:
    endpoint.answers = [says(content="ok")]
    ask(endpoint, tools=[], sampling=Sampling(0.0, 0.9, 64, send_seed=False))
    sent = endpoint.requests[0]
    assert sent == {"model": "m", "messages": ASK, "temperature": 0, "top_p": 0.9, "max_tokens": 64}


def test_tool_calls_come_back_raw_in_order(endpoint: ScriptedServer) -> None:
    calls = [call("pay", '{"x": 1}'), call("no such", '{"x": NaN', "c2")]
    endpoint.answers = [says(tool_calls=calls)]
    reply = ask(endpoint)
    assert reply.calls == (
        ToolCall("c1", "pay", '{"x": 1}'),
        ToolCall("c2", "no such", '{"x": NaN'),
    )
    assert (reply.form, reply.content) == ("native", "")


def test_calls_that_the_endpoint_left_in_the_text_are_found(endpoint: ScriptedServer) -> None:
    text = '<tool_call>{"name": "pay", "arguments": {"x": 1}}</tool_call>'
    fence = '```json\n{"name": "pay", "arguments": {"x": 1}}\n```'
    endpoint.answers = [says(content=text), says(content=fence)]
    assert (ask(endpoint).form, ask(endpoint).form) == ("tags", "fence")
    assert ask(endpoint, lenient=False) == replace_raw(Reply(fence, usage=Usage(11, 3)), fence)


def replace_raw(reply: Reply, content: str) -> Reply:
    raw = {"role": "assistant", "content": content}
    return Reply(reply.content, reply.calls, reply.usage, raw, reply.form)


def test_a_lone_surrogate_is_the_models_mistake_not_a_fault(endpoint: ScriptedServer) -> None:
    endpoint.answers = [says(tool_calls=[call("pay", '{"x": "\ud800"}')])]
    assert ask(endpoint).calls[0].arguments_text == '{"x": "\ud800"}'


def test_a_rate_limit_is_waited_for_as_long_as_the_server_says(endpoint: ScriptedServer) -> None:
    limited = fails(429, "slow down", **{"Retry-After": "1"})
    endpoint.answers = [limited, says(content="ok")]
    assert ask(endpoint).content == "ok"
    first, second = (seen.at for seen in endpoint.seen)
    assert second - first >= 1.0  # the client's own first pause is at most 0.5 s


@pytest.mark.parametrize("status", [408, 429, 500, 503])
def test_passing_failures_are_tried_again(endpoint: ScriptedServer, status: int) -> None:
    endpoint.answers = [fails(status)] * 2 + [says(content="ok")]
    assert ask(endpoint).content == "ok"
    assert len(endpoint.requests) == 3


def test_a_server_that_keeps_failing_is_a_fault_after_all_retries(endpoint: ScriptedServer) -> None:
    endpoint.answers = [fails(500, "out of memory")]
    with pytest.raises(ModelFault, match="out of memory"):
        ask(endpoint)
    assert len(endpoint.requests) == 3


def test_a_slow_endpoint_is_a_fault(endpoint: ScriptedServer) -> None:
    endpoint.answers = [replace(says(content="late"), hold=True)]
    with pytest.raises(ModelFault, match=r"(?i)timed out"):
        ask(endpoint, timeout=0.05, retries=0)


def test_a_slow_answer_is_asked_for_again(endpoint: ScriptedServer) -> None:
    late = replace(says(content="late"), hold=True)
    endpoint.answers = [late, says(content="ok")]
    assert ask(endpoint, timeout=0.5, retries=1).content == "ok"


def test_a_connection_cut_halfway_is_tried_again(endpoint: ScriptedServer) -> None:
    cut = replace(says(content="x" * 500), cut=True)
    endpoint.answers = [cut, says(content="ok")]
    assert ask(endpoint, retries=1).content == "ok"


def test_a_connection_that_is_always_cut_is_a_fault(endpoint: ScriptedServer) -> None:
    endpoint.answers = [replace(says(content="x" * 500), cut=True)]
    with pytest.raises(ModelFault):
        ask(endpoint, retries=0)


def test_nobody_listening_is_a_fault_that_names_the_cause(endpoint: ScriptedServer) -> None:
    factory = openai_policy("m", "http://user:secret@127.0.0.1:1/v1", retries=0)
    told = r"no endpoint of model 'm' is there, http://127\.0\.0\.1:1/v1: Connection error.* \("
    with pytest.raises(EndpointDown, match=told):
        use(factory, lambda: factory(TASK, 0)(ASK, TOOLS))


def test_an_endpoint_that_went_away_fails_what_it_is_asked_and_no_more() -> None:
    with ScriptedServer(answers=[says("Hi.")]) as server:
        factory = openai_policy("m", server.url, retries=0)
        use(factory, lambda: factory(TASK, 0)(ASK, TOOLS))
    with pytest.raises(ModelFault, match=f"{server.url}: Connection error") as gone:
        use(factory, lambda: factory(TASK, 0)(ASK, TOOLS))
    assert type(gone.value) is ModelFault


@pytest.mark.parametrize("status", [400, 401, 500])
def test_what_an_endpoint_refuses_is_told_with_its_url(
    endpoint: ScriptedServer, status: int
) -> None:
    endpoint.answers = [fails(status, "no")]
    with pytest.raises(ProvegymError, match=f"{endpoint.url}: Error code: {status}"):
        ask(endpoint, retries=0)


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"<html>busy</html>",
        b'{"choices": []}',
        b'{"choices": null}',
        b'{"choices": [{"message": null}]}',
        b'{"choices": [{"message": {"tool_calls": 7}}]}',
        b'{"choices": [{"message": {"tool_calls": ["pay"]}}]}',
        b'{"choices": [{"message": {"content": [7]}}]}',
        b'{"choices": [{"message": {}}], "usage": 3}',
        b'{"error": {"message": "oops"}}',
        b"[1]",
        b"\xff\xfe",
        b"[" * 100_000,
    ],
)
def test_an_answer_outside_the_protocol_is_a_fault(endpoint: ScriptedServer, body: bytes) -> None:
    endpoint.answers = [replace(says(), body=body)]
    with pytest.raises(ModelFault, match="no chat completion"):
        ask(endpoint, retries=0)


@pytest.mark.parametrize("status", [401, 403, 404])
def test_a_refused_key_or_model_is_the_users_to_mend(endpoint: ScriptedServer, status: int) -> None:
    endpoint.answers = [fails(status, "no such model")]
    with pytest.raises(InputError, match="no such model"):
        ask(endpoint)


@pytest.mark.parametrize(
    "message",
    [
        "This model's maximum context length is 4096 tokens. However, you requested 5000 tokens.",
        "the request exceeds the available context size (8192 tokens)",
        "prompt is too long: 210000 tokens > 200000 maximum",
    ],
)
def test_a_conversation_that_is_too_long_overflows(endpoint: ScriptedServer, message: str) -> None:
    endpoint.answers = [fails(400, message)]
    assert ask(endpoint) == Reply(overflow=True)


def test_another_refused_request_is_a_fault(endpoint: ScriptedServer) -> None:
    endpoint.answers = [fails(400, "seed is not supported")]
    with pytest.raises(ModelFault, match="seed is not supported"):
        ask(endpoint)


def test_the_key_comes_from_the_environment_or_is_none(
    endpoint: ScriptedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    endpoint.answers = [says(content="ok")]
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    ask(endpoint)
    monkeypatch.setenv("OPENAI_API_KEY", "from-env")
    ask(endpoint)
    ask(endpoint, api_key="given")
    assert [seen.key for seen in endpoint.seen] == [
        "Bearer none",
        "Bearer from-env",
        "Bearer given",
    ]


def test_openais_own_endpoint_without_a_key_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    with pytest.raises(InputError, match="OPENAI_API_KEY"):
        openai_policy("gpt")


NO_URLS = (
    *("nonsense", "localhost:8000/v1", "//host/v1", "ftp://x/v1", "http://", "http:///v1"),
    *("http://a b/v1", "http://host/v 1", "http://host:99999/v1", "http://host:0/v1"),
    *("http://host:port/v1", "http://[::1/v1", "http://:80/v1", "http://me@/v1", " http://h/v1"),
)


@pytest.mark.parametrize("url", NO_URLS)
def test_a_base_url_that_is_none_is_refused(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InputError, match="is no base URL; write it like http://"):
        openai_policy("m", url)
    monkeypatch.setenv("OPENAI_BASE_URL", url)
    with pytest.raises(InputError, match="is no base URL"):
        openai_policy("m")


@given(text("ahtp:/@[]?#%1290.-_ \té", max_size=12).map("http://".__add__))
def test_what_passes_for_a_base_url_is_one_to_the_client(url: str) -> None:
    try:
        told = address(url)
    except InputError:
        return
    assert httpx2.URL(told["base_url"]).host


@pytest.mark.parametrize(
    "url", ["HTTP://Host/v1", "https://api.example.org", "http://[::1]:8000/v1", "http://a_b:1/v1/"]
)
def test_any_way_to_write_a_url_is_taken(url: str) -> None:
    assert address(url)["base_url"] == url


def test_the_base_url_comes_from_the_environment_too(
    endpoint: ScriptedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", endpoint.url)
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    endpoint.answers = [says(content="ok")]
    factory = openai_policy("m")
    assert use(factory, lambda: factory(TASK, 7)(ASK, TOOLS)).content == "ok"


def test_a_factory_can_be_used_again_after_it_was_closed(endpoint: ScriptedServer) -> None:
    endpoint.answers = [says(content="ok")]
    factory = policies(endpoint)
    for _ in range(2):
        use(factory, lambda: factory(TASK, 0)(ASK, TOOLS))
    assert len(endpoint.requests) == 2
