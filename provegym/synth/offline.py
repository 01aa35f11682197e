"""The offline teacher: no model, no key; plans over the graph and words it from tools' phrases.

A task is planned on a scratch session; `OfflineTeacher` then plays the draft in the state machine
on a fresh one.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from msgspec.structs import replace

from provegym import servers as library
from provegym.dataset.leaks import GRANTED
from provegym.dataset.told import FOUND
from provegym.synth import say, vain
from provegym.synth.brief import CHAINS, Brief, akin
from provegym.synth.draft import Draft, DraftTurn, error_rate, flawless
from provegym.synth.filters import MAX_ERROR_RATE
from provegym.synth.letter import WORDINGS
from provegym.synth.lookup import alternatives
from provegym.synth.machine import MAX_MESSAGES
from provegym.synth.perturb import strip_enums, tool_list
from provegym.synth.plan import MAX_CALLS, Planner, Refusal, Step, tools_of, uses_of
from provegym.synth.vain import Attempt
from provegym.synth.ways import two_ways
from provegym.types import Perturbations, Ref
from provegym.world.server import Server
from provegym.world.tool import Tool

ATTEMPTS = 6
"""Plans that are tried for what was drawn, so that no kind is rarer for being harder to plan."""
NO_TOOL = "I have no tool that can do that."
INSISTS = ("Are you sure that there is no way?", "Is there nothing you can do about it?")


class Rejected(Exception):
    """A candidate that became no task; the message is the reason that the yield counts."""


class Drafter:
    """Plans one candidate over one world."""

    def __init__(self, brief: Brief) -> None:
        self.brief, self.world, self.settings = brief, brief.world, brief.settings
        self.shape, self.rnd, self.server = brief.shape, brief.rnd, brief.server
        self.style = self.rnd.choice(list(say.OPENERS))
        self.words = WORDINGS[self.settings.style]
        self._start(0)

    def _start(self, attempt: int) -> None:
        self.planner = Planner(self.world.open(), self.rnd)
        self.chains = (self.brief.chain(CHAINS * attempt + k) for k in range(CHAINS))
        self.unsaid: set[str] = set()
        """Look-ups that are left to the policy: no other tool on offer may do as well."""
        self.hidden = ""
        """The tool that the first turn lacks. No other one does the same by a single call."""
        self.foreign = list(self.brief.others)
        """Servers that distractors come from."""

    def draft(self) -> Draft:
        """A draft, or Rejected with the reason."""
        make = self._abstention if self.shape.kind == "abstention" else self._dialogue
        for attempt in range(ATTEMPTS):
            self._start(attempt)
            try:
                return self._finish(make())
            except Rejected as error:
                reason = error
        raise reason

    def _dialogue(self) -> list[DraftTurn]:
        shape = self.shape
        ends = self.brief.gives_up()
        first, *groups = self._groups(shape.calls - ends if shape.calls else 0)
        if shape.partial:
            turns = self._leave_out(groups.pop(0), first)
        elif shape.supplied:
            turns = self._hide(first) if shape.missing else self._leave_out(first)
        else:
            turns = [self._turn(first, again=False)]
        turns += [self._turn(g, again=True) for g in groups]
        turns += self._given_up() if ends else []
        if shape.calls not in (0, len(self.planner.steps)):
            raise Rejected("other_length")
        if shape.irrelevant:
            earliest = 1 + shape.supplied
            place = self.rnd.randrange(min(earliest, len(turns)), len(turns) + 1)
            turns.insert(place, self._irrelevant(again=True))
        return turns

    # -- planning --------------------------------------------------------------------------

    def _groups(self, exactly: int) -> list[Sequence[Step]]:
        """Steps of one chain, or of more where it is too short, cut into the turns of the shape:
        `exactly` so many or, if that is 0, as many as the settings want.
        """
        count = self.shape.groups
        needed, most = exactly or max(self.settings.min_chain, count), exactly or MAX_CALLS
        steps = self.planner.steps
        for chain in self.chains:
            chain = chain[: self.settings.max_chain]
            for name in chain if steps else self.brief.suited(chain):
                if len(steps) >= most or not self._extend(name, most):
                    break
            if len(steps) >= needed and self._crossed(steps):
                break
        if len(steps) < max(needed, count):
            raise Rejected("unsolved")
        if not self._crossed(steps):
            raise Rejected("not_crossed")
        if not self._has_room(steps[-1].tool):
            raise Rejected("too_many_tools")
        return self.brief.parted(steps)

    def _crossed(self, steps: Sequence[Step]) -> bool:
        """Whether the steps lead to another server, where that is wanted."""
        return not self.shape.crossing or len({self._home(s.tool).name for s in steps}) > 1

    def _extend(self, name: str, most: int) -> bool:
        """One more tool, where there is room for it and no more than `most` calls come of it."""
        if not self._has_room(name):
            return False
        self.planner.plain = self.shape.waits and not self.planner.steps
        return self.planner.extend(name, most)

    def _has_room(self, name: str) -> bool:
        """Whether one more tool leaves the task room for its distractors."""
        most = self.settings.tools_per_task
        room = most - min(self.shape.distractors, self.settings.perturb.min_distractors)
        return not most or len({*tools_of(self.planner.steps), name}) <= room

    # -- wording ---------------------------------------------------------------------------

    def _turn(self, steps: Sequence[Step], *, again: bool) -> DraftTurn:
        spoken = self._spoken(steps, sparing=self.shape.information != "complete")
        user = self.words.request(self._phrases(spoken), self.style, self.rnd, again=again)
        return DraftTurn(user, self._played(steps, spoken), _reply(steps))

    def _spoken(self, steps: Sequence[Step], *, sparing: bool) -> list[Step]:
        """The steps that are put into words. Of few words, a look-up that needs no argument goes
        unsaid where a later call shows that it is needed and only this tool can do it.
        """
        refs = [s.refs for s in self.planner.steps]
        spoken = []
        for s in steps:
            if sparing and not s.write and self._goes_unsaid(s, refs):
                self.unsaid.add(s.tool)
            else:
                spoken.append(s)
        return spoken or list(steps)

    def _goes_unsaid(self, step: Step, refs: Sequence[Mapping[str, Ref]]) -> bool:
        """Whether the look-up needs no words: what it shows is used, and nothing else shows it."""
        used = uses_of(step, refs)
        return bool(used) and not step.said and self._alone(step, used)

    def _alone(self, step: Step, used: set[Any]) -> bool:
        """Whether no other look-up of the task, and none that it shows the policy, does as well."""
        others = alternatives(self._home(step.tool), self.world.tools[step.tool].tool)
        if others & {s.tool for s in self.planner.steps}:
            return False
        limited = self.settings.tools_per_task
        shown = others & set(tools_of(self.planner.steps)) if limited else others - {self.hidden}
        tool = self.world.tools[step.tool].tool
        return not two_ways(self.planner.before[step.id], tool, used, shown)

    def _played(self, steps: Sequence[Step], spoken: Sequence[Step]) -> tuple[Step, ...]:
        """The steps as the teacher makes them: it looks in vain only where no tool was named."""
        named = {s.id for s in spoken}
        return tuple(
            replace(s, failed=tuple(a for a in s.failed if a.tool == s.tool or s.id not in named))
            for s in steps
        )

    def _phrases(self, steps: Sequence[Step]) -> list[str]:
        return [say.phrase(self._worded(s.tool), s.said, self.rnd) for s in steps]

    def _worded(self, name: str) -> Tool:
        """The tool as this teacher's users ask for it."""
        return self.words.of(self.world.tools[name].tool)

    # -- what the first turn lacks and the second supplies ---------------------------------

    def _leave_out(self, steps: Sequence[Step], before: Sequence[Step] = ()) -> list[DraftTurn]:
        """Turn 0 has what can be done `before`, and one wish that lacks a value; turn 1 supplies
        it, and goes on.
        """
        first, *rest = self._begun(steps)
        tool = self.world.tools[first.tool].tool
        open_ = {
            n: v for n in sorted(tool.required & first.said.keys()) if (v := self._open(first, n))
        }
        if not open_:
            raise Rejected("nothing_to_leave_out")
        name = self.rnd.choice(list(open_))
        wish, lacks = say.vague_phrase(self.words.of(tool), first.said, name, open_[name], self.rnd)
        done = self._spoken(before, sparing=True) if before else []
        asked = self.words.request([*self._phrases(done), wish], self.style, self.rnd, again=False)
        if first.said[name] in asked:
            raise Rejected("nothing_to_leave_out")
        answer = self.words.answer(first.said[name], self.rnd) + self.words.also(
            self._phrases(rest)
        )
        return [
            DraftTurn(asked, self._played(before, done), f"Which {lacks} do you mean?"),
            DraftTurn(answer, self._played(steps, [first, *rest]), _reply(steps), clarifies=True),
        ]

    def _begun(self, steps: Sequence[Step]) -> list[Step]:
        """The steps that are put into words, of which the first is to lack something: no look-up
        for what comes after it.
        """
        spoken = self._spoken(steps, sparing=True)
        if uses_of(spoken[0], [s.refs for s in steps]) and not (spoken[0].said or spoken[0].write):
            raise Rejected("two_ways")
        return spoken

    def _open(self, step: Step, name: str) -> say.Vague | None:
        """Words that leave an argument open; None where the policy could tell the value anyway."""
        parameter = next(p for p in self.world.tools[step.tool].tool.parameters if p.name == name)
        if f"/{name}" in step.refs:
            source = step.refs[f"/{name}"].call
            seen = [h for h in self.planner.seen if h.call == source]
            shown = {h.value for h in seen if h.entity == parameter.ref}
            if len(shown) < 2 or step.said[name].startswith("that "):
                return None
        return say.vague(parameter, step.arguments[name])

    def _hide(self, steps: Sequence[Step]) -> list[DraftTurn]:
        """Turn 0 is one wish that lacks a tool; turn 1 brings it, and goes on."""
        first, *rest = self._begun(steps)
        if not first.write or any(s.tool == first.tool for s in rest):
            raise Rejected("nothing_to_hide")
        self._hides(first.tool)
        asked = self.words.request(self._phrases([first]), self.style, self.rnd, again=False)
        granted = GRANTED.format(tool=first.tool)
        tools = (self.world.tools[first.tool].tool.schema,)
        return [
            DraftTurn(asked, reply=NO_TOOL),
            DraftTurn(
                granted + self.words.also(self._phrases(rest)),
                self._played(steps, [first, *rest]),
                _reply(steps),
                tools,
                clarifies=True,
            ),
        ]

    def _hides(self, tool: str) -> None:
        """Take the tool out of the list, with all foreign ones that might do as well."""
        self.hidden = tool
        self._keep_out(akin(self._home(tool).name))

    def _keep_out(self, names: Collection[str]) -> None:
        """Show no distractor of these servers."""
        self.foreign = [server for server in self.foreign if server.name not in names]

    # -- wishes that cannot be met ---------------------------------------------------------

    def _given_up(self) -> list[DraftTurn]:
        """A last turn whose wish is refused: the reads that show why, then an explanation."""
        refusal = self._refusal()
        if refusal is None:
            return []
        steps = self.planner.steps[refusal.start :]
        calls = [refusal.choice.refs, *(s.refs for s in steps)]
        spoken = [s for s in steps if not self._goes_unsaid(s, calls)]
        self.unsaid |= {s.tool for s in steps if s not in spoken}
        if self._away() & {*tools_of(steps), refusal.tool} or not self._has_room(refusal.tool):
            return []
        wish = say.phrase(self._worded(refusal.tool), refusal.choice.said, self.rnd)
        user = self.words.request([*self._phrases(spoken), wish], self.style, self.rnd, again=True)
        attempt = Attempt(refusal.tool, refusal.choice.arguments)
        reply = f"I cannot do that: {refusal.message}"
        return [DraftTurn(user, self._played(steps, spoken), reply, refused=(attempt,))]

    def _refusal(self) -> Refusal | None:
        """A call that is refused, for one of the reasons aimed at or else of all."""
        for code in self.brief.codes():
            tool = self.rnd.choice(vain.tools_that_refuse(self.server, code))
            refusal = self.planner.give_up(tool.name, code) if tool.name != self.hidden else None
            if refusal:
                return refusal
        return None

    def _irrelevant(self, *, again: bool) -> DraftTurn:
        """A wish for a server that the task shows no tool of, and of none akin to it."""
        strangers = self.brief.strangers
        if not strangers:
            raise Rejected("no_other_server")
        server = self.rnd.choice(strangers)
        self._keep_out(akin(server.name))
        for _ in range(ATTEMPTS):
            planner = Planner(library.world(self.world.seed, (server.name,)).open(), self.rnd)
            tool = self.rnd.choice(list(server.tools.values()))
            if planner.extend(tool.name):
                wish = say.phrase(self.words.of(tool), planner.steps[-1].said, self.rnd)
                return DraftTurn(
                    self.words.request([wish], self.style, self.rnd, again=again), reply=NO_TOOL
                )
        raise Rejected("unsolved")

    def _abstention(self) -> list[DraftTurn]:
        """No turn has a call: wishes for other servers, or for a tool that is hidden."""
        if self.shape.irrelevant and self.brief.strangers:
            return [self._irrelevant(again=i > 0) for i in range(self.shape.turns)]
        writes = [t.name for t in self.server.tools.values() if t.effect == "write"]
        hidden = self.rnd.choice(writes or list(self.server.tools))
        if not self.planner.extend(hidden):
            raise Rejected("unsolved")
        step = self.planner.steps[-1]
        self._hides(hidden)
        asked = self.words.request(self._phrases([step]), self.style, self.rnd, again=False)
        more = [DraftTurn(user, reply=NO_TOOL) for user in INSISTS[: self.shape.turns - 1]]
        return [DraftTurn(asked, reply=NO_TOOL), *more]

    # -- the tool list ---------------------------------------------------------------------

    def _finish(self, turns: list[DraftTurn]) -> Draft:
        shape, most = self.shape, self.settings.tools_per_task
        turns = flawless(turns) if error_rate(turns) >= MAX_ERROR_RATE else turns
        used = [s for t in turns for s in t.steps]
        tried = [a.tool for t in turns for a in t.refused]
        needed = [n for n in dict.fromkeys([*tools_of(used), *tried]) if n != self.hidden]
        if most and len(needed) > most:
            raise Rejected("too_many_tools")
        if any(t.attempts > MAX_MESSAGES for t in turns):
            raise Rejected("too_many_messages")
        tools, distractors = tool_list(
            needed,
            list(self.world.servers.values()),
            self.foreign,
            self._away().difference(needed),
            shape.distractors,
            most,
            self.rnd,
        )
        if shape.stripped:
            tools = strip_enums(tools)
            turns = [replace(t, tools=strip_enums(t.tools)) for t in turns]
        marks = Perturbations(distractors, shape.stripped, self.hidden or None, shape.irrelevant)
        return Draft(shape.kind, tuple(turns), tools, shape.information, marks, self.style)

    def _away(self) -> set[str]:
        """Tools that the list must not show: the hidden one and, unless whole servers are shown,
        what could stand in for a look-up that goes unsaid.
        """
        looked_up = self.unsaid if self.settings.tools_per_task else ()
        tools = [self.world.tools[name].tool for name in looked_up]
        return {self.hidden}.union(*(alternatives(self._home(t.name), t) for t in tools))

    def _home(self, name: str) -> Server:
        """The server that the tool belongs to."""
        return self.world.tools[name].server


def _reply(steps: Sequence[Step]) -> str:
    done = any(s.write for s in steps)
    if done and not steps[-1].write:
        return f"Done. {FOUND}"
    return "Done." if done else FOUND
