"""Exact numbers of tasks of each kind, server, information level and length."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from provegym.config import Information, Mix, Perturb, Synth
from provegym.dataset.stats import stats
from provegym.graph.edges import Graph
from provegym.records import read
from provegym.synth.make import Plan, Rejection
from provegym.synth.pipeline import synthesize
from provegym.synth.quota import Queue, parted, places
from provegym.types import Task

PAPER = Synth(limit=13517, mix=Mix())


@given(st.integers(0, 5000), st.lists(st.floats(0, 1), min_size=1, max_size=8))
def test_parts_sum_to_the_whole_and_are_less_than_one_off(total: int, shares: list[float]) -> None:
    shares[0] += 0.1
    found = parted(total, dict(enumerate(shares)))
    assert sum(found.values()) == total
    for i, share in enumerate(shares):
        assert abs(found[i] - total * share / sum(shares)) < 1 + 1e-6


def test_the_papers_mix_comes_out_to_the_task() -> None:
    found = places(PAPER, seed=1) or []
    assert Counter(p.kind for p in found) == {
        "workflow": 10895,
        "clarification": 1500,
        "abstention": 1122,
    }
    active = [p for p in found if p.kind != "abstention"]
    levels = Counter(p.information for p in active)
    assert levels == {"complete": 7437, "missing_required": 2479, "minimal": 2479}
    # Shares of 12,395: 4338.25, 4338.25, 2479 and 1239.5.
    assert Counter(p.calls for p in active) == {2: 4338, 3: 4338, 4: 2479, 5: 1240}


def test_clarifications_lack_a_tool_or_a_value_in_the_proportion_of_their_shares() -> None:
    waiting = [p for p in places(PAPER, seed=1) or [] if p.kind == "clarification"]
    hidden = [p for p in waiting if p.missing]
    assert len(hidden) == round(1500 * 0.11 / (0.11 + 0.2))
    assert {p.information for p in hidden} == {"complete", "minimal"}
    assert {p.information for p in waiting if not p.missing} == {"missing_required"}


def test_places_depend_on_the_seed_alone() -> None:
    assert places(PAPER, seed=1) == places(PAPER, seed=1) != places(PAPER, seed=2)
    assert places(Synth(limit=10), seed=1) is None


def test_where_no_value_may_be_lacking_all_that_wait_lack_a_tool() -> None:
    told = Information(complete=1.0, missing_required=0.0, minimal=0.0)
    mix = Mix(kinds={"workflow": 1, "clarification": 1, "abstention": 0})
    found = places(Synth(limit=10, information=told, mix=mix), seed=1) or []
    assert sorted({(p.kind, p.missing) for p in found}) == [
        ("clarification", True),
        ("workflow", False),
    ]


def test_a_place_that_is_left_goes_to_a_candidate_behind_the_last_place() -> None:
    queue = Queue(3, rejected=[1])
    assert [queue.place(i) for i in range(queue.known)] == [0, 1, 2, 1]
    queue.leave(3)
    assert [queue.place(i) for i in range(queue.known)] == [0, 1, 2, 1, 1]
    queue = Queue(3, rejected=[4, 3, 1])
    assert queue.place(5) == 1


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"mix": {"kinds": {"workflow": 1}}}, "kinds needs a number of each"),
        ({"mix": {"lengths": {1: 1.0}}}, "begins below 2 calls"),
        ({"min_turns": 3, "mix": {"lengths": {2: 1.0}}}, "begins below 3 calls"),
        ({"mix": {"lengths": {99: 1.0}}}, "wants tasks of 99 calls; 15 are the most that can be"),
        ({"max_chain": 2, "mix": {"lengths": {7: 1.0}}}, "wants tasks of 7 calls; 6 are the most"),
        ({"mix": {}, "perturb": {"missing_function": 0.0}}, "raise perturb.missing_function"),
    ],
)
def test_a_mix_that_cannot_be_made_is_refused(settings: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Synth.model_validate(settings)


NAMES = ("banking", "calendar", "filesystem", "shopping")
PLAN = Plan(seed=7, servers=NAMES, others=NAMES)
SMALL = Synth(
    limit=90,
    world_seeds=6,
    tools_per_task=10,
    perturb=Perturb(irrelevance=0.2),
    mix=Mix(kinds={"workflow": 8, "clarification": 1, "abstention": 1}),
)


@pytest.fixture(scope="module")
def tasks(tmp_path_factory: pytest.TempPathFactory, graph: Graph) -> Path:
    out = tmp_path_factory.mktemp("mix") / "tasks.jsonl"
    synthesize(PLAN, SMALL, graph, out)
    return out


def test_a_set_of_tasks_holds_what_its_mix_says(tasks: Path) -> None:
    found = stats(tasks)
    assert found.kinds == {"workflow": 72, "clarification": 9, "abstention": 9}
    # Of 81 tasks with calls: 48.6, 16.2 and 16.2; 28.35, 28.35, 16.2 and 8.1.
    assert found.information == {"complete": 49, "minimal": 16, "missing_required": 16}
    assert found.calls == {0: 9, 2: 29, 3: 28, 4: 16, 5: 8}
    assert sorted(found.servers.values()) == [22, 22, 23, 23]


def test_a_place_whose_candidate_was_rejected_is_filled_by_another(
    tmp_path: Path, graph: Graph
) -> None:
    one = Plan(seed=7, servers=("banking",), others=("banking",))
    settings = SMALL.model_copy(update={"world_seeds": 2})
    synthesize(one, settings, graph, tmp_path / "tasks.jsonl")
    assert list(read(tmp_path / "rejections.jsonl", Rejection))
    found = stats(tmp_path / "tasks.jsonl")
    assert found.kinds == {"workflow": 72, "clarification": 9, "abstention": 9}
    assert found.information == {"complete": 49, "minimal": 16, "missing_required": 16}
    assert found.calls == {0: 9, 2: 29, 3: 28, 4: 16, 5: 8}


def test_a_workflow_that_lacks_a_value_begins_with_what_can_be_done(tasks: Path) -> None:
    partly = [
        t for t in read(tasks, Task) if t.kind == "workflow" and t.information == "missing_required"
    ]
    assert len(partly) == 16 - 6
    for task in partly:
        first, second = task.turns[:2]
        assert first.calls
        assert second.calls
        assert first.reply.startswith("Which ")
