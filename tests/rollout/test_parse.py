"""Assistant text into calls."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from provegym.rollout.parse import Parsed, from_openai, json_object, parse, storable
from provegym.rollout.reply import ToolCall


def pairs(parsed: Parsed) -> list[tuple[str, str]]:
    return [(call.name, call.arguments_text) for call in parsed.calls]


def test_text_without_a_call_is_content() -> None:
    assert parse("  Which account? ") == Parsed("Which account?")


def test_several_tagged_calls_in_one_message_keep_their_order_and_the_text_around() -> None:
    text = (
        'First.\n<tool_call>\n{"name": "a", "arguments": {"x": 1}}\n</tool_call>\n'
        '<tool_call>{"name": "b", "parameters": {}}</tool_call> Last.'
    )
    parsed = parse(text, lenient=False)
    assert pairs(parsed) == [("a", '{"x": 1}'), ("b", "{}")]
    assert (parsed.content.split(), parsed.form) == (["First.", "Last."], "tags")


def test_a_missing_closing_tag_at_the_end_of_the_text_is_allowed() -> None:
    parsed = parse('<tool_call>{"name": "a", "arguments": {"x": "y"}}\n', lenient=False)
    assert pairs(parsed) == [("a", '{"x": "y"}')]


def test_a_new_opening_tag_ends_an_unclosed_call() -> None:
    text = '<tool_call>{"name": "a"}\n<tool_call>{"name": "b", "arguments": {"x"</tool_call>'
    assert pairs(parse(text)) == [("a", "{}"), ("b", '{"name": "b", "arguments": {"x"')]


def test_tags_inside_a_string_are_text() -> None:
    text = '<tool_call>{"name": "a", "arguments": {"x": "</tool_call><tool_call>"}}</tool_call>'
    assert pairs(parse(text)) == [("a", '{"x": "</tool_call><tool_call>"}')]


@pytest.mark.parametrize(
    ("body", "name"),
    [
        ('{"name": "pay", "arguments": {"x": 1}', "pay"),  # cut off
        ('{"name": "pay", "arguments": {"x": 1}}}', "pay"),  # a brace too many
        ('{"name": "pay", "arguments": {"x": NaN}}', "pay"),
        ('{"name": "pay", "arguments": {"x": Infinity}}', "pay"),
        ('{"name": "pay", "arguments": {"x": "\\ud800"}}', "pay"),
        ("{'name': 'pay', 'arguments': {}}", "pay"),  # Python, not JSON
        ('{"arguments": {"name": "bob"', ""),  # that name is an argument
        ("pay(1)", ""),
        ("", ""),
        ("[1, 2]", ""),
    ],
)
def test_a_broken_call_is_a_call_with_its_raw_text(body: str, name: str) -> None:
    assert pairs(parse(f"<tool_call>{body}</tool_call>")) == [(name, body)]


def test_arguments_that_are_no_object_are_handed_on_for_the_session_to_judge() -> None:
    assert pairs(parse('<tool_call>{"name": "a", "arguments": [1]}</tool_call>')) == [("a", "[1]")]


def test_a_name_that_is_no_string_is_unreadable() -> None:
    assert pairs(parse('<tool_call>{"name": 7, "arguments": {}}</tool_call>')) == [("", "{}")]


def test_doubled_keys_reach_the_session_as_written_and_the_last_name_wins() -> None:
    text = '<tool_call>{"name": "a", "name": "b", "arguments": {"x": 1, "x": 2}}</tool_call>'
    assert pairs(parse(text)) == [("b", '{"x": 1, "x": 2}')]
    assert json_object('{"x": 1, "x": 2}') == {"x": 2}


def test_arguments_quoted_as_a_string_count_only_in_lenient_parsing() -> None:
    text = '<tool_call>{"name": "a", "arguments": "{\\"x\\": 1}"}</tool_call>'
    assert pairs(parse(text)) == [("a", '{"x": 1}')]
    strict = parse(text, lenient=False).calls[0].arguments_text
    assert json_object(strict) is None


@pytest.mark.parametrize(
    ("text", "form", "content"),
    [
        (
            'Sure:\n```json\n{"name": "a", "arguments": {"x": 1}}\n```\nDone.',
            "fence",
            "Sure:\n\nDone.",
        ),
        ('```\n{"arguments": {"x": 1}, "name": "a"}\n```', "fence", ""),
        ('{"name": "a", "parameters": {"x": 1}} and so on', "bare", "and so on"),
    ],
)
def test_lenient_forms_are_calls_and_named_and_plain_text_when_strict(
    text: str, form: str, content: str
) -> None:
    parsed = parse(text)
    assert (pairs(parsed), parsed.form, parsed.content) == ([("a", '{"x": 1}')], form, content)
    assert parse(text, lenient=False) == Parsed(text)


def test_bare_calls_may_follow_each_other() -> None:
    text = '{"name": "a", "arguments": {}}\n{"name": "b", "arguments": {}}'
    assert [call.name for call in parse(text).calls] == ["a", "b"]


def test_a_broken_bare_call_is_a_call() -> None:
    text = '{"name": "a", "arguments": {"x": '
    assert pairs(parse(text)) == [("a", text)]


@pytest.mark.parametrize(
    "text",
    ['{"name": "Ann", "age": 7}', '```json\n{"total": 3}\n```', '{"arguments": {}}', "{", "```"],
)
def test_json_that_is_no_call_stays_an_answer(text: str) -> None:
    assert parse(text) == Parsed(text)


def test_reasoning_is_kept_apart_and_calls_nothing() -> None:
    parsed = parse('<think>maybe <tool_call>{"name": "a"}</tool_call></think>Which one?')
    assert parsed == Parsed("Which one?", reasoning='maybe <tool_call>{"name": "a"}</tool_call>')


def test_reasoning_without_an_end_is_all_there_is() -> None:
    assert parse("<think>so <tool_call>") == Parsed("", reasoning="so <tool_call>")


def test_where_the_chat_template_opened_the_block_of_thoughts_its_end_is_enough() -> None:
    assert parse("Hm.\n</think>\n\nWhich one?") == Parsed("Which one?", reasoning="Hm.")
    call = parse('Hm. {"a": 1}</think><tool_call>{"name": "a", "arguments": {}}</tool_call>')
    assert (call.reasoning, call.calls[0].name) == ('Hm. {"a": 1}', "a")


@pytest.mark.parametrize(
    "text",
    [
        '{"name": "a", "arguments": {"x": "</think>"}}',
        '```json\n{"name": "a", "arguments": {"x": "</think>"}}\n```',
        '<tool_call>{"name": "a", "arguments": {"x": "</think>"}}</tool_call>',
        'So: <tool_call>{"name": "a", "arguments": {"x": "</think>"}}</tool_call>',
    ],
)
def test_the_end_of_thoughts_within_a_call_is_part_of_it(text: str) -> None:
    parsed = parse(text)
    assert (parsed.reasoning, parsed.calls[0].arguments_text) == ("", '{"x": "</think>"}')


def test_depth_and_size_break_nothing() -> None:
    deep = '<tool_call>{"name": "a", "arguments": ' + "[" * 200_000 + "</tool_call>"
    large = '<tool_call>{"name": "a", "arguments": {"x": "%s"}}</tool_call>' % ("y" * 2_000_000)
    assert [c.name for c in parse(deep).calls + parse(large).calls] == ["a", "a"]


def test_openai_calls_hand_their_arguments_on_raw() -> None:
    calls: list[dict[str, Any]] = [
        {"id": "c1", "type": "function", "function": {"name": "a", "arguments": '{"x": NaN'}},
        {"id": "c2", "type": "function", "function": {"name": "b", "arguments": {"x": 1}}},
        {"function": {"name": None, "arguments": None}},
        {},
    ]
    assert from_openai(calls) == (
        ToolCall("c1", "a", '{"x": NaN'),
        ToolCall("c2", "b", '{"x": 1}'),
        ToolCall("", "", "{}"),
        ToolCall("", "", "{}"),
    )


@pytest.mark.parametrize(
    "text", ["[1]", "1", '{"x": NaN}', '{"x": "\\ud800"}', '{"x": "\ud800"}', ""]
)
def test_what_is_no_json_object_has_no_value(text: str) -> None:
    assert json_object(text) is None


def test_text_with_lone_surrogates_can_be_stored_and_stays_broken() -> None:
    stored = storable('{"x": "\ud800"}')
    assert msgspec.json.decode(msgspec.json.encode(stored)) == stored
    assert json_object(stored) is None


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@given(
    calls=st.lists(
        st.tuples(st.text(min_size=1), st.dictionaries(st.text(), values, max_size=3)), min_size=1
    )
)
def test_every_well_formed_call_comes_back_whole(
    calls: list[tuple[str, dict[str, object]]],
) -> None:
    text = "\n".join(
        f"<tool_call>\n{json.dumps({'name': name, 'arguments': arguments})}\n</tool_call>"
        for name, arguments in calls
    )
    parsed = parse(text, lenient=False)
    assert [(c.name, json.loads(c.arguments_text)) for c in parsed.calls] == calls
    assert parsed.content == ""


@given(st.text(alphabet='<tool_call>/{}"name:argumets,[]\\`json\n ') | st.text(), st.booleans())
def test_no_text_raises(text: str, lenient: bool) -> None:
    parsed = parse(text, lenient=lenient)
    assert bool(parsed.calls) == (parsed.form != "none")
