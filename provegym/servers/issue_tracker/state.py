"""The rows of an issue tracker, and what must always hold.

An issue's status follows from its `status_changes`; each of these is a transition that the
workflow of its project has. Time spent is minutes, effort is story points.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Hashable, Iterator
from functools import cached_property
from typing import Annotated, ClassVar, Literal

from provegym.servers.issue_tracker.workflows import (
    CLOSED,
    OUT_OF_SPRINT,
    STARTED,
    Status,
    Workflow,
)
from provegym.world.fields import DATE, VOLATILE, Email, Ref, Stamp
from provegym.world.server import State
from provegym.world.table import Row, table

ProjectId = Annotated[str, Ref("issue_tracker.projects")]
UserId = Annotated[str, Ref("issue_tracker.users")]
MemberId = Annotated[str, Ref("issue_tracker.members")]
TransitionId = Annotated[str, Ref("issue_tracker.transitions")]
IssueId = Annotated[str, Ref("issue_tracker.issues")]
ChangeId = Annotated[str, Ref("issue_tracker.status_changes")]
SprintId = Annotated[str, Ref("issue_tracker.sprints")]
SprintIssueId = Annotated[str, Ref("issue_tracker.sprint_issues")]
LabelId = Annotated[str, Ref("issue_tracker.labels")]
IssueLabelId = Annotated[str, Ref("issue_tracker.issue_labels")]
LinkId = Annotated[str, Ref("issue_tracker.links")]
CommentId = Annotated[str, Ref("issue_tracker.comments")]
WorklogId = Annotated[str, Ref("issue_tracker.worklogs")]
Day = Annotated[str, DATE]
Key = Annotated[str, VOLATILE]
"""A running number such as "APP-17": it depends on what was created before."""

IssueType = Literal["bug", "story", "task"]
Priority = Literal["low", "medium", "high", "urgent"]
Resolution = Literal["fixed", "wont fix", "duplicate", "cannot reproduce"]
Relation = Literal["blocks", "duplicates", "relates to"]
SprintState = Literal["planned", "active", "closed"]

DAY_CAP = 720
"""Minutes that one person can log for one day."""


class Project(Row, frozen=True):
    """A project; `wip_limit` caps the issues that one assignee has in progress in it."""

    label: ClassVar[str] = "the {name} project"
    id: ProjectId
    key: str
    name: str
    lead_id: UserId
    workflow: Workflow
    wip_limit: int
    status: Literal["active", "archived"]


class User(Row, frozen=True):
    """Someone with an account; a deactivated one is given no more issues."""

    label: ClassVar[str] = "{name}"
    id: UserId
    name: str
    email: Email
    active: bool


class Member(Row, frozen=True):
    """A user takes part in a project."""

    id: MemberId
    project_id: ProjectId
    user_id: UserId


class Transition(Row, frozen=True):
    """A step that the workflow of a project allows."""

    id: TransitionId
    project_id: ProjectId
    name: str
    from_status: Status
    to_status: Status


class Issue(Row, frozen=True):
    """An issue. `logged_minutes` is the sum of its worklogs; "" stands for nobody or nothing."""

    label: ClassVar[str] = 'the "{title}" issue'
    id: IssueId
    key: Key
    project_id: ProjectId
    type: IssueType
    title: str
    status: Status
    priority: Priority
    reporter_id: UserId
    created_at: Stamp
    assignee_id: UserId = ""
    parent_id: IssueId = ""
    points: int = 0
    due_on: str = ""
    resolution: Resolution | Literal[""] = ""
    logged_minutes: int = 0


class StatusChange(Row, frozen=True):
    """One transition that an issue made. A new issue is in the backlog."""

    id: ChangeId
    issue_id: IssueId
    from_status: Status
    to_status: Status
    changed_by_id: UserId
    changed_at: Stamp


class Sprint(Row, frozen=True):
    """Some days of planned work on one project; `capacity` is in story points."""

    label: ClassVar[str] = "the {name} sprint"
    id: SprintId
    project_id: ProjectId
    name: str
    goal: str
    state: SprintState
    starts_on: Day
    ends_on: Day
    capacity: int


class SprintIssue(Row, frozen=True):
    """An issue planned into a sprint; a closed sprint keeps how it ended."""

    id: SprintIssueId
    sprint_id: SprintId
    issue_id: IssueId
    outcome: Literal["committed", "completed", "carried over"] = "committed"


class Label(Row, frozen=True):
    """A label that issues of a project can carry; people name it by its text."""

    label: ClassVar[str] = 'the "{name}" label'
    id: LabelId
    project_id: ProjectId
    name: str


class IssueLabel(Row, frozen=True):
    """An issue carries a label."""

    id: IssueLabelId
    issue_id: IssueId
    label_id: LabelId


class Link(Row, frozen=True):
    """`source` blocks, duplicates or relates to `target`."""

    id: LinkId
    relation: Relation
    source_id: IssueId
    target_id: IssueId


class Comment(Row, frozen=True):
    """A comment on an issue, perhaps as a reply to another one there."""

    label: ClassVar[str] = 'the comment "{body}"'
    id: CommentId
    issue_id: IssueId
    author_id: UserId
    body: str
    posted_at: Stamp
    reply_to_id: CommentId = ""


class Worklog(Row, frozen=True):
    """Time that somebody spent on an issue on one day."""

    id: WorklogId
    issue_id: IssueId
    user_id: UserId
    minutes: int
    worked_on: Day
    note: str = ""


class Tracker(State):
    """One session's view of the tracker, seen by the user who is asking."""

    server = "issue_tracker"
    projects = table(Project, "prj")
    users = table(User, "usr")
    members = table(Member, "mem")
    transitions = table(Transition, "trn")
    issues = table(Issue, "iss")
    status_changes = table(StatusChange, "chg")
    sprints = table(Sprint, "spr")
    sprint_issues = table(SprintIssue, "spi")
    labels = table(Label, "lab")
    issue_labels = table(IssueLabel, "isl")
    links = table(Link, "lnk")
    comments = table(Comment, "com")
    worklogs = table(Worklog, "wrk")

    @cached_property
    def me(self) -> str:
        """The id of the user who is asking."""
        return self.users.where(email=self.cast.user.email)[0].id

    @property
    def today(self) -> str:
        """The session's date."""
        return self.now.date().isoformat()

    def name_of(self, user_id: str) -> str:
        """A user's name, "" for nobody."""
        return self.users[user_id].name if user_id else ""


def violations(tracker: Tracker) -> Iterator[str]:
    """Every broken invariant of the tracker, one sentence each."""
    yield from _histories(tracker)
    yield from _issues(tracker)
    yield from _people(tracker)
    yield from _sprints(tracker)
    yield from _memberships(tracker)
    yield from _links(tracker)
    yield from _worklogs(tracker)
    yield from _unique(tracker)


def _histories(tracker: Tracker) -> Iterator[str]:
    allowed = {(t.project_id, t.from_status, t.to_status) for t in tracker.transitions}
    status: dict[str, str] = defaultdict(lambda: "backlog")
    for change in tracker.status_changes:
        issue = tracker.issues[change.issue_id]
        if change.from_status != status[issue.id]:
            yield f"issue {issue.id} left {change.from_status} while it was {status[issue.id]}"
        if (issue.project_id, change.from_status, change.to_status) not in allowed:
            yield f"change {change.id} is no transition of the project's workflow"
        status[issue.id] = change.to_status
    for issue in tracker.issues:
        if issue.status != status[issue.id]:
            yield f"issue {issue.id} is {issue.status}, its history ends in {status[issue.id]}"


def _issues(tracker: Tracker) -> Iterator[str]:
    for issue in tracker.issues:
        if (issue.status in CLOSED) != bool(issue.resolution):
            yield f"issue {issue.id} is {issue.status} with the resolution {issue.resolution!r}"
        if issue.status in STARTED and not issue.assignee_id:
            yield f"issue {issue.id} is {issue.status} without an assignee"
        parent = tracker.issues[issue.parent_id] if issue.parent_id else None
        if parent and (parent.project_id != issue.project_id or parent.parent_id):
            yield f"issue {issue.id} has a parent in another project, or a subtask as parent"
        if parent and parent.status in CLOSED and issue.status not in CLOSED:
            yield f"issue {issue.id} is open under its closed parent"


def _people(tracker: Tracker) -> Iterator[str]:
    members = {(m.project_id, m.user_id) for m in tracker.members}
    busy: Counter[tuple[str, str]] = Counter()
    for issue in tracker.issues:
        if issue.assignee_id and (issue.project_id, issue.assignee_id) not in members:
            yield f"issue {issue.id} is assigned to somebody outside of its project"
        busy[issue.project_id, issue.assignee_id] += issue.status == "in progress"
    for (project_id, user_id), count in busy.items():
        if count > tracker.projects[project_id].wip_limit:
            yield f"user {user_id} has {count} issues in progress in project {project_id}"


def _sprints(tracker: Tracker) -> Iterator[str]:
    active: Counter[str] = Counter()
    for sprint in tracker.sprints:
        active[sprint.project_id] += sprint.state == "active"
        if sprint.ends_on <= sprint.starts_on:
            yield f"sprint {sprint.id} ends before it starts"
        rows = tracker.sprint_issues.where(sprint_id=sprint.id)
        if sprint.state == "closed":
            if any(row.outcome == "committed" for row in rows):
                yield f"closed sprint {sprint.id} has issues without an outcome"
        elif sum(tracker.issues[row.issue_id].points for row in rows) > sprint.capacity:
            yield f"sprint {sprint.id} holds more points than its capacity"
    yield from (f"project {p} has {n} active sprints" for p, n in active.items() if n > 1)


def _memberships(tracker: Tracker) -> Iterator[str]:
    open_sprints: Counter[str] = Counter()
    for row in tracker.sprint_issues:
        sprint, issue = tracker.sprints[row.sprint_id], tracker.issues[row.issue_id]
        if sprint.project_id != issue.project_id:
            yield f"issue {issue.id} is in a sprint of another project"
        if sprint.state != "closed":
            open_sprints[issue.id] += 1
            if issue.status in OUT_OF_SPRINT:
                yield f"issue {issue.id} is {issue.status} in an open sprint"
    yield from (f"issue {i} is in {n} open sprints" for i, n in open_sprints.items() if n > 1)


def _links(tracker: Tracker) -> Iterator[str]:
    blocked: dict[str, list[str]] = defaultdict(list)
    for link in tracker.links:
        if link.source_id == link.target_id:
            yield f"link {link.id} leads from an issue to itself"
        if link.relation == "blocks":
            blocked[link.source_id].append(link.target_id)
    for start in tuple(blocked):
        if start in reachable(blocked, start):
            yield f"issue {start} blocks itself in a circle"


def reachable(edges: dict[str, list[str]], start: str) -> set[str]:
    """Everything that can be reached by one or more edges."""
    found: set[str] = set()
    ahead = list(edges.get(start, ()))
    while ahead:
        node = ahead.pop()
        if node not in found:
            found.add(node)
            ahead += edges.get(node, ())
    return found


def _worklogs(tracker: Tracker) -> Iterator[str]:
    spent: Counter[str] = Counter()
    days: Counter[tuple[str, str]] = Counter()
    for log in tracker.worklogs:
        spent[log.issue_id] += log.minutes
        days[log.user_id, log.worked_on] += log.minutes
        if log.minutes <= 0:
            yield f"worklog {log.id} is of {log.minutes} minutes"
    for issue in tracker.issues:
        if issue.logged_minutes != spent[issue.id]:
            yield f"issue {issue.id} counts {issue.logged_minutes} of {spent[issue.id]} minutes"
    for (user_id, day), minutes in days.items():
        if minutes > DAY_CAP:
            yield f"user {user_id} logged {minutes} minutes on {day}"


def _unique(tracker: Tracker) -> Iterator[str]:
    """What there may be once only, and that whatever a row names exists."""
    keys: dict[str, list[Hashable]] = {
        "issue key": [i.key for i in tracker.issues],
        "sprint name": [(s.project_id, s.name.casefold()) for s in tracker.sprints],
        "label on an issue": [(x.issue_id, x.label_id) for x in tracker.issue_labels],
        "link": [(x.relation, x.source_id, x.target_id) for x in tracker.links],
        "member": [(m.project_id, m.user_id) for m in tracker.members],
    }
    for what, values in keys.items():
        if len(set(values)) < len(values):
            yield f"the same {what} occurs twice"
    for row in tracker.issue_labels:
        if tracker.labels[row.label_id].project_id != tracker.issues[row.issue_id].project_id:
            yield f"issue {row.issue_id} carries a label of another project"
    for comment in tracker.comments:
        reply_to = comment.reply_to_id
        if reply_to and tracker.comments[reply_to].issue_id != comment.issue_id:
            yield f"comment {comment.id} replies to one on another issue"
