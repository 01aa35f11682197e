"""`report.html`: one self-contained page; each figure has its numbers in a table behind it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any

from provegym.records import write_atomic
from provegym.report import beside, figures, pairing
from provegym.report.data import COMPONENTS, Run, Yield, ends, load
from provegym.report.episodes import example, examples
from provegym.report.pairing import Pair
from provegym.report.parts import (
    SHARES,
    STYLE,
    WINDOW,
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

REST = (
    *("calls", "abstention", "zero_variance", "resampled", "masked", "tokens", "overlong"),
    *("entropy", "kl", "seconds"),
)

POLICIES = {"smollm2": "SmolLM2-135M-Instruct, dequantized from Q4, with LoRA"}


def write(folder: Path, other: Path | None = None) -> Path:
    """Make `report.html` of the run in `folder` and return its path. Raises InputError.

    With another run's folder it begins with both side by side.
    """
    path = folder / "report.html"
    both = pairing.load(folder, other) if other else None
    run = both.run if both else load(folder)
    write_atomic(path, [render(run, both).encode(errors="replace")])
    return path


def render(run: Run, both: Pair | None = None) -> str:
    """The whole page as HTML text."""
    parts = [
        _headline(run),
        *([beside.render(both)] if both else []),
        section("Held-out tasks, before and after", _comparison(run)),
        section("Training", _training(run.curves)),
        section("Synthesis", _synthesis(run)),
        section("Example episodes", *(example(run, task_id) for task_id in examples(run))),
        section("Settings and cost", _settings(run)),
    ]
    title = f"<title>provegym: {escape(run.name)}</title>"
    view = '<meta name="viewport" content="width=device-width, initial-scale=1">'
    head = f'<meta charset="utf-8">{view}{title}<style>{STYLE}</style>'
    return (
        f'<!doctype html><html lang="en"><head>{head}</head><body>{"".join(parts)}</body></html>\n'
    )


# -- the headline ----------------------------------------------------------------------------


def _headline(run: Run) -> str:
    told = run.settings["run"]
    policy = POLICIES.get(told["policy"], told["policy"])
    lead = f"Policy: {policy}. Servers: {', '.join(told['servers'])}"
    if told.get("heldout_server"):
        lead += f"; {told['heldout_server']} was never trained on"
    cards = [
        *_changed(run, "success", "Held-out success", ".1%"),
        *_reward(run.curves),
        *_changed(run, "calls", "Calls per held-out task", ".2f"),
    ]
    tasks, held = (sum(y.kinds.values()) for y in (run.train, run.heldout))
    cards.append(card("Certified tasks", str(tasks), f"to train on, {held} held out"))
    return (
        f'<h1>provegym run: {escape(run.name)}</h1><p class="lead">{escape(lead)}.</p>'
        f'<div class="cards">{"".join(cards)}</div>'
    )


def _changed(run: Run, metric: str, name: str, style: str) -> Iterable[str]:
    gain = run.gain.get(metric)
    if gain is None:
        return
    before, after = (run.policies[side].estimates[metric].mean for side in ("before", "after"))
    scale, unit = (100, " points") if style.endswith("%") else (1, "")
    mean, low, high = (f"{scale * value:+.{style[1]}f}" for value in triple(gain))
    change = f"{mean}{unit}, 95 % interval {low} to {high}"
    yield card(name, f"{before:{style}} → {after:{style}}", change)


def _reward(curves: Sequence[Mapping[str, Any]]) -> Iterable[str]:
    values = [row["reward"] for row in curves if row.get("reward") is not None]
    if values:
        first, last = ends(values)
        yield card(
            "Training reward", f"{first:z.3f} → {last:z.3f}", "first and last fifth of the steps"
        )


# -- before and after ------------------------------------------------------------------------


def _comparison(run: Run) -> str:
    policies = run.policies.values()
    shown = {
        p.name: {human(m): triple(p.estimates[m]) for m in SHARES if m in p.estimates}
        for p in policies
    }
    rows = [
        [marked(metric), str(run.policies["before"].estimates[metric].n),
         *(estimated(p.estimates.get(metric)) for p in policies),
         estimated(run.gain.get(metric), change=True)]
        for metric in run.policies["before"].estimates
    ]  # fmt: skip
    names = list(run.policies)
    groups = [
        [group, *(estimated(p.groups.get(group, {}).get("success")) for p in policies)]
        for group in dict.fromkeys(g for p in policies for g in p.groups)
    ]
    masked = ", ".join(f"{p.name} {p.masked}" for p in policies)
    return (
        '<div class="grid uneven"><div>'
        + figures.intervals("Means and 95 % intervals", shown)
        + "</div><div>"
        + table(["", "tasks", *names, "after - before"], rows)
        + behind("success by server, kind and length", ["", *names], groups)
        + '</div></div><p class="note">Each interval is a bootstrap over tasks (for a share, where '
        "no task's trials differ, Wilson's); the difference is taken task by task. * less is "
        "better. Masked episodes (our own faults, never scored): "
        f"{escape(masked)}.</p>"
    )


# -- training --------------------------------------------------------------------------------


def _training(curves: Sequence[Mapping[str, Any]]) -> str:
    if not curves:
        return '<p class="empty">No training steps.</p>'
    columns = {c: [row.get(c) for row in curves] for c in ("reward", *COMPONENTS, *REST)}
    shares = {
        "episodes without a call": columns["abstention"],
        "groups without variance": columns["zero_variance"],
    }
    head = ("step", "reward", *COMPONENTS, *REST)
    rows = [[number(row.get(name)) for name in head] for row in curves]
    return (
        '<div class="grid">'
        + figures.lines("Reward, normalized", {"reward": columns["reward"]}, WINDOW)
        + figures.lines("Components of the reward", {c: columns[c] for c in COMPONENTS}, WINDOW)
        + figures.lines("Calls per task", {"calls": columns["calls"]}, WINDOW)
        + figures.lines("Abstention and groups that teach nothing", shares, WINDOW)
        + figures.lines("Entropy, nats a token", {"entropy": columns["entropy"]}, WINDOW)
        + figures.lines("KL to the starting policy, nats a token", {"KL": columns["kl"]}, WINDOW)
        + figures.lines("Sampled tokens an episode", {"tokens": columns["tokens"]}, WINDOW)
        + "</div>"
        + _troubles(curves)
        + behind("all steps", [human(name) for name in head], rows)
        + f'<p class="note">Strong lines are running means of {WINDOW} steps, faint ones the steps.'
        " Legends give the last mean.</p>"
    )


def _troubles(curves: Sequence[Mapping[str, Any]]) -> str:
    """Episodes that were masked, and the first alarm, with what is left after it."""
    masked = sum(row.get("masked", 0) for row in curves)
    told = f"Masked episodes in training (our own faults, never learnt from): {masked}."
    alarms = [row for row in curves if row.get("collapse")]
    if alarms:
        first = alarms[0]
        told += (
            f" Alarm at step {first['step']}: {first['collapse']}; {len(alarms)} steps in all. "
            "The best policy before it is in grpo/good."
        )
    return f'<p class="note">{escape(told)}</p>'


# -- synthesis -------------------------------------------------------------------------------


def _synthesis(run: Run) -> str:
    parts = (("Training tasks", run.train), ("Held-out tasks", run.heldout))
    return f'<div class="grid">{"".join(f"<div>{_yield(*part)}</div>" for part in parts)}</div>'


def _yield(title: str, found: Yield) -> str:
    tasks, lost = sum(found.kinds.values()), sum(found.rejected.values())
    share = f" ({tasks / (tasks + lost):.0%})" if tasks + lost else ""
    counts = {"certified": tasks, **{human(k): n for k, n in found.rejected.items()}}
    return (
        figures.bars(f"{title}: {tasks} of {tasks + lost} candidates{share}", counts, "certified")
        + behind("by outcome", ["outcome", "candidates"], counts.items())
        + behind("by kind", ["kind", "tasks"], found.kinds.items())
        + behind("by server", ["server", "tasks"], found.servers.items())
    )


def _settings(run: Run) -> str:
    costs = [
        [name, ", ".join(f"{key} {value:.4g}" for key, value in cost.items())]
        for name, cost in run.costs.items()
    ]
    told = escape(json.dumps(run.settings, indent=2))
    return f"<details><summary>settings</summary><pre>{told}</pre></details>" + (
        behind("cost by file", ["file", "cost"], costs) if costs else ""
    )
