"""The part of a run's page that shows another run beside it; each figure has a table behind it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from html import escape
from typing import Any

from provegym.report import figures
from provegym.report.data import COMPONENTS, Run, Yield, ends
from provegym.report.pairing import Contest, Pair
from provegym.report.parts import (
    SHARES,
    WINDOW,
    Cell,
    behind,
    card,
    estimated,
    human,
    marked,
    number,
    section,
    table,
    triple,
)

CURVES = {
    "reward": "Reward, normalized",
    **{name: f"Component: {name}" for name in COMPONENTS},
    "calls": "Calls per task",
    "abstention": "Episodes without a call",
    "masked": "Masked episodes",
}
"""Columns of the training curves that are drawn for both runs in one frame."""


def render(pair: Pair) -> str:
    """The section of both runs as HTML text."""
    one, two = (escape(name) for name in pair.names)
    return section(
        f"{pair.names[0]} beside {pair.names[1]}",
        f'<p class="lead">Differences are {one} minus {two}.</p>',
        f'<div class="cards">{"".join(_cards(pair))}</div>',
        "".join(f'<p class="caution">{escape(told)}</p>' for told in pair.cautions),
        f"<h3>Held-out tasks</h3>{_heldout(pair)}",
        f"<h3>Training</h3>{_curves(pair)}",
        f"<h3>Synthesis</h3>{_synthesis(pair)}",
        f"<h3>Settings that differ</h3>{_settings(pair)}",
    )


# -- cards -----------------------------------------------------------------------------------


def _cards(pair: Pair) -> Iterator[str]:
    after = pair.contests.get("after")
    if after:
        yield from _measured(after, "success", "Held-out success", ".1%")
        yield from _measured(after, "calls", "Calls per held-out task", ".2f")
    last = [_last(run) for run in (pair.run, pair.other)]
    if all(last):
        yield card("Training reward", " · ".join(last), "last fifth of the steps")
    shares = [_share(run.train) for run in (pair.run, pair.other)]
    yield card("Yield of synthesis", " · ".join(shares), "certified, of all candidates")


def _measured(found: Contest, metric: str, name: str, style: str) -> Iterator[str]:
    if metric in found.differences:
        means = [side.estimates[metric].mean for side in found.sides]
        gain = found.differences[metric].gain
        scale, unit = (100, " points") if style.endswith("%") else (1, "")
        mean, low, high = (f"{scale * value:+.{style[1]}f}" for value in triple(gain))
        values = " · ".join(f"{mean:{style}}" for mean in means)
        yield card(name, values, f"{mean}{unit}, 95 % interval {low} to {high}")


def _last(run: Run) -> str:
    values = [row["reward"] for row in run.curves if row.get("reward") is not None]
    return f"{ends(values)[1]:z.3f}" if values else ""


def _share(found: Yield) -> str:
    tasks, lost = sum(found.kinds.values()), sum(found.rejected.values())
    return f"{tasks / (tasks + lost):.0%}" if tasks + lost else "none"


# -- held-out tasks --------------------------------------------------------------------------


def _heldout(pair: Pair) -> str:
    """Policy by policy, or why there is nothing to compare."""
    if pair.reasons:
        told = " ".join(pair.reasons)
        return f'<p class="caution">Held-out results are not compared. {escape(told)}</p>'
    parts = (_contest(name, found, pair.names) for name, found in pair.contests.items())
    return "".join(parts) + (
        f'<p class="note">{len(pair.shared)} tasks, the same in both runs, judged alike. Each '
        "difference is taken task by task, its interval is a bootstrap over tasks; p-values are "
        "corrected by Holm over the measures of a policy. * less is better. Bold: holds after "
        "correction.</p>"
    )


def _contest(name: str, found: Contest, names: tuple[str, str]) -> str:
    sides = dict(zip(names, found.sides, strict=True))
    means = {
        run: {human(m): triple(side.estimates[m]) for m in SHARES if m in side.estimates}
        for run, side in sides.items()
    }
    gains = {human(m): triple(found.differences[m].gain) for m in SHARES if m in found.differences}
    rows = [
        [marked(metric), str(seen.gain.n),
         *(estimated(side.estimates.get(metric)) for side in found.sides),
         estimated(seen.gain, change=True), Cell(f"{seen.holm:z.3f}", strong=seen.differs)]
        for metric, seen in found.differences.items()
    ]  # fmt: skip
    says = " minus ".join(names)
    drawn = (
        figures.intervals(f"{name}: means, 95 % intervals", means, 1),
        figures.differences(f"{name}: differences, 95 % intervals", says, gains),
    )
    return f'<div class="grid">{"".join(drawn)}</div>' + table(
        [name, "tasks", *names, "difference", "p, corrected"], rows
    )


# -- training --------------------------------------------------------------------------------


def _curves(pair: Pair) -> str:
    drawn = "".join(_curve(pair, name, title) for name, title in CURVES.items())
    note = f"Strong lines are running means of {WINDOW} steps. Legends give the last mean."
    return f'<div class="grid">{drawn}</div><p class="note">{note}</p>'


def _curve(pair: Pair, name: str, title: str) -> str:
    columns = [[row.get(name) for row in run.curves] for run in (pair.run, pair.other)]
    if all(value is None for column in columns for value in column):
        return ""
    series = dict(zip(pair.names, columns, strict=True))
    numbers = behind("numbers", ["step", *pair.names], _steps(columns))
    return f"<div>{figures.lines(title, series, WINDOW)}{numbers}</div>"


def _steps(columns: Sequence[Sequence[Any]]) -> Iterable[list[str]]:
    for i in range(max(map(len, columns))):
        yield [str(i + 1), *(number(c[i]) if i < len(c) else "" for c in columns)]


# -- synthesis and settings ------------------------------------------------------------------


def _synthesis(pair: Pair) -> str:
    return "".join(
        _yields(title, pair.names, (one, two))
        for title, one, two in (
            ("Training tasks", pair.run.train, pair.other.train),
            ("Held-out tasks", pair.run.heldout, pair.other.heldout),
        )
    )


def _yields(title: str, names: tuple[str, str], found: tuple[Yield, Yield]) -> str:
    drawn = "".join(
        figures.bars(f"{title}, {name}: {_share(each)} certified", _outcomes(each), "certified")
        for name, each in zip(names, found, strict=True)
    )
    parts = (
        ("by outcome", "outcome", [_outcomes(each) for each in found]),
        ("by kind", "kind", [each.kinds for each in found]),
        ("by server", "server", [each.servers for each in found]),
    )
    tables = (
        behind(f"{title} {by}", [head, *names, "difference"], _counts(counts))
        for by, head, counts in parts
    )
    return f'<div class="grid">{drawn}</div>{"".join(tables)}'


def _outcomes(found: Yield) -> dict[str, int]:
    return {"certified": sum(found.kinds.values())} | {
        human(reason): count for reason, count in found.rejected.items()
    }


def _counts(found: Sequence[Mapping[str, int]]) -> Iterator[list[str]]:
    for name in dict.fromkeys(name for each in found for name in each):
        one, two = (each.get(name, 0) for each in found)
        yield [name, str(one), str(two), f"{one - two:+d}"]


def _settings(pair: Pair) -> str:
    if not pair.settings:
        return '<p class="note">None but names and folders.</p>'
    rows = ([path, _told(one), _told(two)] for path, (one, two) in pair.settings.items())
    return table(["setting", *pair.names], rows)


def _told(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(map(str, value)) or "none"
    return "-" if value is None else str(value)
