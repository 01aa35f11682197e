"""The user's words: wishes over what there is, follow-ups, and answers to what is asked.

What a model writes is checked before it is said. Each name, number, amount and date must stand in
the context or the conversation, or be a value that the tools at hand leave to the user; and it is
held to all that `provegym dataset check` holds turns to.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
from msgspec import Struct

from provegym import servers as library
from provegym.dataset.languages import named
from provegym.dataset.leaks import GRANTED, Rules, leaks
from provegym.synth.agenda import Item
from provegym.synth.asker import Asker, Fault, Json, prompt, strings
from provegym.synth.context import context, entities
from provegym.synth.grounding import Known, internal_ids
from provegym.synth.offline import Rejected
from provegym.synth.personas import Persona
from provegym.types import GroundCall, Information, Task, Turn
from provegym.world.tool import Tool
from provegym.world.world import World

MINIMAL_WORDS = 30
"""Most words of a message that is to be short."""
LEAKS = {
    "row_id": ("internal_id", "no person would know {seen}"),
    "tool_name": ("tool_name_in_turn", "it names {seen}, which no person knows"),
    "language": ("other_language", "it has to be in {language}"),
    "empty": ("empty_turn", "the message was empty"),
    "too_long": ("too_long_turn", "nobody writes {seen}"),
    "repeated": ("repeated_turn", "the user said just this before"),
}
"""By check, the reason that the yield counts, and words for the model."""
_WRITTEN = strings("goal", "withheld", "words")
_ANSWERED = strings("words", flags=("asked",))


class Written(Struct, frozen=True):
    """A wish as the model wrote it; only `words` are said."""

    goal: str
    withheld: str
    words: str


class Said(Struct, frozen=True):
    """One turn so far: both sides' words, and what the calls gave as JSON."""

    user: str
    assistant: str
    results: tuple[str, ...] = ()


class User:
    """Whoever talks to the assistant in one conversation; knows the goal and what is kept back."""

    def __init__(
        self,
        asker: Asker,
        world: World,
        servers: tuple[str, ...],
        persona: Persona,
        information: Information,
        sample: int,
    ) -> None:
        """`servers` are those that the wishes are about, `sample` is the number of the context."""
        self._asker, self._world, self._servers = asker, world, servers
        self._information, self._sample = information, sample
        self._language = persona.language
        self._rules = Rules(library.prefixes(), named(persona.language))
        self._about = {"today": world.cast.start.isoformat(), "persona": str(persona)}
        self._goals: list[str] = []
        self._withheld = ""
        self._shown: list[str] = []
        self._free: list[Tool] = []
        """What wishes so far could be about: all contexts, and tools whose values are free."""

    def say(self, item: Item, before: Sequence[Said]) -> str:
        """The words of a turn. Raises `Rejected` where none that will do are written."""
        if item.mode == "answer":
            parts = [self._answer(before)]
        elif item.mode == "granted":
            parts = [GRANTED.format(tool=item.tools[0])]
        else:
            return self._wish(item, item.tools, before)
        rest = item.tools[1:] if item.mode == "granted" else item.tools
        parts += [self._wish(item, rest, before)] if rest else []
        return " ".join(parts)

    # -- wishes ----------------------------------------------------------------------------

    def _wish(self, item: Item, names: Sequence[str], before: Sequence[Said]) -> str:
        tools = self._tools(item, names)
        around = self._around(item)
        shown = context(self._world.seed, around, tools, self._sample, _ids(item.example))
        about = {
            **self._about,
            "tools": [msgspec.to_builtins(tool.schema.function) for tool in tools],
            **({"leave_out": item.leave_out} if item.leave_out else {}),
            **({"refusal": item.code, "example": self._named(item)} if item.code else {}),
            "context": shown,
            "conversation": _told(before),
        }
        told = [_json(shown), *_choices(tools)]
        known = Known([*self._heard(before), *told], tools)
        found = self._asker.value(
            prompt("user", *self._sections(item, bool(before))),
            about,
            _WRITTEN,
            lambda value: self._flaw(msgspec.convert(value, Written), item, known, before),
        )
        written = msgspec.convert(found, Written)
        self._goals.append(written.goal)
        self._shown += told
        self._free += tools
        self._withheld = written.withheld if item.leave_out else self._withheld
        return written.words

    def _tools(self, item: Item, names: Sequence[str]) -> list[Tool]:
        tools = library.load(item.server).tools if item.server else None
        return [tools[n] if tools else self._world.tools[n].tool for n in names]

    def _named(self, item: Item) -> Json:
        """The example of a refused call with names in the place of ids."""
        known = entities(self._world.seed, self._servers).values()
        names = {e.id: e.label for kind in known for e in kind}
        named: Json = _replaced(item.example, names)
        return named

    def _around(self, item: Item) -> tuple[str, ...]:
        return (item.server,) if item.server else self._servers

    def _sections(self, item: Item, later: bool) -> list[str]:
        """The parts of the prompt that say what kind of message is wanted."""
        if item.mode == "insist":
            return ["insist"]
        special = {"hidden": ["unavailable"], "irrelevant": ["unavailable"], "refused": ["refused"]}
        level = "minimal" if self._information == "minimal" else "complete"
        level = "missing_required" if item.leave_out else level
        return [*["follow_up"] * later, level, *special.get(item.mode, [])]

    def _flaw(
        self, written: Written, item: Item, known: Known, before: Sequence[Said]
    ) -> Fault | None:
        words, withheld = written.words, written.withheld
        if self._information == "minimal" and len(words.split()) > MINIMAL_WORDS:
            return "too_many_words", f"the message has over {MINIMAL_WORDS} words"
        return (
            (_withholding(written, known) if item.leave_out else None)
            or self._unsayable(words, before, self._tools(item, item.tools))
            or _ungrounded(words, known)
            or _ungrounded(withheld if item.leave_out else "", known)
        )

    def _unsayable(
        self, words: str, before: Sequence[Said], also: Sequence[Tool] = ()
    ) -> Fault | None:
        """What nobody would say in the next turn: an id, the name of a tool (`also` of some that
        the world has not), the same again, another language.
        """
        if ids := internal_ids(self._world, words):
            return "internal_id", f"no person would know {', '.join(ids)}"
        tools = [*(bound.tool for bound in self._world.tools.values()), *also]
        turns = (*map(_heard, before), Turn(words))
        task = Task("", "workflow", turns, tools=tuple(tool.schema for tool in tools))
        found = (leak for leak in leaks(task, self._rules) if leak.turn == len(before))
        for leak in found:
            reason, told = LEAKS[leak.check]
            return reason, told.format(seen=leak.seen, language=self._language)
        return None

    # -- answers ---------------------------------------------------------------------------

    def _answer(self, before: Sequence[Said]) -> str:
        about = {
            **self._about,
            "goal": " ".join(self._goals),
            "withheld": self._withheld,
            "conversation": _told(before),
        }
        known = Known([*self._heard(before), *self._shown, self._withheld], self._free)
        found = self._asker.value(
            prompt("answer"), about, _ANSWERED, lambda value: self._bad_answer(value, known, before)
        )
        if not found["asked"]:
            raise Rejected("did_not_ask")
        self._withheld = ""
        words: str = found["words"]
        return words

    def _bad_answer(self, value: Json, known: Known, before: Sequence[Said]) -> Fault | None:
        words = value["words"]
        if value["asked"] and not Known([words]).holds(self._withheld):
            return "answer_lacks_value", f"it has to hold {self._withheld!r} in these very words"
        return self._unsayable(words, before) or _ungrounded(words, known)

    # -- what was said ---------------------------------------------------------------------

    def _heard(self, before: Sequence[Said]) -> list[str]:
        texts = [self._about["today"]]
        for said in before:
            texts += [said.user, said.assistant, *said.results]
        return texts


def _heard(said: Said) -> Turn:
    """A turn so far, as far as later ones are held against it."""
    return Turn(
        said.user, (GroundCall("", "", result=list(map(msgspec.json.decode, said.results))),)
    )


def _withholding(written: Written, known: Known) -> Fault | None:
    """What is wrong with how a value is kept back."""
    withheld = written.withheld.strip()
    if not withheld or not Known([written.goal]).holds(withheld):
        return "withholds_nothing", "`withheld` has to be a value that stands in `goal`, too"
    if Known([written.words]).holds(withheld):
        return "says_too_much", f"the message must not hold {withheld!r}"
    return None


def _ungrounded(words: str, known: Known) -> Fault | None:
    strays = known.strays(words)
    if not strays:
        return None
    listed = ", ".join(repr(text.lstrip("|")) for text in strays)
    return "ungrounded", f"{listed} stands neither in `context` nor in the conversation"


def _told(before: Sequence[Said]) -> list[dict[str, str]]:
    return [{"user": said.user, "assistant": said.assistant} for said in before]


def _choices(tools: Sequence[Tool]) -> list[str]:
    """The values that the tools' parameters have to choose from."""
    fields = [p.item or p for tool in tools for p in tool.parameters]
    return [str(choice) for p in fields for choice in p.choices]


def _replaced(value: Any, names: Mapping[str, str]) -> Any:
    """A JSON value with names for those texts that have one."""
    if isinstance(value, dict):
        return {key: _replaced(inner, names) for key, inner in value.items()}
    if isinstance(value, list):
        return [_replaced(inner, names) for inner in value]
    return names.get(value, value) if isinstance(value, str) else value


def _ids(example: Json) -> set[str]:
    """All texts in an example of a call, the ids among them."""
    values = (
        v for value in example.values() for v in (value if isinstance(value, list) else [value])
    )
    return {v for v in values if isinstance(v, str)}


def _json(value: Any) -> str:
    return msgspec.json.encode(value).decode()
