"""What a file of 100,000 traces costs in `provegym view`: its index, a page of its list, a filter.

Run `python -m benchmarks.viewer`, or `provegym bench viewer`. Times are of CPU, but for those that
a browser sees, which are measured where Chromium and Playwright are installed.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from itertools import islice
from pathlib import Path
from statistics import median
from time import perf_counter, process_time
from typing import Any, NamedTuple

import msgspec
from msgspec.structs import replace

from provegym import servers
from provegym.config import Synth
from provegym.graph.build import build
from provegym.records import encode, write_atomic
from provegym.synth.make import Candidate, Maker, Plan
from provegym.types import Call, Task, Trace
from provegym.viewer import lists, traces
from provegym.viewer.lists import Wanted
from provegym.viewer.place import Place

TRACES = 100_000
TASKS = 500
NAMES = ("banking", "calendar")
FIRST_PAINT = 1.0
"""Seconds until the page shows something, and until its list is there."""
FILTER = 0.3
"""Seconds of a filter."""
CHROMIUM = ("--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-sync")


class Figure(NamedTuple):
    """A value with the target that it may at most have, None where there is none."""

    what: str
    value: float
    target: float | None
    unit: str


def tasks(count: int) -> list[Task]:
    """Certified tasks of two servers."""
    graph = build([servers.load(name) for name in NAMES], worlds=1, tries=1)
    maker = Maker(Plan(0, NAMES, NAMES), Synth(limit=count, tools_per_task=8), graph)
    made = (maker.make(i) for i in range(4 * count))
    return list(islice((c.task for c in made if isinstance(c, Candidate)), count))


def played(task: Task, trial: int) -> Trace:
    """An episode: every third one is right, the others lack a call or hold another value."""
    truth = task.ground_truth
    calls = [
        Call(ground.name, ground.arguments, turn, step, "ok", ground.result)
        for step, (turn, ground) in enumerate(truth)
    ]
    if trial % 3 == 1:
        calls = calls[:-1]
    elif trial % 3 == 2 and calls:
        calls[-1] = replace(calls[-1], arguments={**calls[-1].arguments, "wrong": trial})
    said = tuple({"role": "user", "content": turn.user} for turn in task.turns)
    changes = task.final_changes if trial % 3 == 0 else {}
    name = f"{task.id}/p{trial % 4}/{trial}"
    return Trace(name, task.id, tuple(calls), f"p{trial % 4}", trial, said, changes)


def write(folder: Path, count: int) -> None:
    """A file of tasks, one of `count` traces, and another of as many to compare with."""
    some = tasks(min(TASKS, count))
    write_atomic(folder / "tasks.jsonl", map(encode, some))
    for name, shift in (("traces", 0), ("other", 1)):
        lines = (encode(played(some[i % len(some)], i // len(some) + shift)) for i in range(count))
        write_atomic(folder / f"{name}.jsonl", lines)


def measure(count: int = TRACES) -> Iterator[Figure]:
    """All figures of a file of so many traces."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write(folder, count)
        seconds = cpu(lambda: _index(Place(folder)), 1)
        yield Figure("index, a trace", 1e6 * seconds / (2 * count), None, "us")
        yield from _lists(Place(folder))
        yield from _browser(folder)


def _index(place: Place) -> None:
    for name in ("traces", "other"):
        place.traces(f"{name}.jsonl").wait()


def _lists(place: Place) -> Iterator[Figure]:
    index = place.traces("traces.jsonl")
    index.wait()
    other = place.traces("other.jsonl").place
    asked = {
        "first page": Wanted(),
        "filter by result and server": Wanted({"result": "failed", "server": "banking"}),
        "search in ids and words": Wanted(text="account"),
        "failed first": Wanted(order="failed first"),
        "last page": Wanted(offset=TRACES - lists.PAGE),
        "lost most against another file": Wanted(order="lost most", against=other),
    }
    for what, wanted in asked.items():
        seconds = cpu(lambda wanted=wanted: lists.page(index, traces.SHAPE, wanted))  # type: ignore[misc]
        yield Figure(what, seconds, FILTER, "s")
    some = index.line(lists.page(index, traces.SHAPE, Wanted()).rows[0]["id"])
    assert some
    trace = msgspec.json.decode(some, type=Trace)
    yield Figure("one trace", cpu(lambda: place.trace("traces.jsonl", trace.id)), FILTER, "s")


def cpu(run: Callable[[], Any], repeats: int = 5) -> float:
    """Seconds of CPU, the median of some runs."""
    found = []
    for _ in range(repeats):
        start = process_time()
        run()
        found.append(process_time() - start)
    return median(found)


def _browser(folder: Path) -> Iterator[Figure]:
    """What a person waits for, by the clock on the wall."""
    place = shutil.which("chromium")
    if place is None or not find_spec("playwright"):
        return
    from playwright.sync_api import sync_playwright

    from provegym.gateway.http import background
    from provegym.gateway.settings import Settings
    from provegym.viewer.app import app

    settings = Settings(port=0)
    with background(app(folder, settings), settings) as url, sync_playwright() as playwright:
        page = playwright.chromium.launch(executable_path=place, args=[*CHROMIUM]).new_page()
        page.goto(f"{url}/traces?file=traces.jsonl")
        page.wait_for_selector(".rows a")
        start = perf_counter()
        page.goto(f"{url}/traces?file=traces.jsonl")
        page.wait_for_selector(".rows a")
        shown = perf_counter() - start
        paint = "performance.getEntriesByName('first-contentful-paint')[0].startTime"
        yield Figure("browser, first paint", page.evaluate(paint) / 1000, FIRST_PAINT, "s")
        yield Figure("browser, list shown", shown, FIRST_PAINT, "s")
        start = perf_counter()
        page.get_by_role("combobox", name="result", exact=True).select_option(index=1)
        page.wait_for_selector(".rows:not([aria-busy]) ~ .foot:not(:has-text('100,000'))")
        yield Figure("browser, filter", perf_counter() - start, FILTER, "s")


if __name__ == "__main__":
    for figure in measure():
        print(f"{figure.what}: {figure.value:.3f} {figure.unit}")
