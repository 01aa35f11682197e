"""Each refusal of the issue tracker occurs in its worlds as seeded, or a few calls on."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from provegym.servers.issue_tracker import SERVER
from tests.servers.issue_tracker_board import Board, board
from tests.servers.talk import declared

Scenario = Callable[[Board], dict[str, Any]]
SCENARIOS: dict[tuple[str, str], Scenario] = {}
"""How each declared refusal of each tool comes about."""

MINE, FOREIGN, ARCHIVED, LED_BY_OTHER = 0, 4, 5, 3
FAR = {"starts_on": "2027-05-03", "ends_on": "2027-05-14"}


def _create(b: Board, place: int = MINE, **given: Any) -> dict[str, Any]:
    ids = {"project_id": b.project(place).id, "type": "bug", "title": "Something new"}
    return {**ids, **given}


def _sprint(b: Board, place: int = MINE, **given: Any) -> dict[str, Any]:
    return {"project_id": b.project(place).id, "name": "Fresh start", **FAR, **given}


def _on_issue(**more: Any) -> Callable[[Board, str], dict[str, Any]]:
    return lambda b, issue_id: {"issue_id": issue_id, **more}


_ISSUE_TOOLS: dict[str, Callable[[Board, str], dict[str, Any]]] = {
    "update_issue": _on_issue(priority="urgent"),
    "assign_issue": lambda b, i: {"issue_id": i, "assignee_id": b.tracker.me},
    "transition_issue": _on_issue(status="to do"),
    "link_issues": lambda b, i: {
        "issue_id": i,
        "relation": "blocks",
        "other_issue_id": b.issue(MINE, "to do").id,
        "action": "add",
    },
    "label_issue": _on_issue(label="regression", action="add"),
    "comment_on_issue": _on_issue(body="Fine"),
    "log_issue_work": _on_issue(minutes=15),
    "plan_issue_into_sprint": lambda b, i: {
        "issue_id": i,
        "sprint_id": b.sprint(MINE, "planned").id,
    },
}


def _some(b: Board, place: int) -> str:
    return b.tracker.issues.where(project_id=b.project(place).id)[0].id


def _add(tool: str, code: str, scenario: Scenario) -> None:
    SCENARIOS[tool, code] = scenario


for _tool, _make in _ISSUE_TOOLS.items():
    _add(_tool, "not_found", lambda b, m=_make: m(b, "iss_nobody"))  # type: ignore[misc]
    _add(_tool, "not_your_project", lambda b, m=_make: m(b, _some(b, FOREIGN)))  # type: ignore[misc]
    _add(_tool, "project_archived", lambda b, m=_make: m(b, _some(b, ARCHIVED)))  # type: ignore[misc]
    if "issue_closed" in SERVER.tools[_tool].refuses:
        _add(_tool, "issue_closed", lambda b, m=_make: m(b, b.issue(MINE, "done").id))  # type: ignore[misc]
for _tool, _new in (("create_issue", _create), ("create_sprint", _sprint)):
    _add(_tool, "not_found", lambda b, m=_new: m(b, project_id="prj_none"))  # type: ignore[misc]
    _add(_tool, "not_your_project", lambda b, m=_new: m(b, FOREIGN))  # type: ignore[misc]
    _add(_tool, "project_archived", lambda b, m=_new: m(b, ARCHIVED))  # type: ignore[misc]
_add("create_sprint", "not_project_lead", lambda b: _sprint(b, LED_BY_OTHER))


def _of_sprint(b: Board, place: int, state: str, turn: int = 0) -> dict[str, Any]:
    return {"sprint_id": b.sprint(place, state, turn).id}


def _closing(b: Board, place: int, state: str = "active") -> dict[str, Any]:
    return {**_of_sprint(b, place, state), "unfinished_to": "next sprint"}


for _tool, _more in (("start_sprint", {}), ("close_sprint", {"unfinished_to": "backlog"})):
    for _code, _place, _state in (
        ("not_your_project", FOREIGN, "active"),
        ("project_archived", ARCHIVED, "closed"),
        ("not_project_lead", LED_BY_OTHER, "active"),
        ("sprint_closed", MINE, "closed"),
    ):
        SCENARIOS[_tool, _code] = lambda b, p=_place, s=_state, m=_more: {
            **_of_sprint(b, p, s),
            **m,
        }  # type: ignore[misc]
    SCENARIOS[_tool, "not_found"] = lambda b, m=_more: {"sprint_id": "spr_none", **m}  # type: ignore[misc]

_UNKNOWN = {
    "list_project_members": {"project_id": "prj_none"},
    "search_issues": {"sprint_id": "spr_none"},
    "get_issue": {"issue_id": "iss_none"},
    "list_sprints": {"project_id": "prj_none"},
    "get_sprint_report": {"sprint_id": "spr_none"},
    "list_issue_comments": {"issue_id": "iss_none"},
    "list_issue_worklogs": {"user_id": "usr_none"},
}
for _tool, _given in _UNKNOWN.items():
    _add(_tool, "not_found", lambda b, g=_given: g)  # type: ignore[misc]


def _subtask(b: Board) -> str:
    parent = b.new(MINE, "Has a part")
    return b.new(MINE, "Is a part", parent_id=parent.id).id


def _blocked(b: Board) -> dict[str, Any]:
    one, two = b.new(2, "In the way"), b.new(2, "Waiting", assignee_id=b.free_member(2))
    link = {"issue_id": one.id, "relation": "blocks", "other_issue_id": two.id}
    b.ok("link_issues", **link, action="add")
    b.move(two, "to do")
    return {"issue_id": two.id, "status": "in progress"}


def _busy(b: Board) -> str:
    """Who has as many issues in progress as the first project allows."""
    return b.member(MINE, 1)


def _overload(b: Board) -> dict[str, Any]:
    issue = b.new(MINE, "One too many", assignee_id=_busy(b))
    b.move(issue, "to do")
    return {"issue_id": issue.id, "status": "in progress"}


def _hand_over(b: Board) -> dict[str, Any]:
    issue = b.new(MINE, "Changing hands", assignee_id=b.free_member(MINE))
    b.move(issue, "to do", "in progress")
    return {"issue_id": issue.id, "assignee_id": _busy(b)}


def _unassigned(b: Board) -> dict[str, Any]:
    issue = b.new(MINE, "Nobody's")
    b.move(issue, "to do")
    return {"issue_id": issue.id, "status": "in progress"}


def _with_open_part(b: Board) -> dict[str, Any]:
    parent = b.new(MINE, "Whole")
    b.new(MINE, "Half", parent_id=parent.id)
    return {"issue_id": parent.id, "status": "cancelled"}


def _orphaned(b: Board) -> dict[str, Any]:
    parent = b.new(MINE, "Whole")
    part = b.new(MINE, "Half", parent_id=parent.id)
    b.move(part, "cancelled")
    b.move(parent, "cancelled")
    return {"issue_id": part.id, "status": "backlog"}


def _link(b: Board, action: str, *, first: bool) -> dict[str, Any]:
    one, two = b.new(MINE, "Left"), b.new(MINE, "Right")
    call = {"issue_id": one.id, "relation": "duplicates", "other_issue_id": two.id}
    if first:
        b.ok("link_issues", **call, action="add")
    return {**call, "action": action}


def _turned(b: Board) -> dict[str, Any]:
    one, two = b.new(MINE, "Left").id, b.new(MINE, "Right").id
    call = {"issue_id": one, "relation": "blocks", "other_issue_id": two}
    b.ok("link_issues", **call, action="add")
    return {**call, "issue_id": two, "other_issue_id": one, "action": "add"}


def _labelled(b: Board, action: str, *, worn: bool) -> dict[str, Any]:
    label = b.tracker.labels.where(project_id=b.project(MINE).id)[0].name
    call = {"issue_id": b.new(MINE, "Labelled").id, "label": label}
    if worn:
        b.ok("label_issue", **call, action="add")
    return {**call, "action": action}


def _foreign_comment(b: Board) -> dict[str, Any]:
    comment = next(iter(b.tracker.comments))
    return {"issue_id": b.new(MINE, "Silent").id, "body": "Hm", "reply_to_id": comment.id}


def _planned(b: Board, **given: Any) -> dict[str, Any]:
    return {"issue_id": b.unplanned(MINE).id, "sprint_id": b.sprint(MINE, "planned").id, **given}


def _replanned(b: Board) -> dict[str, Any]:
    issue, sprint = b.new(MINE, "Twice"), b.sprint(MINE, "planned")
    call = {"issue_id": issue.id, "sprint_id": sprint.id}
    b.ok("plan_issue_into_sprint", **call)
    return call


def _large(b: Board) -> dict[str, Any]:
    return _planned(b, issue_id=b.new(MINE, "Large", points=40).id)


def _grown(b: Board) -> dict[str, Any]:
    sprint = b.sprint(MINE, "planned")
    b.ok("plan_issue_into_sprint", issue_id=b.new(MINE, "Growing").id, sprint_id=sprint.id)
    issue = b.tracker.issues.where(title="Growing")[0]
    return {"issue_id": issue.id, "points": 40}


def _no_room(b: Board) -> dict[str, Any]:
    """The next sprint has not one point left."""
    upcoming = b.sprint(MINE, "planned")
    taken = b.ok("get_sprint_report", sprint_id=upcoming.id)["points_committed"]
    filler = b.new(MINE, "Filler", points=upcoming.capacity - taken)
    b.ok("plan_issue_into_sprint", issue_id=filler.id, sprint_id=upcoming.id)
    return _closing(b, MINE)


def _last_sprint(b: Board) -> dict[str, Any]:
    """Both planned sprints of the second project are used up, so none comes after."""
    first, last = b.sprint(1, "planned"), b.sprint(1, "planned", 1)
    filler = b.new(1, "Filler")
    b.ok("plan_issue_into_sprint", issue_id=filler.id, sprint_id=first.id)
    b.ok("start_sprint", sprint_id=first.id)
    b.ok("close_sprint", sprint_id=first.id, unfinished_to="next sprint")
    b.ok("start_sprint", sprint_id=last.id)
    return {"sprint_id": last.id, "unfinished_to": "next sprint"}


def _gone(b: Board) -> str:
    members = b.tracker.members.where(project_id=b.project(MINE).id)
    return next(m.user_id for m in members if not b.tracker.users[m.user_id].active)


def _high(b: Board) -> dict[str, Any]:
    return {"issue_id": b.new(MINE, "Same", priority="high").id, "priority": "high"}


def _full_day(b: Board) -> dict[str, Any]:
    """The seeded yesterday of the user has half an hour left."""
    days: dict[str, int] = {}
    for log in b.tracker.worklogs.where(user_id=b.tracker.me):
        days[log.worked_on] = days.get(log.worked_on, 0) + log.minutes
    full = next(day for day, minutes in days.items() if minutes == 690)
    return {"issue_id": b.issue(MINE, "to do").id, "minutes": 35, "worked_on": full}


SCENARIOS |= {
    ("create_issue", "duplicate_title"): lambda b: _create(b, title=b.issue(MINE, "to do").title),
    ("create_issue", "date_in_past"): lambda b: _create(b, due_on="2026-01-31"),
    ("create_issue", "not_a_member"): lambda b: _create(b, assignee_id=b.outsider(MINE)),
    ("create_issue", "user_deactivated"): lambda b: _create(b, assignee_id=_gone(b)),
    ("create_issue", "parent_closed"): lambda b: _create(
        b, parent_id=next(
            i.id for i in b.tracker.issues.where(project_id=b.project(MINE).id, status="done")
            if not i.parent_id
        )
    ),
    ("create_issue", "parent_is_subtask"): lambda b: _create(b, parent_id=_subtask(b)),
    ("create_issue", "parent_in_other_project"): lambda b: _create(
        b, parent_id=b.issue(1, "to do").id
    ),
    ("update_issue", "no_change"): _high,
    ("update_issue", "duplicate_title"): lambda b: {
        "issue_id": b.new(MINE, "Own title").id, "title": b.issue(MINE, "to do").title
    },
    ("update_issue", "date_in_past"): lambda b: {
        "issue_id": b.issue(MINE, "to do").id, "due_on": "2026-01-31"
    },
    ("update_issue", "sprint_full"): _grown,
    ("assign_issue", "not_a_member"): lambda b: {
        "issue_id": b.issue(MINE, "to do").id, "assignee_id": b.outsider(MINE)
    },
    ("assign_issue", "user_deactivated"): lambda b: {
        "issue_id": b.issue(MINE, "to do").id, "assignee_id": _gone(b)
    },
    ("assign_issue", "already_assigned"): lambda b: {
        "issue_id": b.new(MINE, "Taken", assignee_id=b.tracker.me).id,
        "assignee_id": b.tracker.me,
    },
    ("assign_issue", "wip_limit_reached"): _hand_over,
    ("transition_issue", "already_in_status"): lambda b: {
        "issue_id": b.issue(MINE, "to do").id, "status": "to do"
    },
    ("transition_issue", "transition_not_allowed"): lambda b: {
        "issue_id": b.issue(MINE, "to do").id, "status": "testing"
    },
    ("transition_issue", "assignee_required"): _unassigned,
    ("transition_issue", "blocked_by_open_issue"): _blocked,
    ("transition_issue", "wip_limit_reached"): _overload,
    ("transition_issue", "open_subtasks"): _with_open_part,
    ("transition_issue", "parent_closed"): _orphaned,
    ("link_issues", "already_linked"): lambda b: _link(b, "add", first=True),
    ("link_issues", "not_linked"): lambda b: _link(b, "remove", first=False),
    ("link_issues", "blocking_cycle"): _turned,
    ("label_issue", "unknown_label"): lambda b: {
        "issue_id": b.issue(MINE, "to do").id, "label": "no such thing", "action": "add"
    },
    ("label_issue", "already_labelled"): lambda b: _labelled(b, "add", worn=True),
    ("label_issue", "not_labelled"): lambda b: _labelled(b, "remove", worn=False),
    ("comment_on_issue", "comment_on_other_issue"): _foreign_comment,
    ("log_issue_work", "future_date"): lambda b: {
        "issue_id": b.issue(MINE, "to do").id, "minutes": 30, "worked_on": "2027-12-01"
    },
    ("log_issue_work", "day_full"): _full_day,
    ("create_sprint", "date_in_past"): lambda b: _sprint(
        b, starts_on="2026-01-05", ends_on="2026-01-16"
    ),
    ("create_sprint", "sprint_name_taken"): lambda b: _sprint(
        b, name=b.sprint(MINE, "closed").name
    ),
    ("create_sprint", "sprint_overlap"): lambda b: _sprint(
        b, starts_on=b.sprint(MINE, "planned").ends_on, ends_on=b.sprint(MINE, "planned", 1).ends_on
    ),
    ("plan_issue_into_sprint", "sprint_closed"): lambda b: _planned(
        b, sprint_id=b.sprint(MINE, "closed").id
    ),
    ("plan_issue_into_sprint", "sprint_of_other_project"): lambda b: _planned(
        b, sprint_id=b.sprint(1, "planned").id
    ),
    ("plan_issue_into_sprint", "already_in_sprint"): _replanned,
    ("plan_issue_into_sprint", "sprint_full"): _large,
    ("start_sprint", "sprint_already_active"): lambda b: _of_sprint(b, MINE, "active"),
    ("start_sprint", "other_sprint_active"): lambda b: _of_sprint(b, MINE, "planned"),
    ("start_sprint", "sprint_empty"): lambda b: _of_sprint(b, 1, "planned", 1),
    ("close_sprint", "sprint_not_active"): lambda b: _closing(b, MINE, "planned"),
    ("close_sprint", "no_planned_sprint"): _last_sprint,
    ("close_sprint", "sprint_full"): _no_room,
}  # fmt: skip


@pytest.mark.parametrize(("tool", "code"), declared(SERVER, SCENARIOS))
@pytest.mark.parametrize("seed", [0, 11])
def test_each_declared_refusal_occurs(tool: str, code: str, seed: int) -> None:
    b = board(seed)
    assert b.code(tool, **SCENARIOS[tool, code](b)) == code


def test_what_follows_from_the_arguments_alone_is_refused_too() -> None:
    b = board()
    issue = b.issue(MINE, "to do").id
    same = {"issue_id": issue, "other_issue_id": issue, "relation": "blocks", "action": "add"}
    assert b.code("link_issues", **same) == "same_issue"
    assert b.code("update_issue", issue_id=issue) == "nothing_given"
    long = _sprint(b, starts_on="2027-05-03", ends_on="2027-07-03")
    assert b.code("create_sprint", **long) == "invalid_dates"
    turned = {"since": "2026-05-02", "until": "2026-05-01"}
    assert b.code("list_issue_worklogs", **turned) == "invalid_dates"
    assert b.code("search_issues", cursor="x") == "invalid_cursor"
