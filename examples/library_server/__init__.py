"""A public library: one table, three tools, two rules. A whole tool server in one file."""

from collections.abc import Iterator
from random import Random
from typing import Annotated, ClassVar

from provegym.world.cast import Cast
from provegym.world.fields import Ref, Text
from provegym.world.server import Seeds, Server, State
from provegym.world.table import Row, table
from provegym.world.tool import refuse, tool

BookId = Annotated[str, Ref("library.books")]
KINDS = ("Book", "Childhood", "Defence", "Letters", "Life", "Travels", "Trial", "Winters")
MOST = 3  # books that a reader may have at home


class Book(Row, frozen=True):
    """A book; `reader` is who has it at home, empty while it stands on its shelf."""

    label: ClassVar[str] = '"{title}"'
    id: BookId
    title: str
    reader: str = ""


class Library(State):
    """One session's library, seen by the reader who asks."""

    server = "library"
    books = table(Book, "bok")

    def at_home(self) -> list[Book]:
        """The books that the reader who asks has at home."""
        return self.books.where(reader=self.cast.user.name)


def _find(library: Library, rnd: Random) -> dict[str, str]:
    return {"title": rnd.choice(list(library.books)).title}


def _return(library: Library, rnd: Random) -> dict[str, str]:
    return next(({"book_id": book.id} for book in library.at_home()), {})


@tool("read", phrases=("Look up {title}", "Find {title} in the library"), sample=_find)
def find_books(library: Library, title: Text) -> list[Book]:
    """Find books of the library by their title; shows who has each at home.

    Args:
        title: Words of the title.
    """
    return [book for book in library.books if title.lower() in book.title.lower()][:5]


@tool("write", phrases=("Borrow {book_id}", "I'd like {book_id}"), refuses=("lent", "too_many"))
def borrow_book(library: Library, book_id: BookId) -> Book:
    """Borrow a book that stands on its shelf.

    Args:
        book_id: The book, from find_books.
    """
    book = library.books.get(book_id)
    if book is None:
        refuse("book_not_found", f"there is no book {book_id!r}")
    if book.reader:
        refuse("lent", f"{book.title!r} is lent to {book.reader}", reader=book.reader)
    if len(library.at_home()) >= MOST:
        refuse("too_many", f"you have {MOST} books at home, which is the most", most=MOST)
    return library.books.update(book, reader=library.cast.user.name)


@tool(
    "write",
    phrases=("Return {book_id}", "Take {book_id} back to the library"),
    refuses=("not_borrowed",),
    sample=_return,
)
def return_book(library: Library, book_id: BookId) -> Book:
    """Return a book that the reader has at home.

    Args:
        book_id: The book, from find_books.
    """
    book = library.books.get(book_id)
    if book is None or book not in library.at_home():
        refuse("not_borrowed", f"you have no book {book_id!r} at home")
    return library.books.update(book, reader="")


def seed(cast: Cast, rnd: Random) -> Seeds:
    """Some books about everyone in the world, three in ten of them lent."""
    titles = [f"{kind} of {person.name}" for kind in KINDS for person in cast.people]
    ids = rnd.sample(range(100_000, 1_000_000), len(titles))
    lent = [rnd.choice(cast.others).name if rnd.random() < 0.3 else "" for _ in titles]
    return {"books": [Book(f"bok_{i}", t, r) for i, t, r in zip(ids, titles, lent, strict=True)]}


def violations(library: Library) -> Iterator[str]:
    """Broken invariants, one sentence each."""
    if len(library.at_home()) > MOST:
        yield f"{library.cast.user.name} has more than {MOST} books at home"


TOOLS = {tool.name: tool for tool in (find_books, borrow_book, return_book)}
SERVER = Server("library", "Public library", Library, TOOLS, seed, violations)
