"""A session of the video meeting service and how tests talk to it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import msgspec

from provegym.servers.video_meeting import SERVER
from provegym.servers.video_meeting.state import Lobby, Meeting, Participant, Poll, Presence
from provegym.world.world import World
from tests.servers.talk import Talk


@lru_cache
def world(seed: int) -> World:
    return World(seed, [SERVER])


@dataclass(frozen=True)
class Hall(Talk):
    """One session and the typed view of it."""

    lobby: Lobby

    def meeting(
        self, status: str, *, host: bool, me: Presence | None = None, **equal: Any
    ) -> Meeting:
        """The first own meeting of that kind with a place left in its room."""
        lobby = self.lobby
        return next(
            m
            for m in lobby.mine()
            if m.status == status
            and (m.host == lobby.me) == host
            and me in (None, lobby.myself(m.id).presence)
            and len(lobby.present(m.id)) < lobby.rooms[m.room_id].capacity
            and all(getattr(m, name) == value for name, value in equal.items())
        )

    def full(self, *, host: bool) -> Meeting:
        """An own live meeting whose room is full."""
        lobby = self.lobby
        return next(
            m
            for m in lobby.mine()
            if (m.host == lobby.me) == host
            and m.status == "live"
            and len(lobby.present(m.id)) == lobby.rooms[m.room_id].capacity
        )

    def person(self, meeting: Meeting, now: Presence, **state: Any) -> Participant:
        """Someone other than the user at a meeting, brought into a state."""
        found = next(
            p
            for p in self.lobby.people(meeting.id)
            if p.presence == now and p.email != self.lobby.me
        )
        return self.lobby.participants.update(found, **state)

    def recordable(self) -> Meeting:
        """An own live meeting in a room that records, not being recorded."""
        rooms = {r.id for r in self.lobby.rooms if r.records}
        m = next(
            m
            for m in self.lobby.mine()
            if m.status == "live" and m.host == self.lobby.me and m.room_id in rooms
        )
        return self.lobby.meetings.update(m, recording_since="", recorded=False)

    def poll(self) -> Poll:
        """An open poll that the user may vote in and has not."""
        lobby = self.lobby
        mine = {m.id for m in lobby.mine()}
        return next(
            p
            for p in lobby.polls.where(open=True)
            if p.meeting_id in mine
            and lobby.myself(p.meeting_id).presence == "joined"
            and not lobby.votes.where(poll_id=p.id, email=lobby.me)
        )

    def skip(self, minutes: int) -> None:
        """Let that many minutes pass in which nobody calls."""
        now = self.session.snapshot()
        self.session.restore(msgspec.structs.replace(now, writes=now.writes + minutes))


def hall(seed: int = 5) -> Hall:
    session = world(seed).open()
    lobby = session.state("video_meeting")
    assert isinstance(lobby, Lobby)
    return Hall(session, lobby)
