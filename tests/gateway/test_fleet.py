"""Two workers behind one port, by real processes: every request finds its session."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

import pytest
from mcp import Client

import provegym
from provegym.gateway.client import Connection, RemoteSession
from provegym.gateway.wire import Opened
from provegym.servers import world
from tests.gateway.served_fleet import Served, get, post, serving
from tests.gateway.test_client import losing

CALL = ("list_accounts", "{}")


@pytest.fixture(scope="module")
def fleet() -> Iterator[Served]:
    with serving(2) as served:
        yield served


@pytest.fixture
def connection(fleet: Served) -> Iterator[Connection]:
    with provegym.connect(fleet.url) as connection:
        yield connection


def worker_of(session: str) -> str:
    return session.partition(".")[0]


def test_sessions_are_spread_evenly_and_their_ids_name_the_worker(connection: Connection) -> None:
    opened = [connection.open(1, ["banking"]) for _ in range(10)]
    assert Counter(worker_of(session.id) for session in opened) == {"w0": 5, "w1": 5}
    assert len({session.id for session in opened}) == 10
    assert all(len(session.id.partition(".")[2]) == 32 for session in opened)  # 24 random bytes


def test_each_session_is_its_own_whatever_its_worker(connection: Connection) -> None:
    seeds = range(1, 5)
    remote = [connection.open(seed, ["banking"]) for seed in seeds]
    here = [world(seed, ("banking",)).open() for seed in seeds]
    assert len({session.digest() for session in remote}) == 4
    for there, local in zip(remote, here, strict=True):
        assert there.call(*CALL).json() == local.call(*CALL).json()
        assert there.digest() == local.digest()
        assert there.fork().digest() == local.digest()


def test_a_fork_lives_with_its_parent(connection: Connection) -> None:
    parent = connection.open(1, ["banking"])
    assert {worker_of(parent.fork().id) for _ in range(4)} == {worker_of(parent.id)}


def test_a_batch_over_all_workers_answers_in_order(connection: Connection) -> None:
    remote = [connection.open(seed % 3, ["banking"]) for seed in range(6)]
    here = [world(seed % 3, ("banking",)).open() for seed in range(6)]
    assert {worker_of(session.id) for session in remote} == {"w0", "w1"}
    order = [(7 * place) % 6 for place in range(60)]
    results = connection.call_many([(remote[i], *CALL) for i in order])
    assert [r.json() for r in results] == [here[i].call(*CALL).json() for i in order]


def test_a_client_may_ask_the_workers_themselves(fleet: Served, connection: Connection) -> None:
    workers = fleet.health().workers
    with provegym.connect(fleet.url, direct=True) as direct:
        sessions = [direct.open(1, ["banking"]) for _ in range(4)]
        forks = [session.fork() for session in sessions]
        for session in (*sessions, *forks):
            assert session.mcp == f"{workers[worker_of(session.id)].url}/s/{session.id}/mcp"
        for amount, session in enumerate(sessions, 1):
            assert session.call(*transfer(amount)).outcome == "ok"
        results = direct.call_many([(session, *CALL) for session in sessions])
        assert [result.outcome for result in results] == ["ok"] * 4
    for amount, session in enumerate(sessions, 1):
        seen = RemoteSession(connection, Opened(session.id, ""))
        assert seen.digest() == digest_after(transfer(amount))


def test_what_is_asked_again_since_its_answer_was_lost_is_done_once(
    fleet: Served, connection: Connection
) -> None:
    before = fleet.health().sessions
    with losing(fleet.url, 1) as bad, provegym.connect(bad) as shaky:
        opened = shaky.open(1, ["banking"])
    assert fleet.health().sessions == before + 1
    with losing(fleet.url, 1) as bad, provegym.connect(bad) as shaky:
        RemoteSession(shaky, Opened(opened.id, "")).call(*transfer(5))
    assert RemoteSession(connection, Opened(opened.id, "")).digest() == digest_after(transfer(5))


def test_what_a_policy_wrote_spoils_its_own_call_alone_in_a_fleet(fleet: Served) -> None:
    with provegym.connect(fleet.url) as gym:
        names = [gym.open(7, ["banking"]).id for _ in range(2)]
    told = ("{}", '{"query": ' * 1_100 + "1" + "}" * 1_100)
    calls = [
        f'{{"session": "{name}", "name": "list_payees", "arguments": {arguments}}}'
        for name, arguments in zip(names, told, strict=True)
    ]
    answer = post(fleet.url, "/v1/calls", f'{{"calls": [{", ".join(calls)}]}}'.encode())
    found = [result["outcome"] for result in json.loads(answer.body)["results"]]
    assert found == ["ok", "malformed"]


def test_what_is_wrong_with_a_batch_is_said_as_by_one_worker(fleet: Served) -> None:
    answer = post(fleet.url, "/v1/calls", {"calls": [{"session": "w0.x"}]})
    assert (answer.status, answer.code) == (422, "invalid_body")
    answer = post(fleet.url, "/v1/calls", b"{")
    assert (answer.status, answer.code) == (400, "not_json")
    deep = b'{"calls": [{"session": "w0.x", "name": "a", "arguments": ' + b"[" * 100_000
    answer = post(fleet.url, "/v1/calls", deep)
    assert (answer.status, answer.code) == (400, "not_json")
    calls = [{"session": "w0.x", "name": "a", "key": str(place)} for place in range(65)]
    answer = post(fleet.url, "/v1/calls", {"calls": calls})
    assert (answer.status, answer.code) == (422, "invalid_input")
    typed = {"content-type": "text/plain"}
    answer = post(fleet.url, "/v1/calls", {"calls": calls[:1]}, **typed)
    assert (answer.status, answer.code) == (415, "wrong_type")


def test_an_id_that_no_worker_gave_is_unknown(fleet: Served) -> None:
    for name in ("w0.x", "w7.x", "x", "w-1.x", "w\N{SUPERSCRIPT TWO}.x"):
        answer = get(fleet.url, f"/v1/sessions/{quote(name)}")
        assert (answer.status, answer.code) == (404, "session_unknown")
    calls = [{"session": name, "name": CALL[0]} for name in ("w0.x", "w7.x", "y")]
    results = json.loads(post(fleet.url, "/v1/calls", {"calls": calls}).body)["results"]
    assert [r["value"]["error"]["code"] for r in results] == ["session_unknown"] * 3


def test_the_list_health_and_metrics_are_those_of_all_workers(
    fleet: Served, connection: Connection
) -> None:
    before = fleet.health()
    opened = {connection.open(1, ["banking"]).id for _ in range(4)}
    listed = json.loads(get(fleet.url, "/v1/sessions").body)["sessions"]
    assert opened <= {session["id"] for session in listed}
    after = fleet.health()
    assert (after.status, after.wanted, after.lost) == ("ok", 2, 0)
    assert after.sessions == before.sessions + 4 == len(listed)
    assert after.sessions == sum(worker.sessions or 0 for worker in after.workers.values())
    metrics = get(fleet.url, "/metrics").body.decode()
    assert f"provegym_sessions {after.sessions:.1f}\n" in metrics
    assert "provegym_workers 2\n" in metrics


def test_a_worker_answers_for_its_sessions_without_the_front(
    fleet: Served, connection: Connection
) -> None:
    session = connection.open(1, ["banking"])
    workers = fleet.health().workers
    path = f"/v1/sessions/{session.id}"
    found = {name: get(worker.url, path).status for name, worker in workers.items()}
    assert found.pop(worker_of(session.id)) == 200
    assert list(found.values()) == [404]


def transfer(amount: int, seed: int = 1) -> tuple[str, dict[str, Any]]:
    """A write that differs by its amount."""
    accounts = world(seed, ("banking",)).open().call(*CALL).builtins()["accounts"]
    given = {"from_account_id": accounts[0]["id"], "to_account_id": accounts[1]["id"]}
    return "transfer_between_accounts", {**given, "amount": f"{amount}.00"}


def digest_after(*calls: tuple[str, dict[str, Any]]) -> str:
    """Of a session of this process."""
    session = world(1, ("banking",)).open()
    for call in calls:
        assert session.call(*call).outcome == "ok"
    return session.digest()


@pytest.mark.parametrize("mode", ["legacy", "2026-07-28"])
def test_mcp_clients_reach_their_sessions(connection: Connection, mode: str) -> None:
    sessions = [connection.open(1, ["banking"]) for _ in range(4)]

    async def play(url: str, amount: int) -> None:
        async with Client(url, mode=mode) as client:
            assert CALL[0] in [tool.name for tool in (await client.list_tools()).tools]
            assert not (await client.call_tool(*transfer(amount))).is_error

    async def all_at_once() -> None:
        await asyncio.gather(*(play(s.mcp, n) for n, s in enumerate(sessions, 1)))

    asyncio.run(all_at_once())
    for amount, session in enumerate(sessions, 1):
        assert session.digest() == digest_after(transfer(amount))


def test_a_connection_without_a_session_keeps_its_own_one(fleet: Served) -> None:
    async def play(amount: int) -> list[Any]:
        async with Client(f"{fleet.url}/mcp/banking", mode="legacy") as client:
            await barrier.wait()
            calls = [transfer(amount, seed=0), (CALL[0], {})] * 3
            return [(await client.call_tool(*call)).structured_content for call in calls]

    async def all_at_once() -> list[list[Any]]:
        return await asyncio.gather(*(play(amount) for amount in (1, 2, 3, 4)))

    barrier = asyncio.Barrier(4)
    for amount, seen in enumerate(asyncio.run(all_at_once()), 1):
        alone = world(0, ("banking",)).open()
        calls = [transfer(amount, seed=0), (CALL[0], {})] * 3
        assert seen == [alone.call(*call).builtins() for call in calls]
