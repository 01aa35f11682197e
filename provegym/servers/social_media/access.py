"""Who may see and do what: each check gives the row or refuses."""

from __future__ import annotations

from typing import NoReturn

from provegym.servers.social_media.state import Network, Post, SocialList, User
from provegym.world.tool import refuse


def _missing(noun: str, row_id: str, tool: str) -> NoReturn:
    refuse("not_found", f"there is no {noun} {row_id[:40]!r}; {tool} shows ids", id=row_id[:80])


def the_user(net: Network, user_id: str) -> User:
    """The account of that id, or `not_found`."""
    found = net.users.get(user_id)
    return found if found is not None else _missing("account", user_id, "search_social_users")


def another(net: Network, user_id: str) -> User:
    """The account of somebody else: else `not_found` or `own_account`."""
    found = the_user(net, user_id)
    if found.id == net.me.id:
        refuse("own_account", f"{found.name} is your own account; name somebody else's")
    return found


def ensure_no_block(net: Network, user: User) -> None:
    """Refuse `blocked` where the user has blocked the account, or it has blocked the user."""
    if net.block(net.me.id, user.id) is not None:
        refuse("blocked", f"you have blocked {user.name}; unblock them first", by="you")
    if net.block(user.id, net.me.id) is not None:
        refuse("blocked", f"{user.name} has blocked you", by=user.name)


def ensure_shown(net: Network, user: User) -> None:
    """Refuse where the user does not see an account's posts: `blocked`, `private_account`."""
    ensure_no_block(net, user)
    me = net.me.id
    if user.private and user.id != me and not net.follows_them(me, user.id):
        asked = net.tie(me, user.id) is not None
        how = "your request is still open" if asked else "ask to follow them first"
        refuse("private_account", f"{user.name} shows posts to followers only; {how}")


def the_post(net: Network, post_id: str) -> Post:
    """A post that the user sees: else `not_found`, `blocked` or `private_account`."""
    found = net.posts.get(post_id)
    if found is None:
        _missing("post", post_id, "search_posts")
    ensure_shown(net, net.users[found.user_id])
    return found


def own_post(net: Network, post_id: str) -> Post:
    """A post of the user's own: else `not_found` or `not_author`."""
    found = net.posts.get(post_id)
    if found is None:
        _missing("post", post_id, "search_posts")
    if found.user_id != net.me.id:
        refuse("not_author", f"{found.name} wrote this post; you can change only your own")
    return found


def shows_list(net: Network, row: SocialList) -> bool:
    """Whether the user sees a list: an own one, or a public one without a block."""
    me = net.me.id
    if row.user_id == me:
        return True
    return row.visibility == "public" and row.user_id not in net.cut_off()


def the_list(net: Network, list_id: str) -> SocialList:
    """A list that the user sees, or `not_found`."""
    found = net.lists.get(list_id)
    if found is None or not shows_list(net, found):
        _missing("list that you can see called", list_id, "list_social_lists")
    return found


def own_list(net: Network, list_id: str) -> SocialList:
    """A list of the user's own: else `not_found` or `not_list_owner`."""
    found = the_list(net, list_id)
    if found.user_id != net.me.id:
        refuse("not_list_owner", f"{found.owner} keeps {found.title!r}; change only your own lists")
    return found


def ensure_may_comment(net: Network, post: Post) -> None:
    """Refuse `comments_closed` where the author takes no comments from the user."""
    me = net.me.id
    if post.user_id == me or post.comments_by == "everyone":
        return
    if post.comments_by == "nobody" or not net.follows_them(me, post.user_id):
        text = f"{post.name} lets {post.comments_by} comment on this post"
        refuse("comments_closed", text, comments_by=post.comments_by)


def ensure_mentionable(net: Network, text: str) -> None:
    """Refuse `blocked` where a text mentions somebody across a block."""
    me = net.me.id
    for user_id in sorted(net.mentioned(text, me)):
        ensure_no_block(net, net.users[user_id])


def ensure_new(net: Network, text: str) -> None:
    """Refuse `duplicate_post` where the user has a post of that text."""
    same = [p for p in net.posts.where(user_id=net.me.id) if p.text == text]
    if same:
        day = same[0].posted_at[:10]
        refuse("duplicate_post", f"you posted this text on {day}; change it", id=same[0].id)
