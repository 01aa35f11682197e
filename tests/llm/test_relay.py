"""The relay between a benchmark's program and an endpoint, over real HTTP on both sides."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import openai
import pytest

from provegym.errors import EndpointDown, InputError
from provegym.llm.relay import FAULT, OVERFLOW, Relay, Remote, stated
from provegym.llm.scripted import Response, ScriptedServer, fails, says

ASK: Any = [{"role": "user", "content": "Hi"}]


@pytest.fixture
def endpoint() -> Iterator[ScriptedServer]:
    with ScriptedServer() as server:
        yield server


def ask(relay: Relay, role: str = "agent", **fields: Any) -> str:
    """What a benchmark's client is told, once."""
    with openai.OpenAI(base_url=relay.url, api_key="none", max_retries=0) as client:
        try:
            found = client.chat.completions.create(model=role, messages=ASK, **fields)
        except openai.APIStatusError as error:
            return str(error)
    return str(found.choices[0].message.content)


def test_what_fails_for_a_while_is_asked_again_and_never_seen(endpoint: ScriptedServer) -> None:
    endpoint.answers = [
        fails(429),
        fails(500),
        Response(body=b"{"),
        Response(body=says("x").body, cut=True),
        says("Hello.", usage=(5, 2)),
    ]
    remote = Remote("agent", "real", endpoint.url)
    with Relay({"agent": remote}) as relay:
        assert ask(relay) == "Hello."
        relay.check()
    told = remote.traffic
    assert (told.requests, told.retries, told.faults) == (1, 4, 0)
    assert (told.prompt_tokens, told.completion_tokens) == (5, 2)


def test_an_answer_that_takes_too_long_is_asked_for_again_and_is_no_answer(
    endpoint: ScriptedServer,
) -> None:
    endpoint.answers = [Response(hold=True), says("Hello.")]
    remote = Remote("agent", "real", endpoint.url, timeout=0.5)
    with Relay({"agent": remote}) as relay:
        assert ask(relay) == "Hello."
        relay.check()
        remote.timeout, remote.retries = 0.05, 1
        endpoint.answers = [Response(hold=True)] * 2
        assert "provegym-relay[agent] fault: model 'real': no answer within 0.05 s" in ask(relay)
    told = remote.traffic
    assert (told.requests, told.faults) == (1, 1)


def test_a_request_is_passed_on_under_the_models_name_without_what_says_nothing_to_it(
    endpoint: ScriptedServer,
) -> None:
    endpoint.answers = [says("ok")]
    remote = Remote("agent", "real", endpoint.url, {"temperature": 0.5})
    with Relay({"agent": remote}) as relay:
        ask(relay, store=False, temperature=0.001, seed=3)
    assert endpoint.requests == [
        {"model": "real", "messages": ASK, "temperature": 0.5, "seed": 3},
    ]


def test_a_refusal_says_whose_fault_it_is(endpoint: ScriptedServer) -> None:
    endpoint.answers = [
        fails(400, "too long", code="context_length_exceeded"),
        fails(422, "malformed"),
        says("ok"),
    ]
    remote = Remote("agent", "real", endpoint.url)
    with Relay({"agent": remote}) as relay:
        assert (found := OVERFLOW.search(ask(relay)))
        assert found[1] == "agent"
        assert FAULT.search(ask(relay))
        assert ask(relay) == "ok"  # one refused request does not end the run
    assert (remote.traffic.overflows, remote.traffic.faults) == (1, 1)


def test_an_endpoint_that_stays_down_ends_the_run_and_is_not_asked_again(
    endpoint: ScriptedServer,
) -> None:
    endpoint.answers = [fails(503, "down", **{"retry-after": "60"})]
    with Relay({"agent": Remote("agent", "real", endpoint.url, patience=1)}) as relay:
        assert FAULT.search(ask(relay))
        assert FAULT.search(ask(relay))
        with pytest.raises(EndpointDown, match="the same command again") as told:
            relay.check()
        assert "for 0 s and asks for 60 s more (patience: 1 s): " in str(told.value)
    assert len(endpoint.seen) == 1


def test_a_refused_key_is_the_users_to_mend(endpoint: ScriptedServer) -> None:
    endpoint.answers = [fails(401, "no such key")]
    with Relay({"agent": Remote("agent", "real", endpoint.url)}) as relay:
        ask(relay)
        with pytest.raises(InputError, match="refuses model 'real'"):
            relay.check()


@pytest.mark.parametrize("useless", [says(None), says("  ")])
def test_a_simulated_user_must_say_something(endpoint: ScriptedServer, useless: Response) -> None:
    endpoint.answers = [useless, says("I want a refund.")]
    remote = Remote("user", "real", endpoint.url, usable=True, patience=60)
    with Relay({"user": remote}) as relay:
        assert ask(relay, "user") == "I want a refund."


def test_an_unknown_role_is_refused(endpoint: ScriptedServer) -> None:
    with Relay({}) as relay:
        assert "plays []" in ask(relay, "agent")


def test_an_endpoint_that_lists_no_models_states_nothing(endpoint: ScriptedServer) -> None:
    assert stated("real", endpoint.url) == {"template_hash": "", "weights_hash": ""}
