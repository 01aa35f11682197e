"""Asking a model for something that must be of use: checked, and asked anew where it is not."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

import msgspec

from provegym.llm.teacher import Answer
from provegym.seeding import derive
from provegym.synth.offline import Rejected

ATTEMPTS = 3
"""How often one thing is asked for before the candidate is rejected."""
_PROMPTS = Path(__file__).parent / "prompts"
_UNUSABLE = "\n\nAn earlier answer of yours could not be used: {told}. Answer anew, and mind this."
_SEEDS = 2**31

Fault = tuple[str, str]
"""Why an answer is of no use: the reason that the yield counts, and words for the model."""
Json = dict[str, Any]


class Complete(Protocol):
    """Waits for the model's answer to chat messages."""

    def __call__(
        self,
        messages: Sequence[Json],
        tools: Sequence[Json] | None = None,
        *,
        seed: int,
        schema: Json | None = None,
    ) -> Answer:
        """As `provegym.llm.teacher.Teacher.complete`."""
        ...


class Asker:
    """The model in one conversation. Its n-th request has a seed of its own, so that the same
    conversation asks the same requests again, whatever else goes on.
    """

    def __init__(self, complete: Complete, root: int, *names: str | int) -> None:
        self._complete = complete
        self._root, self._names = root, names
        self._asked = 0

    def value(
        self,
        prompt: str,
        about: Mapping[str, Any],
        schema: Json,
        check: Callable[[Json], Fault | None],
    ) -> Json:
        """A JSON object by a schema of strings and booleans that passes the check.

        Raises `Rejected` with the last reason after `ATTEMPTS`.
        """
        messages = [
            {"role": "system", "content": prompt},
            {"role": "user", "content": msgspec.json.format(msgspec.json.encode(about)).decode()},
        ]
        answer = self._ask(messages, None, schema, lambda a: _misfit(a, schema) or check(a.value))
        found: Json = answer.value
        return found

    def message(
        self,
        messages: Sequence[Json],
        tools: Sequence[Json],
        check: Callable[[Answer], Fault | None],
    ) -> Answer:
        """The next assistant message, with calls or without. Raises `Rejected` as `value` does."""
        return self._ask(messages, tools, None, check)

    def _ask(
        self,
        messages: Sequence[Json],
        tools: Sequence[Json] | None,
        schema: Json | None,
        check: Callable[[Answer], Fault | None],
    ) -> Answer:
        self._asked += 1
        reason, asked = "", messages
        for attempt in range(ATTEMPTS):
            seed = derive(self._root, "ask", *self._names, self._asked, attempt) % _SEEDS
            answer = self._complete(asked, tools, seed=seed, schema=schema)
            if answer.overflow:
                raise Rejected("too_long_for_model")
            fault = _broken(answer) or check(answer)
            if fault is None:
                return answer
            reason, told = fault
            asked = _reminded(messages, told)
        raise Rejected(reason)


def prompt(*names: str) -> str:
    """The texts of those names, one after the other."""
    return "\n\n".join((_PROMPTS / f"{name}.md").read_text("utf-8").strip() for name in names)


def strings(*names: str, flags: Sequence[str] = ()) -> Json:
    """The schema of an object of strings and booleans, all of them required."""
    properties = {n: {"type": "string"} for n in names} | {n: {"type": "boolean"} for n in flags}
    closed = {"required": list(properties), "additionalProperties": False}
    return {"type": "object", "properties": properties, **closed}


def _reminded(messages: Sequence[Json], told: str) -> list[Json]:
    """The messages with a word about the last answer, in the system message: chat templates differ
    in where else they would take one.
    """
    first, *rest = messages
    return [{**first, "content": first["content"] + _UNUSABLE.format(told=told)}, *rest]


def _broken(answer: Answer) -> Fault | None:
    if answer.refusal:
        return "model_refused", "it was a refusal, but all of this is made up"
    if answer.finish == "length":
        return "cut_off", "it was too long and was cut off; be brief"
    return None


def _misfit(answer: Answer, schema: Json) -> Fault | None:
    """Endpoints without structured output give what they like."""
    value = answer.value
    types = {"string": str, "boolean": bool}
    wanted = {name: types[of["type"]] for name, of in schema["properties"].items()}
    if isinstance(value, dict) and all(isinstance(value.get(n), t) for n, t in wanted.items()):
        return None
    return "broken_json", f"it was not one JSON object with {', '.join(wanted)}"
