"""Messages and bodies, as endpoints take and give them."""

from __future__ import annotations

import json
from typing import Any

from provegym.llm.completion import decode, on_the_wire, to_reply
from provegym.types import Usage


def call(name: str, arguments: str) -> dict[str, Any]:
    return {"id": "c1", "type": "function", "function": {"name": name, "arguments": arguments}}


def test_a_history_with_broken_calls_goes_out_in_a_form_that_endpoints_take() -> None:
    message = {
        "role": "assistant",
        "content": "",
        "call_form": "tags",
        "reasoning_content": "hm",
        "tool_calls": [call("", "{oops"), call("a b!" * 30, '{"x": 1}')],
    }
    sent = on_the_wire(message)
    assert set(sent) == {"role", "content", "tool_calls"}
    first, second = (c["function"] for c in sent["tool_calls"])
    assert (first["name"], json.loads(first["arguments"])) == ("unknown", {"malformed": "{oops"})
    assert second == {"name": ("a_b_" * 30)[:64], "arguments": '{"x": 1}'}


def test_a_tool_message_keeps_what_the_protocol_knows() -> None:
    message = {"role": "tool", "tool_call_id": "c1", "name": "pay", "content": "{}"}
    assert on_the_wire(message) == {"role": "tool", "tool_call_id": "c1", "content": "{}"}


def body(**message: Any) -> bytes:
    return json.dumps({"choices": [{"message": message}]}).encode()


def test_content_in_parts_is_joined_and_reasoning_is_kept_apart() -> None:
    parts = [{"type": "text", "text": "a"}, {"type": "refusal"}, {"type": "text", "text": "b"}]
    reply = to_reply(decode(body(content=parts, reasoning_content="hm")))
    assert (reply.content, reply.reasoning) == ("ab", "hm")


def test_an_answer_without_usage_counts_no_tokens() -> None:
    assert to_reply(decode(body(content="hi"))).usage == Usage()
