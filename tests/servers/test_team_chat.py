"""The team chat: channels, messages with history, threads, reactions and who may read."""

from __future__ import annotations

from typing import Any

from provegym.servers.team_chat.access import can_read
from tests.servers.chat_desk import Desk, desk
from tests.servers.talk import agree

# -- channels ----------------------------------------------------------------------------------


def test_a_new_channel_has_its_maker_as_owner_and_only_member() -> None:
    d = desk()
    made = d.ok("create_channel", name="lamps", visibility="private", topic="All about lamps")
    assert (made["workspace"], made["joined"], made["members"]) == (d.home, True, 1)
    assert d.chat.channels[made["id"]].owner_id == d.chat.me(d.home).id
    people = d.ok("search_workspace_members", channel_id=made["id"])["members"]
    assert [p["name"] for p in people] == [d.chat.cast.user.name]


def test_names_are_taken_per_workspace_and_stay_taken_when_archived() -> None:
    d = desk()
    other = next(w.id for w in d.chat.workspaces if w.id not in (d.home, d.abroad))
    first = d.ok("create_channel", name="lamps")
    d.ok("create_channel", name="lamps", workspace=other)
    d.ok("manage_channel", channel_id=first["id"], action="archive")
    error = d.refused("create_channel", name="lamps")
    assert error["code"] == "channel_name_taken"
    assert error["details"] == {"id": first["id"], "archived": True}


def test_joining_counts_and_leaving_takes_back() -> None:
    d = desk()
    channel = d.channel(joined=False, visibility="public")
    before = d.session.changes()
    count = len(d.chat.memberships.where(channel_id=channel.id))
    joined = d.ok("manage_channel", channel_id=channel.id, action="join")
    assert (joined["joined"], joined["members"]) == (True, count + 1)
    left = d.ok("manage_channel", channel_id=channel.id, action="leave")
    assert (left["joined"], left["members"]) == (False, count)
    assert d.session.changes() == before


def test_an_invited_member_is_in_the_channel() -> None:
    d = desk()
    channel = d.channel()
    member = d.outsider(channel)
    d.ok("invite_to_channel", channel_id=channel.id, member_id=member.id)
    found = d.ok("search_workspace_members", channel_id=channel.id, query=member.name)
    assert [m["id"] for m in found["members"]] == [member.id]


def test_an_archived_channel_can_be_read_and_opened_again() -> None:
    d = desk()
    channel = d.own_channel()
    d.ok("manage_channel", channel_id=channel.id, action="archive")
    call = {"channel_id": channel.id, "text": "Hello"}
    assert d.refused("post_channel_message", **call)["code"] == "channel_archived"
    assert d.ok("search_channel_messages", channel_id=channel.id)["total"] > 0
    d.ok("manage_channel", channel_id=channel.id, action="unarchive")
    d.ok("post_channel_message", **call)


def test_the_list_shows_archived_channels_only_if_asked() -> None:
    d = desk()
    shown = d.ok("list_channels", limit=50)["channels"]
    assert not any(c.get("archived") for c in shown)
    old = d.ok("list_channels", status="archived", limit=50)["channels"]
    assert old
    assert all(c["archived"] for c in old)
    assert len(shown) + len(old) == len(d.chat.channels)
    here = d.ok("list_channels", workspace=d.home, query="#general")["channels"]
    assert [(c["name"], c["workspace"]) for c in here] == [("general", d.home)]


# -- messages ----------------------------------------------------------------------------------


def test_an_edit_keeps_every_earlier_text() -> None:
    d = desk()
    message = d.posted("First")
    d.ok("edit_channel_message", message_id=message, text="Second")
    edited = d.ok("edit_channel_message", message_id=message, text="Third")
    assert (edited["text"], edited["edits"]) == ("Third", 2)
    shown = d.ok("get_channel_thread", message_id=message)
    assert (shown["text"], shown["earlier_texts"]) == ("Third", ["First", "Second"])


def test_replies_gather_in_one_thread_whichever_message_of_it_is_answered() -> None:
    d = desk()
    first = d.posted()
    reply = d.ok("reply_in_channel_thread", message_id=first, text="Which lamp")["id"]
    d.ok("reply_in_channel_thread", message_id=reply, text="The green one")
    for message in (first, reply):
        shown = d.ok("get_channel_thread", message_id=message)
        assert shown["id"] == first
        assert [r["text"] for r in shown["replies"]] == ["Which lamp", "The green one"]
    found = d.ok("search_channel_messages", query="lamp is broken")["messages"]
    assert [(m["id"], m["replies"]) for m in found] == [(first, 2)]


def test_a_reaction_counts_members_and_is_taken_back() -> None:
    d = desk()
    message = d.posted()
    given = {"message_id": message, "emoji": "tada"}
    assert d.ok("react_to_channel_message", **given, action="add")["count"] == 1
    shown = d.ok("get_channel_thread", message_id=message)["reactions"]
    assert shown == [{"emoji": "tada", "count": 1}]
    assert d.ok("react_to_channel_message", **given, action="remove")["count"] == 0


def test_a_shared_file_goes_with_a_message_and_is_found_by_name() -> None:
    d = desk()
    channel, file = d.channel(), d.file(d.home)
    given = {"channel_id": channel.id, "text": "Here it is", "file_id": file.id}
    message = d.ok("post_channel_message", **given)
    assert message["file"] == file.filename
    found = d.ok("search_channel_messages", query=file.filename, channel_id=channel.id)
    assert message["id"] in {m["id"] for m in found["messages"]}
    shown = d.ok("get_channel_thread", message_id=message["id"])["files"]
    assert [f["id"] for f in shown] == [file.id]


def test_search_filters_by_author_and_day_newest_first() -> None:
    d = desk()
    message = d.message(d.channel())
    found = d.ok("search_channel_messages", sender=message.sender.upper(), limit=50)["messages"]
    assert {m["sender"] for m in found} == {message.sender}
    assert [m["date"] for m in found] == sorted((m["date"] for m in found), reverse=True)
    day = message.posted_at[:10]
    found = d.ok("search_channel_messages", since=day, until=day, limit=50)["messages"]
    assert {m["date"] for m in found} == {day}


# -- who reads what ----------------------------------------------------------------------------


def _all_found(d: Desk) -> set[str]:
    seen, cursor = set[str](), ""
    while True:
        part = d.ok("search_channel_messages", limit=50, cursor=cursor)
        seen |= {m["id"] for m in part["messages"]}
        cursor = part["next_cursor"]
        if not cursor:
            return seen


def test_a_search_shows_all_that_the_user_may_read_and_nothing_else() -> None:
    for seed in range(4):
        d = desk(seed)
        hidden = [c for c in d.chat.channels if not can_read(d.chat, c)]
        assert any(c.visibility == "private" for c in hidden)
        theirs = {m.id for c in hidden for m in d.chat.messages.where(channel_id=c.id)}
        assert theirs
        assert _all_found(d) == {m.id for m in d.chat.messages} - theirs


def test_who_leaves_a_private_channel_cannot_read_it_any_more() -> None:
    d = desk()
    channel = d.channel(visibility="private")
    message = d.message(channel)
    d.ok("manage_channel", channel_id=channel.id, action="leave")
    assert d.refused("get_channel_thread", message_id=message.id)["code"] == "not_a_member"
    call = {"channel_id": channel.id}
    assert d.refused("search_channel_messages", **call)["code"] == "not_a_member"
    assert d.refused("search_workspace_members", **call)["code"] == "not_a_member"
    assert d.refused("manage_channel", **call, action="join")["code"] == "not_a_member"
    assert message.id not in _all_found(d)


# -- worlds ------------------------------------------------------------------------------------


def test_the_order_of_independent_writes_does_not_show_in_the_changes() -> None:
    one, two = desk(), desk()
    channel = one.channel()
    message = one.message(channel)
    member = one.outsider(channel)
    calls: list[tuple[str, dict[str, Any]]] = [
        ("post_channel_message", {"channel_id": channel.id, "text": "Hello"}),
        ("reply_in_channel_thread", {"message_id": message.id, "text": "One"}),
        ("reply_in_channel_thread", {"message_id": message.id, "text": "Two"}),
        ("react_to_channel_message", {"message_id": message.id, "emoji": "clap", "action": "add"}),
        ("create_channel", {"name": "lamps"}),
        ("invite_to_channel", {"channel_id": channel.id, "member_id": member.id}),
    ]
    agree(one, calls, two)
