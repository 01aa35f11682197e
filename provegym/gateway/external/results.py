"""What a tool of an external server gave, as one JSON value."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import mcp_types as types
import msgspec
from msgspec import Struct

_encode = msgspec.json.Encoder().encode


class Answer(Struct, frozen=True):
    """A value, or the text of an error."""

    value: Any
    error: str = ""
    misused: bool = False
    """Whether the error is that the arguments do not fit."""


MISUSED = ("MCP error -32602", "Input validation error", "validation error for", "Unknown tool")
"""How servers of the usual SDKs begin to say so in a result."""


def answer(result: types.CallToolResult, most: int) -> Answer:
    """Read a result; what is longer than `most` characters is cut, with a note."""
    if result.is_error:
        text = _cut("\n".join(map(_text, result.content)) or "the tool failed", most)
        return Answer(None, text, misused=any(start in text[:200] for start in MISUSED))
    return Answer(capped(_value(result), most))


def _value(result: types.CallToolResult) -> Any:
    """The structured content or, without any, JSON in a single text, or the texts."""
    if result.structured_content is not None:
        return result.structured_content
    blocks = [_text(block) for block in result.content]
    if len(blocks) == 1 and isinstance(result.content[0], types.TextContent):
        found = _json(blocks[0])
        return {"text": blocks[0]} if found is None else found
    return {"text": "\n".join(blocks)}


def _json(text: str) -> Any:
    """An object or an array, if the text is one."""
    if not text.lstrip().startswith(("{", "[")):
        return None
    try:
        return msgspec.json.decode(text)
    except msgspec.MsgspecError:
        return None


def _text(block: Any) -> str:
    """A block of content; pictures and sounds are told of, not shown."""
    if isinstance(block, types.TextContent):
        return block.text
    if isinstance(block, types.ImageContent | types.AudioContent):
        return f"[{block.type}: {block.mime_type}, {len(block.data) * 3 // 4} bytes]"
    if isinstance(block, types.EmbeddedResource):
        inner = getattr(block.resource, "text", None)
        return inner if isinstance(inner, str) else f"[resource: {block.resource.uri}]"
    return f"[resource: {getattr(block, 'uri', '')}]"


def capped(value: Any, most: int) -> Any:
    """The value or, where its JSON is longer, the beginning of that text and how long it was."""
    text = _encode(value)
    if len(text) <= most:
        return value
    whole = value["text"] if _is_text(value) else text.decode(errors="replace")
    return {"text": _cut(whole, most), "cut": f"{len(whole)} characters in all; ask for less"}


def masked(found: Answer, secrets: Mapping[str, str]) -> Answer:
    """The answer with a name for each secret that stands in it."""
    if not secrets:
        return found
    return Answer(_masked(found.value, secrets), without(found.error, secrets), found.misused)


def _masked(value: Any, secrets: Mapping[str, str]) -> Any:
    if isinstance(value, dict):
        return {name: _masked(inner, secrets) for name, inner in value.items()}
    if isinstance(value, list):
        return [_masked(inner, secrets) for inner in value]
    return without(value, secrets) if isinstance(value, str) else value


def without(text: str, secrets: Mapping[str, str]) -> str:
    """The text with `$NAME` for each secret."""
    for name, secret in secrets.items():
        text = text.replace(secret, f"${name}")
    return text


def _is_text(value: Any) -> bool:
    return isinstance(value, dict) and value.keys() == {"text"} and isinstance(value["text"], str)


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[:most]}... [cut]"
