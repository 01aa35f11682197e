"""The issue tracker: workflows, sprints, blocking, time, and how natural its worlds are."""

from __future__ import annotations

from itertools import pairwise

import msgspec
import pytest

from provegym.servers.issue_tracker.state import Tracker, violations
from provegym.servers.issue_tracker.workflows import WORKFLOWS, path_to
from tests.servers.issue_tracker_board import Board, board
from tests.servers.talk import agree

# -- workflows ---------------------------------------------------------------------------------


def test_an_issue_of_a_tested_project_goes_through_review_and_testing() -> None:
    b = board()
    issue = b.new(0, "Check the path", assignee_id=b.free_member(0))
    for status, after in (
        ("to do", ["backlog", "in progress", "cancelled"]),
        ("in progress", ["to do", "cancelled", "in review"]),
        ("in review", ["in progress", "cancelled", "testing"]),
        ("testing", ["done", "in progress", "cancelled"]),
        ("done", ["to do"]),
    ):
        b.move(issue, status)
        assert b.ok("get_issue", issue_id=issue.id)["next_statuses"] == after
    assert b.tracker.issues[issue.id].resolution == "fixed"
    history = b.tracker.status_changes.where(issue_id=issue.id)
    assert [c.to_status for c in history] == list(path_to("tested", "done"))[1:]


def test_the_three_workflows_differ_in_how_work_is_finished() -> None:
    finishing = {
        name: {source for _, source, target in steps if target == "done"}
        for name, steps in WORKFLOWS.items()
    }
    assert finishing == {
        "simple": {"in progress"},
        "reviewed": {"in review"},
        "tested": {"testing"},
    }


def test_a_transition_that_the_workflow_lacks_is_refused_with_those_it_has() -> None:
    b = board()
    issue = b.new(2, "No short cut")
    error = b.refused("transition_issue", issue_id=issue.id, status="done")
    assert error["code"] == "transition_not_allowed"
    assert error["details"]["allowed"] == ["to do", "cancelled"]


def test_a_resolution_is_kept_while_closed_and_dropped_on_reopening() -> None:
    b = board()
    issue = b.new(2, "Settle it", assignee_id=b.free_member(2))
    b.move(issue, "to do", "in progress")
    done = b.ok("transition_issue", issue_id=issue.id, status="done", resolution="duplicate")
    assert done["resolution"] == "duplicate"
    assert "resolution" not in b.ok("transition_issue", issue_id=issue.id, status="to do")
    error = b.refused("transition_issue", issue_id=issue.id, status="backlog", resolution="fixed")
    assert error["code"] == "resolution_not_applicable"


# -- blocking and subtasks ---------------------------------------------------------------------


def test_a_blocked_issue_starts_only_when_its_blocker_is_closed_or_unlinked() -> None:
    b = board()
    one, two = b.new(2, "Blocker"), b.new(2, "Blocked", assignee_id=b.free_member(2))
    link = {"issue_id": one.id, "relation": "blocks", "other_issue_id": two.id}
    b.ok("link_issues", **link, action="add")
    b.move(two, "to do")
    error = b.refused("transition_issue", issue_id=two.id, status="in progress")
    assert (error["code"], error["details"]["blocked_by"]) == ("blocked_by_open_issue", [one.id])
    shown = b.ok("get_issue", issue_id=two.id)["links"]
    assert shown == [
        {"relation": "blocked by", "id": one.id, "title": "Blocker", "status": "backlog"}
    ]
    b.ok("link_issues", **link, action="remove")
    b.ok("link_issues", **link, action="add")
    b.move(one, "cancelled")
    b.move(two, "in progress")


def test_blocks_never_form_a_circle_however_long() -> None:
    b = board()
    chain = [b.new(2, f"Link {word}").id for word in ("one", "two", "three", "four")]
    for source, target in pairwise(chain):
        ids = {"issue_id": source, "other_issue_id": target}
        b.ok("link_issues", **ids, relation="blocks", action="add")
    back = {"issue_id": chain[-1], "other_issue_id": chain[0]}
    assert b.code("link_issues", **back, relation="blocks", action="add") == "blocking_cycle"
    b.ok("link_issues", **back, relation="relates to", action="add")
    turned = {"issue_id": chain[0], "other_issue_id": chain[-1]}
    again = b.code("link_issues", **turned, relation="relates to", action="add")
    assert again == "already_linked"


def test_a_parent_is_closed_after_its_subtasks_and_reopened_before_them() -> None:
    b = board()
    parent = b.new(2, "Parent", assignee_id=b.free_member(2))
    child = b.new(2, "Child", parent_id=parent.id)
    b.move(parent, "to do", "in progress")
    error = b.refused("transition_issue", issue_id=parent.id, status="done")
    assert error["details"]["open_subtasks"] == [child.id]
    b.move(child, "cancelled")
    b.move(parent, "done")
    assert b.code("transition_issue", issue_id=child.id, status="backlog") == "parent_closed"
    b.move(parent, "to do")
    b.move(child, "backlog")


def test_nobody_has_more_issues_in_progress_than_the_project_allows() -> None:
    b = board()
    who, limit = b.free_member(2), b.project(2).wip_limit
    issues = [b.new(2, f"Work item {i}", assignee_id=who) for i in range(limit + 1)]
    for issue in issues:
        b.move(issue, "to do")
    for issue in issues[:-1]:
        b.move(issue, "in progress")
    last = issues[-1]
    assert b.code("transition_issue", issue_id=last.id, status="in progress") == "wip_limit_reached"
    b.move(issues[0], "done")
    b.move(last, "in progress")


# -- sprints -----------------------------------------------------------------------------------


def test_planning_takes_an_issue_out_of_the_backlog_and_of_its_other_sprint() -> None:
    b = board()
    first, second = b.sprint(0, "planned"), b.sprint(0, "planned", 1)
    issue = b.new(0, "Plan me", points=2)
    got = b.ok("plan_issue_into_sprint", issue_id=issue.id, sprint_id=first.id)
    assert got["issue"]["status"] == "to do"
    got = b.ok("plan_issue_into_sprint", issue_id=issue.id, sprint_id=second.id)
    assert got["points_left"] == 34 - 2
    rows = b.tracker.sprint_issues.where(issue_id=issue.id)
    assert [r.sprint_id for r in rows] == [second.id]
    b.move(issue, "backlog")
    assert not b.tracker.sprint_issues.where(issue_id=issue.id)


def test_closing_a_sprint_completes_what_is_done_and_carries_the_rest_over() -> None:
    b = board()
    project, sprint = b.project(0), b.sprint(0, "active")
    rows = b.tracker.sprint_issues.where(sprint_id=sprint.id)
    done = {r.issue_id for r in rows if b.tracker.issues[r.issue_id].status == "done"}
    got = b.ok("close_sprint", sprint_id=sprint.id, unfinished_to="backlog")
    assert (got["completed"], got["carried_over"]) == (len(done), len(rows) - len(done))
    after = b.tracker.sprint_issues.where(sprint_id=sprint.id)
    assert {r.issue_id for r in after if r.outcome == "completed"} == done
    upcoming = b.sprint(0, "planned")
    assert b.ok("start_sprint", sprint_id=upcoming.id)["state"] == "active"
    assert len(b.tracker.sprints.where(project_id=project.id, state="active")) == 1


def test_unfinished_issues_go_to_the_next_sprint_if_it_has_room() -> None:
    b = board()
    b.ok("close_sprint", sprint_id=b.sprint(0, "active").id, unfinished_to="backlog")
    first, second = b.sprint(0, "planned"), b.sprint(0, "planned", 1)
    b.ok("start_sprint", sprint_id=first.id)
    rest = [r.issue_id for r in b.tracker.sprint_issues.where(sprint_id=first.id)]
    got = b.ok("close_sprint", sprint_id=first.id, unfinished_to="next sprint")
    assert (got["moved_to"], got["carried_over"]) == (second.name, len(rest))
    assert [r.issue_id for r in b.tracker.sprint_issues.where(sprint_id=second.id)] == rest
    b.ok("start_sprint", sprint_id=second.id)
    nothing = b.code("close_sprint", sprint_id=second.id, unfinished_to="next sprint")
    assert nothing == "no_planned_sprint"


def test_the_report_adds_up_points_and_time() -> None:
    b = board()
    project = b.project(0)
    ids = {"project_id": project.id, "name": "Sums", "starts_on": "2027-05-03"}
    sprint = b.ok("create_sprint", **ids, ends_on="2027-05-14", capacity=10)
    one = b.new(0, "Five points", points=5)
    two = b.new(0, "Three points", points=3)
    for issue in (one, two):
        b.ok("plan_issue_into_sprint", issue_id=issue.id, sprint_id=sprint["id"])
    b.ok("log_issue_work", issue_id=one.id, minutes=45)
    report = b.ok("get_sprint_report", sprint_id=sprint["id"])
    assert (report["points_committed"], report["points_completed"]) == (8, 0)
    assert report["by_status"] == [{"status": "to do", "issues": 2, "points": 8}]
    assert report["logged_minutes"] == 45
    b.ok("update_issue", issue_id=two.id, points=5)
    error = b.refused("update_issue", issue_id=two.id, points=6)
    assert (error["code"], error["details"]["points_left"]) == ("sprint_full", 0)


# -- time --------------------------------------------------------------------------------------


def test_logged_time_adds_up_over_the_issue_and_fills_the_day() -> None:
    b = board()
    one, two = b.new(0, "Long day"), b.new(0, "Longer day")
    free = 720 - sum(
        w.minutes for w in b.tracker.worklogs.where(user_id=b.tracker.me, worked_on=b.tracker.today)
    )
    assert b.ok("log_issue_work", issue_id=one.id, minutes=60)["logged_minutes"] == 60
    assert b.ok("log_issue_work", issue_id=one.id, minutes=30)["logged_minutes"] == 90
    error = b.refused("log_issue_work", issue_id=two.id, minutes=free - 89)
    assert (error["code"], error["details"]["minutes_left"]) == ("day_full", free - 90)
    b.ok("log_issue_work", issue_id=two.id, minutes=free - 90)
    listed = b.ok("list_issue_worklogs", issue_id=one.id)
    assert (listed["total"], listed["total_minutes"]) == (2, 90)


# -- looking up --------------------------------------------------------------------------------


def test_a_search_combines_its_filters() -> None:
    b = board()
    for issue in list(b.tracker.issues)[:40]:
        query = {"query": issue.key, "status": issue.status, "project_id": issue.project_id}
        assert [i["id"] for i in b.ok("search_issues", **query)["issues"]] == [issue.id]
    everything = b.ok("search_issues", limit=50)
    assert everything["total"] == len(b.tracker.issues)
    assert everything["next_cursor"] == "p50"


def test_a_label_search_finds_what_the_label_was_put_on() -> None:
    b = board()
    issue = b.new(1, "Label me")
    label = b.tracker.labels.where(project_id=issue.project_id)[0].name
    b.ok("label_issue", issue_id=issue.id, label=label.upper(), action="add")
    found = b.ok("search_issues", label=label, query="Label me")
    assert [i["id"] for i in found["issues"]] == [issue.id]
    assert b.ok("label_issue", issue_id=issue.id, label=label, action="remove")["labels"] == []


def test_keys_run_on_within_a_project_and_are_no_part_of_the_changes() -> None:
    b = board()
    count = len(b.tracker.issues.where(project_id=b.project(1).id))
    issue = b.new(1, "Next number")
    assert issue.key == f"{b.project(1).key}-{count + 1}"
    (change,) = b.session.changes()["issue_tracker.issues"].values()
    assert change is not None
    assert "key" not in change


# -- the whole ---------------------------------------------------------------------------------


def test_the_rows_of_a_seeded_world_have_distinct_titles() -> None:
    for seed in range(20):
        tracker = board(seed).tracker
        for names in ([i.title for i in tracker.issues], [s.name for s in tracker.sprints]):
            assert len(set(names)) == len(names)


def test_independent_writes_in_either_order_give_the_same_changes() -> None:
    def calls(b: Board) -> list[tuple[str, dict[str, object]]]:
        open_issue = b.unplanned(0)
        project = b.project(1).id
        return [
            ("create_issue", {"project_id": project, "type": "bug", "title": "First of two"}),
            ("create_issue", {"project_id": project, "type": "bug", "title": "Second of two"}),
            ("comment_on_issue", {"issue_id": open_issue.id, "body": "Looks good"}),
            ("log_issue_work", {"issue_id": open_issue.id, "minutes": 15}),
            ("close_sprint", {"sprint_id": b.sprint(0, "active").id, "unfinished_to": "backlog"}),
        ]

    one, two = board(), board()
    agree(one, calls(one), two, calls(two))


def _break_history(t: Tracker) -> None:
    issue = t.issues.where(status="done")[0]
    t.issues.update(issue, status="testing", resolution="")


def _two_active(t: Tracker) -> None:
    active = t.sprints.where(state="active")[0]
    other = t.sprints.where(project_id=active.project_id, state="planned")[0]
    t.sprints.update(other, state="active")


def _circle(t: Tracker) -> None:
    link = t.links.where(relation="blocks")[0]
    back = msgspec.structs.replace(
        link, id="lnk_back", source_id=link.target_id, target_id=link.source_id
    )
    t.links.put(back)


def _lose_time(t: Tracker) -> None:
    t.worklogs.delete(next(iter(t.worklogs)).id)


def _twice_planned(t: Tracker) -> None:
    row = t.sprint_issues.where(outcome="committed")[0]
    t.sprint_issues.put(msgspec.structs.replace(row, id="spi_twice"))


def _nobody(t: Tracker) -> None:
    t.issues.update(t.issues.where(status="in progress")[0], assignee_id="")


@pytest.mark.parametrize(
    ("harm", "said"),
    [
        (_break_history, "its history ends in done"),
        (_two_active, "2 active sprints"),
        (_circle, "blocks itself in a circle"),
        (_lose_time, "counts"),
        (_twice_planned, "is in 2 open sprints"),
        (_nobody, "without an assignee"),
    ],
)
def test_a_broken_tracker_is_noticed(harm: object, said: str) -> None:
    b = board()
    assert callable(harm)
    harm(b.tracker)
    assert any(said in line for line in violations(b.tracker))
