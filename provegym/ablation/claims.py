"""The paper's claims on its reward and its training (arXiv 2606.03892), put to our small policies.

A claim is about one metric of one cell beside another. It is supported where the corrected
difference points its way, not supported where it does not or where none is seen, and not testable
where the cells were not trained, may not be judged by the metric or are both at an edge of it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from msgspec import Struct

from provegym.ablation.cells import BASE
from provegym.ablation.compare import Difference
from provegym.ablation.measures import METRICS

Verdict = Literal["supported", "not supported", "not testable at this size"]
SAME = 0.05
"""A claim of "no difference" is supported where the whole interval is this near to 0 (ours)."""


class Claim(Struct, frozen=True):
    """What the paper says, and what it says of our measures."""

    says: str
    where: str
    """In the paper."""
    policy: str
    cell: str
    against: str
    metric: str
    sign: int
    """Whether the cell has more (1), less (-1) or as much (0) of it."""

    @property
    def key(self) -> str:
        """The comparison that decides it."""
        return key(self.policy, self.cell, self.against, self.metric)


def key(policy: str, cell: str, against: str, metric: str) -> str:
    """The name of a comparison."""
    return f"{policy}: {cell} - {against}: {metric}"


CLAIMS = (
    Claim("Training raises validity", "figure 4", "tiny", "full", BASE, "validity", 1),
    Claim("Training raises coverage", "figure 4", "tiny", "full", BASE, "coverage", 1),
    Claim("The trained policy beats its base", "table 3", "smollm2", "full", BASE, "success", 1),
    Claim(
        "GRPO beats fine-tuning on the same data (11 of 12 cells)",
        *("table 6", "smollm2", "full", "sft", "success", 1),
    ),
    Claim("Without validity it does worse", "table 5", "tiny", "-validity", "full", "validity", -1),
    Claim("Without coverage it does worse", "table 5", "tiny", "-coverage", "full", "coverage", -1),
    Claim(
        "The efficiency term holds back needless calls",
        *("section 3.3", "tiny", "-efficiency", "full", "calls", 1),
    ),
    Claim(
        "Without efficiency it does worse",
        *("table 5", "smollm2", "-efficiency", "full", "success", -1),
    ),
    Claim("Without name it does worse", "table 5", "smollm2", "-name", "full", "success", -1),
    Claim(
        "Without argument it does worse", "table 5", "smollm2", "-argument", "full", "argument", -1
    ),
    Claim(
        "A budget without slack (beta 0) does worse",
        *("table 5", "smollm2", "beta0", "full", "success", -1),
    ),
    Claim(
        "A budget without slack (beta 0) costs coverage",
        *("table 5", "tiny", "beta0", "full", "coverage", -1),
    ),
    Claim(
        "Another teacher makes no difference", "table 7", "tiny", "teacher-2", "full", "coverage", 0
    ),
)


def verdict(claim: Claim, found: Mapping[str, Difference]) -> tuple[Verdict, str]:
    """The verdict on a claim and why, from all comparisons by their key."""
    seen = found.get(claim.key)
    if claim.policy not in METRICS[claim.metric].judged_on:
        return "not testable at this size", f"{claim.policy} is not judged by {claim.metric}"
    if seen is None or not seen.gain.n:
        return "not testable at this size", f"they were not both trained with {claim.policy}"
    if seen.at_edge:
        return "not testable at this size", f"both are at the {seen.at_edge}"
    gain = seen.gain
    told = f"difference {gain.mean:+z.3f} [{gain.low:+z.3f}, {gain.high:+z.3f}]"
    if seen.seeds < 2:  # how far two trainings of one cell lie apart is not seen
        return "not testable at this size", f"{told}, of one seed alone"
    if claim.sign == 0:
        return _same(seen, told)
    if not seen.differs:
        return "not supported", f"{told}: none that holds after correction"
    agrees = (seen.gain.mean > 0) == (claim.sign > 0)
    return ("supported", told) if agrees else ("not supported", f"{told}: the other way")


def _same(seen: Difference, told: str) -> tuple[Verdict, str]:
    if seen.differs:
        return "not supported", told
    if max(abs(seen.gain.low), abs(seen.gain.high)) <= SAME:
        return "supported", told
    return "not testable at this size", f"{told}: too wide to say that there is none"
