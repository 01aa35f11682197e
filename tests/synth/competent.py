"""A model that knows its job, behind the scripted server: it plans as the offline teacher does.

It reads requests as a model would: what is to be said stands in the prompt, what was said in the
conversation. It finds the world by what the prompt shows of it, plans there, and remembers its
plans by the conversation that they are for.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import lru_cache
from random import Random
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from provegym import servers as library
from provegym.dataset.leaks import GRANTED
from provegym.graph.entities import Handle
from provegym.llm.scripted import Json, Response, says
from provegym.seeding import rng
from provegym.synth import say
from provegym.synth.asker import prompt
from provegym.synth.context import entities
from provegym.synth.filters import MAX_ERROR_RATE
from provegym.synth.grounding import Known
from provegym.synth.make import Plan
from provegym.synth.offline import INSISTS, NO_TOOL
from provegym.synth.plan import Planner, Step
from provegym.synth.query import MINIMAL_WORDS
from provegym.world.cast import cast
from provegym.world.session import Session

TRIES = 40
"""Wishes that it thinks of to find one that it can ground."""

AT_A_LOSS = "I do not know what to ask for."

Made = tuple[str, dict[str, Any]]
Users = tuple[str, ...]
"""The date and all user turns: a conversation's identity."""


class Talk(Struct, frozen=True):
    """What it has in mind after one user turn."""

    planner: Planner
    calls: tuple[Made, ...] = ()
    reply: str = "Done."
    pending: tuple[Made, ...] = ()
    """Calls of a wish that lacks something yet."""
    withheld: str = ""
    answer: str = ""
    made: int = 0
    failed: int = 0


class Aiming(Planner):
    """A planner that takes what it was told of, where it was told of any."""

    def __init__(self, session: Session, rnd: Random, told: dict[str, list[str]]) -> None:
        """`told` are, by kind, the ids of what the context names."""
        super().__init__(session, rnd)
        self.told = told

    def _usable(self, entity: str) -> list[Handle]:
        told = self.told.get(entity)
        return [h for h in super()._usable(entity) if not told or h.value in told]

    def _find(self, entity: str, wanted: Any, sure: bool, depth: int) -> Handle | None:
        told = self.told.get(entity)
        if not told or self.strict:
            return super()._find(entity, wanted, sure, depth)
        self.strict = True
        try:
            return super()._find(entity, self.rnd.choice(told), True, depth)
        finally:
            self.strict = False

    def _shown_value(self, entity: str, wanted: Any, choice: Any) -> Any:
        told = self.told.get(entity)
        return (
            self.rnd.choice(told)
            if told and not self.strict
            else super()._shown_value(entity, wanted, choice)
        )


class Competent:
    """The script. `seeds` are those of the worlds that it may be asked about."""

    def __init__(self, plan: Plan, worlds: int) -> None:
        self.seeds = [plan.world_seed(number) for number in range(worlds)]
        self.talks: dict[Users, Talk] = {}

    def __call__(self, request: Json) -> Response:
        """The answer to a request's body."""
        system, *messages = request["messages"]
        if "tools" in request:
            return self.step(system["content"], messages)
        about = json.loads(messages[0]["content"])
        if system["content"].startswith(prompt("answer")):
            value = self.answer(about, Random(request["seed"]))
        elif system["content"].startswith(prompt("critique")):
            value = {"consistent": True, "reason": ""}
        else:
            value = self.wish(about, system["content"], request["seed"])
        return says(json.dumps(value), usage=(len(str(request)) // 4, 40))

    # -- the user --------------------------------------------------------------------------

    def wish(self, about: Json, system: str, seed: int) -> Json:
        """The best of some wishes, and the plan for it kept in mind."""
        if prompt("insist") in system:
            words = INSISTS[(len(about["conversation"]) - 1) % len(INSISTS)]
            self.keep(about, words, Talk(self.talk(about).planner, reply=NO_TOOL))
            return {"goal": words, "withheld": "", "words": words}
        for k in range(TRIES):
            rnd = rng(seed, "competent", k)
            found = self.thought(about, system, rnd, k)
            short = prompt("minimal") not in system or (
                found and len(found[0].split()) <= MINIMAL_WORDS
            )
            if found and short and not self.strays(about, found):
                words, talk = found
                self.keep(about, words, talk)
                goal = f"{words} ({talk.withheld})" if talk.withheld else words
                return {"goal": goal, "withheld": talk.withheld, "words": words}
        self.keep(about, AT_A_LOSS, Talk(self.talk(about).planner, reply="I am sorry."))
        return {"goal": AT_A_LOSS, "withheld": "", "words": AT_A_LOSS}

    def thought(self, about: Json, system: str, rnd: Random, k: int) -> tuple[str, Talk] | None:
        """The k-th idea. Every third is free of what it was told of, late ones are modest."""
        before = self.talk(about)
        again = bool(about["conversation"])
        planner = forked(before.planner, rnd, self.told(about) if k % 3 else {})
        start = len(planner.steps)
        planner.plain = "leave_out" in about
        if "refusal" in about:
            return self.refused(about, planner, before, rnd)
        names = [tool["name"] for tool in about["tools"]]
        extended = [planner.extend(name) for name in names]
        if not (all(extended) or (k > TRIES // 2 and any(extended) and extended[-1])):
            return None
        steps = planner.steps[start:]
        if "leave_out" in about:
            return self.vague(about, planner, steps, before, rnd)
        words = say.request(phrases(planner, spoken(steps, names), rnd), "brief", rnd, again=again)
        if prompt("unavailable") in system:
            return words, Talk(planner, reply=NO_TOOL, pending=calls(steps, Talk(planner)))
        return words, self.played(planner, steps, before)

    def played(self, planner: Planner, steps: Sequence[Step], before: Talk) -> Talk:
        made = calls(steps, before)
        failed = sum(len(s.failed) for s in steps) if len(made) > len(steps) else 0
        total, wrong = before.made + len(made), before.failed + failed
        return Talk(planner, made, made=total, failed=wrong)

    def refused(
        self, about: Json, planner: Planner, before: Talk, rnd: Random
    ) -> tuple[str, Talk] | None:
        (named,) = about["tools"]
        tool = planner.session.world.tools[named["name"]].tool
        known = entities(planner.session.world.seed, (home(tool.name),)).values()
        ids = {e.label: e.id for kind in known for e in kind}
        drawn = replaced(about["example"], ids)
        planner.strict = True
        refusal = planner._refused(tool, about["refusal"], drawn)
        planner.strict = False
        if refusal is None:
            return None
        steps = planner.steps[refusal.start :]
        plain = tuple((s.tool, s.arguments) for s in steps)
        if (before.failed + 1) / (before.made + len(plain) + 1) >= MAX_ERROR_RATE:
            return None
        bound = planner.session.world.tools[refusal.tool].tool
        wishes = [*phrases(planner, [s for s in steps if s.said], rnd)]
        wishes.append(say.phrase(bound, refusal.choice.said, rnd))
        words = say.request(wishes, "brief", rnd, again=True)
        made = (*plain, (refusal.tool, refusal.choice.arguments))
        reply = f"I cannot do that: {refusal.message}"
        total, wrong = before.made + len(made), before.failed + 1
        return words, Talk(planner, made, reply, made=total, failed=wrong)

    def vague(
        self, about: Json, planner: Planner, steps: list[Step], before: Talk, rnd: Random
    ) -> tuple[str, Talk] | None:
        """A wish that lacks the value of one parameter."""
        *names, last = [tool["name"] for tool in about["tools"]]
        wanted, name = steps[-1], about["leave_out"]
        tool = planner.session.world.tools[last].tool
        parameter = next(p for p in tool.parameters if p.name == name)
        open_ = say.vague(parameter, wanted.arguments[name])
        withheld = wanted.said[name]
        if wanted.tool != last or open_ is None or withheld.startswith("that "):
            return None
        cut = next((i for i, s in reversed(list(enumerate(steps))) if s.tool in names), -1) + 1
        done = spoken(steps[:cut], names)
        wish, lacks = say.vague_phrase(tool, wanted.said, name, open_, rnd)
        words = say.request([*phrases(planner, done, rnd), wish], "brief", rnd, again=False)
        now = self.played(planner, steps[:cut], before)
        pending = calls(steps[cut:], before)
        asks = f"Which {lacks} do you mean?"
        made = now.made + len(pending)
        return words, replace(now, reply=asks, pending=pending, withheld=withheld, made=made)

    def answer(self, about: Json, rnd: Random) -> Json:
        """The value that was kept back."""
        users = self.users(about)
        talk = self.talks[users]
        words = say.answer(talk.withheld, rnd)
        self.talks[users] = replace(talk, answer=words)
        return {"asked": True, "words": words}

    def strays(self, about: Json, found: tuple[str, Talk]) -> bool:
        """Whether it would name what it may not, as far as it was told."""
        words, talk = found
        world = talk.planner.session.world
        before = [json.dumps([c["user"], c["assistant"]]) for c in about["conversation"]]
        results = [msgspec.json.encode(s.result).decode() for s in self.talk(about).planner.steps]
        tools = [world.tools[tool["name"]].tool for tool in about["tools"]]
        texts = [about["today"], json.dumps(about["context"], ensure_ascii=False), *before]
        known = Known([*texts, *(results if before else [])], tools)
        too_open = bool(talk.withheld) and Known([words]).holds(talk.withheld)
        return too_open or bool(known.strays(f"{words}\n{talk.withheld}"))

    # -- the assistant ---------------------------------------------------------------------

    def step(self, system: str, messages: list[Json]) -> Response:
        """The next planned call of the latest turn, or its reply."""
        today = next(s for s in self.dates() if s in system)
        said = tuple(m["content"] for m in messages if m["role"] == "user")
        talk = self.now((today, *said))
        last = max(i for i, m in enumerate(messages) if m["role"] == "user")
        done = sum(len(m.get("tool_calls") or ()) for m in messages[last:])
        usage = (len(str(messages)) // 4, 40)
        if done == len(talk.calls):
            return says(talk.reply, usage=usage)
        name, arguments = talk.calls[done]
        function = {"name": name, "arguments": json.dumps(arguments)}
        call = {"id": f"c{len(messages)}", "type": "function", "function": function}
        return says(None, tool_calls=[call], usage=usage)

    def now(self, users: Users) -> Talk:
        """What it has in mind for this turn; what was lacking is done first."""
        if users in self.talks:
            return self.talks[users]
        *earlier, words = users
        before = self.talks[tuple(earlier)]
        granted = GRANTED.format(tool=before.pending[-1][0])
        head = before.answer or granted
        assert words.startswith(head), words
        rest = words[len(head) :].strip()
        after = self.talks[(*earlier, rest)] if rest else before
        found = replace(
            after,
            calls=(*before.pending, *(after.calls if rest else ())),
            reply="Done.",
            pending=(),
            withheld="",
            answer="",
        )
        self.talks[users] = found
        return found

    # -- memory ----------------------------------------------------------------------------

    def users(self, about: Json) -> Users:
        return (about["today"], *(said["user"] for said in about["conversation"]))

    def talk(self, about: Json) -> Talk:
        """What it had in mind before; at first a plan of nothing."""
        servers = dict.fromkeys(kind.split(".")[0] for kind in about["context"])
        servers |= dict.fromkeys(home(tool["name"]) for tool in about["tools"])
        found = self.talks.get(self.users(about))
        if found and set(servers) <= set(found.planner.session.world.servers):
            return found
        world = library.world(self.seed(about), tuple(sorted(servers)))
        return Talk(Planner(world.open(), Random(0)))

    def keep(self, about: Json, words: str, talk: Talk) -> None:
        before = self.talks.get(self.users(about))
        if before and talk.planner.session.world is not before.planner.session.world:
            talk = replace(talk, planner=before.planner)  # a wish for elsewhere, not carried out
        self.talks[(*self.users(about), words)] = talk

    def told(self, about: Json) -> dict[str, list[str]]:
        """By kind, the ids of what the context names."""
        context = about["context"]
        servers = tuple(dict.fromkeys(kind.split(".")[0] for kind in context))
        found = {}
        for one in servers:
            for kind, known in entities(self.seed(about), (one,)).items():
                names = {row["name"] for row in context.get(kind, ())}
                found[kind] = sorted(e.id for e in known if e.label in names)
        return found

    def dates(self) -> list[str]:
        return [cast(seed).start.isoformat() for seed in self.seeds]

    def seed(self, about: Json) -> int:
        """The world of that date that holds the names of the context."""
        servers = tuple(sorted({kind.split(".")[0] for kind in about["context"]}))
        likely = [
            s for s, date in zip(self.seeds, self.dates(), strict=True) if date == about["today"]
        ]
        names = [row["name"] for rows in about["context"].values() for row in rows]
        return max(likely, key=lambda s: sum(name in everything(s, servers) for name in names))


def replaced(value: Any, ids: dict[str, str]) -> Any:
    """The example with ids for the names."""
    if isinstance(value, dict):
        return {key: replaced(inner, ids) for key, inner in value.items()}
    if isinstance(value, list):
        return [replaced(inner, ids) for inner in value]
    return ids.get(value, value) if isinstance(value, str) else value


@lru_cache(maxsize=256)
def everything(seed: int, servers: tuple[str, ...]) -> str:
    """All rows of a world, as one text."""
    templates = library.world(seed, servers).templates.values()
    return "\n".join(msgspec.json.encode(list(t.rows.values())).decode() for t in templates)


@lru_cache(maxsize=1024)
def home(tool: str) -> str:
    return next(name for name in library.SERVERS if tool in library.load(name).tools)


def forked(planner: Planner, rnd: Random, told: dict[str, list[str]]) -> Aiming:
    """The same plan to go on with, so that another attempt can begin here, too."""
    found = Aiming(planner.session.fork(), rnd, told)
    found.steps, found.seen = list(planner.steps), list(planner.seen)
    found.leaves = list(planner.leaves)
    return found


def spoken(steps: Sequence[Step], names: Sequence[str]) -> list[Step]:
    """The steps that are put into words."""
    return [s for s in steps if s.write or s.said or s.tool in names] or list(steps)


def phrases(planner: Planner, steps: Sequence[Step], rnd: Random) -> list[str]:
    tools = planner.session.world.tools
    return [say.phrase(tools[s.tool].tool, s.said, rnd) for s in steps]


def calls(steps: Sequence[Step], before: Talk) -> tuple[Made, ...]:
    """The calls of the steps, with what is tried before them unless that would be too much."""
    failed = sum(len(s.failed) for s in steps)
    total = before.made + len(steps) + failed
    keep = (before.failed + failed) / max(1, total) < MAX_ERROR_RATE
    found: list[Made] = []
    for s in steps:
        found += [(a.tool, a.arguments) for a in s.failed] if keep else []
        found.append((s.tool, s.arguments))
    return tuple(found)
