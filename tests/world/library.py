"""A small but whole server for the engine's tests: a lending library.

It has every kind of parameter: references, choices, bounds, formats, lists, records in lists.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from random import Random
from typing import Annotated, Any, ClassVar, Literal

from msgspec import Struct

from provegym.world.cast import Cast
from provegym.world.fields import Clock, Date, Email, Limit, Money, Range, Ref, Stamp, Text
from provegym.world.page import page
from provegym.world.server import Seeds, Server, State, collect
from provegym.world.table import Row, table
from provegym.world.tool import refuse, tool

BookId = Annotated[str, Ref("library.books")]
MemberId = Annotated[str, Ref("library.members")]
LoanId = Annotated[str, Ref("library.loans")]
Genre = Literal["crime", "poetry", "science"]
Year = Annotated[int, Range(1500, 2100)]
MAX_LOANS = 3

GENRES: tuple[Genre, ...] = ("crime", "poetry", "science")
NOUNS = ("River", "Night", "Garden", "Letter", "Island", "Winter", "Machine", "Glass")
PLACES = ("Prague", "Lisbon", "Kyoto", "Bergen", "Havana", "Tartu", "Oaxaca", "Perth")


class Book(Row, frozen=True):
    label: ClassVar[str] = 'the book "{title}"'
    id: BookId
    title: str
    genre: Genre
    year: Year
    price: Money
    on_loan: bool = False
    bought: Stamp = ""


class Member(Row, frozen=True):
    label: ClassVar[str] = "{name}"
    id: MemberId
    name: str
    wishes: tuple[BookId, ...] = ()
    blocked: bool = False


class Loan(Row, frozen=True):
    id: LoanId
    book_id: BookId
    member_id: MemberId
    days: int
    state: Literal["open", "returned"]
    since: Stamp


class Visit(Row, frozen=True):
    id: Annotated[str, Ref("library.visits")]
    day: Date
    at: Clock
    contact: Email
    guests: int
    quiet: bool
    share: float


class Library(State):
    server = "library"
    books = table(Book, "book")
    members = table(Member, "mem")
    loans = table(Loan, "loan")
    visits = table(Visit, "vis")


class Found(Struct, frozen=True):
    id: BookId
    title: str
    year: int


class Books(Struct, frozen=True):
    books: list[Found]
    total: int
    next_cursor: str


class Donation(Struct, frozen=True):
    title: Text
    price: Money
    genre: Genre = "science"
    year: Year = 2000
    wished_by: list[MemberId] = []


def violations(library: Library) -> Iterator[str]:
    open_loans = {loan.book_id for loan in library.loans.where(state="open")}
    for book in library.books:
        if book.on_loan != (book.id in open_loans):
            yield f"{book.title} says on_loan={book.on_loan} against the loans"


def _book(library: Library, book_id: str) -> Book:
    found = library.books.get(book_id)
    return found or refuse("not_found", f"no book {book_id!r}")


def _member(library: Library, member_id: str) -> Member:
    found = library.members.get(member_id)
    return found or refuse("not_found", f"no member {member_id!r}")


def _loan_sample(library: Library, rnd: Random) -> dict[str, Any]:
    book = rnd.choice(library.books.where(on_loan=False))
    member = rnd.choice(library.members.where(blocked=False))
    return {"book_id": book.id, "member_id": member.id, "days": rnd.randint(3, 21)}


@tool("read", phrases=("Look for {genre} books[ called {query}]", "Which {genre} books[ {query}]"))
def search_books(
    library: Library, genre: Genre, query: str = "", limit: Limit = 5, cursor: str = ""
) -> Books:
    """Search the catalogue.

    Args:
        genre: Kind of book.
        query: Words in the title.
        limit: Most books on a page.
        cursor: Where the page starts.
    """
    found = [b for b in library.books.where(genre=genre) if query.lower() in b.title.lower()]
    items, total, after = page(found, limit, cursor)
    return Books([Found(b.id, b.title, b.year) for b in items], total, after)


@tool("read", phrases=("Show {member_id}", "Who is {member_id}"), refuses=("not_found",))
def get_member(library: Library, member_id: MemberId) -> Member:
    """Show a member and the wishes noted.

    Args:
        member_id: Who.
    """
    return _member(library, member_id)


@tool(
    "write",
    phrases=("Lend {book_id} to {member_id} for {days} days",) * 2,
    refuses=("not_found", "on_loan", "blocked", "too_many_loans"),
    sample=_loan_sample,
)
def lend_book(
    library: Library, book_id: BookId, member_id: MemberId, days: Annotated[int, Range(1, 28)]
) -> Loan:
    """Lend a book.

    Args:
        book_id: What.
        member_id: To whom.
        days: For how long.
    """
    loan = Loan(library.loans.new_id(), book_id, member_id, days, "open", library.stamp)
    library.loans.put(loan)
    book, member = _book(library, book_id), _member(library, member_id)
    if book.on_loan:
        refuse("on_loan", f"{book.title} is out")
    if member.blocked:
        refuse("blocked", f"{member.name} may not borrow")
    if len(library.loans.where(member_id=member_id, state="open")) > MAX_LOANS:
        refuse("too_many_loans", f"{member.name} has {MAX_LOANS} books", most=MAX_LOANS)
    library.books.update(book, on_loan=True)
    return loan


@tool(
    "write",
    phrases=("Take back {loan_id}", "Return {loan_id}"),
    refuses=("not_found", "already_returned"),
)
def return_book(library: Library, loan_id: LoanId) -> Loan:
    """Take a book back.

    Args:
        loan_id: The loan that ends.
    """
    loan = library.loans.get(loan_id)
    if loan is None:
        refuse("not_found", f"no loan {loan_id!r}")
    if loan.state == "returned":
        refuse("already_returned", "that loan has ended")
    library.books.update(library.books[loan.book_id], on_loan=False)
    return library.loans.update(loan, state="returned")


@tool("write", phrases=("Accept the gift of {donations}", "Add {donations}"))
def add_donations(library: Library, donations: list[Donation], note: Text = "thanks") -> Books:
    """Add books that were given.

    Args:
        donations: What was given.
        note: What to say to the giver.
    """
    rows = [
        library.books.put(Book(library.books.new_id(), d.title, d.genre, d.year, d.price, False))
        for d in donations
    ]
    if not rows:
        refuse("nothing_given", "give at least one book")
    return Books([Found(b.id, b.title, b.year) for b in rows], len(rows), "")


@tool(
    "write",
    phrases=("Note {book_ids} as wishes of {member_id}", "{member_id} wishes {book_ids}"),
    refuses=("not_found", "no_change"),
)
def set_wishes(library: Library, member_id: MemberId, book_ids: list[BookId]) -> Member:
    """Note which books a member wishes.

    Args:
        member_id: Whose wishes.
        book_ids: All of them.
    """
    member = _member(library, member_id)
    wishes = tuple(_book(library, book_id).id for book_id in book_ids)
    if wishes == member.wishes:
        refuse("no_change", "those are the wishes already")
    return library.members.update(member, wishes=wishes)


@tool(
    "write",
    phrases=("Plan a visit on {day} at {at} of {guests} guests, contact {contact}",) * 2,
)
def plan_visit(
    library: Library,
    day: Date,
    at: Clock,
    contact: Email,
    guests: int,
    quiet: bool = False,
    share: Annotated[float, Range(0, 1)] = 0.5,
) -> Visit:
    """Plan a visit of a group.

    Args:
        day: When.
        at: From when on.
        contact: Whom to write to.
        guests: How many come.
        quiet: Whether they want to read.
        share: Part of the hall they need.
    """
    row = Visit(library.visits.new_id(), day, at, contact, guests, quiet, share)
    return library.visits.put(row)


def seed(cast: Cast, rnd: Random) -> Seeds:
    titles = [f"The {noun} of {place}" for noun in NOUNS for place in PLACES]
    books = [
        Book(
            f"book_{i:06d}",
            f"{titles[i % len(titles)]} {i // len(titles) + 1}",
            rnd.choice(GENRES),
            rnd.randint(1900, 2020),
            f"{rnd.randint(5, 40)}.{rnd.choice((0, 50)):02d}",
            i % 9 == 0,
        )
        for i in range(260)
    ]
    members = [
        Member(f"mem_{i:06d}", person.name, blocked=i % 10 == 9)
        for i, person in enumerate(cast.people)
    ]
    out = [book for book in books if book.on_loan]
    loans = [
        Loan(f"loan_{i:06d}", book.id, members[i % 40].id, 14, "open", cast.start.isoformat())
        for i, book in enumerate(out)
    ]
    return {"books": books, "members": members, "loans": loans, "visits": []}


SERVER = Server(
    "library", "Lending library", Library, collect(sys.modules[__name__]), seed, violations
)
