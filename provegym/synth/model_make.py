"""One candidate by a language model: agenda, conversation, ground truth, filters, certificate."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from msgspec import Struct
from msgspec.structs import replace

from provegym import config
from provegym import servers as library
from provegym.errors import EndpointDown, ModelFault, ServerFault
from provegym.graph.entities import consumed
from provegym.llm.endpoint import Notify
from provegym.seeding import derive, rng
from provegym.synth.agenda import Agenda, Item, Writer
from provegym.synth.asker import Asker, Complete, prompt, strings
from provegym.synth.brief import Brief, kin
from provegym.synth.draft import Shape, draw
from provegym.synth.effective import truth
from provegym.synth.lookup import ids_needed, readers
from provegym.synth.machine import Machine, Spoken
from provegym.synth.make import (
    Candidate,
    Maker,
    Outcome,
    Rejection,
    certified,
    screen,
    servers_of,
)
from provegym.synth.model import ModelTeacher, goals, see_it_was_played
from provegym.synth.offline import Rejected
from provegym.synth.personas import some_persona
from provegym.synth.perturb import strip_enums, tool_list
from provegym.synth.plan import MAX_CALLS
from provegym.synth.query import User
from provegym.synth.replay import Moment, replay, start_of
from provegym.synth.steps import Assistant
from provegym.synth.unmet import NO_AIM, Aims
from provegym.types import Changes, GroundCall, Kind, Perturbations, Task, Tool, Turn
from provegym.world.world import World

FOUND_BY = 2
"""Look-ups one behind the other that a short list of tools has for each id."""
_VERDICT = strings("reason", flags=("consistent",))


class Offer(Struct, frozen=True):
    """The tools that a task shows at first, the one that comes later, and how many distract."""

    tools: tuple[Tool, ...]
    granted: tuple[Tool, ...]
    distractors: int

    @property
    def all(self) -> tuple[Tool, ...]:
        """All of them."""
        return (*self.tools, *self.granted)


class Played(Struct, frozen=True):
    """A conversation as it went: its turns, what they were about, and what they came to."""

    items: list[Item]
    spoken: list[Spoken]
    start: Moment
    """The start of a fresh session with the same tools."""
    changes: Changes
    persona: str


class ModelMaker:
    """Makes candidate number i for place k with a model that `complete` asks."""

    def __init__(
        self, maker: Maker, settings: config.Teacher, complete: Complete, notify: Notify
    ) -> None:
        self._maker, self._settings, self._complete = maker, settings, complete
        self._notify = notify

    def make(self, i: int, k: int, aims: Aims) -> Outcome:
        """A candidate that passed everything but the second process, or why it did not.

        The place decides on the shape, so that what is rejected leaves a gap of the same shape.
        Raises `EndpointDown`, `BudgetSpent` and `InputError` from the model's side.
        """
        try:
            with faults(self._maker.id(i), self._notify):
                return _Candidate(self._maker, self._settings, self._complete, i, k).made(aims)
        except Rejected as error:
            return Rejection(self._maker.id(i), str(error))
        except ServerFault:
            if not any(library.load(name).outside for name in self._maker.plan.servers):
                raise
            return Rejection(self._maker.id(i), "server_lost")


@contextmanager
def faults(id: str, notify: Notify) -> Iterator[None]:
    """Tell of a request that failed alone, and raise it as `Rejected`: its candidate is lost."""
    try:
        yield
    except EndpointDown:
        raise
    except ModelFault as fault:
        notify(f"{id} is lost: {fault}")
        raise Rejected("model_fault") from fault


class _Candidate:
    """What is drawn for one candidate, and what is made of it."""

    def __init__(
        self, maker: Maker, settings: config.Teacher, complete: Complete, i: int, k: int
    ) -> None:
        plan, synth = maker.plan, maker.settings
        self.maker, self.settings = maker, settings
        self.id, self.base = maker.id(i), i // len(plan.servers)
        self.place = maker.places[k] if maker.places else None
        self.server = plan.servers[k % len(plan.servers)]
        self.rnd = rng(plan.seed, "candidate", plan.first_world, i)
        self.asker = Asker(complete, plan.seed, plan.first_world, i)
        place = self.place and replace(self.place, calls=MAX_CALLS)  # no number fits it better
        shape = draw(synth, rng(plan.seed, "shape", plan.first_world, k), place)
        self.home, self._chain_of = maker.chains(self.server, shape, self.rnd)
        abroad = set(plan.others) - kin(self.home)
        irrelevant = shape.irrelevant and bool(abroad)
        self.shape: Shape = replace(shape, crossing=len(self.home) > 1, irrelevant=irrelevant)
        number = plan.first_world + self.base % synth.world_seeds
        self.seed = plan.world_seed(number)

    def made(self, aims: Aims) -> Candidate:
        """The whole way. Raises `Rejected`."""
        agenda = self._agenda(aims)
        offer = self._offer(agenda)
        played = self._play(agenda, offer)
        see_it_was_played(played.items, played.spoken)
        screen(played.spoken, played.start)
        wanted = goals(played.items)
        calls = truth(played.start, played.spoken, wanted, played.changes)
        task = self._task(played, calls, offer, agenda.hidden)
        found = certified(task, played.spoken, played.start)
        if self.settings.critique:
            self._criticize(played.spoken)
        return found

    def _play(self, agenda: Agenda, offer: Offer) -> Played:
        """The conversation, on a live session."""
        names = servers_of(offer.all, self.home, self.maker.plan.others)
        world = library.world(self.seed, (*self.home, *names))
        persona = some_persona(self.settings.languages, self.rnd)
        sample = self.base // self.settings.refresh_context
        user = User(self.asker, world, self.home, persona, self.shape.information, sample)
        assistant = Assistant(self.asker, world, offer.tools)
        most = self.maker.settings.max_turns
        teacher = ModelTeacher(user, assistant, agenda, offer.granted, most)
        session = world.open()
        spoken = Machine(teacher, session).run()
        start = start_of(world, [tool.function.name for tool in offer.all])
        return Played(teacher.items, spoken, start, session.changes(), str(persona))

    def _task(
        self,
        played: Played,
        calls: Sequence[tuple[GroundCall, ...]],
        offer: Offer,
        hidden: str,
    ) -> Task:
        world = played.start.session.world
        irrelevant = any(item.mode == "irrelevant" for item in played.items)
        stripped = self.shape.stripped
        task = Task(
            id=self.id,
            kind=self._kind(calls),
            turns=_turns(played.spoken, calls),
            servers=tuple(world.servers),
            seed=world.seed,
            reference_time=world.cast.start.isoformat(),
            persona=played.persona,
            tools=offer.tools,
            perturbations=Perturbations(offer.distractors, stripped, hidden or None, irrelevant),
            information=self.shape.information,
            teacher=self.settings.model,
        )
        return replace(task, final_changes=replay(played.start, task.ground_truth).end.changes)

    # -- what is drawn ---------------------------------------------------------------------

    def _agenda(self, aims: Aims) -> Agenda:
        maker = self.maker
        others = [library.load(n) for n in maker.plan.others if n not in self.home]
        world = library.world(self.seed, self.home)
        told = aims.get(self.server, NO_AIM).codes
        brief = Brief(world, others, maker.settings, self.shape, self.rnd, self._chain, told)
        return Writer(brief).agenda()

    def _chain(self, k: int) -> tuple[str, ...]:
        return self._chain_of(derive(self.maker.plan.seed, "chains", self.id, k), self.base)

    def _offer(self, agenda: Agenda) -> Offer:
        """The perturbed tool lists."""
        synth, shape, plan = self.maker.settings, self.shape, self.maker.plan
        world = library.world(self.seed, self.home)
        away = {*self.home, *agenda.away}
        needed = [name for name in self._needed(world, agenda) if name != agenda.hidden]
        if synth.tools_per_task and len(needed) > synth.tools_per_task:
            raise Rejected("too_many_tools")
        tools, distractors = tool_list(
            needed,
            list(world.servers.values()),
            [library.load(name) for name in plan.others if name not in away],
            {agenda.hidden},
            shape.distractors,
            synth.tools_per_task,
            self.rnd,
        )
        later = [agenda.hidden for item in agenda.items if item.mode == "granted"]
        granted = tuple(world.tools[name].tool.schema for name in later)
        if shape.stripped:
            tools, granted = strip_enums(tools), strip_enums(granted)
        return Offer(tools, granted, distractors)

    def _needed(self, world: World, agenda: Agenda) -> list[str]:
        """Tools of the wishes and, where a list is to be short, look-ups for the ids they take."""
        wished = [n for item in agenda.items if not item.server for n in item.tools]
        found = list(dict.fromkeys(wished))
        if self.maker.settings.tools_per_task:
            for _ in range(FOUND_BY):
                found = list(dict.fromkeys([*found, *_look_ups(world, found)]))
        return found

    # -- what came of it -------------------------------------------------------------------

    def _kind(self, calls: Sequence[tuple[GroundCall, ...]]) -> Kind:
        """By where the calls are. Raises `Rejected` where that is not what was wanted."""
        kind: Kind = "workflow" if calls[0] else "clarification" if any(calls) else "abstention"
        if self.shape.kind == "abstention" and kind != "abstention":
            raise Rejected("called_in_vain")
        if self.shape.kind != "abstention" and kind == "abstention":
            raise Rejected("no_call_succeeded")
        if self.place and kind != self.place.kind:
            raise Rejected("other_kind")
        return kind

    def _criticize(self, spoken: Sequence[Spoken]) -> None:
        """Let the model judge the conversation. Raises `Rejected` where it finds a flaw."""
        turns = [
            {
                "user": turn.user,
                "calls": [
                    {"name": m.intent.name, "arguments": m.intent.arguments, "result": m.result}
                    for m in turn.made
                ],
                "reply": turn.reply,
            }
            for turn in spoken
        ]
        verdict = self.asker.value(
            prompt("critique"), {"turns": turns}, _VERDICT, lambda value: None
        )
        if not verdict["consistent"]:
            raise Rejected("critique")


def _turns(spoken: Sequence[Spoken], calls: Sequence[tuple[GroundCall, ...]]) -> tuple[Turn, ...]:
    pairs = zip(spoken, calls, strict=True)
    return tuple(Turn(turn.user, mine, turn.reply, turn.tools) for turn, mine in pairs)


def _look_ups(world: World, names: Sequence[str]) -> list[str]:
    """For each id that the tools need, the read tool that needs the fewest itself."""
    found = []
    for name in names:
        bound = world.tools[name]
        for entity, parameter in consumed(bound.tool):
            shows = readers(world.servers[entity.split(".")[0]], entity)
            if parameter in bound.tool.required and shows:
                found.append(min(shows, key=ids_needed).name)
    return found
