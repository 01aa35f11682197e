"""What a model gets wrong, as scripts."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable

from provegym.llm.scripted import Json, Response, Script, says
from provegym.synth.asker import prompt

Spoiler = Callable[[Json], Response | None]


def wish(words: str) -> Spoiler:
    """Say this as the user."""

    def spoil(request: Json) -> Response | None:
        value = {"goal": words, "withheld": "", "words": words}
        return says(json.dumps(value)) if is_wish(request) else None

    return spoil


def is_wish(request: Json) -> bool:
    return str(request["messages"][0]["content"]).startswith(prompt("user"))


def garbage(request: Json) -> Response | None:
    return says('{"goal": "x", "words": ') if is_wish(request) else None


def step(answer: Callable[[Json], Response]) -> Spoiler:
    return lambda request: answer(request) if "tools" in request else None


def call(name: str, arguments: str) -> Response:
    function = {"name": name, "arguments": arguments}
    return says(None, tool_calls=[{"id": "c", "type": "function", "function": function}])


def failing(request: Json) -> Response:
    """A look-up of a row that there is not."""
    tools = {tool["function"]["name"]: tool["function"]["parameters"] for tool in request["tools"]}
    name = next(n for n in ("list_transactions", "get_event", "get_order") if n in tools)
    key = next(k for k in tools[name]["properties"] if k.endswith("_id"))
    return call(name, json.dumps({key: "none_000000"}))


def spoiled_at_first(script: Script, spoil: Spoiler, times: int) -> Script:
    """A model whose first so many answers of a kind are spoilt."""
    left = [times]

    def answer(request: Json) -> Response | Awaitable[Response]:
        found = spoil(request) if left[0] else None
        if found is None:
            return script(request)
        left[0] -= 1
        return found

    return answer
