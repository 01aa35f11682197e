"""A session of the social network and how tests talk to it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from provegym.servers.social_media import SERVER
from provegym.servers.social_media.state import Network, Post, SocialList, User
from provegym.world.world import World
from tests.servers.talk import Talk


@lru_cache
def world(seed: int) -> World:
    return World(seed, [SERVER])


@dataclass(frozen=True)
class Desk(Talk):
    """One session and the typed view of it."""

    net: Network

    @property
    def me(self) -> str:
        return self.net.me.id

    def relate(self, action: str, user: str) -> Any:
        return self.ok("follow_or_block_user", user_id=user, action=action)

    def posted(self, text: str = "The lamp is blue", **more: Any) -> str:
        """A new post of the user's."""
        post: str = self.ok("publish_post", text=text, **more)["id"]
        return post

    def users(self, *, private: bool = False) -> Iterator[User]:
        """Others with posts and no block or follow between them and the user."""
        cut = self.net.cut_off()
        for u in self.net.users.where(private=private):
            tied = self.net.tie(self.me, u.id) or self.net.tie(u.id, self.me)
            if u.id not in cut and u.id != self.me and tied is None and u.posts:
                yield u

    def stranger(self, *, private: bool = False) -> User:
        return next(self.users(private=private))

    def followed(self) -> User:
        """Somebody with posts whom the user follows."""
        return next(u for u in self.net.users if u.id in self.net.followed(self.me) and u.posts)

    def asked(self) -> User:
        """A private account that has not answered the user's request."""
        return self.net.users[
            self.net.follows.where(follower_id=self.me, status="requested")[0].followed_id
        ]

    def asking(self) -> User:
        """Somebody who asks to follow the user."""
        return self.net.users[
            self.net.follows.where(followed_id=self.me, status="requested")[0].follower_id
        ]

    def blocked(self, *, by_me: bool = True) -> User:
        """Somebody with posts whom the user has blocked, or who has blocked the user."""
        mine = self.net.blocks.where(blocker_id=self.me)
        theirs = self.net.blocks.where(blocked_id=self.me)
        ids = {b.blocked_id for b in mine} if by_me else {b.blocker_id for b in theirs}
        return next(u for u in self.net.users if u.id in ids and u.posts)

    def post_of(self, user: User, **equal: Any) -> Post:
        return self.net.posts.where(user_id=user.id, **equal)[0]

    def open_post(self, **equal: Any) -> Post:
        """Somebody's public post that the user has not liked."""
        hidden = self.net.hidden() | {self.me}
        return next(
            p
            for p in self.net.posts
            if p.user_id not in hidden
            and self.net.like_of(self.me, p.id) is None
            and all(getattr(p, name) == value for name, value in equal.items())
        )

    def a_list(self, *, own: bool = True, visibility: str = "public") -> SocialList:
        """A list of the user's, or of somebody else's without a block."""
        cut = self.net.cut_off()
        return next(
            x
            for x in self.net.lists.where(visibility=visibility)
            if (x.user_id == self.me) == own and x.user_id not in cut
        )

    def all(self, tool: str, noun: str, **arguments: Any) -> list[Any]:
        """The items of all pages."""
        found, cursor = [], ""
        while True:
            part = self.ok(tool, limit=50, cursor=cursor, **arguments)
            found += part[noun]
            cursor = part["next_cursor"]
            if not cursor:
                assert len(found) == part["total"]
                return found


def desk(seed: int = 11) -> Desk:
    session = world(seed).open()
    net = session.state("social_media")
    assert isinstance(net, Network)
    return Desk(session, net)
