"""Answers as third parties give them: errors in the wrong channel, junk, broken results, pages."""

from __future__ import annotations

import logging
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from provegym.errors import ServerFault
from provegym.gateway.external import strays
from provegym.gateway.external.connection import Connection
from provegym.gateway.external.results import Answer
from provegym.gateway.external.settings import External

RAW = External(command=f"{sys.executable} -S {Path(__file__).with_name('raw.py')}", seconds=120)


@pytest.fixture
def raw(tmp_path: Path) -> Iterator[Connection]:
    connection = Connection("raw", RAW, tmp_path, 0).start()
    yield connection
    connection.close()
    assert connection.ended(60)


def test_all_pages_of_a_list_are_read(raw: Connection) -> None:
    listing = raw.listing()
    assert (listing.title, [tool.name for tool in listing.tools]) == ("raw", ["act", "more"])


def test_an_error_that_the_server_answers_with_is_a_result_and_the_server_stays(
    raw: Connection,
) -> None:
    assert raw.call("act", {"kind": "invalid"}) == Answer(None, "kind is wrong", misused=True)
    assert raw.call("act", {"kind": "internal"}) == Answer(None, "disk is full")
    assert raw.call("act", {}) == Answer({})


def test_junk_between_the_answers_is_passed_over(
    raw: Connection, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.ERROR):
        assert raw.call("act", {"kind": "junk"}) == Answer({"kind": "junk"})


def test_a_result_outside_the_protocol_is_a_fault_of_ours(raw: Connection) -> None:
    told = "server raw breaks MCP while running act: content is 'odd'; mend the server"
    with pytest.raises(ServerFault, match=f"^{re.escape(told)}$"):
        raw.call("act", {"kind": "odd"})
    assert raw.lost


@pytest.mark.parametrize(
    ("lists", "told"),
    [
        ("endless", "server raw lists tools without an end: it always goes on, at 'again'"),
        ("twice", "server raw lists 'act' twice"),
    ],
)
def test_a_list_that_cannot_be_is_refused(tmp_path: Path, lists: str, told: str) -> None:
    told_to = External(command=f"{RAW.command} {lists}", seconds=120)
    connection = Connection("raw", told_to, tmp_path, 0).start()
    with pytest.raises(ServerFault, match=told):
        connection.listing()
    connection.close()


def test_an_argument_that_must_be_given_as_null_is_sent_as_null(raw: Connection) -> None:
    assert raw.call("act", {"kind": None}) == Answer({"kind": None})


def test_a_connection_that_is_closed_cannot_be_asked(raw: Connection) -> None:
    raw.ready()
    raw.close()
    assert raw.ended(60)
    with pytest.raises(ServerFault, match="was lost before"):
        raw.call("act", {})


def banner(tmp_path: Path, text: str) -> Connection:
    """The raw server behind a line of its own on stdout, or nothing but such lines."""
    script = Path(__file__).with_name("raw.py")
    command = f"sh -c 'echo Hello there; {text.format(python=sys.executable, script=script)}'"
    return Connection("loud", External(command=command, seconds=120), tmp_path, 0).start()


HELLO = "writes on stdout what is no JSON-RPC: 'Hello there'"


def test_a_banner_before_a_server_that_works_is_noted_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(strays, "_noted", set())
    for _ in range(2):
        connection = banner(tmp_path, "exec {python} -S {script}")
        assert connection.call("act", {"kind": "junk"}) == Answer({"kind": "junk"})
        connection.close()
        assert connection.ended(60)
    assert caplog.messages == [f"server loud {HELLO}"]


def test_a_server_that_only_talks_is_told_of_in_the_error(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    connection = banner(tmp_path, "echo more; echo and more")
    with pytest.raises(ServerFault, match=HELLO):
        connection.ready()
    assert connection.ended(60)
    assert caplog.messages == []


def test_what_the_sdk_logs_for_others_stays(caplog: pytest.LogCaptureFixture) -> None:
    logging.getLogger(strays.SDK).error("Failed to parse JSONRPC message from server")
    assert len(caplog.messages) == 1
