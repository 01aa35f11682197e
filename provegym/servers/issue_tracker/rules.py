"""What the tools look up and check before they write, and how an issue changes its status."""

from __future__ import annotations

from typing import Any

from provegym.servers.issue_tracker.state import (
    Issue,
    Project,
    Sprint,
    SprintIssue,
    StatusChange,
    Tracker,
    User,
)
from provegym.servers.issue_tracker.workflows import CLOSED, OUT_OF_SPRINT, Status
from provegym.world.tool import refuse

# -- look-ups ----------------------------------------------------------------------------------


def known_project(tracker: Tracker, project_id: str) -> Project:
    """The project; refused with `not_found`."""
    project = tracker.projects.get(project_id)
    if project is None:
        refuse("not_found", f"there is no project {project_id[:40]!r}", project_id=project_id)
    return project


def known_issue(tracker: Tracker, issue_id: str) -> Issue:
    """The issue; refused with `not_found`."""
    issue = tracker.issues.get(issue_id)
    if issue is None:
        refuse("not_found", f"there is no issue {issue_id[:40]!r}", issue_id=issue_id)
    return issue


def known_sprint(tracker: Tracker, sprint_id: str) -> Sprint:
    """The sprint; refused with `not_found`."""
    sprint = tracker.sprints.get(sprint_id)
    if sprint is None:
        refuse("not_found", f"there is no sprint {sprint_id[:40]!r}", sprint_id=sprint_id)
    return sprint


def known_user(tracker: Tracker, user_id: str) -> User:
    """The user; refused with `not_found`."""
    user = tracker.users.get(user_id)
    if user is None:
        refuse("not_found", f"there is no user {user_id[:40]!r}", user_id=user_id)
    return user


def is_member(tracker: Tracker, project_id: str, user_id: str) -> bool:
    """Whether the user takes part in the project."""
    return bool(tracker.members.where(user_id=user_id, project_id=project_id))


# -- who may write where -----------------------------------------------------------------------


def writable_project(tracker: Tracker, project_id: str) -> Project:
    """An active project of the asking user."""
    project = known_project(tracker, project_id)
    if not is_member(tracker, project.id, tracker.me):
        refuse("not_your_project", f"you are not a member of {project.name}", project=project.name)
    if project.status == "archived":
        refuse("project_archived", f"{project.name} is archived; nothing in it can change")
    return project


def led_project(tracker: Tracker, project_id: str) -> Project:
    """A writable project whose lead the asking user is."""
    project = writable_project(tracker, project_id)
    if project.lead_id != tracker.me:
        lead = tracker.name_of(project.lead_id)
        refuse("not_project_lead", f"only {lead}, who leads {project.name}, can do that", lead=lead)
    return project


def writable_issue(tracker: Tracker, issue_id: str) -> tuple[Issue, Project]:
    """An issue of a writable project, closed ones too."""
    issue = known_issue(tracker, issue_id)
    return issue, writable_project(tracker, issue.project_id)


def open_issue(tracker: Tracker, issue_id: str) -> tuple[Issue, Project]:
    """An open issue of a writable project; refused with `issue_closed` too."""
    issue, project = writable_issue(tracker, issue_id)
    require_open(issue)
    return issue, project


def require_open(issue: Issue) -> None:
    """Refuse with `issue_closed`."""
    if issue.status in CLOSED:
        text = f'"{issue.title}" is {issue.status}; reopen it first'
        refuse("issue_closed", text, status=issue.status)


def require_not_past(tracker: Tracker, day: str) -> None:
    """Refuse a day before the session's date with `date_in_past`."""
    if day < tracker.today:
        refuse("date_in_past", f"{day} is over; today is {tracker.today}", today=tracker.today)


def require_new_title(tracker: Tracker, project: Project, title: str) -> None:
    """Refuse the title of another open issue of the project."""
    wanted = title.casefold()
    for issue in tracker.issues.where(project_id=project.id):
        if issue.title.casefold() == wanted and issue.status not in CLOSED:
            text = f"{project.name} has an open issue {issue.title!r}"
            refuse("duplicate_title", text, issue_id=issue.id)


def require_assignable(tracker: Tracker, project: Project, user_id: str) -> User:
    """The user, if issues of the project can be given to them."""
    user = known_user(tracker, user_id)
    if not is_member(tracker, project.id, user.id):
        refuse("not_a_member", f"{user.name} is not a member of {project.name}", user=user.name)
    if not user.active:
        refuse("user_deactivated", f"the account of {user.name} is deactivated", user=user.name)
    return user


def require_capacity_for_work(tracker: Tracker, project: Project, user_id: str) -> None:
    """Refuse one more issue in progress than the project allows one person."""
    mine = tracker.issues.where(assignee_id=user_id, project_id=project.id)
    busy = sum(i.status == "in progress" for i in mine)
    if busy >= project.wip_limit:
        text = f"{tracker.name_of(user_id)} has {busy} issues in progress in {project.name}"
        refuse("wip_limit_reached", f"{text}; {project.wip_limit} is the limit", in_progress=busy)


# -- what stands around an issue ---------------------------------------------------------------


def next_statuses(tracker: Tracker, issue: Issue) -> list[Status]:
    """Where the workflow lets the issue go from where it is."""
    rows = tracker.transitions.where(project_id=issue.project_id, from_status=issue.status)
    return [t.to_status for t in rows]


def open_blockers(tracker: Tracker, issue: Issue) -> list[Issue]:
    """Open issues that block this one."""
    links = tracker.links.where(target_id=issue.id, relation="blocks")
    found = [tracker.issues[link.source_id] for link in links]
    return [i for i in found if i.status not in CLOSED]


def open_subtasks(tracker: Tracker, issue: Issue) -> list[Issue]:
    """Open issues whose parent this one is."""
    found = tracker.issues.where(parent_id=issue.id)
    return [i for i in found if i.status not in CLOSED]


def sprint_row(tracker: Tracker, issue_id: str) -> SprintIssue | None:
    """The issue's place in an open sprint, if it has one."""
    rows = tracker.sprint_issues.where(issue_id=issue_id)
    return next((r for r in rows if tracker.sprints[r.sprint_id].state != "closed"), None)


def sprint_issues(tracker: Tracker, sprint_id: str) -> list[Issue]:
    """The issues of a sprint in the order of planning."""
    rows = tracker.sprint_issues.where(sprint_id=sprint_id)
    return [tracker.issues[row.issue_id] for row in rows]


def require_points(tracker: Tracker, sprint: Sprint, more: int) -> None:
    """Refuse more story points than the sprint has left."""
    taken = sum(i.points for i in sprint_issues(tracker, sprint.id))
    if more > 0 and taken + more > sprint.capacity:
        left = sprint.capacity - taken
        text = f"{sprint.name} has {left} of {sprint.capacity} points left, {more} are needed"
        refuse("sprint_full", text, points_left=left)


# -- changes -----------------------------------------------------------------------------------


def change_status(tracker: Tracker, issue: Issue, status: Status, **fields: Any) -> Issue:
    """Move the issue and write it into its history; the backlog is outside of every sprint."""
    tracker.status_changes.put(
        StatusChange(
            tracker.status_changes.new_id(),
            issue.id,
            issue.status,
            status,
            tracker.me,
            tracker.stamp,
        )
    )
    place = sprint_row(tracker, issue.id) if status in OUT_OF_SPRINT else None
    if place:
        tracker.sprint_issues.delete(place.id)
    return tracker.issues.update(issue, status=status, **fields)
