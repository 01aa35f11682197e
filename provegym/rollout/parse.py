"""Assistant text into content and tool calls. A broken call stays a call; nothing is dropped.

The form asked for is Hermes': `<tool_call>{"name": ..., "arguments": {...}}</tool_call>`, any
number in a message. Lenient parsing also takes fenced code blocks and bare JSON objects; which
form was used is recorded, so that form and content of an answer can be judged apart.

The text of the arguments is handed on as written (NaN, lone surrogates and doubled keys
included): the session decides what it is worth, the same way for every policy.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from typing import Any, NoReturn

import msgspec
from msgspec import Struct

from provegym.rollout.reply import CallForm, ToolCall

OPEN, CLOSE = "<tool_call>", "</tool_call>"

_THINKING = re.compile(r"\s*<think>(.*?)(?:</think>|\Z)", re.DOTALL)
_FENCE = re.compile(r"```(?:json|tool_call)?[ \t]*\n?(.*?)(?:```|\Z)", re.DOTALL)
_NAME_FIRST = re.compile(r"""\s*\{\s*["']name["']\s*:\s*["']([^"'\\]*)["']""")
_LOOKS_LIKE_CALL = re.compile(
    r"""\s*\{\s*["']name["']\s*:\s*["'][^"'\\]*["']\s*,\s*["'](?:arguments|parameters)["']\s*:"""
)
_ARGUMENTS = ("arguments", "parameters")


class Parsed(Struct, frozen=True):
    """What an assistant text holds. `content` is the text without calls and reasoning."""

    content: str
    calls: tuple[ToolCall, ...] = ()
    form: CallForm = "none"
    reasoning: str = ""


def parse(text: str, *, lenient: bool = True) -> Parsed:
    """Split an assistant text. Never raises: a call that cannot be read has the name "".

    A closing tag may be missing at the end of the text. What stands in a leading
    `<think>` block is reasoning and calls nothing.
    """
    reasoning, text = split_thinking(text)
    if OPEN in text:
        content, bodies = _tagged(text)
        return _parsed("tags", content, [_call(body, lenient) for body in bodies], reasoning)
    if lenient and (found := _untagged(text)):
        form, content, bodies = found
        return _parsed(form, content, [_call(body, lenient) for body in bodies], reasoning)
    return Parsed(text.strip(), reasoning=reasoning)


def from_openai(calls: Iterable[Mapping[str, Any]]) -> tuple[ToolCall, ...]:
    """The entries of an OpenAI message's `tool_calls`; arguments are handed on raw."""
    return tuple(_from_openai(call) for call in calls)


def json_object(text: str) -> dict[str, Any] | None:
    """`text` as a JSON object, of doubled keys the last; None where it is anything else.

    NaN, Infinity, lone surrogates, numbers out of range and excessive depth are no JSON.
    """
    try:
        return msgspec.json.decode(text, type=dict[str, Any])
    except (msgspec.MsgspecError, UnicodeEncodeError, RecursionError):
        return None


def json_value(text: str) -> Any:
    """The JSON value that an answer is, in a fenced code block or not; talk after an object or an
    array is let pass. None where there is none.
    """
    fence = _FENCE.search(text)
    for candidate in (text.strip(), fence[1].strip() if fence else ""):
        end = _json_end(candidate, 0)
        if end == len(candidate) or (end and candidate[0] in "{["):
            return _decoded(candidate[:end])
    return None


def split_thinking(text: str) -> tuple[str, str]:
    """What a model wrote for itself, and the rest.

    Where the chat template opened the block of thoughts, the text has its end alone.
    """
    if thinking := _THINKING.match(text):
        return thinking[1].strip(), text[thinking.end() :]
    before, end, after = text.partition("</think>")
    if end and OPEN not in before and not before.lstrip().startswith(("{", "[", "```")):
        return before.strip(), after
    return "", text


def storable(text: str) -> str:
    r"""`text` with lone surrogates written as their JSON escape (`\ud800`), so UTF-8 can hold it.

    Text that was no JSON because of them stays so.
    """
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def _from_openai(call: Mapping[str, Any]) -> ToolCall:
    function = call.get("function")
    function = function if isinstance(function, Mapping) else {}
    name, arguments = function.get("name"), function.get("arguments")
    if not isinstance(arguments, str):
        arguments = "{}" if arguments is None else json.dumps(arguments)
    return ToolCall(str(call.get("id") or ""), name if isinstance(name, str) else "", arguments)


def _parsed(form: CallForm, content: str, calls: list[ToolCall], reasoning: str) -> Parsed:
    return Parsed(content.strip(), tuple(calls), form, reasoning)


def _tagged(text: str) -> tuple[str, list[str]]:
    """The text around the tags, and what stands between them."""
    around: list[str] = []
    bodies: list[str] = []
    position = 0
    while (start := text.find(OPEN, position)) >= 0:
        around.append(text[position:start])
        end, position = _body_end(text, start + len(OPEN))
        bodies.append(text[start + len(OPEN) : end].strip())
    around.append(text[position:])
    return "".join(around), bodies


def _body_end(text: str, start: int) -> tuple[int, int]:
    """Where a call's body ends and where the text goes on.

    A tag inside a JSON string is no tag, so a whole JSON value is looked for first.
    """
    end = _json_end(text, start)
    if end is not None:
        after = _skip_space(text, end)
        if after == len(text) or text.startswith(OPEN, after):
            return end, after
        if text.startswith(CLOSE, after):
            return end, after + len(CLOSE)
    close, again = text.find(CLOSE, start), text.find(OPEN, start)
    if close >= 0 and not 0 <= again < close:
        return close, close + len(CLOSE)
    return (again, again) if again >= 0 else (len(text), len(text))


def _untagged(text: str) -> tuple[CallForm, str, list[str]] | None:
    """Calls in fenced code blocks, else as the JSON that the text starts with."""
    fenced = [match for match in _FENCE.finditer(text) if _is_call(match[1])]
    if fenced:
        rest = _FENCE.sub(lambda match: "" if _is_call(match[1]) else match[0], text)
        return "fence", rest, [match[1].strip() for match in fenced]
    bodies, rest = _bare(text)
    return ("bare", rest, bodies) if bodies else None


def _bare(text: str) -> tuple[list[str], str]:
    """The calls that a text starts with, one after the other; talk after them is kept."""
    bodies: list[str] = []
    position = _skip_space(text, 0)
    while text.startswith("{", position) and _is_call(text[position:]):
        end = _json_end(text, position) or len(text)
        bodies.append(text[position:end])
        position = _skip_space(text, end)
    return bodies, text[position:]


def _is_call(text: str) -> bool:
    """Whether an untagged text is meant as a call: a name first, and arguments or parameters."""
    if _LOOKS_LIKE_CALL.match(text):
        return True
    start = _skip_space(text, 0)
    end = _json_end(text, start) if text.startswith("{", start) else None
    fields = _fields(text[start:end]) if end else None
    return fields is not None and "name" in fields and any(key in fields for key in _ARGUMENTS)


def _call(body: str, lenient: bool) -> ToolCall:
    """The call in one body; where it is broken, its raw text stands for the arguments."""
    fence = _FENCE.fullmatch(body) if lenient else None
    fields = _fields(fence[1] if fence else body)
    if fields is None:
        readable = _NAME_FIRST.match(body)
        return ToolCall("", readable[1] if readable else "", body)
    name = _decoded(fields.get("name"))
    given = next((fields[key] for key in _ARGUMENTS if key in fields), "{}")
    inner = _decoded(given) if lenient else None
    return ToolCall(
        "", name if isinstance(name, str) else "", inner if isinstance(inner, str) else given
    )


def _fields(body: str) -> dict[str, str] | None:
    """The fields of a JSON object as the text they were written in; None for anything else."""
    try:
        raw = msgspec.json.decode(body, type=dict[str, msgspec.Raw])
    except (msgspec.MsgspecError, UnicodeEncodeError, RecursionError):
        return None
    return {key: bytes(value).decode() for key, value in raw.items()}


def _decoded(text: str | None) -> Any:
    try:
        return None if text is None else msgspec.json.decode(text)
    except (msgspec.MsgspecError, RecursionError):
        return None


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is no JSON")


_decoder = json.JSONDecoder(parse_constant=_refuse)


def _json_end(text: str, start: int) -> int | None:
    """Where the JSON value that begins at `start` ends; None where there is none."""
    try:
        return _decoder.raw_decode(text, _skip_space(text, start))[1]
    except (ValueError, RecursionError):
        return None


def _skip_space(text: str, position: int) -> int:
    while position < len(text) and text[position] in " \t\r\n":
        position += 1
    return position
