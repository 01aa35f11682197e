"""A session is one private world: atomic calls, exact copies, explicit ends."""

from __future__ import annotations

import json
import pickle
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from provegym.errors import ServerFault, SessionClosed
from provegym.seeding import rng
from provegym.world.explore import Walk
from provegym.world.server import Server
from provegym.world.session import Session
from provegym.world.tool import refuse, tool
from provegym.world.world import World
from tests.world.conftest import library_world
from tests.world.library import SERVER, Library

VISIT = {"day": "2026-05-01", "at": "10:00", "contact": "a@b.example", "guests": 4}


def ok(session: Session, name: str, /, **given: Any) -> Any:
    result = session.call(name, given)
    assert result.outcome == "ok", result
    return result.builtins()


def free_book(session: Session) -> str:
    library = session.state("library")
    assert isinstance(library, Library)
    return library.books.where(on_loan=False)[0].id


def lend(session: Session, member: str = "mem_000050") -> Any:
    return ok(session, "lend_book", book_id=free_book(session), member_id=member, days=7)


def test_a_result_in_plain_values_is_what_its_json_says(session: Session) -> None:
    found = session.call("get_member", {"member_id": "mem_000001"})
    assert found.builtins() == json.loads(found.json())
    assert type(found.builtins()["wishes"]) is list  # a tuple in the row


def test_a_write_shows_in_later_reads_and_moves_the_clock_by_a_minute(session: Session) -> None:
    start = session.now
    loan = lend(session)
    assert loan["since"] == start.isoformat()
    assert (session.now - start).total_seconds() == 60
    again = session.call("lend_book", {k: loan[k] for k in ("book_id", "member_id", "days")})
    assert again.builtins()["error"]["code"] == "on_loan"


def test_a_refused_call_leaves_no_trace_though_it_wrote_and_took_an_id(session: Session) -> None:
    book = free_book(session)
    twin = session.fork()
    before = session.digest()
    refused = session.call("lend_book", {"book_id": book, "member_id": "mem_000009", "days": 7})
    assert refused.builtins()["error"]["code"] == "blocked"
    assert session.digest() == before
    assert lend(session) == lend(twin)


@tool("write", phrases=("Break",), refuses=("never",))
def break_down(library: Library, how: str) -> str:
    """Write, then fail.

    Args:
        how: With a bug, an interrupt or a refusal.
    """
    library.books.update(library.books["book_000001"], title="changed")
    if how == "interrupt":
        raise KeyboardInterrupt
    if how == "bug":
        raise ZeroDivisionError
    refuse("never", "no", how=how)


BREAKING = Server(
    SERVER.name,
    SERVER.title,
    SERVER.state,
    {**SERVER.tools, "break_down": break_down},
    SERVER.seed,
    SERVER.violations,
)


@pytest.mark.parametrize(
    ("how", "raised"), [("bug", ServerFault), ("interrupt", KeyboardInterrupt)]
)
def test_a_bug_or_an_interrupt_in_a_tool_undoes_its_writes(
    how: str, raised: type[BaseException]
) -> None:
    session = World(7, [BREAKING]).open()
    before = session.digest()
    with pytest.raises(raised):
        session.call("break_down", {"how": how})
    assert session.digest() == before
    lend(session)


def test_a_tool_that_is_not_on_offer_is_unknown_until_it_is(session: Session) -> None:
    session.offer(["get_member"])
    assert [t.function.name for t in session.tools()] == ["get_member"]
    assert session.call("search_books", "not json").outcome == "unknown_tool"
    assert session.fork().call("search_books", {"genre": "crime"}).outcome == "unknown_tool"
    session.offer(None)
    assert session.call("search_books", {"genre": "crime"}).outcome == "ok"
    assert session.call("no_such_tool", "{}").outcome == "unknown_tool"


def test_a_tool_on_offer_that_no_server_runs_is_refused_at_execution(session: Session) -> None:
    session.offer(["get_member", "order_ride"])
    found = session.fork().call("order_ride", {"to": "home"})
    assert found.outcome == "tool_error"
    assert found.value["error"]["code"] == "no_server"
    assert session.call("order_ride", "not json").outcome == "malformed"
    assert session.call("order_ride", "[1]").outcome == "malformed"
    assert session.call("order_taxi", {}).outcome == "unknown_tool"
    assert [t.function.name for t in session.tools()] == ["get_member"]
    session.offer(["get_member"])
    assert session.call("order_ride", {"to": "home"}).outcome == "unknown_tool"


def test_everything_is_refused_after_close(session: Session) -> None:
    lend(session)
    session.close()
    for use in (
        lambda: session.call("get_member", {"member_id": "mem_000001"}),
        session.changes,
        session.digest,
        session.snapshot,
        session.reset,
        session.fork,
        lambda: session.offer(None),
        lambda: session.state("library"),
    ):
        with pytest.raises(SessionClosed):
            use()
    session.close()


def test_a_state_taken_before_a_restore_follows_the_session(session: Session) -> None:
    library = session.state("library")
    assert isinstance(library, Library)
    kept = session.snapshot()
    loan = lend(session)
    assert loan["id"] in library.loans
    session.restore(kept)
    assert loan["id"] not in library.loans
    assert lend(session) == loan
    session.reset()
    assert loan["id"] not in library.loans


@given(st.integers(0, 10**6), st.integers(0, 15), st.integers(0, 15))
def test_snapshot_restore_and_fork_are_exact_after_any_calls(
    seed: int, before: int, after: int
) -> None:
    session = library_world(1).open()
    walk = Walk(SERVER, session, rng(seed, "test"))
    list(walk.steps(before))
    kept, twin, digest = session.snapshot(), session.fork(), session.digest()
    calls = [(s.tool.name, s.arguments, s.result.json()) for s in walk.steps(after)]
    end = session.digest()
    assert twin.digest() == digest
    session.restore(kept)
    assert session.digest() == digest
    for again in (session, twin):
        assert [again.call(name, given).json() for name, given, _ in calls] == [c[2] for c in calls]
        assert again.digest() == end
        assert again.changes() == session.changes()


def test_a_snapshot_can_be_restored_many_times_and_elsewhere(session: Session) -> None:
    lend(session)
    kept, digest = session.snapshot(), session.digest()
    lend(session)
    other = session.world.open()
    for _ in range(2):
        other.restore(kept)
        assert other.digest() == digest
        lend(other)


def test_worlds_differ_by_seed_alone() -> None:
    assert World(3, [SERVER]).digest == World(3, [SERVER]).digest
    assert World(3, [SERVER]).digest != World(4, [SERVER]).digest


def test_the_digest_sees_rows_ids_taken_and_time(session: Session) -> None:
    seen = {session.digest()}
    loan = lend(session)
    seen.add(session.digest())
    ok(session, "return_book", loan_id=loan["id"])
    seen.add(session.digest())
    ok(session, "plan_visit", **VISIT)
    seen.add(session.digest())
    assert len(seen) == 4


def test_a_server_crosses_processes_by_reference() -> None:
    twin = pickle.loads(pickle.dumps(SERVER))
    assert twin.tools == SERVER.tools
    assert World(5, [twin]).digest == World(5, [SERVER]).digest
