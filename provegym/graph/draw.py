"""The dependency graph as a picture: one circle of tools a server, explicit and implicit edges."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape
from math import ceil, cos, degrees, pi, sin, sqrt
from pathlib import Path

from provegym.graph.edges import Edge, Graph
from provegym.records import write_atomic

Places = dict[str, tuple[float, float, float]]
"""Centre x, centre y and angle (radians, clockwise from the right) of each tool."""

RADIUS = 250
CELL = 2 * RADIUS + 360
"""Side of a server's square: its circle and room for the names."""
HEAD = 70
_CSS = """
text { font: 12px sans-serif; fill: #222 }
.server { font-size: 20px; font-weight: bold; text-anchor: middle }
.explicit { fill: none; stroke: #3b6ea5; stroke-opacity: .3 }
.bridge { fill: none; stroke: #3d8b57; stroke-width: 2; stroke-opacity: .5 }
.implicit { fill: none; stroke: #c8501e; stroke-width: 2; marker-end: url(#head) }
circle { fill: #444 }
"""
_HEAD = (
    '<marker id="head" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="7" markerHeight="7"'
    ' orient="auto"><path d="M0 0L8 4L0 8z" fill="#c8501e"/></marker>'
)


_KINDS = {
    "explicit": "takes an id from",
    "implicit": "works only after",
    "bridge": "takes another server's value",
}
"""The kinds of edges, in words that lead from an edge's target to its source."""


def draw(graph: Graph, path: Path) -> None:
    """Write the picture as one SVG file, whole or not at all."""
    write_atomic(path, [svg(graph).encode()])


def svg(graph: Graph) -> str:
    """The picture: blue lines are explicit edges, orange arrows implicit ones, green bridges."""
    columns = max(1, ceil(sqrt(len(graph.servers))))
    rows = max(1, ceil(len(graph.servers) / columns))
    width, height = columns * CELL, rows * CELL + HEAD
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}"'
        f' width="{width}" height="{height}">',
        f"<style>{_CSS}</style><defs>{_HEAD}</defs>",
        f'<rect width="{width}" height="{height}" fill="white"/>',
        *_legend(graph),
    ]
    every: Places = {}
    for i, server in enumerate(graph.servers):
        x, y = i % columns * CELL + CELL / 2, i // columns * CELL + CELL / 2 + HEAD
        places = _places(graph, server, x, y)
        parts += _cluster(graph, server, places, x, y)
        every |= places
    parts += [_line(edge, every) for edge in graph.edges if edge.kind == "bridge"]
    return "\n".join([*parts, "</svg>\n"])


def _legend(graph: Graph) -> Iterator[str]:
    x = 20
    for kind, words in _KINDS.items():
        count = sum(e.kind == kind for e in graph.edges)
        yield f'<path class="{kind}" style="stroke-opacity:1" d="M{x} 30h60"/>'
        yield f'<text x="{x + 70}" y="34">{kind} ({count}): {words}</text>'
        x += 360


def _places(graph: Graph, server: str, x: float, y: float) -> Places:
    tools = [name for name in graph.tools if graph.owners.get(name) == server]
    return {name: (x, y, 2 * pi * k / len(tools)) for k, name in enumerate(tools)}


def _cluster(graph: Graph, server: str, places: Places, x: float, y: float) -> Iterator[str]:
    """One server: its edges below its tools."""
    yield f'<text class="server" x="{x:.1f}" y="{y - CELL / 2 + 20:.1f}">{escape(server)}</text>'
    for kind in ("explicit", "implicit"):
        for edge in graph.edges:
            if edge.kind == kind and edge.source in places and edge.target in places:
                yield _line(edge, places)
    for name in places:
        yield from _tool(name, places)


def _line(edge: Edge, places: Places) -> str:
    """A curve that bends towards the middle, so that neighbours on the circle can be told apart."""
    x, y, _ = places[edge.source]
    (ax, ay), (bx, by) = _point(edge.source, places), _point(edge.target, places)
    mx, my = (ax + bx + 2 * x) / 4, (ay + by + 2 * y) / 4
    title = escape(f"{edge.source} → {edge.target}")
    curve = f"M{ax:.1f} {ay:.1f}Q{mx:.1f} {my:.1f} {bx:.1f} {by:.1f}"
    return f'<path class="{edge.kind}" d="{curve}"><title>{title}</title></path>'


def _point(name: str, places: Places, out: float = 0) -> tuple[float, float]:
    x, y, angle = places[name]
    return x + (RADIUS + out) * cos(angle), y + (RADIUS + out) * sin(angle)


def _tool(name: str, places: Places) -> Iterator[str]:
    """A dot, and the name outside of it; names on the left are turned to be read."""
    x, y = _point(name, places)
    yield f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4"/>'
    x, y = _point(name, places, out=10)
    angle = degrees(places[name][2])
    left = 90 < angle < 270
    turn, anchor = (angle - 180, "end") if left else (angle, "start")
    yield (
        f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" dominant-baseline="middle"'
        f' transform="rotate({turn:.1f} {x:.1f} {y:.1f})">{escape(name)}</text>'
    )
