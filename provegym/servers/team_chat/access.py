"""Who may see and do what: each check gives the row or refuses."""

from __future__ import annotations

from typing import NoReturn

from provegym.servers.team_chat.state import Channel, Chat, File, Member, Message
from provegym.world.tool import refuse


def _missing(noun: str, row_id: str, tool: str) -> NoReturn:
    refuse("not_found", f"there is no {noun} {row_id[:40]!r}; {tool} shows ids", id=row_id[:80])


def workspace_of(chat: Chat, name: str | None) -> str:
    """The workspace's name, by default that of the primary one; else `unknown_workspace`."""
    if name is None:
        return chat.workspaces.where(primary=True)[0].id
    key = name.strip().lower()
    if key not in chat.workspaces:
        known = [w.id for w in chat.workspaces]
        refuse("unknown_workspace", f"you are in no workspace {name[:40]!r}", workspaces=known)
    return key


def the_channel(chat: Chat, channel_id: str) -> Channel:
    """The channel of that id, or `not_found`."""
    found = chat.channels.get(channel_id)
    return found if found is not None else _missing("channel", channel_id, "list_channels")


def the_message(chat: Chat, message_id: str) -> tuple[Message, Channel]:
    """A message and its channel, which the user can read: else `not_found` or `not_a_member`."""
    found = chat.messages.get(message_id)
    if found is None:
        _missing("message", message_id, "search_channel_messages")
    channel = chat.channels[found.channel_id]
    ensure_readable(chat, channel)
    return found, channel


def the_member(chat: Chat, member_id: str) -> Member:
    """The member of that id, or `not_found`."""
    found = chat.members.get(member_id)
    return found if found is not None else _missing("member", member_id, "search_workspace_members")


def the_file(chat: Chat, file_id: str, channel: Channel) -> File:
    """A file that can be shared in a channel: else `not_found` or `other_workspace`."""
    found = chat.files.get(file_id)
    if found is None:
        _missing("file", file_id, "get_channel_thread")
    if found.workspace != channel.workspace:
        text = f"{found.filename} is in {found.workspace}, the channel in {channel.workspace}"
        refuse("other_workspace", text, workspace=found.workspace)
    if not any(can_read(chat, chat.channels[m.channel_id]) for m in _sharing(chat, found)):
        refuse("not_a_member", f"{found.filename} was shared in a channel you are not in")
    return found


def _sharing(chat: Chat, file: File) -> list[Message]:
    return chat.messages.where(file_id=file.id)


def can_read(chat: Chat, channel: Channel) -> bool:
    """Whether the user sees what is said: public channels unless a guest, and their own."""
    me = chat.me(channel.workspace)
    if channel.visibility == "public" and me.role != "guest":
        return True
    return chat.membership(channel, me) is not None


def ensure_readable(chat: Chat, channel: Channel) -> None:
    """Refuse `not_a_member` where the user must not read."""
    if not can_read(chat, channel):
        kind = "private" if channel.visibility == "private" else "closed to guests"
        text = f"#{channel.name} is {kind} and you are not in it; a member can invite you"
        refuse("not_a_member", text)


def ensure_in(chat: Chat, channel: Channel) -> Member:
    """The user as a member of an open channel: else `not_a_member` or `channel_archived`."""
    me = chat.me(channel.workspace)
    if chat.membership(channel, me) is None:
        how = "join it first" if channel.visibility == "public" else "a member can invite you"
        refuse("not_a_member", f"you are not in #{channel.name}; {how}")
    if channel.archived:
        refuse("channel_archived", f"#{channel.name} is archived; it can only be read")
    return me


def ensure_no_guest(chat: Chat, workspace: str) -> Member:
    """The user in a workspace, unless a guest there (`guest_account`)."""
    me = chat.me(workspace)
    if me.role == "guest":
        refuse("guest_account", f"you are a guest of {workspace}; ask one of its members")
    return me
