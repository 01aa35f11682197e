"""Example episodes of two policies side by side: what was said, called and answered."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape
from typing import Any

import msgspec

from provegym.evals.heldout import Measure
from provegym.report.data import Policy, Run
from provegym.types import Call, Task, Trace

EXAMPLES = 3
SIDES = ("before", "after")
SHORT, LONG = 160, 2_000
"""Characters of a result that are shown at once, and behind a click."""


def examples(run: Run) -> list[str]:
    """Ids of three held-out tasks that both policies played: the largest gain in reward, the
    largest loss, and the middle one (ties in the order of the file).
    """
    before, after = (rewards(run.policies[side].measures) for side in SIDES)
    both = sorted((after[t] - before[t], i, t) for i, t in enumerate(before) if t in after)
    if len(both) <= EXAMPLES:
        return [task for _, _, task in reversed(both)]
    return [both[place][2] for place in (-1, 0, len(both) // 2)]


def rewards(measures: Iterable[Measure]) -> dict[str, float]:
    """The reward of each task's first episode."""
    found: dict[str, float] = {}
    for m in measures:
        found.setdefault(m.task_id, m.reward)
    return found


def example(run: Run, task_id: str) -> str:
    """One task as both policies played it."""
    task = run.tasks[task_id]
    sides = "".join(_side(run.policies[side], task) for side in SIDES)
    truth = "\n".join(f"turn {i + 1}: {c.name}({plain(c.arguments)})" for i, c in task.ground_truth)
    tag = f'<span class="tag">{task.kind}, {escape(", ".join(task.servers[:1]))}</span>'
    return (
        f'<div class="episode"><h3>{escape(task_id)} {tag}</h3>'
        f"<details><summary>ground truth</summary><pre>{escape(truth or 'no call')}</pre></details>"
        f'<div class="pair">{sides}</div></div>'
    )


def _side(policy: Policy, task: Task) -> str:
    reward = rewards(policy.measures)[task.id]
    head = f'<h4>{escape(policy.name)} <span class="tag">reward {reward:z.3f}</span></h4>'
    return f'<div class="side">{head}{"".join(_turns(task, policy.traces[task.id]))}</div>'


def _turns(task: Task, trace: Trace) -> Iterable[str]:
    answers = _answers(trace)
    for i, turn in enumerate(task.turns):
        yield f'<div class="user">{escape(turn.user)}</div>'
        calls = [call for call in trace.calls if call.turn == i]
        yield from map(_call, calls)
        if answers.get(i):
            yield f'<div class="said">{escape(_cut(answers[i], LONG))}</div>'
        elif not calls:
            yield '<div class="quiet">nothing</div>'


def _answers(trace: Trace) -> dict[int, str]:
    """The last words of the policy in each user turn."""
    turn, found = -1, dict[int, str]()
    for message in trace.messages:
        turn += message.get("role") == "user"
        if message.get("role") == "assistant" and isinstance(message.get("content"), str):
            found[turn] = message["content"].strip()
    return found


def _call(call: Call) -> str:
    result = plain(call.result)
    shown = f'<code class="result">{escape(_cut(result, SHORT))}</code>'
    if len(result) > SHORT:
        whole = f'<code class="result">{escape(_cut(result, LONG))}</code>'
        shown = f"<details><summary>{shown}</summary>{whole}</details>"
    made = escape(_cut(_written(call.name, call.arguments), LONG))
    kind = "call ok" if call.outcome == "ok" else "call"
    outcome = f'<span class="outcome">{call.outcome}</span>'
    return f'<div class="{kind}"><code>{made}</code> {outcome}{shown}</div>'


def _written(name: str, arguments: Any) -> str:
    return f"{name}({plain(arguments) if arguments else ''})"


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[:most]}..."


def plain(value: Any) -> str:
    """A value as JSON text, keys sorted."""
    return msgspec.json.encode(value, order="sorted").decode()
