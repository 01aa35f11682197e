"""What the tools answer: small records."""

from __future__ import annotations

from typing import Annotated

from msgspec import Struct

from provegym.servers.team_chat.state import (
    Channel,
    ChannelId,
    Chat,
    Emoji,
    FileId,
    Member,
    MemberId,
    Message,
    MessageId,
    Visibility,
    WorkspaceName,
)
from provegym.world.fields import DATE, VOLATILE, Email

Day = Annotated[str, DATE, VOLATILE]
CLIP = 80


class ChannelItem(Struct, frozen=True, omit_defaults=True):
    """A channel; `joined` if the user is in it, `archived` only if it is."""

    id: ChannelId
    name: str
    workspace: WorkspaceName
    visibility: Visibility
    joined: bool
    members: int
    archived: bool = False


class ChannelPage(Struct, frozen=True):
    """A page of channels by name."""

    channels: list[ChannelItem]
    total: int
    next_cursor: str


class MemberItem(Struct, frozen=True, omit_defaults=True):
    """A member of a workspace; `status` if it is an admin, a guest or deactivated."""

    id: MemberId
    name: str
    workspace: WorkspaceName
    title: str
    email: Email
    status: str = ""


class MemberPage(Struct, frozen=True):
    """A page of members by name."""

    members: list[MemberItem]
    total: int
    next_cursor: str


class MessageItem(Struct, frozen=True):
    """A message in a list: a long text is cut; `replies` counts those below it."""

    id: MessageId
    channel: str
    sender: str
    text: str
    date: Day
    replies: int


class MessagePage(Struct, frozen=True):
    """A page of messages, newest first."""

    messages: list[MessageItem]
    total: int
    next_cursor: str


class FileItem(Struct, frozen=True):
    """A shared file."""

    id: FileId
    filename: str
    size_kb: int


class EmojiCount(Struct, frozen=True):
    """How many members gave an emoji."""

    emoji: Emoji
    count: int


class ReplyItem(Struct, frozen=True):
    """A reply in a thread."""

    id: MessageId
    sender: str
    text: str
    date: Day


class ThreadView(Struct, frozen=True):
    """A message with reactions, files and the texts it had before; its replies, oldest first."""

    id: MessageId
    channel_id: ChannelId
    channel: str
    sender: str
    text: str
    earlier_texts: list[str]
    reactions: list[EmojiCount]
    files: list[FileItem]
    replies: list[ReplyItem]
    total: int
    next_cursor: str


class MessageReceipt(Struct, frozen=True):
    """A message that was posted or edited; `file` is the shared file's name."""

    id: MessageId
    channel: str
    sender: str
    text: str
    file: str
    edits: int


class ReactionReceipt(Struct, frozen=True):
    """A message, and how many members give it that emoji now."""

    id: MessageId
    sender: str
    text: str
    emoji: Emoji
    count: int


class InvitationReceipt(Struct, frozen=True):
    """A channel, who was added to it, and how many are in it now."""

    id: ChannelId
    name: str
    workspace: WorkspaceName
    member: str
    members: int


def channel_item(chat: Chat, c: Channel) -> ChannelItem:
    """A channel as the user sees it."""
    count = len(chat.memberships.where(channel_id=c.id))
    joined = chat.is_in(c)
    return ChannelItem(c.id, c.name, c.workspace, c.visibility, joined, count, c.archived)


def member_item(m: Member) -> MemberItem:
    """A member; guests show as such."""
    role = "" if m.role == "member" else m.role
    status = m.status if m.status == "deactivated" else role
    return MemberItem(m.id, m.name, m.workspace, m.title, m.email, status)


def clipped(text: str) -> str:
    """A text, cut if it is long."""
    return text if len(text) <= CLIP else text[: CLIP - 3].rstrip() + "..."


def message_item(chat: Chat, m: Message) -> MessageItem:
    """A message in a list."""
    thread = None if m.thread_id else chat.thread_of(m)
    channel, replies = f"#{chat.channels[m.channel_id].name}", thread.replies if thread else 0
    return MessageItem(m.id, channel, m.sender, clipped(m.text), m.posted_at[:10], replies)


def reply_item(m: Message) -> ReplyItem:
    """A reply in a thread."""
    return ReplyItem(m.id, m.sender, clipped(m.text), m.posted_at[:10])


def emoji_counts(chat: Chat, m: Message) -> list[EmojiCount]:
    """The reactions to a message, the most frequent first."""
    counts: dict[Emoji, int] = {}
    for reaction in chat.reactions.where(message_id=m.id):
        counts[reaction.emoji] = counts.get(reaction.emoji, 0) + 1
    order = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    return [EmojiCount(emoji, count) for emoji, count in order]


def message_receipt(chat: Chat, m: Message) -> MessageReceipt:
    """A message that was posted or edited."""
    channel, file = f"#{chat.channels[m.channel_id].name}", chat.files.get(m.file_id)
    name = file.filename if file else ""
    return MessageReceipt(m.id, channel, m.sender, m.text, name, m.edits)
