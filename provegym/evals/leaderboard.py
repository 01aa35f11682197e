"""The leaderboard as a page: every entry with its interval, floor and ceiling beside it."""

from __future__ import annotations

from collections.abc import Sequence

from provegym.evals.benchmark import OWN, Entry, Split, compared
from provegym.evals.canary import CANARY
from provegym.evals.stats import Estimate

COLUMNS = {
    "success": "success",
    "reward": "reward, strict",
    "reward_paper": "reward, paper",
    "coverage": "coverage",
    "over_calling": "over-calling",
    "abstention": "abstention",
    "premature_calls": "premature calls",
    "recovery": "recovery",
    "calls": "calls",
}
"""Scores that are shown, in this order."""

HEAD = (
    "<!-- {canary} -->\n"
    "# Leaderboard\n\n"
    "Made by `provegym benchmark page`; do not edit. Success is the share of tasks that were done; "
    "means are over tasks, with 95 % intervals. [How to enter](benchmark.md).\n\n"
    "The published split **{split.name}** has {split.tasks} tasks over all twenty servers. Its "
    "seed is sealed: the commitment is `{split.commitment}`, the SHA-256 of the tasks "
    "`{split.tasks_hash}`.\n"
)
"""How the page begins."""


def render(entries: Sequence[Entry], split: Split) -> str:
    """The page, in Markdown."""
    parts = [HEAD.format(canary=CANARY, split=split)]
    for common, group in compared(entries):
        parts.append(_section(common, group))
    if not entries:
        parts.append("Nobody has been measured yet.\n")
    return "\n".join(parts)


def _section(common: Entry, group: Sequence[Entry]) -> str:
    name = f"Other tasks, {common.tasks_hash[:12]}" if common.split == OWN else common.split
    trials = f"{common.trials} trial{'s' * (common.trials > 1)} of each of {common.tasks} tasks"
    hats = sorted({k for entry in group for k in entry.pass_hat if k > 1})
    heads = ["name", "kind", *COLUMNS.values(), *(f"pass^{k}" for k in hats), "date", "version"]
    lines = [
        f"## {name}: {trials}\n",
        f"Success of silence is {common.floor}, of the ground truth {common.ceiling}.\n",
        _row(heads),
        _row(["---"] * len(heads)),
        *(_row(_cells(entry, hats)) for entry in group),
    ]
    return "\n".join(lines) + "\n"


def _cells(entry: Entry, hats: Sequence[int]) -> list[str]:
    scores = [_cell(entry.scores.get(name)) for name in COLUMNS]
    trials = [_cell(entry.pass_hat.get(k)) for k in hats]
    return [_safe(entry.name), entry.kind, *scores, *trials, entry.date, entry.version]


def _cell(estimate: Estimate | None) -> str:
    return "-" if estimate is None else str(estimate)


def _safe(name: str) -> str:
    """A name that cannot break out of its cell, nor bring markup along."""
    kept = "".join(letter if letter.isprintable() else " " for letter in name)
    for sign in "\\`*_{}[]<>|!#":
        kept = kept.replace(sign, f"\\{sign}")
    return kept


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"
