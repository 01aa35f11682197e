"""The picture of the dependency graph."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from xml.etree import ElementTree

from provegym import servers
from provegym.graph.build import build
from provegym.graph.draw import draw, svg
from provegym.graph.edges import Graph

SVG = "{http://www.w3.org/2000/svg}"


def graph() -> Graph:
    return build([servers.load("banking"), servers.load("calendar")], worlds=1, tries=3)


def test_every_tool_and_every_edge_is_drawn_once_and_told_apart(tmp_path: Path) -> None:
    drawn = graph()
    draw(drawn, tmp_path / "graph.svg")
    root = ElementTree.parse(tmp_path / "graph.svg").getroot()
    texts = Counter(t.text for t in root.iter(f"{SVG}text"))
    assert all(texts[name] == 1 for name in (*drawn.tools, *drawn.servers))
    edges = [p for p in root.iter(f"{SVG}path") if p.find(f"{SVG}title") is not None]
    kinds = Counter(p.get("class") for p in edges)
    assert kinds == Counter(e.kind for e in drawn.edges)
    assert {kinds["explicit"] > 0, kinds["implicit"] > 0} == {True}


def test_the_same_graph_gives_the_same_picture() -> None:
    assert svg(graph()) == svg(graph())


def test_names_are_escaped_and_an_empty_graph_is_a_picture_too() -> None:
    odd = Graph(("a<b",), ("c&d",), (), {}, "", {"c&d": "a<b"})
    texts = [t.text for t in ElementTree.fromstring(svg(odd)).iter(f"{SVG}text")]
    assert {"a<b", "c&d"} <= set(texts)
    assert ElementTree.fromstring(svg(Graph((), (), (), {}, ""))).tag == f"{SVG}svg"
