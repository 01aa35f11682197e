"""Seeded disks: their size, their rules, their sameness, and calls drawn at random."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from provegym.seeding import rng
from provegym.servers.filesystem import SERVER
from provegym.world.sample import arguments
from provegym.world.schema import lint
from provegym.world.session import Session
from tests.servers.disk_calls import disk_of, world
from tests.servers.elsewhere import digests_elsewhere


def ok(session: Session, name: str, /, **given: Any) -> Any:
    result = session.call(name, given)
    assert result.outcome == "ok", (name, given, result.builtins())
    return result.builtins()


def sound(session: Session) -> None:
    assert list(SERVER.violations(session.state("filesystem"))) == []


def test_there_are_forty_tools_and_all_schemas_are_portable_and_short() -> None:
    assert len(SERVER.tools) == 40
    schemas = [tool.schema for tool in SERVER.tools.values()]
    assert [p for s in schemas for p in lint(s.function.parameters)] == []
    assert len(msgspec.json.encode(schemas)) / 4 < 8000


@pytest.mark.parametrize("seed", range(12))
def test_a_seeded_disk_has_500_rows_and_breaks_no_rule(seed: int) -> None:
    assert sum(len(t.rows) for t in world(seed).templates.values()) >= 500
    sound(world(seed).open())


def test_the_same_seed_gives_the_same_disk_in_another_process() -> None:
    assert digests_elsewhere("filesystem", 5) == {world(5).digest}
    assert world(5).digest != world(6).digest


@pytest.mark.parametrize("name", SERVER.tools)
def test_sampled_calls_succeed_in_most_worlds_and_say_what_is_needed(name: str) -> None:
    tool, good = SERVER.tools[name], 0
    for seed in range(40):
        session = world(seed).open()
        given = arguments(tool, disk_of(session), rng(seed, "sample", name))
        result = session.call(name, given)
        good += result.outcome == "ok"
        if result.outcome == "ok":
            assert bool(session.changes()) == (tool.effect == "write"), given
        for phrase in tool.phrases:
            assert all(f"{{{parameter}}}" in phrase for parameter in given), (phrase, given)
            assert all(f"{{{parameter}}}" in phrase for parameter in tool.required)
    assert good >= 20


def test_two_thousand_random_calls_break_no_rule() -> None:
    for walk in range(8):
        rnd = rng(walk, "walk")
        session = world(walk).open()
        for step in range(250):
            name = rnd.choice(list(SERVER.tools))
            given = arguments(SERVER.tools[name], disk_of(session), rnd)
            if rnd.random() < 0.15:
                given = {
                    k: _other(v, rnd.choice(("/tmp", "..", "~/loop"))) for k, v in given.items()
                }
            session.call(name, given)
            if step % 25 == 0:
                sound(session)
        sound(session)


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


def _other(value: Any, path: str) -> Any:
    return path if isinstance(value, str) and "/" in value else value


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
