"""A session of the issue tracker and how tests talk to it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from provegym.servers.issue_tracker import SERVER
from provegym.servers.issue_tracker.rules import sprint_row
from provegym.servers.issue_tracker.state import Issue, Project, Sprint, Tracker
from provegym.servers.issue_tracker.workflows import CLOSED
from provegym.world.world import World
from tests.servers.talk import Talk


@lru_cache
def world(seed: int) -> World:
    return World(seed, [SERVER])


@dataclass(frozen=True)
class Board(Talk):
    """One session and the typed view of it. Project 0 is tested, 1 reviewed, 2 simple."""

    tracker: Tracker

    def project(self, place: int) -> Project:
        return list(self.tracker.projects)[place]

    def issue(self, place: int, status: str) -> Issue:
        rows = self.tracker.issues.where(project_id=self.project(place).id, status=status)
        return rows[0]

    def sprint(self, place: int, state: str, turn: int = 0) -> Sprint:
        return self.tracker.sprints.where(project_id=self.project(place).id, state=state)[turn]

    def member(self, place: int, turn: int = 0) -> str:
        """A member with a working account; the user is turn 0 in their own projects."""
        return self.tracker.members.where(project_id=self.project(place).id)[turn].user_id

    def outsider(self, place: int) -> str:
        inside = {m.user_id for m in self.tracker.members.where(project_id=self.project(place).id)}
        return next(u.id for u in self.tracker.users if u.active and u.id not in inside)

    def new(self, place: int, title: str, **more: Any) -> Issue:
        """A fresh issue in the backlog."""
        ids = {"project_id": self.project(place).id, "type": "task", "title": title}
        return self.tracker.issues[self.ok("create_issue", **ids, **more)["id"]]

    def move(self, issue: Issue | str, *statuses: str) -> None:
        issue_id = issue if isinstance(issue, str) else issue.id
        for status in statuses:
            self.ok("transition_issue", issue_id=issue_id, status=status)

    def free_member(self, place: int) -> str:
        """A member who can take one more issue in progress, and has none yet."""
        project = self.project(place)
        members = self.tracker.members.where(project_id=project.id)
        for member in reversed([m for m in members if self.tracker.users[m.user_id].active]):
            mine = self.tracker.issues.where(assignee_id=member.user_id, project_id=project.id)
            if not any(i.status == "in progress" for i in mine):
                return member.user_id
        raise LookupError("everybody has an issue in progress")

    def unplanned(self, place: int) -> Issue:
        """An open issue with points that is in no open sprint."""
        rows = self.tracker.issues.where(project_id=self.project(place).id)
        return next(
            i
            for i in rows
            if i.status not in CLOSED and i.points and not sprint_row(self.tracker, i.id)
        )


def board(seed: int = 11) -> Board:
    session = world(seed).open()
    tracker = session.state("issue_tracker")
    assert isinstance(tracker, Tracker)
    return Board(session, tracker)
