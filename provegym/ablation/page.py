"""The table of a run of ablations, as Markdown, from the cells that are done."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

from msgspec import Struct

from provegym.ablation import claims
from provegym.ablation.cells import BASE, RECIPES
from provegym.ablation.compare import Difference, corrected, difference, mean
from provegym.ablation.measures import METRICS, Values, measured
from provegym.errors import InputError
from provegym.records import read_rows, write_atomic
from provegym.report.data import settings_of_run

DONE = "done.json"
"""Of a cell's folder; written last."""
REPORT = "ablations.md"

CAVEAT = (
    "These are very small policies on short tasks. They do not reproduce the paper's numbers; they "
    "show which way a change of the reward or the data moves such a policy. `tiny` (two layers) "
    "copies arguments poorly, so it is judged by calls, validity, coverage and abstention alone; "
    "success and arguments are judged on `smollm2` alone."
)
METHOD = (
    "Means are over seeds and held-out tasks, with 95 % intervals of a bootstrap that draws both "
    "anew. Differences to `full` are taken task by task and seed by seed. **Bold**: holds after "
    "Holm's correction over all differences of the policy. *floor*, *ceiling*: both cells are "
    "within 0.02 of 0 or 1 there, so it is not testable. Two of the columns are signs of reward "
    "hacking: one call and stop (tasks that need more), and more calls than the paper's budget."
)


class Trained(Struct, frozen=True):
    """One training of one cell that is done."""

    policy: str
    cell: str
    seed: int
    note: dict[str, Any]
    values: Values


def write(folder: Path) -> Path:
    """Write the table of the run in `folder` and return its path. Raises InputError."""
    path = folder / REPORT
    write_atomic(path, [render(folder).encode()])
    return path


def is_ablations(folder: Path) -> bool:
    """Whether the folder is one of a run of ablations."""
    return bool(settings_of_run(folder).get("ablations"))


def load(folder: Path) -> list[Trained]:
    """All cells that are done, policy by policy in the order of the recipes."""
    tasks = folder / "heldout" / "tasks.jsonl"
    found = []
    for path in folder.glob(f"*/*/*/{DONE}"):
        note = json.loads(path.read_text("utf-8"))
        values, _ = measured(tasks, path.parent / "eval" / "after.traces.jsonl")
        found.append(Trained(note["policy"], note["cell"], note["seed"], note, values))
    order = [BASE, *RECIPES]
    policies = ["tiny", "smollm2"]
    return sorted(found, key=lambda t: (policies.index(t.policy), order.index(t.cell), t.seed))


def render(folder: Path) -> str:
    """The page. Raises `InputError` for a folder that holds no ablations."""
    settings = settings_of_run(folder)
    if not settings.get("ablations"):
        raise InputError(f"{folder} is not the folder of a run of ablations")
    trained = load(folder)
    parts = [f"# Ablations: {settings['run']['name']}", CAVEAT, _made(folder, trained)]
    found: dict[str, Difference] = {}
    for policy in dict.fromkeys(t.policy for t in trained):
        mine = [t for t in trained if t.policy == policy]
        seen = comparisons(policy, mine)
        found |= seen
        parts += [f"## {policy}", means(mine), differences(policy, mine, seen), training(mine)]
    parts += [METHOD, "## The paper's claims", judged(found)]
    return "\n\n".join(parts) + "\n"


def _made(folder: Path, trained: Sequence[Trained]) -> str:
    tasks = len(read_rows(folder / "heldout" / "tasks.jsonl"))
    hours = sum(t.note["seconds"] for t in trained) / 3600
    return (
        f"{len(trained)} trainings, the starts included; {tasks} held-out tasks, the same for all; "
        f"{hours:.1f} hours of training by the clock. Cells that are not done are left out."
    )


# -- numbers -------------------------------------------------------------------------------


def _by_cell(trained: Iterable[Trained]) -> dict[str, list[Trained]]:
    found: defaultdict[str, list[Trained]] = defaultdict(list)
    for one in trained:
        found[one.cell].append(one)
    return dict(found)


def _of(trained: Iterable[Trained], metric: str) -> dict[int, dict[str, float]]:
    """A metric by seed and task."""
    return {t.seed: dict(t.values[metric]) for t in trained if metric in t.values}


def comparisons(policy: str, trained: Sequence[Trained]) -> dict[str, Difference]:
    """Each cell minus `full` and `full` minus the others that claims ask for, by all metrics that
    the policy is judged by; corrected together.
    """
    cells = _by_cell(trained)
    pairs = [(cell, "full") for cell in cells if cell not in ("full", BASE)]
    pairs += [("full", BASE), ("full", "sft")]
    found = {
        claims.key(policy, cell, against, name): difference(
            _of(cells[against], name), _of(cells[cell], name), share=metric.share
        )
        for name, metric in METRICS.items()
        if policy in metric.judged_on
        for cell, against in dict.fromkeys(pairs)
        if cell in cells and against in cells and (cell, against) != ("sft", "full")
    }
    return corrected({name: seen for name, seen in found.items() if seen.gain.n})


# -- tables --------------------------------------------------------------------------------


def means(trained: Sequence[Trained]) -> str:
    """A row a cell: means with intervals."""
    head = ["cell", "seeds", *(m.says for m in METRICS.values())]
    rows = []
    for cell, of in _by_cell(trained).items():
        found = [mean(_of(of, name)) for name in METRICS]
        rows.append([f"`{cell}`", str(len(of)), *(_mean(e) for e in found)])
    return _table(head, rows)


def _mean(found: Any) -> str:
    return f"{found.mean:z.3f} [{found.low:z.3f}, {found.high:z.3f}]" if found.n else "-"


def differences(policy: str, trained: Sequence[Trained], seen: dict[str, Difference]) -> str:
    """A row a comparison: differences with intervals and corrected p-values."""
    names = [name for name, metric in METRICS.items() if policy in metric.judged_on]
    cells = list(_by_cell(trained))
    pairs = [("full", BASE), ("full", "sft")]
    pairs += [(cell, "full") for cell in cells if cell not in ("full", BASE, "sft")]
    rows = []
    for cell, against in pairs:
        keys = [claims.key(policy, cell, against, name) for name in names]
        if any(key in seen for key in keys):
            rows.append([f"`{cell}` - `{against}`", *(_gain(seen.get(key)) for key in keys)])
    return _table(["difference", *(METRICS[name].says for name in names)], rows)


def _gain(seen: Difference | None) -> str:
    if seen is None:
        return "-"
    if seen.at_edge:
        return f"*{seen.at_edge}*"
    told = f"{seen.gain.mean:+z.3f} [{seen.gain.low:+z.3f}, {seen.gain.high:+z.3f}]"
    shown = f"**{told}**" if seen.differs else told
    return f"{shown}, p {seen.holm:z.3f}, {seen.seeds} {'seed' if seen.seeds == 1 else 'seeds'}"


def training(trained: Sequence[Trained]) -> str:
    """A row a cell: how its trainings went."""
    head = ["cell", "GRPO steps", "groups that teach nothing", "episodes lost to faults", "alarms"]
    rows = []
    for cell, of in _by_cell(trained).items():
        flat = [t.note["zero_variance"] for t in of if t.note["zero_variance"] is not None]
        steps = "/".join(sorted({str(t.note["steps"]) for t in of}))
        lost = sum(t.note["lost"] + t.note["masked"] for t in of)
        alarms = [f"seed {t.seed}: {t.note['collapse']}" for t in of if t.note["collapse"]]
        shown = f"{fmean(flat):.2f}" if flat else "-"
        rows.append([f"`{cell}`", steps, shown, str(lost), "; ".join(alarms) or "none"])
    return _table(head, rows)


def judged(found: dict[str, Difference]) -> str:
    """A row a claim of the paper: the verdict and why."""
    return _table(["the paper", "where", "put to", "verdict", "why"], list(_judged(found)))


def _judged(found: dict[str, Difference]) -> Iterator[list[str]]:
    for claim in claims.CLAIMS:
        verdict, why = claims.verdict(claim, found)
        put = f"`{claim.policy}`, `{claim.cell}` - `{claim.against}`: {claim.metric}"
        yield [claim.says, claim.where, put, verdict, why]


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(row)} |" for row in lines)
