"""The settings of a run: one TOML file, checked whole before anything starts.

This is the only place where defaults live; they are the paper's (arXiv 2606.03892, sections 3.2,
3.3 and 4) wherever it gives a number, and marked *ours* where it does not.
"""

from __future__ import annotations

import difflib
import json
import re
import tomllib
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar, get_args
from urllib.parse import urlsplit

from pydantic import AfterValidator, Field, ValidationError, model_validator

from provegym.config_ablations import Ablations
from provegym.errors import InputError, UnknownName, seen
from provegym.records.files import read_whole
from provegym.section import Count, Group, Natural, Positive, Section, Share
from provegym.types import MOST_AT_ONCE, MOST_TASKS, MOST_TRIALS, Kind

MOST_TURNS = 100
"""Of one task, and calls of one chain (ours, too)."""

AtOnce = Annotated[int, Field(ge=1, le=MOST_AT_ONCE)]
Edges = Literal["executed", "llm", "union"]
Engine = Literal["local", "ray"]
Style = Literal["spoken", "written"]
Policy = Literal["smollm2", "tiny"]
"""`smollm2`: SmolLM2-135M-Instruct, dequantized from Q4, with LoRA; `tiny`: random, for tests."""

PRESETS = Path(__file__).parent / "llm" / "presets"
"""A file for each teacher that is known by a short name."""


def endpoint_url(text: str, like: str = "http://127.0.0.1:8000/v1") -> str:
    """The address of an endpoint as it is, "" for none. Raises ValueError for a text that is no
    URL (RFC 3986) of http or https with a host in ASCII and, if any, a port from 1 to 65,535.
    """
    try:
        parts = urlsplit(text)
        host, valid = parts.hostname or "", parts.port != 0
    except ValueError:
        host, valid = "", False
    valid = valid and re.fullmatch(r"[\w.:-]+", host, re.ASCII) is not None
    if text and not (valid and re.fullmatch(r"https?://\S+", text, re.IGNORECASE)):
        raise ValueError(f"{text!r} is no base URL; write it like {like}")
    return text


S = TypeVar("S", bound=Section)


def _ordered(section: Section, low: str, high: str) -> None:
    if getattr(section, low) > getattr(section, high):
        raise ValueError(f"{low} is above {high}")


class Run(Section):
    """What is run, on which worlds, and where its files go."""

    name: str = Field(pattern=r"^[A-Za-z0-9_.-]+$")
    seed: Natural = 0
    out: str = ""
    """Folder of the run's files; empty means runs/NAME."""
    policy: Policy = "smollm2"
    start: str = ""
    """Folder of the policy to start from, or "shipped" for the adapter that comes with provegym;
    empty makes one by `[sft]` on the run's own tasks."""
    servers: tuple[str, ...] = Field(min_length=1)
    heldout_server: str = ""
    """A server of `servers` that is evaluated on and never trained on; empty means none."""

    @property
    def folder(self) -> Path:
        """The folder all files of the run lie in."""
        return Path(self.out or f"runs/{self.name}")

    @model_validator(mode="after")
    def _heldout_is_a_server_among_others(self) -> Run:
        if len(set(self.servers)) < len(self.servers):
            raise ValueError("servers names one twice")
        if self.heldout_server and self.heldout_server not in self.servers:
            raise ValueError(f"heldout_server {self.heldout_server!r} is not among servers")
        if set(self.servers) == {self.heldout_server}:
            raise ValueError("heldout_server leaves no server to train on")
        return self


class Information(Section):
    """How much of what a task needs its first user turn says; the shares sum to 1."""

    complete: Share = 0.6
    missing_required: Share = 0.2
    minimal: Share = 0.2

    @model_validator(mode="after")
    def _shares_sum_to_one(self) -> Information:
        total = self.complete + self.missing_required + self.minimal
        if abs(total - 1) > 1e-9:
            raise ValueError(f"the shares sum to {total:g}, not 1")
        return self


class Perturb(Section):
    """Probabilities of each perturbation of a workflow or clarification task."""

    distractors: Share = 0.4
    min_distractors: Count = 3
    max_distractors: Count = 8
    enum_stripping: Share = 0.3
    irrelevance: Share = 0.05
    missing_function: Share = 0.11
    """Ours: the share of clarification conversations in the paper's training set."""

    @model_validator(mode="after")
    def _in_order(self) -> Perturb:
        _ordered(self, "min_distractors", "max_distractors")
        return self


class Mix(Section):
    """What a set of tasks is made up of, exactly; both are scaled to `limit`."""

    kinds: dict[Kind, Natural] = Field(
        default={"workflow": 10_895, "clarification": 1_500, "abstention": 1_122}
    )
    """Tasks of each kind (paper, table 1)."""
    lengths: dict[int, Share] = Field(default={2: 0.35, 3: 0.35, 4: 0.2, 5: 0.1})
    """Share of each number of calls among the tasks that have any (the paper gives the range)."""
    abstentions: tuple[str, ...] = ()
    """Files of `provegym dataset import`, whose tasks take the places of abstentions first. Sets of
    tasks to evaluate on never hold them."""

    @model_validator(mode="after")
    def _something_is_wanted(self) -> Mix:
        if set(self.kinds) != set(get_args(Kind)):
            raise ValueError(f"kinds needs a number of each of {', '.join(get_args(Kind))}")
        if not sum(self.kinds.values()):
            raise ValueError("kinds has no number above 0; give one to some kind")
        if not all(n > 0 for n in self.lengths) or not sum(self.lengths.values()):
            raise ValueError("lengths needs the share of some number of calls, from 1 on")
        return self


class Synth(Section):
    """Tasks from live worlds. `limit` counts certified tasks."""

    limit: Annotated[int, Field(ge=1, le=MOST_TASKS)] = 400
    world_seeds: Annotated[int, Field(ge=1, le=MOST_TASKS)] = 40
    """How many worlds the tasks are spread over (ours)."""
    min_turns: Count = 2
    max_turns: Annotated[int, Field(ge=1, le=MOST_TURNS)] = 3
    min_chain: Count = 2
    max_chain: Annotated[int, Field(ge=1, le=MOST_TURNS)] = 5
    tools_per_task: Natural = 0
    """Most tools that a task shows, distractors included; 0 means whole servers."""
    max_prompt_tokens: Count = 12_384
    """Of the first prompt in training and evaluation, which leave longer tasks out; tasks are made
    without regard to it, for each policy counts its own tokens."""
    cross_server: Share = 0.4
    """Workflow tasks whose calls lead from one server to another, where there are two (ours)."""
    information: Information = Information()
    perturb: Perturb = Perturb()
    edges: Edges = "executed"
    """Chains follow the edges that types and execution show, those that `[teacher]` names (the
    paper's), or both."""
    mix: Mix | None = None
    """Exact numbers of tasks of each kind, length, server and information level; without it they
    are drawn one by one."""
    style: Style = "spoken"
    """How the offline teacher's users put their wishes (ours): two ways that share no wording but
    the tools' own phrases. A model that teaches words them itself."""
    engine: Annotated[Engine, Field(exclude=True)] = "local"
    """What computes: two processes, or a Ray cluster. It changes nothing about what comes out, so
    it is no part of a run's identity."""

    @model_validator(mode="after")
    def _in_order(self) -> Synth:
        _ordered(self, "min_turns", "max_turns")
        _ordered(self, "min_chain", "max_chain")
        return self

    @property
    def longest(self) -> int:
        """Most calls that `mix.lengths` may ask for: a chain for every turn, or six, which look-ups
        make of short chains. Of longer tasks hardly any come out (ours).
        """
        return max(6, self.max_turns * self.max_chain)

    @model_validator(mode="after")
    def _mix_can_be_made(self) -> Synth:
        if self.mix and min(self.mix.lengths) < max(2, self.min_turns):
            raise ValueError(f"mix.lengths begins below {max(2, self.min_turns)} calls")
        longest, most = max(self.mix.lengths, default=0) if self.mix else 0, self.longest
        if longest > most:
            raise ValueError(
                f"mix.lengths wants tasks of {longest} calls; {most} are the most that can be "
                f"counted on with max_turns = {self.max_turns} and max_chain = {self.max_chain}"
            )
        if self.mix and self.mix.kinds["clarification"] and not self.perturb.missing_function:
            raise ValueError(
                "mix wants clarification tasks; raise perturb.missing_function above 0"
            )
        return self


class Sft(Section):
    """Supervised fine-tuning on the ground truth (ours but for `epochs`)."""

    epochs: Positive = 3.0
    learning_rate: Positive = 2e-4
    batch_size: Count = 4
    warmup: Natural = 10
    lora_rank: Count = 16
    compare: bool = False
    """Also fine-tune the starting policy on the tasks that GRPO trains on, and evaluate that."""


class Grpo(Section):
    """Group-relative policy optimization; `beta` weighs the KL term, 0 leaves it out."""

    steps: Count = 350
    tasks: Natural = 0
    """Learn from the first so many tasks that fit the limits; 0 means all (ours)."""
    group_size: Group = 16
    demonstrations: Natural = 0
    """Of each group, the rollouts that follow the ground truth instead of being sampled, so that
    a group in which nothing is solved still has something to learn from (ours; the idea is that
    of LUFFY, arXiv 2504.14945)."""
    prompts_per_step: Count = 16
    learning_rate: Positive = 1e-6
    beta: Annotated[float, Field(ge=0)] = 0.01
    temperature: Positive = 1.0
    scale_rewards: Literal["group", "batch", "none"] = "group"
    """Advantages are divided by the standard deviation of the group or the whole step, or not."""
    max_completion_tokens: Count = 16_384
    """Of all that follows the prompt in one episode, tool results included."""
    max_reply_tokens: Count = 16_384
    """Of one assistant message (ours)."""
    max_result_tokens: Count = 16_384
    """Of one tool result; the rest is cut off (ours)."""
    max_steps: Count = 10
    """Assistant messages in one user turn."""
    train_layers: Natural = 0
    """Let only the adapters of this many top layers learn; 0 means all (ours)."""
    max_seconds: Annotated[float, Field(ge=0)] = 0.0
    """End at the first step that passes it; 0 means never (ours)."""
    resample: Natural = 0
    """How often groups that all earned the same, which teach nothing, are played anew with other
    tasks (ours; the dynamic sampling of DAPO, arXiv 2503.14476, with an end)."""
    curriculum: bool = False
    """Begin with the tasks of the fewest calls and add longer ones by and by (ours)."""
    preset: str = "paper"

    @model_validator(mode="after")
    def _something_is_sampled(self) -> Grpo:
        if self.demonstrations > self.group_size - 2:
            raise ValueError("demonstrations leaves fewer than two of group_size to be sampled")
        return self


class Eval(Section):
    """Held-out evaluation, greedy: how many tasks, how often each, and scored how (ours)."""

    tasks: Count = 200
    trials: Annotated[int, Field(ge=1, le=MOST_TRIALS)] = 1
    concurrency: AtOnce = 16
    preset: str = "strict"


class Prices(Section):
    """US dollars for a million tokens, from the price list of who runs the endpoint."""

    prompt: Annotated[float, Field(ge=0)] = 0.0
    completion: Annotated[float, Field(ge=0)] = 0.0
    cached: Annotated[float, Field(ge=0)] | None = None
    """Prompt tokens that the endpoint read from its own cache; as others, where not given."""


class Preset(Section):
    """A teacher that is known by a short name; its file says where the values come from."""

    launch: str
    """The command that serves it at http://127.0.0.1:8000/v1."""
    teacher: dict[str, Any]
    """Settings of a `Teacher`."""


def presets() -> list[str]:
    """The short names."""
    return sorted(path.stem for path in PRESETS.glob("*.toml"))


def preset(name: str) -> Preset:
    """The teacher of that short name. Raises `UnknownName`."""
    if name not in presets():
        raise UnknownName("teacher preset", name, presets())
    return Preset.model_validate(_read(PRESETS / f"{name}.toml"))


class Teacher(Section):
    """The language model that writes tasks, behind an endpoint of OpenAI's protocol (defaults are
    ours, but for `timeout` and `retries`, which are the `openai` client's).
    """

    preset: str = ""
    """The short name of a teacher: its model, its sampling and whether it thinks (filled in by
    `parse`); what else is set here wins."""
    model: str = ""
    """As the endpoint names it; empty means the offline teacher, which is none."""
    base_url: Annotated[str, AfterValidator(endpoint_url)] = ""
    """Empty means the variable OPENAI_BASE_URL, else OpenAI's own endpoint."""
    mode: Literal["tools", "json"] = "tools"
    """`json` describes the tools in the prompt, for endpoints without tool calls."""
    temperature: Annotated[float, Field(ge=0)] = 0.7
    max_tokens: Count = 4096
    """Of one answer, reasoning included."""
    extra: dict[str, Any] = Field(default={})
    """Further fields of each request, as they are: `top_p`, or vLLM's `chat_template_kwargs`."""
    timeout: Positive = 600.0
    """Seconds that one request may take."""
    concurrency: AtOnce = 256
    """Requests under way at once."""
    retries: Natural = 2
    """How often a request is made again that was sent and not answered (a time-out, a cut
    connection, a broken answer), or that fails while others are answered."""
    patience: Annotated[float, Field(ge=0)] = 600.0
    """Seconds for which an endpoint is waited for that is busy or not there."""
    prices: Prices = Prices()
    budget_usd: Annotated[float, Field(ge=0)] = 0.0
    """The most that all requests may cost, those in `cache` included; 0 sets no limit."""
    budget_tokens: Natural = 0
    """The most tokens that they may read and write; 0 sets no limit."""
    cache: str = ""
    """File of the answers; empty means one beside the tasks."""
    languages: Annotated[tuple[str, ...], Field(min_length=1)] = ("English",)
    """What users write in; each task takes one of them."""
    refresh_context: Count = 20
    """Tasks about one server for which users speak of the same sample of each world."""
    critique: bool = False
    """Let the model read each conversation that passed everything else, and reject it."""

    @model_validator(mode="after")
    def _money_has_prices(self) -> Teacher:
        if self.budget_usd and not (self.prices.prompt or self.prices.completion):
            raise ValueError("budget_usd needs prices (US dollars for a million tokens)")
        return self

    def identity(self) -> dict[str, Any]:
        """What shapes the answers. How the model is reached and paid for may change in a run."""
        shaping = {"model", "mode", "temperature", "max_tokens", "extra"}
        shaping |= {"languages", "refresh_context", "critique"}
        return self.model_dump(mode="json", include=shaping)


class RunConfig(Section):
    """A whole file. Only `[run]` is required."""

    run: Run
    teacher: Teacher = Teacher()
    synth: Synth = Synth()
    sft: Sft = Sft()
    grpo: Grpo = Grpo()
    eval: Eval = Eval()
    ablations: Ablations | None = None

    def identity(self) -> dict[str, Any]:
        """What shapes the run's files; two runs that differ in it may not share a folder."""
        settings = self.model_dump(mode="json", exclude={"teacher", "ablations"})
        settings |= {"ablations": self.ablations.identity()} if self.ablations else {}
        return settings | ({"teacher": self.teacher.identity()} if self.teacher.model else {})


def load(path: str | Path, overrides: Iterable[str] = ()) -> RunConfig:
    """Read a run's TOML, change it by overrides like `grpo.steps=20`, and check it whole.

    Raises `InputError` with one line: the file, the key's path, the value, what would be right.
    """
    return parse(told(path, overrides), str(path))


def told(path: str | Path, overrides: Iterable[str] = ()) -> dict[str, Any]:
    """A TOML file with overrides, not checked yet. Raises `InputError`."""
    settings = _read(Path(path))
    for override in overrides:
        _override(settings, override)
    return settings


def parse(settings: dict[str, Any], source: str) -> RunConfig:
    """Check settings that come from `source` (named in errors); a preset is filled in.

    Raises `InputError`.
    """
    return checked(RunConfig, _filled(settings), source)


def checked(kind: type[S], settings: dict[str, Any], source: str) -> S:
    """Settings of any kind, checked. Raises `InputError` as `load` does."""
    try:
        # From JSON, strict mode takes an array for a tuple and still no "3" for a 3.
        return kind.model_validate_json(json.dumps(settings, default=str))
    except ValidationError as error:
        raise InputError(f"{source}: {_explain(error, kind)}") from error


def _filled(settings: dict[str, Any]) -> dict[str, Any]:
    """The same with the values of the teacher's preset where no others are told."""
    told = settings.get("teacher")
    name = told.get("preset") if isinstance(told, dict) else None
    if not told or not name or not isinstance(name, str):
        return settings
    return {**settings, "teacher": {**preset(name).teacher, **told}}


def changed(teacher: Teacher, changes: dict[str, Any]) -> Teacher:
    """The same with some settings changed, checked anew. Raises `InputError`."""
    settings = teacher.model_dump(mode="json") | changes
    whole = {"run": {"name": "options", "servers": ["any"]}, "teacher": settings}
    return parse(whole, "the options").teacher


def changed_run(config: RunConfig, changes: Iterable[str]) -> RunConfig:
    """One training of its own: the same without ablations and with overrides like
    `grpo.steps=20`, checked anew. Raises `InputError`.
    """
    settings = config.model_dump(mode="json", exclude={"ablations"})
    for change in changes:
        _override(settings, change)
    return parse(settings, config.run.name)


def _read(path: Path) -> dict[str, Any]:
    package = Path(__file__).parent  # in an installation `configs/` lies in it, else beside it
    places = (path, package / path, package.parent / path)
    text = read_whole(next(filter(Path.exists, places), path))
    try:
        return tomllib.loads(text.decode("utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise InputError(f"{path} is not TOML: {error}") from error


def _override(settings: dict[str, Any], override: str) -> None:
    key, equals, text = override.partition("=")
    *tables, name = key.strip().split(".")
    if not equals or not name or not all(tables):
        raise InputError(f"{override!r} is not an override; write it like grpo.steps=20")
    for table in tables:
        settings = settings.setdefault(table, {})
        if not isinstance(settings, dict):
            raise InputError(f"{override!r} is not an override: {table} is not a table")
    settings[name] = _value(text.strip())


def _value(text: str) -> object:
    """A TOML value; text that is none (a bare word or a path) is a string."""
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return text


def _explain(error: ValidationError, kind: type[Section]) -> str:
    found = error.errors(include_url=False)
    # A key that is no setting comes first: it is often the cause of what is missing.
    first, *others = sorted(found, key=lambda e: e["type"] != "extra_forbidden")
    path = ".".join(map(str, first["loc"]))
    more = f" (and {len(others)} more)" if others else ""
    if first["type"] == "extra_forbidden":
        return f"{path} is not a setting{_hint(first['loc'], kind)}{more}"
    if first["type"] == "missing":
        return f"{path} is missing{more}"
    if first["type"] == "too_short":
        return f"{path} is empty; give at least {first['ctx']['min_length']}{more}"
    reason = first["msg"].removeprefix("Value error, ")
    if first["type"] != "value_error":
        _, should, wanted = reason.rpartition("should ")  # "Input should be ..."
        reason = f"{path} is {seen(first['input'])}{', ' if should else ': '}{should}{wanted}"
    elif path:
        reason = f"{path}: {reason}"
    return f"{reason}{more}"


def _hint(location: tuple[int | str, ...], root: type[Section]) -> str:
    """The nearest known key, or all of them where none is near."""
    *tables, name = location
    section: Any = root
    for table in tables:
        kind = section.model_fields[str(table)].annotation
        section = next((x for x in (kind, *get_args(kind)) if hasattr(x, "model_fields")), root)
    known = list(section.model_fields)
    near = difflib.get_close_matches(str(name), known, n=1)
    return f"; did you mean {near[0]}?" if near else f"; known: {', '.join(known)}"
