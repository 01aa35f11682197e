"""The state machine that plays a conversation on a live session (paper 3.2, step 3).

    query -> turn -> tool_execution -> turn ... -> response -> continuation -> query | done

A teacher writes the query, chooses the calls and the reply; the session answers. What happened
is the conversation; which of its calls count as ground truth is decided afterwards.
"""

from __future__ import annotations

from typing import Any, Literal, Protocol

from msgspec import Struct

from provegym.types import Outcome, Ref, Tool
from provegym.world.session import Session

State = Literal["query", "turn", "tool_execution", "response", "continuation", "done"]
Event = Literal[
    "asked",  # the user said something
    "calls",  # the teacher calls tools
    "answers",  # the teacher replies in words
    "success",  # every call of the message was executed
    "partial_success",  # some were
    "failure",  # none was: the teacher corrects, takes another tool, or gives up in words
    "replied",
    "follow_up",  # the user goes on
    "clarification",  # the user supplies what was missing
    "end",
]

TRANSITIONS: dict[tuple[State, Event], State] = {
    ("query", "asked"): "turn",
    ("turn", "calls"): "tool_execution",
    ("turn", "answers"): "response",
    ("tool_execution", "success"): "turn",
    ("tool_execution", "partial_success"): "turn",
    ("tool_execution", "failure"): "turn",
    ("response", "replied"): "continuation",
    ("continuation", "follow_up"): "query",
    ("continuation", "clarification"): "query",
    ("continuation", "end"): "done",
}

MAX_MESSAGES = 10
"""Most teacher messages in one turn; one that goes on is cut."""


class Intent(Struct, frozen=True):
    """A call that the teacher wants to make."""

    id: str
    name: str
    arguments: dict[str, Any]
    refs: dict[str, Ref] = {}


class Made(Struct, frozen=True):
    """A call that was made, and what it gave."""

    intent: Intent
    outcome: Outcome
    result: Any
    step: int


class Spoken(Struct):
    """One turn of a conversation as it went."""

    user: str
    tools: tuple[Tool, ...] = ()
    made: list[Made] = []
    reply: str = ""


class Teacher(Protocol):
    """Who writes the user's words and acts as a correct assistant."""

    def query(self, turn: int) -> tuple[str, tuple[Tool, ...]]:
        """The user's words of a turn, and tools that become available with it."""
        ...

    def act(self, turn: int, made: list[Made]) -> tuple[Intent, ...] | str:
        """Calls to make next, or the reply that ends the turn."""
        ...

    def proceed(self, turn: int) -> Literal["follow_up", "clarification", "end"]:
        """Whether the user goes on."""
        ...


class Machine:
    """Plays one conversation."""

    def __init__(self, teacher: Teacher, session: Session) -> None:
        self.teacher = teacher
        self.session = session
        self.turns: list[Spoken] = []
        self.state: State = "query"
        self._next: tuple[Intent, ...] | str = ""
        self._step = 0

    def run(self) -> list[Spoken]:
        """Play to the end; the turns as they went."""
        handlers = {
            "query": self._query,
            "turn": self._turn,
            "tool_execution": self._execute,
            "response": self._respond,
            "continuation": self._continue,
        }
        while self.state != "done":
            event = handlers[self.state]()
            self.state = TRANSITIONS[self.state, event]
        return self.turns

    def _query(self) -> Event:
        user, tools = self.teacher.query(len(self.turns))
        self.turns.append(Spoken(user, tools, []))
        self._step = 0
        return "asked"

    def _turn(self) -> Event:
        self._next = self.teacher.act(len(self.turns) - 1, self.turns[-1].made)
        if isinstance(self._next, str) or self._step >= MAX_MESSAGES:
            return "answers"
        return "calls"

    def _execute(self) -> Event:
        outcomes = []
        for intent in self._next:
            assert isinstance(intent, Intent)
            result = self.session.call(intent.name, intent.arguments)
            made = Made(intent, result.outcome, result.builtins(), self._step)
            self.turns[-1].made.append(made)
            outcomes.append(result.outcome == "ok")
        self._step += 1
        if all(outcomes):
            return "success"
        return "partial_success" if any(outcomes) else "failure"

    def _respond(self) -> Event:
        self.turns[-1].reply = self._next if isinstance(self._next, str) else ""
        return "replied"

    def _continue(self) -> Event:
        return self.teacher.proceed(len(self.turns) - 1)
