"""`report.html`: one self-contained page; each figure has its numbers in a table behind it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any

import msgspec

from provegym.evals.heldout import Measure
from provegym.evals.stats import Estimate
from provegym.records import write_atomic
from provegym.report import figures
from provegym.report.data import Run, Yield, load
from provegym.types import Task, Trace

COMPONENTS = ("validity", "coverage", "efficiency", "name", "argument", "state")
SHARES = ("success", "coverage", "over_calling", "abstention", "premature_calls")
WINDOW = 5
"""Steps that the training curves are smoothed over."""
EXAMPLES = 3

STYLE = """
body{font:15px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;
color:#1d2129;background:#fff}h1{font-size:1.6rem}h2{margin-top:2.2rem;font-size:1.2rem}
table{border-collapse:collapse;margin:.6rem 0;font-size:13px}td,th{padding:.2rem .7rem;
border-bottom:1px solid #dde1e6;text-align:right}td:first-child,th:first-child{text-align:left}
svg{max-width:100%;height:auto}details{margin:.3rem 0}summary{cursor:pointer;color:#555}
.pair{display:grid;grid-template-columns:1fr 1fr;gap:1rem}.pair>div{min-width:0}
pre{white-space:pre-wrap;overflow-wrap:anywhere;font-size:12px;background:#f4f6f8;padding:.5rem;
border-radius:6px;margin:.3rem 0}
.ok{border-left:3px solid #2f9e57}.bad{border-left:3px solid #c0392b}
.user{font-weight:600;margin:.6rem 0 .2rem}@media(max-width:700px){.pair{grid-template-columns:1fr}}
@media print{details{display:block}body{max-width:none}}
"""


def write(folder: Path) -> Path:
    """Make `report.html` of the run in `folder` and return its path. Raises InputError."""
    path = folder / "report.html"
    write_atomic(path, [render(load(folder)).encode()])
    return path


def render(run: Run) -> str:
    """The whole page as HTML text."""
    parts = [
        f"<h1>provegym run: {escape(run.name)}</h1>",
        _headline(run),
        "<h2>Held-out tasks, before and after</h2>",
        _comparison(run),
        "<h2>Training</h2>",
        _training(run),
        "<h2>Synthesis</h2>",
        _synthesis("Training tasks", run.train),
        _synthesis("Held-out tasks", run.heldout),
        "<h2>Example episodes</h2>",
        *(_example(run, task_id) for task_id in examples(run)),
        "<h2>Settings</h2>",
        f"<details><summary>run.json</summary><pre>{escape(_plain(run.settings))}</pre></details>",
        _behind("cost by file", ["file", "cost"], _cost_rows(run)),
    ]
    title = f"provegym: {escape(run.name)}"
    head = (
        f'<meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>{title}'
    )
    return (
        f'<!doctype html><html lang="en"><head>{head}</title><style>{STYLE}</style></head>'
        f"<body>{''.join(parts)}</body></html>\n"
    )


def _headline(run: Run) -> str:
    gain = run.gain.get("success")
    said = f"Held-out success changed by <b>{gain}</b> (95 % interval)." if gain else ""
    policy = run.settings["run"]["policy"]
    name = {"smollm2": "SmolLM2-135M-Instruct, dequantized from Q4"}.get(policy, policy)
    return f"<p>Policy: {escape(name)}. {said}</p>"


# -- before and after ------------------------------------------------------------------------


def _comparison(run: Run) -> str:
    before, after = run.policies["before"], run.policies["after"]
    shown = [
        {m: _triple(e) for m, e in p.estimates.items() if m in SHARES} for p in (before, after)
    ]
    rows = [
        [metric, *(_cell(p.estimates.get(metric)) for p in run.policies.values()),
         _cell(run.gain.get(metric))]
        for metric in before.estimates
    ]  # fmt: skip
    head = ["metric", *run.policies, "after - before (paired)"]
    groups = [
        [group, *(_cell(p.groups.get(group, {}).get("success")) for p in run.policies.values())]
        for group in before.groups
    ]
    masked = ", ".join(f"{p.name} {p.masked}" for p in run.policies.values())
    return (
        figures.intervals(shown[0], shown[1])
        + table(head, rows)
        + _behind("success by server and kind", ["group", *run.policies], groups)
        + f"<p>Masked episodes (our own faults, not scored): {masked}.</p>"
    )


def _triple(e: Estimate) -> tuple[float, float, float]:
    return e.mean, e.low, e.high


def _cell(e: Estimate | None) -> str:
    return "" if e is None else f"{e} (n={e.n})"


# -- training --------------------------------------------------------------------------------


def _training(run: Run) -> str:
    if not run.curves:
        return "<p>No training steps.</p>"
    rows = run.curves
    rest = ("calls", "abstention", "zero_variance", "masked", "tokens")
    return (
        figures.lines({"reward": _column(rows, "reward")}, "normalized reward", WINDOW)
        + figures.lines({c: _column(rows, c) for c in COMPONENTS}, "component", WINDOW)
        + figures.lines({"calls per task": _column(rows, "calls")}, "calls per task", WINDOW)
        + figures.lines(
            {"abstention": _column(rows, "abstention"),
             "groups without variance": _column(rows, "zero_variance")}, "share", WINDOW)
        + _behind(
            "a row a step",
            ["step", "reward", *COMPONENTS, *rest],
            [[_number(r.get(c)) for c in ("step", "reward", *COMPONENTS, *rest)] for r in rows],
        )
    )  # fmt: skip


def _column(rows: Sequence[Mapping[str, Any]], name: str) -> list[float | None]:
    return [row.get(name) for row in rows]


# -- synthesis -------------------------------------------------------------------------------


def _synthesis(title: str, found: Yield) -> str:
    tasks = sum(found.kinds.values())
    lost = sum(found.rejected.values())
    share = tasks / (tasks + lost) if tasks + lost else 0.0
    counts: dict[str, float] = {"certified": tasks, **found.rejected}
    return (
        f"<h3>{title}: {tasks} certified of {tasks + lost} candidates ({share:.0%})</h3>"
        + figures.bars(counts, "candidates")
        + _behind("by reason", ["outcome", "candidates"], counts.items())
        + _behind("by kind", ["kind", "tasks"], found.kinds.items())
        + _behind("by server", ["server", "tasks"], found.servers.items())
    )


# -- examples --------------------------------------------------------------------------------


def examples(run: Run) -> list[str]:
    """Three held-out tasks that both policies played: the largest gain, the largest loss, a
    middle one (ties in the order of the file).
    """
    before, after = (_rewards(run.policies[n].measures) for n in ("before", "after"))
    both = sorted((after[t] - before[t], i, t) for i, t in enumerate(before) if t in after)
    picks = [both[-1], both[0], both[len(both) // 2]] if both else []
    return list(dict.fromkeys(t for _, _, t in picks))[:EXAMPLES]


def _rewards(measures: Iterable[Measure]) -> dict[str, float]:
    found: dict[str, float] = {}
    for m in measures:
        found.setdefault(m.task_id, m.reward)
    return found


def _example(run: Run, task_id: str) -> str:
    task = run.tasks[task_id]
    sides = "".join(
        f"<div><h4>{name}: reward {_rewards(run.policies[name].measures)[task_id]:.3f}</h4>"
        f"{_episode(task, run.policies[name].traces[task_id])}</div>"
        for name in ("before", "after")
    )
    truth = "\n".join(f"turn {i}: {c.name}({_plain(c.arguments)})" for i, c in task.ground_truth)
    return (
        f"<h3>{escape(task_id)} ({task.kind}, {escape(task.servers[0])})</h3>"
        f"<details><summary>ground truth</summary><pre>{escape(truth or 'no call')}</pre></details>"
        f'<div class="pair">{sides}</div>'
    )


def _episode(task: Task, trace: Trace) -> str:
    shown = []
    for i, turn in enumerate(task.turns):
        shown.append(f'<div class="user">{escape(turn.user)}</div>')
        for call in (c for c in trace.calls if c.turn == i):
            mark = "ok" if call.outcome == "ok" else "bad"
            text = f"{call.name}({_plain(call.arguments)})\n{call.outcome}: {_plain(call.result)}"
            shown.append(f'<pre class="{mark}">{escape(text[:700])}</pre>')
    return "".join(shown)


# -- pieces ----------------------------------------------------------------------------------


def table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """An HTML table."""
    top = "".join(f"<th>{escape(str(h))}</th>" for h in head)
    body = "".join(
        "<tr>" + "".join(f"<td>{escape(str(c))}</td>" for c in row) + "</tr>" for row in rows
    )
    return f"<table><thead><tr>{top}</tr></thead><tbody>{body}</tbody></table>"


def _behind(title: str, head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    return f"<details><summary>{escape(title)}</summary>{table(head, rows)}</details>"


def _cost_rows(run: Run) -> list[list[str]]:
    return [
        [name, ", ".join(f"{k} {v:.4g}" for k, v in cost.items())]
        for name, cost in run.costs.items()
    ]


def _number(value: object) -> str:
    return f"{value:.3f}" if isinstance(value, float) else "" if value is None else str(value)


def _plain(value: Any) -> str:
    return msgspec.json.encode(value, order="sorted").decode()
