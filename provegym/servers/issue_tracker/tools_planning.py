"""Tools that plan, start and close sprints."""

from __future__ import annotations

from datetime import date
from typing import Annotated, Literal

from provegym.servers.issue_tracker import samples
from provegym.servers.issue_tracker.rules import (
    change_status,
    known_sprint,
    led_project,
    open_issue,
    require_not_past,
    require_points,
    sprint_issues,
    sprint_row,
)
from provegym.servers.issue_tracker.state import (
    Issue,
    IssueId,
    Project,
    ProjectId,
    Sprint,
    SprintId,
    SprintIssue,
    Tracker,
)
from provegym.servers.issue_tracker.views import (
    SprintClosed,
    SprintItem,
    SprintMove,
    issue_item,
    sprint_item,
    sprint_name,
)
from provegym.servers.issue_tracker.workflows import CLOSED
from provegym.world.fields import Date, Range, Text
from provegym.world.tool import refuse, tool

LONGEST = 42
"""Days between the first and the last day of a sprint, at most."""
Capacity = Annotated[int, Range(5, 100)]

_LEADS = ("not_found", "not_your_project", "project_archived", "not_project_lead")
"""Refusals of every tool that only the lead of a project may use."""


@tool(
    "write",
    phrases=(
        'Plan a sprint "{name}" for {project_id} from {starts_on} to {ends_on}'
        '[ with the goal "{goal}"][ and room for {capacity} points]',
        'Create the sprint "{name}" in {project_id}, starting {starts_on} and ending {ends_on}'
        '[, goal "{goal}"][, capacity {capacity} points]',
        'Set up a new sprint called "{name}" on {project_id} between {starts_on} and {ends_on}'
        '[; its goal is "{goal}"][; it holds {capacity} points]',
    ),
    refuses=(*_LEADS, "date_in_past", "sprint_name_taken", "sprint_overlap"),
    sample=samples.create_sprint,
)
def create_sprint(
    tracker: Tracker,
    project_id: ProjectId,
    name: Text,
    starts_on: Date,
    ends_on: Date,
    goal: Text | None = None,
    capacity: Capacity = 30,
) -> SprintItem:
    """Plan a new sprint of a project that you lead.

    Args:
        project_id: The project.
        name: Name, new in the project.
        starts_on: First day, not in the past.
        ends_on: Last day, at most 42 days after the first.
        goal: What the sprint is for.
        capacity: Story points it can hold.
    """
    days = (date.fromisoformat(ends_on) - date.fromisoformat(starts_on)).days
    if not 0 < days <= LONGEST:
        text = f"a sprint ends 1 to {LONGEST} days after its first day, not {days}"
        refuse("invalid_dates", text, days=days)
    project = led_project(tracker, project_id)
    require_not_past(tracker, starts_on)
    _require_free(tracker, project, name.strip(), starts_on, ends_on)
    row = Sprint(
        id=tracker.sprints.new_id(),
        project_id=project.id,
        name=name.strip(),
        goal=(goal or "").strip(),
        state="planned",
        starts_on=starts_on,
        ends_on=ends_on,
        capacity=capacity,
    )
    return sprint_item(tracker, tracker.sprints.put(row))


def _require_free(tracker: Tracker, project: Project, name: str, first: str, last: str) -> None:
    for sprint in tracker.sprints.where(project_id=project.id):
        if sprint.name.casefold() == name.casefold():
            refuse("sprint_name_taken", f"{project.name} has a sprint {sprint.name!r}")
        if sprint.state != "closed" and first <= sprint.ends_on and sprint.starts_on <= last:
            text = f"{sprint.name} runs from {sprint.starts_on} to {sprint.ends_on}"
            refuse("sprint_overlap", text, starts_on=sprint.starts_on, ends_on=sprint.ends_on)


@tool(
    "write",
    phrases=(
        "Plan {issue_id} into {sprint_id}",
        "Put {issue_id} into {sprint_id}",
        "Schedule {issue_id} for {sprint_id}",
    ),
    refuses=(
        "not_found",
        "not_your_project",
        "project_archived",
        "issue_closed",
        "sprint_closed",
        "sprint_of_other_project",
        "already_in_sprint",
        "sprint_full",
    ),
    sample=samples.plan,
)
def plan_issue_into_sprint(tracker: Tracker, issue_id: IssueId, sprint_id: SprintId) -> SprintMove:
    """Put an open issue into a planned or active sprint, out of any other; the backlog is left.

    Args:
        issue_id: The issue.
        sprint_id: Sprint of the same project with enough points left.
    """
    issue, project = open_issue(tracker, issue_id)
    sprint = known_sprint(tracker, sprint_id)
    if sprint.project_id != project.id:
        other = tracker.projects[sprint.project_id].name
        refuse("sprint_of_other_project", f"{sprint.name} belongs to {other}, not {project.name}")
    _require_not_closed(sprint)
    place = sprint_row(tracker, issue.id)
    if place and place.sprint_id == sprint.id:
        refuse("already_in_sprint", f'"{issue.title}" is in {sprint.name} already')
    require_points(tracker, sprint, issue.points)
    if place:
        tracker.sprint_issues.delete(place.id)
    _commit(tracker, sprint, issue)
    if issue.status == "backlog":
        issue = change_status(tracker, issue, "to do")
    left = sprint.capacity - sum(i.points for i in sprint_issues(tracker, sprint.id))
    return SprintMove(issue_item(tracker, issue), sprint_name(sprint), left)


def _require_not_closed(sprint: Sprint) -> None:
    if sprint.state == "closed":
        refuse("sprint_closed", f"{sprint.name} was closed; it ended on {sprint.ends_on}")


def _commit(tracker: Tracker, sprint: Sprint, issue: Issue) -> None:
    row = SprintIssue(tracker.sprint_issues.new_id(), sprint.id, issue.id)
    tracker.sprint_issues.put(row)


@tool(
    "write",
    phrases=(
        "Start {sprint_id}",
        "Kick off {sprint_id} now",
        "Make {sprint_id} the active one",
    ),
    refuses=(
        *_LEADS,
        "sprint_closed",
        "sprint_already_active",
        "other_sprint_active",
        "sprint_empty",
    ),
    sample=samples.start,
)
def start_sprint(tracker: Tracker, sprint_id: SprintId) -> SprintItem:
    """Start a planned sprint with issues in it; a project has one active sprint at most.

    Args:
        sprint_id: Sprint of a project that you lead.
    """
    sprint = known_sprint(tracker, sprint_id)
    project = led_project(tracker, sprint.project_id)
    _require_not_closed(sprint)
    if sprint.state == "active":
        refuse("sprint_already_active", f"{sprint.name} has been started already")
    active = tracker.sprints.where(project_id=project.id, state="active")
    if active:
        text = f"{active[0].name} is active in {project.name}; close it first"
        refuse("other_sprint_active", text, active_sprint_id=active[0].id)
    if not tracker.sprint_issues.where(sprint_id=sprint.id):
        refuse("sprint_empty", f"{sprint.name} has no issues; plan some into it first")
    return sprint_item(tracker, tracker.sprints.update(sprint, state="active"))


@tool(
    "write",
    phrases=(
        "Close {sprint_id} and move its unfinished issues to the {unfinished_to}",
        "End {sprint_id}; what is not done goes to the {unfinished_to}",
        "Complete {sprint_id}, with open issues carried over to the {unfinished_to}",
    ),
    refuses=(*_LEADS, "sprint_closed", "sprint_not_active", "no_planned_sprint", "sprint_full"),
    sample=samples.close,
)
def close_sprint(
    tracker: Tracker, sprint_id: SprintId, unfinished_to: Literal["next sprint", "backlog"]
) -> SprintClosed:
    """Close the active sprint; this is final. Unfinished issues keep their status.

    Args:
        sprint_id: Sprint of a project that you lead.
        unfinished_to: The project's next planned sprint, or out of all sprints.
    """
    sprint = known_sprint(tracker, sprint_id)
    project = led_project(tracker, sprint.project_id)
    _require_not_closed(sprint)
    if sprint.state != "active":
        refuse("sprint_not_active", f"{sprint.name} has not been started", state=sprint.state)
    rows = tracker.sprint_issues.where(sprint_id=sprint.id)
    issues = [tracker.issues[row.issue_id] for row in rows]
    rest = [i for i in issues if i.status not in CLOSED]
    upcoming = _next_sprint(tracker, project) if unfinished_to == "next sprint" else None
    if upcoming:
        require_points(tracker, upcoming, sum(i.points for i in rest))
    closed = tracker.sprints.update(sprint, state="closed")
    for row, issue in zip(rows, issues, strict=True):
        outcome = "carried over" if issue in rest else "completed"
        tracker.sprint_issues.update(row, outcome=outcome)
    for issue in rest if upcoming else ():
        _commit(tracker, upcoming, issue)  # type: ignore[arg-type]
    target = upcoming.name if upcoming else "backlog"
    return SprintClosed(sprint_item(tracker, closed), len(issues) - len(rest), len(rest), target)


def _next_sprint(tracker: Tracker, project: Project) -> Sprint:
    planned = tracker.sprints.where(project_id=project.id, state="planned")
    if not planned:
        refuse("no_planned_sprint", f"{project.name} has no planned sprint; create one first")
    return min(planned, key=lambda s: s.starts_on)
