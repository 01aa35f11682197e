"""What concerns all workers of a fleet, asked of each and joined to one answer."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Iterable

import msgspec
from msgspec import Raw, Struct
from msgspec.structs import replace

from provegym import __version__
from provegym.errors import InfrastructureError, InputError, WorkerLost
from provegym.gateway.apart import decoded
from provegym.gateway.batch import check_many
from provegym.gateway.fleet import Fleet, Worker
from provegym.gateway.guard import knows_token
from provegym.gateway.settings import Settings
from provegym.gateway.upstream import Answer, Asked
from provegym.gateway.wire import NO_JSON, ManyCalls, is_json

JSON = [(b"content-type", b"application/json")]
TEXT = [(b"content-type", b"text/plain; version=0.0.4; charset=utf-8")]

MARGIN_SECONDS = 30.0
"""What a worker gets beyond a batch's deadline before it counts as hanging."""
LOOK_SECONDS = 5.0
"""How long a worker is waited for that is asked how it is."""

_encode = msgspec.json.Encoder().encode
_many = msgspec.json.Decoder(ManyCalls)


class _Results(Struct):
    results: list[Raw]


class _Listed(Struct):
    sessions: list[Raw]


class _Health(Struct):
    sessions: int


class WorkerHealth(Struct, frozen=True, omit_defaults=True):
    """A worker as the fleet's health has it; where it is, only for those with the token."""

    status: str
    url: str = ""
    pid: int | None = None
    sessions: int | None = None


class FleetHealth(Struct, frozen=True):
    """The fleet: `ok`, or `degraded` while a worker is missing. `lost` counts since the start."""

    status: str
    version: str
    sessions: int
    wanted: int
    lost: int
    workers: dict[str, WorkerHealth]


# -- calls -----------------------------------------------------------------------------------


async def calls(fleet: Fleet, asked: Asked, seconds: float) -> Answer:
    """A batch over many sessions: each worker gets its part, and the results are in order.

    `seconds` is the deadline of a batch that names none.

    What a worker refuses or loses is `infrastructure` in its calls' results; others stand. A body
    that is no such batch goes to one worker whole, which says what is wrong with it.
    """
    try:
        batch = await decoded(_many.decode, asked.body)
        check_many(batch)
    except (InputError, *NO_JSON):
        batch = None
    if batch is None or not is_json(_content_type(asked)):
        return await (await fleet.next()).pool.whole(asked)
    parts: defaultdict[str, list[int]] = defaultdict(list)
    for place, call in enumerate(batch.calls):
        parts[call.session.partition(".")[0]].append(place)
    limit = (batch.deadline or seconds) + MARGIN_SECONDS
    done = await asyncio.gather(*(_part(fleet, asked, batch, p, limit) for p in parts.values()))
    results = [Raw()] * len(batch.calls)
    for places, part in zip(parts.values(), done, strict=True):
        for place, result in zip(places, part, strict=True):
            results[place] = result
    return Answer(200, JSON, _encode(_Results(results)))


def _content_type(asked: Asked) -> str:
    return dict(asked.headers).get(b"content-type", b"").decode("latin-1")


async def _part(
    fleet: Fleet, asked: Asked, batch: ManyCalls, places: list[int], limit: float
) -> list[Raw]:
    """The results of one worker's calls."""
    calls = tuple([batch.calls[place] for place in places])
    body = _encode(ManyCalls(calls, batch.deadline))
    try:
        worker = await fleet.of(calls[0].session)
        answer = await worker.ask(asked._replace(body=body), limit)
    except InfrastructureError as fault:
        return [_fault(fault)] * len(places)
    if answer.status != 200:
        return [Raw(b'{"outcome":"infrastructure","value":%b}' % answer.body)] * len(places)
    return msgspec.json.decode(answer.body, type=_Results).results


def code(fault: InfrastructureError) -> str:
    """The stable code of a fault."""
    return "worker_lost" if isinstance(fault, WorkerLost) else "infrastructure"


def _fault(fault: InfrastructureError) -> Raw:
    error = {"code": code(fault), "message": str(fault), "details": {}}
    return Raw(_encode({"outcome": "infrastructure", "value": {"error": error}}))


# -- the rest --------------------------------------------------------------------------------


async def sessions(fleet: Fleet, asked: Asked) -> Answer:
    """The sessions of all workers. A worker that does not answer has none to show."""
    found: list[Raw] = []
    for answer in (await _each(fleet, asked)).values():
        if isinstance(answer, Answer):
            if answer.status != 200:
                return answer
            found += msgspec.json.decode(answer.body, type=_Listed).sessions
    return Answer(200, JSON, _encode(_Listed(found)))


async def health(fleet: Fleet, asked: Asked, settings: Settings) -> Answer:
    """Each worker's state. 503 if none is there."""
    workers = dict(fleet.ready)
    answers = await _each(fleet, asked)
    told = {name: _state(worker, answers.get(name)) for name, worker in workers.items()}
    if not knows_token(dict(asked.headers).get(b"authorization", b""), settings):
        told = {name: replace(state, url="", pid=None) for name, state in told.items()}
    well = [worker for worker in told.values() if worker.status == "ok"]
    status = "ok" if len(well) == fleet.size else "degraded"
    count = sum(worker.sessions or 0 for worker in well)
    whole = FleetHealth(status, __version__, count, fleet.size, fleet.lost, told)
    return Answer(200 if well else 503, JSON, _encode(whole))


def _state(worker: Worker, answer: Answer | InfrastructureError | None) -> WorkerHealth:
    if isinstance(answer, Answer) and answer.status == 200:
        count = msgspec.json.decode(answer.body, type=_Health).sessions
        return WorkerHealth("ok", worker.url, worker.handle.pid, count)
    return WorkerHealth("silent", worker.url, worker.handle.pid)


async def metrics(fleet: Fleet, asked: Asked) -> Answer:
    """The sums of all workers' numbers, and how many workers there are and were lost."""
    texts: list[str] = []
    for answer in (await _each(fleet, asked)).values():
        if isinstance(answer, Answer):
            if answer.status != 200:
                return answer
            texts.append(answer.body.decode())
    own = (
        "# HELP provegym_workers Workers ready.\n# TYPE provegym_workers gauge\n"
        f"provegym_workers {len(fleet.ready)}\n"
        "# HELP provegym_workers_lost_total Workers that died.\n"
        f"# TYPE provegym_workers_lost_total counter\nprovegym_workers_lost_total {fleet.lost}\n"
    )
    return Answer(200, TEXT, (summed(texts) + own).encode())


def summed(texts: Iterable[str]) -> str:
    """Texts in Prometheus' format as one, with equal series added up.

    Counters of a worker that died are gone from the sums, as those of a restarted process are.
    """
    families: dict[str, tuple[list[str], dict[str, float]]] = {}
    for text in texts:
        series: dict[str, float] = {}
        for line in text.splitlines():
            if line.startswith("# "):
                name = line.split(" ", 3)[2]
                heads, series = families.setdefault(name, ([], {}))
                if line not in heads:
                    heads.append(line)
            elif line:
                key, _, value = line.rpartition(" ")
                series[key] = series.get(key, 0.0) + float(value)
    lines = [
        line
        for heads, series in families.values()
        for line in (*heads, *(f"{key} {value!r}" for key, value in series.items()))
    ]
    return "".join(f"{line}\n" for line in lines)


async def _each(fleet: Fleet, asked: Asked) -> dict[str, Answer | InfrastructureError]:
    """Every worker's answer, or how it failed, by the worker's name."""
    workers = list(fleet.ready.values())
    answers = await asyncio.gather(*(_look(worker, asked) for worker in workers))
    return {worker.name: answer for worker, answer in zip(workers, answers, strict=True)}


async def _look(worker: Worker, asked: Asked) -> Answer | InfrastructureError:
    try:
        return await worker.ask(asked, LOOK_SECONDS)
    except InfrastructureError as fault:
        return fault
