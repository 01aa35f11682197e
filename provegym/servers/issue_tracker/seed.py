"""The tracker at the start of an episode: six projects in the middle of their work."""

from __future__ import annotations

from collections import Counter
from datetime import datetime, timedelta
from itertools import pairwise
from random import Random
from typing import Literal

from msgspec.structs import replace

from provegym.servers.issue_tracker.state import (
    DAY_CAP,
    Comment,
    Issue,
    IssueLabel,
    IssueType,
    Label,
    Link,
    Member,
    Priority,
    Project,
    Relation,
    Resolution,
    Sprint,
    SprintIssue,
    SprintState,
    StatusChange,
    Transition,
    User,
    Worklog,
)
from provegym.servers.issue_tracker.words import (
    CHORES,
    COMMENTS,
    FEATURES,
    GOALS,
    LABELS,
    NOTES,
    PARTS,
    PROJECTS,
    SPRINTS,
    SYMPTOMS,
    bug_title,
    story_title,
    task_title,
)
from provegym.servers.issue_tracker.workflows import (
    CLOSED,
    FORWARD,
    OUT_OF_SPRINT,
    STARTED,
    WORKFLOWS,
    Status,
    Workflow,
    path_to,
)
from provegym.world.cast import Cast, Person
from provegym.world.server import Seeds
from provegym.world.stories import stories

ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"
_SHIFTS = range(0, 30, 5)
COLLEAGUES = 22
DEACTIVATED = 3
ISSUES = (24, 24, 24, 20, 12, 8)
"""Issues of each project."""
FOREIGN, ARCHIVED = 4, 5
"""Which project the user is no member of, and which one is archived."""
LED = (0, 1, 2)
"""Projects that the user leads."""
BETWEEN_SPRINTS = 1
"""Which project has no active sprint."""
POINTS = (1, 1, 2, 2, 3, 3, 5, 8)
SPRINT_DAYS = 14


class Board:
    """Collects rows while the world is made."""

    def __init__(self, cast: Cast, rnd: Random) -> None:
        self.cast, self.rnd, self.start = cast, rnd, cast.start
        self._used: set[str] = set()
        self.users = self._users()
        self.me = self.users[0].id
        self.projects: list[Project] = []
        self.members: list[Member] = []
        self.teams: dict[str, list[str]] = {}
        self.transitions: list[Transition] = []
        self.issues: dict[str, Issue] = {}
        self.changes: list[StatusChange] = []
        self.sprints: list[Sprint] = []
        self.sprint_issues: list[SprintIssue] = []
        self.labels: list[Label] = []
        self.issue_labels: list[IssueLabel] = []
        self.links: list[Link] = []
        self.comments: list[Comment] = []
        self.worklogs: list[Worklog] = []
        self.days: Counter[tuple[str, str]] = Counter()
        self.titles = {
            "bug": _pairs(rnd, len(PARTS), len(SYMPTOMS)),
            "story": _pairs(rnd, len(PARTS), len(FEATURES)),
            "task": _pairs(rnd, len(PARTS), len(CHORES)),
        }
        self.sprint_names = rnd.sample(SPRINTS, len(SPRINTS))

    def id(self, prefix: str) -> str:
        """A fresh id."""
        while True:
            n = self.rnd.getrandbits(30)
            new = f"{prefix}_{''.join([ALPHABET[n >> shift & 31] for shift in _SHIFTS])}"
            if new not in self._used:
                self._used.add(new)
                return new

    def _users(self) -> list[User]:
        people = (self.cast.user, *self.cast.others[:COLLEAGUES])
        last = len(people) - DEACTIVATED
        return [User(self.id("usr"), p.name, p.email, i < last) for i, p in enumerate(people)]

    def day(self, days: int) -> str:
        """The date that many days from the start."""
        return (self.start + timedelta(days=days)).date().isoformat()

    def moment(self, days: int) -> datetime:
        """A moment of working hours that many days before the start."""
        rnd = self.rnd
        return (self.start - timedelta(days=days)).replace(
            hour=rnd.randrange(8, 18), minute=rnd.randrange(60)
        )

    def of(self, project: Project) -> list[Issue]:
        """The project's issues as they are by now, oldest first."""
        return [i for i in self.issues.values() if i.project_id == project.id]

    def team(self, project: Project, *, active: bool = True) -> list[str]:
        """Ids of the members; the last one of a project has no working account."""
        people = self.teams[project.id]
        return people[:-1] if active else people

    def rows(self) -> Seeds:
        """All tables."""
        return {
            "projects": self.projects,
            "users": self.users,
            "members": self.members,
            "transitions": self.transitions,
            "issues": self.issues.values(),
            "status_changes": self.changes,
            "sprints": self.sprints,
            "sprint_issues": self.sprint_issues,
            "labels": self.labels,
            "issue_labels": self.issue_labels,
            "links": self.links,
            "comments": self.comments,
            "worklogs": self.worklogs,
        }


def _pairs(rnd: Random, one: int, other: int) -> list[tuple[int, int]]:
    """All combinations in random order: what is drawn from them never repeats."""
    pairs = [(i, j) for i in range(one) for j in range(other)]
    rnd.shuffle(pairs)
    return pairs


def seed(cast: Cast, rnd: Random) -> Seeds:
    """Rows of every table for one world."""
    board = Board(cast, rnd)
    for place, (name, key) in enumerate(rnd.sample(PROJECTS, len(ISSUES))):
        project = _project(board, place, name, key)
        statuses = _statuses(board, project, ISSUES[place])
        for number, status in enumerate(statuses, 1):
            _issue(board, project, number, status)
        _subtasks(board, project)
        _links(board, project)
        _labels(board, project)
        _sprints(board, project, place)
    _worklogs(board)
    _comments(board)
    _told(board)
    return board.rows()


def _project(board: Board, place: int, name: str, key: str) -> Project:
    """A project with its members, among them one without an account, and its workflow."""
    rnd = board.rnd
    working = [u.id for u in board.users[1:-DEACTIVATED]]
    gone = rnd.choice(board.users[-DEACTIVATED:]).id
    chosen = rnd.sample(working, rnd.randrange(5, 9))
    lead = board.me if place in LED else chosen[0]
    workflow: Workflow = ("tested", "reviewed", "simple")[place % 3]
    status: Literal["active", "archived"] = "archived" if place == ARCHIVED else "active"
    limit = rnd.choice((3, 4))
    row = Project(board.id("prj"), key, name, lead, workflow, limit, status)
    board.projects.append(row)
    people = [*chosen, gone] if place == FOREIGN else [board.me, *chosen, gone]
    board.teams[row.id] = people
    board.members += [Member(board.id("mem"), row.id, user_id) for user_id in people]
    for step, source, target in WORKFLOWS[workflow]:
        board.transitions.append(Transition(board.id("trn"), row.id, step, source, target))
    board.labels += [Label(board.id("lab"), row.id, text) for text in rnd.sample(LABELS, 7)]
    return row


def _statuses(board: Board, project: Project, count: int) -> list[Status]:
    """Statuses of a project's issues: older ones are further on."""
    rnd, forward = board.rnd, FORWARD[project.workflow]
    if project.status == "archived":
        past: tuple[Status, ...] = ("done", "done", "done", "cancelled", "to do")
        return [rnd.choice(past) for _ in range(count)]
    done: list[Status] = ["cancelled"]
    done += ["done"] * (count // 3)
    moving: list[Status] = [rnd.choice(forward[2:-1]) for _ in range(count // 4)]
    moving += ["in progress"] * 2
    fresh: list[Status] = [rnd.choice(forward[:2]) for _ in range(count - len(done) - len(moving))]
    fresh[:3] = ["to do"] * 3
    later = moving + fresh
    rnd.shuffle(later)
    return done + later


def _issue(board: Board, project: Project, number: int, status: Status) -> None:
    """One issue with its history."""
    rnd = board.rnd
    kind: IssueType = rnd.choice(("bug", "bug", "story", "story", "task"))
    make = {"bug": bug_title, "story": story_title, "task": task_title}[kind]
    created = board.moment(118 - 4 * number)
    team = board.team(project, active=False)
    row = Issue(
        id=board.id("iss"),
        key=f"{project.key}-{number}",
        project_id=project.id,
        type=kind,
        title=make(*board.titles[kind].pop()),
        status=status,
        priority=_priority(rnd),
        reporter_id=rnd.choice(team),
        created_at=created.isoformat(),
        assignee_id=_assignee(board, project, status),
        points=rnd.choice(POINTS) if rnd.random() < 0.85 else 0,
        due_on=board.day(rnd.randrange(2, 60)) if rnd.random() < 0.3 else "",
        resolution=_resolution(rnd, status),
    )
    board.issues[row.id] = row
    _history(board, project, row, created)


def _priority(rnd: Random) -> Priority:
    found: Priority = rnd.choice(("low", "medium", "medium", "medium", "high", "high", "urgent"))
    return found


def _resolution(rnd: Random, status: Status) -> Resolution | Literal[""]:
    if status == "cancelled":
        found: Resolution = rnd.choice(("wont fix", "duplicate", "cannot reproduce"))
        return found
    return "fixed" if status == "done" else ""


def _assignee(board: Board, project: Project, status: Status) -> str:
    """Who works on it. The first colleague in a project has all hands full."""
    rnd = board.rnd
    if status in CLOSED:
        return rnd.choice(board.team(project, active=False))
    team = board.team(project)
    if status == "in progress":
        busy = Counter(i.assignee_id for i in board.of(project) if i.status == "in progress")
        eager = team[1]
        if busy[eager] < project.wip_limit:
            return eager
        return rnd.choice([u for u in team if busy[u] < project.wip_limit])
    return rnd.choice(team) if status in STARTED or rnd.random() < 0.6 else ""


def _history(board: Board, project: Project, issue: Issue, created: datetime) -> None:
    """The transitions from the backlog to where the issue is, up to a day before the start."""
    rnd, steps = board.rnd, list(pairwise(path_to(project.workflow, issue.status)))
    room = (board.start - created).total_seconds() / 3600 - 24
    who = issue.assignee_id or issue.reporter_id
    for i, (source, target) in enumerate(steps, 1):
        at = created + timedelta(hours=int(room * i / (len(steps) + rnd.random())))
        row = StatusChange(board.id("chg"), issue.id, source, target, who, at.isoformat())
        board.changes.append(row)


def _subtasks(board: Board, project: Project) -> None:
    """Some tasks and bugs are parts of a story: closed ones of a done story, any of open ones."""
    rnd, issues = board.rnd, board.of(project)
    stories = [i for i in issues if i.type == "story"]
    parts = [i for i in issues if i.type != "story"]
    rnd.shuffle(parts)
    for story in stories[:1] + stories[-3:]:
        fitting = [p for p in parts if p.status in CLOSED or story.status not in CLOSED]
        for part in fitting[:2]:
            board.issues[part.id] = replace(part, parent_id=story.id)
            parts.remove(part)


def _links(board: Board, project: Project) -> None:
    """Older issues block younger open ones, so no circle arises; and looser relations."""
    rnd, issues = board.rnd, board.of(project)
    live = [i for i in issues if i.status != "cancelled"]
    waiting = [i for i in live if i.status in ("to do", "backlog")]
    order = {i.id: place for place, i in enumerate(issues)}
    seen: set[tuple[str, str]] = set()
    relations: tuple[Relation, ...] = ("blocks",) * 5 + ("relates to",) * 3 + ("duplicates",)
    for relation in relations:
        source = rnd.choice(live)
        pool = waiting if relation == "blocks" else live
        later = [i for i in pool if order[i.id] > order[source.id]]
        target = rnd.choice(later) if later else None
        if target and (source.id, target.id) not in seen:
            seen.add((source.id, target.id))
            board.links.append(Link(board.id("lnk"), relation, source.id, target.id))


def _labels(board: Board, project: Project) -> None:
    rnd, labels = board.rnd, [x for x in board.labels if x.project_id == project.id]
    for issue in board.of(project):
        for label in rnd.sample(labels, rnd.choice((0, 0, 1, 1, 2))):
            board.issue_labels.append(IssueLabel(board.id("isl"), issue.id, label.id))


def _sprints(board: Board, project: Project, place: int) -> None:
    """Two sprints that are over, the active one, one that is planned and one still empty."""
    issues = board.of(project)
    board.rnd.shuffle(issues)
    done = [i for i in issues if i.status == "done"]
    undone = [i for i in issues if i.status not in CLOSED and i.status not in OUT_OF_SPRINT]
    coming = [i for i in undone if i.status == "to do"][:2]
    undone = [i for i in undone if i not in coming]
    for back in (2, 1):
        old, done = done[:3], done[3:]
        outcomes = [*((i, "completed") for i in old), *((i, "carried over") for i in undone[:1])]
        sprint = _sprint(board, project, "closed", -back, 30)
        _plan(board, sprint, outcomes)
    if project.status == "archived":
        return
    if place != BETWEEN_SPRINTS:
        current = undone[:5] + done[:2]
        spare = board.rnd.randrange(3)
        capacity = sum(i.points for i in current) + spare
        sprint = _sprint(board, project, "active", 0, capacity)
        _plan(board, sprint, [(i, "committed") for i in current])
    spare = board.rnd.choice((6, 20, 30))
    soon = _sprint(board, project, "planned", 1, sum(i.points for i in coming) + spare)
    _plan(board, soon, [(i, "committed") for i in coming])
    _sprint(board, project, "planned", 2, 34)


def _sprint(board: Board, project: Project, state: SprintState, turn: int, room: int) -> Sprint:
    """A sprint of two weeks; that of turn 0 began five days ago."""
    begins = SPRINT_DAYS * turn - 5
    row = Sprint(
        id=board.id("spr"),
        project_id=project.id,
        name=board.sprint_names.pop(),
        goal=board.rnd.choice(GOALS),
        state=state,
        starts_on=board.day(begins),
        ends_on=board.day(begins + SPRINT_DAYS - 2),
        capacity=max(room, 1),
    )
    board.sprints.append(row)
    return row


def _plan(board: Board, sprint: Sprint, issues: list[tuple[Issue, str]]) -> None:
    board.sprint_issues += [
        SprintIssue(board.id("spi"), sprint.id, issue.id, outcome)  # type: ignore[arg-type]
        for issue, outcome in issues
    ]


def _worklogs(board: Board) -> None:
    """Time on issues that were worked on; the user's yesterday is nearly full."""
    rnd = board.rnd
    worked = [i for i in board.issues.values() if i.status in STARTED or i.status == "done"]
    spent: Counter[str] = Counter()
    for issue in worked:
        for _ in range(rnd.choice((1, 2, 2, 3))):
            minutes, day = 15 * rnd.randrange(2, 17), board.day(-rnd.randrange(1, 45))
            spent[issue.id] += _log(board, issue, issue.assignee_id, minutes, day)
    mine = [i for i in worked if i.project_id == board.projects[0].id]
    yesterday = board.day(-1)
    left = DAY_CAP - 30 - board.days[board.me, yesterday]
    spent[mine[0].id] += _log(board, mine[0], board.me, left, yesterday)
    for issue_id, minutes in spent.items():
        board.issues[issue_id] = replace(board.issues[issue_id], logged_minutes=minutes)


def _log(board: Board, issue: Issue, user_id: str, minutes: int, day: str) -> int:
    """Log the time if the day has room for it; gives the minutes logged."""
    if minutes <= 0 or board.days[user_id, day] + minutes > DAY_CAP:
        return 0
    board.days[user_id, day] += minutes
    note = board.rnd.choice(NOTES)
    board.worklogs.append(Worklog(board.id("wrk"), issue.id, user_id, minutes, day, note))
    return minutes


def _comments(board: Board) -> None:
    """Talk on issues, oldest first, some of it replies."""
    rnd = board.rnd
    issues = list(board.issues.values())
    last: dict[str, str] = {}
    for i in range(90):
        issue = rnd.choice(issues)
        at = board.start - timedelta(hours=6 * (90 - i), minutes=rnd.randrange(60))
        reply_to = last.get(issue.id, "") if rnd.random() < 0.5 else ""
        author, body = rnd.choice(board.teams[issue.project_id]), rnd.choice(COMMENTS)
        row = Comment(board.id("com"), issue.id, author, body, at.isoformat(), reply_to)
        last[issue.id] = row.id
        board.comments.append(row)


def _told(board: Board) -> None:
    """The bug of which other servers of this world know too: reported, then taken up."""
    rnd = board.rnd = board.cast.rng("stories", "issue_tracker")
    fault = stories(board.cast).fault
    reporter = _told_reporter(board, fault.reporter)
    project = _told_project(board, reporter)
    row = Issue(
        id=board.id("iss"),
        key=f"{project.key}-{len(board.of(project)) + 1}",
        project_id=project.id,
        type="bug",
        title=fault.title,
        status="to do",
        priority=rnd.choice(("medium", "high", "urgent")),
        reporter_id=reporter,
        created_at=fault.found.isoformat(),
        assignee_id=rnd.choice(("", board.me)),
        points=rnd.choice(POINTS),
    )
    board.issues[row.id] = row
    soon, then = (fault.found + timedelta(hours=hours) for hours in (1, 2))
    change = StatusChange(board.id("chg"), row.id, "backlog", "to do", board.me, soon.isoformat())
    board.changes.append(change)
    body = f"First seen on {fault.found.date()}, it happens every time"
    board.comments.append(Comment(board.id("com"), row.id, reporter, body, then.isoformat()))


def _told_reporter(board: Board, person: Person) -> str:
    """The reporter's account as it is, else a new one."""
    known = next((u for u in board.users if u.email == person.email), None)
    if known is None:
        known = User(board.id("usr"), person.name, person.email, active=True)
        board.users.append(known)
    return known.id


def _told_project(board: Board, reporter: str) -> Project:
    """A project that the user leads, with the reporter in it: one of theirs, else they join."""
    led = [board.projects[place] for place in LED]
    shared = [p for p in led if reporter in board.teams[p.id]]
    project = board.rnd.choice(shared or led)
    if not shared:
        board.members.append(Member(board.id("mem"), project.id, reporter))
    return project
