"""Plausible arguments for each tool, read off the rows of a session. An empty dict: none found."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from datetime import date, timedelta
from random import Random
from typing import Any, TypeVar

from provegym.servers.issue_tracker.rules import (
    is_member,
    next_statuses,
    open_blockers,
    open_subtasks,
    sprint_issues,
    sprint_row,
)
from provegym.servers.issue_tracker.state import (
    DAY_CAP,
    Issue,
    Project,
    Sprint,
    Tracker,
)
from provegym.servers.issue_tracker.words import (
    CHORES,
    COMMENTS,
    FEATURES,
    GOALS,
    NOTES,
    PARTS,
    SPRINTS,
    SYMPTOMS,
    bug_title,
    story_title,
    task_title,
)
from provegym.servers.issue_tracker.workflows import CLOSED, Status

Arguments = dict[str, Any]
T = TypeVar("T")

SLIP = 0.05
"""How often a row is chosen without a look at its state."""
PRIORITIES = ("low", "medium", "high", "urgent")
POINTS = (1, 2, 3, 5, 8)


def _maybe(rnd: Random, **fields: Any) -> Arguments:
    """Each of the fields with a chance of 30 %."""
    return {name: value for name, value in fields.items() if rnd.random() < 0.3}


def _pick(rnd: Random, good: Sequence[T], every: Sequence[T]) -> T | None:
    """One of the good rows, now and then any row; None where there is none."""
    pool = every if rnd.random() < SLIP or not good else good
    return rnd.choice(pool) if pool else None


def _days(tracker: Tracker, days: int) -> str:
    return (tracker.now + timedelta(days=days)).date().isoformat()


def _writable(tracker: Tracker) -> list[Project]:
    """Active projects of the user."""
    mine = {m.project_id for m in tracker.members.where(user_id=tracker.me)}
    return [p for p in tracker.projects.where(status="active") if p.id in mine]


def _led(tracker: Tracker) -> list[Project]:
    return [p for p in _writable(tracker) if p.lead_id == tracker.me]


def _issues(tracker: Tracker, projects: Sequence[Project]) -> list[Issue]:
    return [i for p in projects for i in tracker.issues.where(project_id=p.id)]


def _open(tracker: Tracker) -> list[Issue]:
    return [i for i in _issues(tracker, _writable(tracker)) if i.status not in CLOSED]


def _open_issue(tracker: Tracker, rnd: Random) -> Issue | None:
    return _pick(rnd, _open(tracker), list(tracker.issues))


def _team(tracker: Tracker, project_id: str) -> list[str]:
    """Members of the project with a working account."""
    ids = [m.user_id for m in tracker.members.where(project_id=project_id)]
    return [user_id for user_id in ids if tracker.users[user_id].active]


def _has_room(tracker: Tracker, project_id: str, user_id: str) -> bool:
    """Whether the user may have one more issue in progress in the project."""
    mine = tracker.issues.where(assignee_id=user_id, project_id=project_id)
    busy = sum(i.status == "in progress" for i in mine)
    return busy < tracker.projects[project_id].wip_limit


def _title(tracker: Tracker, rnd: Random, kind: str) -> str:
    """A title that no issue has, unless nearly all are taken."""
    titles = [_some_title(rnd, kind) for _ in range(8)]
    return next((t for t in titles if not tracker.issues.where(title=t)), titles[0])


def _some_title(rnd: Random, kind: str) -> str:
    part = rnd.randrange(len(PARTS))
    if kind == "bug":
        return bug_title(part, rnd.randrange(len(SYMPTOMS)))
    if kind == "story":
        return story_title(part, rnd.randrange(len(FEATURES)))
    return task_title(part, rnd.randrange(len(CHORES)))


# -- finding -----------------------------------------------------------------------------------


def projects(tracker: Tracker, rnd: Random) -> Arguments:
    """A project's name to look for."""
    row = rnd.choice(list(tracker.projects))
    return {"query": row.name} if rnd.random() < 0.5 else _maybe(rnd, status=row.status)


def members(tracker: Tracker, rnd: Random) -> Arguments:
    """A project and perhaps one of its members."""
    member = rnd.choice(list(tracker.members))
    name = tracker.users[member.user_id].name
    return {"project_id": member.project_id, **_maybe(rnd, query=name)}


def search(tracker: Tracker, rnd: Random) -> Arguments:
    """Filters that one existing issue meets."""
    issue = rnd.choice(list(tracker.issues))
    if rnd.random() < 0.5:
        return {"query": issue.title}
    place = sprint_row(tracker, issue.id)
    labels = tracker.issue_labels.where(issue_id=issue.id)
    more: Arguments = {"status": issue.status, "priority": issue.priority}
    more |= {"sprint_id": place.sprint_id} if place else {"project_id": issue.project_id}
    more |= {"assignee_id": issue.assignee_id} if issue.assignee_id else {}
    more |= {"label": tracker.labels[labels[0].label_id].name} if labels else {}
    names = rnd.sample(sorted(more), rnd.choice((1, 2, 2)))
    return {name: more[name] for name in names}


def any_issue(tracker: Tracker, rnd: Random) -> Arguments:
    """Any issue."""
    return {"issue_id": rnd.choice(list(tracker.issues)).id}


def sprints(tracker: Tracker, rnd: Random) -> Arguments:
    """A sprint's name, or its project and state."""
    sprint = rnd.choice(list(tracker.sprints))
    if rnd.random() < 0.3:
        return {"query": sprint.name}
    return _maybe(rnd, project_id=sprint.project_id, state=sprint.state)


def any_sprint(tracker: Tracker, rnd: Random) -> Arguments:
    """Any sprint."""
    return {"sprint_id": rnd.choice(list(tracker.sprints)).id}


def comments(tracker: Tracker, rnd: Random) -> Arguments:
    """An issue that was talked about."""
    comment = rnd.choice(list(tracker.comments))
    return {
        "issue_id": comment.issue_id,
        **_maybe(rnd, query=comment.body.split()[-1], author_id=comment.author_id),
    }


def worklogs(tracker: Tracker, rnd: Random) -> Arguments:
    """An issue or a person with logged time."""
    log = rnd.choice(list(tracker.worklogs))
    whose = {"issue_id": log.issue_id} if rnd.random() < 0.6 else {"user_id": log.user_id}
    return {**whose, **_maybe(rnd, since=log.worked_on)}


# -- issues ------------------------------------------------------------------------------------


def create(tracker: Tracker, rnd: Random) -> Arguments:
    """A new issue, perhaps for somebody or under a story."""
    project = _pick(rnd, _writable(tracker), list(tracker.projects))
    if project is None:
        return {}
    kind = rnd.choice(("bug", "story", "task"))
    issues = tracker.issues.where(project_id=project.id)
    parents = [i.id for i in issues if i.type == "story" and not i.parent_id]
    parents = [i for i in parents if tracker.issues[i].status not in CLOSED]
    return {
        "project_id": project.id,
        "type": kind,
        "title": _title(tracker, rnd, kind),
        **_maybe(
            rnd,
            priority=rnd.choice(PRIORITIES),
            points=rnd.choice(POINTS),
            assignee_id=rnd.choice(_team(tracker, project.id)),
            due_on=_days(tracker, rnd.randrange(3, 60)),
        ),
        **(_maybe(rnd, parent_id=rnd.choice(parents)) if parents else {}),
    }


def update(tracker: Tracker, rnd: Random) -> Arguments:
    """One or two new values for an open issue."""
    issue = _open_issue(tracker, rnd)
    if issue is None:
        return {}
    terms: Arguments = {
        "title": _title(tracker, rnd, issue.type),
        "priority": rnd.choice([p for p in PRIORITIES if p != issue.priority]),
        "points": rnd.choice([p for p in POINTS if p != issue.points]),
        "due_on": _days(tracker, rnd.randrange(3, 60)),
    }
    picked = rnd.sample(sorted(terms), rnd.choice((1, 1, 2)))
    return {"issue_id": issue.id, **{name: terms[name] for name in picked}}


def assign(tracker: Tracker, rnd: Random) -> Arguments:
    """An open issue and another member for it."""
    issue = _open_issue(tracker, rnd)
    if issue is None:
        return {}
    good = [
        u
        for u in _team(tracker, issue.project_id)
        if u != issue.assignee_id
        and (issue.status != "in progress" or _has_room(tracker, issue.project_id, u))
    ]
    return {"issue_id": issue.id, "assignee_id": _pick(rnd, good, [u.id for u in tracker.users])}


def _can_enter(tracker: Tracker, issue: Issue, status: Status) -> bool:
    """Whether nothing but the workflow has a say in the move."""
    if status in ("in progress", "done") and open_blockers(tracker, issue):
        return False
    if status == "in progress":
        who = issue.assignee_id
        return bool(who) and _has_room(tracker, issue.project_id, who)
    return status not in CLOSED or not open_subtasks(tracker, issue)


def transition(tracker: Tracker, rnd: Random) -> Arguments:
    """An issue of the user's projects and a status that it can go to, mostly forward."""
    found = _open(tracker)
    if rnd.random() < 0.15:
        found = _issues(tracker, _writable(tracker))
    issue = _pick(rnd, found, list(tracker.issues))
    if issue is None:
        return {}
    allowed = next_statuses(tracker, issue)
    good = [s for s in allowed if _can_enter(tracker, issue, s)]
    onward = [s for s in good if s != "cancelled" or rnd.random() < 0.3]
    status = _pick(rnd, onward or good, allowed)
    resolutions = {"done": ("fixed", "duplicate"), "cancelled": ("wont fix", "cannot reproduce")}
    more = {"resolution": rnd.choice(resolutions[str(status)])} if status in CLOSED else {}
    return {"issue_id": issue.id, "status": status, **_maybe(rnd, **more)}


def link(tracker: Tracker, rnd: Random) -> Arguments:
    """Two open issues of one project, or a link there is."""
    projects = _writable(tracker)
    mine = {p.id for p in projects}
    linked = [x for x in tracker.links if tracker.issues[x.source_id].project_id in mine]
    if linked and rnd.random() < 0.3:
        old = rnd.choice(linked)
        ids = {"issue_id": old.source_id, "other_issue_id": old.target_id}
        return {**ids, "relation": old.relation, "action": "remove"}
    issue = _open_issue(tracker, rnd)
    if issue is None:
        return {}
    others = tracker.issues.where(project_id=issue.project_id)
    good = [i for i in others if i.status not in CLOSED and i.id != issue.id]
    other = _pick(rnd, good, list(tracker.issues))
    relation = rnd.choice(("blocks", "blocks", "relates to", "duplicates"))
    ids = {"issue_id": issue.id, "other_issue_id": other.id if other else issue.id}
    return {**ids, "relation": relation, "action": "add"}


def label(tracker: Tracker, rnd: Random) -> Arguments:
    """A label of the project that the issue lacks, or one that it has."""
    issue = _open_issue(tracker, rnd)
    if issue is None:
        return {}
    labels = {row.id: row.name for row in tracker.labels.where(project_id=issue.project_id)}
    worn = {x.label_id for x in tracker.issue_labels.where(issue_id=issue.id)}
    if worn and rnd.random() < 0.4:
        name, action = labels[rnd.choice(sorted(worn))], "remove"
    else:
        free = [row for row in labels if row not in worn]
        name, action = labels[rnd.choice(free or list(labels))], "add"
    return {"issue_id": issue.id, "label": name, "action": action}


def comment(tracker: Tracker, rnd: Random) -> Arguments:
    """Something to say about an issue, perhaps to somebody who spoke."""
    issue = _pick(rnd, _issues(tracker, _writable(tracker)), list(tracker.issues))
    if issue is None:
        return {}
    above = [c.id for c in tracker.comments.where(issue_id=issue.id)]
    more = {"reply_to_id": rnd.choice(above)} if above and rnd.random() < 0.5 else {}
    return {"issue_id": issue.id, "body": rnd.choice(COMMENTS), **more}


def log(tracker: Tracker, rnd: Random) -> Arguments:
    """Time on an open issue for a day that has room for it."""
    issue = _open_issue(tracker, rnd)
    if issue is None:
        return {}
    spent: Counter[str] = Counter()
    for row in tracker.worklogs.where(user_id=tracker.me):
        spent[row.worked_on] += row.minutes
    days = [day for back in range(12) if spent[day := _days(tracker, -back)] <= DAY_CAP - 15]
    day = rnd.choice(days) if days else tracker.today
    room = DAY_CAP - spent[day] if rnd.random() > SLIP else DAY_CAP
    minutes = 15 * rnd.randrange(1, max(2, min(room, 300) // 15 + 1))
    given = {} if day == tracker.today else {"worked_on": day}
    more = _maybe(rnd, note=rnd.choice(NOTES))
    return {"issue_id": issue.id, "minutes": minutes, **given, **more}


# -- sprints -----------------------------------------------------------------------------------


def create_sprint(tracker: Tracker, rnd: Random) -> Arguments:
    """A sprint after all others of a project that the user leads."""
    project = _pick(rnd, _led(tracker), list(tracker.projects))
    if project is None:
        return {}
    rows = tracker.sprints.where(project_id=project.id)
    last = max([tracker.today, *(s.ends_on for s in rows)])
    first = date.fromisoformat(last) + timedelta(days=rnd.randrange(1, 15))
    end = first + timedelta(days=rnd.choice((6, 11, 13, 20)))
    return {
        "project_id": project.id,
        "name": f"{rnd.choice(SPRINTS)} {rnd.choice(('Two', 'Plus', 'Next'))}",
        "starts_on": first.isoformat(),
        "ends_on": end.isoformat(),
        **_maybe(rnd, goal=rnd.choice(GOALS), capacity=rnd.choice((10, 20, 25, 40))),
    }


def _room(tracker: Tracker, sprint: Sprint) -> int:
    return sprint.capacity - sum(i.points for i in sprint_issues(tracker, sprint.id))


def plan(tracker: Tracker, rnd: Random) -> Arguments:
    """An open issue and a sprint of its project with room for it."""
    issue = _open_issue(tracker, rnd)
    if issue is None:
        return {}
    place = sprint_row(tracker, issue.id)
    good = [
        s.id
        for s in tracker.sprints.where(project_id=issue.project_id)
        if s.state != "closed"
        and not (place and place.sprint_id == s.id)
        and _room(tracker, s) >= issue.points
    ]
    return {"issue_id": issue.id, "sprint_id": _pick(rnd, good, [s.id for s in tracker.sprints])}


def start(tracker: Tracker, rnd: Random) -> Arguments:
    """A planned sprint with issues, of a led project without an active one."""
    led = [
        p
        for p in _led(tracker)
        if not tracker.sprints.where(project_id=p.id, state="active")
        and is_member(tracker, p.id, tracker.me)
    ]
    good = [
        s.id
        for p in led
        for s in tracker.sprints.where(project_id=p.id, state="planned")
        if tracker.sprint_issues.where(sprint_id=s.id)
    ]
    found = _pick(rnd, good, [s.id for s in tracker.sprints])
    return {"sprint_id": found} if found else {}


def close(tracker: Tracker, rnd: Random) -> Arguments:
    """An active sprint of a led project, and where its rest goes."""
    led = _led(tracker)
    good = [s for p in led for s in tracker.sprints.where(project_id=p.id, state="active")]
    sprint = _pick(rnd, good, list(tracker.sprints))
    if sprint is None:
        return {}
    planned = tracker.sprints.where(project_id=sprint.project_id, state="planned")
    rest = sum(i.points for i in sprint_issues(tracker, sprint.id) if i.status not in CLOSED)
    upcoming = min(planned, key=lambda s: s.starts_on) if planned else None
    fits = upcoming is not None and _room(tracker, upcoming) >= rest
    target = "next sprint" if fits or rnd.random() < SLIP else "backlog"
    return {"sprint_id": sprint.id, "unfinished_to": target}
