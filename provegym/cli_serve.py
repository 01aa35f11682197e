"""The verb `provegym serve`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from provegym import terminal
from provegym.errors import InputError, UnknownName
from provegym.options import Seed, Servers, example

if TYPE_CHECKING:
    from provegym.gateway.settings import Settings
    from provegym.types import Task

EXAMPLES = example(
    "provegym serve banking",
    "provegym serve --task tasks.jsonl:TASK_ID",
    "provegym serve --http --servers banking,calendar --port 8765",
    "PROVEGYM_TOKEN=SECRET provegym serve --http --host 0.0.0.0",
)


def serve(
    name: Annotated[
        str | None, typer.Argument(help="Servers with commas between, to serve over stdio.")
    ] = None,
    http: Annotated[
        bool, typer.Option("--http", help="Serve many sessions over HTTP, with the control API.")
    ] = False,
    servers: Servers = None,
    seed: Seed = 0,
    task: Annotated[
        str | None, typer.Option(help="Serve a task's world with its tools.", metavar="FILE:ID")
    ] = None,
    host: Annotated[str | None, typer.Option(help="Address; 127.0.0.1 if not given.")] = None,
    port: Annotated[
        int | None, typer.Option(min=0, max=65535, help="Port; 8765 if not given, 0 for any.")
    ] = None,
    token: Annotated[
        str | None,
        typer.Option(
            envvar="PROVEGYM_TOKEN", help="Needed where other machines reach the address."
        ),
    ] = None,
    allow_host: Annotated[
        list[str] | None, typer.Option(help="Another name that clients use; may be repeated.")
    ] = None,
    idle: Annotated[
        float | None, typer.Option(min=1, help="Seconds until an unused session ends; 1800.")
    ] = None,
    sessions: Annotated[
        int | None, typer.Option(min=1, help="Most sessions at once; 10000 if not given.")
    ] = None,
) -> None:
    """Serve worlds over MCP: to one client over stdio, or to many over HTTP."""
    from provegym.gateway.settings import Settings
    from provegym.names import servers_named

    ways = (http, name is not None, task is not None and not http)
    if sum(ways) != 1 or (servers and (name or task)):
        raise InputError("say what to serve: one of `serve NAME`, `serve --task FILE:ID`, --http")
    given: dict[str, Any] = {
        "host": host,
        "port": port,
        "token": token,
        "hosts": tuple(allow_host) if allow_host else None,
        "servers": servers_named(name or servers),
        "seed": seed,
        "task": task_of(task) if task else None,
        "idle": idle,
        "sessions": sessions,
    }
    settings = Settings(**{k: value for k, value in given.items() if value is not None})
    if http:
        over_http(settings)
    else:
        from provegym.gateway import stdio

        stdio.serve(settings)


def over_http(settings: Settings) -> None:
    """Serve until interrupted, and say where."""
    from provegym.gateway import http

    with http.listen(settings) as listening:
        terminal.note(f"serving {http.url_of(settings, listening)}")
        http.serve(http.new_rooms(settings), settings, listening)


def task_of(text: str) -> Task:
    """The task that FILE:ID names. Raises `InputError` for a file or task that is not there."""
    from provegym.rollout.run import load_tasks

    file, colon, task_id = text.partition(".jsonl:")
    if not colon:
        raise InputError(f"--task {text!r} is not FILE:ID, such as tasks.jsonl:banking-0001")
    tasks = {task.id: task for task in load_tasks(Path(f"{file}.jsonl"))}
    if task_id not in tasks:
        raise UnknownName("task", task_id, sorted(tasks)[:20])
    return tasks[task_id]
