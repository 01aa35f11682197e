"""The one rendering of conversations that the laptop policies read and write.

ChatML with Hermes tool calls. Tools are signatures of one line instead of JSON Schemas, since on
two cores the length of the prompt is what training costs:

    transfer(from_id: str, amount: num, memo?: str)  Move money between two accounts.

Rendering only ever appends: the text of a conversation starts with the text of every earlier
state of it, so the tokens that a policy sampled are the tokens it is trained on.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

IM_START, IM_END = "<|im_start|>", "<|im_end|>"
CALL, CALL_END = "<tool_call>", "</tool_call>"
RESPONSE, RESPONSE_END = "<tool_response>", "</tool_response>"
CHAT_VERSION = 2
"""Written into a checkpoint's config; a checkpoint trained on another rendering is refused."""

CHAT_TEMPLATE = (
    "{% for m in messages %}{{ '<|im_start|>' + m['role'] + '\\n' + m['content'] + "
    "'<|im_end|>\\n' }}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}"
)
"""Jinja form for outside tools: feed it `plain(messages, tools)`, whose contents are text."""

_HEAD = f'To call a tool, write {CALL}{{"name":NAME,"arguments":{{...}}}}{CALL_END}'
_NAMES = {"string": "str", "integer": "int", "number": "num", "boolean": "bool", "array": "list"}

Message = Mapping[str, Any]
Tool = Mapping[str, Any]


class Piece(NamedTuple):
    """A stretch of rendered text; a control piece is one special token, never user text."""

    text: str
    control: bool = False


def signature(function: Mapping[str, Any]) -> str:
    """`name(param: type, param?: type)  First sentence.` of an OpenAI-style function."""
    parameters = function.get("parameters") or {}
    arguments = _fields(parameters, parameters.get("$defs", {}))
    head = f"{function['name']}({arguments})"
    summary = first_sentence(str(function.get("description", "")))
    return f"{head}  {summary}" if summary else head


def first_sentence(text: str) -> str:
    """The first sentence of a description, on one line."""
    flat = " ".join(text.split())
    return re.split(r"(?<=[.!?])\s", flat, maxsplit=1)[0]


def _fields(schema: Mapping[str, Any], defs: Mapping[str, Any]) -> str:
    required = set(schema.get("required", ()))
    parts = (
        f"{name}{'' if name in required else '?'}: {_type(part, defs)}"
        for name, part in schema.get("properties", {}).items()
    )
    return ", ".join(parts)


def _type(schema: Any, defs: Mapping[str, Any], depth: int = 0) -> str:
    """The type of one schema; `any` where it says nothing or nests deeper than eight levels."""
    if not isinstance(schema, Mapping) or depth > 8:
        return "any"
    if "$ref" in schema:
        return _type(defs.get(str(schema["$ref"]).rsplit("/", 1)[-1]), defs, depth + 1)
    if "enum" in schema or "const" in schema:
        return "|".join(compact(value) for value in schema.get("enum", [schema.get("const")]))
    for union in ("anyOf", "oneOf"):
        if union in schema:
            return "|".join(_type(part, defs, depth + 1) for part in schema[union])
    kind = schema.get("type", "any")
    if isinstance(kind, list):
        return "|".join(_type({**schema, "type": one}, defs, depth + 1) for one in kind)
    return _named(str(kind), schema, defs, depth)


def _named(kind: str, schema: Mapping[str, Any], defs: Mapping[str, Any], depth: int) -> str:
    if kind == "array" and "items" in schema:
        inner = _type(schema["items"], defs, depth + 1)
        return f"({inner})[]" if "|" in inner else f"{inner}[]"
    if kind == "object" and schema.get("properties"):
        return "{" + _fields(schema, defs) + "}"
    if kind == "object" and isinstance(schema.get("additionalProperties"), Mapping):
        return "{str: " + _type(schema["additionalProperties"], defs, depth + 1) + "}"
    if kind == "string" and "format" in schema:
        return str(schema["format"])
    return _NAMES.get(kind, kind)


def compact(value: Any) -> str:
    """JSON without spaces; lone surrogates, which no tokenizer takes, become `?`."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return clean(text)


def clean(text: str) -> str:
    """`text` with what UTF-8 cannot hold replaced by `?`."""
    return text.encode("utf-8", "replace").decode("utf-8")


def call_text(name: str, arguments: Any) -> str:
    """One Hermes call. `arguments` is an object, or a JSON text as OpenAI messages carry it."""
    if isinstance(arguments, str):
        try:
            arguments = json.loads(arguments or "{}")
        except ValueError:  # a malformed call of a foreign trace is shown as it was written
            return f'{CALL}{{"name":{compact(name)},"arguments":{clean(arguments)}}}{CALL_END}'
    return f"{CALL}{compact({'name': name, 'arguments': arguments})}{CALL_END}"


def assistant_text(message: Message) -> str:
    """What an assistant message looks like to the policy that writes it."""
    calls = [call["function"] for call in message.get("tool_calls") or ()]
    lines = [call_text(call["name"], call["arguments"]) for call in calls]
    content = clean(str(message.get("content") or ""))
    return "\n".join([content, *lines] if content else lines)


def tools_text(tools: Sequence[Tool]) -> str:
    """One signature a line."""
    return clean("\n".join(signature(tool["function"]) for tool in tools))


def system_text(messages: Sequence[Message], tools: Sequence[Tool]) -> str:
    """The system block: how to call, what the caller's system messages say, and the tools."""
    said = [str(m["content"]) for m in messages if m["role"] == "system" and m.get("content")]
    shown = [f"Tools:\n{tools_text(tools)}"] if tools else []
    return clean("\n".join([_HEAD, *said, *shown]))


def plain(messages: Sequence[Message], tools: Sequence[Tool]) -> list[dict[str, str]]:
    """The conversation with calls, results and tools written into the texts.

    Any ChatML template turns it into exactly what `opening`, `continuation` and `assistant_text`
    give piece by piece (as long as the tools do not change on the way).
    """
    rows = [{"role": "system", "content": system_text(messages, tools)}]
    results: list[str] = []
    for message in [*messages, {"role": "end"}]:
        if message["role"] == "tool":
            results.append(response_text(message))
            continue
        if results:
            rows.append({"role": "user", "content": "\n".join(results)})
            results = []
        if message["role"] == "assistant":
            rows.append({"role": "assistant", "content": assistant_text(message)})
        elif message["role"] == "user":
            rows.append({"role": "user", "content": clean(str(message["content"]))})
    return rows


def response_text(message: Message) -> str:
    """A tool's result as the policy reads it."""
    return f"{RESPONSE}{clean(str(message.get('content') or ''))}{RESPONSE_END}"


def opening(messages: Sequence[Message], tools: Sequence[Tool]) -> list[Piece]:
    """A conversation up to its first reply, ending where the policy starts to write."""
    rest = [message for message in messages if message["role"] != "system"]
    head = _block("system", system_text(messages, tools))
    return [*head, *_blocks(rest, ()), *_turn()]


def continuation(messages: Sequence[Message], new_tools: Sequence[Tool] = ()) -> list[Piece]:
    """What follows a reply: results or user text, tools that appear now, the next turn's start."""
    return [Piece("\n"), *_blocks(messages, new_tools), *_turn()]


def _blocks(messages: Sequence[Message], new_tools: Sequence[Tool]) -> list[Piece]:
    rows = plain(messages, ())[1:]
    if new_tools:
        rows = rows or [{"role": "user", "content": ""}]
        rows[-1]["content"] = f"New tools:\n{tools_text(new_tools)}\n{rows[-1]['content']}"
    return [piece for row in rows for piece in _block(row["role"], row["content"])]


def _block(role: str, content: str) -> list[Piece]:
    return [Piece(IM_START, True), Piece(f"{role}\n{content}"), Piece(IM_END, True), Piece("\n")]


def _turn() -> list[Piece]:
    return [Piece(IM_START, True), Piece("assistant\n")]
