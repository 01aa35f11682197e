"""The verbs `provegym serve` and `provegym serve-model`."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from msgspec.structs import replace

from provegym import terminal
from provegym.errors import InputError, UnknownName
from provegym.options import MOST_TEMPERATURE, MostTokens, Seed, Servers, example
from provegym.types import MOST_AT_ONCE

if TYPE_CHECKING:
    from provegym.gateway.settings import Settings
    from provegym.types import Task

EXAMPLES = example(
    "provegym serve banking",
    "provegym serve --task tasks.jsonl:TASK_ID",
    "provegym serve --http --servers banking,calendar --port 8765",
    "PROVEGYM_TOKEN=$(openssl rand -hex 32) provegym serve --http --host 0.0.0.0",
    "provegym serve --http --workers 8",
)
Token = Annotated[
    str | None,
    typer.Option(envvar="PROVEGYM_TOKEN", help="Needed where other machines reach the address."),
]
AllowHost = Annotated[
    list[str] | None, typer.Option(help="Another name that clients use; may be repeated.")
]
Workers = Annotated[
    int | None,
    typer.Option(
        min=1, max=MOST_AT_ONCE, help="So many processes share the sessions behind the port."
    ),
]
Engine = Annotated[
    str, typer.Option(help="What workers are: processes here, or actors of a cluster (ray).")
]

HOST = re.compile(r"[a-z0-9_]([a-z0-9._-]*[a-z0-9_])?|\[[0-9a-f:.]+\]")
"""A name or an address of version 4, or one of version 6 in brackets (RFC 3986, 3.2.2)."""
Rate = Annotated[
    float | None,
    typer.Option(min=0, help="Most requests a second to one session; 1000, or 0 for any."),
]


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
    token: Token = None,
    allow_host: AllowHost = None,
    idle: Annotated[
        float | None, typer.Option(min=1, help="Seconds until an unused session ends; 1800.")
    ] = None,
    sessions: Annotated[
        int | None, typer.Option(min=1, help="Most sessions at once; 10000 if not given.")
    ] = None,
    rate: Rate = None,
    workers: Workers = None,
    engine: Engine = "processes",
) -> None:
    """Serve worlds over MCP: to one client over stdio, or to many over HTTP."""
    from provegym.names import servers_named

    _check_ways(http, name, servers, task)
    over_stdio = {"--host": host, "--port": port, "--allow-host": allow_host, "--idle": idle}
    over_stdio |= {"--sessions": sessions, "--rate": rate, "--workers": workers}
    if not http:
        _check_none_is_given(over_stdio)
    given: dict[str, Any] = {
        "host": host,
        "port": port,
        "token": _token(token) if http else token,
        "hosts": tuple(map(host_named, allow_host)) if allow_host else None,
        "servers": servers_named(servers if name is None else name),
        "seed": seed,
        "task": None if task is None else task_of(task),
        "idle": idle,
        "sessions": sessions,
        "rate": rate,
    }
    settings = settings_of(given)
    if workers or engine != "processes":
        over_fleet(settings, workers, engine, http)
    elif http:
        over_http(settings)
    else:
        from provegym.gateway import stdio

        stdio.serve(settings)


def _check_ways(http: bool, name: str | None, servers: str | None, task: str | None) -> None:
    """Raise `InputError` unless exactly one thing is to be served."""
    if http and name is not None:
        raise InputError(f"{name!r} beside --http: name servers over HTTP with --servers {name}")
    if sum((http, name is not None, task is not None and not http)) != 1:
        raise InputError("say what to serve: one of `serve NAME`, `serve --task FILE:ID`, --http")
    if servers is not None and (name is not None or task is not None):
        other = "--task" if name is None else repr(name)
        raise InputError(f"--servers {servers} beside {other}: say in one place what to serve")


def _token(token: str | None) -> str | None:
    """The token, "" where its variable is set to nothing, which typer takes for none."""
    return os.environ.get("PROVEGYM_TOKEN") if token is None else token


def _check_none_is_given(options: dict[str, Any]) -> None:
    """Raise `InputError` for an option that stdio has no use for."""
    for option, value in options.items():
        if value is not None:
            raise InputError(f"{option} is for serving over HTTP; add --http, or leave it out")


def host_named(told: str) -> str:
    """A name that a request's field Host may have, without its port. Raises `InputError`."""
    name = told.lower()
    if not HOST.fullmatch(name):
        raise InputError(
            f"--allow-host {told!r} is no host's name; give the name alone, such as gym.example"
        )
    return name


def settings_of(given: dict[str, Any]) -> Settings:
    """The settings, with the default of whatever was not given."""
    from provegym.gateway.settings import Settings

    return Settings(**{name: value for name, value in given.items() if value is not None})


def over_http(settings: Settings) -> None:
    """Serve until interrupted, and say where."""
    from provegym.gateway import http
    from provegym.gateway.listening import listen, url_of

    with listen(settings.host, settings.port) as listening:
        tell(url_of(settings, listening), settings)
        http.serve(http.new_rooms(settings), settings, listening)


def over_fleet(settings: Settings, workers: int | None, engine: str, over_http: bool) -> None:
    """Serve with many workers until interrupted, and say where once all of them are there."""
    from provegym.gateway import front, local, ray_fleet
    from provegym.gateway.listening import listen, url_of

    engines = {"processes": local.launcher, "ray": ray_fleet.launcher}
    if engine not in engines:
        raise UnknownName("engine", engine, list(engines))
    if not over_http or not workers:
        raise InputError("a fleet needs --http and the number of --workers")
    if settings.sessions < workers:
        told = f"--sessions {settings.sessions} cannot be shared by {workers} workers"
        raise InputError(f"{told}; allow at least one session for each")
    share = replace(settings, sessions=settings.sessions // workers)
    with listen(settings.host, settings.port) as listening:
        launch = engines[engine](share)
        url = url_of(settings, listening)
        front.serve(settings, listening, launch, workers, lambda: tell(url, settings))


def tell(url: str, settings: Settings) -> None:
    """Say where it serves, and who may ask."""
    terminal.note(f"serving {url}")
    if not settings.token:
        terminal.note("without a token: every program of this machine may use all of it")


def task_of(text: str) -> Task:
    """The task that FILE:ID names. Raises `InputError` for a file or task that is not there."""
    from provegym import servers
    from provegym.gateway.sound import check_task
    from provegym.ground import check_world
    from provegym.rollout.run import load_tasks

    end = ".jsonl" if ".jsonl:" in text else ""
    file, colon, task_id = text.partition(f"{end}:")
    path = Path(f"{file}{end}")
    if not (file and colon and task_id):
        raise InputError(f"--task {text!r} is not FILE:ID, such as tasks.jsonl:banking-0001")
    if not path.is_file():
        what = f"{path} is a folder" if path.is_dir() else f"there is no file {path}"
        raise InputError(f"--task {text!r}: {what}; give a file of tasks, as FILE:ID")
    tasks = {task.id: task for task in load_tasks(path)}
    if task_id not in tasks:
        raise UnknownName("task", task_id, sorted(tasks)[:20])
    task = tasks[task_id]
    check_task(task)
    check_world(task, *servers.vocabulary(task.servers))
    return task


MODEL_EXAMPLES = example(
    "provegym serve-model runs/demo/grpo/policy --port 8000",
    "provegym eval policy --suite bfcl --base-url http://127.0.0.1:8000/v1",
    "PROVEGYM_TOKEN=$(openssl rand -hex 32) provegym serve-model shipped --host 0.0.0.0",
)


def serve_model(
    path: Annotated[Path, typer.Argument(help="Folder of a checkpoint; `shipped` for our own.")],
    name: Annotated[str | None, typer.Option(help="What clients call it; the folder's.")] = None,
    host: Annotated[str, typer.Option(help="Address.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port; 0 for any.")] = 8000,
    temperature: Annotated[
        float, typer.Option(min=0, max=MOST_TEMPERATURE, help="Of all answers; 0 is greedy.")
    ] = 0.0,
    max_tokens: MostTokens = None,
    token: Token = None,
    allow_host: AllowHost = None,
    vllm: Annotated[
        bool, typer.Option("--vllm", help="Hand a whole checkpoint over to `vllm serve`.")
    ] = False,
) -> None:
    """Serve a checkpoint of a run, or any of transformers', over OpenAI's protocol."""
    from provegym.gateway.guard import Guard
    from provegym.gateway.listening import listen, runner, url_of
    from provegym.gateway.settings import Settings
    from provegym.learning import served_policy, weights_hash
    from provegym.llm.serving import Card, app, vllm_command

    hosts = tuple(map(host_named, allow_host or ()))
    settings = Settings(host, port, _token(token), hosts, rate=0)
    folder = _checkpoint(path)
    if name is not None and not name.strip():
        raise InputError("--name is empty; give what clients call the model, or leave it out")
    called = name or folder.name
    if vllm:
        _hand_over(vllm_command(str(folder), called, host, port), settings.token)
    with listen(host, port) as listening:  # first, for to load the weights takes a while
        policies, template = served_policy(folder, temperature, max_tokens)
        card = Card(called, temperature, template, weights_hash(folder))
        terminal.note(f"serving {called} at {url_of(settings, listening)}/v1")
        runner(Guard(app(policies, card), settings)).run(sockets=[listening])


def _checkpoint(path: Path) -> Path:
    """The folder that was meant. Raises `InputError` where there is none."""
    if str(path) == "shipped":
        from provegym.train import warmstart

        return warmstart.SHIPPED
    if not path.is_dir():
        raise InputError(f"no checkpoint at {path}: give the folder of a saved model")
    return path


def _hand_over(command: list[str], token: str | None) -> None:
    """Become vLLM, which takes the token from its environment, where no list of processes shows
    it. Raises `InputError` where it is not installed.
    """
    own = {} if token is None else {"VLLM_API_KEY": token}
    try:
        os.execvpe(command[0], command, os.environ | own)
    except FileNotFoundError as error:
        raise InputError("vllm is not installed here; without --vllm it is served too") from error
