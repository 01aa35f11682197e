"""Chat completions on the wire: messages as any endpoint takes them, bodies as they are read."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from provegym.errors import ModelFault
from provegym.rollout.parse import from_openai, json_object, parse, storable
from provegym.rollout.reply import Reply, ToolCall
from provegym.types import Usage

_NO_NAME_CHARACTER = re.compile(r"[^a-zA-Z0-9_.-]")
_KEPT = ("role", "content", "tool_calls", "tool_call_id")


class Completion(Struct, frozen=True):
    """The body of a chat completion, checked as far as it is used.

    `finish` is the endpoint's `finish_reason`; `refusal` is text in the field of that name.
    `usage` is None where the endpoint reports none. Of its prompt tokens, `cached_tokens` were
    read from the endpoint's own cache.
    """

    message: dict[str, Any]
    content: str
    calls: tuple[ToolCall, ...]
    reasoning: str
    refusal: str
    finish: str
    usage: Usage | None
    cached_tokens: int


def decode(body: bytes) -> Completion:
    """The completion in a response's body. Raises `ModelFault` for a body that holds none."""
    try:
        answer = json.loads(body)
        choice = answer["choices"][0]
        message, usage = choice["message"], answer.get("usage") or {}
        return Completion(
            message=message,
            content=_text(message.get("content")),
            calls=from_openai(message.get("tool_calls") or []),
            reasoning=str(message.get("reasoning_content") or message.get("reasoning") or ""),
            refusal=str(message.get("refusal") or ""),
            finish=str(choice.get("finish_reason") or ""),
            usage=_usage(usage),
            cached_tokens=int((usage.get("prompt_tokens_details") or {}).get("cached_tokens") or 0),
        )
    except (ValueError, RecursionError, LookupError, TypeError, AttributeError) as error:
        start = body[:200].decode("utf-8", "replace")
        raise ModelFault(f"the endpoint's answer is no chat completion: {start!r}") from error


def to_reply(completion: Completion, *, lenient: bool = True) -> Reply:
    """The message that was written.

    Calls are taken from `tool_calls`, and from the text where the endpoint parsed none.
    """
    usage, message = completion.usage or Usage(), completion.message
    if completion.calls:
        native = completion.calls
        return Reply(completion.content, native, usage, message, "native", completion.reasoning)
    parsed = parse(completion.content, lenient=lenient)
    reasoning = completion.reasoning or parsed.reasoning
    return Reply(parsed.content, parsed.calls, usage, message, parsed.form, reasoning)


def on_the_wire(message: Mapping[str, Any]) -> dict[str, Any]:
    """A message as any endpoint takes it back.

    Endpoints refuse a history whose calls have empty or odd names or broken arguments, although
    a model wrote them; refusing would turn the model's mistake into a fault of ours.
    """
    kept = {key: message[key] for key in _KEPT if key in message}
    if isinstance(kept.get("content"), str):
        kept["content"] = storable(kept["content"])  # UTF-8 holds no lone surrogate
    if "tool_calls" in kept:
        kept["tool_calls"] = [_acceptable(call) for call in kept["tool_calls"]]
    return kept


def _acceptable(call: Mapping[str, Any]) -> dict[str, Any]:
    name, arguments = call["function"]["name"], call["function"]["arguments"]
    if json_object(arguments) is None:
        arguments = json.dumps({"malformed": arguments})
    name = _NO_NAME_CHARACTER.sub("_", name)[:64] or "unknown"
    return {**call, "function": {"name": name, "arguments": arguments}}


def _text(content: Any) -> str:
    """Content is text, null, or a list of parts of which some are text."""
    if isinstance(content, list):
        return "".join(str(part.get("text") or "") for part in content)
    return str(content or "")


def _usage(usage: Mapping[str, Any]) -> Usage | None:
    if usage.get("prompt_tokens") is None:
        return None
    written = int(usage.get("completion_tokens") or 0)
    return Usage(max(0, int(usage["prompt_tokens"])), max(0, written))
