"""The settings of a run through verl: one TOML file, checked whole before anything starts.

Defaults are the paper's (arXiv 2606.03892, section 4) wherever it gives a number, and marked
*ours* where it does not.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

from pydantic import AfterValidator, Field, model_validator

from provegym import config
from provegym.config.section import (
    Count,
    Group,
    Name,
    Natural,
    Positive,
    Rate,
    Section,
    Seed,
    Steps,
)
from provegym.errors import InputError
from provegym.rewards import presets

Calls = Literal["hermes", "granite"]
Device = Literal["cuda", "cpu"]


def _gateway_url(text: str) -> str:
    """The address of a gateway as it is. Raises ValueError for none."""
    return config.endpoint_url(text, "http://127.0.0.1:8765")


def _override(text: str) -> str:
    """A setting as Hydra's command line takes it. Raises ValueError for another text."""
    if not re.fullmatch(r"~[\w./@-]+(=.*)?|\+{0,2}[\w./@-]+=.*", text, re.DOTALL):
        raise ValueError(f"{text!r} is no setting; write it like trainer.total_epochs=2")
    return text


def _named(arguments: dict[str, Any]) -> dict[str, Any]:
    """The same. Raises ValueError for a key, however deep, that Hydra's grammar has no form of."""
    for key, value in arguments.items():
        if not re.fullmatch(r"[A-Za-z_][\w-]*", key, re.ASCII):
            raise ValueError(f"{key!r} is no name of a template's argument")
        for inner in value if isinstance(value, list) else [value]:
            if isinstance(inner, dict):
                _named(inner)
    return arguments


class Run(Section):
    """What is learnt from, and where the run's files go."""

    name: Name
    tasks: str = "tasks.jsonl"
    validation: str = ""
    """Tasks that are played without learning from them; empty means none."""
    out: str = ""
    """Folder of the run's files; empty means runs/NAME."""
    seed: Seed = 0

    @property
    def folder(self) -> Path:
        """The folder all files of the run lie in."""
        return Path(self.out or f"runs/{self.name}")


class Model(Section):
    """The policy that training starts from."""

    path: str
    """A folder, or a name on the Hugging Face hub."""
    calls: Calls = "hermes"
    """How its messages write calls: `hermes` for Qwen, `granite` for Granite."""
    template: Annotated[dict[str, Any], AfterValidator(_named)] = Field(default_factory=dict)
    """Further arguments of its chat template, such as `enable_thinking`."""
    lora_rank: Natural = 0
    """0 trains all weights (the paper's way)."""
    lora_alpha: Count = 32
    """Ours."""


def _known(preset: str) -> str:
    """The preset's name. Raises ValueError for one that does not exist."""
    try:
        presets.preset(preset)
    except InputError as error:
        raise ValueError(str(error)) from error
    return preset


class Grpo(Section):
    """Group-relative policy optimization over live episodes."""

    steps: Steps = 350
    prompts_per_step: Count = 16
    group_size: Group = 16
    learning_rate: Rate
    """One for each model in the paper."""
    kl: Annotated[float, Field(ge=0)] = 0.01
    """Weight of the KL term to the starting policy; 0 leaves it out."""
    temperature: Positive = 1.0
    """Ours."""
    preset: Annotated[str, AfterValidator(_known)] = "paper"
    max_prompt_tokens: Count = 12_384
    """Of the system prompt with the tools and the first user turn; longer tasks are left out."""
    max_response_tokens: Count = 16_384
    """Of all that follows it in one episode, tool results included."""
    max_user_turns: Count = 5
    """Tasks with more are left out."""
    max_assistant_turns: Count = 10
    """Assistant messages in one episode."""
    resample: bool = False
    """Play other tasks in place of groups whose episodes all earned the same (off in the paper)."""
    curriculum: bool = False
    """Begin with tasks of few calls, and add longer ones by and by (off in the paper)."""
    max_result_chars: Count = 65_536
    """Of one tool result; the rest is cut off (ours: about what a response can hold at all)."""
    save_every: Count = 10
    """Steps between two checkpoints (ours)."""
    validate_every: Natural = 0
    """Steps between two validations; 0 means none (ours)."""


class Machine(Section):
    """What computes (ours, but for `gpus` and `tensor_parallel`)."""

    device: Device = "cuda"
    """`cpu` is for trying things out with a tiny model: same trainer, no vLLM."""
    gpus: Count = 8
    """On each node."""
    nodes: Count = 1
    tensor_parallel: Count = 2
    """GPUs that share one vLLM server."""
    server_memory: Rate = 0.6
    """Of each GPU, the share that vLLM takes while episodes are played."""
    offload: bool = False
    """Keep weights and optimizer in the host's memory while episodes are played."""
    sequence_parallel: Count = 2
    """GPUs that share one sequence while its gradient is computed (Ulysses)."""
    tokens_per_gpu: Count = 16_384
    """Tokens of one forward and backward pass."""
    workers: config.AtOnce = 8
    """Processes that play episodes; sessions live in them."""
    hydra: tuple[Annotated[str, AfterValidator(_override)], ...] = ()
    """Further settings of verl as its command takes them; they win over all others."""


class Sessions(Section):
    """Where episodes find their worlds."""

    url: Annotated[str, AfterValidator(_gateway_url)] = ""
    """A gateway or fleet, whose token is in PROVEGYM_TOKEN; empty means in the workers."""


class Source(NamedTuple):
    """A file of tasks: the split that is made of it, the setting that names it, and the fewest
    tasks that it must hold.
    """

    split: str
    setting: str
    path: str
    least: int


class Settings(Section):
    """A whole file."""

    run: Run
    model: Model
    grpo: Grpo
    machine: Machine = Machine()
    sessions: Sessions = Sessions()

    @model_validator(mode="after")
    def _a_whole_episode_fits_a_pass(self) -> Settings:
        longest = self.grpo.max_prompt_tokens + self.grpo.max_response_tokens
        room = self.machine.tokens_per_gpu * self.machine.sequence_parallel
        if longest > room:
            raise ValueError(
                f"an episode may have {longest} tokens, machine.tokens_per_gpu times "
                f"sequence_parallel is {room}; raise one of them, or lower grpo's limits"
            )
        return self

    def sources(self) -> list[Source]:
        """The files of tasks."""
        train = Source("train", "run.tasks", self.run.tasks, self.grpo.prompts_per_step)
        played = Source("validation", "run.validation", self.run.validation, 1)
        return [train, played] if played.path else [train]

    def identity(self) -> dict[str, Any]:
        """What shapes the policy; where and how fast it is computed may change in a run."""
        shaping = self.model_dump(mode="json", include={"run", "model", "grpo"})
        free = _FREE - ({"steps"} if self.grpo.curriculum else set())
        shaping["grpo"] = {k: v for k, v in shaping["grpo"].items() if k not in free}
        shaping["run"] = {"seed": self.run.seed}
        return shaping


_FREE = {"steps", "save_every", "validate_every"}
"""A run may be made longer, unless a curriculum divides its steps."""


def load(path: str | Path, overrides: Iterable[str] = ()) -> Settings:
    """Read a TOML file, change it by overrides like `machine.gpus=4`, and check it whole.

    Raises `InputError` with one line: the file, the key's path, the value, what would be right.
    """
    return config.checked(Settings, config.told(path, overrides), str(path))
