"""Messages: reading, posting, threads, edits and reactions."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Literal

from provegym.servers.team_chat import samples
from provegym.servers.team_chat.access import (
    ensure_in,
    ensure_readable,
    the_channel,
    the_file,
    the_message,
)
from provegym.servers.team_chat.state import (
    ChannelId,
    Chat,
    Emoji,
    FileId,
    Member,
    Message,
    MessageId,
    Reaction,
    Revision,
    Thread,
)
from provegym.servers.team_chat.views import (
    FileItem,
    MessagePage,
    MessageReceipt,
    ReactionReceipt,
    ThreadView,
    emoji_counts,
    message_item,
    message_receipt,
    reply_item,
)
from provegym.world.fields import Date, Limit, Text
from provegym.world.page import page
from provegym.world.period import period
from provegym.world.tool import refuse, tool


@tool(
    "read",
    phrases=(
        "Find chat messages[ about {query}][ in {channel_id}][ from {sender}][ since {since}]"
        "[ until {until}]",
        "Show me what was said[ on {query}][ in {channel_id}][ by {sender}][ from {since} on]"
        "[ up to {until}] in the team chat",
        "Search the chat for messages[ that mention {query}][ in {channel_id}]"
        "[ written by {sender}][ after {since}][ not later than {until}]",
    ),
    refuses=("not_found", "not_a_member"),
    sample=samples.search,
)
def search_channel_messages(
    chat: Chat,
    query: str = "",
    channel_id: ChannelId | None = None,
    sender: str = "",
    since: Date | None = None,
    until: Date | None = None,
    limit: Limit = 5,
    cursor: str = "",
) -> MessagePage:
    """Search messages and replies in one channel, or in all that the user can read, newest first.

    Args:
        query: Words in the text or in a shared file's name.
        channel_id: Only this channel.
        sender: Part of the author's name.
        since: First day.
        until: Last day.
        limit: Messages per page.
        cursor: next_cursor of the page before.
    """
    words, name = query.lower().split(), sender.lower()
    first, last = period(since, until)
    files = {f.id for f in chat.files if words and _all(words, f.filename.lower())}
    found = [
        m
        for m in _readable(chat, channel_id)
        if first <= m.posted_at <= last
        and (not name or name in m.sender.lower())
        and (_all(words, m.text.lower()) or m.file_id in files)
    ]
    found.sort(key=lambda m: m.posted_at, reverse=True)
    shown, total, after = page(found, limit, cursor)
    return MessagePage([message_item(chat, m) for m in shown], total, after)


def _readable(chat: Chat, channel_id: str | None) -> list[Message]:
    """The messages of one channel, or of all that the user can read."""
    if channel_id is not None:
        channel = the_channel(chat, channel_id)
        ensure_readable(chat, channel)
        return chat.messages.where(channel_id=channel.id)
    seen = chat.readable()
    return [m for m in chat.messages if m.channel_id in seen]


def _all(words: list[str], text: str) -> bool:
    return all(word in text for word in words)


@tool(
    "read",
    phrases=(
        "Show me {message_id} with its replies and reactions",
        "What did people answer to {message_id}",
        "Open the thread of {message_id}",
    ),
    refuses=("not_found", "not_a_member"),
    sample=samples.thread,
)
def get_channel_thread(
    chat: Chat, message_id: MessageId, limit: Limit = 5, cursor: str = ""
) -> ThreadView:
    """Show a message in full with reactions, shared files, its texts before edits, and the replies
    below it. A reply gives the whole thread that it is in.

    Args:
        message_id: A message or a reply.
        limit: Replies per page.
        cursor: next_cursor of the page before.
    """
    message, channel = the_message(chat, message_id)
    first, thread = _first(chat, message)
    rows = chat.messages.where(thread_id=thread.id) if thread else []
    rows.sort(key=lambda m: m.posted_at)
    shown, total, after = page(rows, limit, cursor)
    older = sorted(chat.revisions.where(message_id=first.id), key=lambda r: r.number)
    file = chat.files.get(first.file_id)
    return ThreadView(
        *(first.id, channel.id, f"#{channel.name}", first.sender, first.text),
        earlier_texts=[r.text for r in older],
        reactions=emoji_counts(chat, first),
        files=[FileItem(file.id, file.filename, file.size_kb)] if file else [],
        replies=[reply_item(m) for m in shown],
        total=total,
        next_cursor=after,
    )


def _first(chat: Chat, message: Message) -> tuple[Message, Thread | None]:
    """The message that begins the thread, and the thread if there are replies."""
    if message.thread_id:
        thread = chat.threads[message.thread_id]
        return chat.messages[thread.message_id], thread
    return message, chat.thread_of(message)


# -- writing -----------------------------------------------------------------------------------


@tool(
    "write",
    phrases=(
        "Post {text} in {channel_id}[ and share {file_id} with it]",
        "Write {text} to {channel_id}[, together with {file_id}]",
        "Say {text} in {channel_id}[ and attach {file_id}]",
    ),
    refuses=(
        *("not_found", "not_a_member", "channel_archived", "posting_restricted"),
        "other_workspace",
    ),
    sample=samples.post,
)
def post_channel_message(
    chat: Chat, channel_id: ChannelId, text: Text, file_id: FileId | None = None
) -> MessageReceipt:
    """Post a message in a channel that the user is in, with or without a file shared before.

    Args:
        channel_id: The channel.
        text: The message.
        file_id: A file of the same workspace.
    """
    channel = the_channel(chat, channel_id)
    me = ensure_in(chat, channel)
    if channel.restricted and me.role != "admin":
        refuse("posting_restricted", f"only admins post in #{channel.name}; replies are open")
    file = the_file(chat, file_id, channel).id if file_id is not None else ""
    return message_receipt(chat, _said(chat, channel.id, me, text, file=file))


def _said(
    chat: Chat, channel_id: str, me: Member, text: str, *, thread: str = "", file: str = ""
) -> Message:
    new, now = chat.messages.new_id(), chat.stamp
    return chat.messages.put(Message(new, channel_id, me.id, me.name, text, now, thread, file))


@tool(
    "write",
    phrases=(
        "Reply {text} in the thread of {message_id}",
        "Answer {message_id} in its thread with {text}",
        "Respond to {message_id} in the chat and say {text}",
    ),
    refuses=("not_found", "not_a_member", "channel_archived"),
    sample=samples.reply,
)
def reply_in_channel_thread(chat: Chat, message_id: MessageId, text: Text) -> MessageReceipt:
    """Reply in the thread of a message; the first reply opens the thread.

    Args:
        message_id: A message or a reply in its thread.
        text: The reply.
    """
    message, channel = the_message(chat, message_id)
    me = ensure_in(chat, channel)
    first, thread = _first(chat, message)
    if thread is None:
        thread = Thread(chat.threads.new_id(), channel.id, first.id, 0)
    chat.threads.put(Thread(thread.id, thread.channel_id, first.id, thread.replies + 1))
    return message_receipt(chat, _said(chat, channel.id, me, text, thread=thread.id))


@tool(
    "write",
    phrases=(
        "Edit {message_id} so that it says {text}",
        "Change the text of {message_id} to {text}",
        "Reword {message_id} to {text}",
    ),
    refuses=(
        *("not_found", "not_a_member", "channel_archived", "not_author", "edit_window_over"),
        "no_change",
    ),
    sample=samples.edit,
)
def edit_channel_message(chat: Chat, message_id: MessageId, text: Text) -> MessageReceipt:
    """Change the text of one of the user's own messages; the text before stays in its history.

    Args:
        message_id: The message or reply.
        text: The new text.
    """
    message, channel = the_message(chat, message_id)
    me, hours = ensure_in(chat, channel), chat.workspaces[channel.workspace].edit_hours
    if message.author_id != me.id:
        refuse("not_author", f"{message.sender} wrote this; you can edit only your own messages")
    if datetime.fromisoformat(message.posted_at) + timedelta(hours=hours) < chat.now:
        text_ = f"posted at {message.posted_at}; {channel.workspace} allows edits for {hours} hours"
        refuse("edit_window_over", text_, edit_hours=hours)
    if message.text == text:
        refuse("no_change", "the message has this text already")
    number = message.edits + 1
    chat.revisions.put(Revision(chat.revisions.new_id(), message.id, number, message.text))
    return message_receipt(chat, chat.messages.update(message, text=text, edits=number))


@tool(
    "write",
    phrases=(
        "For {message_id}, {action} the reaction {emoji}",
        "Please {action} a {emoji} reaction on {message_id}",
        "I want you to {action} my {emoji} reaction on {message_id}",
    ),
    refuses=("not_found", "not_a_member", "channel_archived", "already_reacted", "not_reacted"),
    sample=samples.react,
)
def react_to_channel_message(
    chat: Chat, message_id: MessageId, emoji: Emoji, action: Literal["add", "remove"]
) -> ReactionReceipt:
    """Put an emoji of the user on a message, or take it off.

    Args:
        message_id: The message or reply.
        emoji: The emoji.
        action: Whether to add or remove it.
    """
    message, channel = the_message(chat, message_id)
    me = ensure_in(chat, channel)
    rows = chat.reactions.where(message_id=message.id, emoji=emoji)
    mine = next((r for r in rows if r.member_id == me.id), None)
    if action == "add":
        if mine is not None:
            refuse("already_reacted", f"you gave {emoji} to this message already")
        chat.reactions.put(Reaction(chat.reactions.new_id(), message.id, me.id, emoji))
    else:
        if mine is None:
            refuse("not_reacted", f"you have no {emoji} on this message")
        chat.reactions.delete(mine.id)
    count = len(rows) + (1 if action == "add" else -1)
    return ReactionReceipt(message.id, message.sender, message.text, emoji, count)
