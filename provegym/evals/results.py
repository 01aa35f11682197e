"""Results that can be compared: each score with all that it depends on.

A score without its pins is no result. Two results of one part are compared over the items that
both have, if nothing but the model differs between them; else it is said what else does.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct, structs

from provegym.errors import InfrastructureError, InputError
from provegym.evals import comparison
from provegym.evals.comparison import Comparison
from provegym.evals.items import Item
from provegym.evals.stats import Estimate, rate
from provegym.records import write_atomic
from provegym.records.files import read_whole
from provegym.rollout.policies import POLICIES

SCHEMA = 1
UNSTATED = "unstated"
"""What stands where an endpoint does not tell, and the user did not either."""


class Pins(Struct, frozen=True):
    """What a score depends on. Hashes are SHA-256 in hex.

    `harness_hash` is of the benchmark's package, `packages_hash` of all packages beside it,
    `data_hash` of the questions and answers, `items_hash` of the choice of items. `template_hash`
    is of the model's chat template. `sampling` holds what was asked of the model; a value of None
    is the endpoint's default. `user` is the model that plays the user. `date` is when the last
    item was judged (UTC, ISO 8601).
    """

    harness: str
    version: str
    harness_hash: str
    packages_hash: str
    data_hash: str
    items_hash: str
    route: str
    model: str
    weights_hash: str
    template_hash: str
    sampling: dict[str, Any]
    seed: int
    trials: int
    date: str
    provegym: str
    user: str = ""


OF_THE_MODEL = frozenset({"model", "weights_hash", "template_hash", "date", "trials"})
"""Pins in which results may differ and still be compared. A model's template belongs to it."""


class Result(Struct, frozen=True):
    """One score of one model. `floor` is what doing nothing scores on the same items, `ceiling`
    what the ground truth does, both measured; None where they were left out.

    `scores` are by item, one for each trial. `states` count items: scored, beyond the model's
    window (scored, too), spoiled by the simulated user (not scored).
    """

    suite: str
    part: str
    score: Estimate
    floor: float | None
    ceiling: float | None
    states: dict[str, int]
    scores: dict[str, list[float]]
    pins: Pins


class Evaluation(Struct, frozen=True):
    """What a run of `provegym eval` measured. `absent` are parts that are not scored, with the
    reason; `abilities` are means over parts that a benchmark itself defines, by suite.
    """

    model: str
    results: tuple[Result, ...]
    absent: dict[str, str] = {}
    abilities: dict[str, dict[str, float]] = {}
    traffic: dict[str, int] = {}
    schema: int = SCHEMA


class Compared(Struct, frozen=True):
    """A part in two evaluations: the difference with its interval and p-values, or why there is
    none.
    """

    suite: str
    part: str
    before: Estimate | None = None
    after: Estimate | None = None
    tested: Comparison | None = None
    why_not: str = ""
    remark: str = ""


def result(
    suite: str,
    part: str,
    items: Iterable[Item],
    pins: Pins,
    floor: float | None,
    ceiling: float | None,
) -> Result:
    """The score over items, each item's trials taken together.

    Raises `InfrastructureError` where no item could be judged.
    """
    scores: dict[str, list[float]] = {}
    states: dict[str, int] = {}
    for item in items:
        states[item.state] = states.get(item.state, 0) + 1
        if item.score is not None:
            scores.setdefault(item.name, []).append(item.score)
    if not scores:
        raise InfrastructureError(
            f"the simulated user failed in all items of {suite}/{part}; choose another --user-model"
        )
    return Result(suite, part, rate(scores), floor, ceiling, states, scores, pins)


def write(found: Evaluation, path: Path) -> None:
    """Write an evaluation as indented JSON, whole or not at all."""
    text = msgspec.json.format(msgspec.json.encode(found), indent=2)
    write_atomic(path, [text])


def read(path: Path) -> Evaluation:
    """An evaluation from its file. Raises `InputError` for a file without pins, or another."""
    text = read_whole(path)
    try:
        raw = json.loads(text.decode("utf-8"))
    except ValueError as error:
        raise InputError(f"{path} is no result of provegym eval: {error}") from error
    _check_pins(path, raw)
    try:
        found = msgspec.convert(raw, Evaluation)
    except msgspec.ValidationError as error:
        raise InputError(f"{path} is no result of provegym eval: {error}") from error
    if found.schema > SCHEMA:
        raise InputError(f"{path} has schema {found.schema}, this reads {SCHEMA}; update provegym")
    return found


def _check_pins(path: Path, raw: Any) -> None:
    rows = raw.get("results") if isinstance(raw, dict) else None
    if not isinstance(rows, list):
        raise InputError(f"{path} is no result of provegym eval: it has no list of results")
    for row in rows:
        pins = row.get("pins") or {} if isinstance(row, dict) else {}
        wanted = [field.name for field in structs.fields(Pins) if field.required]
        lacking = [name for name in wanted if pins.get(name) in (None, "")]
        if lacking:
            where = f"{row.get('suite')}/{row.get('part')}" if isinstance(row, dict) else row
            raise InputError(
                f"{path} does not say {', '.join(lacking)} of {where}, so it cannot be compared; "
                "measure it again with provegym eval"
            )


def compare(before: Evaluation, after: Evaluation, seed: int = 0) -> list[Compared]:
    """Each part that both have, all differences corrected together. Raises `InputError` where they
    share no part.
    """
    known = {(r.suite, r.part): r for r in before.results}
    both = [(known[r.suite, r.part], r) for r in after.results if (r.suite, r.part) in known]
    if not both:
        raise InputError("the two evaluations have no part in common")
    alike = [(old, new) for old, new in both if not differing(old.pins, new.pins)]
    cells = {f"{new.suite}/{new.part}": (old.scores, new.scores) for old, new in alike}
    tested = comparison.compare(cells, seed)
    return [_compared(old, new, tested.get(f"{new.suite}/{new.part}")) for old, new in both]


def _compared(old: Result, new: Result, tested: Comparison | None) -> Compared:
    differ = differing(old.pins, new.pins)
    why = "; ".join(f"{name} {_short(a)} and {_short(b)}" for name, (a, b) in differ.items())
    if not differ and tested is None:
        why = "no item was scored in both"
    unknown = not why and any(_untold(pins) for pins in (old.pins, new.pins))
    remark = "the endpoint does not state its chat template" if unknown else ""
    return Compared(new.suite, new.part, old.score, new.score, tested, why, remark)


def _untold(pins: Pins) -> bool:
    """Whether an endpoint kept its template to itself; policies of ours have none."""
    return pins.template_hash == UNSTATED and pins.model not in POLICIES


def _short(value: Any) -> str:
    """A pin's value; of a hash its beginning."""
    return repr(value[:12] if isinstance(value, str) and len(value) == 64 else value)


def differing(old: Pins, new: Pins) -> dict[str, tuple[Any, Any]]:
    """What differs besides the model, with both values."""
    a, b = structs.asdict(old), structs.asdict(new)
    return {
        name: (a[name], b[name]) for name in a if name not in OF_THE_MODEL and a[name] != b[name]
    }


def means(results: Iterable[Result]) -> Mapping[str, float]:
    """Scores by part."""
    return {r.part: r.score.mean for r in results}
