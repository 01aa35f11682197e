"""One row a training step: `curves.jsonl`, from which reports draw every curve."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

from provegym.records import Manifest, manifest_path, read_rows, write_manifest
from provegym.train.episodes import Episode

COMPONENTS = ("validity", "coverage", "efficiency", "name", "argument", "state")
Row = dict[str, Any]


def summary(episodes: Sequence[Episode], group_size: int) -> Row:
    """Means over the step's scored episodes; shares are of episodes, or of groups for
    `zero_variance` (groups whose rollouts all earned the same, which teach nothing).

    `reward` is normalized to 1; `tokens` are the sampled ones of an episode. Demonstrations say
    nothing about the policy and are left out; only `masked` counts those, too, that a fault hit.
    `entropy` is an unbiased estimate, in nats a token: the mean of -log p over what was sampled.
    """
    masked = sum(e.score.masked for e in episodes)
    groups = [episodes[i : i + group_size] for i in range(0, len(episodes), group_size)]
    groups = [[e for e in group if e.sampled] for group in groups]
    episodes = [e for group in groups for e in group]
    scored = [e for e in episodes if not e.score.masked]
    parts = {name: _mean(getattr(e.score, name) for e in scored) for name in COMPONENTS}
    return {
        "reward": _mean(e.score.normalized for e in scored),
        "total": _mean(e.score.total for e in scored),
        **parts,
        "calls": _mean(len(e.trace.calls) for e in scored),
        "abstention": _mean(not e.trace.calls for e in scored),
        "zero_variance": _mean(map(is_flat, groups)),
        "masked": masked,
        "tokens": _mean(sum(e.policy.transcript.completion_mask) for e in scored),
        "overlong": _mean(e.trace.stop_reason == "max_tokens" for e in scored),
        "entropy": _mean(_surprises(scored)),
        "tasks": [group[0].task.id for group in groups],
    }


def is_flat(group: Sequence[Episode]) -> bool:
    """Whether all rollouts of a group earned the same, so that it teaches nothing."""
    return len({e.score.normalized for e in group if not e.score.masked}) <= 1


def _surprises(episodes: Iterable[Episode]) -> Iterator[float]:
    """-log p of every sampled token."""
    for script in (episode.policy.transcript for episode in episodes):
        yield from (-p for p, own in zip(script.logprobs, script.mask, strict=True) if own)


def _mean(values: Iterable[float | None]) -> float | None:
    known = [float(value) for value in values if value is not None]
    return fmean(known) if known else None


class Curves:
    """The file. A row is one line, written at once; a half line of a killed run is dropped."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.rows: list[Row] = []

    def resume(self, step: int) -> None:
        """Keep the rows up to `step`, the last one that a checkpoint holds."""
        self.rows = [row for row in read_rows(self.path) if row["step"] <= step]
        manifest_path(self.path).unlink(missing_ok=True)
        text = "".join(json.dumps(row) + "\n" for row in self.rows)
        self.path.parent.mkdir(parents=True, exist_ok=True)
        beside = self.path.with_name(self.path.name + ".new")
        beside.write_text(text, "utf-8")
        beside.replace(self.path)

    def add(self, row: Mapping[str, Any]) -> None:
        """Append one step's row."""
        self.rows.append(dict(row))
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(row) + "\n")

    def finish(self) -> None:
        """Note how many rows there are, so that a file that loses some later is seen."""
        write_manifest(self.path, Manifest("curves", "", complete=True, rows=len(self.rows)))

    @property
    def seconds(self) -> float:
        """Time spent in the steps so far, over all resumed runs."""
        return sum(float(row["seconds"]) for row in self.rows)
