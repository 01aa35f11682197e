"""Tool calling as plain text, in Hermes' form, for models whose chat template knows no tools."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from provegym.rollout.parse import CLOSE, OPEN, json_object

Message = Mapping[str, Any]

_HEAD = f"""\
# Tools
You may call one or more functions. Their signatures, one JSON object a line:
<tools>
%s
</tools>
For each call write a JSON object with the function's name and arguments within these tags:
{OPEN}
{{"name": <function name>, "arguments": <JSON object>}}
{CLOSE}"""


def as_text(messages: Iterable[Message], tools: list[dict[str, Any]]) -> list[dict[str, str]]:
    """The same conversation in the roles system, user and assistant alone.

    The tools stand at the end of the system message; results of calls that were made together
    make one user message.
    """
    plain: list[dict[str, str]] = []
    if tools:
        messages = with_instruction(messages, _HEAD % _signatures(tools))
    for message in messages:
        role, content = message["role"], str(message.get("content") or "")
        if role == "assistant":
            content = "\n".join([*filter(None, [content]), *map(_call, _calls(message))])
        elif role == "tool":
            content = f"<tool_response>\n{content}\n</tool_response>"
        if role == "tool" and plain and plain[-1]["content"].startswith("<tool_response>"):
            plain[-1]["content"] += f"\n{content}"
        else:
            plain.append({"role": "user" if role == "tool" else role, "content": content})
    return plain


def with_instruction(messages: Iterable[Message], text: str) -> list[dict[str, Any]]:
    """The same conversation with `text` at the end of the system message, which is the first."""
    first, *others = [dict(message) for message in messages]
    if first["role"] != "system":
        return [{"role": "system", "content": text}, first, *others]
    return [{**first, "content": f"{first.get('content') or ''}\n\n{text}"}, *others]


def with_objects(messages: Iterable[Message]) -> list[dict[str, Any]]:
    """Messages whose calls hold their arguments as objects, as chat templates expect them."""
    return [
        {**message, "tool_calls": [_with_object(call) for call in message["tool_calls"]]}
        if message.get("tool_calls")
        else dict(message)
        for message in messages
    ]


def _with_object(call: Mapping[str, Any]) -> dict[str, Any]:
    function = call["function"]
    arguments = json_object(function["arguments"])
    if arguments is None:  # broken: the template quotes the text
        arguments = function["arguments"]
    return {**call, "function": {**function, "arguments": arguments}}


def _signatures(tools: list[dict[str, Any]]) -> str:
    return "\n".join(json.dumps(tool, ensure_ascii=False) for tool in tools)


def _calls(message: Message) -> list[Mapping[str, Any]]:
    return [call["function"] for call in message.get("tool_calls") or ()]


def _call(function: Mapping[str, Any]) -> str:
    """One call as its model may have written it; broken arguments as they are."""
    name = json.dumps(function["name"], ensure_ascii=False)
    return f'{OPEN}\n{{"name": {name}, "arguments": {function["arguments"]}}}\n{CLOSE}'
