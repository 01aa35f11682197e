"""What an evaluation will ask for, before it asks: items, requests, tokens and money."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

from msgspec import Struct

from provegym.errors import InputError, UnknownName
from provegym.evals import bfcl, harness, heldout_suite, loads, power, tau2, teval
from provegym.evals.harness import Environment
from provegym.evals.loads import Load
from provegym.records import read_tasks
from provegym.seeding import rng

OWN = ("heldout", "provegym")
"""Suites of live worlds, which need no harness. `provegym` is the benchmark of that name: who is
measured on it is entered on a leaderboard."""
SUITES = ("bfcl", "tau2", "teval", *OWN)
PARTS: Mapping[str, Sequence[str]] = {
    "bfcl": bfcl.PARTS,
    "tau2": tau2.PARTS,
    "teval": tuple(teval.PARTS),
    **dict.fromkeys(OWN, heldout_suite.PARTS),
}


ONLY: Mapping[str, Sequence[str]] = {
    "tasks": OWN,
    "user_model": ("tau2",),
    "user_url": ("tau2",),
    "teval_source": ("teval",),
}
"""Settings that some suites alone look at."""


class Settings(Struct, frozen=True):
    """What the user asked for. `suites` are SUITE or SUITE/PART; `limit` is of items a part, 0 for
    all. `sampling` overrides what a benchmark asks of the model; None leaves its own. `agent` is
    the command of a program that is measured on live worlds in a model's place.
    """

    model: str
    suites: tuple[str, ...]
    out: Path
    base_url: str | None = None
    agent: str | None = None
    user_model: str | None = None
    user_url: str | None = None
    limit: int = 0
    trials: int = 1
    seed: int = 0
    concurrency: int = 4
    temperature: float | None = None
    max_tokens: int | None = None
    timeout: float = 600.0
    patience: float = 300.0
    template_hash: str = ""
    tasks: Path | None = None
    teval_data: Path | None = None
    teval_embedder: Path | None = None
    teval_source: Path | None = None
    cache: Path | None = None


class Suite(Struct, frozen=True):
    """A suite that is ready to run: the wanted items by part, what is not scored, and why.

    `loads` are by part, where the user's own data tell what an item takes.
    """

    name: str
    environment: Environment | None
    wanted: dict[str, list[str]]
    absent: dict[str, str] = {}
    loads: dict[str, Load] = {}


class Row(Struct, frozen=True):
    """A line of the plan. What it will take is None where nobody has measured it. `detectable` is
    the smallest gain, from 0 to 1, that a comparison of two such runs finds four times in five.
    """

    part: str
    items: int
    trials: int
    requests: int | None
    prompt_tokens: int | None
    completion_tokens: int | None
    usd: float | None
    detectable: float


def plan(settings: Settings) -> list[Suite]:
    """The suites with their items. Raises `UnknownName` and, where a harness, data or an endpoint
    is missing, `InputError`.
    """
    found = chosen(settings.suites)
    _see_options(settings, found)
    foreign = [name for name in found if name not in OWN]
    if foreign and (settings.agent is not None or settings.model == "random"):
        raise InputError(
            f"{settings.agent or settings.model!r} plays live worlds alone, not "
            f"{', '.join(foreign)}; give --suite provegym or heldout"
        )
    return [_suite(settings, name, parts) for name, parts in found.items()]


def _see_options(settings: Settings, found: Collection[str]) -> None:
    """Raise `InputError` for an option that none of the suites looks at."""
    for name, suites in ONLY.items():
        if getattr(settings, name) is not None and not set(suites) & set(found):
            option = f"--{name.replace('_', '-')}"
            raise InputError(
                f"{option} is for {' and '.join(suites)}, not for {', '.join(found)}; leave it out"
            )


def chosen(suites: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """The parts of each suite, from SUITE and SUITE/PART. Raises `UnknownName`."""
    found: dict[str, tuple[str, ...]] = {}
    for text in suites:
        name, parted, part = text.partition("/")
        if name not in SUITES:
            raise UnknownName("suite", name, list(SUITES))
        if parted and part not in PARTS[name]:
            raise UnknownName(f"part of {name}", part, list(PARTS[name]))
        new = (part,) if parted else tuple(PARTS[name])
        found[name] = tuple(dict.fromkeys((*found.get(name, ()), *new)))
    return found


def _suite(settings: Settings, name: str, parts: tuple[str, ...]) -> Suite:
    absent: dict[str, str] = {}
    environment = None
    if name in OWN:
        if settings.tasks is None:
            raise InputError(f"the suite {name} needs tasks: give a file of them with --tasks")
        every = heldout_suite.names(settings.tasks)
        one = sampled(settings, name, "tasks", every)
        return Suite(name, None, dict.fromkeys(parts, one), {}, _own_loads(settings, parts, one))
    if name == "teval":
        lacks = teval.absent(settings.teval_data, settings.teval_embedder, settings.teval_source)
        absent = {f"teval/{part}": why for part, why in lacks.items() if part in parts}
        parts = tuple(part for part in parts if part not in lacks)
        embeds = any(teval.PARTS[part].embeds for part in parts)
        environment = harness.environment("teval-embed" if embeds else "teval", settings.cache)
        assert settings.teval_data
        every_of = {part: sorted(teval.items(settings.teval_data, part)) for part in parts}
    else:
        environment = harness.environment(name, settings.cache)
        driver = bfcl if name == "bfcl" else tau2
        every_of = {part: driver.names(environment, part) for part in parts}
    absent |= {f"{name}/{part}": "no item of this form" for part in every_of if not every_of[part]}
    wanted = {p: sampled(settings, name, p, every) for p, every in every_of.items() if every}
    found = teval.loads_of(settings.teval_data, wanted) if name == "teval" else {}
    return Suite(name, environment, wanted, absent, found)


def _own_loads(settings: Settings, parts: Sequence[str], names: Sequence[str]) -> dict[str, Load]:
    """The parts are judged on the same episodes, so only the first asks for anything."""
    assert settings.tasks
    wanted = set(names)
    chosen = [task for task in read_tasks(settings.tasks) if task.id in wanted]
    return dict.fromkeys(parts, loads.NOTHING) | {parts[0]: loads.of_tasks(chosen)}


def sampled(settings: Settings, suite: str, part: str, names: Sequence[str]) -> list[str]:
    """The same `limit` items of a part for every model: drawn by the seed, in the file's order. A
    larger sample holds every smaller one.
    """
    if not settings.limit or settings.limit >= len(names):
        return list(names)
    shuffled = rng(settings.seed, "sample", suite, part).sample(list(names), len(names))
    drawn = set(shuffled[: settings.limit])
    return [name for name in names if name in drawn]


def forecast(
    suites: Sequence[Suite], trials: int, prices: tuple[float, float] | None = None
) -> list[Row]:
    """A row a part. `prices` are USD for a million tokens of prompts and of answers."""
    rows = []
    for suite in suites:
        for part, names in suite.wanted.items():
            load = suite.loads.get(part) or loads.LOADS.get(f"{suite.name}/{part}")
            rows.append(_row(f"{suite.name}/{part}", len(names), trials, load, prices))
    return rows


def _row(
    part: str, items: int, trials: int, load: Load | None, prices: tuple[float, float] | None
) -> Row:
    sees = power.detectable(items, trials)
    if load is None:
        return Row(part, items, trials, None, None, None, None, sees)
    tries = items * trials
    prompt, completion = tries * load.prompt, tries * load.completion
    usd = (prompt * prices[0] + completion * prices[1]) / 1e6 if prices else None
    requests = round(tries * load.requests)
    return Row(part, items, trials, requests, round(prompt), round(completion), usd, sees)
