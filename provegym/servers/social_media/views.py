"""What the tools answer: small records."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Struct

from provegym.servers.social_media.state import (
    Comment,
    CommentsBy,
    Kind,
    ListId,
    Network,
    Notification,
    Post,
    PostId,
    SocialList,
    User,
    UserId,
    Visibility,
)
from provegym.world.fields import DATE, VOLATILE

Day = Annotated[str, DATE, VOLATILE]
CLIP, HINT = 80, 40
"""Characters shown of a text in a list, and of one that another row is about."""

You = Literal["following", "requested", "blocked", "none"]
"""What the user is to an account; `requested` waits for an answer."""
Them = Literal["", "follows_you", "asks_to_follow_you"]


class UserItem(Struct, frozen=True, omit_defaults=True):
    """An account: what `you` are to it, and where it is something to the user, what `they` are."""

    id: UserId
    name: str
    handle: str
    interest: str
    followers: int
    you: You
    they: Them = ""
    private: bool = False


class UserPage(Struct, frozen=True):
    """A page of accounts by name."""

    users: list[UserItem]
    total: int
    next_cursor: str


class PostItem(Struct, frozen=True):
    """A post in a list: a long text is cut."""

    id: PostId
    user_id: UserId
    name: str
    text: str
    date: Day


class PostPage(Struct, frozen=True):
    """A page of posts, newest first."""

    posts: list[PostItem]
    total: int
    next_cursor: str


class CommentItem(Struct, frozen=True):
    """A comment below a post."""

    user_id: UserId
    name: str
    text: str
    date: Day


class PostView(Struct, frozen=True):
    """A post in full, whether the user likes it, and its comments, oldest first."""

    id: PostId
    user_id: UserId
    name: str
    text: str
    date: Day
    edits: int
    likes: int
    liked: bool
    comments_by: CommentsBy
    comments: list[CommentItem]
    total: int
    next_cursor: str


class PostReceipt(Struct, frozen=True):
    """A post that was published or edited."""

    id: PostId
    name: str
    text: str
    comments_by: CommentsBy
    edits: int


class LikeReceipt(Struct, frozen=True):
    """A post, and whether the user likes it now."""

    id: PostId
    name: str
    text: str
    liked: bool
    likes: int


class CommentReceipt(Struct, frozen=True):
    """A post, the comment that was made on it, and how many there are."""

    id: PostId
    name: str
    text: str
    comment: str
    comments: int


class DeletionReceipt(Struct, frozen=True):
    """What was removed."""

    text: str
    likes: int
    comments: int


class NotificationItem(Struct, frozen=True, omit_defaults=True):
    """What somebody did: on which post, and with a comment its text."""

    user_id: UserId
    name: str
    kind: Kind
    date: Day
    unread: bool = False
    post_id: PostId = ""
    post: str = ""
    comment: str = ""


class NotificationPage(Struct, frozen=True):
    """A page of notifications, newest first."""

    notifications: list[NotificationItem]
    total: int
    next_cursor: str


class ListItem(Struct, frozen=True):
    """A list of accounts."""

    id: ListId
    title: str
    owner: str
    visibility: Visibility
    members: int


class ListPage(Struct, frozen=True):
    """A page of lists by title."""

    lists: list[ListItem]
    total: int
    next_cursor: str


class MemberReceipt(Struct, frozen=True):
    """A list, who was added or removed, and how many are on it now."""

    id: ListId
    title: str
    user: str
    on_list: bool
    members: int


def clipped(text: str, most: int = CLIP) -> str:
    """A text, cut if it is long."""
    return text if len(text) <= most else text[: most - 3].rstrip() + "..."


def user_item(net: Network, u: User) -> UserItem:
    """An account as the user sees it."""
    me = net.me.id
    back = net.tie(u.id, me)
    they: Them = ""
    if back is not None:
        they = "follows_you" if back.status == "accepted" else "asks_to_follow_you"
    return UserItem(u.id, u.name, u.handle, u.interest, u.followers, _you(net, u), they, u.private)


def _you(net: Network, u: User) -> You:
    me = net.me.id
    if net.block(me, u.id) is not None:
        return "blocked"
    tie = net.tie(me, u.id)
    if tie is None:
        return "none"
    return "following" if tie.status == "accepted" else "requested"


def post_item(p: Post) -> PostItem:
    """A post in a list."""
    return PostItem(p.id, p.user_id, p.name, clipped(p.text), p.posted_at[:10])


def comment_item(c: Comment) -> CommentItem:
    """A comment below a post."""
    return CommentItem(c.user_id, c.name, clipped(c.text), c.posted_at[:10])


def post_receipt(p: Post) -> PostReceipt:
    """A post that was published or edited."""
    return PostReceipt(p.id, p.name, p.text, p.comments_by, p.edits)


def notification_item(net: Network, n: Notification) -> NotificationItem:
    """A notification with the texts it is about."""
    name, day = net.users[n.user_id].name, n.at[:10]
    post = clipped(net.posts[n.post_id].text, HINT) if n.post_id else ""
    comment = clipped(net.comments[n.comment_id].text, HINT) if n.comment_id else ""
    return NotificationItem(n.user_id, name, n.kind, day, n.unread, n.post_id, post, comment)


def list_item(x: SocialList) -> ListItem:
    """A list of accounts."""
    return ListItem(x.id, x.title, x.owner, x.visibility, x.members)
