"""graph.json: the graph of some servers, made once for each version of their schemas."""

from __future__ import annotations

from pathlib import Path

import msgspec

from provegym.errors import InputError, ManifestMismatch
from provegym.graph.build import build
from provegym.graph.edges import Choice, Graph, schema_hash
from provegym.records import write_atomic
from provegym.records.files import read_whole
from provegym.world.server import Server


def load(path: Path) -> Graph:
    """Read graph.json; InputError if it is none."""
    if not path.exists():
        raise InputError(f"{path}: no such graph; make it with `provegym graph`")
    text = read_whole(path)
    try:
        return msgspec.json.decode(text, type=Graph)
    except msgspec.MsgspecError as error:
        raise InputError(f"{path} is not a graph ({error}); choose another path") from error


def save(graph: Graph, path: Path) -> None:
    """Write graph.json whole or not at all."""
    text = msgspec.json.format(msgspec.json.encode(graph), indent=1)
    write_atomic(path, [text, b"\n"])


def cached(servers: list[Server], path: Path) -> Graph:
    """The executed graph at `path` if it was made from these servers' schemas, else a new one put
    there. Raises `ManifestMismatch` where another choice of edges lies there.
    """
    graph = found(servers, path, "executed")
    if graph is None:
        graph = build(servers)
        save(graph, path)
    return graph


def found(servers: list[Server], path: Path, choice: Choice, asked: str = "") -> Graph | None:
    """The graph at `path`, None where there is none of these servers' schemas.

    Raises `ManifestMismatch` where it has other edges than those of the choice, or those of a
    model that was asked otherwise than the hash `asked` says ("" takes any).
    """
    if not path.exists():
        return None
    graph = load(path)
    if graph.choice != choice or (asked and graph.asked != asked):
        model = f" of {graph.model}, asked as {graph.asked[:8]}" if graph.model else ""
        wanted = f"{choice} ones{f', asked as {asked[:8]},' if asked else ''}"
        raise ManifestMismatch(
            f"{path} holds {graph.choice} edges{model}; {wanted} are asked for now: delete it or "
            "choose another path"
        )
    return graph if graph.schema_hash == schema_hash(servers) else None
