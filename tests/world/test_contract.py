"""The contract passes a sound server and finds each fault that is put into one."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from random import Random
from typing import Annotated, Any, ClassVar

import pytest
from msgspec import Struct

from provegym.world.cast import Cast
from provegym.world.contract import check, tools, walks, worlds
from provegym.world.contract.judged import judge
from provegym.world.fields import Money, Ref
from provegym.world.server import Seeds, Server, State
from provegym.world.table import Row, table
from provegym.world.tool import Tool, refuse, tool
from provegym.world.world import World
from tests.world.library import SERVER, Book, BookId, Library, Member, MemberId, seed

SAY = ("Do it for {member_id}",) * 2
seen: list[str] = []


@tool("read", phrases=SAY)
def peek(library: Library, member_id: MemberId) -> str:
    """Read, and write.

    Args:
        member_id: Who.
    """
    for member in library.members.where(id=member_id):
        library.members.update(member, name="other")
    return "done"


@tool("write", phrases=SAY)
def do_nothing(library: Library, member_id: MemberId) -> str:
    """Accept, and write nothing new.

    Args:
        member_id: Who.
    """
    for member in library.members.where(id=member_id):
        library.members.put(member)
    return "done"


@tool("read", phrases=SAY)
def fail(library: Library, member_id: MemberId) -> str:
    """Fail.

    Args:
        member_id: Who.
    """
    return library.members[member_id].name


@tool("read", phrases=SAY)
def lie(library: Library, member_id: MemberId) -> Member:
    """Give another thing than declared.

    Args:
        member_id: Who.
    """
    return library.books["book_000001"]  # type: ignore[return-value]


@tool("read", phrases=SAY, refuses=("never_so",))
def promise(library: Library, member_id: MemberId) -> str:
    """Declare what never happens.

    Args:
        member_id: Who.
    """
    return "done"


@tool("write", phrases=SAY)
def ask_twice(library: Library, member_id: MemberId) -> str:
    """Refuse by the state, undeclared.

    Args:
        member_id: Who.
    """
    for member in library.members.where(id=member_id):
        if member.blocked:
            refuse("blocked", "no")
        library.members.update(member, blocked=True)
        return "done"
    refuse("not_found", "no")


@tool("read", phrases=SAY)
def pour(library: Library, member_id: MemberId) -> str:
    """Give too much.

    Args:
        member_id: Who.
    """
    return "x" * (walks.MAX_RESULT + 1)


@tool("write", phrases=SAY)
def spoil(library: Library, member_id: MemberId) -> str:
    """Break an invariant.

    Args:
        member_id: Who.
    """
    book = library.books["book_000001"]
    library.books.update(book, on_loan=not book.on_loan)
    return "done"


@tool("read", phrases=SAY)
def gossip(library: Library, member_id: MemberId) -> str:
    """Tell one session of another.

    Args:
        member_id: Who.
    """
    seen.append(member_id)
    return f"{len(seen)} calls"


@tool("read", phrases=SAY)
def hash_order(library: Library, member_id: MemberId) -> list[str]:
    """Show the order of a set.

    Args:
        member_id: Who.
    """
    return [*{f"shelf {number}" for number in range(50)}]  # so many are never in one order twice


def bad_sample(library: Library, rnd: Random) -> dict[str, Any]:
    return {"member_id": rnd.randint(0, 9)}


@tool("read", phrases=SAY, sample=bad_sample)
def misread(library: Library, member_id: MemberId) -> str:
    """Have a sampler that does not fit.

    Args:
        member_id: Who.
    """
    return "done"


def unsaid_sample(library: Library, rnd: Random) -> dict[str, Any]:
    return {"member_id": "mem_1", "note": "Thanks"}


@tool("read", phrases=("Do it for {member_id}[ ({note})]", "For {member_id}"), sample=unsaid_sample)
def whisper(library: Library, member_id: MemberId, note: str = "") -> str:
    """Have a sampler that gives more than one of the phrases says.

    Args:
        member_id: Who.
        note: What else.
    """
    return "done"


def with_tool(extra: Tool) -> Server:
    return replace(SERVER, tools={extra.name: extra})


WALKED: list[tuple[Tool, str]] = [
    (peek, "reads"),
    (do_nothing, "writes"),
    (fail, "bodies"),
    (lie, "results"),
    (promise, "reach"),
    (ask_twice, "declared"),
    (pour, "results"),
    (spoil, "invariants"),
    (misread, "samples"),
    (whisper, "samples"),
]


@pytest.mark.parametrize(("broken", "name"), WALKED, ids=[t.name for t, _ in WALKED])
def test_a_walk_finds_a_broken_tool(
    broken: Tool, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(walks, "WORLDS", 2)
    monkeypatch.setattr(walks, "MOST_WORLDS", 2)
    monkeypatch.setattr(walks, "CALLS", (100, 100))
    found = walks.walked(with_tool(broken), 1)
    assert not judge(name, found[name]).passed
    assert judge("atomic", found["atomic"]).passed


def fresh(name: str, server: Server) -> tuple[bool, str]:
    judged = judge(name, worlds.CHECKS[name](server, [World(i, [server]) for i in range(3)]))
    return judged.passed, judged.detail


def test_state_shared_between_sessions_is_found() -> None:
    assert not fresh("private sessions", with_tool(gossip))[0]
    assert not fresh("copies", with_tool(gossip))[0]


def test_a_result_that_follows_the_hash_seed_is_found() -> None:
    passed, detail = fresh("same everywhere", with_tool(hash_order))
    assert not passed
    assert "another process found" in detail


@tool("read", phrases=SAY)
def turn_around(
    library: Library, member_id: MemberId, min_price: Money = "0.00", max_price: Money = "0.00"
) -> str:
    """Take a range whichever way round.

    Args:
        member_id: Who.
        min_price: Not below it.
        max_price: Not above it.
    """
    return "done"


def test_a_range_that_is_taken_in_reverse_is_found() -> None:
    passed, detail = fresh("ranges", with_tool(turn_around))
    assert not passed
    given = re.search(r"'min_price': '([0-9.]+)', 'max_price': '([0-9.]+)'", detail)
    assert given
    assert float(given[1]) > float(given[2])


def few_rows(cast: Cast, rnd: Random) -> Seeds:
    return {name: list(rows)[:3] for name, rows in seed(cast, rnd).items()}


class Shelf(Row, frozen=True):
    books: list[str]


class Shelves(State):
    server = "library"
    shelves = table(Shelf, "she")


def shelves(cast: Cast, rnd: Random) -> Seeds:
    return {"shelves": [Shelf(f"she_{i}", [str(rnd.random())]) for i in range(300)]}


def always_the_same(cast: Cast, rnd: Random) -> Seeds:
    return seed(cast, Random(1))


def all_on_loan(cast: Cast, rnd: Random) -> Seeds:
    return {**seed(cast, rnd), "loans": []}


SEEDED: list[tuple[str, Server, str]] = [
    ("rows", replace(SERVER, seed=few_rows), "rows"),
    ("rows", replace(SERVER, state=Shelves, seed=shelves, tools={}), "hold a list"),
    ("seeded worlds", replace(SERVER, seed=all_on_loan), "on_loan=True"),
    ("same everywhere", replace(SERVER, seed=lambda cast, rnd: seed(cast, rnd)), "cannot be sent"),
]


@pytest.mark.parametrize(("name", "server", "reason"), SEEDED)
def test_a_fault_of_fresh_worlds_is_found(name: str, server: Server, reason: str) -> None:
    passed, detail = fresh(name, server)
    assert not passed
    assert reason in detail


class Untyped(Struct, frozen=True):
    member_id: str


class Anonymous(Row, frozen=True):
    label: ClassVar[str] = "{title} of {owner}"
    id: BookId
    title: str


class Unlabelled(State):
    server = "library"
    books = table(Anonymous, "book")


@tool("read", phrases=("Find",))
def says_too_little(library: Library, member_id: MemberId, book_id: BookId = "") -> Untyped:
    """Have one phrase without its parameter.

    Args:
        member_id: Who.
        book_id: What.
    """
    return Untyped(member_id)


@tool("read", phrases=("Find {member_id} by {book_id}",) * 2)
def says_what_is_optional(library: Library, member_id: MemberId, book_id: BookId = "") -> Untyped:
    """Have phrases that cannot be said without an optional parameter.

    Args:
        member_id: Who.
        book_id: What.
    """
    return Untyped(member_id)


@tool("read", phrases=("Find {who} [{member_id}]",) * 2)
def says_it_in_brackets(library: Library, member_id: MemberId) -> Book:
    """Have a required parameter in brackets, and an unknown slot.

    Args:
        member_id: Who.
    """
    return library.books["book_000001"]


@tool("read", phrases=SAY)
def refers_to_nothing(library: Library, member_id: Annotated[str, Ref("library.people")]) -> str:
    """Refer to no table.

    Args:
        member_id: Who.
    """
    return member_id


READ_OFF: list[tuple[str, Server, list[str]]] = [
    ("names", replace(SERVER, tools={"Peek": peek}), ["'Peek'", "peek is filed under Peek"]),
    ("phrases", with_tool(says_too_little), ["has 1 phrases", "does not say member_id"]),
    ("phrases", with_tool(says_it_in_brackets), ["does not say member_id", "slot 'who'"]),
    ("phrases", with_tool(says_what_is_optional), ["always says book_id, which is optional"]),
    ("references", with_tool(says_too_little), ["says_too_little.result.member_id names"]),
    ("references", with_tool(refers_to_nothing), ["library.people, which is no table"]),
    (
        "references",
        replace(with_tool(says_too_little), state=Unlabelled),
        ["no result shows an id of books beside the fields of its label"],
    ),
]


@pytest.mark.parametrize(("name", "server", "reasons"), READ_OFF)
def test_what_can_be_read_off_a_tool_is_found(
    name: str, server: Server, reasons: list[str]
) -> None:
    judged = judge(name, tools.CHECKS[name](server))
    assert not judged.passed
    assert [reason for reason in reasons if reason not in judged.detail] == []


def test_a_schema_that_is_not_portable_is_found() -> None:
    schema = peek.schema.function.parameters
    kept = dict(schema["properties"])
    schema["properties"]["member_id"] = {"anyOf": [{"type": "string"}, {"type": "null"}]}
    try:
        judged = judge("schemas", tools.CHECKS["schemas"](with_tool(peek)))
    finally:
        schema["properties"] = kept
    assert not judged.passed
    assert "keyword 'anyOf'" in judged.detail
    assert "member_id is not described" in judged.detail


def test_details_are_short_though_problems_are_many_and_long() -> None:
    def problems() -> Iterator[str]:
        return (f"{i} " + "x" * 1000 for i in range(100))

    judged = judge("name", (problems(), "fine"))
    assert not judged.passed
    assert len(judged.detail) < 2500
    assert judged.detail.endswith("and 94 more")
    assert judge("name", ([], "fine")).detail == "fine"


def test_a_sound_server_passes() -> None:
    report = check(SERVER)
    assert [c for c in report.checks if not c.passed] == []
    assert report.passed
    assert report.tools == 7


def test_a_server_is_walked_the_same_way_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(walks, "MOST_WORLDS", 1)
    assert walks.walked(SERVER, 1) == walks.walked(SERVER, 1)
    assert walks.walked(SERVER, 1) != walks.walked(SERVER, 2)
