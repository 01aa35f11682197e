"""The rendering of conversations."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from provegym.rollout.parse import parse
from provegym.train import chat, tiny
from provegym.train.transcript import Codec, Transcript

TOKENIZER = tiny.tokenizer(["set_lamp kitchen level arguments name the lamp in the hall to 3"], 320)
CODEC = Codec(TOKENIZER)

words = st.text(max_size=12) | st.sampled_from(["<|im_end|>", "<tool_call>", "</tool_call>", "\n"])
arguments = st.dictionaries(words, st.integers() | words | st.none() | st.lists(words, max_size=2))


def tool(name: str) -> dict[str, Any]:
    schema = {"type": "object", "properties": {"room": {"type": "string"}}, "required": ["room"]}
    return {"function": {"name": name, "description": "Does it.", "parameters": schema}}


def test_a_tool_is_one_line_with_types_enums_and_the_first_sentence() -> None:
    schema = {
        "type": "object",
        "properties": {
            "room": {"enum": ["hall", "attic"]},
            "level": {"type": "integer"},
            "when": {"type": "string", "format": "date-time"},
            "share": {"type": ["number", "null"]},
            "who": {"type": "array", "items": {"type": "string"}},
            "item": {
                "type": "object",
                "properties": {"sku": {"type": "string"}, "gift": {"type": "boolean"}},
                "required": ["sku"],
            },
            "tags": {"type": "object", "additionalProperties": {"type": "string"}},
        },
        "required": ["room", "level"],
    }
    text = chat.signature(
        {"name": "set_lamp", "description": "Set a lamp. It stays\nso.", "parameters": schema}
    )
    assert text == (
        'set_lamp(room: "hall"|"attic", level: int, when?: date-time, share?: num|null, '
        "who?: str[], item?: {sku: str, gift?: bool}, tags?: {str: str})  Set a lamp."
    )


def test_references_in_a_schema_are_followed_and_endless_ones_end() -> None:
    schema = {
        "properties": {"a": {"$ref": "#/$defs/A"}, "b": {"$ref": "#/$defs/B"}},
        "$defs": {"A": {"type": "integer"}, "B": {"type": "array", "items": {"$ref": "#/$defs/B"}}},
    }
    text = chat.signature({"name": "f", "parameters": schema})
    assert text.startswith("f(a?: int, b?: any")


@given(name=st.text(min_size=1, max_size=8), given_arguments=arguments)
def test_a_rendered_call_is_parsed_back(name: str, given_arguments: dict[str, Any]) -> None:
    cleaned = chat.clean(name)
    text = chat.assistant_text(
        {
            "role": "assistant",
            "content": "",
            "tool_calls": [{"function": {"name": name, "arguments": given_arguments}}],
        }
    )
    (call,) = parse(text).calls
    assert call.name == cleaned
    assert call.arguments_text == chat.compact(given_arguments)


turns = st.lists(st.tuples(words, arguments, words, words, st.booleans()), min_size=1, max_size=4)


@given(turns)
def test_appending_messages_never_changes_earlier_tokens(
    said: list[tuple[str, dict[str, Any], str, str, bool]],
) -> None:
    script = Transcript(CODEC)
    messages: list[dict[str, Any]] = [{"role": "system", "content": "Be kind."}]
    tools = [tool("first")]
    before: list[int] = []
    for user, given_arguments, result, answer, appears in said:
        if appears:
            tools = [*tools, tool(f"later{len(tools)}")]
        messages.append({"role": "user", "content": user})
        call = {"function": {"name": "first", "arguments": given_arguments}}
        for reply in (
            {"role": "assistant", "content": "", "tool_calls": [call]},
            {"role": "assistant", "content": answer},
        ):
            script.read(messages, tools)
            script.write(CODEC.reply(reply))
            messages.append(reply)
            assert script.ids[: len(before)] == before
            before = list(script.ids)
            if "tool_calls" in reply:
                messages.append({"role": "tool", "content": result})
    assert len(script.ids) == len(script.mask)


@given(st.lists(st.tuples(words, words), min_size=1, max_size=3))
def test_piece_by_piece_and_through_the_template_give_the_same_text(
    said: list[tuple[str, str]],
) -> None:
    messages: list[dict[str, Any]] = []
    script = Transcript(CODEC)
    for user, answer in said:
        messages.append({"role": "user", "content": user})
        script.read(messages, [tool("first")])
        messages.append({"role": "assistant", "content": answer})
        script.write(CODEC.reply(messages[-1]))
    whole = TOKENIZER.apply_chat_template(chat.plain(messages, [tool("first")]), tokenize=False)
    assert TOKENIZER.decode(script.ids) + "\n" == whole


def test_results_of_one_message_share_a_block_and_control_tokens_in_them_are_text() -> None:
    messages = [{"role": "tool", "content": "<|im_end|>"}, {"role": "tool", "content": "2"}]
    ids = CODEC.continuation(messages, [])
    assert TOKENIZER.decode(ids) == (
        "\n<|im_start|>user\n<tool_response><|im_end|></tool_response>\n"
        "<tool_response>2</tool_response><|im_end|>\n<|im_start|>assistant\n"
    )
    assert ids.count(CODEC.end) == 1


def test_tools_that_appear_later_stand_before_the_user_s_words() -> None:
    ids = CODEC.continuation([{"role": "user", "content": "Now?"}], [tool("late")])
    assert "user\nNew tools:\nlate(room: str)  Does it.\nNow?<|im_end|>" in TOKENIZER.decode(ids)


def test_a_long_result_is_cut_and_a_short_one_is_not() -> None:
    codec = Codec(TOKENIZER, max_response_tokens=5)
    long, short = {"role": "tool", "content": "x1" * 50}, {"role": "tool", "content": "x1"}
    assert "<tool_response>x1x1x…</tool_response>" in TOKENIZER.decode(
        codec.continuation([long], [])
    )
    assert "<tool_response>x1</tool_response>" in TOKENIZER.decode(codec.continuation([short], []))


def test_a_reply_that_was_cut_off_is_closed_before_the_conversation_goes_on() -> None:
    script = Transcript(CODEC)
    script.read([{"role": "user", "content": "Hi"}], [])
    script.write(CODEC.text("I was about to"))
    messages = [
        {"role": "user", "content": "Hi"},
        {"role": "assistant", "content": "I was about to"},
    ]
    script.read([*messages, {"role": "user", "content": "Go on"}], [])
    assert "I was about to<|im_end|>\n<|im_start|>user\nGo on" in TOKENIZER.decode(script.ids)
    assert script.mask[len(script.prompt_ids) :].count(1) == len(CODEC.text("I was about to"))
