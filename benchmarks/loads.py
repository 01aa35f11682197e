"""What an item of a benchmark takes with the ground truth: the figures in provegym/evals/loads.py.

Run `python -m benchmarks.loads bfcl/base tau2/airline`; the harnesses must be set up.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from provegym.evals import bfcl, harness, tau2
from provegym.evals.items import Item, Job, Roles
from provegym.evals.loads import Load, mean
from provegym.llm.scripted import Json, Response

SHOWN = ("messages", "tools")
"""What of a request a model reads."""


def measure(name: str, folder: Path) -> tuple[Load, float]:
    """The load of an item of SUITE/PART, over all its items, and their mean score."""
    suite, _, part = name.partition("/")
    environment = harness.environment(suite)
    names = (bfcl if suite == "bfcl" else tau2).names(environment, part)
    job = Job(environment, {part: names}, folder)
    heard: list[tuple[Any, Any]] = []
    kept: dict[str, Item] = {}
    for piece, roles in pieces(suite, part, job):
        driver = bfcl if suite == "bfcl" else tau2
        driver.play(piece, listening(roles, heard), lambda item: kept.update({item.name: item}))
    assert kept.keys() == set(names), "some items were not judged"
    return mean(len(names), heard), sum(item.score or 0.0 for item in kept.values()) / len(names)


def pieces(suite: str, part: str, job: Job) -> Iterator[tuple[Job, Roles]]:
    """What is played at once, and by whom."""
    if suite == "bfcl":
        yield job, bfcl.scripted(job, "oracle")
        return
    for number, rows in enumerate(tau2.batches(tau2.tasks(job.environment, part))):
        names = [str(row["id"]) for row in rows]
        where = job.folder / str(number)
        yield replace(job, wanted={part: names}, folder=where), tau2.scripted(rows, "oracle")


def listening(roles: Roles, heard: list[tuple[Any, Any]]) -> Roles:
    """The same roles; what each is sent and answers is put into `heard`."""

    def over(role: Any) -> Any:
        def answer(request: Json) -> Response:
            found: Response = role(request)
            heard.append(({k: request.get(k) for k in SHOWN}, said(found)))
            return found

        return answer

    return {name: over(role) for name, role in roles.items()}


def said(response: Response) -> Any:
    """The message of an answer."""
    return json.loads(response.body)["choices"][0]["message"]


if __name__ == "__main__":
    for name in sys.argv[1:]:
        with tempfile.TemporaryDirectory() as folder:
            load, score = measure(name, Path(folder))
        print(
            f'"{name}": Load({load.requests:.1f}, {load.prompt:,.0f}, {load.completion:,.0f}),'
            f"  # the ground truth scores {score:.3f}",
            flush=True,
        )
