"""Conversations as plain text."""

from __future__ import annotations

import json
from typing import Any

from provegym.llm.hermes import as_text, with_objects
from provegym.rollout.parse import parse


def call(name: str, arguments: str) -> dict[str, Any]:
    return {"id": "c", "type": "function", "function": {"name": name, "arguments": arguments}}


TOOL = {"type": "function", "function": {"name": "pay", "description": "Zahlt fällige Rechnungen."}}
CHAT: list[dict[str, Any]] = [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": "Pay both."},
    {
        "role": "assistant",
        "content": "Sure.",
        "tool_calls": [call("pay", '{"x": 1}'), call("pay", "{oops")],
    },
    {"role": "tool", "tool_call_id": "c", "name": "pay", "content": '{"ok":true}'},
    {"role": "tool", "tool_call_id": "c", "name": "pay", "content": '{"error":{}}'},
    {"role": "assistant", "content": "Done."},
]


def test_roles_are_reduced_to_system_user_and_assistant_in_turn() -> None:
    roles = [m["role"] for m in as_text(CHAT, [TOOL])]
    assert roles == ["system", "user", "assistant", "user", "assistant"]


def test_the_tools_stand_in_the_system_message_as_json() -> None:
    system = as_text(CHAT, [TOOL])[0]["content"]
    assert system.startswith("Be brief.\n\n# Tools")
    lines = system.splitlines()
    assert json.loads(lines[lines.index("<tools>") + 1]) == TOOL
    assert as_text(CHAT, [])[0]["content"] == "Be brief."


def test_without_a_system_message_the_tools_make_one() -> None:
    system, user = as_text([{"role": "user", "content": "Pay."}], [TOOL])
    assert (system["role"], user) == ("system", {"role": "user", "content": "Pay."})
    assert json.dumps(TOOL, ensure_ascii=False) in system["content"].splitlines()


def test_calls_are_written_as_they_are_read_broken_ones_too() -> None:
    parsed = parse(as_text(CHAT, [TOOL])[2]["content"], lenient=False)
    assert (parsed.content, parsed.calls[0].arguments_text) == ("Sure.", '{"x": 1}')
    assert parsed.calls[1].name == "pay"
    assert "{oops" in parsed.calls[1].arguments_text


def test_results_of_parallel_calls_make_one_message() -> None:
    assert as_text(CHAT, [])[3]["content"] == (
        '<tool_response>\n{"ok":true}\n</tool_response>\n'
        '<tool_response>\n{"error":{}}\n</tool_response>'
    )


def test_templates_get_arguments_as_objects_where_they_are_objects() -> None:
    calls = with_objects(CHAT)[2]["tool_calls"]
    assert [c["function"]["arguments"] for c in calls] == [{"x": 1}, "{oops"]
    assert CHAT[2]["tool_calls"][0]["function"]["arguments"] == '{"x": 1}'
