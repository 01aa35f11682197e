"""The cells: what each changes about a training, and the settings that come of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from msgspec import Struct

from provegym.config import RunConfig, changed_run
from provegym.config.ablations import Arm
from provegym.errors import InputError, UnknownName

BASE = "base"
"""The policy that all cells of a seed start from."""
STARTS = {"tiny": "", "smollm2": "shipped"}
"""`run.start` of each policy; "" teaches it the form of calls on tasks of its own."""


class Recipe(Struct, frozen=True):
    """How a cell is trained."""

    preset: str = "paper"
    """The reward of GRPO."""
    sft: bool = False
    grpo: bool = True
    data: float = 1.0
    """Share of the training tasks, the first ones."""
    tasks: str = "train"
    """Folder of the training tasks."""


RECIPES: dict[str, Recipe] = {
    "full": Recipe(),
    "-validity": Recipe("-validity"),
    "-coverage": Recipe("-coverage"),
    "-efficiency": Recipe("-efficiency"),
    "-name": Recipe("-name"),
    "-argument": Recipe("-argument"),
    "beta0": Recipe("beta0"),
    "strict": Recipe("strict"),
    "sft": Recipe(sft=True, grpo=False),
    "sft-grpo": Recipe(sft=True),
    "data-25": Recipe(data=0.25),
    "teacher-2": Recipe(tasks="train-written"),
}


class Place(Struct, frozen=True):
    """One training of one cell, and its folder under the run's."""

    policy: str
    cell: str
    seed: int

    @property
    def path(self) -> Path:
        """`tiny/full/1`."""
        return Path(self.policy, self.cell, str(self.seed))

    def named(self, name: str) -> bool:
        """Whether `name` is this place, or the start of its path: `tiny`, `tiny/full`."""
        wanted = name.strip("/").split("/")
        return list(self.path.parts[: len(wanted)]) == wanted


def arms(config: RunConfig) -> dict[str, Arm]:
    """The policies that are trained. Raises `InputError` for a config without ablations."""
    if config.ablations is None:
        raise InputError(f"{config.run.name} has no [ablations], so it has no cells")
    both = {"tiny": config.ablations.tiny, "smollm2": config.ablations.smollm2}
    return {policy: arm for policy, arm in both.items() if arm}


def places(config: RunConfig, only: Sequence[str] = ()) -> list[Place]:
    """What is to be trained, seed by seed, so that what is done early is balanced.

    Raises `UnknownName` for a name in `only` that no place has.
    """
    everything = list(_all(config))
    known = [str(place.path) for place in everything]
    for name in only:
        if not any(place.named(name) for place in everything):
            raise UnknownName("cell", name, known)
    return [p for p in everything if not only or any(map(p.named, only))]


def _all(config: RunConfig) -> Iterator[Place]:
    for policy, arm in arms(config).items():
        for seed in range(1, arm.seeds + 1):
            yield from (Place(policy, cell, seed) for cell in (BASE, *arm.cells))


def settings(config: RunConfig, place: Place) -> RunConfig:
    """The settings of one training: those of the run, changed for its policy and its cell."""
    arm, told = arms(config)[place.policy], config.ablations
    recipe = RECIPES.get(place.cell, Recipe())
    changes = [
        f"run.policy={place.policy}",
        f"run.start={STARTS[place.policy]!r}",
        f"run.seed={place.seed}",
        f"grpo.preset={recipe.preset!r}",
        *arm.change,
        f"run.out={str(config.run.folder / place.path)!r}",
    ]
    if place.cell == BASE and told:
        changes.append(f"sft.epochs={told.warm_epochs}")
    return changed_run(config, changes)
