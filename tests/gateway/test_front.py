"""The front before workers that stream, break off, hang, refuse and do not start."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from typing import Any, NamedTuple

import msgspec
import pytest

from provegym.errors import InfrastructureError
from provegym.gateway import fleet as fleets
from provegym.gateway import front as fronts
from provegym.gateway import joined
from provegym.gateway.fleet import Fleet
from provegym.gateway.front import front
from provegym.gateway.joined import summed
from provegym.gateway.settings import Settings

Answering = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


class Fixed(NamedTuple):
    """A worker that is a socket of this process."""

    host: str
    port: int
    end: asyncio.Event
    pid: int = 0

    async def ended(self) -> str:
        await self.end.wait()
        return "told to"

    async def stop(self) -> None:
        self.end.set()


class Asking:
    """A client of an ASGI app: what it was answered, and when it leaves."""

    def __init__(self) -> None:
        self.messages: list[Any] = []
        self.leaves = asyncio.Event()
        self.came = asyncio.Event()

    async def ask(
        self, app: Any, path: str, body: Any = None, method: str = "POST", **headers: str
    ) -> None:
        asked = iter([{"type": "http.request", "body": msgspec.json.encode(body)}])

        async def receive() -> Any:
            for message in asked:
                return message
            await self.leaves.wait()
            return {"type": "http.disconnect"}

        async def send(message: Any) -> None:
            self.messages.append(message)
            self.came.set()

        scope = {"type": "http", "method": method, "path": path, "raw_path": path.encode()}
        headers = {"content-type": "application/json", **headers}
        told = [(name.encode(), value.encode()) for name, value in headers.items()]
        await app({**scope, "query_string": b"", "headers": told}, receive, send)

    @property
    def status(self) -> int:
        return int(self.messages[0]["status"])

    @property
    def body(self) -> bytes:
        return b"".join(message["body"] for message in self.messages[1:])

    @property
    def whole(self) -> bool:
        return bool(self.messages) and self.messages[-1].get("more_body") is False


async def requested(reader: asyncio.StreamReader) -> tuple[bytes, bytes]:
    """Head and body of the next request."""
    head = await reader.readuntil(b"\r\n\r\n")
    length = head.lower().split(b"content-length: ")[1].split(b"\r\n")[0]
    return head, await reader.readexactly(int(length))


def answer(status: str, body: bytes) -> bytes:
    return b"HTTP/1.1 %s\r\ncontent-length: %d\r\n\r\n%s" % (status.encode(), len(body), body)


@asynccontextmanager
async def workers(*kinds: Answering) -> AsyncIterator[Fleet]:
    """A fleet whose workers are these sockets, `w0` the first."""
    left = list(kinds)
    servers: list[asyncio.Server] = []

    async def launch(name: str) -> Fixed:
        servers.append(await asyncio.start_server(left[int(name[1:])], "127.0.0.1", 0))
        host, port = servers[-1].sockets[0].getsockname()
        return Fixed(host, port, asyncio.Event())

    async with asyncio.timeout(20), Fleet(launch, len(kinds)) as fleet:
        yield fleet
    for server in servers:
        server.close()


async def hangs(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await reader.read()
    writer.close()


def always(text: bytes) -> Answering:
    async def says(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(asyncio.IncompleteReadError):
            while True:
                await requested(reader)
                writer.write(text)
        writer.close()

    return says


# -- one worker -------------------------------------------------------------------------------


def test_an_answer_is_handed_on_as_it_comes() -> None:
    first_came = asyncio.Event()

    async def streams(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await requested(reader)
        writer.write(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n1\r\na\r\n")
        await first_came.wait()
        writer.write(b"1\r\nb\r\n0\r\n\r\n")
        writer.close()

    async def test() -> None:
        client = Asking()
        async with workers(streams) as fleet:
            asking = asyncio.create_task(client.ask(front(fleet, Settings()), "/s/w0.x/mcp"))
            while client.body != b"a":
                await client.came.wait()
                client.came.clear()
            assert not client.whole
            first_came.set()
            await asking
        assert (client.status, client.body, client.whole) == (200, b"ab", True)

    asyncio.run(test())


def test_a_client_that_leaves_takes_its_request_along(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fronts, "WATCHED_AFTER_SECONDS", 0.0)
    left = asyncio.Event()

    async def sees(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await requested(reader)
        client.leaves.set()
        assert await reader.read() == b""
        left.set()
        writer.close()

    async def test() -> None:
        async with workers(sees) as fleet:
            await client.ask(front(fleet, Settings()), "/s/w0.x/mcp")
            await left.wait()

    client = Asking()
    asyncio.run(test())


def test_an_answer_that_breaks_off_is_not_made_whole() -> None:
    async def breaks(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await requested(reader)
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nabc")
        writer.close()

    async def test() -> None:
        client = Asking()
        async with workers(breaks) as fleet:
            await client.ask(front(fleet, Settings()), "/v1/sessions/w0.x/calls")
        assert (client.body, client.whole) == (b"abc", False)

    asyncio.run(test())


def test_a_request_without_an_answer_is_a_fault_of_ours_and_never_sent_twice() -> None:
    seen = []

    async def drops(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        seen.append(await requested(reader))
        writer.close()

    async def test() -> None:
        control, mcp = Asking(), Asking()
        async with workers(drops) as fleet:
            app = front(fleet, Settings())
            await control.ask(app, "/v1/sessions/w0.x/calls", {})
            await mcp.ask(app, "/s/w0.x/mcp", {"jsonrpc": "2.0", "id": 7, "method": "ping"})
        assert len(seen) == 2
        assert (control.status, mcp.status) == (503, 503)
        assert msgspec.json.decode(control.body)["error"]["code"] == "infrastructure"
        told = msgspec.json.decode(mcp.body)
        assert (told["id"], told["error"]["code"]) == (7, -32603)
        assert told["error"]["data"] == {"code": "infrastructure"}

    asyncio.run(test())


def test_a_worker_is_told_what_concerns_it_and_no_more() -> None:
    heads = []

    async def listens(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        heads.append(await requested(reader))
        writer.write(answer("200 OK", b"{}"))
        writer.close()

    async def test() -> None:
        async with workers(listens) as fleet:
            told = {"host": "gym.example", "origin": "http://gym.example", "authorization": "b"}
            told |= {"connection": "close", "transfer-encoding": "chunked", "content-length": "99"}
            await Asking().ask(front(fleet, Settings()), "/v1/sessions/w0.x/calls", [1], **told)
            port = fleet.ready["w0"].handle.port
        head, body = heads[0]
        assert head.decode().split("\r\n") == [
            "POST /v1/sessions/w0.x/calls HTTP/1.1",
            f"host: 127.0.0.1:{port}",
            "content-type: application/json",
            "authorization: b",
            "content-length: 3",
            "",
            "",
        ]
        assert body == b"[1]"

    asyncio.run(test())


# -- several workers --------------------------------------------------------------------------


def call(session: str) -> dict[str, str]:
    return {"session": session, "name": "list_accounts"}


def test_a_worker_that_hangs_costs_no_other_its_results(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(joined, "MARGIN_SECONDS", 0.05)
    monkeypatch.setattr(joined, "LOOK_SECONDS", 0.05)
    good = always(answer("200 OK", b'{"results":[{"outcome":"ok","value":1}],"sessions":3}'))

    async def test() -> None:
        batch, health = Asking(), Asking()
        async with workers(hangs, good) as fleet:
            app = front(fleet, Settings(deadline=0.01))
            await batch.ask(app, "/v1/calls", {"calls": [call("w0.x"), call("w1.x")]})
            await health.ask(app, "/healthz", method="GET")
        lost, kept = msgspec.json.decode(batch.body)["results"]
        assert (batch.status, kept) == (200, {"outcome": "ok", "value": 1})
        assert (lost["outcome"], lost["value"]["error"]["code"]) == ("infrastructure",) * 2
        told = msgspec.json.decode(health.body)
        assert (health.status, told["status"], told["sessions"]) == (200, "degraded", 3)
        states = {name: worker["status"] for name, worker in told["workers"].items()}
        assert states == {"w0": "silent", "w1": "ok"}

    asyncio.run(test())


def test_what_one_worker_refuses_stands_in_the_results_of_its_calls() -> None:
    full = always(answer("429 Too Many", b'{"error":{"code":"limit_reached","message":"full"}}'))
    good = always(answer("200 OK", b'{"results":[{"outcome":"ok","value":1}]}'))

    async def test() -> None:
        batch = Asking()
        async with workers(full, good) as fleet:
            app = front(fleet, Settings())
            await batch.ask(app, "/v1/calls", {"calls": [call("w1.x"), call("w0.x")]})
        kept, refused = msgspec.json.decode(batch.body)["results"]
        assert kept["outcome"] == "ok"
        assert refused["outcome"] == "infrastructure"
        assert refused["value"]["error"]["code"] == "limit_reached"

    asyncio.run(test())


def test_an_opening_with_a_key_goes_to_the_worker_that_it_went_to() -> None:
    async def test() -> None:
        async with workers(hangs, hangs, hangs) as fleet:
            keys = [f"k{n}" for n in range(30)]
            first = [(await fleet.by_key(key)).name for key in keys]
            assert set(first) == {"w0", "w1", "w2"}
            assert [(await fleet.by_key(key)).name for key in keys] == first

    asyncio.run(test())


def test_a_worker_that_does_not_start_again_is_tried_until_it_does(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(fleets, "FIRST_PAUSE_SECONDS", 0.0)
    handles: dict[str, Fixed] = {}

    async def launch(name: str) -> Fixed:
        if name in ("w1", "w2"):
            raise InfrastructureError("no memory")
        return handles.setdefault(name, Fixed("127.0.0.1", 1, asyncio.Event()))

    async def test() -> None:
        async with asyncio.timeout(20), Fleet(launch, 1) as fleet:
            handles["w0"].end.set()
            while "w0" in fleet.ready:
                await asyncio.sleep(0)
            assert (await fleet.next()).name == "w3"
            assert (list(fleet.ready), fleet.lost) == (["w3"], 1)

    asyncio.run(test())
    assert caplog.text.count("no memory") == 2


def test_a_fleet_that_does_not_start_whole_ends_what_did() -> None:
    started = Fixed("127.0.0.1", 1, asyncio.Event())

    async def launch(name: str) -> Fixed:
        if name == "w1":
            await asyncio.sleep(0)
            raise InfrastructureError("no memory")
        return started

    async def test() -> None:
        async with Fleet(launch, 2):
            raise AssertionError("it started")

    with pytest.raises(InfrastructureError, match="no memory"):
        asyncio.run(test())
    assert started.end.is_set()


def test_without_any_worker_a_request_waits_and_then_is_told(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(fleets, "PATIENCE_SECONDS", 0.01)
    handle = Fixed("127.0.0.1", 1, asyncio.Event())

    async def launch(name: str) -> Fixed:
        if name != "w0":
            await asyncio.Event().wait()
        return handle

    async def test() -> None:
        client = Asking()
        async with asyncio.timeout(20), Fleet(launch, 1) as fleet:
            handle.end.set()
            while fleet.ready:
                await asyncio.sleep(0)
            await client.ask(front(fleet, Settings()), "/v1/sessions", {"seed": 1})
        assert client.status == 503
        assert "no worker is ready" in client.body.decode()

    asyncio.run(test())


# -- sums -------------------------------------------------------------------------------------


def test_equal_series_are_added_and_families_stay_together() -> None:
    one = (
        "# HELP a_total A.\n# TYPE a_total counter\n"
        'a_total{server="banking"} 2.0\na_total{server="maps 1"} 1.0\n'
        "# HELP b B.\n# TYPE b gauge\nb 5.0\n"
    )
    other = (
        "# HELP a_total A.\n# TYPE a_total counter\n"
        'a_total{server="maps 1"} 4.0\na_total{server="crm"} 1.0\n'
        "# HELP b B.\n# TYPE b gauge\nb 0.5\n"
    )
    assert summed([one, other]) == (
        "# HELP a_total A.\n# TYPE a_total counter\n"
        'a_total{server="banking"} 2.0\na_total{server="maps 1"} 5.0\na_total{server="crm"} 1.0\n'
        "# HELP b B.\n# TYPE b gauge\nb 5.5\n"
    )
    assert summed([]) == ""


@pytest.mark.parametrize("name", ["w00", "w01", "w+0", "w", "w٠", "w" + "9" * 5_000, "x0", "w-1"])
def test_an_id_of_no_worker_that_ever_was_is_not_said_to_be_lost(name: str) -> None:
    fleet = Fleet(never, 1)
    fleet._named = 2
    assert not fleet._was_named(name)
    assert fleet._was_named("w0")


async def never(name: str) -> Fixed:
    raise InfrastructureError(name)
