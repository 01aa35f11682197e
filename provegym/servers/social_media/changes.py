"""Changes that touch several tables at once, so that counters and notifications stay true."""

from __future__ import annotations

from provegym.servers.social_media.state import (
    Comment,
    Follow,
    Kind,
    Like,
    Membership,
    Network,
    Notification,
    Post,
    SocialList,
)


def notify(net: Network, recipient: str, kind: Kind, post: str = "", comment: str = "") -> None:
    """Tell somebody what the user did; nobody is told of what they did themselves."""
    me = net.me.id
    if recipient != me:
        new, now = net.notifications.new_id(), net.stamp
        row = Notification(new, recipient, kind, me, post, comment, now, unread=True)
        net.notifications.put(row)


def unnotify(net: Network, recipient: str, kind: Kind, actor: str, post: str = "") -> None:
    """Take back what somebody was told."""
    for n in net.notifications.where(recipient_id=recipient, user_id=actor, kind=kind):
        if n.post_id == post:
            net.notifications.delete(n.id)


def mark_read(net: Network, *, post: str = "", user: str = "") -> None:
    """The user's notifications on a post, or of following by an account, are read from now on."""
    for n in net.notifications.where(recipient_id=net.me.id, unread=True):
        if (post and n.post_id == post) or (user and n.user_id == user and not n.post_id):
            net.notifications.update(n, unread=False)


# -- posts -------------------------------------------------------------------------------------


def add_post(net: Network, post: Post) -> Post:
    """Publish a post and tell whom it mentions."""
    net.posts.put(post)
    author = net.users[post.user_id]
    net.users.update(author, posts=author.posts + 1)
    for user in sorted(net.mentioned(post.text, author.id)):
        notify(net, user, "mention", post.id)
    return post


def reword(net: Network, post: Post, text: str) -> Post:
    """Change a post's text; mentions that come or go are told or taken back."""
    before, after = (net.mentioned(t, post.user_id) for t in (post.text, text))
    for user in sorted(before - after):
        unnotify(net, user, "mention", post.user_id, post.id)
    for user in sorted(after - before):
        notify(net, user, "mention", post.id)
    return net.posts.update(post, text=text, edits=post.edits + 1)


def remove_post(net: Network, post: Post) -> None:
    """Remove a post with its likes, its comments and all that was told of them."""
    for like in net.likes.where(post_id=post.id):
        net.likes.delete(like.id)
    for comment in net.comments.where(post_id=post.id):
        net.comments.delete(comment.id)
    for told in net.notifications.where(post_id=post.id):
        net.notifications.delete(told.id)
    net.posts.delete(post.id)
    author = net.users[post.user_id]
    net.users.update(author, posts=author.posts - 1)


def add_like(net: Network, post: Post) -> Post:
    """The user likes a post."""
    net.likes.put(Like(net.likes.new_id(), post.id, net.me.id))
    notify(net, post.user_id, "like", post.id)
    return net.posts.update(post, likes=post.likes + 1)


def drop_like(net: Network, post: Post, like: Like) -> Post:
    """The user does not like a post any more."""
    net.likes.delete(like.id)
    unnotify(net, post.user_id, "like", like.user_id, post.id)
    return net.posts.update(post, likes=post.likes - 1)


def add_comment(net: Network, post: Post, text: str) -> Post:
    """The user comments on a post, and has seen what was told of it."""
    me = net.me
    row = Comment(net.comments.new_id(), post.id, me.id, me.name, text, net.stamp)
    net.comments.put(row)
    notify(net, post.user_id, "comment", post.id, row.id)
    mark_read(net, post=post.id)
    return net.posts.update(post, comments=post.comments + 1)


# -- people ------------------------------------------------------------------------------------


def add_tie(net: Network, followed: str) -> Follow:
    """The user follows an account, or asks a private one."""
    me, private = net.me, net.users[followed].private
    row = Follow(
        net.follows.new_id(), me.id, followed, status="requested" if private else "accepted"
    )
    net.follows.put(row)
    notify(net, followed, "follow_request" if private else "follow")
    mark_read(net, user=followed)
    if not private:
        _count(net, row, 1)
    return row


def drop_tie(net: Network, tie: Follow) -> None:
    """A follow or a request ends."""
    net.follows.delete(tie.id)
    kind: Kind = "follow" if tie.status == "accepted" else "follow_request"
    unnotify(net, tie.followed_id, kind, tie.follower_id)
    if tie.status == "accepted":
        _count(net, tie, -1)


def accept_tie(net: Network, tie: Follow) -> None:
    """A request becomes a follow; what was told of it says so, and is read."""
    for n in net.notifications.where(recipient_id=tie.followed_id, user_id=tie.follower_id):
        if n.kind == "follow_request":
            net.notifications.update(n, kind="follow", unread=False)
    net.follows.update(tie, status="accepted")
    _count(net, tie, 1)


def _count(net: Network, tie: Follow, step: int) -> None:
    follower, followed = net.users[tie.follower_id], net.users[tie.followed_id]
    net.users.update(follower, following=follower.following + step)
    net.users.update(followed, followers=followed.followers + step)


def part(net: Network, one: str, other: str) -> None:
    """Two accounts do not follow each other, and are not on each other's lists, any more."""
    for a, b in ((one, other), (other, one)):
        tie = net.tie(a, b)
        if tie is not None:
            drop_tie(net, tie)
        for row in net.lists.where(user_id=a):
            member = net.on_list(row.id, b)
            if member is not None:
                drop_member(net, row, member)


def add_member(net: Network, row: SocialList, user: str) -> SocialList:
    """An account comes on a list."""
    net.memberships.put(Membership(net.memberships.new_id(), row.id, user))
    return net.lists.update(row, members=row.members + 1)


def drop_member(net: Network, row: SocialList, member: Membership) -> SocialList:
    """An account leaves a list."""
    net.memberships.delete(member.id)
    return net.lists.update(row, members=row.members - 1)
