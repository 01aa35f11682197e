"""graph.json: the graph of some servers, made once for each version of their schemas."""

from __future__ import annotations

from pathlib import Path

import msgspec

from provegym.errors import InputError
from provegym.graph.build import build
from provegym.graph.edges import Graph, schema_hash
from provegym.records import write_atomic
from provegym.world.server import Server


def load(path: Path) -> Graph:
    """Read graph.json; InputError if it is none."""
    try:
        return msgspec.json.decode(path.read_bytes(), type=Graph)
    except FileNotFoundError as error:
        raise InputError(f"{path}: no such graph; make it with `provegym graph`") from error
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror}") from error
    except msgspec.MsgspecError as error:
        raise InputError(f"{path}: not a graph: {error}") from error


def save(graph: Graph, path: Path) -> None:
    """Write graph.json whole or not at all."""
    text = msgspec.json.format(msgspec.json.encode(graph), indent=1)
    write_atomic(path, [text, b"\n"])


def cached(servers: list[Server], path: Path) -> Graph:
    """The graph at `path` if it was made from these servers' schemas, else a new one put there."""
    if path.exists():
        graph = load(path)
        if graph.schema_hash == schema_hash(servers):
            return graph
    graph = build(servers)
    save(graph, path)
    return graph
