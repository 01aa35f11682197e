"""One candidate: drafted, played, filtered, certified on a fresh world.

Candidate number i depends on the seed, on i and on what it aims at.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from random import Random
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from provegym import servers as library
from provegym.config import Synth
from provegym.errors import ServerFault
from provegym.graph.edges import Graph
from provegym.graph.paths import BRIDGED, Crossings, Paths
from provegym.seeding import derive, rng
from provegym.synth.brief import Brief
from provegym.synth.certify import certify, failed
from provegym.synth.draft import Draft, OfflineTeacher, Shape, draw
from provegym.synth.external import conversation, drawn
from provegym.synth.filters import MAX_ERROR_RATE, error_rate, secrets_are_traceable
from provegym.synth.machine import Machine, Spoken
from provegym.synth.offline import Drafter, Rejected
from provegym.synth.quota import Place, places
from provegym.synth.replay import Moment, dependencies, replay, start_of
from provegym.synth.unmet import NO_AIM, NO_AIMS, Aim, Aims
from provegym.types import Call, GroundCall, Task, Tool, Trace, Turn
from provegym.world.world import World

DRAWS = 3
"""Drafts of one candidate that are tried before it is rejected."""


class Rejection(Struct, frozen=True):
    """A candidate that became no task, and why."""

    id: str
    reason: str


class Plan(Struct, frozen=True):
    """What one synthesis run makes: from which worlds, with which servers."""

    seed: int
    servers: tuple[str, ...]
    """Servers that tasks are about."""
    others: tuple[str, ...]
    """Servers that distractors and irrelevant wishes come from (the `servers` included)."""
    first_world: int = 0
    """World seeds are derived from `seed` and numbers from this one on."""

    def world_seed(self, number: int) -> int:
        """The seed of world `number`."""
        return derive(self.seed, "world", number) % 1_000_000_007


class Candidate(Struct, frozen=True):
    """A task with the conversation it came from, before the second replay."""

    task: Task
    conversation: Trace


Outcome = Candidate | Rejection


class Maker:
    """Makes candidate number i: draft, conversation, ground truth, filters, certificate."""

    def __init__(self, plan: Plan, settings: Synth, graph: Graph) -> None:
        self.plan, self.settings = plan, settings
        self.places = places(settings, plan.seed)
        self._imported = _imported(plan, settings, self.places or ())
        self._graph = graph
        self._across: dict[str, list[tuple[str, Crossings]]] = {}
        self._paths = {name: Paths(_only(graph, (name,))) for name in plan.servers}

    def id(self, i: int) -> str:
        """The id of candidate `i`; its task has the same."""
        return f"task-{self.plan.seed}-{self.plan.first_world}-{i:06d}"

    def number(self, id: str) -> int:
        """The number of the candidate with that id."""
        return int(id.rsplit("-", 1)[1])

    def imported(self, i: int) -> Candidate | None:
        """The imported task that candidate `i` stands for, if it does."""
        origin = self._imported.get(i)
        if origin is None:
            return None
        task = replace(origin, id=self.id(i))
        return Candidate(task, conversation(task, origin.id))

    def make(self, i: int, aims: Aims = NO_AIMS, k: int | None = None) -> Outcome:
        """A candidate that passed everything but the second process, or why it did not.

        What cannot be made is drawn again as the same kind of task, so that no kind becomes rarer
        for being harder. `aims` are refusals to meet and tools to call, where there is room;
        `k` is the place that the candidate is for (`i` unless told otherwise).
        """
        k = i if k is None else k
        if imported := self.imported(i):
            return imported
        place = self.places[k] if self.places else None
        server = self.plan.servers[k % len(self.plan.servers)]
        rnd = rng(self.plan.seed, "candidate", self.plan.first_world, i)
        shape = None
        for number in range(DRAWS):
            shape = draw(self.settings, rnd, place, shape)
            try:
                return self._make(i, server, shape, rnd, number, aims.get(server, NO_AIM))
            except Rejected as error:
                reason = str(error)
            except ServerFault:
                if not library.load(server).outside:
                    raise
                reason = "server_lost"
        return Rejection(self.id(i), reason)

    def _make(
        self, i: int, server: str, shape: Shape, rnd: Random, redraw: int, aim: Aim
    ) -> Candidate:
        base = i // len(self.plan.servers)
        seed = self.plan.world_seed(self.plan.first_world + base % self.settings.world_seeds)
        home, chain_of = self.chains(server, shape, rnd, aim.tools)
        shape = replace(shape, crossing=len(home) > 1)
        others = [library.load(n) for n in self.plan.others if n not in home]

        def chain(k: int) -> tuple[str, ...]:
            return chain_of(derive(self.plan.seed, "chains", redraw, k), base)

        world = library.world(seed, home)
        draft = Drafter(Brief(world, others, self.settings, shape, rnd, chain, aim.codes)).draft()
        names = (server, *servers_of(draft.tools, (server,), self.plan.others))
        return self._certified(self.id(i), draft, library.world(seed, names))

    def chains(
        self, server: str, shape: Shape, rnd: Random, idle: Sequence[str] = ()
    ) -> tuple[tuple[str, ...], Callable[[int, int], tuple[str, ...]]]:
        """The servers that a task is about, and the law of its chains of tools: now and then those
        through one of the `idle` tools.
        """
        most = self.settings.max_chain
        across = self._crossings(server) if shape.crossing and most > 1 else []
        if not across:
            chain = self._paths[server].chain
            return (server,), partial(chain, through=rnd.choice([*idle, ""])) if idle else chain
        joined = [pair for pair in across if pair[1].bridged]
        told = joined and rnd.random() < BRIDGED
        partner, crossings = rnd.choice(joined if told else across)
        return (server, partner), partial(crossings.crossing, most=most)

    def _crossings(self, server: str) -> list[tuple[str, Crossings]]:
        """The servers that a value can be carried to from this one, or from which to this one,
        with the chains across.
        """
        if server not in self._across:
            others = [name for name in self.plan.servers if name != server]
            ways = [(o, way) for o in others for way in ((server, o), (o, server))]
            pairs = [(other, self._way(*way)) for other, way in ways]
            self._across[server] = [pair for pair in pairs if pair[1].count]
        return self._across[server]

    def _way(self, first: str, second: str) -> Crossings:
        ends = library.load(first), library.load(second)
        return Crossings(_only(self._graph, (first, second)), *ends)

    def _certified(self, task_id: str, draft: Draft, world: World) -> Candidate:
        spoken = Machine(OfflineTeacher(draft), world.open()).run()
        start = start_of(world, draft.offered)
        screen(spoken, start)
        return certified(_task(task_id, draft, spoken, start), spoken, start)


def screen(spoken: list[Spoken], start: Moment) -> None:
    """Raise `Rejected` for a conversation that the filters keep out."""
    if error_rate(start, spoken) >= MAX_ERROR_RATE:
        raise Rejected("error_rate")
    if not secrets_are_traceable(start.session.world, spoken):
        raise Rejected("secret_without_source")


def certified(task: Task, spoken: list[Spoken], start: Moment) -> Candidate:
    """The task with its certificate. Raises `Rejected` with the check that failed."""
    certificate = certify(task, start.session.world, start)
    for name in failed(certificate.checks):
        raise Rejected(f"certificate:{name}")
    return Candidate(replace(task, certificate=certificate), _conversation(task, spoken))


def _imported(plan: Plan, settings: Synth, places: Sequence[Place]) -> dict[int, Task]:
    """Imported abstentions by the candidate that each stands for: the first one of a place.

    Later worlds are those that tasks to evaluate on come from, and these must be no task that may
    have been trained on.
    """
    files = settings.mix.abstentions if settings.mix else ()
    if not files or plan.first_world:
        return {}
    wanted = [k for k, place in enumerate(places) if place.kind == "abstention"]
    return dict(zip(wanted, drawn(files, len(wanted), plan.seed), strict=False))


def _only(graph: Graph, servers: tuple[str, ...]) -> Graph:
    names = {name for server in servers for name in library.load(server).tools}
    edges = tuple(e for e in graph.edges if e.source in names and e.target in names)
    return replace(graph, tools=tuple(t for t in graph.tools if t in names), edges=edges)


def servers_of(tools: Sequence[Tool], home: tuple[str, ...], others: tuple[str, ...]) -> list[str]:
    """The other servers whose tools a task shows, for distractors are callable, too."""
    shown = {tool.function.name for tool in tools}
    return [n for n in sorted(others) if n not in home and shown & set(library.load(n).tools)]


def _task(task_id: str, draft: Draft, spoken: list[Spoken], start: Moment) -> Task:
    """The ground truth keeps the calls that were executed, with what must come before each."""
    effective = [
        GroundCall(m.intent.id, m.intent.name, m.intent.arguments, (), m.intent.refs, m.result)
        for turn in spoken
        for m in turn.made
        if m.outcome == "ok" and m.intent.id
    ]
    if not effective and draft.kind != "abstention":
        raise Rejected("no_call_succeeded")
    after = dict(zip([c.id for c in effective], dependencies(start, effective), strict=True))
    truth = {c.id: replace(c, after=after[c.id]) for c in effective}
    turns = tuple(
        Turn(
            t.user,
            tuple(truth[m.intent.id] for m in t.made if m.intent.id in truth),
            t.reply,
            t.tools,
        )
        for t in spoken
    )
    world = start.session.world
    task = Task(
        id=task_id,
        kind=draft.kind,
        turns=turns,
        servers=tuple(world.servers),
        seed=world.seed,
        reference_time=world.cast.start.isoformat(),
        persona=draft.persona,
        tools=draft.tools,
        perturbations=draft.perturbations,
        information=draft.information,
        teacher="offline",
    )
    return replace(task, final_changes=replay(start, task.ground_truth).end.changes)


def _conversation(task: Task, spoken: list[Spoken]) -> Trace:
    """The teacher's whole run in trace format, refused calls included."""
    calls = [
        Call(m.intent.name, m.intent.arguments, i, m.step, m.outcome, m.result)
        for i, turn in enumerate(spoken)
        for m in turn.made
    ]
    messages: list[dict[str, Any]] = []
    for turn in spoken:
        messages.append({"role": "user", "content": turn.user})
        for m in turn.made:
            messages += _messages(m.intent.name, m.intent.arguments, m.result, len(messages))
        messages.append({"role": "assistant", "content": turn.reply})
    return Trace(
        id=task.id,
        task_id=task.id,
        calls=tuple(calls),
        policy=f"teacher:{task.teacher}",
        seed=task.seed,
        messages=tuple(messages),
        final_changes=task.final_changes,
    )


def _messages(name: str, arguments: Any, result: Any, number: int) -> list[dict[str, Any]]:
    """A call and its result as two chat messages."""
    text = msgspec.json.encode(arguments).decode()
    call = {"id": f"call_{number}", "type": "function"}
    function = {"name": name, "arguments": text}
    said = {"role": "assistant", "content": "", "tool_calls": [{**call, "function": function}]}
    heard = {"role": "tool", "tool_call_id": call["id"]}
    return [said, {**heard, "content": msgspec.json.encode(result).decode()}]
