"""What the tools answer: small records, people and projects by name."""

from __future__ import annotations

from msgspec import Struct

from provegym.servers.issue_tracker.rules import next_statuses, sprint_row
from provegym.servers.issue_tracker.state import (
    Comment,
    CommentId,
    Day,
    Issue,
    IssueId,
    IssueType,
    Key,
    Priority,
    ProjectId,
    Sprint,
    SprintId,
    SprintState,
    Tracker,
    UserId,
    Worklog,
    WorklogId,
)
from provegym.servers.issue_tracker.workflows import CLOSED, Status
from provegym.world.fields import Stamp

SHOWN_LINKS = 5
"""Links that an issue shows at once."""


class ProjectItem(Struct, frozen=True):
    """A project with its lead and how many issues are open."""

    id: ProjectId
    name: str
    key: str
    lead: str
    status: str
    open_issues: int


class ProjectPage(Struct, frozen=True):
    """A page of projects."""

    projects: list[ProjectItem]
    total: int
    next_cursor: str


class MemberItem(Struct, frozen=True):
    """A member of a project and what they have in progress there."""

    id: UserId
    name: str
    email: str
    active: bool
    in_progress: int


class MemberPage(Struct, frozen=True):
    """A page of members by name."""

    members: list[MemberItem]
    total: int
    next_cursor: str


class IssueItem(Struct, frozen=True):
    """An issue in a list."""

    id: IssueId
    title: str
    status: Status
    priority: Priority
    assignee: str


class IssuePage(Struct, frozen=True):
    """A page of issues, newest first."""

    issues: list[IssueItem]
    total: int
    next_cursor: str


class IssueCard(Struct, frozen=True, omit_defaults=True):
    """An issue after a change."""

    id: IssueId
    key: Key
    title: str
    status: Status
    priority: Priority
    assignee: str = ""
    points: int = 0
    due_on: str = ""
    resolution: str = ""


class Person(Struct, frozen=True):
    """Who an issue is assigned to."""

    id: UserId
    name: str


class SprintName(Struct, frozen=True):
    """The sprint that an issue is planned into."""

    id: SprintId
    name: str


class LinkedIssue(Struct, frozen=True):
    """Another issue and how it relates: "blocked by", "blocks", "parent", "subtask", ..."""

    relation: str
    id: IssueId
    title: str
    status: Status


class IssueDetail(Struct, frozen=True, omit_defaults=True):
    """Everything about one issue."""

    id: IssueId
    key: Key
    title: str
    project: str
    type: IssueType
    status: Status
    next_statuses: list[Status]
    priority: Priority
    reporter: str
    points: int = 0
    logged_minutes: int = 0
    due_on: str = ""
    resolution: str = ""
    assignee: Person | None = None
    sprint: SprintName | None = None
    labels: list[str] = []
    links: list[LinkedIssue] = []
    links_total: int = 0


class SprintItem(Struct, frozen=True):
    """A sprint."""

    id: SprintId
    name: str
    project: str
    state: SprintState
    starts_on: Day
    ends_on: Day


class SprintPage(Struct, frozen=True):
    """A page of sprints by start."""

    sprints: list[SprintItem]
    total: int
    next_cursor: str


class SprintMove(Struct, frozen=True):
    """An issue planned into a sprint, and the points that the sprint has left."""

    issue: IssueItem
    sprint: SprintName
    points_left: int


class SprintClosed(Struct, frozen=True):
    """A closed sprint: what was completed, and where the rest went ("backlog" or a sprint)."""

    sprint: SprintItem
    completed: int
    carried_over: int
    moved_to: str


class StatusCount(Struct, frozen=True):
    """Issues and points of one status."""

    status: Status
    issues: int
    points: int


class SprintReport(Struct, frozen=True):
    """How a sprint stands: its issues by status, points, time logged."""

    id: SprintId
    name: str
    state: SprintState
    goal: str
    capacity: int
    points_committed: int
    points_completed: int
    carried_over: int
    logged_minutes: int
    by_status: list[StatusCount]


class CommentItem(Struct, frozen=True, omit_defaults=True):
    """A comment; `reply_to` is whose comment it answers."""

    id: CommentId
    author: str
    body: str
    posted_at: Stamp
    reply_to: str = ""


class CommentPage(Struct, frozen=True):
    """A page of comments, newest first."""

    comments: list[CommentItem]
    total: int
    next_cursor: str


class WorklogItem(Struct, frozen=True, omit_defaults=True):
    """Time spent on an issue."""

    id: WorklogId
    issue: str
    user: str
    minutes: int
    worked_on: Day
    note: str = ""


class WorklogPage(Struct, frozen=True):
    """A page of worklogs, latest day first, and the minutes of all pages."""

    worklogs: list[WorklogItem]
    total_minutes: int
    total: int
    next_cursor: str


class WorklogReceipt(Struct, frozen=True):
    """New time on an issue, and what is logged on it now."""

    worklog: WorklogItem
    issue_id: IssueId
    logged_minutes: int


class LinkReceipt(Struct, frozen=True):
    """Two issues and how they relate now ("not linked" after a removal)."""

    issue: str
    relation: str
    other_issue: str


class LabelReceipt(Struct, frozen=True):
    """An issue and all the labels it carries now."""

    id: IssueId
    title: str
    labels: list[str]


def issue_item(tracker: Tracker, i: Issue) -> IssueItem:
    """An issue in a list."""
    return IssueItem(i.id, i.title, i.status, i.priority, tracker.name_of(i.assignee_id))


def issue_card(tracker: Tracker, i: Issue) -> IssueCard:
    """An issue after a change."""
    who = tracker.name_of(i.assignee_id)
    return IssueCard(
        i.id, i.key, i.title, i.status, i.priority, who, i.points, i.due_on, i.resolution
    )


def label_names(tracker: Tracker, issue_id: str) -> list[str]:
    """The labels of an issue, sorted."""
    rows = tracker.issue_labels.where(issue_id=issue_id)
    return sorted(tracker.labels[row.label_id].name for row in rows)


def issue_detail(tracker: Tracker, i: Issue) -> IssueDetail:
    """Everything about one issue."""
    place, links = sprint_row(tracker, i.id), linked_issues(tracker, i)
    who = tracker.users.get(i.assignee_id)
    return IssueDetail(
        id=i.id,
        key=i.key,
        title=i.title,
        project=tracker.projects[i.project_id].name,
        type=i.type,
        status=i.status,
        next_statuses=next_statuses(tracker, i),
        priority=i.priority,
        reporter=tracker.name_of(i.reporter_id),
        points=i.points,
        logged_minutes=i.logged_minutes,
        due_on=i.due_on,
        resolution=i.resolution,
        assignee=Person(who.id, who.name) if who else None,
        sprint=sprint_name(tracker.sprints[place.sprint_id]) if place else None,
        labels=label_names(tracker, i.id),
        links=links[:SHOWN_LINKS],
        links_total=len(links),
    )


_INVERSE = {"blocks": "blocked by", "duplicates": "duplicated by", "relates to": "relates to"}


def linked_issues(tracker: Tracker, issue: Issue) -> list[LinkedIssue]:
    """Blockers first, then the parent, subtasks and other links; open issues before closed."""
    pairs = [(_INVERSE[x.relation], x.source_id) for x in tracker.links.where(target_id=issue.id)]
    pairs += [("parent", issue.parent_id)] if issue.parent_id else []
    pairs += [("subtask", i.id) for i in tracker.issues.where(parent_id=issue.id)]
    pairs += [(x.relation, x.target_id) for x in tracker.links.where(source_id=issue.id)]
    found = [(relation, tracker.issues[other]) for relation, other in pairs]
    found.sort(key=lambda pair: (pair[1].status in CLOSED, pair[0] != "blocked by"))
    return [LinkedIssue(relation, i.id, i.title, i.status) for relation, i in found]


def sprint_name(s: Sprint) -> SprintName:
    """A sprint by its name."""
    return SprintName(s.id, s.name)


def sprint_item(tracker: Tracker, s: Sprint) -> SprintItem:
    """A sprint in a list."""
    project = tracker.projects[s.project_id].name
    return SprintItem(s.id, s.name, project, s.state, s.starts_on, s.ends_on)


def comment_item(tracker: Tracker, c: Comment) -> CommentItem:
    """A comment in a list."""
    above = tracker.comments[c.reply_to_id] if c.reply_to_id else None
    answered = tracker.name_of(above.author_id) if above else ""
    return CommentItem(c.id, tracker.name_of(c.author_id), c.body, c.posted_at, answered)


def worklog_item(tracker: Tracker, w: Worklog) -> WorklogItem:
    """A worklog in a list."""
    title, who = tracker.issues[w.issue_id].title, tracker.name_of(w.user_id)
    return WorklogItem(w.id, title, who, w.minutes, w.worked_on, w.note)
