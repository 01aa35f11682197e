"""Each refusal of the team chat occurs in its worlds; a broken chat is noticed."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date
from typing import Any

import pytest

from provegym.servers.team_chat import SERVER
from provegym.servers.team_chat.state import Channel, violations
from tests.servers.chat_desk import Desk, desk
from tests.servers.talk import declared

Scenario = Callable[[Desk], dict[str, Any]]
SCENARIOS: dict[tuple[str, str], Scenario] = {}
"""How each declared refusal of each tool comes about in a world as seeded."""


def _closed(d: Desk) -> Channel:
    """A private channel that the user is not in."""
    return d.channel(joined=False, visibility="private")


def _archived(d: Desk) -> Channel:
    """An archived channel that the user is in."""
    return d.channel(archived=True)


def _required(d: Desk) -> str:
    return d.chat.channels.where(workspace=d.home, required=True)[0].id


def _own_archived(d: Desk) -> str:
    """An archived channel that the user owns."""
    channel = d.own_channel()
    d.ok("manage_channel", channel_id=channel.id, action="archive")
    return channel.id


def _old(d: Desk) -> str:
    """An own message of the primary workspace that is older than a week."""
    me, now = d.chat.me(d.home).id, d.chat.now.date().toordinal()
    mine = d.chat.joined()
    return next(
        m.id
        for m in d.chat.messages.where(author_id=me)
        if m.channel_id in mine
        and not d.chat.channels[m.channel_id].archived
        and now - _day(m.posted_at) > 8
    )


def _day(stamp: str) -> int:
    return date.fromisoformat(stamp[:10]).toordinal()


def _reaction(d: Desk, action: str, *, twice: bool = False) -> dict[str, Any]:
    given = {"message_id": d.posted(), "emoji": "clap", "action": action}
    if twice:
        d.ok("react_to_channel_message", **given)
    return given


def _invitation(d: Desk, channel: Channel, member: str = "") -> dict[str, Any]:
    return {"channel_id": channel.id, "member_id": member or d.outsider(channel).id}


def _foreign(d: Desk) -> str:
    """A member of another workspace."""
    return next(m.id for m in d.chat.members if m.workspace != d.home)


def _in(d: Desk, channel: Channel) -> str:
    return d.chat.memberships.where(channel_id=channel.id)[0].member_id


def _hidden_file(d: Desk) -> dict[str, Any]:
    return {
        "channel_id": d.channel(workspace=d.abroad).id,
        "text": "Hello",
        "file_id": d.file(d.home).id,
    }


def _manage(action: str, find: Callable[[Desk], str]) -> Scenario:
    return lambda d: {"channel_id": find(d), "action": action}


WRITES: dict[str, dict[str, Any]] = {
    "reply_in_channel_thread": {"text": "Hello"},
    "edit_channel_message": {"text": "Hello"},
    "react_to_channel_message": {"emoji": "clap", "action": "add"},
}
for _tool, _more in WRITES.items():
    SCENARIOS[_tool, "not_found"] = lambda d, m=_more: {"message_id": "cms_none", **m}  # type: ignore[misc]
    SCENARIOS[_tool, "not_a_member"] = lambda d, m=_more: {  # type: ignore[misc]
        "message_id": d.message(_closed(d)).id,
        **m,
    }
    SCENARIOS[_tool, "channel_archived"] = lambda d, m=_more: {  # type: ignore[misc]
        "message_id": d.message(_archived(d)).id,
        **m,
    }

SCENARIOS |= {
    ("list_channels", "unknown_workspace"): lambda d: {"workspace": "nowhere"},
    ("search_workspace_members", "unknown_workspace"): lambda d: {"workspace": "nowhere"},
    ("search_workspace_members", "not_found"): lambda d: {"channel_id": "chn_none"},
    ("search_workspace_members", "not_a_member"): lambda d: {"channel_id": _closed(d).id},
    ("create_channel", "unknown_workspace"): lambda d: {"name": "lamps", "workspace": "nowhere"},
    ("create_channel", "guest_account"): lambda d: {"name": "lamps", "workspace": d.abroad},
    ("create_channel", "channel_name_taken"): lambda d: {"name": _archived(d).name},
    ("manage_channel", "not_found"): _manage("join", lambda d: "chn_none"),
    ("manage_channel", "already_member"): _manage("join", lambda d: d.channel().id),
    ("manage_channel", "guest_account"): _manage(
        "join", lambda d: d.channel(joined=False, workspace=d.abroad).id
    ),
    ("manage_channel", "not_a_member"): _manage("join", lambda d: _closed(d).id),
    ("manage_channel", "channel_archived"): _manage("archive", _own_archived),
    ("manage_channel", "required_channel"): _manage("leave", _required),
    ("manage_channel", "not_channel_owner"): _manage("archive", lambda d: d.channel().id),
    ("manage_channel", "not_archived"): _manage("unarchive", lambda d: d.own_channel().id),
    ("invite_to_channel", "not_found"): lambda d: _invitation(d, d.channel(), "mem_none"),
    ("invite_to_channel", "not_a_member"): lambda d: _invitation(d, _closed(d)),
    ("invite_to_channel", "channel_archived"): lambda d: _invitation(d, _archived(d)),
    ("invite_to_channel", "guest_account"): lambda d: _invitation(
        d, d.channel(workspace=d.abroad)
    ),
    ("invite_to_channel", "other_workspace"): lambda d: _invitation(
        d, d.channel(), _foreign(d)
    ),
    ("invite_to_channel", "member_deactivated"): lambda d: _invitation(
        d, d.channel(), d.outsider(d.channel(), status="deactivated").id
    ),
    ("invite_to_channel", "already_member"): lambda d: _invitation(
        d, d.channel(), _in(d, d.channel())
    ),
    ("search_channel_messages", "not_found"): lambda d: {"channel_id": "chn_none"},
    ("search_channel_messages", "not_a_member"): lambda d: {"channel_id": _closed(d).id},
    ("get_channel_thread", "not_found"): lambda d: {"message_id": "cms_none"},
    ("get_channel_thread", "not_a_member"): lambda d: {"message_id": d.message(_closed(d)).id},
    ("post_channel_message", "not_found"): lambda d: {
        "channel_id": d.channel().id,
        "text": "Hello",
        "file_id": "cfl_none",
    },
    ("post_channel_message", "not_a_member"): lambda d: {
        "channel_id": d.channel(joined=False, visibility="public").id,
        "text": "Hello",
    },
    ("post_channel_message", "channel_archived"): lambda d: {
        "channel_id": _archived(d).id,
        "text": "Hello",
    },
    ("post_channel_message", "posting_restricted"): lambda d: {
        "channel_id": d.channel(restricted=True).id,
        "text": "Hello",
    },
    ("post_channel_message", "other_workspace"): _hidden_file,
    ("edit_channel_message", "not_author"): lambda d: {
        "message_id": d.message(d.channel()).id,
        "text": "Hello",
    },
    ("edit_channel_message", "edit_window_over"): lambda d: {
        "message_id": _old(d),
        "text": "Hello",
    },
    ("edit_channel_message", "no_change"): lambda d: {
        "message_id": d.posted("Hello"),
        "text": "Hello",
    },
    ("react_to_channel_message", "already_reacted"): lambda d: _reaction(d, "add", twice=True),
    ("react_to_channel_message", "not_reacted"): lambda d: _reaction(d, "remove"),
}  # fmt: skip


@pytest.mark.parametrize(("tool", "code"), declared(SERVER))
@pytest.mark.parametrize("seed", [0, 1, 11])
def test_each_declared_refusal_occurs(tool: str, code: str, seed: int) -> None:
    d = desk(seed)
    assert d.refused(tool, **SCENARIOS[tool, code](d))["code"] == code


@pytest.mark.parametrize("name", ["Lamps", "two words", "x" * 41, "", "l\u00e4mp"])
def test_channel_names_are_short_and_plain(name: str) -> None:
    assert desk().refused("create_channel", name=name)["code"] == "invalid_value"


def _edited(d: Desk) -> None:
    d.chat.messages.update(d.message(d.channel()), text="Something else")


def _removed(d: Desk) -> None:
    d.chat.messages.delete(d.message(d.channel()).id)


def _uncounted(d: Desk) -> None:
    thread = next(iter(d.chat.threads))
    d.chat.threads.update(thread, replies=thread.replies + 1)


def _renamed(d: Desk) -> None:
    d.chat.channels.update(d.channel(), name="general")


def _torn(d: Desk) -> None:
    d.chat.memberships.delete(d.chat.memberships.where(channel_id=_required(d))[0].id)


def _doubled(d: Desk) -> None:
    row = next(iter(d.chat.reactions))
    d.chat.reactions.put(type(row)("rct_made", row.message_id, row.member_id, row.emoji))


@pytest.mark.parametrize("breaks", [_edited, _removed, _uncounted, _renamed, _torn, _doubled])
def test_a_broken_chat_is_noticed(breaks: Callable[[Desk], None]) -> None:
    d = desk()
    breaks(d)
    assert list(violations(d.chat))
