"""The rows of a social network, and what its tools ask of them.

Who blocks whom decides first, then whether an account is private. Counters in rows (likes,
followers, members, ...) are kept equal to the rows they count, and every like, comment, mention
and follow of somebody else's has its one notification; `invariants` says it in full.
"""

from __future__ import annotations

import re
from typing import Annotated, ClassVar, Literal

from provegym.world.fields import Format, Ref, Stamp
from provegym.world.server import State
from provegym.world.table import Row, table

UserId = Annotated[str, Ref("social_media.users")]
PostId = Annotated[str, Ref("social_media.posts")]
CommentId = Annotated[str, Ref("social_media.comments")]
ListId = Annotated[str, Ref("social_media.lists")]

Kind = Literal["like", "comment", "mention", "follow", "follow_request"]
"""What a notification tells of."""
CommentsBy = Literal["everyone", "followers", "nobody"]
Visibility = Literal["public", "private"]

POST_LENGTH, TITLE_LENGTH = 280, 40
EDIT_HOURS, MOST_EDITS = 24, 5
"""How long after publishing, and how often, a post can be edited."""


def _short(most: int) -> Format:
    return Format(
        f"text_{most}",
        f"At most {most} characters.",
        lambda text: len(text) <= most and text.strip(),
    )


PostText = Annotated[str, _short(POST_LENGTH)]
ListTitle = Annotated[str, _short(TITLE_LENGTH)]


class User(Row, frozen=True):
    """An account. Only who was let follow a private one sees its posts."""

    label: ClassVar[str] = "{name}"
    id: UserId
    name: str
    handle: str
    interest: str
    private: bool
    followers: int = 0
    following: int = 0
    posts: int = 0


class Post(Row, frozen=True):
    """A post by `name`. `comments_by` is who else may comment on it."""

    label: ClassVar[str] = 'the post "{text}" from {name}'
    id: PostId
    user_id: UserId
    name: str
    text: PostText
    posted_at: Stamp
    comments_by: CommentsBy
    likes: int = 0
    comments: int = 0
    edits: int = 0


class Comment(Row, frozen=True):
    """A comment by `name` on a post."""

    label: ClassVar[str] = 'the comment "{text}" from {name}'
    id: CommentId
    post_id: PostId
    user_id: UserId
    name: str
    text: PostText
    posted_at: Stamp


class Like(Row, frozen=True):
    """That somebody likes a post."""

    id: str
    post_id: PostId
    user_id: UserId


class Follow(Row, frozen=True):
    """That one account follows another; a private one is first asked."""

    id: str
    follower_id: UserId
    followed_id: UserId
    status: Literal["accepted", "requested"]


class Block(Row, frozen=True):
    """That one account has blocked another: neither sees anything of the other."""

    id: str
    blocker_id: UserId
    blocked_id: UserId


class Notification(Row, frozen=True):
    """What `user_id` did, told to the recipient; `post_id` and `comment_id` where it was there."""

    id: str
    recipient_id: UserId
    kind: Kind
    user_id: UserId
    post_id: PostId
    comment_id: CommentId
    at: Stamp
    unread: bool


class SocialList(Row, frozen=True):
    """A named list of accounts; others see it if it is public."""

    label: ClassVar[str] = 'the list "{title}"'
    id: ListId
    user_id: UserId
    owner: str
    title: ListTitle
    visibility: Visibility
    members: int = 0


class Membership(Row, frozen=True):
    """That an account is on a list."""

    id: str
    list_id: ListId
    user_id: UserId


class Network(State):
    """One session's view of the network, seen by the user."""

    server = "social_media"
    users = table(User, "usr")
    posts = table(Post, "pst")
    comments = table(Comment, "cmt")
    likes = table(Like, "lik")
    follows = table(Follow, "flw")
    blocks = table(Block, "blk")
    notifications = table(Notification, "ntf")
    lists = table(SocialList, "lst")
    memberships = table(Membership, "mbr")

    @property
    def me(self) -> User:
        """The user's account."""
        return self.users.where(name=self.cast.user.name)[0]

    def tie(self, follower: str, followed: str) -> Follow | None:
        """The row by which one account follows another, or asks to."""
        found = self.follows.where(follower_id=follower, followed_id=followed)
        return found[0] if found else None

    def follows_them(self, follower: str, followed: str) -> bool:
        """Whether one account follows another, accepted."""
        tie = self.tie(follower, followed)
        return tie is not None and tie.status == "accepted"

    def followed(self, follower: str) -> set[str]:
        """Ids of the accounts that one follows, accepted."""
        rows = self.follows.where(follower_id=follower, status="accepted")
        return {row.followed_id for row in rows}

    def block(self, blocker: str, blocked: str) -> Block | None:
        """The row by which one account blocks another."""
        found = self.blocks.where(blocker_id=blocker, blocked_id=blocked)
        return found[0] if found else None

    def cut_off(self) -> set[str]:
        """Ids of the accounts with a block between them and the user, in either direction."""
        me = self.me.id
        return {b.blocked_id for b in self.blocks.where(blocker_id=me)} | {
            b.blocker_id for b in self.blocks.where(blocked_id=me)
        }

    def hidden(self) -> set[str]:
        """Ids of the accounts whose posts the user does not see."""
        private = {u.id for u in self.users.where(private=True)}
        return (private - self.followed(self.me.id) - {self.me.id}) | self.cut_off()

    def like_of(self, user: str, post: str) -> Like | None:
        """The row by which an account likes a post."""
        found = self.likes.where(post_id=post, user_id=user)
        return found[0] if found else None

    def on_list(self, list_id: str, user: str) -> Membership | None:
        """The row by which an account is on a list."""
        found = self.memberships.where(list_id=list_id, user_id=user)
        return found[0] if found else None

    def mentioned(self, text: str, author: str) -> set[str]:
        """Ids of the accounts, but for the author's, whose @handle stands in a text."""
        users = (self.users.where(handle=handle) for handle in handles(text))
        return {found[0].id for found in users if found} - {author}


_HANDLE = re.compile(r"(?<!\w)@(\w+)")


def handles(text: str) -> frozenset[str]:
    """What stands after an @ in a text, in lower case."""
    return frozenset(_HANDLE.findall(text.lower())) if "@" in text else frozenset()
