"""`[run]`, and the whole file of a run's settings."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

from pydantic import Field, model_validator

from provegym.config.ablations import Ablations
from provegym.config.section import Name, Section, Seed
from provegym.config.synthesis import Synth
from provegym.config.teacher import Teacher
from provegym.config.training import Eval, Grpo, Sft

Policy = Literal["smollm2", "tiny"]
"""`smollm2`: SmolLM2-135M-Instruct, dequantized from Q4, with LoRA; `tiny`: random, for tests."""


class Run(Section):
    """What is run, on which worlds, and where its files go."""

    name: Name
    seed: Seed = 0
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
        """What shapes the run's files; two runs that differ in it may not share a folder, which may
        be moved.
        """
        settings = self.model_dump(mode="json", exclude={"teacher", "ablations"})
        del settings["run"]["out"]
        settings |= {"ablations": self.ablations.identity()} if self.ablations else {}
        return settings | ({"teacher": self.teacher.identity()} if self.teacher.model else {})
