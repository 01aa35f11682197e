"""Is a run through verl still sound? Seen while it goes, from what verl logs and its episodes.

RUN/curves.jsonl   one row a step: reward, KL, entropy, length, groups that teach nothing, alarms
RUN/good/          the checkpoint before which most was earned, which verl itself would not keep

The alarms are those of the laptop's trainer (`provegym.train.stability`).
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from statistics import fmean
from typing import Any

from provegym import records
from provegym.train import stability
from provegym.train.verl import episodes

Row = dict[str, Any]
LOGGED = {
    "reward": "critic/score/mean",
    "entropy": "actor/entropy",
    "loss": "actor/loss",
    "grad_norm": "actor/grad_norm",
    "kl": "actor/kl_loss",
    "learning_rate": "actor/lr",
    "tokens": "response_length/mean",
    "seconds": "timing_s/step",
}
"""Our names of what verl logs. `reward` is the preset's total; `tokens` are a whole response's."""


class Watch:
    """Looks at one run; `note` is told of an alarm, once."""

    def __init__(self, run: Path, checkpoints: Path, note: Callable[[str], None]) -> None:
        self._run, self._checkpoints, self._note = run, checkpoints, note
        self._alarmed = False
        self._seen: list[tuple[str, int]] = []

    def look(self) -> None:
        """Once there is a new step: write the curves anew, keep the best checkpoint (verl logs a
        step when it is saved), tell of a collapse.
        """
        files = sorted((self._run / "metrics").glob("*.jsonl"))
        seen = [(path.name, path.stat().st_size) for path in files]
        if seen == self._seen:
            return
        self._seen, rows = seen, curves(self._run)
        if not rows:
            return
        records.write_atomic(self._run / "curves.jsonl", map(records.encode, rows))
        self._keep(rows)
        alarm = next((row for row in rows if row["collapse"]), None)
        if alarm and not self._alarmed:
            self._alarmed = True
            kept = kept_step(self._run)
            best = f"; the best checkpoint, of step {kept}, is in {self._run / 'good'}"
            self._note(f"step {alarm['step']}: {alarm['collapse']}{best if kept else ''}")

    def _keep(self, rows: list[Row]) -> None:
        """Keep the last whole checkpoint, where more was earned before it than before the kept."""
        step, kept = last_checkpoint(self._checkpoints), kept_step(self._run)
        until = [row for row in rows if row["step"] <= step]
        if len(until) < stability.WINDOW or step == kept or stability.collapse(until):
            return
        before = [row for row in rows if row["step"] <= kept]
        if kept and stability.earned(until) <= stability.earned(before):
            return
        self._link(step)

    def _link(self, step: int) -> None:
        """The files themselves are shared with verl's folder, so this takes no room or time."""
        name = f"global_step_{step}"
        good, part = self._run / "good", self._run / ".good"
        shutil.rmtree(part, ignore_errors=True)
        try:
            shutil.copytree(self._checkpoints / name, part / name, copy_function=_link)
        except (FileNotFoundError, shutil.Error):
            return  # verl has just removed it, for there are two newer ones
        shutil.rmtree(good, ignore_errors=True)
        os.replace(part, good)


def _link(source: str, target: str) -> None:
    try:
        os.link(source, target)
    except FileNotFoundError:
        raise
    except OSError:
        shutil.copy2(source, target)  # a file system without links


def last_checkpoint(checkpoints: Path) -> int:
    """The steps of the last whole checkpoint, 0 where there is none."""
    told = checkpoints / "latest_checkpointed_iteration.txt"
    return int(told.read_text()) if told.is_file() else 0


def kept_step(run: Path) -> int:
    """The steps of the checkpoint in RUN/good, 0 where there is none."""
    return max((int(p.name.rpartition("_")[2]) for p in (run / "good").glob("*_*")), default=0)


def curves(run: Path) -> list[Row]:
    """A row a step. Steps that were made again after a kill count as they were made last."""
    logged: dict[int, Mapping[str, Any]] = {}
    for path in sorted((run / "metrics").glob("*.jsonl")):
        found = {int(row["step"]): row["data"] for row in records.read_rows(path)}
        first = min(found, default=0)
        logged = {step: data for step, data in logged.items() if step < first or not found} | found
    played: dict[int, list[episodes.Row]] = {}
    for episode in episodes.read(run / "episodes"):
        if episode.learnt:
            played.setdefault(episode.step, []).append(episode)
    rows: list[Row] = []
    for step in sorted(logged):
        row = {"step": step, **{name: logged[step].get(key) for name, key in LOGGED.items()}}
        row |= _of_episodes(played.get(step, []))
        rows.append(row | {"collapse": stability.collapse([*rows, row])})
    return rows


def _of_episodes(played: list[episodes.Row]) -> Row:
    """Shares of episodes, and of groups for `zero_variance`; `masked` were lost to our faults."""
    scored = [row for row in played if row.reward is not None]
    groups: dict[str, set[float]] = {}
    for row in scored:
        groups.setdefault(row.id.rpartition("-")[0], set()).add(row.reward or 0.0)
    return {
        "calls": _mean([row.parts.get("calls", 0.0) for row in scored]),
        "abstention": _mean([float(not row.parts.get("calls")) for row in scored]),
        "zero_variance": _mean([float(len(rewards) == 1) for rewards in groups.values()]),
        "masked": len(played) - len(scored),
    }


def _mean(values: list[float]) -> float | None:
    return fmean(values) if values else None
