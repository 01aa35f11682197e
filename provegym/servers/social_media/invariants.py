"""What must hold after every call: counters, blocks, and one notification for each event."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from provegym.servers.social_media.state import MOST_EDITS, Network

Event = tuple[str, str, str, str, str]
"""Recipient, kind, who did it, post, comment."""


def violations(net: Network) -> Iterator[str]:
    """Every broken invariant, one sentence each."""
    yield from _counters(net)
    yield from _once(net)
    yield from _posts(net)
    yield from _blocks(net)
    yield from _follows(net)
    yield from _notifications(net)
    yield from _lists(net)


def _counters(net: Network) -> Iterator[str]:
    accepted = net.follows.where(status="accepted")
    followers = Counter(f.followed_id for f in accepted)
    following = Counter(f.follower_id for f in accepted)
    posts = Counter(p.user_id for p in net.posts)
    for u in net.users:
        if (u.followers, u.following, u.posts) != (followers[u.id], following[u.id], posts[u.id]):
            yield f"the counters of user {u.id} are not those of its follows and posts"
    likes = Counter(row.post_id for row in net.likes)
    comments = Counter(c.post_id for c in net.comments)
    for p in net.posts:
        if (p.likes, p.comments) != (likes.pop(p.id, 0), comments.pop(p.id, 0)):
            yield f"post {p.id} says {p.likes} likes and {p.comments} comments"
    yield from (f"likes or comments on post {key}, which is none" for key in likes + comments)


def _once(net: Network) -> Iterator[str]:
    yield from _twice("like", ((row.post_id, row.user_id) for row in net.likes))
    yield from _twice("follow", ((f.follower_id, f.followed_id) for f in net.follows))
    yield from _twice("block", ((b.blocker_id, b.blocked_id) for b in net.blocks))
    yield from _twice("member", ((m.list_id, m.user_id) for m in net.memberships))
    yield from _twice("handle", (u.handle for u in net.users))
    yield from _twice("list title", ((x.user_id, x.title.lower()) for x in net.lists))
    yield from _twice("comment", ((c.post_id, c.user_id, c.text) for c in net.comments))


def _posts(net: Network) -> Iterator[str]:
    for p in net.posts:
        author = net.users.get(p.user_id)
        if author is None or author.name != p.name:
            yield f"post {p.id} is not of {p.name}"
        if not 0 <= p.edits <= MOST_EDITS:
            yield f"post {p.id} was edited {p.edits} times"
    for c in net.comments:
        post, author = net.posts.get(c.post_id), net.users.get(c.user_id)
        if author is None or author.name != c.name:
            yield f"comment {c.id} is not of {c.name}"
        if post and post.comments_by == "nobody" and post.user_id != c.user_id:
            yield f"comment {c.id} is on a post that is closed to comments"


def _blocks(net: Network) -> Iterator[str]:
    """Across a block nobody follows and nobody is on the other's lists."""
    for b in net.blocks:
        pair = b.blocker_id, b.blocked_id
        for one, other in (pair, pair[::-1]):
            if net.tie(one, other) is not None:
                yield f"user {one} follows {other} across a block"
            if any(net.on_list(x.id, other) for x in net.lists.where(user_id=one)):
                yield f"user {other} is on a list of {one} across a block"
        if pair[0] == pair[1]:
            yield f"user {pair[0]} blocks itself"


def _follows(net: Network) -> Iterator[str]:
    for f in net.follows:
        if f.follower_id == f.followed_id:
            yield f"user {f.follower_id} follows itself"
        if f.status == "requested" and not net.users[f.followed_id].private:
            yield f"follow {f.id} asks an account that is public"


def _notifications(net: Network) -> Iterator[str]:
    """Every event of somebody else's is told once, and nothing else is."""
    told = Counter(
        (n.recipient_id, str(n.kind), n.user_id, n.post_id, n.comment_id) for n in net.notifications
    )
    due = Counter(events(net))
    yield from (f"event {event} was not told" for event in due - told)
    yield from (f"there is a notification too many of {event}" for event in told - due)


def events(net: Network) -> Iterator[Event]:
    """All that has to be told: likes, comments and mentions by others, follows and requests."""
    author = {p.id: p.user_id for p in net.posts}
    for row in net.likes:
        if row.user_id != (whose := author.get(row.post_id, "")):
            yield whose, "like", row.user_id, row.post_id, ""
    for c in net.comments:
        if c.user_id != (whose := author.get(c.post_id, "")):
            yield whose, "comment", c.user_id, c.post_id, c.id
    for p in net.posts:
        for user in net.mentioned(p.text, p.user_id):
            yield user, "mention", p.user_id, p.id, ""
    for f in net.follows:
        kind = "follow" if f.status == "accepted" else "follow_request"
        yield f.followed_id, kind, f.follower_id, "", ""


def _lists(net: Network) -> Iterator[str]:
    members = Counter(m.list_id for m in net.memberships)
    for x in net.lists:
        if x.members != members.pop(x.id, 0):
            yield f"list {x.id} says it has {x.members} members"
        if net.users[x.user_id].name != x.owner:
            yield f"list {x.id} is not of {x.owner}"
    yield from (f"members of list {key}, which is none" for key in members)


def _twice(what: str, keys: Iterable[object]) -> Iterator[str]:
    counts = Counter(keys)
    yield from (f"{what} {key} is there {n} times" for key, n in counts.items() if n > 1)
