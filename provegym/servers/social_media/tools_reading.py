"""Reading: accounts, the feed, posts, notifications and lists."""

from __future__ import annotations

from typing import Literal

from provegym.servers.social_media import samples
from provegym.servers.social_media.access import (
    ensure_shown,
    shows_list,
    the_list,
    the_post,
    the_user,
)
from provegym.servers.social_media.state import (
    Kind,
    ListId,
    Network,
    Notification,
    Post,
    PostId,
    SocialList,
    User,
    UserId,
)
from provegym.servers.social_media.views import (
    ListPage,
    NotificationPage,
    PostPage,
    PostView,
    UserPage,
    comment_item,
    list_item,
    notification_item,
    post_item,
    user_item,
)
from provegym.world.fields import Date, Limit
from provegym.world.page import page
from provegym.world.period import period
from provegym.world.tool import tool

Group = Literal["following", "followers", "requested", "blocked"]
Scope = Literal["own", "liked"]
Owner = Literal["me", "others"]
Status = Literal["unread", "read"]


@tool(
    "read",
    phrases=(
        "Look up the accounts[ in my {group} list][ on {list_id}][ that match {query}] on social"
        " media",
        "Find people on social media[ who are in my {group} list][ who are on {list_id}]"
        "[ by the name or interest {query}]",
        "Show the social media accounts[ among my {group} ones][ that {list_id} holds]"
        "[ matching {query}]",
    ),
    refuses=("not_found",),
    sample=samples.users,
)
def search_social_users(
    net: Network,
    query: str = "",
    group: Group | None = None,
    list_id: ListId | None = None,
    limit: Limit = 4,
    cursor: str = "",
) -> UserPage:
    """Search other accounts by name, and see followers and how the user and they stand.

    Args:
        query: Words in name, @handle or interest.
        group: Whom the user follows, asked to follow or blocked, or the followers.
        list_id: Only who is on this list.
        limit: Accounts per page.
        cursor: next_cursor of the page before.
    """
    words = query.lower().replace("@", "").split()
    me, ids = net.me.id, _group(net, group)
    found = [
        u
        for u in _on_list(net, list_id)
        if u.id != me
        and (ids is None or u.id in ids)
        and (not words or _all(words, f"{u.name} {u.handle} {u.interest}".lower()))
    ]
    found.sort(key=lambda u: u.name)
    shown, total, after = page(found, limit, cursor)
    return UserPage([user_item(net, u) for u in shown], total, after)


def _on_list(net: Network, list_id: str | None) -> list[User]:
    if list_id is None:
        return list(net.users)
    row = the_list(net, list_id)
    return [net.users[m.user_id] for m in net.memberships.where(list_id=row.id)]


def _group(net: Network, group: Group | None) -> set[str] | None:
    """Ids of a group of accounts; None for all."""
    me = net.me.id
    if group is None:
        return None
    if group == "blocked":
        return {b.blocked_id for b in net.blocks.where(blocker_id=me)}
    if group == "followers":
        rows = net.follows.where(followed_id=me, status="accepted")
        return {f.follower_id for f in rows}
    status = "accepted" if group == "following" else "requested"
    return {f.followed_id for f in net.follows.where(follower_id=me, status=status)}


def _all(words: list[str], text: str) -> bool:
    """Whether every word is in a text; a #tag only as a whole."""
    return all(word in (text.split() if word[0] == "#" else text) for word in words)


@tool(
    "read",
    phrases=(
        "Show my social media feed[ for {list_id}][ since {since}]",
        "What is new in my feed[ from {list_id}][ after {since}]",
        "Open the feed[ of {list_id}] on social media[ from {since} on]",
    ),
    refuses=("not_found",),
    sample=samples.feed,
)
def get_social_feed(
    net: Network,
    list_id: ListId | None = None,
    since: Date | None = None,
    limit: Limit = 4,
    cursor: str = "",
) -> PostPage:
    """Show the newest posts of the accounts that the user follows, or of those on a list.

    Args:
        list_id: Posts of who is on this list instead.
        since: First day.
        limit: Posts per page.
        cursor: next_cursor of the page before.
    """
    if list_id is None:
        authors = net.followed(net.me.id) - net.cut_off()
    else:
        row = the_list(net, list_id)
        authors = {m.user_id for m in net.memberships.where(list_id=row.id)} - net.hidden()
    first = since or ""
    found = [p for p in net.posts if p.user_id in authors and p.posted_at >= first]
    return _newest(found, limit, cursor)


def _newest(found: list[Post], limit: int, cursor: str) -> PostPage:
    found.sort(key=lambda p: p.posted_at, reverse=True)
    shown, total, after = page(found, limit, cursor)
    return PostPage([post_item(p) for p in shown], total, after)


@tool(
    "read",
    phrases=(
        "Find social media posts[ about {query}][ by {user_id}][ among my {scope} ones]"
        "[ since {since}][ until {until}]",
        "Search the posts on social media[ that mention {query}][ that {user_id} wrote]"
        "[ within my {scope} posts][ from {since} on][ up to {until}]",
        "Which posts are there on social media[ on {query}][ from {user_id}]"
        "[ in my {scope} posts][ after {since}][ before the end of {until}]",
    ),
    refuses=("not_found", "blocked", "private_account"),
    sample=samples.posts,
)
def search_posts(
    net: Network,
    query: str = "",
    user_id: UserId | None = None,
    scope: Scope | None = None,
    since: Date | None = None,
    until: Date | None = None,
    limit: Limit = 4,
    cursor: str = "",
) -> PostPage:
    """Search all posts that the user can see, newest first.

    Args:
        query: Words in the text; a #tag must match whole.
        user_id: Only posts of this account.
        scope: Only the user's own posts, or those the user likes.
        since: First day.
        until: Last day.
        limit: Posts per page.
        cursor: next_cursor of the page before.
    """
    words, (first, last) = query.lower().split(), period(since, until)
    found = [
        p
        for p in _scoped(net, scope, user_id)
        if first <= p.posted_at <= last and (not words or _all(words, p.text.lower()))
    ]
    return _newest(found, limit, cursor)


def _scoped(net: Network, scope: Scope | None, user_id: str | None) -> list[Post]:
    """The posts that the user sees, of one account or of all."""
    me, hidden = net.me.id, net.hidden()
    if user_id is not None:
        ensure_shown(net, the_user(net, user_id))
    if scope == "liked":
        rows = [net.posts[row.post_id] for row in net.likes.where(user_id=me)]
    else:
        whose = me if scope == "own" else user_id
        rows = list(net.posts) if whose is None else net.posts.where(user_id=whose)
    return [p for p in rows if p.user_id not in hidden and user_id in (None, p.user_id)]


@tool(
    "read",
    phrases=(
        "Show {post_id} with its comments",
        "Open {post_id} and the comments below it",
        "What do people say about {post_id}",
    ),
    refuses=("not_found", "blocked", "private_account"),
    sample=samples.post,
)
def get_post(net: Network, post_id: PostId, limit: Limit = 4, cursor: str = "") -> PostView:
    """Show a post in full and its comments, oldest first, without those of blocked accounts.

    Args:
        post_id: The post.
        limit: Comments per page.
        cursor: next_cursor of the page before.
    """
    p, away = the_post(net, post_id), net.cut_off()
    rows = [c for c in net.comments.where(post_id=p.id) if c.user_id not in away]
    rows.sort(key=lambda c: c.posted_at)
    shown, total, after = page(rows, limit, cursor)
    return PostView(
        *(p.id, p.user_id, p.name, p.text, p.posted_at[:10], p.edits, p.likes),
        liked=net.like_of(net.me.id, p.id) is not None,
        comments_by=p.comments_by,
        comments=[comment_item(c) for c in shown],
        total=total,
        next_cursor=after,
    )


@tool(
    "read",
    phrases=(
        "Show my[ {status}] social media notifications[ of the kind {kind}]",
        "Which[ {status}] notifications[ of kind {kind}] do I have on social media",
        "List the[ {status}][ {kind}] notifications from social media",
    ),
    sample=samples.notifications,
)
def list_social_notifications(
    net: Network,
    kind: Kind | None = None,
    status: Status | None = None,
    limit: Limit = 4,
    cursor: str = "",
) -> NotificationPage:
    """List who liked, commented, mentioned, followed or asks to follow the user, newest first.
    A notification is read once the user has commented on the post, followed back or answered.

    Args:
        kind: Only this kind.
        status: Only unread or read ones.
        limit: Notifications per page.
        cursor: next_cursor of the page before.
    """
    away = net.cut_off()
    found = [n for n in net.notifications.where(recipient_id=net.me.id) if n.user_id not in away]
    found = [n for n in found if _wanted(n, kind, status)]
    found.sort(key=lambda n: n.at, reverse=True)
    shown, total, after = page(found, limit, cursor)
    return NotificationPage([notification_item(net, n) for n in shown], total, after)


def _wanted(n: Notification, kind: Kind | None, status: Status | None) -> bool:
    return kind in (None, n.kind) and (status is None or n.unread == (status == "unread"))


@tool(
    "read",
    phrases=(
        "Show the social media lists[ called {query}][ that {user_id} is on][ that belong to"
        " {owner}]",
        "Which lists of accounts are there on social media[ named {query}][ with {user_id} on them]"
        "[ owned by {owner}]",
        "Find lists on social media[ with the title {query}][ that include {user_id}]"
        "[ kept by {owner}]",
    ),
    refuses=("not_found",),
    sample=samples.lists,
)
def list_social_lists(
    net: Network,
    query: str = "",
    owner: Owner | None = None,
    user_id: UserId | None = None,
    limit: Limit = 4,
    cursor: str = "",
) -> ListPage:
    """List the user's own lists of accounts and the public lists of others, by title.

    Args:
        query: Words in the title.
        owner: Only own lists, or only those of others.
        user_id: Only lists that this account is on.
        limit: Lists per page.
        cursor: next_cursor of the page before.
    """
    words, me = query.lower().split(), net.me.id
    found = [
        x
        for x in _lists_with(net, user_id)
        if shows_list(net, x)
        and (owner is None or (x.user_id == me) == (owner == "me"))
        and _all(words, x.title.lower())
    ]
    found.sort(key=lambda x: (x.title, x.owner))
    shown, total, after = page(found, limit, cursor)
    return ListPage([list_item(x) for x in shown], total, after)


def _lists_with(net: Network, user_id: str | None) -> list[SocialList]:
    if user_id is None:
        return list(net.lists)
    user = the_user(net, user_id)
    return [net.lists[m.list_id] for m in net.memberships.where(user_id=user.id)]
