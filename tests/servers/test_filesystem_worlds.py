"""Seeded disks: their size, their rules, their sameness, and calls drawn at random."""

from __future__ import annotations

from typing import Any

from provegym.seeding import rng
from provegym.servers.filesystem import SERVER
from provegym.world.sample import arguments
from provegym.world.session import Session
from tests.servers.disk_calls import disk_of, world


def ok(session: Session, name: str, /, **given: Any) -> Any:
    result = session.call(name, given)
    assert result.outcome == "ok", (name, given, result.builtins())
    return result.builtins()


def sound(session: Session) -> None:
    assert list(SERVER.violations(session.state("filesystem"))) == []


ODD = (
    *("/", "//", ".", "..", "~", "~root", "a/", "/..", "~/", "~/loop", "~/loop/x", "/tmp", " "),
    *("x" * 256, "/".join("ab" * 400), "a\u2028b", "é/ü", "*", "[", "-", "x.tar", "\ud800", "a\nb"),
)


def test_no_odd_argument_breaks_a_tool() -> None:
    session = world(3).open()
    for name, tool in SERVER.tools.items():
        plausible = arguments(tool, disk_of(session), rng(3, "odd", name))
        for p in tool.parameters:
            for odd in ODD:
                session.call(name, {**plausible, p.name: [odd, odd] if p.item else odd})
        sound(session)


def test_independent_writes_give_the_same_changes_in_either_order() -> None:
    calls: list[tuple[str, dict[str, Any]]] = [
        ("create_file", {"path": "~/one.txt", "content": "same"}),
        ("create_file", {"path": "~/notes/one.txt", "content": "same"}),
        ("append_file", {"path": "~/notes/todo.txt", "text": "call home"}),
        ("move_to_trash", {"path": "~/notes/books.txt"}),
        ("make_directory", {"path": "~/x/y", "parents": "create"}),
    ]
    first, second = world(1).open(), world(1).open()
    for name, given in calls:
        ok(first, name, **given)
    for name, given in reversed(calls):
        ok(second, name, **given)
    assert first.changes() == second.changes()


def test_quota_permission_and_not_empty_refusals_occur_in_seeded_worlds() -> None:
    seen = set()
    for seed in range(20):
        session = world(seed).open()
        for name, given in (
            ("copy_path", {"source": "~/notes", "destination": "~/copy"}),
            ("read_file", {"path": "~/documents/payroll.txt"}),
            ("remove_directory", {"path": "~/notes"}),
        ):
            result = session.call(name, given).builtins()
            seen.add(result.get("error", {}).get("code", "ok"))
    assert seen == {"quota_exceeded", "permission_denied", "not_empty", "ok"}
