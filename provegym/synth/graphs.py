"""Graphs with the edges of a choice: executed ones, those that a language model names, or both."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import msgspec
from msgspec import Struct

from provegym import config
from provegym.errors import InputError
from provegym.graph.edges import Choice, Graph
from provegym.graph.said import Agreement, agreement, chosen
from provegym.graph.store import cached, found, save
from provegym.records import beside, write_atomic
from provegym.synth.classify import Progress, ask, asked_by
from provegym.world.server import Server


class Asked(Struct, frozen=True):
    """A graph that a language model had a say in."""

    graph: Graph
    agreement: Agreement
    cost: dict[str, float]
    """What the answers took so far; see `Ledger.figures`."""


class Wanted(Struct, frozen=True):
    """A graph over `servers` to be at `path`, with the edges of the choice. `settings` are the
    model's, if one may be asked, and `answers` is the file of what it said.
    """

    servers: list[Server]
    path: Path
    choice: Choice
    settings: config.Teacher
    answers: Path


def graph_of(
    servers: list[Server],
    path: Path,
    choice: Choice,
    settings: config.Teacher,
    answers: Path,
    progress: Progress = lambda done, total: None,
    notify: Callable[[str], None] = lambda line: None,
) -> Graph:
    """The graph at `path`, or a new one put there.

    One that a model had a say in is taken as it is where the settings name no model. Raises
    `InputError` where there is none to take and no model to ask, `ManifestMismatch` where another
    graph lies there, and what `ask` raises.
    """
    if choice == "executed":
        return cached(servers, path)
    graph = found(servers, path, choice, asked_by(settings) if settings.model else "")
    if graph is None and not settings.model:
        raise InputError(
            f"edges = {choice!r} needs a model to ask: name one as teacher.model, or put a graph "
            f"at {path} with `provegym graph --edges {choice}`"
        )
    wanted = Wanted(servers, path, choice, settings, answers)
    return graph or asked_graph(wanted, progress, notify).graph


def asked_graph(
    wanted: Wanted,
    progress: Progress = lambda done, total: None,
    notify: Callable[[str], None] = lambda line: None,
) -> Asked:
    """Ask the model for what `answers` does not hold yet, and put the graph at `path`; the
    executed graph and the agreement of the two go beside it.
    """
    servers, path, choice, settings = wanted.servers, wanted.path, wanted.choice, wanted.settings
    found(servers, path, choice, asked_by(settings))
    executed = cached(servers, beside(path, "executed", ".json"))
    said, cost = ask(servers, settings, wanted.answers, progress=progress, notify=notify)
    graph, compared = chosen(executed, said, choice), agreement(executed, said)
    text = msgspec.json.format(msgspec.json.encode(compared), indent=1)
    write_atomic(agreement_path(path), [text, b"\n"])
    save(graph, path)
    return Asked(graph, compared, cost)


def agreement_path(path: Path) -> Path:
    """Where the agreement of model and execution lies for the graph at `path`."""
    return beside(path, "agreement", ".json")
