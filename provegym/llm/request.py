"""A request for a chat completion, checked as far as a served model reads it.

The form is OpenAI's (https://platform.openai.com/docs/api-reference/chat/create). What says
nothing to the model (`seed`, `user`, `store`) passes; what would change an answer and is not
honoured here is refused, never ignored.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta, Struct

from provegym.errors import InputError, seen

PASSING: Mapping[str, tuple[Any, ...]] = {
    "n": (1,),
    "stop": ([],),
    "tool_choice": ("auto", "none"),
    "response_format": ({"type": "text"},),
    "logprobs": (False,),
    "top_logprobs": (0,),
    "top_p": (1,),
    "top_k": (-1, 0),
    "min_p": (0,),
    "frequency_penalty": (0,),
    "presence_penalty": (0,),
    "repetition_penalty": (1,),
    "logit_bias": ({},),
    "functions": ([],),
    "function_call": ("auto", "none"),
}
"""Settings that would change an answer, and the values that leave it as it is; null does, too."""

_GREEDY = 0.01
"""A temperature up to this is taken for 0, as BFCL's 0.001 is meant."""
_PLACE = re.compile(r"`\$\.?(\S*?)`$")


class BadRequest(InputError):
    """A request that cannot be answered as it is meant; `param` is the field at fault."""

    def __init__(self, told: str, param: str | None = None) -> None:
        super().__init__(told)
        self.param = param


class Text(Struct, tag_field="type", tag="text"):
    """A part of a content; there is no other than text."""

    text: str


Content = str | list[Text]


class System(Struct, tag_field="role", tag="system"):
    """What the caller's program says."""

    content: Content


class Developer(Struct, tag_field="role", tag="developer"):
    """The newer name of `system`."""

    content: Content


class User(Struct, tag_field="role", tag="user"):
    """What the user says."""

    content: Content


class Called(Struct):
    """A tool's name and its arguments, as JSON text or already read."""

    name: str
    arguments: str | dict[str, Any]


class Call(Struct):
    """A call that the model made."""

    function: Called
    type: Literal["function"] = "function"


class Assistant(Struct, tag_field="role", tag="assistant"):
    """What the model said."""

    content: Content | None = None
    tool_calls: list[Call] | None = None


class Result(Struct, tag_field="role", tag="tool"):
    """What a call gave."""

    content: Content


class Function(Struct):
    """What a tool is called and takes."""

    name: str
    description: str | None = None
    parameters: dict[str, Any] | None = None


class Tool(Struct):
    """A tool that the model may call."""

    function: Function
    type: Literal["function"] = "function"


Tokens = Annotated[int, Meta(ge=1)]


class StreamOptions(Struct):
    """How a stream ends."""

    include_usage: bool | None = None


class Request(Struct):
    """The fields that are read. `limit` tells the most tokens of the answer."""

    model: str
    messages: Annotated[list[System | Developer | User | Assistant | Result], Meta(min_length=1)]
    tools: list[Tool] | None = None
    temperature: float | None = None
    max_tokens: Tokens | None = None
    max_completion_tokens: Tokens | None = None
    stream: bool | None = None
    stream_options: StreamOptions | None = None

    @property
    def limit(self) -> int | None:
        """The most tokens of the answer; None where the request sets none."""
        given = (self.max_tokens, self.max_completion_tokens)
        return min((tokens for tokens in given if tokens is not None), default=None)


class Asked(Struct, frozen=True):
    """A checked request, and its messages and tools in the form that a policy takes."""

    request: Request
    messages: list[dict[str, Any]]
    tools: list[dict[str, Any]]


def read(body: bytes, temperature: float) -> Asked:
    """The request in a body, for a model that is sampled at `temperature`.

    Raises `BadRequest` for what is no request, and for what cannot be honoured.
    """
    try:
        raw = msgspec.json.decode(body)
        request = msgspec.convert(raw, Request)
    except RecursionError:
        raise BadRequest("the body is nested too deeply to be read") from None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise BadRequest(f"the request cannot be read: {error}", _param(str(error))) from error
    _check(raw, request.temperature, temperature)
    tools = [] if raw.get("tool_choice") == "none" else raw.get("tools") or []
    return Asked(request, [_plain(message) for message in raw["messages"]], tools)


def _param(told: str) -> str | None:
    """The field that a message of msgspec names."""
    if place := _PLACE.search(told):
        return place[1] or None
    field = re.search(r"field `(\w+)`", told)
    return field[1] if field else None


def _check(raw: Mapping[str, Any], asked: float | None, own: float) -> None:
    """Raise `BadRequest` for a setting that would change the answer and is not honoured."""
    if asked is not None and asked != own and not (own == 0 and 0 <= asked <= _GREEDY):
        told = f"sampled at temperature {own}; serve it with --temperature {asked}"
        raise BadRequest(told, "temperature")
    for name, passing in PASSING.items():
        value = raw.get(name)
        if value is not None and value not in passing:
            raise BadRequest(f"{name} {seen(value)} is not honoured here; leave it out", name)


def _plain(message: dict[str, Any]) -> dict[str, Any]:
    """A message with its content as one text, and of a role that every rendering knows."""
    plain = dict(message)
    if isinstance(parts := message.get("content"), list):
        plain["content"] = "".join(part["text"] for part in parts)
    if message["role"] == "developer":
        plain["role"] = "system"
    return plain
