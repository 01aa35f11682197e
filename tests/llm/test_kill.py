"""A process that is killed at random moments pays for no finished request twice."""

from __future__ import annotations

import asyncio
import json
import os
import random
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from provegym.llm.cache import Cache
from provegym.llm.ledger import Spent
from provegym.llm.scripted import Response, ScriptedServer, says

REQUESTS, SLOTS, KILLS = 150, 8, 10

# Imports once and forks a life for each line it reads, since importing takes most of a life.
PROGRAM = """
import asyncio, os, sys
from pathlib import Path
from provegym.config import Teacher as Settings
from provegym.llm.teacher import Teacher

async def life(url, file, requests, slots):
    settings = Settings(model="m", base_url=url, concurrency=slots, max_tokens=64)
    async with Teacher(settings, Path(file), api_key=str(os.getpid())) as teacher:
        async def one(number):
            message = {"role": "user", "content": str(number)}
            answer = await teacher.complete([message], seed=number)
            os.write(1, f"{answer.content}\\n".encode())
        await asyncio.gather(*map(one, range(requests)))

url, file, requests, slots = sys.argv[1:]
for line in sys.stdin:
    child = os.fork()
    if not child:
        asyncio.run(life(url, file, int(requests), int(slots)))
        os._exit(0)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    os.write(1, f"over {code}\\n".encode())
"""


class Life(NamedTuple):
    """What a process got done, by the numbers of its requests, and how it ended."""

    used: set[int]
    code: int


class Killer:
    """A script that kills who asks, a random moment after a random request.

    It does not answer the last request before the last kill, so that nobody is done before.
    """

    def __init__(self, server: ScriptedServer, chance: random.Random) -> None:
        self._server, self._chance = server, chance
        self.after: int | None = None
        self.deadly = True

    async def __call__(self, request: dict[str, Any]) -> Response:
        last = number_of(request) == str(REQUESTS - 1)
        if self.after is not None and (last or len(self._server.seen) >= self.after):
            self.after = None
            key = self._server.seen[-1].key or ""
            moment = self._chance.choice([0.0, self._chance.uniform(0, 0.02)])
            process = int(key.removeprefix("Bearer "))
            loop = asyncio.get_running_loop()
            loop.call_later(moment, os.kill, process, signal.SIGKILL)
        return replace(says(number_of(request), usage=(10, 5)), hold=last and self.deadly)

    def arm(self) -> None:
        self.after = len(self._server.seen) + self._chance.randint(1, 12)


def number_of(request: dict[str, Any]) -> str:
    return str(request["messages"][0]["content"])


def live(program: subprocess.Popen[str]) -> Life:
    assert program.stdin
    assert program.stdout
    program.stdin.write("go\n")
    program.stdin.flush()
    used: set[int] = set()
    for line in program.stdout:
        if line.startswith("over"):
            return Life(used, int(line.split()[1]))
        used.add(int(line))
    raise AssertionError("the program ended")


def kept(file: Path) -> tuple[set[int], Spent, Spent]:
    """The numbers of the answers in a file, and what they took."""
    cache = Cache(file)
    spent = cache.spent("m")
    cache.close()
    with closing(sqlite3.connect(file)) as db:
        bodies = db.execute("SELECT body FROM answers").fetchall()
    found = [json.loads(body)["choices"][0]["message"]["content"] for (body,) in bodies]
    assert len(found) == len(set(found))
    return set(map(int, found)), *spent


def test_no_finished_request_is_asked_again_after_ten_kills(
    endpoint: ScriptedServer, tmp_path: Path
) -> None:
    file = tmp_path / "answers.sqlite"
    killer = endpoint.script = Killer(endpoint, random.Random(4))
    command = [sys.executable, "-c", PROGRAM, endpoint.url, str(file), str(REQUESTS), str(SLOTS)]
    finished: set[int] = set()
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True) as program:
        for _ in range(KILLS):
            before = len(endpoint.seen)
            killer.arm()
            life = live(program)
            assert life.code == -signal.SIGKILL
            asked = {int(number_of(request)) for request in endpoint.requests[before:]}
            assert not asked & finished
            finished, _, lost = kept(file)
            assert life.used <= finished  # an answer is on disk before it is used
            assert lost.requests <= SLOTS * KILLS
        before, killer.deadly = len(endpoint.seen), False
        life = live(program)
        assert (life.code, life.used) == (0, set(range(REQUESTS)))
        assert program.stdin
        program.stdin.close()
    assert not {int(number_of(r)) for r in endpoint.requests[before:]} & finished
    found, spent, lost = kept(file)
    assert found == set(range(REQUESTS))
    assert spent == Spent(REQUESTS, 10 * REQUESTS, 5 * REQUESTS)
    assert lost.requests >= len(endpoint.seen) - REQUESTS  # asked again, since no answer was kept
    assert 0 < len(endpoint.seen) - REQUESTS <= SLOTS * KILLS
