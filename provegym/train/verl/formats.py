"""How models write tool calls. A broken call stays a call, for the reward to judge it.

Only the form that a model was asked for is read, since that is what servers read later.
"""

from __future__ import annotations

import re
from collections.abc import Callable

import msgspec

from provegym.rollout.parse import CLOSE, OPEN, Parsed, parse

_LIST = re.compile(
    r"\s*(?:<\|tool_call\|>|<tool_call>)\s*(\[.*?)\s*(?:</tool_call>\s*)?\Z", re.DOTALL
)


def hermes(text: str) -> Parsed:
    """Qwen's form: `<tool_call>{"name": ..., "arguments": {...}}</tool_call>`, any number."""
    return parse(text, lenient=False)


def granite(text: str) -> Parsed:
    """Granite 4's form, which is Hermes', or Granite 3's: one JSON list after `<|tool_call|>`."""
    found = _LIST.match(text)
    if not found:
        return hermes(text)
    return hermes("".join(f"{OPEN}{body}{CLOSE}" for body in _bodies(found[1])))


def _bodies(text: str) -> list[str]:
    """The entries of a JSON list as they are written; a broken list is one broken call."""
    try:
        return [bytes(raw).decode() for raw in msgspec.json.decode(text, type=list[msgspec.Raw])]
    except (msgspec.MsgspecError, UnicodeEncodeError, RecursionError):
        return [text]


FORMATS: dict[str, Callable[[str], Parsed]] = {"hermes": hermes, "granite": granite}
