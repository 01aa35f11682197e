"""The rows of a team chat over a few workspaces, and what must always hold.

Messages are append-only: none is removed, and an edit keeps each earlier text as a revision. What
is said in a private channel is shown to its members alone.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from typing import Annotated, ClassVar, Literal

from provegym.world.fields import Email, Format, Ref, Stamp
from provegym.world.server import State
from provegym.world.table import Row, table

WorkspaceName = Annotated[str, Ref("team_chat.workspaces")]
"""A workspace; the name in its address is its id."""
ChannelId = Annotated[str, Ref("team_chat.channels")]
MemberId = Annotated[str, Ref("team_chat.members")]
MessageId = Annotated[str, Ref("team_chat.messages")]
ThreadId = Annotated[str, Ref("team_chat.threads")]
FileId = Annotated[str, Ref("team_chat.files")]

Visibility = Literal["public", "private"]
Emoji = Literal["thumbs_up", "heart", "tada", "eyes", "check", "joy", "rocket", "clap"]

_NAME_LETTERS = frozenset("abcdefghijklmnopqrstuvwxyz0123456789-")
CHANNEL_NAME = Format(
    "channel_name",
    "1 to 40 of a-z, 0-9 and hyphen.",
    lambda text: 0 < len(text) <= 40 and _NAME_LETTERS.issuperset(text),
)
ChannelName = Annotated[str, CHANNEL_NAME]


class Workspace(Row, frozen=True):
    """A team's chat. `edit_hours`: how long a message can be edited by its author."""

    id: WorkspaceName
    title: str
    edit_hours: int
    primary: bool


class Member(Row, frozen=True):
    """A person in one workspace. Guests are only where they were invited to."""

    label: ClassVar[str] = "{name} of {workspace}"
    id: MemberId
    workspace: WorkspaceName
    name: str
    email: Email
    title: str
    role: Literal["admin", "member", "guest"]
    status: Literal["active", "deactivated"] = "active"


class Channel(Row, frozen=True):
    """A channel. Everybody is in the `required` one; only admins post where it is `restricted`."""

    label: ClassVar[str] = "the #{name} channel of {workspace}"
    id: ChannelId
    workspace: WorkspaceName
    name: ChannelName
    topic: str
    visibility: Visibility
    owner_id: MemberId
    archived: bool = False
    required: bool = False
    restricted: bool = False


class Membership(Row, frozen=True):
    """That a member is in a channel."""

    id: str
    channel_id: ChannelId
    member_id: MemberId


class Message(Row, frozen=True):
    """What was said in a channel; `thread_id` only on replies. `edits` counts its revisions."""

    label: ClassVar[str] = 'the message "{text}" from {sender}'
    id: MessageId
    channel_id: ChannelId
    author_id: MemberId
    sender: str
    text: str
    posted_at: Stamp
    thread_id: ThreadId = ""
    file_id: FileId = ""
    edits: int = 0


class Thread(Row, frozen=True):
    """The replies to a message."""

    id: ThreadId
    channel_id: ChannelId
    message_id: MessageId
    replies: int


class Revision(Row, frozen=True):
    """A text that a message had before its edit number `number`, counted from 1."""

    id: str
    message_id: MessageId
    number: int
    text: str


class Reaction(Row, frozen=True):
    """An emoji of one member on a message."""

    id: str
    message_id: MessageId
    member_id: MemberId
    emoji: Emoji


class File(Row, frozen=True):
    """An uploaded file; messages of its workspace share it."""

    label: ClassVar[str] = "the file {filename}"
    id: FileId
    workspace: WorkspaceName
    filename: str
    size_kb: int


class Chat(State):
    """One session's view of the chat, seen by the user."""

    server = "team_chat"
    workspaces = table(Workspace, "wsp")
    members = table(Member, "mem")
    channels = table(Channel, "chn")
    memberships = table(Membership, "mbs")
    messages = table(Message, "cms")
    threads = table(Thread, "cth")
    revisions = table(Revision, "rev")
    reactions = table(Reaction, "rct")
    files = table(File, "cfl")

    def me(self, workspace: str) -> Member:
        """The user as a member of a workspace."""
        return self.members.where(email=self.cast.user.email, workspace=workspace)[0]

    def membership(self, channel: Channel, member: Member) -> Membership | None:
        """The row that says that a member is in a channel."""
        found = self.memberships.where(member_id=member.id, channel_id=channel.id)
        return found[0] if found else None

    def is_in(self, channel: Channel) -> bool:
        """Whether the user is a member of a channel."""
        return self.membership(channel, self.me(channel.workspace)) is not None

    def joined(self) -> set[str]:
        """Ids of the channels that the user is in."""
        mine = self.members.where(email=self.cast.user.email)
        return {s.channel_id for m in mine for s in self.memberships.where(member_id=m.id)}

    def readable(self) -> set[str]:
        """Ids of the channels that the user can read: their own, and unless a guest the public."""
        mine = self.members.where(email=self.cast.user.email)
        homes = [m.workspace for m in mine if m.role != "guest"]
        public = {
            c.id for home in homes for c in self.channels.where(workspace=home, visibility="public")
        }
        return public | self.joined()

    def thread_of(self, message: Message) -> Thread | None:
        """The thread below a message that is no reply."""
        found = self.threads.where(message_id=message.id)
        return found[0] if found else None


def violations(chat: Chat) -> Iterator[str]:
    """Every broken invariant, one sentence each."""
    yield from _channels(chat)
    yield from _memberships(chat)
    yield from _messages(chat)
    yield from _threads(chat)
    yield from _history(chat)
    yield from _reactions(chat)


def _channels(chat: Chat) -> Iterator[str]:
    yield from _twice("channel name", ((c.workspace, c.name) for c in chat.channels))
    for channel in chat.channels:
        owner = chat.members.get(channel.owner_id)
        if owner is None or owner.workspace != channel.workspace:
            yield f"channel {channel.id} has no owner in its workspace"
        if channel.required and (channel.archived or channel.visibility == "private"):
            yield f"channel {channel.id} is for everybody but archived or private"


def _memberships(chat: Chat) -> Iterator[str]:
    yield from _twice("membership", ((s.channel_id, s.member_id) for s in chat.memberships))
    present: dict[str, set[str]] = defaultdict(set)
    for row in chat.memberships:
        channel, member = chat.channels.get(row.channel_id), chat.members.get(row.member_id)
        if channel is None or member is None or channel.workspace != member.workspace:
            yield f"membership {row.id} joins a channel and a member of different workspaces"
        present[row.channel_id].add(row.member_id)
    for channel in chat.channels.where(required=True):
        active = chat.members.where(workspace=channel.workspace, status="active")
        if not {m.id for m in active} <= present[channel.id]:
            yield f"not everybody is in channel {channel.id}"


def _messages(chat: Chat) -> Iterator[str]:
    for m in chat.messages:
        channel, author = chat.channels.get(m.channel_id), chat.members.get(m.author_id)
        if channel is None or author is None or channel.workspace != author.workspace:
            yield f"message {m.id} is of nobody in the workspace of its channel"
        elif m.sender != author.name:
            yield f"message {m.id} says it is from {m.sender}, not {author.name}"
        elif m.file_id and chat.files[m.file_id].workspace != channel.workspace:
            yield f"message {m.id} shares a file of another workspace"


def _threads(chat: Chat) -> Iterator[str]:
    counts = Counter(m.thread_id for m in chat.messages if m.thread_id)
    for thread in chat.threads:
        first = chat.messages.get(thread.message_id)
        if thread.replies != counts.pop(thread.id, 0) or not thread.replies:
            yield f"thread {thread.id} says it has {thread.replies} replies"
        if first is None or first.thread_id or first.channel_id != thread.channel_id:
            yield f"thread {thread.id} is below no first message of its channel"
    yield from (f"replies name thread {thread_id}, which is none" for thread_id in counts)
    yield from _twice("thread", (t.message_id for t in chat.threads))
    for m in chat.messages:
        if m.thread_id in chat.threads and m.channel_id != chat.threads[m.thread_id].channel_id:
            yield f"reply {m.id} is in another channel than its thread"


def _history(chat: Chat) -> Iterator[str]:
    """Nothing is removed, and every text that there was is still known."""
    texts: dict[str, dict[int, str]] = defaultdict(dict)
    for revision in chat.revisions:
        texts[revision.message_id][revision.number] = revision.text
    for message in chat.messages:
        if sorted(texts[message.id]) != list(range(1, message.edits + 1)):
            yield f"message {message.id} has {message.edits} edits, not as many revisions"
    before = chat.messages.template.rows
    for key, now in chat.messages.own.items():
        if now is None:
            yield f"message {key} was removed"
            continue
        old = before.get(key, now)
        if now.text != old.text and texts[key].get(old.edits + 1) != old.text:
            yield f"message {key} was edited without keeping its text"


def _reactions(chat: Chat) -> Iterator[str]:
    yield from _twice("reaction", ((r.message_id, r.member_id, r.emoji) for r in chat.reactions))
    for r in chat.reactions:
        if r.message_id not in chat.messages or r.member_id not in chat.members:
            yield f"reaction {r.id} is of nobody or on nothing"


def _twice(what: str, keys: Iterable[object]) -> Iterator[str]:
    counts = Counter(keys)
    yield from (f"{what} {key} is there {n} times" for key, n in counts.items() if n > 1)
