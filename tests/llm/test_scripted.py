"""The scripted server, talked to by the official client."""

from __future__ import annotations

import threading
from typing import Any

import openai
import pytest

from provegym.llm.scripted import Response, ScriptedServer, fails, says

CALL = {
    "id": "c1",
    "type": "function",
    "function": {"name": "pay", "arguments": '{"to": "Ann", "amount": "20.00"}'},
}


def client(server: ScriptedServer, **options: Any) -> openai.OpenAI:
    return openai.OpenAI(base_url=server.url, api_key="k", **{"max_retries": 0, **options})


def ask(server: ScriptedServer, **options: Any) -> Any:
    with client(server) as asked:
        return asked.chat.completions.create(
            model="m", messages=[{"role": "user", "content": "Hi."}], **options
        )


def chunks(server: ScriptedServer, **options: Any) -> list[Any]:
    with client(server) as asked:
        stream = asked.chat.completions.create(
            model="m", messages=[{"role": "user", "content": "Hi."}], stream=True, **options
        )
        return list(stream)


def test_a_whole_answer_has_the_clients_own_types(endpoint: ScriptedServer) -> None:
    endpoint.answers = [says("Hello.", usage=(5, 2), cached=4)]
    answer = ask(endpoint)
    assert answer.choices[0].message.content == "Hello."
    assert (answer.usage.prompt_tokens, answer.usage.completion_tokens) == (5, 2)
    assert answer.usage.prompt_tokens_details.cached_tokens == 4


def test_a_streamed_answer_comes_in_pieces_that_make_the_same_text(
    endpoint: ScriptedServer,
) -> None:
    text = "The answer, which is longer than one piece, ends here."
    endpoint.answers = [says(text, finish="length", usage=(5, 2))]
    found = chunks(endpoint, stream_options={"include_usage": True})
    pieces = [c.choices[0].delta.content for c in found if c.choices and c.choices[0].delta.content]
    assert len(pieces) > 2
    assert "".join(pieces) == text
    assert [c.choices[0].finish_reason for c in found if c.choices][-1] == "length"
    assert found[-1].usage.prompt_tokens == 5


def test_streamed_calls_carry_their_name_once_and_their_arguments_in_pieces(
    endpoint: ScriptedServer,
) -> None:
    endpoint.answers = [says(tool_calls=[CALL, CALL])]
    found = [c.choices[0].delta.tool_calls for c in chunks(endpoint)]
    deltas = [delta for calls in found for delta in calls or ()]
    assert [d.function.name for d in deltas if d.function.name] == ["pay", "pay"]
    second = "".join(d.function.arguments for d in deltas if d.index == 1)
    assert second == CALL["function"]["arguments"]  # type: ignore[index]


def test_without_being_asked_a_stream_has_no_usage(endpoint: ScriptedServer) -> None:
    endpoint.answers = [says("Hi.")]
    assert all(chunk.usage is None for chunk in chunks(endpoint))


def test_a_stream_can_be_cut(endpoint: ScriptedServer) -> None:
    whole = says("word " * 50)
    endpoint.answers = [Response(body=whole.body, cut=True)]
    with pytest.raises(openai.APIConnectionError):
        chunks(endpoint)
    assert [seen.sent for seen in endpoint.seen] == [False]


def test_what_was_sent_whole_is_told_from_what_was_cut(endpoint: ScriptedServer) -> None:
    whole = says("Hi.")
    endpoint.answers = [whole, Response(body=whole.body, cut=True), fails(500)]
    ask(endpoint)
    with pytest.raises(openai.APIConnectionError):
        ask(endpoint)
    with pytest.raises(openai.InternalServerError):
        ask(endpoint)
    assert [seen.sent for seen in endpoint.seen] == [True, False, True]


def test_a_script_answers_by_what_is_asked_at_once_or_later(endpoint: ScriptedServer) -> None:
    async def later(request: dict[str, Any]) -> Response:
        return says(request["model"])

    endpoint.script = lambda request: says(request["messages"][0]["content"])
    assert ask(endpoint).choices[0].message.content == "Hi."
    endpoint.script = later
    assert ask(endpoint).choices[0].message.content == "m"


def test_a_broken_script_is_an_error_of_the_server_that_is_not_tried_again(
    endpoint: ScriptedServer,
) -> None:
    endpoint.script = lambda request: says(request["no such field"])
    with (
        client(endpoint, max_retries=2) as asked,
        pytest.raises(openai.InternalServerError, match="no such field"),
    ):
        asked.chat.completions.create(model="m", messages=[])
    assert len(endpoint.seen) == 1


def test_a_slow_or_silent_server_can_be_timed_out(endpoint: ScriptedServer) -> None:
    endpoint.answers = [Response(slow=60.0), Response(hold=True)]
    for _ in range(2):
        with client(endpoint, timeout=0.05) as asked, pytest.raises(openai.APITimeoutError):
            asked.chat.completions.create(model="m", messages=[])


def test_a_server_that_is_down_refuses_until_it_is_up_again(endpoint: ScriptedServer) -> None:
    endpoint.answers = [says("Hi.")]
    url = endpoint.url
    endpoint.down()
    with pytest.raises(openai.APIConnectionError):
        ask(endpoint)
    endpoint.up()
    assert ask(endpoint).choices[0].message.content == "Hi."
    assert endpoint.url == url


def test_another_path_is_not_found(endpoint: ScriptedServer) -> None:
    with client(endpoint) as asked, pytest.raises(openai.NotFoundError):
        asked.models.list()


def test_a_server_that_hangs_up_on_a_request_under_way_is_quiet(
    caplog: pytest.LogCaptureFixture,
) -> None:
    held = threading.Event()

    def hold(_: Any) -> Response:
        held.set()
        return Response(hold=True)

    def asks() -> None:
        with pytest.raises(openai.APIConnectionError):
            ask(server)

    with ScriptedServer(hold) as server:
        client = threading.Thread(target=asks)
        client.start()
        assert held.wait(60)
    client.join()
    assert caplog.records == []
