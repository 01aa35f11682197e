"""`[ablations]`: which cells are trained, by which small policies, how often."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from provegym.config.section import Count, Positive, Section

Cell = Literal[
    "full",
    "-validity",
    "-coverage",
    "-efficiency",
    "-name",
    "-argument",
    "beta0",
    "strict",
    "sft",
    "sft-grpo",
    "data-25",
    "teacher-2",
]
"""One way to train. `full` is GRPO by the paper's reward on all of the data (its 100 %); `-...`,
`beta0` and `strict` change the reward; `sft` fine-tunes on the same data, `sft-grpo` goes on by
GRPO; `data-25` has the first quarter of the data; `teacher-2` data that another teacher worded."""


class Arm(Section):
    """One policy: its cells, and how often each is trained."""

    cells: Annotated[tuple[Cell, ...], Field(min_length=1)]
    seeds: Annotated[int, Field(ge=1, le=1000)]
    """Each cell is trained with the seeds 1, 2, ... up to this number; other starting weights,
    order of tasks and rollouts, on the same tasks."""
    change: tuple[str, ...] = ()
    """Settings of the run that are others for this policy, like `grpo.steps=20`."""

    @model_validator(mode="after")
    def _has_something_to_compare_with(self) -> Arm:
        if "full" not in self.cells:
            raise ValueError("cells lacks full, which all others are compared with")
        if len(set(self.cells)) < len(self.cells):
            raise ValueError("cells names one twice")
        return self


class Ablations(Section):
    """The cells of each policy. Without a policy of its own to start from (`run.start`), `tiny` is
    taught the form of calls on `warm_tasks` tasks of worlds that nothing else uses (ours).
    """

    warm_tasks: Count = 400
    warm_epochs: Positive = 3.0
    tiny: Arm | None = None
    smollm2: Arm | None = None

    @model_validator(mode="after")
    def _something_is_trained(self) -> Ablations:
        if not (self.tiny or self.smollm2):
            raise ValueError("names no policy; give it a table ablations.tiny or ablations.smollm2")
        return self

    def identity(self) -> dict[str, Any]:
        """What shapes each training. Cells and seeds may be added to a run."""
        arms = {"cells", "seeds"}
        return self.model_dump(mode="json", exclude={"tiny": arms, "smollm2": arms})
