"""`provegym.connect`: sessions of a gateway are used like those of this process."""

from __future__ import annotations

import contextlib
import inspect
import re
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import Any

import pytest

import provegym
from provegym.errors import (
    InfrastructureError,
    InputError,
    ServerFault,
    SessionClosed,
    SessionExpired,
    SessionUnknown,
)
from provegym.gateway import wire
from provegym.gateway.client import Connection, RemoteSession
from provegym.gateway.http import background
from provegym.gateway.rooms import Rooms
from provegym.world.session import Session
from provegym.world.world import World
from tests.gateway.control_app import PAD, Clock, Settings, control_app, new_rooms

CLOCK = Clock()


@pytest.fixture(scope="module")
def rooms() -> Rooms:
    return new_rooms(CLOCK)


@pytest.fixture(scope="module")
def url(rooms: Rooms) -> Iterator[str]:
    with background(control_app(rooms, Settings(sessions=2000))) as url:
        yield url


@pytest.fixture
def connection(url: str) -> Iterator[Connection]:
    with provegym.connect(url) as connection:
        yield connection


def local() -> Session:
    return World(7, [PAD]).open()


def texts(session: Session | RemoteSession) -> list[str]:
    return [note["text"] for note in session.call("list_notes", {}).builtins()]


# -- the same interface -----------------------------------------------------------------------


def test_it_has_the_methods_of_a_session_with_the_same_parameters() -> None:
    for name, method in vars(Session).items():
        if (
            not name.startswith("_")
            and inspect.isfunction(method)
            and name not in ("state", "open_table")
        ):
            theirs = inspect.signature(getattr(RemoteSession, name)).parameters
            assert list(theirs) == list(inspect.signature(method).parameters), name


GIVEN: list[tuple[str, Any]] = [
    ("write_note", {"text": "tea"}),
    ("write_note", '{"text": "Käse \\u00e9 \\ud83d\\ude00"}'),
    ("write_note", b'{"text": "bytes"}'),
    ("write_note", '{"text": "twice", "text": "last"}'),
    ("write_note", "{}"),
    ("write_note", {"text": 5}),
    ("write_note", {"texts": "x"}),
    ("write_note", '{"text": '),
    ("write_note", "5"),
    ("write_note", '"{}"'),
    ("write_note", "null"),
    ("write_note", ""),
    ("write_note", '{"text": NaN}'),
    ("write_note", '{"text": "\ud800"}'),
    ("write_note", b'{"text": "\xff"}'),
    ("write_note", {"text": float("nan")}),
    ("write_note", {"text": object()}),
    ("write_note", '{"text": "' + "x" * (1 << 20) + '"}'),
    ("list_notes", {}),
    ("no_such", {}),
    ("\ud800", {}),
    ("", ""),
]


@pytest.mark.parametrize(("name", "arguments"), GIVEN, ids=range(len(GIVEN)))
def test_a_call_gives_what_it_gives_in_process(
    connection: Connection, name: str, arguments: Any
) -> None:
    here, there = local(), connection.open(7, ["pad"])
    one, other = here.call(name, arguments), there.call(name, arguments)
    assert other.outcome == one.outcome
    if one.outcome in ("ok", "tool_error", "invalid_arguments"):
        assert other.json() == one.json()
        assert other.builtins() == one.builtins()
    else:  # the text of a parser's error, or of a name, may differ in how it spells what is no text
        assert other.builtins()["error"]["code"] == one.builtins()["error"]["code"]
    assert there.digest() == here.digest()
    assert there.changes() == here.changes()


def test_state_is_kept_restored_forked_and_reset(connection: Connection) -> None:
    for session in (local(), connection.open(7, ["pad"])):
        session.call("write_note", {"text": "tea"})
        kept: Any = session.snapshot()
        session.call("write_note", {"text": "cake"})
        twin = session.fork()
        session.restore(kept)
        assert texts(session) == ["milk", "tea"]
        twin.call("write_note", {"text": "more"})
        assert texts(twin) == ["milk", "tea", "cake", "more"]
        twin.restore(kept)
        assert twin.digest() == session.digest()
        session.reset()
        assert session.digest() == local().digest()
        assert session.changes() == {}
        assert twin.changes() == {"pad.notes": {"+1": {"text": "tea"}}}


def test_tools_are_offered_and_shown(connection: Connection) -> None:
    here, there = local(), connection.open(7, ["pad"])
    assert there.tools() == here.tools()
    for session in (here, there):
        session.offer(name for name in ("list_notes", "list_accounts"))
        assert [tool.function.name for tool in session.tools()] == ["list_notes"]
        assert session.call("tear", {}).outcome == "unknown_tool"
        assert session.call("list_accounts", {}).builtins()["error"]["code"] == "no_server"
        session.offer(None)
        assert session.call("write_note", {"text": "x"}).outcome == "ok"
    assert there.tools() == here.tools()


def test_a_closed_session_stays_closed_and_may_be_closed_again(connection: Connection) -> None:
    for session in (local(), connection.open(7, ["pad"])):
        session.close()
        session.close()
        for use in (session.digest, session.changes, session.reset, session.snapshot, session.fork):
            with pytest.raises(SessionClosed):
                use()
        with pytest.raises(SessionClosed):
            session.call("list_notes", {})


def test_what_is_gone_raises_what_it_raises_in_process(connection: Connection) -> None:
    session = connection.open(7, ["pad"])
    CLOCK.now += 61
    with pytest.raises(SessionExpired, match="idle"):
        session.call("list_notes", {})
    session.close()
    unknown = RemoteSession(connection, wire.Opened("never", "/s/never/mcp"))
    with pytest.raises(SessionUnknown, match="never"):
        unknown.digest()
    with pytest.raises(ServerFault):
        connection.open(7, ["pad"]).call("tear", {})


def test_what_the_user_got_wrong_is_an_input_error(connection: Connection) -> None:
    with pytest.raises(InputError, match="banking"):
        connection.open(7, ["bank"])
    session = connection.open(7, ["pad"])
    with pytest.raises(InputError, match="s9"):
        session.restore("s9")
    with pytest.raises(InputError, match="task"):
        session.score()
    for wrong in ("", "ftp://host", "http://"):
        with pytest.raises(InputError, match="URL"):
            provegym.connect(wrong)


def test_a_full_server_is_no_fault_of_the_user() -> None:
    with (
        background(control_app(new_rooms(), Settings(sessions=1))) as url,
        provegym.connect(url) as full,
    ):
        full.open(7, ["pad"])
        with pytest.raises(InfrastructureError, match="1 sessions"):
            full.open(7, ["pad"])


def test_past_the_deadline_the_episode_does_not_count() -> None:
    app = control_app(new_rooms(), Settings(deadline=1e-9))
    with background(app) as url, provegym.connect(url) as slow:
        session = slow.open(7, ["pad"])
        with pytest.raises(InfrastructureError, match="not done within"):
            session.call("list_notes", {})


def test_a_server_that_is_gone_is_a_fault_of_ours() -> None:
    with background(control_app(new_rooms())) as url:
        connection = provegym.connect(url)
        session = connection.open(7, ["pad"])
    with pytest.raises(InfrastructureError, match="cannot be reached"):
        session.call("list_notes", {})
    connection.close()


def test_connecting_costs_nothing_until_it_is_asked_for() -> None:
    code = "import sys, provegym; assert provegym.connect; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], text=True, capture_output=True, check=True)
    loaded = set(done.stdout.split())
    assert not {"msgspec", "http.client", "starlette", "provegym.gateway"} & loaded
    code = "import sys, provegym; provegym.connect('http://x'); print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], text=True, capture_output=True, check=True)
    assert not {"starlette", "mcp", "uvicorn", "faker"} & set(done.stdout.split())


# -- answers that are lost --------------------------------------------------------------------


def pump(source: socket.socket, to: socket.socket, cut: list[int]) -> None:
    """Carry bytes until the source ends; while `cut` has a count, end in their place."""
    while data := source.recv(1 << 16):
        if cut and cut[0]:
            cut[0] -= 1
            break
        to.sendall(data)
    for end in (source, to):
        with contextlib.suppress(OSError):  # the other side may have ended first
            end.shutdown(socket.SHUT_RDWR)


@contextmanager
def losing(url: str, lost: int) -> Iterator[str]:
    """A way to the server on which the first `lost` answers are cut off after it gave them."""
    host, port = url.removeprefix("http://").split(":")
    left, threads = [lost], []

    def carry(client: socket.socket) -> None:
        with closing(client), closing(socket.create_connection((host, int(port)))) as server:
            back = threading.Thread(target=pump, args=(server, client, left))
            back.start()
            pump(client, server, [])
            back.join()

    def accept(listener: socket.socket) -> None:
        with contextlib.suppress(OSError):  # how a listener that is shut down says so
            while True:
                threads.append(threading.Thread(target=carry, args=(listener.accept()[0],)))
                threads[-1].start()

    with closing(socket.create_server(("127.0.0.1", 0))) as listener:
        first = threading.Thread(target=accept, args=(listener,))
        first.start()
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        listener.shutdown(socket.SHUT_RDWR)
        for thread in (first, *threads):
            thread.join(timeout=10)
            assert not thread.is_alive()
    assert left == [0]


def test_a_call_whose_answer_was_lost_is_not_run_twice(url: str, rooms: Rooms) -> None:
    with provegym.connect(url) as direct:
        name = direct.open(7, ["pad"]).id
        with losing(url, 1) as bad, provegym.connect(bad) as connection:
            session = RemoteSession(connection, wire.Opened(name, ""))
            assert session.call("write_note", {"text": "tea"}).builtins()["text"] == "tea"
            assert texts(session) == ["milk", "tea"]
    assert rooms.get(name).session.changes() == {"pad.notes": {"+1": {"text": "tea"}}}


def test_a_close_whose_answer_was_lost_is_a_close(url: str) -> None:
    with provegym.connect(url) as direct:
        name = direct.open(7, ["pad"]).id
        with losing(url, 1) as bad, provegym.connect(bad) as connection:
            RemoteSession(connection, wire.Opened(name, "")).close()
        with pytest.raises(SessionClosed):
            RemoteSession(direct, wire.Opened(name, "")).digest()


# -- what can only be a mistake ---------------------------------------------------------------


@pytest.mark.parametrize("servers", ["pad", b"pad", {"pad"}, 5, ["pad", 5], iter(["pad"])])
def test_servers_are_a_sequence_of_names(connection: Connection, servers: Any) -> None:
    with pytest.raises(InputError, match="is no sequence of names; give one such as"):
        connection.open(7, servers)


@pytest.mark.parametrize("name", [5, None, ["list_notes"], b"list_notes"])
def test_a_name_that_is_no_text_is_an_unknown_tool_here_and_there(
    connection: Connection, name: Any
) -> None:
    session = connection.open(7, ["pad"])
    (many,) = connection.call_many([(session, name, {})])
    for result in (session.call(name, {}), many, local().call(name, {})):
        assert result.outcome == "unknown_tool"
        assert repr(name) in result.value["error"]["message"].replace("\\", "")


def test_nothing_can_be_asked_of_a_connection_that_was_closed(url: str) -> None:
    connection = provegym.connect(url)
    session = connection.open(7, ["pad"])
    connection.close()
    connection.close()
    told = f"the connection to {url} was closed; connect again"
    for ask in (session.digest, session.fork, session.close, lambda: connection.open(7, ["pad"])):
        with pytest.raises(InputError, match=re.escape(told)):
            ask()
    with pytest.raises(InputError, match=re.escape(told)):
        session.call("list_notes", {})
    with provegym.connect(url) as other:
        assert other.open(7, ["pad"]).call("list_notes", {}).outcome == "ok"
