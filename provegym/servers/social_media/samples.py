"""Plausible arguments for each tool, read off the rows of a session. An empty dict: none found."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from random import Random
from typing import Any, TypeVar

from provegym.servers.social_media.access import shows_list
from provegym.servers.social_media.state import EDIT_HOURS, MOST_EDITS, Network, Post, User
from provegym.servers.social_media.words import (
    EDITS,
    GREETINGS,
    NEW_LISTS,
    POSTS,
    REMARKS,
    THINGS,
)

Arguments = dict[str, Any]
T = TypeVar("T")

SLIP = 0.07
"""How often a row is chosen without a look at its state."""


def _maybe(rnd: Random, rate: float = 0.3, **fields: Any) -> Arguments:
    return {name: value for name, value in fields.items() if rnd.random() < rate}


def _pick(rnd: Random, good: Sequence[T], every: Sequence[T]) -> T:
    """One of the good rows, now and then any."""
    return rnd.choice(good if good and rnd.random() >= SLIP else every)


def _others(net: Network) -> list[User]:
    me = net.me.id
    return [u for u in net.users if u.id != me]


def _post(net: Network, rnd: Random, hidden: set[str] | None = None) -> Post | None:
    """A post of somebody's that the user sees; the later ones more often."""
    every = list(net.posts)
    if not every or rnd.random() < SLIP:
        return rnd.choice(every) if every else None
    shut = net.hidden() if hidden is None else hidden
    rows = [p for p in every if p.user_id not in shut] or every
    return rows[-1 - int(len(rows) * rnd.random() ** 1.3)]


def _topic(text: str) -> str:
    """What a post is about: its thing, else its tag or all of it."""
    things = (thing for kind in THINGS.values() for thing in kind)
    found = next((thing for thing in things if thing in text), "")
    return found or next((word for word in text.split() if word[0] == "#"), text)


# -- reading -----------------------------------------------------------------------------------


def users(net: Network, rnd: Random) -> Arguments:
    """A name or interest, a group, or a list."""
    user, roll = rnd.choice(_others(net)), rnd.random()
    if roll < 0.5:
        return {"query": rnd.choice((user.name, user.name, user.interest))}
    if roll < 0.8:
        group = rnd.choice(("following", "followers", "requested", "blocked"))
        return {"group": group, **_maybe(rnd, 0.2, query=user.interest)}
    rows = list(net.lists)
    return {"list_id": _pick(rnd, [x for x in rows if shows_list(net, x)], rows).id}


def feed(net: Network, rnd: Random) -> Arguments:
    """The whole feed, that of a list, or the latest days."""
    rows = list(net.lists)
    shown = _pick(rnd, [x for x in rows if shows_list(net, x)], rows)
    day = (net.now - timedelta(days=rnd.randrange(2, 20))).date().isoformat()
    return _maybe(rnd, 0.35, list_id=shown.id, since=day)


def posts(net: Network, rnd: Random) -> Arguments:
    """Filters that one existing post meets."""
    post, roll = _post(net, rnd), rnd.random()
    if post is None or roll < 0.2:
        return {"scope": rnd.choice(("own", "liked"))}
    day, topic = post.posted_at[:10], _topic(post.text)
    if post.user_id == net.me.id:
        return {"scope": "own", **_maybe(rnd, query=topic, since=day)}
    if roll < 0.5:
        return {"user_id": post.user_id, **_maybe(rnd, 0.2, query=topic)}
    return {"query": topic, **_maybe(rnd, 0.15, since=day, until=day)}


def post(net: Network, rnd: Random) -> Arguments:
    """A post that the user sees, rather one with comments."""
    hidden, found = net.hidden(), None
    for _ in range(3):
        found = _post(net, rnd, hidden)
        if found is None or found.comments:
            break
    return {"post_id": found.id} if found else {}


def notifications(net: Network, rnd: Random) -> Arguments:
    """Now and then one kind, or only what is unread."""
    kinds = ("like", "comment", "mention", "follow", "follow_request", "follow_request")
    return _maybe(rnd, 0.4, kind=rnd.choice(kinds), status=rnd.choice(("unread", "unread", "read")))


def lists(net: Network, rnd: Random) -> Arguments:
    """A title, whose lists, or who is on them."""
    rows = [x for x in net.lists if shows_list(net, x)]
    if not rows or rnd.random() < 0.4:
        return _maybe(rnd, 0.7, owner=rnd.choice(("me", "others")))
    row = rnd.choice(rows)
    there = net.memberships.where(list_id=row.id)
    if there and rnd.random() < 0.4:
        return {"user_id": rnd.choice(there).user_id}
    return {"query": row.title}


# -- posting -----------------------------------------------------------------------------------


def publish(net: Network, rnd: Random) -> Arguments:
    """A new text, now and then with a mention or closed to comments."""
    used = {p.text for p in net.posts.where(user_id=net.me.id)}
    text = _pick(rnd, [t for t in POSTS if t not in used], sorted(used) or POSTS)
    if rnd.random() < 0.2:
        good = [u for u in _others(net) if u.id not in net.cut_off()]
        text = rnd.choice(GREETINGS).format(handle=_pick(rnd, good, _others(net)).handle)
    return {"text": text, **_maybe(rnd, comments_by=rnd.choice(("followers", "nobody")))}


def _own(net: Network, rnd: Random) -> Post:
    every = list(net.posts)
    mine = [p for p in every if p.user_id == net.me.id]
    return _pick(rnd, mine, every)


def edit(net: Network, rnd: Random) -> Arguments:
    """An own post that can still be edited."""
    every = list(net.posts)
    mine = [p for p in every if p.user_id == net.me.id]
    first = net.now - timedelta(hours=EDIT_HOURS)
    good = [p for p in mine if p.edits < MOST_EDITS and datetime.fromisoformat(p.posted_at) > first]
    if not every:
        return {}
    used = {p.text for p in mine}
    text = _pick(rnd, [t for t in EDITS if t not in used], sorted(used) or EDITS)
    return {"post_id": _pick(rnd, good, mine or every).id, "text": text}


def delete(net: Network, rnd: Random) -> Arguments:
    """An own post."""
    return {"post_id": _own(net, rnd).id} if len(net.posts) else {}


def comment(net: Network, rnd: Random) -> Arguments:
    """A post that takes comments from the user."""
    hidden = net.hidden()
    found = None
    for _ in range(3):
        found = _post(net, rnd, hidden)
        if found is None or found.comments_by == "everyone":
            break
    return {"post_id": found.id, "text": rnd.choice(REMARKS)} if found else {}


def like(net: Network, rnd: Random) -> Arguments:
    """A post that the user does not like yet, or one to take the like back from."""
    me = net.me.id
    given = [row.post_id for row in net.likes.where(user_id=me)]
    if given and rnd.random() < 0.3:
        return {"post_id": rnd.choice(given), "action": "unlike"}
    hidden, found = net.hidden() | {me}, None
    for _ in range(3):
        found = _post(net, rnd, hidden)
        if found is None or found.id not in given:
            break
    return {"post_id": found.id, "action": "like"} if found else {}


# -- people ------------------------------------------------------------------------------------


def relation(net: Network, rnd: Random) -> Arguments:
    """Something that the user can do with an account."""
    me, every = net.me.id, _others(net)
    action = rnd.choice(("follow", "follow", "unfollow", "block", "unblock"))
    tied = {f.followed_id for f in net.follows.where(follower_id=me)}
    mine = {b.blocked_id for b in net.blocks.where(blocker_id=me)}
    good = {
        "follow": {u.id for u in every} - tied - net.cut_off(),
        "unfollow": tied,
        "block": {u.id for u in every} - mine,
        "unblock": mine,
    }[action]
    return {"user_id": _pick(rnd, sorted(good), [u.id for u in every]), "action": action}


def answer(net: Network, rnd: Random) -> Arguments:
    """Somebody who asks to follow the user."""
    asking = net.follows.where(followed_id=net.me.id, status="requested")
    user = _pick(rnd, [f.follower_id for f in asking], [u.id for u in _others(net)])
    return {"user_id": user, "decision": rnd.choice(("accept", "accept", "decline"))}


def new_list(net: Network, rnd: Random) -> Arguments:
    """A title that the user has no list of yet."""
    taken = [x.title for x in net.lists.where(user_id=net.me.id)]
    title = _pick(rnd, [t for t in NEW_LISTS if t not in taken], taken or NEW_LISTS)
    return {"title": title, **_maybe(rnd, visibility=rnd.choice(("public", "private")))}


def members(net: Network, rnd: Random) -> Arguments:
    """An own list, and an account that can come on it or leave it."""
    me, every = net.me.id, list(net.lists)
    row = _pick(rnd, [x for x in every if x.user_id == me], every)
    there = {m.user_id for m in net.memberships.where(list_id=row.id)}
    away = {u.id for u in _others(net)} - there - net.cut_off()
    action = "remove" if there and rnd.random() < 0.35 else "add"
    good = sorted(there if action == "remove" else away)
    user = _pick(rnd, good, [u.id for u in net.users])
    return {"list_id": row.id, "user_id": user, "action": action}
