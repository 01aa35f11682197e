"""Every pair of tools within a server, classified by a language model (paper 3.2, step 1).

The paper puts each of the n(n-1)/2 pairs to a model: explicit, implicit or none. Batches,
directions and words are ours. A pair whose answer is missing or broken is asked again in a smaller
request; after the last of `SIZES` it is unclassified.
"""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import msgspec
from msgspec import Struct

from provegym import config, loops
from provegym.errors import EndpointDown, ModelFault
from provegym.graph.edges import Edge
from provegym.graph.said import Said
from provegym.records import config_hash
from provegym.world.fields import Field, fields_of, take_apart
from provegym.world.server import Server
from provegym.world.tool import Tool

if TYPE_CHECKING:
    from provegym.llm.teacher import Teacher

SIZES = (20, 10, 5)
"""Pairs in one request, when they are asked first and when they are asked again."""
SHAPING = {"model", "mode", "temperature", "max_tokens", "extra"}
"""Settings of the model that shape what it says of a pair."""
WHY = 200
"""Characters of a reason that are kept."""

Pair = tuple[Tool, Tool]
Progress = Callable[[int, int], None]
"""Called with the number of pairs that are classified, and that of all."""

TASK = """\
You find out how the tools of one server depend on each other.

For each numbered pair of tools A and B say what holds in both directions, `b_needs_a` and \
`a_needs_b`:
- "explicit": a required parameter of the one takes a value that the result of the other holds;
- "implicit": the other has to run first, since it brings about the state that the one needs, \
though no value is handed over;
- "none": neither.
Take a direction for "none" where the one can be called just as well without the other.

`why` says in at most fifteen words what is handed over or brought about; it is empty where both \
directions are "none". Answer for every pair, once, with its number in `pair`.

The tools, with what they return and the codes that they refuse a call with:
"""
_RELATION = {"type": "string", "enum": ["explicit", "implicit", "none"]}
_VERDICT = {
    "type": "object",
    "properties": {
        "pair": {"type": "integer"},
        "b_needs_a": _RELATION,
        "a_needs_b": _RELATION,
        "why": {"type": "string"},
    },
    "required": ["pair", "b_needs_a", "a_needs_b", "why"],
    "additionalProperties": False,
}
ANSWER = {
    "type": "object",
    "properties": {"pairs": {"type": "array", "items": _VERDICT}},
    "required": ["pairs"],
    "additionalProperties": False,
}
"""The JSON Schema of an answer."""


class _Verdict(Struct, frozen=True):
    pair: int
    b_needs_a: Literal["explicit", "implicit", "none"]
    a_needs_b: Literal["explicit", "implicit", "none"]
    why: str = ""


class _Answer(Struct, frozen=True):
    pairs: list[Any]


def ask(
    servers: Sequence[Server],
    settings: config.Teacher,
    answers: Path,
    *,
    progress: Progress = lambda done, total: None,
    notify: Callable[[str], None] = lambda line: None,
) -> tuple[Said, dict[str, float]]:
    """What the model of the settings says of all pairs, and what that took so far.

    Answers that are in the file `answers` are not asked for again. Raises what `Teacher` raises,
    and `ModelFault` where not one pair could be classified.
    """
    from provegym.llm.teacher import Teacher  # needs what the extra `llm` installs

    async def run() -> tuple[Said, dict[str, float]]:
        async with Teacher(settings, answers, notify=notify) as teacher:
            said = await classify(teacher, servers, settings, progress)
            return said, teacher.ledger.figures()

    return loops.run(run())


async def classify(
    teacher: Teacher,
    servers: Sequence[Server],
    settings: config.Teacher,
    progress: Progress = lambda done, total: None,
) -> Said:
    """Ask for all pairs of all servers, as many requests at once as the teacher lets through."""
    pairs = [list(combinations(server.tools.values(), 2)) for server in servers]
    tally = _Tally(sum(map(len, pairs)), progress)
    found = await asyncio.gather(*[_verdicts(teacher, of_one, tally) for of_one in pairs])
    if tally.total and not tally.done:
        raise ModelFault(
            f"model {settings.model!r} classified none of {tally.total} pairs of tools; "
            f"{tally.fault or 'its answers do not fit the schema that they were asked for in'}"
        )
    verdicts = {pair: verdict for of_one in found for pair, verdict in of_one.items()}
    open_ = [pair for of_one in pairs for pair in of_one if pair not in verdicts]
    both_ways = [(x.name, y.name) for a, b in open_ for x, y in ((a, b), (b, a))]
    edges = [e for of_one in pairs for p in of_one for e in _edges(p, verdicts.get(p), settings)]
    return Said(settings.model, asked_by(settings), tuple(edges), tuple(both_ways))


def asked_by(settings: config.Teacher) -> str:
    """Hash of what shapes the answers besides the tools."""
    shaping = settings.model_dump(include=SHAPING)
    return config_hash([shaping, TASK, ANSWER, SIZES])


class _Tally:
    """How many pairs are classified so far, and the last fault on the way."""

    def __init__(self, total: int, progress: Progress) -> None:
        self.total, self.done, self.fault = total, 0, ""
        self._progress = progress

    def add(self, count: int) -> None:
        self.done += count
        self._progress(self.done, self.total)


async def _verdicts(teacher: Teacher, pairs: list[Pair], tally: _Tally) -> dict[Pair, _Verdict]:
    found: dict[Pair, _Verdict] = {}
    for number, size in enumerate(SIZES):
        left = [pair for pair in pairs if pair not in found]
        parts = [left[i : i + size] for i in range(0, len(left), size)]
        asked = [_asked(teacher, part, number, tally) for part in parts]
        for answers in await asyncio.gather(*asked):
            found |= answers
    return found


async def _asked(
    teacher: Teacher, part: list[Pair], seed: int, tally: _Tally
) -> dict[Pair, _Verdict]:
    """The pairs that one request brought a valid answer for."""
    try:
        answer = await teacher.complete(messages(part), seed=seed, schema=ANSWER)
    except EndpointDown:
        raise
    except ModelFault as fault:
        tally.fault = str(fault)
        return {}
    found = _read(answer.value, part)
    tally.add(len(found))
    return found


def messages(part: Sequence[Pair]) -> list[dict[str, str]]:
    """The question about some pairs; each tool is shown once."""
    tools = {tool.name: tool for pair in part for tool in pair}
    shown = "\n".join(json.dumps(_shown(tool), ensure_ascii=False) for tool in tools.values())
    pairs = "\n".join(f"{i}. A = {a.name}, B = {b.name}" for i, (a, b) in enumerate(part, 1))
    return [
        {"role": "system", "content": TASK + shown},
        {"role": "user", "content": f"Pairs:\n{pairs}"},
    ]


def _read(value: Any, part: Sequence[Pair]) -> dict[Pair, _Verdict]:
    """The valid answers; of a pair that is answered twice, none is."""
    try:
        verdicts = list(map(_verdict, msgspec.convert(value, _Answer).pairs))
    except msgspec.ValidationError:
        return {}
    times = Counter(v.pair for v in verdicts if v)
    return {
        part[v.pair - 1]: v
        for v in verdicts
        if v and 1 <= v.pair <= len(part) and times[v.pair] == 1
    }


def _verdict(item: Any) -> _Verdict | None:
    try:
        return msgspec.convert(item, _Verdict)
    except msgspec.ValidationError:
        return None


def _edges(pair: Pair, verdict: _Verdict | None, settings: config.Teacher) -> Iterator[Edge]:
    if verdict is None:
        return
    (a, b), by = pair, (f"llm:{settings.model}",)
    evidence = {"why": verdict.why[:WHY]}
    if verdict.b_needs_a != "none":
        yield Edge(a.name, b.name, verdict.b_needs_a, evidence, by)
    if verdict.a_needs_b != "none":
        yield Edge(b.name, a.name, verdict.a_needs_b, evidence, by)


def _shown(tool: Tool) -> dict[str, Any]:
    """What the model is told of a tool: more than a policy, for schemas say nothing of results."""
    function = tool.schema.function
    return {
        "name": function.name,
        "description": function.description,
        "effect": "reads" if tool.effect == "read" else "changes the state",
        "parameters": function.parameters,
        "returns": _outline(take_apart("", tool.returns)),
        "refusals": list(tool.refuses),
    }


def _outline(f: Field) -> Any:
    """The names in a result, nested as they are there."""
    if f.item is not None:
        return [_outline(f.item)]
    if isinstance(f.type, type) and issubclass(f.type, Struct):
        return {inner.name: _outline(inner) for inner in fields_of(f.type)}
    plain = type(f.choices[0]) if f.choices else f.type
    return getattr(plain, "__name__", str(plain))
