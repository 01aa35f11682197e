"""Tools that create issues and change them, their status, links, labels, comments and time."""

from __future__ import annotations

from typing import Annotated, Literal

from provegym.servers.issue_tracker import samples
from provegym.servers.issue_tracker.rules import (
    change_status,
    known_issue,
    next_statuses,
    open_blockers,
    open_issue,
    open_subtasks,
    require_assignable,
    require_capacity_for_work,
    require_new_title,
    require_not_past,
    require_open,
    require_points,
    sprint_row,
    writable_issue,
    writable_project,
)
from provegym.servers.issue_tracker.state import (
    DAY_CAP,
    Comment,
    CommentId,
    Issue,
    IssueId,
    IssueLabel,
    IssueType,
    Label,
    Link,
    Priority,
    Project,
    ProjectId,
    Relation,
    Resolution,
    Tracker,
    UserId,
    Worklog,
)
from provegym.servers.issue_tracker.views import (
    CommentItem,
    IssueCard,
    LabelReceipt,
    LinkReceipt,
    WorklogReceipt,
    comment_item,
    issue_card,
    label_names,
    worklog_item,
)
from provegym.servers.issue_tracker.workflows import CLOSED, Status
from provegym.world.fields import Date, Range, Text
from provegym.world.tool import refuse, tool

Points = Annotated[int, Range(1, 40)]
Minutes = Annotated[int, Range(5, DAY_CAP)]

_WRITES = ("not_found", "not_your_project", "project_archived")
"""Refusals of every tool that changes something in a project."""


@tool(
    "write",
    phrases=(
        'File a {type} titled "{title}" in {project_id}[ with {priority} priority]'
        "[ worth {points} points][, assigned to {assignee_id}][, as a subtask of {parent_id}]"
        "[, due on {due_on}]",
        'Create a new {type} in {project_id} called "{title}"[ at {priority} priority]'
        "[, {points} story points][, for {assignee_id}][, under {parent_id}][, due {due_on}]",
        'Open a {type} named "{title}" for {project_id}[; priority {priority}][; {points} points]'
        "[; assignee {assignee_id}][; parent {parent_id}][; to be done by {due_on}]",
    ),
    refuses=(
        *_WRITES,
        "duplicate_title",
        "date_in_past",
        "not_a_member",
        "user_deactivated",
        "parent_closed",
        "parent_is_subtask",
        "parent_in_other_project",
    ),
    sample=samples.create,
)
def create_issue(
    tracker: Tracker,
    project_id: ProjectId,
    type: IssueType,
    title: Text,
    priority: Priority = "medium",
    points: Points | None = None,
    assignee_id: UserId | None = None,
    parent_id: IssueId | None = None,
    due_on: Date | None = None,
) -> IssueCard:
    """Create an issue; it starts in the backlog.

    Args:
        project_id: Project the issue belongs to.
        type: What kind of work it is.
        title: Short summary, unique among the project's open issues.
        priority: How urgent it is.
        points: Effort in story points.
        assignee_id: Member of the project who gets it.
        parent_id: Open issue of the same project that this is a subtask of.
        due_on: Day by which it should be done, not in the past.
    """
    project = writable_project(tracker, project_id)
    require_new_title(tracker, project, title.strip())
    if due_on is not None:
        require_not_past(tracker, due_on)
    if assignee_id is not None:
        require_assignable(tracker, project, assignee_id)
    if parent_id is not None:
        _require_parent(tracker, project, parent_id)
    row = Issue(
        id=tracker.issues.new_id(),
        key=f"{project.key}-{len(tracker.issues.where(project_id=project.id)) + 1}",
        project_id=project.id,
        type=type,
        title=title.strip(),
        status="backlog",
        priority=priority,
        reporter_id=tracker.me,
        created_at=tracker.stamp,
        assignee_id=assignee_id or "",
        parent_id=parent_id or "",
        points=points or 0,
        due_on=due_on or "",
    )
    return issue_card(tracker, tracker.issues.put(row))


def _require_parent(tracker: Tracker, project: Project, parent_id: str) -> None:
    parent = known_issue(tracker, parent_id)
    if parent.project_id != project.id:
        other = tracker.projects[parent.project_id].name
        refuse("parent_in_other_project", f'"{parent.title}" is in {other}, not {project.name}')
    if parent.parent_id:
        refuse("parent_is_subtask", f'"{parent.title}" is a subtask; it can have none itself')
    _require_open_parent(parent)


def _require_open_parent(parent: Issue) -> None:
    if parent.status in CLOSED:
        text = f'the parent "{parent.title}" is {parent.status}; reopen it first'
        refuse("parent_closed", text, parent_id=parent.id)


@tool(
    "write",
    phrases=(
        'Edit {issue_id}[: set the title to "{title}"][: set the priority to {priority}]'
        "[: set {points} story points][: make it due on {due_on}]",
        'Update {issue_id}[ so that it is titled "{title}"][ with {priority} priority]'
        "[ with an effort of {points} points][ with the due date {due_on}]",
        'Change {issue_id}[, new title "{title}"][, new priority {priority}]'
        "[, new estimate {points} points][, new due date {due_on}]",
    ),
    refuses=(
        *_WRITES,
        "issue_closed",
        "no_change",
        "duplicate_title",
        "date_in_past",
        "sprint_full",
    ),
    sample=samples.update,
)
def update_issue(
    tracker: Tracker,
    issue_id: IssueId,
    title: Text | None = None,
    priority: Priority | None = None,
    points: Points | None = None,
    due_on: Date | None = None,
) -> IssueCard:
    """Change the title, priority, story points or due date of an open issue.

    Args:
        issue_id: The issue.
        title: New title.
        priority: New priority.
        points: New effort in story points; its open sprint must have room.
        due_on: New due date, not in the past.
    """
    given: dict[str, object] = {"title": title and title.strip(), "priority": priority}
    given |= {"points": points, "due_on": due_on}
    wanted = {name: value for name, value in given.items() if value is not None}
    if not wanted:
        refuse("nothing_given", "give a title, a priority, points or a due date")
    issue, project = open_issue(tracker, issue_id)
    changed = {name: v for name, v in wanted.items() if getattr(issue, name) != v}
    if not changed:
        refuse("no_change", f'"{issue.title}" has these values already')
    _require_fitting(tracker, issue, project, changed)
    return issue_card(tracker, tracker.issues.update(issue, **changed))


def _require_fitting(
    tracker: Tracker, issue: Issue, project: Project, changed: dict[str, object]
) -> None:
    title, due_on, points = changed.get("title"), changed.get("due_on"), changed.get("points")
    if isinstance(title, str) and title.casefold() != issue.title.casefold():
        require_new_title(tracker, project, title)
    if isinstance(due_on, str):
        require_not_past(tracker, due_on)
    place = sprint_row(tracker, issue.id) if isinstance(points, int) else None
    if place and isinstance(points, int):
        require_points(tracker, tracker.sprints[place.sprint_id], points - issue.points)


@tool(
    "write",
    phrases=(
        "Assign {issue_id} to {assignee_id}",
        "Give {issue_id} to {assignee_id} to work on",
        "Make {assignee_id} the assignee of {issue_id}",
    ),
    refuses=(
        *_WRITES,
        "issue_closed",
        "not_a_member",
        "user_deactivated",
        "already_assigned",
        "wip_limit_reached",
    ),
    sample=samples.assign,
)
def assign_issue(tracker: Tracker, issue_id: IssueId, assignee_id: UserId) -> IssueCard:
    """Give an open issue to a member of its project.

    Args:
        issue_id: The issue.
        assignee_id: Who gets it.
    """
    issue, project = open_issue(tracker, issue_id)
    user = require_assignable(tracker, project, assignee_id)
    if issue.assignee_id == user.id:
        refuse("already_assigned", f'"{issue.title}" is assigned to {user.name} already')
    if issue.status == "in progress":
        require_capacity_for_work(tracker, project, user.id)
    return issue_card(tracker, tracker.issues.update(issue, assignee_id=user.id))


@tool(
    "write",
    phrases=(
        'Move {issue_id} to "{status}"[ with the resolution {resolution}]',
        'Set the status of {issue_id} to "{status}"[, resolved as {resolution}]',
        'Put {issue_id} into the status "{status}"[; the resolution is {resolution}]',
    ),
    refuses=(
        *_WRITES,
        "already_in_status",
        "transition_not_allowed",
        "assignee_required",
        "blocked_by_open_issue",
        "wip_limit_reached",
        "open_subtasks",
        "parent_closed",
    ),
    sample=samples.transition,
)
def transition_issue(
    tracker: Tracker, issue_id: IssueId, status: Status, resolution: Resolution | None = None
) -> IssueCard:
    """Move an issue to another status, as the workflow of its project allows.

    Args:
        issue_id: The issue.
        status: One of the issue's next_statuses.
        resolution: How it was settled; only with "done" or "cancelled".
    """
    if resolution is not None and status not in CLOSED:
        text = f"an issue that is {status} has no resolution; leave it out"
        refuse("resolution_not_applicable", text)
    issue, project = writable_issue(tracker, issue_id)
    _require_transition(tracker, issue, status)
    _require_gate(tracker, project, issue, status)
    settled = resolution or {"done": "fixed", "cancelled": "wont fix"}.get(status, "")
    moved = change_status(tracker, issue, status, resolution=settled)
    return issue_card(tracker, moved)


def _require_transition(tracker: Tracker, issue: Issue, status: Status) -> None:
    if issue.status == status:
        refuse("already_in_status", f'"{issue.title}" is {status} already', status=status)
    allowed = next_statuses(tracker, issue)
    if status not in allowed:
        text = f"from {issue.status} an issue goes to {', '.join(allowed)}, not to {status}"
        refuse("transition_not_allowed", text, allowed=allowed)


def _require_gate(tracker: Tracker, project: Project, issue: Issue, status: Status) -> None:
    """What else must be so before an issue is started, closed or opened again."""
    if status == "in progress" and not issue.assignee_id:
        refuse("assignee_required", f'assign "{issue.title}" to somebody before work starts')
    if status in ("in progress", "done"):
        _require_unblocked(tracker, issue)
    if status == "in progress":
        require_capacity_for_work(tracker, project, issue.assignee_id)
    subtasks = open_subtasks(tracker, issue) if status in CLOSED else []
    if subtasks:
        text = f'subtask "{subtasks[0].title}" is {subtasks[0].status}'
        refuse("open_subtasks", text, open_subtasks=[i.id for i in subtasks])
    if issue.status in CLOSED and status not in CLOSED and issue.parent_id:
        _require_open_parent(tracker.issues[issue.parent_id])


def _require_unblocked(tracker: Tracker, issue: Issue) -> None:
    blockers = open_blockers(tracker, issue)
    if blockers:
        text = f'"{blockers[0].title}" blocks it and is {blockers[0].status}'
        refuse("blocked_by_open_issue", text, blocked_by=[i.id for i in blockers])


@tool(
    "write",
    phrases=(
        "Please {action} a link between issues: {issue_id} {relation} {other_issue_id}",
        "Regarding linked issues, {action} this: {issue_id} {relation} {other_issue_id}",
        "Please {action} the fact that {issue_id} {relation} {other_issue_id}",
    ),
    refuses=(*_WRITES, "already_linked", "not_linked", "blocking_cycle", "issue_closed"),
    sample=samples.link,
)
def link_issues(
    tracker: Tracker,
    issue_id: IssueId,
    relation: Relation,
    other_issue_id: IssueId,
    action: Literal["add", "remove"],
) -> LinkReceipt:
    """Add or remove a link between two issues. An issue with an open blocker cannot be started.

    Args:
        issue_id: Issue that blocks, duplicates or relates to the other.
        relation: How they relate.
        other_issue_id: The other issue.
        action: Whether the link is made or taken away.
    """
    if issue_id == other_issue_id:
        refuse("same_issue", "a link needs two different issues")
    source, target = writable_issue(tracker, issue_id)[0], known_issue(tracker, other_issue_id)
    known = _existing_link(tracker, source, relation, target)
    if action == "remove":
        if known is None:
            refuse("not_linked", f'there is no link "{source.title}" {relation} "{target.title}"')
        tracker.links.delete(known.id)
        return LinkReceipt(source.title, "not linked", target.title)
    if known is not None:
        refuse("already_linked", f'"{source.title}" {relation} "{target.title}" already')
    if relation == "blocks":
        _require_blockable(tracker, source, target)
    tracker.links.put(Link(tracker.links.new_id(), relation, source.id, target.id))
    return LinkReceipt(source.title, relation, target.title)


def _existing_link(tracker: Tracker, one: Issue, relation: Relation, other: Issue) -> Link | None:
    """The link if there is one; relating to each other has no direction."""
    found = tracker.links.where(source_id=one.id, target_id=other.id, relation=relation)
    if relation == "relates to":
        found += tracker.links.where(source_id=other.id, target_id=one.id, relation=relation)
    return found[0] if found else None


def _require_blockable(tracker: Tracker, source: Issue, target: Issue) -> None:
    """Only open issues block each other, and never in a circle."""
    require_open(source)
    require_open(target)
    ahead, seen = [target.id], {target.id}
    while ahead:
        for link in tracker.links.where(source_id=ahead.pop(), relation="blocks"):
            if link.target_id == source.id:
                text = f'"{target.title}" blocks "{source.title}", directly or through others'
                refuse("blocking_cycle", text)
            if link.target_id not in seen:
                seen.add(link.target_id)
                ahead.append(link.target_id)


@tool(
    "write",
    phrases=(
        'Please {action} the label "{label}" on {issue_id}',
        'For the labels of {issue_id}: {action} "{label}"',
        'On {issue_id}, please {action} the "{label}" label',
    ),
    refuses=(*_WRITES, "unknown_label", "already_labelled", "not_labelled"),
    sample=samples.label,
)
def label_issue(
    tracker: Tracker, issue_id: IssueId, label: Text, action: Literal["add", "remove"]
) -> LabelReceipt:
    """Put one of the project's labels on an issue, or take it off.

    Args:
        issue_id: The issue.
        label: Name of the label, e.g. "regression".
        action: Whether the label is put on or taken off.
    """
    issue, project = writable_issue(tracker, issue_id)
    row = _known_label(tracker, project, label)
    worn = tracker.issue_labels.where(issue_id=issue.id, label_id=row.id)
    if action == "add":
        if worn:
            refuse("already_labelled", f'"{issue.title}" has the label {row.name}')
        tracker.issue_labels.put(IssueLabel(tracker.issue_labels.new_id(), issue.id, row.id))
    else:
        if not worn:
            refuse("not_labelled", f'"{issue.title}" does not have the label {row.name}')
        tracker.issue_labels.delete(worn[0].id)
    return LabelReceipt(issue.id, issue.title, label_names(tracker, issue.id))


def _known_label(tracker: Tracker, project: Project, name: str) -> Label:
    labels = {row.name: row for row in tracker.labels.where(project_id=project.id)}
    row = labels.get(name.strip().casefold())
    if row is None:
        text = f"{project.name} has no label {name[:40]!r}"
        refuse("unknown_label", f"{text}; it has {', '.join(labels)}", labels=list(labels))
    return row


@tool(
    "write",
    phrases=(
        'Comment on {issue_id}: "{body}"[, in reply to {reply_to_id}]',
        'Add the comment "{body}" to {issue_id}[ as an answer to {reply_to_id}]',
        'Write "{body}" under {issue_id}[, replying to {reply_to_id}]',
    ),
    refuses=(*_WRITES, "comment_on_other_issue"),
    sample=samples.comment,
)
def comment_on_issue(
    tracker: Tracker, issue_id: IssueId, body: Text, reply_to_id: CommentId | None = None
) -> CommentItem:
    """Write a comment on an issue, open or closed.

    Args:
        issue_id: The issue.
        body: What to say.
        reply_to_id: Comment on the same issue that this answers.
    """
    issue, _ = writable_issue(tracker, issue_id)
    if reply_to_id is not None:
        _require_comment(tracker, issue, reply_to_id)
    row = Comment(
        tracker.comments.new_id(),
        issue.id,
        tracker.me,
        body.strip(),
        tracker.stamp,
        reply_to_id or "",
    )
    return comment_item(tracker, tracker.comments.put(row))


def _require_comment(tracker: Tracker, issue: Issue, comment_id: str) -> None:
    above = tracker.comments.get(comment_id)
    if above is None:
        refuse("not_found", f"there is no comment {comment_id[:40]!r}", comment_id=comment_id)
    if above.issue_id != issue.id:
        other = tracker.issues[above.issue_id].title
        refuse("comment_on_other_issue", f'that comment is on "{other}"', issue_id=above.issue_id)


@tool(
    "write",
    phrases=(
        'Log {minutes} minutes of my work on {issue_id}[ for {worked_on}][ with the note "{note}"]',
        "Record that I spent {minutes} minutes on {issue_id}[ on {worked_on}][, noted as {note}]",
        'Add {minutes} minutes to my time on {issue_id}[, worked on {worked_on}][; note "{note}"]',
    ),
    refuses=(*_WRITES, "issue_closed", "future_date", "day_full"),
    sample=samples.log,
)
def log_issue_work(
    tracker: Tracker,
    issue_id: IssueId,
    minutes: Minutes,
    worked_on: Date | None = None,
    note: Text | None = None,
) -> WorklogReceipt:
    """Log your own time on an open issue, at most 720 minutes for one day over all issues.

    Args:
        issue_id: The issue.
        minutes: Time spent.
        worked_on: Day of the work; today if left out.
        note: What was done.
    """
    issue, _ = open_issue(tracker, issue_id)
    day = worked_on or tracker.today
    if day > tracker.today:
        refuse("future_date", f"{day} is yet to come; today is {tracker.today}")
    logged = sum(w.minutes for w in tracker.worklogs.where(user_id=tracker.me, worked_on=day))
    if logged + minutes > DAY_CAP:
        left = DAY_CAP - logged
        text = f"{logged} minutes are logged for {day}; {left} are left of {DAY_CAP}"
        refuse("day_full", text, minutes_left=left)
    row = Worklog(
        tracker.worklogs.new_id(), issue.id, tracker.me, minutes, day, (note or "").strip()
    )
    tracker.worklogs.put(row)
    total = issue.logged_minutes + minutes
    tracker.issues.update(issue, logged_minutes=total)
    return WorklogReceipt(worklog_item(tracker, row), issue.id, total)
