"""People: following and blocking, requests, and lists of accounts."""

from __future__ import annotations

from typing import Literal

from provegym.servers.social_media import changes, samples
from provegym.servers.social_media.access import another, ensure_no_block, own_list
from provegym.servers.social_media.state import (
    Block,
    ListId,
    ListTitle,
    Network,
    SocialList,
    User,
    UserId,
    Visibility,
)
from provegym.servers.social_media.views import (
    ListItem,
    MemberReceipt,
    UserItem,
    list_item,
    user_item,
)
from provegym.world.tool import refuse, tool

Action = Literal["follow", "unfollow", "block", "unblock"]


@tool(
    "write",
    phrases=(
        "Please {action} {user_id} on social media",
        "I want to {action} {user_id} on social media",
        "On social media, {action} {user_id}",
    ),
    refuses=(
        *("not_found", "own_account", "blocked", "already_following", "already_requested"),
        *("not_following", "already_blocked", "not_blocked"),
    ),
    sample=samples.relation,
)
def follow_or_block_user(net: Network, user_id: UserId, action: Action) -> UserItem:
    """Follow or unfollow an account, block or unblock it. A private one is asked first. Blocking
    ends follows, requests and list entries in both directions.

    Args:
        user_id: The account.
        action: What to do; unfollow also withdraws a request.
    """
    user = another(net, user_id)
    {"follow": _follow, "unfollow": _unfollow, "block": _block, "unblock": _unblock}[action](
        net, user
    )
    return user_item(net, net.users[user.id])


def _follow(net: Network, user: User) -> None:
    ensure_no_block(net, user)
    tie = net.tie(net.me.id, user.id)
    if tie is not None and tie.status == "accepted":
        refuse("already_following", f"you follow {user.name} already")
    if tie is not None:
        refuse("already_requested", f"your request to {user.name} waits for an answer")
    changes.add_tie(net, user.id)


def _unfollow(net: Network, user: User) -> None:
    tie = net.tie(net.me.id, user.id)
    if tie is None:
        refuse("not_following", f"you neither follow {user.name} nor have asked to")
    changes.drop_tie(net, tie)


def _block(net: Network, user: User) -> None:
    me = net.me.id
    if net.block(me, user.id) is not None:
        refuse("already_blocked", f"you have blocked {user.name} already")
    changes.part(net, me, user.id)
    net.blocks.put(Block(net.blocks.new_id(), me, user.id))


def _unblock(net: Network, user: User) -> None:
    row = net.block(net.me.id, user.id)
    if row is None:
        refuse("not_blocked", f"you have not blocked {user.name}")
    net.blocks.delete(row.id)


@tool(
    "write",
    phrases=(
        "For the follow request of {user_id}, {decision} it",
        "Please {decision} the request of {user_id} to follow me",
        "I want to {decision} the follow request from {user_id}",
    ),
    refuses=("not_found", "own_account", "no_request"),
    sample=samples.answer,
)
def answer_follow_request(
    net: Network, user_id: UserId, decision: Literal["accept", "decline"]
) -> UserItem:
    """Let somebody who asked follow the user's private account, or not.

    Args:
        user_id: Who asked.
        decision: The answer.
    """
    user, me = another(net, user_id), net.me.id
    tie = net.tie(user.id, me)
    if tie is None or tie.status != "requested":
        how = "does not ask to follow you" if tie is None else "follows you already"
        refuse("no_request", f"{user.name} {how}")
    if decision == "accept":
        changes.accept_tie(net, tie)
    else:
        changes.drop_tie(net, tie)
    return user_item(net, net.users[user.id])


@tool(
    "write",
    phrases=(
        "Create a[ {visibility}] social media list called {title}",
        "Start a new[ {visibility}] list of accounts with the title {title}",
        "Make me a[ {visibility}] list named {title} on social media",
    ),
    refuses=("title_taken",),
    sample=samples.new_list,
)
def create_social_list(
    net: Network, title: ListTitle, visibility: Visibility = "private"
) -> ListItem:
    """Create an empty list of accounts.

    Args:
        title: Title, unlike the user's other ones.
        visibility: Whether others can see it.
    """
    me = net.me
    for row in net.lists.where(user_id=me.id):
        if row.title.lower() == title.lower():
            refuse("title_taken", f"you have a list {row.title!r} already", id=row.id)
    new = SocialList(net.lists.new_id(), me.id, me.name, title, visibility)
    return list_item(net.lists.put(new))


@tool(
    "write",
    phrases=(
        "Please {action} {user_id} as a member of {list_id}",
        "On social media, {action} {user_id} as a member of {list_id}",
        "For {list_id}, {action} {user_id} as a member",
    ),
    refuses=(
        *("not_found", "own_account", "not_list_owner", "blocked", "already_on_list"),
        "not_on_list",
    ),
    sample=samples.members,
)
def change_social_list_members(
    net: Network, list_id: ListId, user_id: UserId, action: Literal["add", "remove"]
) -> MemberReceipt:
    """Add an account to one of the user's own lists, or remove it.

    Args:
        list_id: The list.
        user_id: The account.
        action: Whether to add or remove.
    """
    row, user = own_list(net, list_id), another(net, user_id)
    member = net.on_list(row.id, user.id)
    if action == "add":
        ensure_no_block(net, user)
        if member is not None:
            refuse("already_on_list", f"{user.name} is on {row.title!r} already")
        row = changes.add_member(net, row, user.id)
    else:
        if member is None:
            refuse("not_on_list", f"{user.name} is not on {row.title!r}")
        row = changes.drop_member(net, row, member)
    return MemberReceipt(row.id, row.title, user.name, action == "add", row.members)
