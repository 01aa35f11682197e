"""A small run with certified tasks and live episodes, and what its page says."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

from provegym import config, records, runs, worlds
from provegym.rollout.policies import POLICIES
from provegym.rollout.run import rollout_file
from provegym.runs import Advance
from provegym.types import Trace

SETTINGS: dict[str, dict[str, Any]] = {
    "run": {"name": "small", "seed": 5, "servers": ["banking"]},
    "synth": {"limit": 4, "world_seeds": 1, "tools_per_task": 5},
    "eval": {"tasks": 14},
}
PLAYED = {"before": "noop", "after": "oracle", "sft": "random"}
REWARDS = (0.1, 0.2, 0.4, 0.5, 0.6, 0.7, 0.8, 0.8, 0.9, 1.0)
COMPONENTS = ("validity", "coverage", "efficiency", "name", "argument", "state")


@contextmanager
def silent(_: str) -> Iterator[Advance]:
    yield lambda done, total: None


def made(place: Path) -> Path:
    """A run whose policies are simple ones."""
    run = {**SETTINGS["run"], "out": str(place)}
    settings = config.parse({**SETTINGS, "run": run}, "test")
    runs.claim(settings)
    runs.synthesize(settings, silent)
    for name, policy in PLAYED.items():
        rollout_file(
            place / "heldout" / "tasks.jsonl",
            name,
            place / "eval" / f"{name}.traces.jsonl",
            open_session=worlds.open_session,
            make_policy=POLICIES[policy],
        )
    rows = (
        {"step": i, "reward": reward, **dict.fromkeys(COMPONENTS, 0.5), "calls": 12.0 - i}
        for i, reward in enumerate(REWARDS, start=1)
    )
    records.write_atomic(
        place / "grpo" / "curves.jsonl", [json.dumps(row).encode() for row in rows]
    )
    return place


class Reader(HTMLParser):
    """Collects references, the stack of open tags, tables, and text by class."""

    def __init__(self) -> None:
        super().__init__()
        self.references: list[str] = []
        self.unbalanced: list[str] = []
        self.tables: list[list[list[str]]] = []
        self._open: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.references += [v or "" for k, v in attrs if k in ("src", "href", "xlink:href", "data")]
        self.references += [tag] if tag in ("script", "link", "iframe", "img", "object") else []
        if tag not in ("meta", "line", "circle", "polyline"):
            self._open.append(tag)
        if tag == "table":
            self.tables.append([])
        elif tag == "tr":
            self.tables[-1].append([])
        elif tag in ("td", "th"):
            self.tables[-1][-1].append("")

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        pass

    def handle_endtag(self, tag: str) -> None:
        if not self._open or self._open.pop() != tag:
            self.unbalanced.append(tag)

    def handle_data(self, data: str) -> None:
        if "td" in self._open or "th" in self._open:
            self.tables[-1][-1][-1] += f" {data}" if self._open[-1] == "small" else data


def reader(html: str) -> Reader:
    found = Reader()
    found.feed(html)
    return found


def rows(html: str, corner: str, first: str) -> dict[str, list[str]]:
    """The body of the table whose head starts so, by its first column."""
    tables = [t for t in reader(html).tables if t[0][:2] == [corner, first]]
    return {row[0]: row[1:] for row in tables[0][1:]}


def edited(folder: Path, place: Path, change: Callable[[Trace], Trace]) -> Path:
    """A copy of the run whose traces of `after` are changed one by one."""
    for path in folder.rglob("*.*"):
        target = place / path.relative_to(folder)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(path.read_bytes())
    traces = place / "eval" / "after.traces.jsonl"
    changed = [records.encode(change(trace)) for trace in records.read(traces, Trace)]
    records.write_atomic(traces, changed)
    return place
