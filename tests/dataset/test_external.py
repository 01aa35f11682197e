"""Rows of When2Call and xLAM-irrelevance, in the shape that the sets' own pages show."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from provegym.dataset.external import SOURCES, Found, Unusable, examples
from provegym.errors import BrokenRecord, InputError

TOOL = {
    "name": "uber.ride",
    "description": "Order a ride.",
    "parameters": {"type": "dict", "properties": {"to": {"type": "str"}}, "required": ["to"]},
}
ANSWERS = {
    "direct": "It is sunny.",
    "tool_call": '{"name": "uber.ride", "arguments": {"to": "home"}}',
    "request_for_info": "Where to?",
    "cannot_answer": "I cannot look that up.",
}
TEST_ROW: dict[str, Any] = {
    "uuid": "1f82",
    "source": "BFCL v2 Live Simple",
    "source_id": "live_simple_1",
    "question": "Any nice films tonight?",
    "correct_answer": "cannot_answer",
    "answers": ANSWERS,
    "target_tool": None,
    "tools": [json.dumps(TOOL)],
    "orig_tools": [],
}
SFT_ROW: dict[str, Any] = {
    "tools": [TOOL],
    "messages": [
        {"role": "user", "content": "What is trending?"},
        {"role": "assistant", "content": "I cannot look that up."},
    ],
}
PREF_ROW: dict[str, Any] = {
    "tools": [TOOL],
    "messages": [{"role": "user", "content": "Order a ride."}],
    "chosen_response": {"role": "assistant", "content": "Where to?"},
    "rejected_response": {"role": "assistant", "content": "<TOOLCALL>[]</TOOLCALL>"},
}
XLAM_ROW: dict[str, Any] = {
    "query": "Which giveaways are there?",
    "tools": json.dumps([{"name": "now", "parameters": {"zone": {"type": "str, optional"}}}]),
    "answers": "[]",
}


def found(folder: Path, name: str, *rows: Any, array: bool = False) -> Found:
    path = folder / "rows"
    text = json.dumps(rows) if array else "\n".join(map(json.dumps, rows))
    path.write_text(text, "utf-8")
    return examples(SOURCES[name], path)


@pytest.mark.parametrize("label", ["direct", "request_for_info", "cannot_answer"])
def test_a_row_of_the_test_files_is_an_example_unless_a_call_is_right(
    tmp_path: Path, label: str
) -> None:
    right = {**TEST_ROW, "question": "Home!", "correct_answer": "tool_call"}
    held = found(tmp_path, "when2call", {**TEST_ROW, "correct_answer": label}, right)
    (example,) = held.examples
    assert (example.key, example.question) == ("1f82", "Any nice films tonight?")
    assert example.reply == ANSWERS[label]
    assert [tool.function.name for tool in example.tools] == ["uber_ride"]
    assert (held.rows, held.skipped) == (2, {"a call is right": 1})


def test_a_row_of_the_training_files_is_an_example_unless_it_answers_with_a_call(
    tmp_path: Path,
) -> None:
    called = {"role": "assistant", "content": '<TOOLCALL>[{"name": "uber.ride"}]</TOOLCALL>'}
    asked = [{"role": "user", "content": "Home!"}]
    held = found(
        tmp_path,
        "when2call",
        SFT_ROW,
        PREF_ROW,
        {**SFT_ROW, "messages": [*asked, called]},
        {**PREF_ROW, "messages": asked, "chosen_response": called},
    )
    assert [(e.question, e.reply) for e in held.examples] == [
        ("What is trending?", "I cannot look that up."),
        ("Order a ride.", "Where to?"),
    ]
    assert held.skipped == {"a call is right": 2}
    keys = [e.key for e in held.examples]
    assert all(len(key) == 16 for key in keys)
    assert keys[0] != keys[1]


@pytest.mark.parametrize("array", [True, False])
def test_a_row_of_xlam_irrelevance_is_an_example_if_it_has_no_answers(
    tmp_path: Path, array: bool
) -> None:
    called = {**XLAM_ROW, "query": "Now?", "answers": '[{"name": "now", "arguments": {}}]'}
    held = found(tmp_path, "xlam-irrelevance", XLAM_ROW, called, array=array)
    (example,) = held.examples
    assert (example.question, example.reply) == ("Which giveaways are there?", "")
    assert example.tools[0].function.parameters["required"] == []
    assert held.skipped == {"a call is right": 1}


NO_EXAMPLES: dict[str, tuple[dict[str, Any], str]] = {
    "label": ({"correct_answer": "maybe"}, "a label that is not known"),
    "question": ({"question": " "}, "no question"),
    "tools": ({"tools": ["{broken"]}, "tools that cannot be read"),
    "tool without a name": ({"tools": ["{}"]}, "tools that cannot be read"),
    "tools of no kind": ({"tools": 3}, "tools that cannot be read"),
    "tools of one name": (
        {"tools": [TOOL, {**TOOL, "name": "uber_ride"}]},
        "two tools of one name",
    ),
    "surrogate": ({"question": "\ud800"}, "text that UTF-8 cannot hold"),
}


@pytest.mark.parametrize(("change", "reason"), NO_EXAMPLES.values(), ids=NO_EXAMPLES)
def test_a_row_that_is_no_example_is_counted_under_its_reason(
    tmp_path: Path, change: dict[str, Any], reason: str
) -> None:
    odd = {**TEST_ROW, "uuid": "2", **change}
    held = found(tmp_path, "when2call", TEST_ROW, odd, odd)
    assert (len(held.examples), held.skipped) == (1, {reason: 2})


@pytest.mark.parametrize("field", [name for name in TEST_ROW if name != "orig_tools"])
def test_a_missing_field_is_counted_by_its_name(tmp_path: Path, field: str) -> None:
    lacking = {name: value for name, value in TEST_ROW.items() if name != field}
    held = found(tmp_path, "when2call", TEST_ROW, lacking)
    missed = "messages" if field == "correct_answer" else field
    assert held.skipped == {f"no field {missed!r}": 1}


def test_a_tool_that_is_nested_too_deep_is_counted(tmp_path: Path) -> None:
    deep = '{"type": "dict", "properties": {"x": ' * 450 + '{"type": "str"}' + "}}" * 450
    tools = f'[{{"name": "x", "parameters": {deep}}}]'
    held = found(tmp_path, "xlam-irrelevance", XLAM_ROW, {**XLAM_ROW, "query": "?", "tools": tools})
    assert len(held.examples) == 1
    assert set(held.skipped) <= {"nested too deep", "tools that cannot be read"}


def test_conversations_of_other_shapes_are_counted(tmp_path: Path) -> None:
    longer = [*SFT_ROW["messages"], *SFT_ROW["messages"]]
    call_as_object = [SFT_ROW["messages"][0], {"role": "assistant", "content": {"name": "x"}}]
    held = found(
        tmp_path,
        "when2call",
        SFT_ROW,
        {**SFT_ROW, "messages": longer},
        {**SFT_ROW, "messages": call_as_object},
        {**SFT_ROW, "messages": "hello"},
        "hello",
    )
    assert held.skipped == {
        "not one question and one answer": 2,
        "no answer in words": 1,
        "not an object": 1,
    }


NAMES = st.sampled_from([*TEST_ROW, *PREF_ROW, *XLAM_ROW, "role", "content", "name", "parameters"])
VALUES = st.recursive(
    st.none() | st.integers() | st.sampled_from(["direct", "user", "[]", "{}", '["x"]', "\ud800"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=4),
    max_leaves=12,
)


@given(st.sampled_from([TEST_ROW, SFT_ROW, PREF_ROW, XLAM_ROW]), st.dictionaries(NAMES, VALUES))
def test_a_row_of_whatever_values_is_an_example_or_has_a_reason(
    row: dict[str, Any], change: dict[str, Any]
) -> None:
    for source in SOURCES.values():
        with contextlib.suppress(Unusable):
            assert source.read({**row, **change}).question


def test_a_question_counts_once(tmp_path: Path) -> None:
    held = found(tmp_path, "xlam-irrelevance", XLAM_ROW, XLAM_ROW, {**XLAM_ROW, "query": "Else?"})
    assert len(held.examples) == 2
    assert held.skipped == {"a question that came before": 1}


def test_a_file_of_another_format_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(
        InputError, match=r"none of the 1 rows of .* of when2call, no field 'tools'"
    ):
        found(tmp_path, "when2call", {"id": "task-1"})
    with pytest.raises(InputError, match=r"none of the 0 rows of .* of when2call; give one"):
        found(tmp_path, "when2call")
    pointer = tmp_path / "pointer.jsonl"
    pointer.write_text(json.dumps(TEST_ROW) + "\nversion https://git-lfs.github.com/spec/v1\n")
    with pytest.raises(BrokenRecord, match=r"pointer\.jsonl:2: neither JSON Lines nor a JSON"):
        examples(SOURCES["when2call"], pointer)
    with pytest.raises(InputError, match=r"cannot read .*: No such file"):
        examples(SOURCES["when2call"], tmp_path / "none")
