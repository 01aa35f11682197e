"""Each refusal of the social network occurs in its worlds; a broken network is noticed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from provegym.servers.social_media import SERVER
from provegym.servers.social_media.invariants import violations
from provegym.servers.social_media.state import Follow, Like, Notification, User
from tests.servers.social_media_desk import Desk, desk
from tests.servers.talk import declared

Scenario = Callable[[Desk], dict[str, Any]]
SCENARIOS: dict[tuple[str, str], Scenario] = {}
"""How each declared refusal of each tool comes about in a world as seeded."""


def _relation(action: str, find: Callable[[Desk], User]) -> Scenario:
    return lambda d: {"user_id": find(d).id, "action": action}


def _on_post(find: Callable[[Desk], User], **more: Any) -> Scenario:
    return lambda d: {"post_id": d.post_of(find(d)).id, **more}


def _secret(d: Desk) -> User:
    return d.stranger(private=True)


def _blocking(d: Desk) -> User:
    return d.blocked(by_me=False)


def _greeting(d: Desk) -> str:
    return f"Lamps with @{_blocking(d).handle}"


def _liked(d: Desk) -> dict[str, Any]:
    given = {"post_id": d.open_post().id, "action": "like"}
    d.ok("like_post", **given)
    return given


def _commented(d: Desk) -> dict[str, Any]:
    given = {"post_id": d.open_post(comments_by="everyone").id, "text": "Nice"}
    d.ok("comment_on_post", **given)
    return given


def _edited_out(d: Desk) -> dict[str, Any]:
    post = d.posted()
    for i in range(5):
        d.ok("edit_post", post_id=post, text=f"Lamp {i}")
    return {"post_id": post, "text": "Once more"}


def _member(action: str, find: Callable[[Desk], str]) -> Scenario:
    return lambda d: {"list_id": d.a_list().id, "user_id": find(d), "action": action}


def _there(d: Desk) -> str:
    return d.net.memberships.where(list_id=d.a_list().id)[0].user_id


def _away(d: Desk) -> str:
    there = {m.user_id for m in d.net.memberships.where(list_id=d.a_list().id)}
    return next(u.id for u in d.users() if u.id not in there)


def _old(d: Desk) -> dict[str, Any]:
    first = min(d.net.posts.where(user_id=d.me), key=lambda p: p.posted_at)
    return {"post_id": first.id, "text": "Late"}


def _twice(d: Desk) -> dict[str, Any]:
    d.posted("Lamp two")
    return {"post_id": d.posted(), "text": "Lamp two"}


for _tool, _more in {
    "get_post": {},
    "comment_on_post": {"text": "Nice"},
    "like_post": {"action": "like"},
}.items():
    SCENARIOS[_tool, "not_found"] = lambda d, m=_more: {"post_id": "pst_none", **m}  # type: ignore[misc]
    SCENARIOS[_tool, "blocked"] = _on_post(_blocking, **_more)
    SCENARIOS[_tool, "private_account"] = _on_post(_secret, **_more)
for _tool, _more in {"edit_post": {"text": "Lamp"}, "delete_post": {}}.items():
    SCENARIOS[_tool, "not_found"] = lambda d, m=_more: {"post_id": "pst_none", **m}  # type: ignore[misc]
    SCENARIOS[_tool, "not_author"] = _on_post(lambda d: d.followed(), **_more)
SCENARIOS |= {
    ("search_social_users", "not_found"): lambda d: {
        "list_id": d.a_list(own=False, visibility="private").id
    },
    ("get_social_feed", "not_found"): lambda d: {"list_id": "lst_none"},
    ("search_posts", "not_found"): lambda d: {"user_id": "usr_none"},
    ("search_posts", "blocked"): lambda d: {"user_id": d.blocked().id},
    ("search_posts", "private_account"): lambda d: {"user_id": d.asked().id},
    ("list_social_lists", "not_found"): lambda d: {"user_id": "usr_none"},
    ("publish_post", "duplicate_post"): lambda d: {"text": d.post_of(d.net.me).text},
    ("publish_post", "blocked"): lambda d: {"text": _greeting(d)},
    ("edit_post", "edit_window_over"): _old,
    ("edit_post", "edit_limit"): _edited_out,
    ("edit_post", "no_change"): lambda d: {"post_id": d.posted("Lamp"), "text": "Lamp"},
    ("edit_post", "duplicate_post"): _twice,
    ("edit_post", "blocked"): lambda d: {"post_id": d.posted(), "text": _greeting(d)},
    ("comment_on_post", "comments_closed"): lambda d: {
        "post_id": d.open_post(comments_by="nobody").id,
        "text": "Nice",
    },
    ("comment_on_post", "duplicate_comment"): _commented,
    ("like_post", "already_liked"): _liked,
    ("like_post", "not_liked"): lambda d: {"post_id": d.open_post().id, "action": "unlike"},
    ("follow_or_block_user", "not_found"): lambda d: {"user_id": "usr_none", "action": "block"},
    ("follow_or_block_user", "own_account"): _relation("follow", lambda d: d.net.me),
    ("follow_or_block_user", "blocked"): _relation("follow", _blocking),
    ("follow_or_block_user", "already_following"): _relation("follow", lambda d: d.followed()),
    ("follow_or_block_user", "already_requested"): _relation("follow", lambda d: d.asked()),
    ("follow_or_block_user", "not_following"): _relation("unfollow", lambda d: d.stranger()),
    ("follow_or_block_user", "already_blocked"): _relation("block", lambda d: d.blocked()),
    ("follow_or_block_user", "not_blocked"): _relation("unblock", _blocking),
    ("answer_follow_request", "not_found"): lambda d: {
        "user_id": "usr_none",
        "decision": "accept",
    },
    ("answer_follow_request", "own_account"): lambda d: {"user_id": d.me, "decision": "accept"},
    ("answer_follow_request", "no_request"): lambda d: {
        "user_id": d.stranger().id,
        "decision": "accept",
    },
    ("create_social_list", "title_taken"): lambda d: {"title": d.a_list().title.upper()},
    ("change_social_list_members", "not_found"): _member("add", lambda d: "usr_none"),
    ("change_social_list_members", "own_account"): _member("add", lambda d: d.me),
    ("change_social_list_members", "not_list_owner"): lambda d: {
        "list_id": d.a_list(own=False).id,
        "user_id": d.stranger().id,
        "action": "add",
    },
    ("change_social_list_members", "blocked"): _member("add", lambda d: d.blocked().id),
    ("change_social_list_members", "already_on_list"): _member("add", _there),
    ("change_social_list_members", "not_on_list"): _member("remove", _away),
}


@pytest.mark.parametrize(("tool", "code"), declared(SERVER))
@pytest.mark.parametrize("seed", [0, 1, 11])
def test_each_declared_refusal_occurs(tool: str, code: str, seed: int) -> None:
    d = desk(seed)
    assert d.refused(tool, **SCENARIOS[tool, code](d))["code"] == code


def test_a_refusal_says_who_has_blocked_whom() -> None:
    d = desk()
    call = "follow_or_block_user"
    theirs = d.refused(call, user_id=_blocking(d).id, action="follow")
    assert theirs["details"] == {"by": _blocking(d).name}
    mine = d.refused(call, user_id=d.blocked().id, action="follow")
    assert mine["details"] == {"by": "you"}


def test_followers_may_comment_where_others_may_not() -> None:
    d = desk(1)
    post = next(
        p for u in d.users() for p in d.net.posts.where(user_id=u.id, comments_by="followers")
    )
    given = {"post_id": post.id, "text": "Nice"}
    assert d.refused("comment_on_post", **given)["code"] == "comments_closed"
    d.relate("follow", post.user_id)
    d.ok("comment_on_post", **given)


@pytest.mark.parametrize("text", ["", "   ", "x" * 281])
def test_posts_are_neither_blank_nor_longer_than_280_characters(text: str) -> None:
    assert desk().refused("publish_post", text=text)["code"] == "invalid_value"
    desk().ok("publish_post", text="x" * 280)


def _miscounted(d: Desk) -> None:
    post = d.open_post()
    d.net.posts.update(post, likes=post.likes + 1)


def _untold(d: Desk) -> None:
    d.net.notifications.delete(next(iter(d.net.notifications)).id)


def _overtold(d: Desk) -> None:
    row = d.net.notifications.where(kind="like")[0]
    d.net.notifications.put(
        Notification("ntf_made", row.user_id, "like", d.me, row.post_id, "", row.at, True)
    )


def _across(d: Desk) -> None:
    d.net.follows.put(Follow("flw_made", d.me, d.blocked().id, "requested"))


def _liked_twice(d: Desk) -> None:
    row = next(iter(d.net.likes))
    d.net.likes.put(Like("lik_made", row.post_id, row.user_id))


def _orphan(d: Desk) -> None:
    d.net.posts.delete(next(iter(d.net.comments)).post_id)


def _unlisted(d: Desk) -> None:
    d.net.memberships.delete(next(iter(d.net.memberships)).id)


@pytest.mark.parametrize(
    "breaks", [_miscounted, _untold, _overtold, _across, _liked_twice, _orphan, _unlisted]
)
def test_a_broken_network_is_noticed(breaks: Callable[[Desk], None]) -> None:
    d = desk()
    breaks(d)
    assert list(violations(d.net))
