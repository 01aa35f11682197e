"""The control API: sessions for those who train and evaluate, as JSON over HTTP.

It is told apart from the policy's tools by its paths. Every answer that is no success is
`{"error": {"code", "message", "details"}}`.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import msgspec
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from provegym.errors import (
    InfrastructureError,
    InputError,
    LimitReached,
    SessionError,
    SessionUnknown,
    UnknownName,
)
from provegym.gateway import listing, metrics, openapi
from provegym.gateway.apart import decoded
from provegym.gateway.batch import code_of
from provegym.gateway.door import may_be_deeper
from provegym.gateway.openings import Openings
from provegym.gateway.operations import OPERATIONS, Desk, Limits, Operation, Settings
from provegym.gateway.rooms import Open, Rooms, open_world
from provegym.gateway.wire import (
    MOST_LEVELS,
    NO_JSON,
    Calls,
    ErrorAnswer,
    ManyCalls,
    Problem,
    is_json,
)
from provegym.world.validate import is_deeper

Handler = Callable[[Request], Awaitable[Response]]

NO_SETTINGS = Limits()
DEEP = (Calls, ManyCalls)
"""Bodies whose depth is the session's to judge, call by call."""
_encode = msgspec.json.Encoder().encode


class WrongType(InputError):
    """A body that is not said to be JSON. A page of another origin may send such a one unasked,
    where JSON makes its browser ask first, which nobody answers (Fetch, "CORS-safelisted").
    """


def routes(rooms: Rooms, settings: Settings = NO_SETTINGS, open: Open = open_world) -> list[Route]:
    """The routes of the control API, with `/openapi.json`, `/healthz` and `/metrics`.

    The whole library is loaded here: its names are asked for later, in a loop that all sessions
    share, and would hold them up for the second that this takes.
    """
    listing.library()
    desk = Desk(rooms, settings, open, Openings())
    paths: dict[str, Methods] = {}
    for operation in OPERATIONS:
        methods = paths.setdefault(operation.path, Methods())
        methods[operation.method] = _handler(operation, desk)
    # One route a path, for they are tried in turn.
    found = [Route(path, methods, methods=list(methods)) for path, methods in paths.items()]

    async def scrape(_: Request) -> Response:
        return Response(metrics.text(rooms), media_type=metrics.CONTENT_TYPE)

    async def describe(_: Request) -> Response:
        return _json(openapi.document())

    return [*found, Route("/metrics", scrape), Route("/openapi.json", describe)]


class Methods(dict[str, Handler]):
    """What one path does, by method, as an app of ASGI."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        method = "GET" if scope["method"] == "HEAD" else scope["method"]
        answer = await self[method](Request(scope, receive, send))
        await answer(scope, receive, send)


def _handler(operation: Operation, desk: Desk) -> Handler:
    decode = msgspec.json.Decoder(operation.body).decode if operation.body else None

    async def handle(request: Request) -> Response:
        name = request.path_params.get("session", "")
        try:
            if request.scope["query_string"] and operation.path.startswith("/v1/"):
                raise InputError("no route takes a query (what stands after `?`); use the body")
            body = await _body(request, operation, decode) if decode else None
            answer = await operation.run(desk, name, body)
        except (SessionError, InputError, InfrastructureError, *NO_JSON) as error:
            return refusal(error)
        return _json(answer, operation.status)

    return handle


async def _body(request: Request, operation: Operation, decode: Callable[[bytes], Any]) -> Any:
    """What the body says. Raises what `NO_JSON` names, and as `_read` does."""
    body = await _read(request, operation)
    return await decoded(decode, body) if operation.body in DEEP else decode(body)


async def _read(request: Request, operation: Operation) -> bytes:
    """The body. Raises `InputError` for one that is nested too deep, `WrongType`."""
    body = await request.body()
    if not body:
        return b"{}"
    if not is_json(request.headers.get("content-type", "")):
        raise WrongType("send the body with the header `Content-Type: application/json`")
    if operation.body not in DEEP and may_be_deeper(body, MOST_LEVELS):
        _check_depth(body)
    return body


def _check_depth(body: bytes) -> None:
    try:
        deeper = is_deeper(msgspec.json.decode(body), MOST_LEVELS)
    except RecursionError:
        deeper = True
    if deeper:
        raise InputError(f"a body is nested at most {MOST_LEVELS} levels deep")


def refusal(error: Exception) -> Response:
    """The answer to a request that failed."""
    status, code = _kind(error)
    message = " ".join(str(error).split()).encode("utf-8", "backslashreplace").decode()
    return _json(ErrorAnswer(Problem(code, message)), status)


async def no_route(_: Request, error: Exception) -> Response:
    """The answer where no route leads, in the form of the others (see `ERRORS`)."""
    status = error.status_code if isinstance(error, HTTPException) else 404
    if status == 405:
        return _json(ErrorAnswer(Problem("wrong_method", "this path has other methods")), status)
    told = "there is nothing here; /openapi.json lists what there is"
    return _json(ErrorAnswer(Problem("no_route", told)), status)


async def crashed(_: Request, error: Exception) -> Response:
    """The answer to a request that met a bug of ours: the log has it, the client has not."""
    told = "the gateway failed; its log says why"
    return _json(ErrorAnswer(Problem("internal", told)), 500)


ERRORS = {404: no_route, 405: no_route, 500: crashed}
"""Exception handlers for the app that has these routes."""


def _kind(error: Exception) -> tuple[int, str]:
    """Status and stable code of what went wrong."""
    if isinstance(error, SessionError):
        return 404 if isinstance(error, SessionUnknown) else 410, code_of(error)
    if isinstance(error, LimitReached):
        return 429, "limit_reached"
    if isinstance(error, WrongType):
        return 415, "wrong_type"
    if isinstance(error, UnknownName):
        return 422, "unknown_name"
    if isinstance(error, InputError):
        return 422, "invalid_input"
    if isinstance(error, msgspec.ValidationError):
        return 422, "invalid_body"
    if isinstance(error, InfrastructureError):
        return 503, "infrastructure"
    return 400, "not_json"


def _json(answer: Any, status: int = 200) -> Response:
    return Response(_encode(answer), status, media_type="application/json")
