"""A language model as the teacher of one conversation: it speaks for the user and the assistant.

Both sides are separate requests: the assistant sees the conversation and the tools on offer, never
the agenda, the context or the user's goal.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import msgspec
from msgspec.structs import replace

from provegym.synth.agenda import Agenda, Item
from provegym.synth.machine import Intent, Made, Spoken
from provegym.synth.offline import Rejected
from provegym.synth.query import Said, User
from provegym.synth.steps import Assistant
from provegym.types import Tool

QUESTIONS = ("?", "？", "؟")
"""How a reply ends that asks something."""


class ModelTeacher:
    """Plays an agenda. `granted` is the tool that the first turn lacks, as the second brings it."""

    def __init__(
        self,
        user: User,
        assistant: Assistant,
        agenda: Agenda,
        granted: tuple[Tool, ...],
        max_turns: int,
    ) -> None:
        self.user, self.assistant, self.granted = user, assistant, granted
        self.items = list(agenda.items)
        """The turns as they come; a question that nobody foresaw brings one more."""
        self._max_turns = max_turns
        self._said: list[Said] = []

    def query(self, turn: int) -> tuple[str, tuple[Tool, ...]]:
        """The user's words of a turn, and tools that become available with it."""
        item = self.items[turn]
        words = self.user.say(item, self._said)
        tools = self.granted if item.mode == "granted" else ()
        self.assistant.hear(words, tools)
        self._said.append(Said(words, ""))
        return words, tools

    def act(self, turn: int, made: list[Made]) -> tuple[Intent, ...] | str:
        """Calls to make next, or the reply that ends the turn."""
        found = self.assistant.act(made)
        if isinstance(found, str):
            results = tuple(msgspec.json.encode(m.result).decode() for m in made)
            self._said[-1] = replace(self._said[-1], assistant=found, results=results)
            self._expect_answer(turn, made, found)
        return found

    def proceed(self, turn: int) -> Literal["follow_up", "clarification", "end"]:
        """Whether the user goes on: as long as the agenda has turns."""
        if turn + 1 == len(self.items):
            return "end"
        supplies = self.items[turn + 1].mode in ("answer", "granted")
        return "clarification" if supplies else "follow_up"

    def _expect_answer(self, turn: int, made: Sequence[Made], reply: str) -> None:
        """Put in a turn for a question that nobody foresaw; the last turns then fall away."""
        asks = reply.rstrip().endswith(QUESTIONS) and not any(m.outcome == "ok" for m in made)
        if not asks or self.items[turn].mode not in ("wish", "answer", "granted"):
            return
        if turn + 1 < len(self.items) and self.items[turn + 1].mode in ("answer", "granted"):
            return
        if turn + 1 == self._max_turns:
            raise Rejected("unanswered_question")
        self.items.insert(turn + 1, Item("answer"))
        del self.items[self._max_turns :]


def see_it_was_played(items: Sequence[Item], turns: Sequence[Spoken]) -> None:
    """Raise `Rejected` where a turn was not played as one of its kind has to be."""
    for i, (item, turn) in enumerate(zip(items, turns, strict=True)):
        worked = {m.intent.name for m in turn.made if m.outcome == "ok"}
        if item.mode in ("irrelevant", "insist") and turn.made:
            raise Rejected("called_in_vain")
        if item.mode == "refused" and not turn.made:
            raise Rejected("gave_up_without_look_ups")
        if item.leave_out and item.tools[-1] in worked:
            raise Rejected("did_not_ask")
        waits = item.leave_out or (i + 1 < len(items) and items[i + 1].mode == "answer")
        if item.mode in ("wish", "granted", "answer") and not turn.made and not waits:
            raise Rejected("prose_only")


def goals(items: Sequence[Item]) -> list[frozenset[str]]:
    """By turn, the tools that it wants: those of its item, with an answer also those before it."""
    found: list[frozenset[str]] = []
    for item in items:
        own = frozenset(item.tools[:-1] if item.leave_out else item.tools)
        if item.mode in ("hidden", "insist", "irrelevant"):
            own = frozenset()
        elif item.mode == "answer":
            own |= _wished(items[: len(found)])
        found.append(own)
    return found


def _wished(items: Sequence[Item]) -> frozenset[str]:
    return frozenset(name for item in items if item.mode == "wish" for name in item.tools)
