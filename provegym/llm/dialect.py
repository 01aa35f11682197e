"""A request in the words of one endpoint."""

from __future__ import annotations

import json
import re
from functools import cached_property
from typing import Any, Literal

import openai
from msgspec import Struct

from provegym.llm.hermes import as_text, with_instruction
from provegym.records import config_hash

Mode = Literal["tools", "json"]
"""How tools are offered: natively, or described in the prompt and called in JSON."""

_ANSWER_IN_JSON = """\
Answer with one JSON value that fits this JSON Schema, and with nothing else:
%s"""
_NOT_KNOWN = (
    r"unsupported|not support|unknown|unrecogni[sz]ed|unexpected|not permitted|not allowed|"
    r"not implemented"
)
_UNWANTED: dict[str, re.Pattern[str]] = {
    "response_format": re.compile(
        r"^(?!.*invalid (json )?schema).*(response_format|json_schema|structured output)",
        re.IGNORECASE | re.DOTALL,
    ),
    **{
        name: re.compile(
            rf"^(?=.*({_NOT_KNOWN})).*\b{name}\b",
            re.IGNORECASE | re.DOTALL,
        )
        for name in ("max_tokens", "seed", "temperature")
    },
}
"""How endpoints say that they do not take a field of the request."""


class Request(Struct, frozen=True, dict=True):
    """What is asked of a model: all that shapes its answer, and nothing besides.

    `schema` is the JSON Schema of the answer, `extra` are further fields of the request's body.
    """

    model: str
    messages: list[dict[str, Any]]
    seed: int
    temperature: float
    max_tokens: int
    tools: list[dict[str, Any]] = []
    schema: dict[str, Any] | None = None
    mode: Mode = "tools"
    extra: dict[str, Any] = {}

    @cached_property
    def key(self) -> str:
        """SHA-256, in hex, of the request in canonical JSON. Raises ValueError on NaN."""
        return config_hash(self)


class Dialect:
    """What one endpoint was found not to know, and how to do without.

    Without `response_format` the schema stands in the prompt; `max_tokens` becomes
    `max_completion_tokens`, as newer models call it; a seed and a temperature are left out.
    """

    def __init__(self) -> None:
        self._unwanted: set[str] = set()

    def body(self, request: Request) -> dict[str, Any]:
        """The request as it is sent."""
        messages, tools = request.messages, request.tools
        if request.mode == "json":
            messages, tools = [dict(message) for message in as_text(messages, tools)], []
        length = "max_completion_tokens" if "max_tokens" in self._unwanted else "max_tokens"
        body = {
            "model": request.model,
            "messages": messages,
            "seed": request.seed,
            "temperature": request.temperature,
            length: request.max_tokens,
            **({"tools": tools} if tools else {}),  # an empty list is refused
            **request.extra,
        }
        if request.schema is not None:
            body |= self._format(request.schema, messages)
        return {name: body[name] for name in body if name not in self._unwanted}

    def learn(self, error: openai.APIStatusError, body: dict[str, Any]) -> str:
        """The field of a refused body that the endpoint does not know; "" where it is not that."""
        said = f"{error} {error.param}"
        for name, words in _UNWANTED.items():
            if name in body and words.search(said):
                self._unwanted.add(name)
                return name
        return ""

    def _format(self, schema: dict[str, Any], messages: list[dict[str, Any]]) -> dict[str, Any]:
        if "response_format" in self._unwanted:
            wanted = json.dumps(schema, ensure_ascii=False)
            return {"messages": with_instruction(messages, _ANSWER_IN_JSON % wanted)}
        form = {"name": "answer", "schema": schema, "strict": True}
        return {"response_format": {"type": "json_schema", "json_schema": form}}
