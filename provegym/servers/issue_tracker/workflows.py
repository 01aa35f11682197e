"""The workflows that a project can follow: named transitions between statuses."""

from __future__ import annotations

from typing import Literal

Status = Literal["backlog", "to do", "in progress", "in review", "testing", "done", "cancelled"]
Workflow = Literal["simple", "reviewed", "tested"]

CLOSED = frozenset(("done", "cancelled"))
"""Statuses of issues on which nothing more is to be done."""
STARTED = frozenset(("in progress", "in review", "testing"))
"""Statuses in which somebody works on the issue, so that it must have an assignee."""
OUT_OF_SPRINT = frozenset(("backlog", "cancelled"))
"""Statuses that no issue of an open sprint has."""

Step = tuple[str, Status, Status]
"""Name of a transition, and the statuses it leads from and to."""

_COMMON: tuple[Step, ...] = (
    ("Select", "backlog", "to do"),
    ("Defer", "to do", "backlog"),
    ("Start work", "to do", "in progress"),
    ("Stop work", "in progress", "to do"),
    ("Drop", "backlog", "cancelled"),
    ("Drop", "to do", "cancelled"),
    ("Drop", "in progress", "cancelled"),
    ("Restore", "cancelled", "backlog"),
    ("Reopen", "done", "to do"),
)
_REVIEW: tuple[Step, ...] = (
    ("Request review", "in progress", "in review"),
    ("Request changes", "in review", "in progress"),
    ("Drop", "in review", "cancelled"),
)
WORKFLOWS: dict[Workflow, tuple[Step, ...]] = {
    "simple": (*_COMMON, ("Finish", "in progress", "done")),
    "reviewed": (*_COMMON, *_REVIEW, ("Approve", "in review", "done")),
    "tested": (
        *_COMMON,
        *_REVIEW,
        ("Approve", "in review", "testing"),
        ("Pass", "testing", "done"),
        ("Fail", "testing", "in progress"),
        ("Drop", "testing", "cancelled"),
    ),
}
FORWARD: dict[Workflow, tuple[Status, ...]] = {
    "simple": ("backlog", "to do", "in progress", "done"),
    "reviewed": ("backlog", "to do", "in progress", "in review", "done"),
    "tested": ("backlog", "to do", "in progress", "in review", "testing", "done"),
}
"""The statuses of a workflow from new to done."""


def path_to(workflow: Workflow, status: Status) -> tuple[Status, ...]:
    """The statuses that an issue goes through from new until it gets there."""
    if status == "cancelled":
        return ("backlog", "to do", "cancelled")
    forward = FORWARD[workflow]
    return forward[: forward.index(status) + 1]
