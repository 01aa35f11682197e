"""The page's server: its files, and what they ask for as JSON, behind the gateway's guard."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Collection, Iterable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from provegym import __version__
from provegym.errors import (
    InfrastructureError,
    InputError,
    ProvegymError,
    SessionError,
    UnknownName,
    seen,
)
from provegym.gateway.guard import Guard
from provegym.gateway.settings import Settings
from provegym.rewards import PRESETS
from provegym.viewer import episode, lists, runs, tasks, traces, worlds
from provegym.viewer.place import Place
from provegym.viewer.play import Game, Games, opened

STATIC = Path(__file__).with_name("static")
PAGES = ("/", "/worlds", "/play", "/tasks", "/traces", "/runs")
HEADERS = (
    (b"content-security-policy", b"default-src 'none'; script-src 'self'; style-src 'self'; "
     b"img-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; "
     b"frame-ancestors 'none'"),
    (b"x-content-type-options", b"nosniff"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"referrer-policy", b"no-referrer"),
    (b"cache-control", b"no-cache"),
)  # fmt: skip
"""Of every answer. What a trace holds is text; were it ever taken for a script, none would run."""


def app(folder: Path, settings: Settings) -> Starlette:
    """The whole viewer of a folder as an ASGI app. Raises `InputError` for what is no folder."""
    place, games = Place(folder), Games()

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        yield
        place.close()

    return Starlette(
        routes=[
            *(Route(path, _page) for path in PAGES),
            *_looking(place),
            *_playing(games),
            Mount("/static", StaticFiles(directory=STATIC)),
        ],
        middleware=[Middleware(Headers), Middleware(Guard, settings=settings)],
        exception_handlers={ProvegymError: _told},
        lifespan=lifespan,
    )


class Headers:
    """Adds `HEADERS` to every answer."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""

        async def told(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message["headers"], *HEADERS]
            await send(message)

        await self._app(scope, receive, told)


def _page(request: Request) -> Response:
    return Response((STATIC / "index.html").read_bytes(), media_type="text/html")


def _json(value: Any, status: int = 200) -> Response:
    return Response(msgspec.json.encode(value), status, media_type="application/json")


def _told(request: Request, error: Exception) -> Response:
    """An error as JSON; the user's own has 4xx, a fault of ours 500."""
    ours = isinstance(error, InfrastructureError)
    missing = isinstance(error, UnknownName | SessionError)
    return _json({"error": str(error)}, 500 if ours else 404 if missing else 400)


Answer = Callable[[Request], Any]


def _get(path: str, answer: Answer, *known: str) -> Route:
    """A route whose answer is made in a thread and sent as JSON; `known` is what it may be asked
    with.
    """

    def endpoint(request: Request) -> Response:
        _check_known("parameter", request.query_params, known)
        return _json(answer(request))

    return Route(path, endpoint)


def _post(path: str, answer: Callable[[Request, dict[str, Any]], Any], *known: str) -> Route:
    """The same for a body that is a JSON object of `known` fields. Another site can send none of
    that type.
    """

    async def endpoint(request: Request) -> Response:
        if request.headers.get("content-type", "").partition(";")[0] != "application/json":
            raise InputError("the body has to be application/json")
        try:
            told = msgspec.json.decode(await request.body() or b"{}", type=dict[str, Any])
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
            raise InputError(f"the body is no JSON object: {error}") from error
        _check_known("parameter", request.query_params, ())
        _check_known("field", told, known)
        return _json(await run_in_threadpool(answer, request, told))

    return Route(path, endpoint, methods=["POST"])


def _check_known(what: str, asked: Iterable[str], known: Collection[str]) -> None:
    """Raise `InputError` for what nobody would look at, and its sender believes in."""
    for name in asked:
        if name not in known:
            listed = f"known: {', '.join(known)}" if known else "none is taken here"
            raise InputError(f"unknown {what} {seen(name)}; {listed}")


# -- looking -----------------------------------------------------------------------------------


def _looking(place: Place) -> list[BaseRoute]:
    def files(request: Request) -> Any:
        name = place.folder.resolve().name
        return {"folder": name, "version": __version__, "files": place.files()}

    def graph(request: Request) -> Any:
        if "file" in request.query_params:
            return worlds.graph_at(place.path(_asked(request, "file"), "graph"))
        return worlds.graph_of(_asked(request, "server"))

    def rows(request: Request) -> Any:
        names = (_asked(request, "server"),)
        return _rows(request, opened(_number(request, "seed"), names))

    def task(request: Request) -> Any:
        return tasks.shown(place.task(_asked(request, "file"), _asked(request, "id")))

    def trace(request: Request) -> Any:
        file, preset = _asked(request, "file"), request.query_params.get("preset", "strict")
        found = place.trace(file, _asked(request, "id"))
        shown = episode.shown(place.task_of(file, found), found, preset)
        return {**shown, "tasks": place.tasks_of(file), "presets": list(PRESETS)}

    def curves(request: Request) -> Any:
        path = place.path(_asked(request, "file"), "curves")
        found, end = runs.rows(path, _number(request, "from"))
        return {"rows": found, "next": end}

    return [
        _get("/api/files", files),
        _get("/api/servers", lambda _: worlds.listed()),
        _get(
            "/api/server",
            lambda r: worlds.server(_asked(r, "name"), _number(r, "seed")),
            *("name", "seed"),
        ),
        _get("/api/rows", rows, "server", "seed", *ROWS),
        _get("/api/graph", graph, "file", "server"),
        _lists(place, "/api/tasks", tasks.SHAPE),
        _get("/api/task", task, "file", "id"),
        _lists(place, "/api/traces", traces.SHAPE),
        _get("/api/trace", trace, "file", "id", "preset"),
        _get("/api/played", lambda request: _played(place, _asked(request, "task")), "task"),
        _get("/api/runs", lambda _: runs.listed(place)),
        _get("/api/ablations", lambda r: runs.ablated(place, r.query_params.get("run", "")), "run"),
        _get("/api/curves", curves, "file", "from"),
        _get("/api/synthesis", lambda r: runs.synthesis(place, _asked(r, "file")), "file"),
    ]


ROWS = ("table", "q", "offset")
"""What a page of a table's rows is asked with."""


def _lists(place: Place, path: str, shape: lists.Shape) -> Route:
    own = ("file", "q", "order", "offset", "against")
    return _get(path, lambda request: _listed(place, request, shape), *own, *shape.facets)


def _listed(place: Place, request: Request, shape: lists.Shape) -> Any:
    """A page of tasks or traces, and how far the index is."""
    asked = request.query_params
    of = place.tasks if shape is tasks.SHAPE else place.traces
    index = of(_asked(request, "file"))
    against = _other(place, asked["against"]) if asked.get("against") else None
    wanted = lists.Wanted(
        filters={name: asked[name] for name in shape.facets if name in asked},
        text=asked.get("q", ""),
        order=asked.get("order", "file"),
        offset=_number(request, "offset"),
        against=against,
    )
    progress = index.progress()  # before the rows: they are there once it says so
    return {
        **msgspec.structs.asdict(lists.page(index, shape, wanted)),
        "orders": list(shape.orders),
        "progress": progress,
    }


def _other(place: Place, name: str) -> Path:
    """Where the index of another file lies, with tables in it."""
    index = place.traces(name)
    with index.reading():
        return index.place


def _played(place: Place, task: str) -> list[dict[str, Any]]:
    """Every episode of a task, in whatever file."""
    found = []
    for name, index in place.played():
        with index.reading() as base:
            asked = "SELECT id, policy, reward, result FROM rows WHERE task = ? ORDER BY n"
            found += [{"file": name, **dict(row)} for row in base.execute(asked, (task,))]
    return found


def _rows(request: Request, game: Game) -> Any:
    asked = request.query_params
    offset = _number(request, "offset")
    return worlds.rows(game.session, _asked(request, "table"), asked.get("q", ""), offset)


def _asked(request: Request, name: str) -> str:
    """A parameter of the question. Raises `InputError` where it is missing."""
    if name not in request.query_params:
        raise InputError(f"the question lacks {name}")
    return request.query_params[name]


def _number(request: Request, name: str) -> int:
    """A parameter that is 0 if not given."""
    return whole(request.query_params.get(name, "0"))


def whole(told: Any) -> int:
    """A whole number from 0 on. Raises `InputError`."""
    text = str(told)
    if not text.isascii() or not text.isdecimal() or len(text) > 18:
        raise InputError(f"{seen(text)} is no whole number from 0 on")
    return int(text)


# -- playing -----------------------------------------------------------------------------------


def _playing(games: Games) -> list[BaseRoute]:
    def game(request: Request) -> Game:
        return games.get(request.path_params["id"])

    def start(request: Request, told: dict[str, Any]) -> Any:
        seed, names = whole(told.get("seed", 0)), told.get("servers", [])
        if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
            raise InputError(f'servers is {seen(names)}; give a list of names, as ["banking"]')
        return {"id": games.keep(opened(seed, tuple(names)))}

    def call(request: Request, told: dict[str, Any]) -> Any:
        found, name = game(request), told.get("name")
        if not isinstance(name, str):
            raise InputError(f"name is {seen(name)}; give the name of a tool")
        with found.lock:
            found.call(name, told.get("arguments"))
            return found.shown()

    def undo(request: Request, told: dict[str, Any]) -> Any:
        found = game(request)
        with found.lock:
            found.undo()
            return found.shown()

    def example(request: Request) -> Any:
        return game(request).example(_asked(request, "name"), _number(request, "number"))

    def fork(request: Request, told: dict[str, Any]) -> Any:
        found = game(request)
        with found.lock:
            return {"id": games.keep(found.fork())}

    def end(request: Request, told: dict[str, Any]) -> Any:
        games.close(request.path_params["id"])
        return {}

    return [
        _post("/api/play", start, "seed", "servers"),
        _get("/api/play/{id}", lambda request: game(request).shown()),
        _get("/api/play/{id}/example", example, "name", "number"),
        _get("/api/play/{id}/rows", lambda request: _rows(request, game(request)), *ROWS),
        _post("/api/play/{id}/call", call, "name", "arguments"),
        _post("/api/play/{id}/undo", undo),
        _post("/api/play/{id}/fork", fork),
        _post("/api/play/{id}/close", end),
    ]
