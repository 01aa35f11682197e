"""What the control API takes and gives, as JSON; the OpenAPI document is made from these types."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec
from msgspec import Meta, Raw, Struct, field

from provegym.types import MOST_SEED, Changes, Place, Task, Tool
from provegym.world.session import Result

MOST_CALLS = 4096
"""Calls in one request."""
MOST_SECONDS = 86_400
"""Longest deadline."""
MOST_LEVELS = 128
"""Deepest nesting of a task; what is made of it is walked through level by level."""

Text = Annotated[str, Meta(max_length=200)]
Key = Annotated[
    str,
    Meta(
        min_length=1,
        max_length=200,
        description="The caller's own name of this call in its session: a call with the key of an "
        "earlier one is not run again, but answered as that one was.",
    ),
]
OpenKey = Annotated[
    str,
    Meta(
        min_length=1,
        max_length=200,
        description="The caller's own name of this opening, which nobody else can guess: one with "
        "the key of an earlier one gives the session of that.",
    ),
]
Arguments = Annotated[
    Raw,
    Meta(
        description="An object; or a string with the arguments' text as a model wrote it, broken "
        "or not.",
        extra_json_schema={"type": ["object", "string"]},
    ),
]
Seconds = Annotated[
    float,
    Meta(
        gt=0,
        le=MOST_SECONDS,
        description="Seconds for the whole request: calls not done by then have the outcome "
        "`infrastructure` and the code `deadline`.",
    ),
]
_MOST = Meta(max_length=MOST_CALLS)
_NO_ARGUMENTS = Raw(b"{}")
NO_JSON = (msgspec.DecodeError, UnicodeError, RecursionError)
"""What decoding raises for bytes that are no such JSON."""


def is_json(content_type: str) -> bool:
    """Whether a header Content-Type names JSON."""
    return content_type.partition(";")[0].strip().lower() == "application/json"


class Request(Struct, frozen=True, forbid_unknown_fields=True):
    """The body of a request: a field that is not known is refused."""


class Nothing(Request, frozen=True):
    """An empty object, or no body at all."""


class Fork(Request, frozen=True):
    """A fork, or the one that the key made before."""

    key: OpenKey | None = None


class OpenSession(Request, frozen=True):
    """A world by its seed and servers, or a task with the world that it is about."""

    seed: Annotated[int, Meta(ge=0, le=MOST_SEED)] | None = None
    servers: tuple[Text, ...] | None = None
    task: Task | None = None
    key: OpenKey | None = None


class CallRequest(Request, frozen=True):
    """One call of a tool."""

    name: str
    arguments: Arguments = field(default_factory=lambda: _NO_ARGUMENTS)
    key: Key | None = None


class SessionCall(CallRequest, frozen=True, kw_only=True):
    """One call of a tool in the session of that id."""

    session: str


class Calls(Request, frozen=True):
    """Calls of one session, in order."""

    calls: Annotated[tuple[CallRequest, ...], _MOST]
    deadline: Seconds | None = None


class ManyCalls(Request, frozen=True):
    """Calls of many sessions, those of each session in order."""

    calls: Annotated[tuple[SessionCall, ...], _MOST]
    deadline: Seconds | None = None


class Offer(Request, frozen=True):
    """The tools on offer from now on: by name, or those of a user turn of the task (0-based).

    With neither, all tools are.
    """

    tools: tuple[str, ...] | None = None
    turn: Place | None = None


class Restore(Request, frozen=True):
    """The snapshot to go back to."""

    snapshot: Text


class ScoreRequest(Request, frozen=True):
    """The reward's preset, with settings in its name if need be: `strict,beta=0.3`."""

    preset: Text = "paper"


class Opened(Struct, frozen=True):
    """A session. `mcp` is the path of its MCP endpoint; who knows it needs no token.

    `direct` is where the worker that holds it answers itself, told by a fleet at the opening.
    """

    id: str
    mcp: str
    task: str | None = None
    turn: int = 0
    direct: str = ""


class Listed(Struct, frozen=True):
    """The sessions alive, the longest unused first."""

    sessions: tuple[Opened, ...]


class Results(Struct, frozen=True):
    """What each call gave, in the order of the calls."""

    results: list[Result]


class Snapshot(Struct, frozen=True):
    """The name of a snapshot."""

    snapshot: str


class ChangesAnswer(Struct, frozen=True):
    """What differs from the world's start, in canonical form."""

    changes: Changes


class Digest(Struct, frozen=True):
    """Hash of the whole state, in hex."""

    digest: str


class Tools(Struct, frozen=True):
    """The tools on offer, in OpenAI's form."""

    tools: tuple[Tool, ...]


class Done(Struct, frozen=True):
    """It was done."""

    ok: bool = True


class Health(Struct, frozen=True):
    """The server is up."""

    status: str
    version: str
    sessions: int


class Problem(Struct, frozen=True):
    """What went wrong: a stable code, and one line for people."""

    code: str
    message: str
    details: dict[str, Any] = {}


class ErrorAnswer(Struct, frozen=True):
    """The body of every answer that is no success."""

    error: Problem
