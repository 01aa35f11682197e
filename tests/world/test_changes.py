"""What a session changed: canonical, free of ids, clock and order."""

from __future__ import annotations

from typing import Annotated, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Struct

from provegym.world.changes import canonical_changes
from provegym.world.fields import VOLATILE, Ref, Stamp
from provegym.world.session import Session
from provegym.world.table import Row, Template
from tests.world.conftest import library_world
from tests.world.library import Library

VISIT: dict[str, Any] = {
    "day": "2026-05-01",
    "at": "10:00",
    "contact": "a@b.example",
    "guests": 4,
}


def ok(session: Session, name: str, /, **given: Any) -> Any:
    result = session.call(name, given)
    assert result.outcome == "ok", result
    return result.builtins()


def free_books(session: Session) -> list[str]:
    library = session.state("library")
    assert isinstance(library, Library)
    return [book.id for book in library.books.where(on_loan=False)]


def test_only_fields_that_differ_are_named_and_stamps_are_left_out(session: Session) -> None:
    book = free_books(session)[0]
    ok(session, "lend_book", book_id=book, member_id="mem_000050", days=7)
    assert session.changes() == {
        "library.books": {book: {"on_loan": True}},
        "library.loans": {
            "+1": {"book_id": book, "member_id": "mem_000050", "days": 7, "state": "open"}
        },
    }


def test_what_was_put_back_is_no_change(session: Session) -> None:
    book = free_books(session)[0]
    loan = ok(session, "lend_book", book_id=book, member_id="mem_000050", days=7)
    ok(session, "return_book", loan_id=loan["id"])
    assert session.changes().keys() == {"library.loans"}
    kept = session.changes()["library.loans"]["+1"]
    assert kept is not None
    assert kept["state"] == "returned"


def test_a_row_made_and_deleted_and_a_seeded_one_deleted(session: Session) -> None:
    library = session.state("library")
    assert isinstance(library, Library)
    gone = next(iter(library.visits), None)
    assert gone is None
    visit = ok(session, "plan_visit", **VISIT)
    library.visits.delete(visit["id"])
    library.members.delete("mem_000007")
    assert session.changes() == {"library.members": {"mem_000007": None}}


def test_references_to_created_rows_are_their_numbers(session: Session) -> None:
    gift = ok(session, "add_donations", donations=[{"title": "Emma", "price": "9.50"}])
    new = gift["books"][0]["id"]
    ok(session, "set_wishes", member_id="mem_000003", book_ids=[new, "book_000001"])
    ok(session, "lend_book", book_id=new, member_id="mem_000050", days=7)
    changes = session.changes()
    assert changes["library.members"] == {"mem_000003": {"wishes": ["+1", "book_000001"]}}
    assert changes["library.loans"]["+1"] == {
        "book_id": "+1",
        "member_id": "mem_000050",
        "days": 7,
        "state": "open",
    }
    assert changes["library.books"] == {
        "+1": {"title": "Emma", "genre": "science", "year": 2000, "price": "9.50", "on_loan": True}
    }


Write = tuple[str, dict[str, Any]]
BOOKS = free_books(library_world(1).open())
INDEPENDENT: list[Write] = [
    ("lend_book", {"book_id": BOOKS[0], "member_id": "mem_000050", "days": 7}),
    ("lend_book", {"book_id": BOOKS[1], "member_id": "mem_000050", "days": 7}),
    ("add_donations", {"donations": [{"title": "Emma", "price": "9.50"}]}),
    ("add_donations", {"donations": [{"title": "Emma", "price": "9.50"}]}),
    ("add_donations", {"donations": [{"title": "Ulysses", "price": "1.00", "year": 1922}]}),
    ("plan_visit", VISIT),
    ("plan_visit", {**VISIT, "guests": 5}),
    ("set_wishes", {"member_id": "mem_000001", "book_ids": [BOOKS[3]]}),
]


@given(st.permutations(INDEPENDENT), st.integers(0, len(INDEPENDENT)))
def test_any_order_of_independent_writes_gives_the_same_changes(
    order: list[Write], count: int
) -> None:
    chosen = order[:count]
    straight, shuffled = library_world(1).open(), library_world(1).open()
    for write in chosen:
        assert shuffled.call(*write).outcome == "ok"
    for write in sorted(chosen, key=str):
        assert straight.call(*write).outcome == "ok"
    assert straight.changes() == shuffled.changes()


class Comment(Struct, frozen=True):
    text: str
    at: Stamp


class Post(Row, frozen=True):
    author: str
    comments: tuple[Comment, ...] = ()
    pinned: Comment | None = None
    number: Annotated[int, VOLATILE] = 0
    reply_to: Annotated[str, Ref("chat.posts")] = ""


SEEDED = Post("post_a", "ada", (Comment("first", "t0"),))
POSTS = {"chat.posts": Template("chat.posts", "post", Post, [SEEDED])}

CHANGED: list[tuple[Post | None, dict[str, Any]]] = [
    (Post("post_a", "ada", (Comment("first", "t9"),), number=5), {}),
    (
        Post("post_a", "ada", (Comment("first", "t0"), Comment("second", "t1"))),
        {"post_a": {"comments": [{"text": "first"}, {"text": "second"}]}},
    ),
    (Post("post_a", "bo", (Comment("first", "t0"),)), {"post_a": {"author": "bo"}}),
    (
        Post("post_a", "ada", (Comment("first", "t0"),), Comment("top", "t5")),
        {"post_a": {"pinned": {"text": "top"}}},
    ),
    (None, {"post_a": None}),
]


@pytest.mark.parametrize(("row", "expected"), CHANGED)
def test_volatile_fields_inside_records_are_left_out(
    row: Post | None, expected: dict[str, Any]
) -> None:
    changes = canonical_changes(POSTS, {"chat.posts": {"post_a": row}})
    assert changes == ({"chat.posts": expected} if expected else {})


def test_posts_that_answer_each_other_are_numbered_by_what_they_answer() -> None:
    def chain(ids: str) -> dict[str, Any]:
        first, second, third = (f"post_{c}" for c in ids)
        rows = [
            Post(first, "ada", reply_to="post_a"),
            Post(second, "ada", reply_to=first),
            Post(third, "ada", reply_to=second),
        ]
        own: dict[str, Row | None] = {row.id: row for row in sorted(rows, key=lambda r: r.id)}
        return canonical_changes(POSTS, {"chat.posts": own})

    assert chain("xyz") == chain("zxy") == chain("yzx")
