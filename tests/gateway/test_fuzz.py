"""Malformed messages by the thousand: the gateway lives, fails nowhere, and tells nothing."""

from __future__ import annotations

import asyncio
import json
import logging
import re
import secrets
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from random import Random
from urllib.parse import urlsplit

import httpx2
import pytest
from msgspec import convert
from msgspec.structs import replace

from provegym.gateway import http
from provegym.gateway.rooms import Room, open_world, room_of
from provegym.gateway.settings import Settings
from provegym.types import Task
from tests.gateway.house import HELLO, House
from tests.gateway.malformed import CALL, TEXTS, Ids, Message, changed, message, rpc, task, text

AT_ONCE = 32
PER_SESSION = 250
"""Messages until the attacker gets another session, since some messages close theirs."""
ANSWER_SECONDS = 60.0
"""For a message that an answer is owed to, on a machine that does much else."""
SILENCE_SECONDS = 0.5
"""A message that is not whole gets no answer; so long it is waited for."""
STATUS = re.compile(rb"HTTP/1\.1 (\d{3}) ")
FULL = b"Too many open sessions"
"""What the SDK says at the most connections: the one 503 there may be."""


class Victim:
    """A session that the attacker does not know, and all that must never be in an answer."""

    def __init__(self, house: House, token: str, environment: str) -> None:
        self.secret = secrets.token_hex(16)
        self.room = Room(open_world(7, ("filesystem",)))
        note = {"path": "canary.txt", "content": self.secret}
        assert self.room.call("create_file", note).outcome == "ok"
        self.name = house.rooms.add(self.room)
        self.digest = self.room.session.digest()
        self.never = [
            self.secret,
            token,
            environment,
            "Traceback (most",
            'File "/',
            "site-packages",
        ]

    def check(self, sent: Message, answer: bytes) -> None:
        """See that an answer holds nothing of the victim or the server."""
        never = self.never if sent.told else [*self.never, self.name]
        for secret in never:
            assert secret.encode() not in answer, (sent, answer)

    def check_itself(self, house: House) -> None:
        """See that nobody touched the session, and that it still works."""
        assert self.room.session.digest() == self.digest
        told = {"name": "read_file", "arguments": {"path": "canary.txt"}}
        answer = house.ask(f"/s/{self.name}/mcp", "tools/call", told)
        assert answer.json()["result"]["structuredContent"]["content"].strip() == self.secret


class Attacker:
    """Sends messages, `AT_ONCE` at a time."""

    def __init__(self, house: House, victim: Victim, token: str, seed: int) -> None:
        self.house, self.victim, self.token = house, victim, token
        self.client = httpx2.Client()
        house.send = self.client.post  # a client for each request costs more than the request
        self.rnd = Random(seed)
        self.kinds: Counter[str] = Counter()
        self.statuses: Counter[int] = Counter()
        parts = urlsplit(house.url)
        self.place = parts.hostname, parts.port

    async def attack(self, count: int) -> None:
        """Send so many messages."""
        for _ in range(0, count, PER_SESSION):
            batch = iter(list(self.messages(min(PER_SESSION, count))))
            async with asyncio.TaskGroup() as tasks:
                for _ in range(AT_ONCE):
                    tasks.create_task(self.work(batch))
            self.use_what_was_made()

    def use_what_was_made(self) -> None:
        """List, call and score every session that a message opened, then close it."""
        told = {"authorization": f"Bearer {self.token}"}
        for name, _ in self.house.rooms.items():
            if name == self.victim.name:
                continue
            control = f"/v1/sessions/{name}"
            for answer in (
                self.house.ask(f"/s/{name}/mcp", "tools/list", {}),
                self.house.ask(f"/s/{name}/mcp", "tools/call", CALL),
                self.house.post(f"{control}/score", {}, **told),
                self.client.get(f"{self.house.url}{control}/changes", headers=told),
                self.client.delete(f"{self.house.url}{control}", headers=told),
            ):
                assert answer.status_code < 500, answer.text

    def messages(self, count: int) -> Iterator[Message]:
        """The next messages, for a new session."""
        name = self.house.rooms.add(room_of(convert(task(), Task)))
        connection = self.house.connect(f"/s/{name}/mcp")
        for _ in range(count):
            yield message(self.rnd, Ids(name, connection, self.token))

    async def work(self, batch: Iterator[Message]) -> None:
        for sent in batch:
            answer = await self.exchange(sent)
            self.kinds[sent.kind] += 1
            self.judge(sent, answer)

    def judge(self, sent: Message, answer: bytes) -> None:
        """See that an answer is one that there may be."""
        found = [int(status) for status in STATUS.findall(answer)]
        self.statuses.update(found or [0])
        assert found or not sent.whole, sent
        for status in found:
            assert status < 500 or (status == 503 and FULL in answer), (sent, answer)
        self.victim.check(sent, answer)

    async def exchange(self, sent: Message) -> bytes:
        """What is answered on a connection of its own, until it ends or nothing more comes."""
        reader, writer = await asyncio.open_connection(*self.place, limit=1 << 24)
        answer = b""
        try:
            writer.write(sent.data)
            if sent.kind == "cut short":
                return b""
            limit = ANSWER_SECONDS if sent.whole else SILENCE_SECONDS
            async with asyncio.timeout(limit):
                while part := await reader.read(1 << 20):
                    answer += part
        except (TimeoutError, ConnectionError):
            pass  # a server may drop what is no HTTP; an answer that is owed is missed later
        finally:
            writer.transport.abort() if sent.kind != "cut short" else writer.close()
        return answer


def fuzz(
    count: int, seed: int, monkeypatch: pytest.MonkeyPatch, log: logging.Handler | None = None
) -> Attacker:
    """Attack a gateway of its own, and see that it stands as before."""
    token, environment = secrets.token_hex(16), secrets.token_hex(16)
    monkeypatch.setenv("PROVEGYM_SECRET", environment)
    settings = Settings(servers=("banking",), token=token, sessions=400, rate=0, idle=20)
    rooms = http.new_rooms(replace(settings, idle=3600))
    with http.background(http.app(rooms, settings), replace(settings, port=0)) as url:
        if log:
            logging.getLogger("uvicorn").addHandler(log)  # which keeps its lines to itself
        house = House(rooms, settings, url)
        victim = Victim(house, token, environment)
        attacker = Attacker(house, victim, token, seed)
        with attacker.client:
            asyncio.run(attacker.attack(count))
            victim.check_itself(house)
    return attacker


def faults(caplog: pytest.LogCaptureFixture, attacker: Attacker) -> list[str]:
    """Errors in the log, and secrets in any line of it."""
    # The SDK takes it for an error that a client ended its connection in the middle of a request.
    seen = [r for r in caplog.records if "ClosedResourceError" not in str(r.exc_info)]
    lines = [f"{record.levelname} {record.getMessage()}" for record in seen]
    secret = [*attacker.victim.never[:3], attacker.victim.name]
    return [
        line for line in lines if line.startswith("ERROR") or any(word in line for word in secret)
    ]


def test_two_thousand_malformed_messages_crash_nothing_and_leak_nothing(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    attacker = fuzz(2000, 1, monkeypatch, caplog.handler)
    assert faults(caplog, attacker) == []
    assert attacker.kinds.total() == 2000
    # It gets past the guard and the parsers, and is told why it does not get further.
    assert {200, 400, 401, 404, 405, 413, 415, 421, 422} - set(attacker.statuses) <= {413, 415}


def test_two_thousand_malformed_lines_over_stdio_end_nothing() -> None:
    rnd, call = Random(3), rpc("tools/call", CALL)
    lines = [text(HELLO), text({"jsonrpc": "2.0", "method": "notifications/initialized"})]
    for number in range(2000):
        body = changed(json.loads(json.dumps(call)), rnd)
        line = text(body) if number % 2 else rnd.choice(TEXTS)(text(call), rnd)
        lines.append(line.replace(b"\n", b" "))
    lines.append(text({**call, "id": "last"}))
    done = subprocess.run(
        [sys.executable, "-c", "from provegym.cli import main; main()", "serve", "banking"],
        input=b"\n".join(lines) + b"\n",
        capture_output=True,
        check=True,
        timeout=300,
    )
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    [last] = [answer for answer in answers if answer.get("id") == "last"]
    assert len(last["result"]["structuredContent"]["accounts"]) == 2
    assert all(answer["jsonrpc"] == "2.0" for answer in answers)
    assert {"error", "result"} == {key for answer in answers for key in answer} - {"jsonrpc", "id"}
    told = done.stdout + done.stderr
    assert b"Traceback" not in told
    assert b"provegym/gateway" not in told


@pytest.mark.slow
def test_a_hundred_thousand_malformed_messages_crash_nothing_and_leak_nothing(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    begin = time.process_time()
    attacker = fuzz(100_000, 2, monkeypatch, caplog.handler)
    assert faults(caplog, attacker) == []
    minutes = (time.process_time() - begin) / 60
    kinds, statuses = dict(attacker.kinds), dict(sorted(attacker.statuses.items()))
    sys.stdout.write(f"{kinds}\n{statuses}\n{minutes:.1f} minutes of CPU, client and server\n")
