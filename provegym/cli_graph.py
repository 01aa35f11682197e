"""The verb `provegym graph`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, get_args

import typer

from provegym import tables, terminal
from provegym.errors import InputError, UnknownName
from provegym.options import Json, Servers, example

if TYPE_CHECKING:
    from provegym.config import Teacher
    from provegym.graph.edges import Choice, Graph
    from provegym.world.server import Server

EXAMPLE = example(
    "provegym graph --servers banking,shopping --out graph.json",
    "provegym graph --servers banking --edges union --teacher openai:MODEL \\",
    "    --base-url http://127.0.0.1:8000/v1 --out union.json",
)


def graph(
    config: Annotated[
        Path | None, typer.Argument(help="A run's TOML, for its servers and its teacher.")
    ] = None,
    out: Annotated[Path, typer.Option(help="Where the graph goes.")] = Path("graph.json"),
    servers: Servers = None,
    edges: Annotated[
        str,
        typer.Option(help="executed, llm (what a model names) or union.", metavar="EDGES"),
    ] = "executed",
    teacher: Annotated[
        str | None,
        typer.Option(
            help="The model to ask: gemma-4-31b, qwen3-32b or openai:MODEL.", metavar="TEACHER"
        ),
    ] = None,
    base_url: Annotated[
        str | None, typer.Option(help="Its endpoint; its key is OPENAI_API_KEY.")
    ] = None,
    budget_usd: Annotated[
        float | None, typer.Option(min=0, help="Most that it may cost; needs prices.")
    ] = None,
    budget_tokens: Annotated[
        int | None, typer.Option(min=0, help="Most tokens that it may read and write.")
    ] = None,
    json: Json = False,
) -> None:
    """Find which tool feeds which: by types, and by running a call that fails without the other;
    or by asking a language model about each pair, which is then held against both.

    A picture (SVG) goes beside the file. Answers of a model are kept and never asked for twice.
    """
    from provegym import servers as library
    from provegym.config import Teacher, load
    from provegym.graph.draw import draw
    from provegym.names import servers_named, teacher_named

    if out.suffix == ".svg":
        raise InputError(f"{out} is where the picture goes; name the graph like graph.json")
    told = load(config) if config else None
    names = told.run.servers if told and servers is None else servers_named(servers)
    loaded = [library.load(name) for name in names]
    budget = {"base_url": base_url, "budget_usd": budget_usd, "budget_tokens": budget_tokens}
    asked = teacher_named(told.teacher if told else Teacher(), teacher, budget)
    found = _made(loaded, out, _choice(edges), asked, quiet=json)
    draw(found, out.with_suffix(".svg"))
    if json:
        terminal.as_json(found)
    else:
        _show(found, out, loaded)


def _made(servers: list[Server], out: Path, choice: Choice, asked: Teacher, quiet: bool) -> Graph:
    from provegym.graph.store import cached
    from provegym.names import served
    from provegym.synth.crew import answers_beside
    from provegym.synth.graphs import Wanted, agreement_path, asked_graph

    if choice == "executed":
        return cached(servers, out)
    if not asked.model:
        raise InputError(
            f"--edges {choice} needs a model to ask; name it as --teacher openai:MODEL"
        )
    served(asked)
    answers = answers_beside(out, asked)
    with terminal.progress("pairs") as advance:
        made = asked_graph(Wanted(servers, out, choice, asked, answers), advance, terminal.note)
    if not quiet:
        tables.show_agreement(made.agreement, agreement_path(out))
        terminal.line(_spent(made.cost))
    return made.graph


def _show(found: Graph, out: Path, servers: list[Server]) -> None:
    from provegym.graph.edges import why_alone

    tools = {name: tool for server in servers for name, tool in server.tools.items()}
    terminal.table(("edges", "pairs"), found.pairs.items(), str(out))
    named = found.choice == "llm"
    why = [(n, "the model names no edge" if named else why_alone(tools[n])) for n in found.alone]
    terminal.table(("tool in no chain", "why"), why)
    chained = len(found.tools) - len(why)
    terminal.line(f"{len(found.servers)} servers, {len(found.tools)} tools, {chained} in chains")


def _choice(edges: str) -> Choice:
    from provegym.graph.edges import Choice

    known = get_args(Choice)
    if edges not in known:
        raise UnknownName("choice of edges", edges, list(known))
    found: Choice = known[known.index(edges)]
    return found


def _spent(cost: dict[str, float]) -> str:
    tokens = cost["prompt_tokens"] + cost["completion_tokens"]
    fresh = cost["requests"] + cost["lost_requests"]
    return (
        f"{fresh:.0f} requests so far, {tokens:,.0f} tokens, ${cost['usd']:.4f}; "
        f"{cost['cache_hits']:.0f} answers were there already"
    )
