"""A server that was found out about, as a world: tools, entities, sessions, certificates."""

from __future__ import annotations

import asyncio
from pathlib import Path
from random import Random
from typing import Any

import pytest
from msgspec.structs import replace

from provegym import servers
from provegym.errors import InputError, ServerFault
from provegym.gateway import rooms
from provegym.gateway.external import settings
from provegym.gateway.external.library import Site
from provegym.gateway.external.places import register
from provegym.gateway.external.settings import External
from provegym.graph.edges import explicit_edges
from provegym.rollout.loop import run_episode
from provegym.rollout.policies import oracle
from provegym.synth.certify import certify
from provegym.synth.perturb import MOST_TOOLS, tool_list
from provegym.synth.replay import replay, start_of
from provegym.types import GroundCall, Ref, Task, Trace, Turn
from provegym.world.sample import arguments
from provegym.world.schema import lint
from provegym.world.server import Server
from provegym.world.world import World

pytestmark = pytest.mark.usefixtures("known_servers")


@pytest.fixture
def desk(shop: Path) -> Server:
    register(shop)
    return servers.load("desk")


@pytest.fixture
def world(desk: Server) -> World:
    return servers.world(3, ("desk",))


def opened(folder: Path, name: str, told: External) -> Server:
    """A server under other settings, found out about anew."""
    (folder / settings.FILE).write_text(settings.table(name, told))
    register(folder)
    return servers.load(name)


# -- what is found out -------------------------------------------------------------------------


def test_effects_come_from_annotations_and_from_what_calls_change(shop: Path, desk: Server) -> None:
    learned = Site(
        "desk", shop / settings.FILE, settings.of(shop / settings.FILE, "desk")
    ).learned()
    assert {t.real: (t.effect, t.why) for t in learned.tools} == {
        "tickets.list": ("read", "probing"),
        "tickets.get": ("read", "annotation"),
        "tickets.create": ("write", "caution"),
        "tickets.close": ("write", "annotation"),
        "tickets.annotate": ("write", "caution"),
        "get_and_count": ("write", "probing"),
        "roll_dice": ("read", "annotation"),
        "get_slowly": ("read", "annotation"),
        "whole_desk": ("read", "settings"),
    }
    assert learned.notes == ("get_and_count says that it only reads, but it writes",)


def test_tools_are_portable_and_hide_how_the_desk_is_reset(desk: Server) -> None:
    assert "start_over" not in desk.tools
    assert [lint(t.schema.function.parameters) for t in desk.tools.values()] == [[]] * 9
    create = desk.tools["tickets_create"].schema.function.parameters
    assert create["required"] == ["title"]
    assert create["properties"]["contact"]["required"] == ["email"]


def test_ids_are_found_and_named_by_the_titles_beside_them(desk: Server, world: World) -> None:
    assert desk.state.tables()["tickets"].row.label == '"{title}"'
    rows = world.templates["desk.tickets"].rows
    assert [(key, row.title) for key, row in rows.items()] == [
        ("id-1", "Printer is out of paper"),
        ("id-2", "Screen stays dark"),
        ("id-3", "Cannot log in"),
        ("id-4", "Mail comes late"),
    ]
    edges = {(e.source, e.target) for e in explicit_edges(desk)}
    assert ("tickets_list", "tickets_close") in edges
    assert ("tickets_create", "tickets_get") in edges
    assert not any("roll_dice" in pair for pair in edges)


def test_people_ask_with_a_title_and_the_id_is_a_reference(desk: Server) -> None:
    close = desk.tools["tickets_close"]
    assert close.phrases[0] == "Close ticket with ticket {ticket_id}"
    assert close.parameters[0].ref == "desk.tickets"


def test_arguments_are_drawn_from_what_is_there(desk: Server, world: World) -> None:
    session = world.open()
    drawn = [
        arguments(desk.tools["tickets_close"], session.state("desk"), Random(i)) for i in range(9)
    ]
    assert {d["ticket_id"] for d in drawn} <= {"id-1", "id-2", "id-3", "id-4"}


# -- sessions ----------------------------------------------------------------------------------


def test_sessions_fork_restore_and_reset_exactly(world: World) -> None:
    session = world.open()
    start = session.digest()
    session.call("tickets_create", {"title": "New"})
    twin, kept = session.fork(), session.snapshot()
    session.call("tickets_close", {"ticket_id": "id-5"})
    changes = session.changes()
    assert changes == {
        "desk.records": {
            "+1": {"value": {"title": "New", "status": "closed", "priority": 2, "notes": []}}
        }
    }
    assert twin.call("tickets_get", {"ticket_id": "id-5"}).value["status"] == "open"
    twin.call("tickets_close", {"ticket_id": "id-5"})
    assert (twin.changes(), twin.digest()) == (changes, session.digest())
    session.restore(kept)
    assert session.call("tickets_get", {"ticket_id": "id-5"}).value["status"] == "open"
    session.reset()
    assert (session.changes(), session.digest()) == ({}, start)
    assert session.call("tickets_get", {"ticket_id": "id-5"}).outcome == "tool_error"


def test_a_deleted_or_changed_record_is_told_of(world: World) -> None:
    session = world.open()
    session.call("tickets_annotate", {"ticket_id": "id-1", "note": "x"})
    assert session.changes() == {
        "desk.records": {
            "tickets/id-1": {
                "value": {
                    "title": "Printer is out of paper",
                    "status": "open",
                    "priority": 2,
                    "notes": ["x"],
                }
            }
        }
    }


def test_wrong_calls_have_the_outcomes_of_the_library_in_its_words(world: World) -> None:
    session = world.open()
    wrong: list[tuple[str, Any, str, str]] = [
        ("tickets_close", {}, "invalid_arguments", "missing ticket_id"),
        ("tickets_close", {"ticket_id": 7}, "invalid_arguments", "must be of type string"),
        ("tickets_close", {"ticket_id": "id-1", "x": 1}, "invalid_arguments", "unknown argument"),
        ("tickets_create", {"title": "x", "priority": 9}, "tool_error", "at most 5, got 9"),
        ("tickets_create", {"title": "x", "contact": 1}, "invalid_arguments", "be an object"),
        ("tickets_close", {"ticket_id": "id-9"}, "tool_error", "no ticket id-9"),
        ("tickets_list", {"status": "odd"}, "tool_error", "must be one of"),
        ("tickets_close", "[", "malformed", "not JSON"),
        ("tickets.close", {}, "unknown_tool", "there is no tool"),
        ("start_over", {}, "unknown_tool", "there is no tool"),
    ]
    for name, given, outcome, words in wrong:
        result = session.call(name, given)
        assert result.outcome == outcome, name
        assert words in result.value["error"]["message"]
    assert session.changes() == {}


def test_interleaved_sessions_equal_sessions_alone(world: World) -> None:
    plans = [
        [("tickets_create", {"title": f"T{i}"}), ("tickets_close", {"ticket_id": f"id-{i + 1}"})]
        for i in range(3)
    ]
    alone = []
    for plan in plans:
        session = world.open()
        alone.append([session.call(*call).builtins() for call in plan] + [session.changes()])
    mixed = [world.open() for _ in plans]
    results: list[list[Any]] = [[] for _ in plans]
    for k in range(2):
        for i in (2, 0, 1):
            results[i].append(mixed[i].call(*plans[i][k]).builtins())
    assert [[*r, s.changes()] for r, s in zip(results, mixed, strict=True)] == alone


def test_a_room_of_the_gateway_holds_a_session_on_it(world: World) -> None:
    room = rooms.Room(rooms.open_world(3, ("desk",)))
    assert "tickets_close" in {tool.function.name for tool in room.tools}
    room.session.call("tickets_close", {"ticket_id": "id-1"})
    twin = room.fork()
    assert twin.session.changes() == room.session.changes() != {}
    room.close()
    assert twin.session.call("tickets_close", {"ticket_id": "id-2"}).outcome == "ok"


# -- determinism -------------------------------------------------------------------------------


def task_of(world: World, calls: tuple[GroundCall, ...]) -> Task:
    """A task with those calls, and the results that they give now."""
    played = replay(start_of(world), [(0, call) for call in calls])
    told = tuple(replace(c, result=m.result) for c, m in zip(calls, played.calls, strict=True))
    return Task(
        "t",
        "workflow",
        (Turn("Do it.", told, "Done."),),
        servers=("desk",),
        tools=tuple(b.tool.schema for b in world.tools.values()),
        final_changes=played.end.changes,
    )


CLOSE = GroundCall("g1", "tickets_close", {"ticket_id": "id-1"})


def test_a_result_that_differs_each_time_is_noted_where_nothing_uses_it(world: World) -> None:
    dice = task_of(world, (GroundCall("g0", "roll_dice"), CLOSE))
    found = certify(dice, world)
    assert found.checks["deterministic"] is False
    assert found.passed
    steady = certify(task_of(world, (GroundCall("g0", "tickets_list"), CLOSE)), world)
    assert steady.checks["deterministic"] is True
    assert steady.passed


def test_a_task_that_uses_such_a_result_is_dropped(world: World) -> None:
    used = replace(CLOSE, refs={"/ticket_id": Ref("g0", "/eyes")})
    found = certify(task_of(world, (GroundCall("g0", "roll_dice"), used)), world)
    assert found.checks["same_results"] is False
    assert not found.passed


def test_without_stable_names_a_minted_id_makes_a_write_differ(
    tmp_path: Path, told: External
) -> None:
    plain = opened(tmp_path, "desk", replace(told, volatile=(), probe=False))
    world = World(0, [plain])
    found = certify(task_of(world, (GroundCall("g0", "tickets_create", {"title": "A"}),)), world)
    assert found.checks["same_results"] is False
    assert found.checks["deterministic"] is False


# -- episodes ----------------------------------------------------------------------------------


def test_a_call_that_takes_long_holds_up_no_other_episode(world: World) -> None:
    slow = task_of(world, (GroundCall("g0", "get_slowly", {"seconds": 0.3}),))
    seen: list[str] = []

    async def episode(number: int) -> Trace:
        seen.append("begins")
        policy = oracle(slow, number)
        trace = await run_episode(slow, world.open(), policy, trace_id=f"{number}")
        seen.append("ends")
        return trace

    async def both() -> list[Trace]:
        return await asyncio.gather(*(episode(number) for number in range(2)))

    traces = asyncio.run(both())
    assert [call.outcome for trace in traces for call in trace.calls] == ["ok", "ok"]
    assert seen == ["begins", "begins", "ends", "ends"]


# -- many servers and tools --------------------------------------------------------------------


def test_tools_that_another_server_has_get_the_servers_name_in_front(
    tmp_path: Path, told: External
) -> None:
    servers.SERVERS.clear()
    quiet = replace(told, probe=False)
    text = settings.table("one", quiet) + settings.table("two", quiet)
    (tmp_path / settings.FILE).write_text(text)
    register(tmp_path)
    both = servers.world(0, ("one", "two"))
    assert "tickets_close" in both.servers["one"].tools
    assert "two_tickets_close" in both.servers["two"].tools
    session = both.open()
    assert session.call("two_tickets_close", {"ticket_id": "id-1"}).outcome == "ok"
    assert session.call("tickets_close", {"ticket_id": "id-1"}).outcome == "ok"
    assert list(session.changes()) == ["one.records", "two.records"]


def test_of_more_than_128_tools_a_task_shows_a_part(tmp_path: Path, told: External) -> None:
    command = f"{told.command} --many 150"
    many = opened(tmp_path, "desk", replace(told, command=command, probe=False))
    assert len(many.tools) == 159
    shown, _ = tool_list(["tickets_close"], [many], [], [], 5, 0, Random(1))
    assert len(shown) == MOST_TOOLS == 128
    assert "tickets_close" in {tool.function.name for tool in shown}


def test_a_start_that_depends_on_the_seed_is_looked_at_for_each(
    tmp_path: Path, told: External
) -> None:
    seeded = opened(tmp_path, "desk", replace(told, seeded=True))
    orders = [
        [row.title for row in World(seed, [seeded]).templates["desk.tickets"].rows.values()]
        for seed in (5, 6)
    ]
    assert [titles[-1] for titles in orders] == ["Order number 5", "Order number 6"]
    assert World(5, [seeded]).digest != World(6, [seeded]).digest


def test_a_lost_process_masks_an_episode_and_never_scores_it(
    tmp_path: Path, told: External
) -> None:
    command = told.command.removesuffix(" --plain")
    lost = opened(tmp_path, "desk", replace(told, command=command, probe=False))
    session = World(0, [lost]).open()
    with pytest.raises(ServerFault, match="running get_crash"):
        session.call("get_crash", {})
    assert session.call("tickets_list", {}).outcome == "ok"


def test_a_server_that_lists_other_tools_than_before_is_not_used(
    tmp_path: Path, told: External, monkeypatch: pytest.MonkeyPatch
) -> None:
    quiet = replace(told, probe=False, forward=("MORE_TOOLS",))
    monkeypatch.setenv("MORE_TOOLS", "0")
    opened(tmp_path, "desk", quiet)
    monkeypatch.setenv("MORE_TOOLS", "1")
    path = tmp_path / settings.FILE
    later = Site("desk", path, quiet)
    later.learned()
    with pytest.raises(ServerFault, match=r"lists other tools than .*desk\.json tells of"):
        later.pool(0).rows(later)
    later.close()


def test_settings_that_name_a_tool_that_is_not_there_are_refused(
    tmp_path: Path, told: External
) -> None:
    with pytest.raises(InputError, match=r"has no tool 'begin', which its settings name; it has"):
        opened(tmp_path, "desk", replace(told, snapshot="begin"))


def test_a_name_of_the_library_cannot_be_taken(tmp_path: Path, told: External) -> None:
    (tmp_path / settings.FILE).write_text(settings.table("banking", told))
    with pytest.raises(InputError, match="there is a server 'banking' already"):
        register(tmp_path)
