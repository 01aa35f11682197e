"""Calls the tools of a server to see what they give and what they change.

The calls are made on processes of their own, which no session has.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from random import Random
from typing import Any

import msgspec
from msgspec.structs import replace

from provegym.errors import InputError, ServerFault
from provegym.gateway.external import kinds as things
from provegym.gateway.external import shapes
from provegym.gateway.external.connection import Silent
from provegym.gateway.external.kinds import Kinds, Sample
from provegym.gateway.external.learned import Foreigner, Learned, Start
from provegym.gateway.external.names import called_reader, noun
from provegym.gateway.external.pool import Pool
from provegym.gateway.external.process import Log
from provegym.gateway.external.results import Answer
from provegym.gateway.external.settings import External
from provegym.seeding import rng
from provegym.world.sample import WORDS

CALLS = 4
"""Calls of one tool that are tried."""
ROUNDS = 3
"""Rounds of look-ups with values that earlier ones showed."""
WITNESSES = 16
"""Calls at most that tell whether another one changes something."""
SILENT = 5
"""So many tools that give no answer are too many."""
LEARNING_SECONDS = 900.0
"""Longest that a server is learned of."""
SEARCHES = frozenset(["query", "search", "q", "keyword", "term", "pattern", "text", "filter"])
"""Parameters that look for a text."""


class Scout:
    """Calls tools to see what they give."""

    def __init__(
        self,
        told: External,
        tools: Sequence[Foreigner],
        pool: Pool,
        notes: list[str],
        news: Callable[[str], None] = lambda text: None,
    ) -> None:
        self.samples: list[Sample] = []
        self.rows: dict[str, Any] = {}
        self._told, self._tools, self._pool, self._notes = told, list(tools), pool, notes
        self._news, self._end = news, time.monotonic() + LEARNING_SECONDS
        self._rnd: Random = rng(0, "scout", *(tool.real for tool in tools))
        self._broken: dict[int, str] = {}
        """Tools that lose the process, and how; they are called no more."""
        self._silent: list[str] = []
        """Those of them that gave no answer."""
        self._called: set[int] = set()
        self._asked: dict[int, list[Sample]] = {}
        """The witnesses of each tool."""

    # -- the sampling context --------------------------------------------------------------

    def look_around(self) -> None:
        """Call what reads: first what needs no argument, then with what was shown."""
        self.rows = self._pool.rows(self)
        if self._told.shows_state:
            place = next(i for i, t in enumerate(self._tools) if t.real == self._told.snapshot)
            self._try(place, {})
        if not self._told.may_probe:
            self._notes.append("not probed: nothing is known of its state")
            return
        for number in range(ROUNDS):
            known = things.infer(self._tools, self.samples)
            for i, tool in enumerate(self._tools):
                if tool.effect == "read" and (number or not tool.schema["required"]):
                    for given in self._given(i, tool, known):
                        self._try(i, given)

    def _try(self, place: int, given: dict[str, Any]) -> bool:
        """One call, whose result is kept if it worked and is new."""
        known = any(s.tool == place and s.arguments == given for s in self.samples)
        if known or place in self._broken:
            return known
        self._begin(place)
        tool = self._tools[place]
        try:
            found, changed = self._pool.probe(self, (), tool.real, sent(tool, given))
        except ServerFault as error:
            self._lose(place, error)
            return False
        if changed:
            self._notes.append(f"{tool.name} says that it only reads, but it writes")
            self._tools[place] = replace(tool, effect="write", why="probing")
        if not found.error:
            self.samples.append(Sample(place, given, found.value, changed))
        return not found.error

    def _given(self, place: int, tool: Foreigner, known: Kinds) -> Iterator[dict[str, Any]]:
        """Arguments for a few calls with values that were shown; the required ones alone."""
        likely = things.candidates(tool, known, self._tools)
        for _ in range(CALLS if tool.schema["required"] else 1):
            yield filled(tool, self._told, likely, known, self._rnd)

    def _begin(self, place: int) -> None:
        """Say which tool is called, at its first call. Raises `InputError` where the time is over:
        a part of what there is would be another part on another day.
        """
        name = self._tools[place].real
        if time.monotonic() > self._end:
            raise InputError(
                f"not learned: the server's tools were called for {LEARNING_SECONDS:g} s, the last "
                f"is {name}; set `probe = false` (`add --no-probe`), or `hide` those that take long"
            )
        if place not in self._called:
            self._called.add(place)
            self._news(f"calling {name}")

    def _lose(self, place: int, error: ServerFault) -> None:
        """Leave the tool out, which is written down. Raises `InputError` where many give no
        answer, and `Silent` where it is not the tool's fault that none came.
        """
        tool = self._tools[place]
        why = f"{tool.name} is left out: {error}"
        if isinstance(error, Silent):
            if error.doing != f"running {tool.real}":
                raise error
            self._silent.append(tool.real)
            why = f"not learned: {tool.name} did not answer in {self._told.seconds:g} s"
        if len(self._silent) >= SILENT:
            raise InputError(f"{why}, nor did {', '.join(self._silent[:-1])}; `hide` them")
        self._broken[place] = why
        self._notes.append(why)

    # -- effects ---------------------------------------------------------------------------

    def settle_effects(self) -> list[Foreigner]:
        """The tools with what probing says of them: one that changes what is read writes; one that
        says nothing of itself reads if it is called so and changes nothing.
        """
        if self._told.may_probe:
            known = things.infer(self._tools, self.samples)
            for i, tool in enumerate(self._tools):
                if i not in self._broken and not self._is_settled(i, tool):
                    self._begin(i)
                    self._tools[i] = self._probed(i, tool, known)
        return self._tools

    def _is_settled(self, place: int, tool: Foreigner) -> bool:
        """Whether it was seen to change something, or what can tell told that it does not."""
        mine = [s for s in self.samples if s.tool == place]
        told = bool(mine) and tool.effect == "read" and bool(self._told.snapshot)
        again = bool(mine) and self._asked.get(place) == self._witnesses(tool) != []
        return told or again or any(s.wrote for s in mine)

    @property
    def broken(self) -> dict[str, str]:
        """Names of the tools that lost their process, and how."""
        return {self._tools[i].name: why for i, why in self._broken.items()}

    def _probed(self, place: int, tool: Foreigner, known: Kinds) -> Foreigner:
        changed = self._changes(place, tool, known)
        if tool.why == "settings" or changed is None or (changed and tool.effect == "write"):
            return tool
        if changed:
            self._notes.append(f"{tool.name} says that it only reads, but it writes")
            return replace(tool, effect="write", why="probing")
        if tool.why == "caution" and called_reader(tool.real):
            return replace(tool, effect="read", why="probing")
        return tool

    def _changes(self, place: int, tool: Foreigner, known: Kinds) -> bool | None:
        """Whether a call changes what is read; None where no call went through."""
        went, steady = None, self._steady(place, tool)
        try:
            before = self._seen((), steady)
            for given in self._given(place, tool, known):
                answer, log = self._once(tool, given)
                if answer.error:
                    continue
                went = self._differs(before, log, steady)
                wrote = went or (tool.effect == "write" and tool.why != "caution")
                told = Sample(place, given, answer.value, wrote)
                self.samples += [told] if told not in self.samples else []
                if went:
                    break
        except ServerFault as error:
            self._lose(place, error)
        return went

    def _once(self, tool: Foreigner, given: dict[str, Any]) -> tuple[Answer, Log]:
        entry = tool.real, msgspec.json.encode(sent(tool, given), order="sorted").decode()
        answer, _ = self._pool.write(self, (), entry)
        return answer, (entry,)

    def _differs(self, before: list[Any], log: Log, steady: Sequence[Sample]) -> bool:
        """Whether a call made something differ that stays as it is without it, unlike the time."""
        after = self._seen(log, steady)
        if after == before:
            return False
        control = self._seen((), steady)
        same = zip(before, after, control, strict=True)
        return any(was != now and was == without for was, now, without in same)

    def _steady(self, place: int, tool: Foreigner) -> list[Sample]:
        """Of the witnesses those that show the same as when they were called first."""
        self._asked[place] = self._witnesses(tool)
        return [s for s in self._asked[place] if self._again((), s) == s.result]

    def _witnesses(self, tool: Foreigner) -> list[Sample]:
        """Calls that may tell a change: they read; those about the tool's own thing first. None
        where a snapshot tells it.
        """
        if self._told.snapshot:
            return []
        reads = [s for s in self.samples if self._tools[s.tool].effect == "read"]
        reads = [s for s in reads if s.tool not in self._broken]
        reads.sort(key=lambda s: noun(self._tools[s.tool].real) != noun(tool.real))
        return reads[:WITNESSES]

    def _again(self, log: Log, sample: Sample) -> Any:
        tool = self._tools[sample.tool]
        return self._pool.read(self, log, tool.real, sent(tool, sample.arguments)).value

    def _seen(self, log: Log, samples: Sequence[Sample]) -> list[Any]:
        """What the snapshot and the samples' calls show in a state."""
        return [self._pool.rows(self, log), *(self._again(log, sample) for sample in samples)]

    # -- results and places ----------------------------------------------------------------

    def returned(self, place: int) -> dict[str, Any]:
        """The schema of what the tool says that it gives, or was seen to give."""
        told = self._tools[place].returns
        if told.get("properties"):
            return told
        return shapes.seen(s.result for s in self.samples if s.tool == place)

    def placed(
        self, place: int, tool: Foreigner, known: Kinds, tools: Sequence[Foreigner]
    ) -> Foreigner:
        """The tool with the entities that its arguments take and its results show."""
        likely = things.candidates(tool, known, tools)
        takes = {path: names[0] for path, names in likely.items()}
        shows = {path: name for (i, path), name in known.shows.items() if i == place}
        named = {things.words_of(p, tools[i].real): n for (i, p), n in known.shows.items()}
        for path, schema in shapes.texts(tool.returns):
            name = named.get(things.words_of(path, tool.real))
            if schema.get("type") == "string" and "enum" not in schema and name:
                shows.setdefault(path, name)
        return replace(tool, takes=takes, shows=shows)


def sent(tool: Foreigner, given: dict[str, Any]) -> dict[str, Any]:
    """Arguments by the server's own names, with the nulls that it demands."""
    nulls = dict.fromkeys(tool.nulls)
    return {**nulls, **(_renamed(given, tool.renamed) if tool.renamed else given)}


def _renamed(value: Any, names: dict[str, str]) -> Any:
    if isinstance(value, dict):
        return {names.get(n, n): _renamed(v, names) for n, v in value.items()}
    return [_renamed(v, names) for v in value] if isinstance(value, list) else value


def filled(
    tool: Foreigner, told: External, likely: dict[str, list[str]], known: Kinds, rnd: Random
) -> dict[str, Any]:
    """Arguments for the required parameters, from the settings and from what was shown."""

    def value(schema: dict[str, Any], path: str) -> Any:
        own = things.field_of(path)
        if own in told.values:
            return rnd.choice(told.values[own])
        if "enum" in schema:
            return rnd.choice(schema["enum"])
        kind = schema.get("type")
        if kind == "array":
            return [value(schema.get("items", {}), f"{path}/*")]
        if kind == "object":
            inner = schema.get("properties", {})
            return {n: value(inner[n], f"{path}/{n}") for n in schema.get("required", ())}
        if kind in ("integer", "number"):
            low = schema.get("minimum", 1)
            return min(low + rnd.randrange(3), schema.get("maximum", low + 3))
        if kind == "boolean":
            return rnd.random() < 0.5
        names = likely.get(path, [])
        if own.lower() in SEARCHES:
            names = [*known.values]
        values = [v for n in names for v in known.values.get(n, {})]
        return rnd.choice(values) if values else " ".join(rnd.sample(WORDS, 2))

    found: dict[str, Any] = value(tool.schema, "")
    return found


def start_at(tools: Sequence[Foreigner], learned: Learned, scout: Scout) -> Start:
    """What there is at the start of another seed, at the places that are known."""
    values: dict[str, dict[str, str]] = {entity.name: {} for entity in learned.entities}
    labels = {entity.name: entity.label for entity in learned.entities}
    for sample in scout.samples:
        shows = tools[sample.tool].shows
        for leaf in things.leaves(sample):
            name = shows.get(leaf.path)
            if name in values:
                values[name].setdefault(leaf.value, str(leaf.around.get(labels[name], "")))
    return Start(values, scout.rows)
