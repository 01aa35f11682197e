"""What the issue tracker has of the world's stories, as its tools show it."""

from __future__ import annotations

from typing import Any

import pytest

from provegym.world.stories import Fault, stories
from tests.servers.issue_tracker_board import Board, board

SEEDS = range(6)


def told_in(b: Board) -> tuple[Fault, Any]:
    """The fault, and the one issue about it."""
    told = stories(b.tracker.cast).fault
    (found,) = b.ok("search_issues", query=told.title)["issues"]
    return told, b.ok("get_issue", issue_id=found["id"])


@pytest.mark.parametrize("seed", SEEDS)
def test_the_fault_is_an_open_bug_of_its_reporter(seed: int) -> None:
    told, shown = told_in(board(seed))
    assert (shown["title"], shown["type"], shown["status"]) == (told.title, "bug", "to do")
    assert shown["reporter"] == told.reporter.name


@pytest.mark.parametrize("seed", SEEDS)
def test_the_reporter_is_in_the_project_and_says_when_it_was_first_seen(seed: int) -> None:
    b = board(seed)
    told, shown = told_in(b)
    project = b.tracker.issues[shown["id"]].project_id
    given = {"project_id": project, "query": told.reporter.email}
    (member,) = b.ok("list_project_members", **given)["members"]
    by_them = {"issue_id": shown["id"], "author_id": member["id"]}
    (comment,) = b.ok("list_issue_comments", **by_them)["comments"]
    assert told.found.date().isoformat() in comment["body"]
    assert comment["posted_at"] > told.found.isoformat()


@pytest.mark.parametrize("seed", SEEDS)
def test_its_key_follows_the_last_one_of_a_project_that_the_user_leads(seed: int) -> None:
    b = board(seed)
    _, shown = told_in(b)
    project = b.tracker.projects[b.tracker.issues[shown["id"]].project_id]
    assert project.lead_id == b.tracker.me
    assert shown["key"] == f"{project.key}-{len(b.tracker.issues.where(project_id=project.id))}"
