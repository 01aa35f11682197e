"""`[synth]`: how many tasks, of which kinds, how hard, and how they are disturbed."""

from __future__ import annotations

from typing import Annotated, Literal, get_args

from pydantic import Field, model_validator

from provegym.config.section import Count, Natural, Section, Share, see_ordered
from provegym.types import MOST_TASKS, Kind

MOST_TURNS = 100
"""Of one task, and calls of one chain (ours, too)."""
Edges = Literal["executed", "llm", "union"]
Engine = Literal["local", "ray"]
Style = Literal["spoken", "written"]


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
        see_ordered(self, "min_distractors", "max_distractors")
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
        see_ordered(self, "min_turns", "max_turns")
        see_ordered(self, "min_chain", "max_chain")
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
