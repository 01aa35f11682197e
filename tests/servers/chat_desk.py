"""A session of the team chat and how tests talk to it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from provegym.servers.team_chat import SERVER
from provegym.servers.team_chat.access import can_read
from provegym.servers.team_chat.state import Channel, Chat, File, Member, Message
from provegym.world.world import World
from tests.servers.talk import Talk


@lru_cache
def world(seed: int) -> World:
    return World(seed, [SERVER])


@dataclass(frozen=True)
class Desk(Talk):
    """One session and the typed view of it."""

    chat: Chat

    @property
    def home(self) -> str:
        return self.chat.workspaces.where(primary=True)[0].id

    @property
    def abroad(self) -> str:
        """The workspace in which the user is a guest."""
        mine = self.chat.members.where(email=self.chat.cast.user.email, role="guest")
        return mine[0].workspace

    def channel(self, *, joined: bool = True, workspace: str = "", **equal: Any) -> Channel:
        """A channel; of the primary workspace, open, and neither special nor the user's own."""
        where = workspace or self.home
        wanted = {"archived": False, "required": False, "restricted": False, **equal}
        mine, me = self.chat.joined(), self.chat.me(where).id
        return next(
            c
            for c in self.chat.channels.where(workspace=where)
            if (c.id in mine) == joined
            and ("owner_id" in wanted or c.owner_id != me)
            and all(getattr(c, name) == value for name, value in wanted.items())
        )

    def own_channel(self, **equal: Any) -> Channel:
        return self.channel(owner_id=self.chat.me(self.home).id, **equal)

    def message(self, channel: Channel, *, mine: bool = False) -> Message:
        """A first message in a channel."""
        me = self.chat.me(channel.workspace).id
        rows = self.chat.messages.where(channel_id=channel.id, thread_id="")
        return next(m for m in rows if (m.author_id == me) == mine)

    def posted(self, text: str = "Lamp is broken") -> str:
        """A new message of the user's."""
        given = {"channel_id": self.channel().id, "text": text}
        message_id: str = self.ok("post_channel_message", **given)["id"]
        return message_id

    def outsider(self, channel: Channel, **equal: Any) -> Member:
        """A member of the workspace who is not in a channel."""
        wanted = {"status": "active", **equal}
        there = {s.member_id for s in self.chat.memberships.where(channel_id=channel.id)}
        rows = self.chat.members.where(workspace=channel.workspace, **wanted)
        return next(m for m in rows if m.id not in there)

    def file(self, workspace: str) -> File:
        """A file that the user has seen."""
        return next(
            f
            for f in self.chat.files.where(workspace=workspace)
            if any(
                can_read(self.chat, self.chat.channels[m.channel_id])
                for m in self.chat.messages.where(file_id=f.id)
            )
        )


def desk(seed: int = 11) -> Desk:
    session = world(seed).open()
    chat = session.state("team_chat")
    assert isinstance(chat, Chat)
    return Desk(session, chat)
