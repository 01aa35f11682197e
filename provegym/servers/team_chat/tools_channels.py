"""Channels and people: what there is, new channels, who is in them."""

from __future__ import annotations

from typing import Literal

from provegym.servers.team_chat import samples
from provegym.servers.team_chat.access import (
    ensure_in,
    ensure_no_guest,
    ensure_readable,
    the_channel,
    the_member,
    workspace_of,
)
from provegym.servers.team_chat.state import (
    Channel,
    ChannelId,
    ChannelName,
    Chat,
    Member,
    MemberId,
    Membership,
    Visibility,
    WorkspaceName,
)
from provegym.servers.team_chat.views import (
    ChannelItem,
    ChannelPage,
    InvitationReceipt,
    MemberPage,
    channel_item,
    member_item,
)
from provegym.world.fields import Limit, Text
from provegym.world.page import page
from provegym.world.tool import refuse, tool

Shown = Literal["joined", "unjoined", "archived"]
Action = Literal["join", "leave", "archive", "unarchive"]


@tool(
    "read",
    phrases=(
        "List the[ {status}] chat channels[ of workspace {workspace}][ with {query} in the name]",
        "Which[ {status}] channels are there[ in {workspace}][ about {query}]",
        "Show me the[ {status}] channels of our team chat[ in the workspace {workspace}]"
        "[ named like {query}]",
    ),
    refuses=("unknown_workspace",),
    sample=samples.channels,
)
def list_channels(
    chat: Chat,
    workspace: WorkspaceName | None = None,
    query: str = "",
    status: Shown | None = None,
    limit: Limit = 5,
    cursor: str = "",
) -> ChannelPage:
    """List channels of all workspaces by name; archived ones only if asked for.

    Args:
        workspace: Only channels of this workspace.
        query: Part of the channel's name or topic.
        status: Only those the user is in, is not in, or archived ones.
        limit: Channels per page.
        cursor: next_cursor of the page before.
    """
    rows = list(chat.channels)
    if workspace is not None:
        rows = chat.channels.where(workspace=workspace_of(chat, workspace))
    word, mine = query.lower().removeprefix("#"), chat.joined()
    found = [
        c
        for c in rows
        if (word in c.name or word in c.topic.lower()) and _shows(c, status, c.id in mine)
    ]
    found.sort(key=lambda c: (c.name, c.workspace))
    shown, total, after = page(found, limit, cursor)
    return ChannelPage([channel_item(chat, c) for c in shown], total, after)


def _shows(channel: Channel, status: Shown | None, joined: bool) -> bool:
    if channel.archived or status == "archived":
        return channel.archived and status == "archived"
    return status is None or joined == (status == "joined")


@tool(
    "read",
    phrases=(
        "Look up the team chat members[ in {channel_id}][ of workspace {workspace}]"
        "[ that match {query}]",
        "Find people in our team chat[ who are in {channel_id}][ from workspace {workspace}]"
        "[ with {query} as name or title]",
        "Who are the chat members[ of {channel_id}][ in the workspace {workspace}]"
        "[ called {query}]",
    ),
    refuses=("not_found", "not_a_member", "unknown_workspace"),
    sample=samples.members,
)
def search_workspace_members(
    chat: Chat,
    query: str = "",
    workspace: WorkspaceName | None = None,
    channel_id: ChannelId | None = None,
    limit: Limit = 5,
    cursor: str = "",
) -> MemberPage:
    """Search the members of all workspaces, of one, or of one channel.

    Args:
        query: Words in name, title or e-mail.
        workspace: Only members of this workspace.
        channel_id: Only who is in this channel.
        limit: Members per page.
        cursor: next_cursor of the page before.
    """
    words = query.lower().split()
    where = None if workspace is None else workspace_of(chat, workspace)
    found = [
        m
        for m in _people(chat, channel_id)
        if where in (None, m.workspace)
        and all(word in f"{m.name} {m.title} {m.email}".lower() for word in words)
    ]
    found.sort(key=lambda m: (m.name, m.workspace))
    shown, total, after = page(found, limit, cursor)
    return MemberPage([member_item(m) for m in shown], total, after)


def _people(chat: Chat, channel_id: str | None) -> list[Member]:
    if channel_id is None:
        return list(chat.members)
    channel = the_channel(chat, channel_id)
    ensure_readable(chat, channel)
    return [chat.members[s.member_id] for s in chat.memberships.where(channel_id=channel.id)]


@tool(
    "write",
    phrases=(
        "Create a[ {visibility}] channel called {name}[ in the workspace {workspace}]"
        "[ with the topic {topic}]",
        "Open a new[ {visibility}] chat channel named {name}[ in {workspace}][ about {topic}]",
        "Set up the[ {visibility}] channel {name}[ for workspace {workspace}]"
        "[ and give it the topic {topic}]",
    ),
    refuses=("unknown_workspace", "guest_account", "channel_name_taken"),
    sample=samples.new_channel,
)
def create_channel(
    chat: Chat,
    name: ChannelName,
    workspace: WorkspaceName | None = None,
    visibility: Visibility = "public",
    topic: Text | None = None,
) -> ChannelItem:
    """Create a channel that the user owns and is in. Archived channels keep their names.

    Args:
        name: Name, unique in the workspace.
        workspace: Its workspace; by default the user's primary one.
        visibility: Who can find what is said and join.
        topic: What it is for.
    """
    where = workspace_of(chat, workspace)
    me = ensure_no_guest(chat, where)
    if taken := chat.channels.where(name=name, workspace=where):
        state = "archived" if taken[0].archived else taken[0].visibility
        text = f"{where} has a channel #{name} already, it is {state}; choose another name"
        refuse("channel_name_taken", text, id=taken[0].id, archived=taken[0].archived)
    row = Channel(chat.channels.new_id(), where, name, topic or "", visibility, me.id)
    chat.channels.put(row)
    _add(chat, row, me)
    return channel_item(chat, row)


def _add(chat: Chat, channel: Channel, member: Member) -> None:
    chat.memberships.put(Membership(chat.memberships.new_id(), channel.id, member.id))


@tool(
    "write",
    phrases=(
        "I want to {action} {channel_id}",
        "Please {action} {channel_id} for me",
        "Go ahead and {action} {channel_id}",
    ),
    refuses=(
        *("not_found", "already_member", "guest_account", "not_a_member", "channel_archived"),
        *("required_channel", "not_channel_owner", "not_archived"),
    ),
    sample=samples.manage,
)
def manage_channel(chat: Chat, channel_id: ChannelId, action: Action) -> ChannelItem:
    """Join or leave a channel, or as its owner archive it or open it again.

    Args:
        channel_id: The channel.
        action: What to do.
    """
    channel = the_channel(chat, channel_id)
    {"join": _join, "leave": _leave, "archive": _archive, "unarchive": _unarchive}[action](
        chat, channel
    )
    return channel_item(chat, chat.channels[channel.id])


def _join(chat: Chat, channel: Channel) -> None:
    if chat.is_in(channel):
        refuse("already_member", f"you are in #{channel.name} already")
    me = ensure_no_guest(chat, channel.workspace)
    ensure_readable(chat, channel)
    if channel.archived:
        refuse("channel_archived", f"#{channel.name} is archived; nobody can join it")
    _add(chat, channel, me)


def _leave(chat: Chat, channel: Channel) -> None:
    me = ensure_in(chat, channel)
    if channel.required:
        refuse("required_channel", f"everybody in {channel.workspace} is in #{channel.name}")
    row = chat.membership(channel, me)
    if row is not None:
        chat.memberships.delete(row.id)


def _archive(chat: Chat, channel: Channel) -> None:
    if channel.required:
        refuse("required_channel", f"#{channel.name} is for everybody and cannot be archived")
    _ensure_owner(chat, channel)
    if channel.archived:
        refuse("channel_archived", f"#{channel.name} is archived already")
    chat.channels.update(channel, archived=True)


def _unarchive(chat: Chat, channel: Channel) -> None:
    _ensure_owner(chat, channel)
    if not channel.archived:
        refuse("not_archived", f"#{channel.name} is open already")
    chat.channels.update(channel, archived=False)


def _ensure_owner(chat: Chat, channel: Channel) -> None:
    if channel.owner_id != chat.me(channel.workspace).id:
        owner = chat.members[channel.owner_id].name
        refuse("not_channel_owner", f"#{channel.name} belongs to {owner}", owner=owner)


@tool(
    "write",
    phrases=(
        "Add {member_id} to {channel_id}",
        "Invite {member_id} to {channel_id}",
        "Bring {member_id} into {channel_id}",
    ),
    refuses=(
        *("not_found", "not_a_member", "channel_archived", "guest_account", "other_workspace"),
        *("member_deactivated", "already_member"),
    ),
    sample=samples.invite,
)
def invite_to_channel(chat: Chat, channel_id: ChannelId, member_id: MemberId) -> InvitationReceipt:
    """Add a member of the workspace to a channel that the user is in.

    Args:
        channel_id: The channel.
        member_id: Who is added.
    """
    channel, member = the_channel(chat, channel_id), the_member(chat, member_id)
    ensure_in(chat, channel)
    ensure_no_guest(chat, channel.workspace)
    if member.workspace != channel.workspace:
        text = f"{member.name} is a member of {member.workspace}, not of {channel.workspace}"
        refuse("other_workspace", text, workspace=member.workspace)
    if member.status == "deactivated":
        refuse("member_deactivated", f"{member.name} has left {member.workspace}")
    if chat.membership(channel, member) is not None:
        refuse("already_member", f"{member.name} is in #{channel.name} already")
    _add(chat, channel, member)
    count = len(chat.memberships.where(channel_id=channel.id))
    return InvitationReceipt(channel.id, channel.name, channel.workspace, member.name, count)
