"""A network's rows: everyone in the cast and their companies, who follow, post and block."""

from __future__ import annotations

from collections import Counter, defaultdict
from datetime import datetime, timedelta
from random import Random

from msgspec.structs import replace

from provegym.servers.social_media.state import (
    MOST_EDITS,
    Block,
    Comment,
    CommentsBy,
    Follow,
    Kind,
    Like,
    Membership,
    Notification,
    Post,
    SocialList,
    User,
    handles,
)
from provegym.servers.social_media.words import (
    COMMENTS,
    COMPANY_SAYINGS,
    DAYS,
    LIST_TITLES,
    MENTIONS,
    SAYINGS,
    THINGS,
)
from provegym.world.cast import Cast
from provegym.world.server import Seeds

HISTORY_DAYS = 90
UNREAD_DAYS = 4
"""What the user was told in the last days is not read yet."""
FOLLOWING, ASKED, FOLLOWERS, ASKING = 16, 3, 14, 5
"""Accounts that the user follows and has asked, that follow the user and that ask to."""
STRANGERS = 4
"""Private accounts that the user surely does not follow."""
BLOCKS = 4
"""Accounts that the user blocks, and as many that block the user."""
OWN_POSTS, RECENT = 14, 4
"""Posts of the user's, and those of them that can still be edited."""
OWN_LISTS, OTHER_LISTS = 4, 8
_LETTERS = "0123456789abcdefghjkmnpqrstvwxyz"
_PAIRS = tuple(a + b for a in _LETTERS for b in _LETTERS)


def seed(cast: Cast, rnd: Random) -> Seeds:
    """Rows of every table for one world."""
    return _Crowd(cast, rnd).rows()


class _Crowd:
    """Collects the rows; counters are filled in at the end."""

    def __init__(self, cast: Cast, rnd: Random) -> None:
        self.cast, self.rnd, self.start = cast, rnd, cast.start
        self.just_now = (self.start - timedelta(minutes=1)).isoformat()
        self.lately = (self.start - timedelta(days=UNREAD_DAYS)).isoformat()
        self._used: set[str] = set()
        self._texts: set[str] = set()
        self.users = self._users()
        self.me = self.users[0]
        self.by_handle = {u.handle: u for u in self.users}
        self.apart: set[tuple[str, str]] = set()
        self.fans: dict[str, list[User]] = defaultdict(list)
        """Who follows an account."""
        self.pairs: set[tuple[str, str]] = set()
        self.accepted: set[tuple[str, str]] = set()
        """Who follows whom or asks to, and of those who was let."""
        self.blocks: list[Block] = []
        self.follows: list[Follow] = []
        self.posts: list[Post] = []
        self.comments: list[Comment] = []
        self.likes: list[Like] = []
        self.told: list[Notification] = []
        self.lists: list[SocialList] = []
        self.memberships: list[Membership] = []

    def rows(self) -> Seeds:
        self._ties()
        self._publish()
        self._lists()
        self.told.sort(key=lambda n: (n.at, n.id))
        return {
            "users": self._counted_users(),
            "posts": self._counted_posts(),
            "comments": self.comments,
            "likes": self.likes,
            "follows": self.follows,
            "blocks": self.blocks,
            "notifications": self.told,
            "lists": self.lists,
            "memberships": self.memberships,
        }

    def id(self, prefix: str) -> str:
        """A fresh id."""
        while True:
            bits = self.rnd.getrandbits(30)
            new = f"{prefix}_{_PAIRS[bits & 1023]}{_PAIRS[bits >> 10 & 1023]}{_PAIRS[bits >> 20]}"
            if new not in self._used:
                self._used.add(new)
                return new

    # -- accounts --------------------------------------------------------------------------

    def _users(self) -> list[User]:
        """The user first, whose account is private; then the other people and the companies."""
        names = [p.name for p in self.cast.people] + list(self.cast.companies)
        taken: set[str] = set()
        interests = list(THINGS)
        rows = []
        for i, name in enumerate(names):
            handle = _handle(name)
            while handle in taken:
                handle += "_"
            taken.add(handle)
            private = i == 0 or (i < len(self.cast.people) and self.rnd.random() < 0.3)
            interest = self.rnd.choice(interests)
            rows.append(User(self.id("usr"), name, handle, interest, private))
        return rows

    def _ties(self) -> None:
        """Blocks, then follows of and by the user, then those among the others."""
        others = self.rnd.sample(self.users[1:], len(self.users) - 1)
        people = [u for u in others if u.name not in self.cast.companies]
        for user in people[:BLOCKS]:
            self._block(self.me, user)
        for user in people[BLOCKS : 2 * BLOCKS]:
            self._block(user, self.me)
        self._tie_user([u for u in others if (u.id, self.me.id) not in self.apart])
        for _ in range(5):
            self._block(*self.rnd.sample(others, 2))
        for user in others:
            for other in self.rnd.sample(others, self.rnd.choice((1, 2, 2, 3))):
                asks = other.private and self.rnd.random() < 0.15
                self._follow(user, other, asks=asks)

    def _tie_user(self, near: list[User]) -> None:
        rnd, me = self.rnd, self.me
        private = [u for u in near if u.private]
        for user in private[:ASKED]:
            self._follow(me, user, asks=True)
        strangers = {u.id for u in private[: ASKED + STRANGERS]}
        free = [u for u in near if u.id not in strangers]
        for user in free[:FOLLOWING]:
            self._follow(me, user)
        people = [u for u in near if u.name not in self.cast.companies]
        for i, user in enumerate(rnd.sample(people, FOLLOWERS + ASKING)):
            self._follow(user, me, asks=i >= FOLLOWERS)

    def _block(self, one: User, other: User) -> None:
        if (one.id, other.id) not in self.apart:
            self.apart |= {(one.id, other.id), (other.id, one.id)}
            self.blocks.append(Block(self.id("blk"), one.id, other.id))

    def _follow(self, one: User, other: User, *, asks: bool = False) -> None:
        pair = one.id, other.id
        if one is other or pair in self.apart or pair in self.pairs:
            return
        self.pairs.add(pair)
        if not asks:
            self.fans[other.id].append(one)
            self.accepted.add(pair)
        status = "requested" if asks else "accepted"
        self.follows.append(Follow(self.id("flw"), *pair, status))  # type: ignore[arg-type]
        self._tell(other, "follow_request" if asks else "follow", one, self._ago().isoformat())

    def _tell(
        self, whom: User, kind: Kind, actor: User, when: str, post: str = "", comment: str = ""
    ) -> None:
        if whom is not actor:
            new, unread = self.id("ntf"), when > self.lately
            self.told.append(
                Notification(new, whom.id, kind, actor.id, post, comment, when, unread)
            )

    # -- posts -----------------------------------------------------------------------------

    def _publish(self) -> None:
        rnd = self.rnd
        for i in range(OWN_POSTS):
            minutes = rnd.randrange(30, 20 * 60) if i < RECENT else 0
            when = self.start - timedelta(minutes=minutes) if minutes else self._ago(2)
            self._post(self.me, when, edits=MOST_EDITS if i == 0 else rnd.choice((0, 0, 1)))
        for user in self.users[1:]:
            for _ in range(rnd.choice((0, 1, 1, 2, 2, 3))):
                self._post(user, self._ago(), edits=rnd.choice((0, 0, 0, 0, 1, 2)))
        self.posts.sort(key=lambda p: (p.posted_at, p.id))

    def _post(self, author: User, when: datetime, *, edits: int) -> None:
        settings: tuple[CommentsBy, ...] = ("everyone",) * 6 + ("followers", "followers", "nobody")
        post = Post(
            *(self.id("pst"), author.id, author.name, self._text(author), when.isoformat()),
            comments_by=self.rnd.choice(settings),
            edits=edits,
        )
        self.posts.append(post)
        for handle in sorted(handles(post.text)):
            self._tell(self.by_handle[handle], "mention", author, post.posted_at, post.id)
        self._react(author, post, when)

    def _react(self, author: User, post: Post, when: datetime) -> None:
        """Likes and comments of who follows the author, or saw the post where it is public."""
        rnd, fans = self.rnd, self.fans[author.id]
        crowd = fans if author.private else fans + self._passers(author, fans)
        seen = rnd.sample(crowd, min(len(crowd), 6))
        for user in seen[: rnd.choice((0, 1, 1, 2, 2, 4))]:
            self.likes.append(Like(self.id("lik"), post.id, user.id))
            self._tell(author, "like", user, self._after(when), post.id)
        if post.comments_by == "nobody":
            return
        if post.comments_by == "followers":
            seen = [u for u in seen if (u.id, author.id) in self.accepted]
        for user in seen[-rnd.choice((1, 1, 2, 3)) :] if rnd.random() < 0.7 else ():
            self._comment(author, post, user, self._after(when))

    def _passers(self, author: User, fans: list[User]) -> list[User]:
        """Some who do not follow a public account but come across its posts."""
        known = {u.id for u in fans}
        return [
            u
            for u in self.rnd.sample(self.users, 3)
            if u is not author and u.id not in known and (u.id, author.id) not in self.apart
        ]

    def _comment(self, author: User, post: Post, user: User, when: str) -> None:
        text = self.rnd.choice(COMMENTS)
        row = Comment(self.id("cmt"), post.id, user.id, user.name, text, when)
        self.comments.append(row)
        self._tell(author, "comment", user, when, post.id, row.id)

    def _text(self, author: User) -> str:
        """Something that nobody has posted yet, with the tag of what the author is into."""
        rnd, company = self.rnd, author.name in self.cast.companies
        while True:
            kinds = COMPANY_SAYINGS if company else MENTIONS if rnd.random() < 0.1 else SAYINGS
            tag = author.interest if rnd.random() < 0.7 else rnd.choice(list(THINGS))
            text = self._filled(rnd.choice(kinds), author, tag)
            if text not in self._texts:
                self._texts.add(text)
                return text

    def _filled(self, template: str, author: User, tag: str) -> str:
        rnd = self.rnd
        said = template.format(
            thing=rnd.choice(THINGS[tag]),
            city=rnd.choice(self.cast.people).city,
            day=rnd.choice(DAYS),
            handle=self._mentioned(author).handle if "{handle}" in template else "",
            amount=f"{rnd.randrange(20, 400)}.00",
            percent=rnd.randrange(5, 40),
        )
        return f"{said[0].upper()}{said[1:]} #{tag}"

    def _mentioned(self, author: User) -> User:
        """Somebody else, rather often the user."""
        near = author is not self.me and (author.id, self.me.id) not in self.apart
        if near and self.rnd.random() < 0.3:
            return self.me
        return self.rnd.choice([u for u in self.users if u is not author])

    def _ago(self, least: int = 1) -> datetime:
        """A moment some days before the start, by day; recent ones are more frequent."""
        days = least + int(HISTORY_DAYS * self.rnd.random() ** 2)
        return self.start - timedelta(days, minutes=120 - int(900 * self.rnd.random()))

    def _after(self, when: datetime) -> str:
        """Some time later, but before the start."""
        later = when + timedelta(minutes=2 + int(2000 * self.rnd.random()))
        return later.isoformat() if later < self.start else self.just_now

    # -- lists and counters ----------------------------------------------------------------

    def _lists(self) -> None:
        titles = self.rnd.sample(LIST_TITLES, OWN_LISTS + OTHER_LISTS)
        owners = [self.me] * OWN_LISTS + self.rnd.sample(self.users[1:], OTHER_LISTS)
        for i, (title, owner) in enumerate(zip(titles, owners, strict=True)):
            private = i % 4 == 3 or (i % 4 == 0 and i < OWN_LISTS)
            self._list(owner, title, private=private)

    def _list(self, owner: User, title: str, *, private: bool) -> None:
        new, rnd = self.id("lst"), self.rnd
        friends = [u for u in self.users if (owner.id, u.id) in self.pairs]
        crowd = rnd.sample(friends, min(len(friends), 5)) + rnd.sample(self.users, 4)
        members = {u.id for u in crowd if u is not owner and (u.id, owner.id) not in self.apart}
        self.memberships += [Membership(self.id("mbr"), new, user) for user in sorted(members)]
        self.lists.append(
            SocialList(
                *(new, owner.id, owner.name, title),
                visibility="private" if private else "public",
                members=len(members),
            )
        )

    def _counted_users(self) -> list[User]:
        accepted = [f for f in self.follows if f.status == "accepted"]
        followers = Counter(f.followed_id for f in accepted)
        following = Counter(f.follower_id for f in accepted)
        posts = Counter(p.user_id for p in self.posts)
        return [
            replace(u, followers=followers[u.id], following=following[u.id], posts=posts[u.id])
            for u in self.users
        ]

    def _counted_posts(self) -> list[Post]:
        likes = Counter(row.post_id for row in self.likes)
        comments = Counter(c.post_id for c in self.comments)
        return [replace(p, likes=likes[p.id], comments=comments[p.id]) for p in self.posts]


def _handle(name: str) -> str:
    """A name as a handle: "Ann O'Neil" is ann_oneil."""
    words = ["".join(c for c in word.lower() if c.isalnum()) for word in name.split()]
    return "_".join(word for word in words if word)
