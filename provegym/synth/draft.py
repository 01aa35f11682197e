"""What the offline teacher drafts: a shape drawn by the shares, turns, and how they are played."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from provegym.config import Synth
from provegym.synth.machine import Intent, Made
from provegym.synth.plan import Step
from provegym.synth.quota import Place
from provegym.synth.vain import Attempt
from provegym.types import Information, Kind, Perturbations, Tool

ABSTENTION = 1122 / 13517
"""Share of tasks without any call (paper, table 1)."""


class DraftTurn(Struct, frozen=True):
    """A turn as planned."""

    user: str
    steps: tuple[Step, ...] = ()
    reply: str = "Done."
    tools: tuple[Tool, ...] = ()
    clarifies: bool = False
    refused: tuple[Attempt, ...] = ()
    """What is tried last and refused, after which the teacher gives up in words."""

    @property
    def attempts(self) -> int:
        """Calls that the teacher makes in it, those in vain included."""
        return sum(1 + len(s.failed) for s in self.steps) + len(self.refused)


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


class Shape(Struct, frozen=True):
    """What is drawn before anything is planned."""

    kind: Kind
    turns: int
    information: Information = "complete"
    missing: bool = False
    """Whether the first turn lacks a tool, which the second brings."""
    irrelevant: bool = False
    distractors: int = 0
    stripped: bool = False
    crossing: bool = False
    """Whether the calls lead from one server to another."""
    calls: int = 0
    """Calls of the ground truth; 0 leaves their number open."""

    @property
    def supplied(self) -> bool:
        """Whether the second turn supplies what the first one lacks."""
        return self.missing or self.information == "missing_required"

    @property
    def waits(self) -> bool:
        """Whether nothing can be done in the first turn."""
        return self.supplied and self.kind == "clarification"

    @property
    def partial(self) -> bool:
        """Whether the first turn can be met in part before the second supplies the rest."""
        return self.supplied and self.kind == "workflow"

    @property
    def groups(self) -> int:
        """How many turns' worth of calls the task has."""
        return max(1, self.turns - self.supplied - self.irrelevant) + self.partial

    @property
    def length(self) -> int:
        """How many turns the task has before any wish that is refused."""
        return self.groups - self.partial + self.supplied + self.irrelevant


def draw(
    settings: Synth, rnd: Random, place: Place | None = None, like: Shape | None = None
) -> Shape:
    """A task's shape by the shares of the settings, such that it fits the place, if one is given;
    `like` another one in kind and servers.
    """
    while True:
        drawn = _drawn(settings, rnd)
        shape = _placed(drawn, place) if place else drawn
        if shape and (not like or (shape.kind, shape.crossing) == (like.kind, like.crossing)):
            return shape


def _placed(shape: Shape, place: Place) -> Shape | None:
    """The shape with the kind and the number of calls of the place, if it fits."""
    if place.kind == "abstention" or shape.kind == "abstention":
        return shape if place.kind == shape.kind else None
    if (shape.information, shape.missing) != (place.information, place.missing):
        return None
    placed = replace(shape, kind=place.kind, calls=place.calls)
    return placed if placed.groups <= place.calls else None


def _drawn(settings: Synth, rnd: Random) -> Shape:
    p, shares = settings.perturb, settings.information
    turns = rnd.randint(settings.min_turns, settings.max_turns)
    if rnd.random() < ABSTENTION:
        return Shape("abstention", turns, irrelevant=rnd.random() < 0.5)
    names: tuple[Information, ...] = ("complete", "missing_required", "minimal")
    information = rnd.choices(names, [getattr(shares, name) for name in names])[0]
    says_all = 1 - shares.missing_required
    missing = information != "missing_required" and rnd.random() * says_all < p.missing_function
    count = rnd.randint(p.min_distractors, p.max_distractors)
    waits = missing or information == "missing_required"
    return Shape(
        "clarification" if waits else "workflow",
        turns,
        information,
        missing,
        irrelevant=rnd.random() < p.irrelevance,
        distractors=count if rnd.random() < p.distractors else 0,
        stripped=rnd.random() < p.enum_stripping,
        crossing=not waits and rnd.random() < settings.cross_server,
    )


def error_rate(turns: Sequence[DraftTurn]) -> float:
    """Share of the attempts in vain, all of them taken for errors."""
    steps = [s for t in turns for s in t.steps]
    failed = sum(len(s.failed) for s in steps) + sum(len(t.refused) for t in turns)
    return failed / max(1, failed + len(steps))


def flawless(turns: Sequence[DraftTurn]) -> list[DraftTurn]:
    """The same turns without mistakes and detours."""
    return [replace(t, steps=tuple(replace(s, failed=()) for s in t.steps)) for t in turns]


class OfflineTeacher:
    """Plays a draft: attempts in vain first, then the calls, one a message."""

    def __init__(self, draft: Draft) -> None:
        self.turns = draft.turns
        self._plans = [_intents(turn) for turn in draft.turns]

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


def _intents(turn: DraftTurn) -> list[Intent]:
    """The turn's calls in order; attempts have no id, for they are no part of the ground truth."""
    found: list[Intent] = []
    for step in turn.steps:
        found += [Intent("", a.tool, a.arguments) for a in step.failed]
        found.append(Intent(step.id, step.tool, step.arguments, step.refs))
    return found + [Intent("", a.tool, a.arguments) for a in turn.refused]
