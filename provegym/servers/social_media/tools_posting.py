"""Writing: posts, edits, comments and likes."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Literal

from provegym.servers.social_media import changes, samples
from provegym.servers.social_media.access import (
    ensure_may_comment,
    ensure_mentionable,
    ensure_new,
    own_post,
    the_post,
)
from provegym.servers.social_media.state import (
    EDIT_HOURS,
    MOST_EDITS,
    CommentsBy,
    Network,
    Post,
    PostId,
    PostText,
)
from provegym.servers.social_media.views import (
    CommentReceipt,
    DeletionReceipt,
    LikeReceipt,
    PostReceipt,
    clipped,
    post_receipt,
)
from provegym.world.tool import refuse, tool


@tool(
    "write",
    phrases=(
        "Post {text} on social media[ and let {comments_by} comment]",
        "Publish {text} on my social media account[ with comments open to {comments_by}]",
        "Share {text} with my followers on social media[ and allow comments by {comments_by}]",
    ),
    refuses=("duplicate_post", "blocked"),
    sample=samples.publish,
)
def publish_post(net: Network, text: PostText, comments_by: CommentsBy = "everyone") -> PostReceipt:
    """Publish a post. Accounts mentioned by their @handle are told.

    Args:
        text: The post.
        comments_by: Who may comment.
    """
    me = net.me
    ensure_new(net, text)
    ensure_mentionable(net, text)
    post = Post(net.posts.new_id(), me.id, me.name, text, net.stamp, comments_by)
    return post_receipt(changes.add_post(net, post))


@tool(
    "write",
    phrases=(
        "Edit {post_id} so that it says {text}",
        "Change the text of {post_id} to {text}",
        "Rewrite {post_id} to {text}",
    ),
    refuses=(
        *("not_found", "not_author", "edit_window_over", "edit_limit", "no_change"),
        *("duplicate_post", "blocked"),
    ),
    sample=samples.edit,
)
def edit_post(net: Network, post_id: PostId, text: PostText) -> PostReceipt:
    """Change the text of one of the user's own posts, within a day and at most five times.

    Args:
        post_id: The post.
        text: The new text.
    """
    post = own_post(net, post_id)
    _ensure_editable(net, post)
    if post.text == text:
        refuse("no_change", "the post has this text already")
    ensure_new(net, text)
    ensure_mentionable(net, text)
    return post_receipt(changes.reword(net, post, text))


def _ensure_editable(net: Network, post: Post) -> None:
    last = datetime.fromisoformat(post.posted_at) + timedelta(hours=EDIT_HOURS)
    if last < net.now:
        text = f"posted at {post.posted_at}; a post can be edited for {EDIT_HOURS} hours"
        refuse("edit_window_over", text, edit_hours=EDIT_HOURS)
    if post.edits >= MOST_EDITS:
        text = f"edited {post.edits} times, which is the most; publish a new post"
        refuse("edit_limit", text, edits=post.edits)


@tool(
    "write",
    phrases=(
        "Delete {post_id}",
        "Take {post_id} down",
        "Remove {post_id} from my account",
    ),
    refuses=("not_found", "not_author"),
    sample=samples.delete,
)
def delete_post(net: Network, post_id: PostId) -> DeletionReceipt:
    """Delete one of the user's own posts for good, with its likes and comments.

    Args:
        post_id: The post.
    """
    post = own_post(net, post_id)
    changes.remove_post(net, post)
    return DeletionReceipt(clipped(post.text), post.likes, post.comments)


@tool(
    "write",
    phrases=(
        "Comment {text} on {post_id}",
        "Leave the comment {text} below {post_id}",
        "Reply {text} to {post_id}",
    ),
    refuses=(*("not_found", "blocked", "private_account", "comments_closed", "duplicate_comment"),),
    sample=samples.comment,
)
def comment_on_post(net: Network, post_id: PostId, text: PostText) -> CommentReceipt:
    """Comment on a post that is open to the user's comments; its author is told.

    Args:
        post_id: The post.
        text: The comment.
    """
    post = the_post(net, post_id)
    ensure_may_comment(net, post)
    if net.comments.where(post_id=post.id, user_id=net.me.id, text=text):
        refuse("duplicate_comment", "you have made this comment on this post already")
    post = changes.add_comment(net, post, text)
    return CommentReceipt(post.id, post.name, clipped(post.text), text, post.comments)


@tool(
    "write",
    phrases=(
        "Please {action} {post_id}",
        "I want to {action} {post_id}",
        "Go and {action} {post_id} for me",
    ),
    refuses=("not_found", "blocked", "private_account", "already_liked", "not_liked"),
    sample=samples.like,
)
def like_post(net: Network, post_id: PostId, action: Literal["like", "unlike"]) -> LikeReceipt:
    """Like a post, or take the user's like back.

    Args:
        post_id: The post.
        action: What to do.
    """
    post = the_post(net, post_id)
    given = net.like_of(net.me.id, post.id)
    if action == "like":
        if given is not None:
            refuse("already_liked", f"you like this post by {post.name} already")
        post = changes.add_like(net, post)
    else:
        if given is None:
            refuse("not_liked", f"you have not liked this post by {post.name}")
        post = changes.drop_like(net, post, given)
    return LikeReceipt(post.id, post.name, clipped(post.text), action == "like", post.likes)
