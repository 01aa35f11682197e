"""Processes lent to sessions: how many are started, what a lost one means, how one goes back."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import msgspec
import pytest
from msgspec.structs import replace

from provegym.errors import InputError, ServerFault
from provegym.gateway.external import folders
from provegym.gateway.external.connection import Connection
from provegym.gateway.external.loop import loop
from provegym.gateway.external.pool import Pool
from provegym.gateway.external.settings import External
from provegym.world.cast import cast

DESK = Path(__file__).with_name("desk.py")
TOLD = External(
    command=f"{sys.executable} {DESK}",
    reset="start_over",
    snapshot="whole_desk",
    volatile=("id",),
    seconds=120.0,
)
CREATE = ("tickets.create", '{"title":"New"}')


class Owner:
    """Stands for a session."""


class Counted:
    """A pool that counts the connections it makes."""

    def __init__(self, told: External, home: Path, seed: int = 0) -> None:
        self.made: list[Connection] = []
        self.told, self.home, self.seed = told, home, seed
        self.pool = Pool(told, cast(0).start, self.connect, home / "turns")

    def connect(self) -> Connection:
        self.made.append(Connection("desk", self.told, self.home, self.seed))
        return self.made[-1]


Open = Callable[..., Counted]


@pytest.fixture
def counted(tmp_path: Path) -> Iterator[Open]:
    """Opens pools that are closed at the end."""
    opened: list[Counted] = []

    def make(seed: int = 0, **changes: object) -> Counted:
        opened.append(Counted(replace(TOLD, **changes), tmp_path, seed))
        return opened[-1]

    yield make
    for each in opened:
        each.pool.close()
        assert all(connection.ended(60) for connection in each.made)
        assert not any(connection.folder.exists() for connection in each.made)


def titles(pool: Pool, owner: Owner, log: tuple[tuple[str, str], ...]) -> list[str]:
    found = pool.read(owner, log, "tickets.list", {})
    return [ticket["title"] for ticket in found.value["result"]]


def test_many_sessions_share_one_process_that_a_tool_resets(counted: Open) -> None:
    desk = counted()
    one, two = Owner(), Owner()
    answer, rows = desk.pool.write(one, (), CREATE)
    assert answer.value["id"] == "id-5"
    assert rows["tickets/id-5"]["title"] == "New"
    assert len(titles(desk.pool, two, ())) == 4
    assert len(titles(desk.pool, one, (CREATE,))) == 5
    assert len(titles(desk.pool, one, (CREATE, CREATE))) == 6
    assert len(desk.made) == 1


def test_the_same_calls_show_the_same_ids_although_the_server_mints_others(counted: Open) -> None:
    desk = counted()
    owner = Owner()
    first, _ = desk.pool.write(owner, (), CREATE)
    real = desk.pool._processes[0].aliases.outward("id-5")
    again, _ = desk.pool.write(Owner(), (), CREATE)
    assert first.value == again.value
    assert desk.pool._processes[0].aliases.outward("id-5") != real
    got = desk.pool.read(owner, (CREATE,), "tickets.get", {"ticket_id": "id-5"})
    assert got.value["title"] == "New"


def test_a_process_of_its_own_for_each_session_and_one_kept_warm(counted: Open) -> None:
    desk = counted(reset="restart", processes=3)
    one, two = Owner(), Owner()
    titles(desk.pool, one, ())
    assert len(desk.made) == 2  # the second is warm
    desk.pool.write(one, (), CREATE)
    assert len(titles(desk.pool, two, ())) == 4
    assert len(desk.made) == 3
    assert len(titles(desk.pool, one, (CREATE,))) == 5
    assert len(desk.made) == 3
    del two
    assert len(titles(desk.pool, Owner(), ())) == 4
    assert len(desk.made) == 3  # that of the session which is no more


def test_a_restore_that_nobody_calls_after_costs_nothing(counted: Open) -> None:
    desk = counted(reset="restart", processes=1)
    owner = Owner()
    desk.pool.write(owner, (), CREATE)
    assert len(titles(desk.pool, owner, (CREATE,))) == 5
    assert len(desk.made) == 1
    assert len(titles(desk.pool, owner, ())) == 4
    assert len(desk.made) == 2


def test_a_process_that_ends_is_our_fault_and_the_next_call_has_a_new_one(counted: Open) -> None:
    desk = counted()
    owner = Owner()
    with pytest.raises(ServerFault, match=r"server desk failed: .* while running get_crash"):
        desk.pool.read(owner, (), "get_crash", {})
    assert len(titles(desk.pool, owner, (CREATE,))) == 5
    assert len(desk.made) == 2


def test_a_call_that_hangs_ends_at_its_deadline(counted: Open) -> None:
    desk = counted()
    owner = Owner()
    titles(desk.pool, owner, ())
    # Only now, for a start may take longer; the call itself would take 1,000 s.
    desk.made[0].told = replace(TOLD, seconds=0.2)
    with pytest.raises(ServerFault, match=r"gave no answer within 0\.2 s while running get_hang"):
        desk.pool.read(owner, (), "get_hang", {})
    assert desk.made[0].lost


def test_a_connection_that_is_closed_again_while_it_ends_does_end(counted: Open) -> None:
    desk = counted()
    titles(desk.pool, Owner(), ())
    desk.made[0].told = replace(TOLD, seconds=0.2)
    with pytest.raises(ServerFault, match="gave no answer"):
        desk.pool.read(Owner(), (), "get_hang", {})
    for _ in range(50):  # as often as the loop comes to it
        desk.made[0].close()
        loop().run(asyncio.sleep(0)).result()
    assert desk.made[0].ended(60)


def test_a_result_of_400_000_tokens_is_cut(counted: Open) -> None:
    found = counted().pool.read(Owner(), (), "get_everything", {})
    assert found.value["cut"] == "2000013 characters in all; ask for less"
    assert len(msgspec.json.encode(found.value)) < 70_000


def test_a_refused_call_leaves_nothing_behind(counted: Open) -> None:
    desk = counted()
    owner = Owner()
    close = ("tickets.close", '{"ticket_id":"id-1"}')
    assert not desk.pool.write(owner, (), close)[0].error
    again, _ = desk.pool.write(owner, (close,), close)
    assert again.error.endswith("'Printer is out of paper' is closed already")
    assert desk.pool.rows(owner, (close,))["tickets/id-1"]["status"] == "closed"


def test_wrong_arguments_are_told_apart_from_refusals(counted: Open) -> None:
    desk = counted()
    assert desk.pool.write(Owner(), (), ("tickets.create", "{}"))[0].misused
    assert desk.pool.write(Owner(), (), ("no.tool", "{}"))[0].error


def test_a_command_that_is_not_there_is_named(counted: Open) -> None:
    lost = counted(command="no-such-program --x")
    with pytest.raises(InputError, match="started: no-such-program: No such file or directory"):
        lost.pool.listing()


def test_a_server_that_does_not_start_in_time_is_given_up(counted: Open) -> None:
    lost = counted(command="sleep 600", seconds=1)
    with pytest.raises(ServerFault, match="did not start within 1 s"):
        lost.pool.listing()


def test_the_process_gets_no_variable_that_is_not_named(
    counted: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SECRET_OF_MINE", "x")
    monkeypatch.setenv("PASSED", "y")
    desk = counted(seed=7, env={"GIVEN": "{folder}/z"}, forward=("PASSED",))
    titles(desk.pool, Owner(), ())
    given = f"{desk.made[0].folder}/z"
    [env] = [e for e in map(environment, children_of(os.getpid())) if e.get("GIVEN") == given]
    assert (env["PASSED"], env["PROVEGYM_SEED"]) == ("y", "7")
    usual = {"PATH", "HOME", "USER", "LOGNAME", "SHELL", "TERM"}
    assert env.keys() <= {*usual, "GIVEN", "PASSED", "PROVEGYM_SEED", "LC_CTYPE"}


def test_a_variable_to_pass_on_that_is_not_set_is_the_users_mistake(counted: Open) -> None:
    with pytest.raises(InputError, match="variable NOT_SET_HERE is not set"):
        counted(forward=("NOT_SET_HERE",)).pool.listing()


def test_what_a_server_starts_with_may_depend_on_the_seed(counted: Open) -> None:
    desk = counted(seed=7, seeded=True)
    assert titles(desk.pool, Owner(), ())[-1] == "Order number 7"


# -- over HTTP ---------------------------------------------------------------------------------


def test_sessions_on_one_server_over_http_do_not_mix(counted: Open, url: str) -> None:
    desk, other = counted(command="", url=url), counted(command="", url=url)
    one, two = Owner(), Owner()
    desk.pool.write(one, (), CREATE)
    assert len(titles(desk.pool, two, ())) == 4
    assert len(titles(desk.pool, one, (CREATE,))) == 5
    assert len(desk.made) == 1
    assert len(titles(other.pool, two, ())) == 4
    assert len(titles(desk.pool, one, (CREATE,))) == 5
    assert desk.made[0].listing().title == "Help desk"


def test_a_server_that_nobody_reaches_is_a_fault_of_ours(counted: Open) -> None:
    lost = counted(command="", url="http://127.0.0.1:9/mcp", seconds=5)
    with pytest.raises(ServerFault, match="server desk"):
        lost.pool.listing()


# -- threads -----------------------------------------------------------------------------------

AT_ONCE = """
import threading
from provegym.gateway.external.loop import loop
barrier = threading.Barrier(8)
found = []
def look():
    barrier.wait()
    found.append(loop())
threads = [threading.Thread(target=look) for _ in range(8)]
[t.start() for t in threads]
[t.join() for t in threads]
print(len(set(found)))
"""


def test_threads_that_begin_at_once_find_one_loop() -> None:
    ran = subprocess.run([sys.executable, "-c", AT_ONCE], capture_output=True, text=True)
    assert (ran.stdout, ran.stderr) == ("1\n", "")


def test_sessions_in_many_threads_do_not_mix(counted: Open) -> None:
    desk = counted(processes=3)

    def play(number: int) -> list[str]:
        owner, title = Owner(), f"Of {number}"
        entry = ("tickets.create", msgspec.json.encode({"title": title}).decode())
        desk.pool.write(owner, (), entry)
        return titles(desk.pool, owner, (entry,))[4:]

    with ThreadPoolExecutor(6) as threads:
        assert list(threads.map(play, range(24))) == [[f"Of {i}"] for i in range(24)]
    assert len(desk.made) <= 3


# -- orphans -----------------------------------------------------------------------------------

HANG = """
import sys, pathlib
from provegym.gateway.external.connection import Connection
from provegym.gateway.external.settings import External
told = External(command=sys.argv[1], seconds=60)
desk = Connection("desk", told, pathlib.Path("."), 0).start()
desk.ready()
print("open", flush=True)
desk.call("get_hang", {})
"""


def children_of(parent: int) -> list[Path]:
    """The folders in /proc of the processes below `parent`."""
    found = []
    for path in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            status = (path / "stat").read_text().rsplit(")", 1)[1].split()
            found += [path] if int(status[1]) == parent else []
    return found


def child_of(parent: int, holding: str) -> int:
    """The process below `parent` whose command has that text."""
    for path in children_of(parent):
        with suppress(OSError):
            if holding in (path / "cmdline").read_bytes().decode():
                return int(path.name)
    raise LookupError(holding)


def environment(process: Path) -> dict[str, str]:
    """What a process was started with; nothing where it has ended."""
    with suppress(OSError):
        told = (process / "environ").read_bytes().decode().split("\0")
        return dict(pair.split("=", 1) for pair in told if pair)
    return {}


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


@pytest.mark.skipif(sys.platform != "linux", reason="other kernels have no such signal")
def test_kill_9_of_our_process_ends_a_server_that_hangs(tmp_path: Path) -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", HANG, TOLD.command], stdout=subprocess.PIPE, cwd=tmp_path
    )
    assert process.stdout
    assert process.stdout.readline() == b"open\n"
    child = child_of(process.pid, str(DESK))
    process.send_signal(signal.SIGKILL)
    process.wait()
    process.stdout.close()
    deadline = time.monotonic() + 60
    while alive(child) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert not alive(child)


def test_sigterm_leaves_no_process_and_no_folder(tmp_path: Path) -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", HANG, TOLD.command],
        stdout=subprocess.PIPE,
        cwd=tmp_path,
        env={**os.environ, "TMPDIR": str(tmp_path)},
    )
    assert process.stdout
    assert process.stdout.readline() == b"open\n"
    child = child_of(process.pid, str(DESK))
    assert len(list(tmp_path.glob(f"{folders.PREFIX}*"))) == 1
    process.send_signal(signal.SIGTERM)
    assert process.wait(60) == -signal.SIGTERM
    process.stdout.close()
    assert not list(tmp_path.glob(f"{folders.PREFIX}*"))
    deadline = time.monotonic() + 60
    while alive(child) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert not alive(child)
