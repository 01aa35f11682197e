"""Efficiency: the penalty for calls beyond a budget (paper section 3.3)."""

from __future__ import annotations

from math import ceil

_ROUNDING = 1e-9  # 0.07 * 100 is a little more than 7 in floating point


def budget(needed: int, beta: float) -> int:
    """Calls that are free: those needed and a share `beta` of them more, rounded up."""
    return needed + ceil(beta * needed - _ROUNDING)


def efficiency(made: int, needed: int, alpha: float, beta: float) -> float:
    """`-alpha` times the share of the budget by which `made` exceeds it; never positive.

    Every call made counts, malformed ones too, and there is no lower cap. `needed` is positive.
    """
    free = budget(needed, beta)
    return -alpha * (made - free) / free if made > free else 0.0
