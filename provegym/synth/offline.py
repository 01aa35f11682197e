"""The offline teacher: no model, no key; plans over the graph and words it from tools' phrases.

`draft` plans a task on a scratch session; `OfflineTeacher` then plays the draft in the state
machine on a fresh one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from provegym.config import Synth
from provegym.graph.paths import Paths
from provegym.synth import say
from provegym.synth.machine import Intent, Made
from provegym.synth.perturb import strip_enums, tool_list
from provegym.synth.plan import Planner, Step, tools_of
from provegym.types import Information, Kind, Perturbations, Tool
from provegym.world.server import Server
from provegym.world.world import World

MAX_CALLS = 6
"""Most calls of a task, discovery calls included (ours; keeps episodes within a laptop's reach)."""
GIVE_UP = 0.35
"""How often a chain that ends in a refusal becomes a turn given up with an explanation (ours)."""
ABSTENTION = 1122 / 13517
"""Share of tasks without any call (paper, table 1)."""
NO_TOOL = "I have no tool that can do that."


class DraftTurn(Struct, frozen=True):
    """A turn as planned."""

    user: str
    steps: tuple[Step, ...] = ()
    reply: str = "Done."
    tools: tuple[Tool, ...] = ()
    clarifies: bool = False


class Draft(Struct, frozen=True):
    """A task as planned."""

    kind: Kind
    turns: tuple[DraftTurn, ...]
    tools: tuple[Tool, ...]
    information: Information
    perturbations: Perturbations
    persona: str

    @property
    def offered(self) -> list[str]:
        """Names of all tools that are shown in some turn."""
        shown = [self.tools, *(turn.tools for turn in self.turns)]
        return [tool.function.name for tools in shown for tool in tools]


class Rejected(Exception):
    """A candidate that became no task; the message is the reason that the yield counts."""


class Drafter:
    """Plans one candidate over one world."""

    def __init__(
        self,
        world: World,
        others: Sequence[Server],
        paths: Paths,
        settings: Synth,
        rnd: Random,
        chain: Callable[[int], tuple[str, ...]],
    ) -> None:
        self.world, self.others, self.paths = world, others, paths
        self.settings, self.rnd, self.chain = settings, rnd, chain
        self.style = rnd.choice(list(say.OPENERS))
        self.planner = Planner(world.open(), rnd)

    def draft(self) -> Draft:
        """A draft, or Rejected with the reason."""
        if self.rnd.random() < ABSTENTION:
            return self._abstention()
        information = self._information()
        missing = (
            information != "missing_required"
            and self.rnd.random() < self.settings.perturb.missing_function
        )
        supplied = missing or information == "missing_required"
        total = self.rnd.randint(self.settings.min_turns, self.settings.max_turns)
        irrelevant = self.rnd.random() < self.settings.perturb.irrelevance
        groups = self._groups(max(1, total - supplied - irrelevant))
        turns = [self._turn(g, information, i > 0) for i, g in enumerate(groups)]
        hidden = ""
        if missing:
            hidden, turns = self._hide(groups[0], turns)
        elif supplied:
            turns = self._leave_out(groups[0], turns, information)
        turns += self._given_up(len(turns) + irrelevant)
        if irrelevant:
            turns.insert(self.rnd.randrange(1, len(turns) + 1), self._irrelevant(again=True))
        kind: Kind = "clarification" if supplied else "workflow"
        return self._finish(kind, turns, information, hidden, irrelevant)

    # -- planning --------------------------------------------------------------------------

    def _information(self) -> Information:
        shares: dict[Information, float] = self.settings.information.model_dump()  # type: ignore[assignment]
        return self.rnd.choices(list(shares), list(shares.values()))[0]

    def _groups(self, count: int) -> list[list[Step]]:
        """Steps of one chain, or of more where it is too short, cut into `count` turns."""
        needed = max(self.settings.min_chain, count)
        for k in range(4):
            for name in self.chain(k):
                if len(self.planner.steps) >= MAX_CALLS or not self._extend(name):
                    break
            if len(self.planner.steps) >= needed:
                break
        steps = self.planner.steps
        if len(steps) < needed:
            raise Rejected("unsolved")
        if len(steps) > MAX_CALLS:
            raise Rejected("too_long")
        cuts = sorted(self.rnd.sample(range(1, len(steps)), count - 1))
        return [steps[a:b] for a, b in zip([0, *cuts], [*cuts, len(steps)], strict=True)]

    def _extend(self, name: str) -> bool:
        """One more tool, unless it would show more tools than the task may."""
        most = self.settings.tools_per_task
        if most and len({*tools_of(self.planner.steps), name}) > most:
            return False
        return self.planner.extend(name)

    # -- wording ---------------------------------------------------------------------------

    def _turn(self, steps: Sequence[Step], information: Information, again: bool) -> DraftTurn:
        spoken = self._spoken(steps, information)
        phrases = [self._phrase(s, s.said) for s in spoken]
        return DraftTurn(
            say.request(phrases, self.style, self.rnd, again=again), tuple(steps), _reply(steps)
        )

    def _spoken(self, steps: Sequence[Step], information: Information) -> list[Step]:
        """The steps that are put into words: with little information, look-ups go unsaid."""
        if information == "complete":
            return list(steps)
        used = {source for s in steps for source in s.sources}
        return [s for s in steps if s.write or s.said or s.id not in used] or list(steps)

    def _phrase(self, step: Step, said: dict[str, str]) -> str:
        return say.phrase(self.world.tools[step.tool].tool, said, self.rnd)

    def _leave_out(
        self, steps: Sequence[Step], turns: list[DraftTurn], information: Information
    ) -> list[DraftTurn]:
        """Turn 0 lacks a required value, which turn 1 supplies."""
        spoken = self._spoken(steps, information)
        last = spoken[-1]
        required = self.world.tools[last.tool].tool.required
        names = [name for name in last.said if name in required]
        if not names:
            raise Rejected("nothing_to_leave_out")
        name = self.rnd.choice(names)
        vague = {**last.said, name: f"a certain {say.human(name)}"}
        phrases = [self._phrase(s, vague if s is last else s.said) for s in spoken]
        asked = DraftTurn(
            say.request(phrases, self.style, self.rnd, again=False),
            reply=f"Which {say.human(name)} do you mean?",
        )
        answer = f"For the {say.human(name)}, use {last.said[name]}."
        return [asked, replace(turns[0], user=answer, clarifies=True), *turns[1:]]

    def _hide(self, steps: Sequence[Step], turns: list[DraftTurn]) -> tuple[str, list[DraftTurn]]:
        """Turn 0 lacks a tool, which turn 1 brings."""
        hidden = steps[-1].tool
        schema = self.world.tools[hidden].tool.schema
        asked = replace(turns[0], steps=(), reply=NO_TOOL)
        granted = DraftTurn(
            f"You now have the tool {hidden}. Please go ahead.",
            turns[0].steps,
            turns[0].reply,
            (schema,),
            clarifies=True,
        )
        return hidden, [asked, granted, *turns[1:]]

    def _given_up(self, turns: int) -> list[DraftTurn]:
        """A last turn whose wish is refused: the reads that show why, then an explanation."""
        if turns >= self.settings.max_turns or self.rnd.random() >= GIVE_UP:
            return []
        name = self.rnd.choice(self.planner.session.tools()).function.name
        refusal = self.planner.give_up(name)
        if refusal is None:
            return []
        steps = self.planner.steps[refusal.start :]
        phrases = [self._phrase(s, s.said) for s in self._spoken(steps, "minimal") if s.said]
        wish = say.phrase(self.world.tools[name].tool, refusal.choice.said, self.rnd)
        user = say.request([*phrases, wish], self.style, self.rnd, again=True)
        reply = f"I cannot do that: {refusal.message}"
        return [DraftTurn(user, tuple(steps), reply)]

    # -- requests that no tool can satisfy -------------------------------------------------

    def _irrelevant(self, *, again: bool) -> DraftTurn:
        """A wish for a server that the task does not have."""
        if not self.others:
            raise Rejected("no_other_server")
        server = self.rnd.choice(self.others)
        world = World(self.world.seed, [server])
        for _ in range(4):
            planner = Planner(world.open(), self.rnd)
            tool = self.rnd.choice(list(server.tools.values()))
            if planner.extend(tool.name):
                wish = say.phrase(tool, planner.steps[-1].said, self.rnd)
                user = say.request([wish], self.style, self.rnd, again=again)
                return DraftTurn(user, reply=NO_TOOL)
        raise Rejected("unsolved")

    def _abstention(self) -> Draft:
        """No turn has a call: wishes for other servers, or for a tool that is hidden."""
        count = self.rnd.randint(self.settings.min_turns, self.settings.max_turns)
        if self.others and self.rnd.random() < 0.5:
            turns = [self._irrelevant(again=i > 0) for i in range(count)]
            return self._finish("abstention", turns, "complete", "", irrelevant=True)
        server = next(iter(self.world.servers.values()))
        writes = [t.name for t in server.tools.values() if t.effect == "write"]
        hidden = self.rnd.choice(writes)
        if not self.planner.extend(hidden):
            raise Rejected("unsolved")
        wish = self._phrase(self.planner.steps[-1], self.planner.steps[-1].said)
        asked = DraftTurn(say.request([wish], self.style, self.rnd, again=False), reply=NO_TOOL)
        insists = ("Are you sure that there is no way?", "Is there nothing you can do about it?")
        more = [DraftTurn(u, reply=NO_TOOL) for u in insists[: count - 1]]
        return self._finish("abstention", [asked, *more], "complete", hidden, irrelevant=False)

    # -- the tool list ---------------------------------------------------------------------

    def _finish(
        self,
        kind: Kind,
        turns: list[DraftTurn],
        information: Information,
        hidden: str,
        irrelevant: bool,
    ) -> Draft:
        p = self.settings.perturb
        wanted = 0
        if kind != "abstention" and self.others and self.rnd.random() < p.distractors:
            wanted = self.rnd.randint(p.min_distractors, p.max_distractors)
        needed = [n for n in tools_of(s for t in turns for s in t.steps) if n != hidden]
        others = [] if irrelevant else self.others
        most = self.settings.tools_per_task
        tools, distractors = tool_list(
            needed, list(self.world.servers.values()), others, [hidden], wanted, most, self.rnd
        )
        if most and len(tools) + bool(hidden) > most + bool(hidden):
            raise Rejected("too_many_tools")
        stripped = kind != "abstention" and self.rnd.random() < p.enum_stripping
        if stripped:
            tools = strip_enums(tools)
            turns = [replace(t, tools=strip_enums(t.tools)) for t in turns]
        marks = Perturbations(distractors, stripped, hidden or None, irrelevant)
        return Draft(kind, tuple(turns), tools, information, marks, self.style)


def _reply(steps: Sequence[Step]) -> str:
    return "Done." if any(s.write for s in steps) else "Here is what I found."


class OfflineTeacher:
    """Plays a draft: refused attempts first, then the calls, one a message."""

    def __init__(self, draft: Draft) -> None:
        self.turns = draft.turns
        self._plans = [list(_intents(turn.steps)) for turn in draft.turns]

    def query(self, turn: int) -> tuple[str, tuple[Tool, ...]]:
        """The planned words."""
        return self.turns[turn].user, self.turns[turn].tools

    def act(self, turn: int, made: list[Made]) -> tuple[Intent, ...] | str:
        """The next planned call, then the reply."""
        plan = self._plans[turn]
        return (plan[len(made)],) if len(made) < len(plan) else self.turns[turn].reply

    def proceed(self, turn: int) -> Literal["follow_up", "clarification", "end"]:
        """Go on until the draft ends."""
        if turn + 1 == len(self.turns):
            return "end"
        return "clarification" if self.turns[turn + 1].clarifies else "follow_up"


def _intents(steps: Sequence[Step]) -> list[Intent]:
    found: list[Intent] = []
    for step in steps:
        found += [Intent("", step.tool, arguments) for arguments in step.failed]
        found.append(Intent(step.id, step.tool, step.arguments, step.refs))
    return found
