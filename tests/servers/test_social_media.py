"""The social network: feed, posts, follows, blocks, notifications and lists."""

from __future__ import annotations

from typing import Any

from provegym.servers.social_media.invariants import violations
from tests.servers.social_media_desk import Desk, desk
from tests.servers.talk import agree

# -- feed and search ---------------------------------------------------------------------------


def _feed(d: Desk, **arguments: Any) -> set[str]:
    return {p["id"] for p in d.all("get_social_feed", "posts", **arguments)}


def _by(d: Desk, authors: set[str]) -> set[str]:
    return {p.id for p in d.net.posts if p.user_id in authors}


def test_the_feed_is_what_the_followed_post_newest_first() -> None:
    for seed in range(4):
        d = desk(seed)
        rows = d.net.follows.where(follower_id=d.me, status="accepted")
        assert _feed(d) == _by(d, {f.followed_id for f in rows})
        dates = [p["date"] for p in d.all("get_social_feed", "posts")]
        assert dates == sorted(dates, reverse=True)


def test_following_brings_posts_into_the_feed_and_blocking_takes_them_out() -> None:
    d = desk()
    user = d.stranger()
    before, theirs = _feed(d), _by(d, {user.id})
    d.relate("follow", user.id)
    assert _feed(d) == before | theirs
    d.relate("block", user.id)
    assert _feed(d) == before
    d.relate("unblock", user.id)
    assert _feed(d) == before
    assert d.net.tie(d.me, user.id) is None


def test_the_feed_of_a_list_shows_its_members_unless_private_or_blocked() -> None:
    d = desk()
    made = d.ok("create_social_list", title="Lamp lovers")["id"]
    shown, secret = d.stranger(), d.stranger(private=True)
    for user in (shown, secret):
        add = {"list_id": made, "user_id": user.id, "action": "add"}
        d.ok("change_social_list_members", **add)
    assert _feed(d, list_id=made) == _by(d, {shown.id})
    d.relate("block", shown.id)
    assert _feed(d, list_id=made) == set()


def test_search_shows_exactly_the_posts_of_accounts_that_are_open_to_the_user() -> None:
    for seed in range(3):
        d = desk(seed)
        blocks = {(b.blocker_id, b.blocked_id) for b in d.net.blocks}
        followed = {f.followed_id for f in d.net.follows.where(follower_id=d.me, status="accepted")}
        visible = {
            u.id
            for u in d.net.users
            if (not u.private or u.id in followed or u.id == d.me)
            and (d.me, u.id) not in blocks
            and (u.id, d.me) not in blocks
        }
        assert visible < {u.id for u in d.net.users}
        assert {p["id"] for p in d.all("search_posts", "posts")} == _by(d, visible)


def test_a_tag_is_found_as_a_whole_and_a_word_in_part() -> None:
    d = desk()
    one, two = d.posted("Blue glass #lamp"), d.posted("Red glass #lampshade")
    found = d.ok("search_posts", query="#lamp")["posts"]
    assert [p["id"] for p in found] == [one]
    found = d.ok("search_posts", query="GLASS lamp", scope="own")["posts"]
    assert {p["id"] for p in found} == {one, two}


def test_search_filters_by_day_author_and_likes() -> None:
    d = desk()
    user = d.followed()
    post = d.post_of(user)
    day = post.posted_at[:10]
    found = d.all("search_posts", "posts", user_id=user.id, since=day, until=day)
    assert post.id in {p["id"] for p in found}
    assert {(p["user_id"], p["date"]) for p in found} == {(user.id, day)}
    liked = d.open_post()
    d.ok("like_post", post_id=liked.id, action="like")
    assert liked.id in {p["id"] for p in d.all("search_posts", "posts", scope="liked")}
    d.ok("like_post", post_id=liked.id, action="unlike")
    assert liked.id not in {p["id"] for p in d.all("search_posts", "posts", scope="liked")}


# -- posts -------------------------------------------------------------------------------------


def test_a_like_counts_and_is_told_and_all_of_it_is_taken_back() -> None:
    d = desk()
    post = d.open_post()
    before = d.session.changes()
    liked = d.ok("like_post", post_id=post.id, action="like")
    assert (liked["liked"], liked["likes"]) == (True, post.likes + 1)
    told = d.net.notifications.where(recipient_id=post.user_id, user_id=d.me, kind="like")
    assert post.id in {n.post_id for n in told}
    unliked = d.ok("like_post", post_id=post.id, action="unlike")
    assert (unliked["liked"], unliked["likes"]) == (False, post.likes)
    assert d.session.changes() == before


def test_nobody_is_told_what_they_did_themselves() -> None:
    d = desk()
    post = d.posted()
    d.ok("like_post", post_id=post, action="like")
    d.ok("comment_on_post", post_id=post, text="First")
    assert not d.net.notifications.where(post_id=post)
    shown = d.ok("get_post", post_id=post)
    assert (shown["likes"], shown["liked"], shown["total"]) == (1, True, 1)
    assert [c["text"] for c in shown["comments"]] == ["First"]


def test_mentions_follow_the_text_through_an_edit() -> None:
    d = desk()
    one, two = d.stranger(), d.followed()

    def told(user: str) -> int:
        rows = d.net.notifications.where(recipient_id=user, user_id=d.me, kind="mention")
        return len(rows)

    post = d.posted(f"Lamps with @{one.handle} and nobody@{two.handle}")
    assert (told(one.id), told(two.id)) == (1, 0)
    edited = d.ok("edit_post", post_id=post, text=f"Lamps with @{two.handle.upper()}!")
    assert edited["edits"] == 1
    assert (told(one.id), told(two.id)) == (0, 1)


def test_a_deleted_post_leaves_nothing_behind() -> None:
    d = desk()
    before = d.session.changes()
    post = d.posted(f"Lamps with @{d.stranger().handle}")
    d.ok("like_post", post_id=post, action="like")
    d.ok("comment_on_post", post_id=post, text="First")
    gone = d.ok("delete_post", post_id=post)
    assert (gone["likes"], gone["comments"]) == (1, 1)
    assert d.session.changes() == before


def test_deleting_takes_the_comments_of_others_and_what_was_told_of_them() -> None:
    d = desk()
    post = max(d.net.posts.where(user_id=d.me), key=lambda p: p.comments)
    assert post.comments
    d.ok("delete_post", post_id=post.id)
    assert not d.net.comments.where(post_id=post.id)
    assert not d.net.notifications.where(post_id=post.id)
    assert not list(violations(d.net))


def test_an_edit_is_possible_for_a_day_of_writes_and_no_longer() -> None:
    d = desk()
    post = d.posted()
    for i in range(4):
        d.ok("edit_post", post_id=post, text=f"Lamp {i}")
    other = d.posted("Another lamp")
    for _ in range(720):  # two writes, of a minute each: a day in all
        d.ok("like_post", post_id=post, action="like")
        d.ok("like_post", post_id=post, action="unlike")
    assert d.refused("edit_post", post_id=other, text="Late")["code"] == "edit_window_over"


# -- people ------------------------------------------------------------------------------------


def _counts(d: Desk, user: str) -> tuple[int, int]:
    row = d.net.users[user]
    return row.followers, row.following


def test_a_public_account_is_followed_at_once_and_a_private_one_is_asked() -> None:
    d = desk()
    public, private = d.stranger(), d.stranger(private=True)
    mine = _counts(d, d.me)
    assert d.relate("follow", public.id)["you"] == "following"
    assert d.relate("follow", private.id)["you"] == "requested"
    assert _counts(d, public.id) == (public.followers + 1, public.following)
    assert _counts(d, private.id) == (private.followers, private.following)
    assert _counts(d, d.me) == (mine[0], mine[1] + 1)
    kinds = {u.id: d.net.notifications.where(recipient_id=u.id, user_id=d.me)[-1].kind
             for u in (public, private)}  # fmt: skip
    assert kinds == {public.id: "follow", private.id: "follow_request"}


def test_unfollowing_takes_a_follow_or_a_request_back() -> None:
    d = desk()
    before = d.session.changes()
    for user in (d.stranger(), d.stranger(private=True)):
        d.relate("follow", user.id)
        assert d.relate("unfollow", user.id)["you"] == "none"
    assert d.session.changes() == before


def test_blocking_ends_follows_requests_and_list_entries_both_ways() -> None:
    d = desk()
    user = d.asking()
    made = d.ok("create_social_list", title="Lamp lovers")["id"]
    d.ok("change_social_list_members", list_id=made, user_id=user.id, action="add")
    if d.net.tie(d.me, user.id) is None:
        d.relate("follow", user.id)
    shown = d.relate("block", user.id)
    assert shown["you"] == "blocked"
    assert "they" not in shown
    assert d.net.tie(user.id, d.me) is None
    assert d.net.tie(d.me, user.id) is None
    assert d.net.lists[made].members == 0
    assert not list(violations(d.net))


def test_comments_of_blocked_accounts_are_not_shown() -> None:
    d = desk()
    post = next(
        p
        for p in d.net.posts.where(user_id=d.me)
        if any(c.user_id not in d.net.cut_off() for c in d.net.comments.where(post_id=p.id))
    )
    shown = d.ok("get_post", post_id=post.id)
    user = shown["comments"][0]["user_id"]
    gone = sum(c.user_id == user for c in d.net.comments.where(post_id=post.id))
    d.relate("block", user)
    assert d.ok("get_post", post_id=post.id)["total"] == shown["total"] - gone
    told = d.all("list_social_notifications", "notifications")
    assert user not in {n["user_id"] for n in told}


def test_an_accepted_request_makes_a_follower_and_a_declined_one_leaves_no_trace() -> None:
    d = desk()
    one = d.asking()
    mine = _counts(d, d.me)
    given = d.ok("answer_follow_request", user_id=one.id, decision="accept")
    assert given["they"] == "follows_you"
    assert _counts(d, d.me) == (mine[0] + 1, mine[1])
    two = d.asking()
    assert "they" not in d.ok("answer_follow_request", user_id=two.id, decision="decline")
    assert _counts(d, d.me) == (mine[0] + 1, mine[1])
    asked = d.all("list_social_notifications", "notifications", kind="follow_request")
    assert not {one.id, two.id} & {n["user_id"] for n in asked}
    follows = d.all("list_social_notifications", "notifications", kind="follow")
    assert one.id in {n["user_id"] for n in follows}
    assert two.id not in {n["user_id"] for n in follows}


def test_groups_of_accounts_are_those_of_the_rows() -> None:
    d = desk()

    def group(name: str) -> set[str]:
        return {u["id"] for u in d.all("search_social_users", "users", group=name)}

    assert group("following") == d.net.followed(d.me)
    assert d.asked().id in group("requested")
    assert d.blocked().id in group("blocked")
    assert d.blocked(by_me=False).id not in group("blocked")
    assert d.asking().id not in group("followers")
    assert len(group("followers")) == d.net.me.followers


def test_people_are_found_by_name_handle_and_interest() -> None:
    d = desk()
    user = d.stranger()
    for query in (user.name.upper(), f"@{user.handle}", f"{user.interest} {user.name}"):
        found = d.ok("search_social_users", query=query)["users"]
        assert [u["id"] for u in found] == [user.id]


# -- notifications and lists -------------------------------------------------------------------


def test_a_comment_reads_what_was_told_of_its_post() -> None:
    d = desk(3)
    unread = d.all("list_social_notifications", "notifications", status="unread")
    post = next(n["post_id"] for n in unread if n["kind"] in ("like", "comment"))
    d.ok("comment_on_post", post_id=post, text="Thank you")
    after = d.all("list_social_notifications", "notifications", status="unread")
    assert after == [n for n in unread if n.get("post_id") != post]
    everything = d.all("list_social_notifications", "notifications")
    assert post in {n.get("post_id") for n in everything}


def test_lists_are_shown_with_who_is_on_them() -> None:
    d = desk()
    made = d.ok("create_social_list", title="Lamp lovers", visibility="public")
    assert (made["owner"], made["members"]) == (d.net.me.name, 0)
    user = d.stranger()
    given = {"list_id": made["id"], "user_id": user.id}
    added = d.ok("change_social_list_members", **given, action="add")
    assert (added["user"], added["on_list"], added["members"]) == (user.name, True, 1)
    on = d.ok("search_social_users", list_id=made["id"])["users"]
    assert [u["id"] for u in on] == [user.id]
    with_them = d.all("list_social_lists", "lists", user_id=user.id, owner="me")
    assert [x["id"] for x in with_them] == [made["id"]]
    assert d.ok("change_social_list_members", **given, action="remove")["members"] == 0


def test_private_lists_are_their_owners_alone() -> None:
    for seed in range(3):
        d = desk(seed)
        shown = d.all("list_social_lists", "lists")
        owner = d.net.me.name
        assert {x["visibility"] for x in shown if x["owner"] != owner} == {"public"}
        assert "private" in {x["visibility"] for x in shown if x["owner"] == owner}


# -- worlds ------------------------------------------------------------------------------------


def test_the_order_of_independent_writes_does_not_show_in_the_changes() -> None:
    one, two = desk(), desk()
    post, mine = one.open_post(comments_by="everyone"), one.net.posts.where(user_id=one.me)[-1]
    users = one.users()
    first, second, third = next(users), next(users), one.asking()
    calls: list[tuple[str, dict[str, Any]]] = [
        ("publish_post", {"text": f"Lamps with @{first.handle}"}),
        ("publish_post", {"text": "Lamps without company"}),
        ("like_post", {"post_id": post.id, "action": "like"}),
        ("comment_on_post", {"post_id": post.id, "text": "Nice"}),
        ("comment_on_post", {"post_id": post.id, "text": "Very nice"}),
        ("comment_on_post", {"post_id": mine.id, "text": "Thanks"}),
        ("follow_or_block_user", {"user_id": first.id, "action": "follow"}),
        ("follow_or_block_user", {"user_id": second.id, "action": "block"}),
        ("answer_follow_request", {"user_id": third.id, "decision": "accept"}),
        ("create_social_list", {"title": "Lamp lovers"}),
    ]
    agree(one, calls, two)
