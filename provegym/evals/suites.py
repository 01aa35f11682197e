"""Running suites on one model, with what doing nothing and doing it right score beside.

OUT/results.json          what was measured, with all it depends on
OUT/settings.json         what it was measured with; another choice is refused
OUT/SUITE/...             what the benchmark's program wrote, from which a killed run goes on
OUT/../leaderboard.jsonl  where the suite provegym enters who was measured
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec
from msgspec import structs

from provegym import __version__, worlds
from provegym.errors import InfrastructureError, InputError, ManifestMismatch
from provegym.evals import benchmark, bfcl, harness, heldout_suite, tau2, teval
from provegym.evals.heldout_suite import Player, Plays
from provegym.evals.items import Item, Job, Policy, by_part, key
from provegym.evals.plan import OWN, Settings, Suite, plan
from provegym.evals.results import UNSTATED, Evaluation, Pins, Result, means, result, write
from provegym.llm.relay import Remote, Traffic, check, stated
from provegym.records import content_hash, read_tasks, write_atomic
from provegym.rollout import policies

POLICIES: tuple[Policy, ...] = ("noop", "oracle")
"""Models that are none: they measure the floor and the ceiling."""
Tell = Callable[[str], None]
Followed = Callable[[int, int], None]


def evaluate(
    settings: Settings,
    tell: Tell = lambda line: None,
    advance: Followed = lambda done, of: None,
    agent: Plays | None = None,
) -> Evaluation:
    """Measure the model, or the `agent` in its place, on every suite; write OUT/results.json.

    What an interrupted run finished is not asked for again. Raises what `plan` does,
    `ManifestMismatch` where OUT was made with other settings, and where an endpoint cannot be
    had `EndpointDown`, `ModelFault` or `InputError`, with all that is finished kept.
    """
    suites = plan(settings)
    runs = [_Suite(settings, suite, tell, advance, agent) for suite in suites]
    claim(settings)
    found = [part for run in runs for part in run.results()]
    abilities = {"teval": teval.abilities(means(r for r in found if r.suite == "teval"))}
    evaluation = Evaluation(
        settings.model,
        tuple(found),
        {part: why for suite in suites for part, why in suite.absent.items()},
        {name: scores for name, scores in abilities.items() if scores},
        total(run.traffic for run in runs),
    )
    write(evaluation, settings.out / "results.json")
    return evaluation


def claim(settings: Settings) -> None:
    """Note the settings in OUT, or see that they are the same, but for what may change."""
    path = settings.out / "settings.json"
    free = {"out", "base_url", "user_url", "concurrency", "timeout", "patience", "cache"}
    told = json.loads(msgspec.json.encode(structs.asdict(settings), enc_hook=str))
    wanted = {name: value for name, value in told.items() if name not in free}
    if not path.exists():
        write_atomic(path, [json.dumps(wanted, indent=2).encode()])
        return
    known = json.loads(path.read_text("utf-8"))
    for name, value in wanted.items():
        if known.get(name) != value:
            raise ManifestMismatch(
                f"{settings.out} was measured with {name} {known.get(name)!r}, but {value!r} is "
                "asked for now; choose another --out"
            )


def board(out: Path) -> Path:
    """The leaderboard of all that is measured beside `out`."""
    return out.parent / "leaderboard.jsonl"


class _Suite:
    """One suite of one run."""

    def __init__(
        self,
        settings: Settings,
        suite: Suite,
        tell: Tell,
        advance: Followed,
        agent: Plays | None,
    ) -> None:
        self.settings, self.suite, self.tell, self.advance = settings, suite, tell, advance
        self.agent = agent
        self.own = suite.name in OWN
        self.folder = settings.out / suite.name
        # First of all: an endpoint's wrong URL or key, and a model that it does not list, are found
        # before anything else.
        asked = not (agent or self.is_policy())
        self.remotes = self._remotes() if asked else {}
        self.stated = stated(settings.model, settings.base_url) if asked else {}
        """What the endpoint tells of the model; nothing where none is asked."""

    def results(self) -> list[Result]:
        """A result for each part, the floor and the ceiling beside it."""
        self.tell(f"{self.suite.name}: {self.settings.model}")
        items = by_part(self.asked())  # first: an endpoint that is down is told of at once
        bounds = {policy: self.bound(policy) for policy in POLICIES}
        shared = self.pins()
        found = [
            result(
                self.suite.name,
                part,
                items[part],
                structs.replace(shared, items_hash=_hash(names)),
                bounds["noop"].get(part),
                bounds["oracle"].get(part),
            )
            for part, names in self.suite.wanted.items()
        ]
        if self.suite.name == "provegym":
            self.enter(shared)
        return found

    def enter(self, pins: Pins) -> None:
        """Enter who was measured on the leaderboard beside OUT."""
        s = self.settings
        kind: benchmark.Kind
        if self.agent:
            kind, shape = "agent", {"agent": s.agent, "seconds": s.timeout}
        else:
            kind = "policy" if self.is_policy() else "model"
            shape = {**pins.sampling, "weights_hash": pins.weights_hash}
        who = benchmark.Contestant(s.model, kind, shape)
        date = pins.date.partition("T")[0]
        entry = benchmark.entry(self.folder, who, trials=s.trials, seed=s.seed, date=date)
        benchmark.enter(entry, board(s.out))

    def is_policy(self) -> bool:
        """Whether the model is none: a policy of ours plays in its place."""
        known = policies.POLICIES if self.own else POLICIES
        return self.settings.model in known and self.agent is None

    def asked(self) -> list[Item]:
        """All items of the model, judged. Raises where some could not be had."""
        if self.is_policy():
            return self.bounded(self.settings.model, self.folder, self.settings.trials)
        player = self.agent or dict(self.remotes)
        found = self.played(player, self.folder, self.settings.trials)
        check(self.remotes)
        if missing := self.missing(found, self.settings.trials):
            raise InfrastructureError(self.unanswered(missing))
        return found

    def unanswered(self, missing: Sequence[str]) -> str:
        """What to tell of items that could not be had; parts of our own share their episodes."""
        what, who = "items", "agent" if self.agent else "endpoint"
        if self.own:
            what, missing = "episodes", list(dict.fromkeys(m.partition("/")[2] for m in missing))
        named = ", ".join([*missing[:3], *(["..."] if len(missing) > 3 else [])])
        return (
            f"{self.suite.name}: {len(missing)} {what} were not answered because of the {who} "
            f"({named}), and are not scored; the same command asks for them again"
        )

    @property
    def traffic(self) -> list[Traffic]:
        """What the roles' requests took so far."""
        return [remote.traffic for remote in self.remotes.values()]

    def _remotes(self) -> dict[str, Remote]:
        """The endpoints behind the roles."""
        s = self.settings
        given = {"temperature": s.temperature, "max_tokens": s.max_tokens}
        sampling = {name: value for name, value in given.items() if value is not None}
        waits: dict[str, Any] = {"timeout": s.timeout, "patience": s.patience, "notify": self.tell}
        found = {"agent": Remote("agent", s.model, s.base_url, sampling, **waits)}
        if self.suite.name == "tau2":
            if not s.user_model:
                raise InputError(
                    "tau2 needs a model that plays the user: give --user-model, and --user-url "
                    "where it is another endpoint"
                )
            where = s.user_url or s.base_url
            stated(s.user_model, where)  # an unknown one is told of now, not after hours
            found["user"] = Remote("user", s.user_model, where, usable=True, **waits)
        return found

    def missing(self, found: Sequence[Item], trials: int) -> list[str]:
        """Wanted items that were not judged."""
        known = {item.id for item in found}
        wanted = (
            key(part, name, trial)
            for part, names in self.suite.wanted.items()
            for name in names
            for trial in range(trials)
        )
        return [item for item in wanted if item not in known]

    def played(self, player: Player, folder: Path, trials: int) -> list[Item]:
        """Let somebody play, and collect what was judged, each item once."""
        kept: dict[str, Item] = {}

        def keep(item: Item) -> None:
            kept[item.id] = item

        if self.own:
            self.live(player, folder, keep, trials)
        else:
            drivers: Mapping[str, Any] = {"bfcl": bfcl, "tau2": tau2, "teval": teval}
            drivers[self.suite.name].play(self.job(folder, trials), player, keep)
        return list(kept.values())

    def live(self, player: Player, folder: Path, keep: Any, trials: int) -> None:
        """Let somebody play on worlds of ours."""
        s = self.settings
        assert s.tasks
        names = next(iter(self.suite.wanted.values()))
        parts = self.suite.wanted.keys()
        heldout_suite.play(
            s.tasks,
            names,
            folder,
            player,
            lambda item: keep(item) if item.part in parts else None,
            trials=trials,
            seed=s.seed,
            concurrency=s.concurrency,
            advance=self.advance,
        )

    def job(self, folder: Path, trials: int) -> Job:
        s, environment = self.settings, self.suite.environment
        assert environment
        return Job(
            environment,
            self.suite.wanted,
            folder,
            trials,
            s.seed,
            s.concurrency,
            s.temperature,
            s.teval_data,
            s.teval_embedder,
            s.teval_source,
            self.advance,
        )

    def bound(self, policy: Policy) -> dict[str, float]:
        """What a known policy scores on the same items; measured once for each choice of them.

        On worlds of ours it takes seconds, and its traces belong to what is entered.
        """
        if self.own:
            return self.measured(policy)
        pins = structs.replace(self.pins(), items_hash=_hash(self.suite.wanted))
        parts = (pins.harness_hash, pins.packages_hash, pins.data_hash, pins.items_hash, policy)
        mark = hashlib.sha256("\n".join(parts).encode()).hexdigest()[:16]
        path = harness.root(self.settings.cache) / "bounds" / f"{self.suite.name}-{mark}.json"
        if not path.exists():
            write_atomic(path, [json.dumps(self.measured(policy)).encode()])
        read: dict[str, float] = json.loads(path.read_text("utf-8"))
        return read

    def measured(self, policy: Policy) -> dict[str, float]:
        """The means of a known policy, by part."""
        self.tell(f"{self.suite.name}: measuring what {policy} scores")
        items = self.bounded(policy, self.folder / policy, 1)
        if missing := self.missing(items, 1):
            raise InfrastructureError(f"{policy} left {len(missing)} items of {self.suite.name}")
        scores = {part: [i.score or 0.0 for i in some] for part, some in by_part(items).items()}
        return {part: sum(some) / len(some) for part, some in scores.items()}

    def bounded(self, name: str, folder: Path, trials: int) -> list[Item]:
        """The items of a known policy.

        One part after the other: parts of BFCL begin with the same words and have other gold calls.
        """
        if self.own:
            return self.played(name, folder, trials)
        policy: Policy = "noop" if name == "noop" else "oracle"
        kept: dict[str, Item] = {}

        def keep(item: Item) -> None:
            kept[item.id] = item

        whole = self.job(folder, trials)
        for part, names in self.suite.wanted.items():
            job = structs.replace(whole, wanted={part: names})
            if self.suite.name == "tau2":
                tau2.play_scripted(job, policy, keep)
            else:
                driver = bfcl if self.suite.name == "bfcl" else teval
                driver.play(job, driver.scripted(job, policy), keep)
        return list(kept.values())

    def pins(self) -> Pins:
        """What the scores depend on, but for the choice of items."""
        s, told = self.settings, self.stated
        harness_, version, marks, data = self.versions()
        return Pins(
            harness=harness_,
            version=version,
            harness_hash=marks[0],
            packages_hash=marks[1],
            data_hash=data,
            items_hash="",
            route=TO_AN_AGENT if self.agent else ROUTES[self.suite.name],
            model=s.model,
            weights_hash=told.get("weights_hash") or UNSTATED,
            template_hash=s.template_hash or told.get("template_hash") or UNSTATED,
            sampling={
                "temperature": _first(s.temperature, TEMPERATURES.get(self.suite.name)),
                "max_tokens": _first(s.max_tokens, MOST_TOKENS.get(self.suite.name)),
            },
            seed=s.seed,
            trials=s.trials,
            date=datetime.now(UTC).isoformat(timespec="seconds"),
            provegym=__version__,
            user=(s.user_model or "scripted") if self.suite.name == "tau2" else "",
        )

    def versions(self) -> tuple[str, str, tuple[str, str], str]:
        """Harness, its version, hashes of it and of its packages, and the hash of the data."""
        s, environment = self.settings, self.suite.environment
        if environment is None:
            assert s.tasks
            world = worlds.content(list(read_tasks(s.tasks)))
            return "provegym", __version__, (world, world), content_hash(s.tasks)
        parts = tuple(self.suite.wanted)
        if self.suite.name == "teval":
            assert s.teval_data
            paths = teval.files(s.teval_data)
            data = harness.data_hash(paths)
            if s.teval_embedder:
                data = _hash([data, teval.check_embedder(s.teval_embedder)])
        else:
            driver = bfcl if self.suite.name == "bfcl" else tau2
            data = harness.data_hash(driver.files(environment, parts))
        checkout = s.teval_source if self.suite.name == "teval" else None
        name, version, mark = _harness(environment, checkout)
        return name, version, (mark, environment.packages_hash), data


ROUTES = {
    "bfcl": bfcl.ROUTE,
    "tau2": f"text, {tau2.SPLIT} split, agent and user over chat completions",
    "teval": "prompts over chat completions",
    **dict.fromkeys(OWN, "chat completions with native tools"),
}
TO_AN_AGENT = "MCP over Streamable HTTP"
"""The route to a program that is measured in a model's place."""
TEMPERATURES = {"bfcl": bfcl.TEMPERATURE, "tau2": tau2.TEMPERATURE, "teval": 0.0}
"""The benchmarks' own; an endpoint's on worlds of ours."""
MOST_TOKENS = {"teval": teval.MOST_TOKENS}


def _harness(environment: harness.Environment, checkout: Path | None) -> tuple[str, str, str]:
    made_of = environment.harness
    if checkout is None:
        return made_of.package, made_of.version, environment.harness_hash
    mark = harness.data_hash(sorted((checkout / "teval").rglob("*.py")))
    return "T-Eval (checkout)", mark[:12], mark


def total(traffic: Any) -> dict[str, int]:
    """What all roles' requests took together."""
    rows = [vars(row) for some in traffic for row in some]
    return {name: sum(row[name] for row in rows) for name in (rows[0] if rows else ())}


def _first(*values: Any) -> Any:
    return next((value for value in values if value is not None), None)


def _hash(value: Any) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()
