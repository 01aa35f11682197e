"""Learning of a server: the same whoever looks, on a busy machine as well, and it ends."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from threading import Barrier, Thread
from typing import Any

import pytest
from msgspec.structs import replace

from provegym import servers
from provegym.errors import InputError, ServerFault
from provegym.gateway.external import learn, library, scout, settings
from provegym.gateway.external.connection import Connection, Silent
from provegym.gateway.external.learned import Learned
from provegym.gateway.external.library import Site
from provegym.gateway.external.places import register
from provegym.gateway.external.results import Answer
from provegym.gateway.external.settings import External
from provegym.synth.context import entities

pytestmark = pytest.mark.usefixtures("known_servers")

Open = Callable[..., Site]


@pytest.fixture
def site(tmp_path: Path, told: External) -> Iterator[Open]:
    """Opens the desk of a folder, which is closed at the end."""
    opened: list[Site] = []

    def make(folder: Path = tmp_path, **changes: Any) -> Site:
        folder.mkdir(exist_ok=True)
        path = folder / settings.FILE
        path.write_text(settings.table("desk", replace(told, **changes)))
        opened.append(Site("desk", path, settings.of(path, "desk")))
        return opened[-1]

    yield make
    for each in opened:
        each.close()


def risky(told: External) -> str:
    """The command of a desk with tools that lose the process."""
    return told.command.removesuffix(" --plain")


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Waits for the tool that never answers for a moment, and for all others as long as ever."""
    call = Connection.call

    def hasty(self: Connection, tool: str, arguments: dict[str, Any]) -> Answer:
        if tool == "get_hang":
            self.told = replace(self.told, seconds=0.2)
        return call(self, tool, arguments)

    monkeypatch.setattr(Connection, "call", hasty)


def silent(tools: frozenset[str]) -> Callable[..., Answer]:
    """A `Connection.call` to which these tools give no answer, without the wait for it."""
    call = Connection.call

    def none(self: Connection, tool: str, arguments: dict[str, Any]) -> Answer:
        if tool not in tools:
            return call(self, tool, arguments)
        raise self._late(f"gave no answer within 120 s while running {tool}", f"running {tool}")

    return none


# -- what gives no answer ----------------------------------------------------------------------


@pytest.mark.usefixtures("impatient")
def test_what_loses_its_process_is_left_out_and_that_is_written_down(
    site: Open, told: External
) -> None:
    news: list[str] = []
    found = site(command=risky(told)).learned(news.append)
    names = {tool.name for tool in found.tools}
    assert not {"get_crash", "get_hang"} & names
    assert "get_everything" in names
    assert {"calling get_hang", "calling tickets.list"} <= {*news}
    assert "not learned: get_hang did not answer in 120 s" in found.notes
    crash = next(note for note in found.notes if note.startswith("get_crash is left out"))
    assert "while running get_crash; its exit code is 3" in crash
    assert site(command=risky(told)).learned(news.append) == found


def test_where_many_tools_give_no_answer_learning_is_refused_and_nothing_is_kept(
    site: Open, told: External, monkeypatch: pytest.MonkeyPatch
) -> None:
    late = frozenset(f"get_number_{n}" for n in range(9))
    monkeypatch.setattr(Connection, "call", silent(late))
    desk = site(command=f"{told.command} --many 9")
    with pytest.raises(InputError, match=r"get_number_4 did not answer in 120 s, nor did get_.*0"):
        desk.learned()
    assert not desk.where.exists()


def test_a_snapshot_that_gives_no_answer_is_no_fault_of_the_tool_before_it(
    site: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk = site()
    plain, calls = Connection.call, [0]

    def late(self: Connection, tool: str, arguments: dict[str, Any]) -> Answer:
        calls[0] += tool == "tickets.create"
        none = calls[0] and tool == "whole_desk"
        return (silent(frozenset([tool])) if none else plain)(self, tool, arguments)

    monkeypatch.setattr(Connection, "call", late)
    with pytest.raises(Silent, match="while running whole_desk"):
        desk.learned()
    assert not desk.where.exists()


def test_learning_that_takes_too_long_is_refused_and_nothing_is_kept(
    site: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scout, "LEARNING_SECONDS", 0.0)
    desk = site()
    with pytest.raises(InputError, match=r"not learned: .* set `probe = false` .*, or `hide`"):
        desk.learned()
    assert not desk.where.exists()


def test_a_start_of_which_a_part_is_not_seen_is_no_start(
    site: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk = site(seeded=True)
    desk.learned()
    monkeypatch.setattr(Connection, "call", silent(frozenset(["tickets.list"])))
    with pytest.raises(
        ServerFault, match="start of seed 5 is not known: not learned: tickets_list"
    ):
        desk.start(5)
    assert list(Site("desk", desk.home / settings.FILE, desk.told).learned().starts) == [0]


@pytest.mark.slow
def test_how_many_calls_tell_of_a_change_does_not_grow_with_the_number_of_tools(
    site: Open, told: External, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain, calls = Connection.call, [0]

    def counted(self: Connection, tool: str, arguments: dict[str, Any]) -> Answer:
        calls[0] += 1
        if tool.startswith("get_number"):  # as the desk would answer, but at once
            return Answer({"result": int(tool.rpartition("_")[2])})
        return plain(self, tool, arguments)

    monkeypatch.setattr(Connection, "call", counted)
    found = site(command=f"{told.command} --many 30", snapshot="").learned()
    assert len(found.tools) == 39
    assert {t.effect for t in found.tools if t.name.startswith("get_number")} == {"read"}
    # What 16 calls show at first, before and after; the call; the reset. Again for a few tools.
    assert calls[0] < 2 * len(found.tools) * (3 * scout.WITNESSES + 2)


# -- whoever looks -----------------------------------------------------------------------------


def test_of_two_that_look_at_once_one_finds_out_and_both_know_the_same(
    site: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    both = [site(), site()]
    together, looks, found = Barrier(2), [0], list[Learned]()
    find_out = learn.learn

    def counted(*told: Any) -> Learned:
        looks[0] += 1
        return replace(find_out(*told), title=f"Look {looks[0]}")

    monkeypatch.setattr(library, "learn", counted)

    def look(desk: Site) -> None:
        together.wait()
        found.append(desk.learned())

    threads = [Thread(target=look, args=(desk,)) for desk in both]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [known.title for known in found] == ["Look 1", "Look 1"]


def test_a_world_is_of_the_server_that_has_the_name_now(
    site: Open, tmp_path: Path, told: External
) -> None:
    for folder, command in (("one", told.command), ("two", f"{told.command} --many 1")):
        site(tmp_path / folder, command=command, probe=False)
    register(tmp_path / "one")
    before = servers.world(3, ("desk",))
    assert servers.world(3, ("desk",)) is before
    shown = entities(3, ("desk",))
    register(tmp_path / "two")
    after = servers.world(3, ("desk",))
    assert after.tools.keys() - before.tools.keys() == {"get_number_0"}
    assert entities(3, ("desk",)) is not shown
    register(tmp_path / "one")
    assert servers.world(3, ("desk",)) is before


# -- names -------------------------------------------------------------------------------------


def test_dotted_names_are_understood_as_plain_ones_are(tmp_path: Path) -> None:
    script = Path(__file__).with_name("shop.py")

    def seen(flags: str, snapshot: str) -> Any:
        told = External(
            command=f"{sys.executable} {script} {flags}", snapshot=snapshot, reset="start_over"
        )
        folder = tmp_path / f"shop{flags}"
        folder.mkdir()
        site = Site("shop", folder / settings.FILE, told)
        try:
            found = site.learned()
        finally:
            site.close()
        tools = [(t.effect, t.why, t.takes, t.shows) for t in found.tools]
        return tools, found.entities, found.starts[0].values

    tools, entities, values = seen("", "all.state")
    assert (tools, entities, values) == seen("--plain", "all_state")
    assert [tool[:3] for tool in tools[:3]] == [
        ("read", "probing", {}),
        ("read", "probing", {"/item_id": "items"}),
        ("write", "caution", {"/item_id": "items"}),
    ]
    assert tools[0][3]["/items/*/id"] == "items"
    assert [entity.name for entity in entities] == ["items"]
    assert set(values["items"]) == {"itm-1", "itm-2", "itm-3"}
