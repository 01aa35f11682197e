"""Splits: which tasks go where, and that nothing leaks."""

from __future__ import annotations

from collections import Counter
from itertools import combinations
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from provegym.dataset.dedupe import shingles
from provegym.dataset.split import HELDOUT, Origin, assign, joined, origin, shares
from provegym.errors import InputError
from provegym.types import Function, GroundCall, Task, Tool, Turn

BANK = frozenset({"bank"})
OWNERS = {"pay": "bank", "buy": "shop", "drive": "car", "fly": "plane"}


def tools(*names: str) -> tuple[Tool, ...]:
    return tuple(Tool(Function(name)) for name in names)


def of(sizes: dict[int, int]) -> list[Origin]:
    """So many tasks by world seed, mixed up."""
    found = [Origin(str(seed), BANK) for seed, count in sizes.items() for _ in range(count)]
    Random(1).shuffle(found)
    return found


def test_a_task_touches_servers_that_it_names_shows_or_calls() -> None:
    turns = (Turn("a"), Turn("b", (GroundCall("g0", "drive", {}),), tools=tools("fly")))
    task = Task("a", "workflow", turns, ("bank",), seed=3, tools=tools("buy", "unknown"))
    assert origin(task, OWNERS) == Origin("3", frozenset({"bank", "shop", "car", "plane"}))


def test_a_task_without_servers_is_a_world_of_its_own() -> None:
    one, other = (Task(name, "abstention", (Turn(name),)) for name in "ab")
    assert origin(one, OWNERS).world != origin(other, OWNERS).world
    assert origin(one, OWNERS) == origin(one, OWNERS)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("train=1", {"train": 1.0}),
        ("train=0.9,validation=0.1", {"train": 0.9, "validation": 0.1}),
        (" a = .5 , b = .3, c=0.2", {"a": 0.5, "b": 0.3, "c": 0.2}),
    ],
)
def test_shares_are_read(text: str, found: dict[str, float]) -> None:
    assert shares(text) == found


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "'' in '' is not the share of a split"),
        ("train", "'train' in 'train' is not"),
        ("train=0.9,validation", "'validation' in"),
        ("train=0.9,train=0.1", "'train=0.1' in"),
        ("train=nan,a=1", "'train=nan' in"),
        ("train=1,a=0", "'a=0' in"),
        ("train=-1,a=2", "'train=-1' in"),
        ("../train=1", "'../train=1' in"),
        ("heldout=1", "the split of --heldout-server"),
        ("train=0.9,validation=0.2", "sum to 1.1, not 1"),
        ("train=1e400", "'train=1e400' in"),
    ],
)
def test_other_shares_are_refused(text: str, told: str) -> None:
    with pytest.raises(InputError, match=told):
        shares(text)


SIZES = st.dictionaries(st.integers(0, 10**9), st.integers(1, 9), min_size=2, max_size=8)


@given(SIZES, st.floats(0.05, 0.5))
def test_no_division_of_whole_worlds_meets_the_share_better(
    sizes: dict[int, int], share: float
) -> None:
    origins = of(sizes)
    names = assign(origins, {"train": 1 - share, "validation": share})
    homes = {(o.world, name) for o, name in zip(origins, names, strict=True)}
    assert len(homes) == len(sizes)  # a world is in one split
    target = share * len(origins)
    chosen = [c for n in range(1, len(sizes)) for c in combinations(sizes.values(), n)]
    best = min(abs(sum(c) - target) for c in chosen)
    assert abs(names.count("validation") - target) <= best + 1e-9


def test_three_shares_of_equal_worlds_are_met_exactly() -> None:
    names = assign(of(dict.fromkeys(range(40), 5)), {"train": 0.8, "a": 0.15, "b": 0.05})
    assert Counter(names) == {"train": 160, "a": 30, "b": 10}


@given(SIZES, st.randoms())
def test_the_split_of_a_world_hangs_on_no_order(sizes: dict[int, int], rnd: Random) -> None:
    origins = of(sizes)
    wanted = {"train": 0.6, "test": 0.4}
    found = dict(zip(origins, assign(origins, wanted), strict=True))
    rnd.shuffle(origins)
    again = dict(zip(origins, assign(origins, dict(reversed(wanted.items()))), strict=True))
    assert again == found


def test_seeds_in_a_row_are_spread() -> None:
    origins = of(dict.fromkeys(range(100), 1))
    names = assign(origins, {"train": 0.5, "test": 0.5})
    by_seed = dict(zip([o.world for o in origins], names, strict=True))
    firsts = [by_seed[str(seed)] for seed in range(50)].count("train")
    assert 10 < firsts < 40  # by chance it is outside once in a million


def test_a_held_out_server_is_in_no_other_split() -> None:
    origins = [
        Origin(str(seed), frozenset({"bank", other} if other else {"bank"}))
        for seed in range(20)
        for other in ("", "shop", "car")
    ]
    names = assign(origins, {"train": 0.75, "test": 0.25}, ["shop"])
    pairs = list(zip(origins, names, strict=True))
    assert all(("shop" in o.servers) == (name == HELDOUT) for o, name in pairs)
    assert Counter(names) == {HELDOUT: 20, "train": 30, "test": 10}
    seeds = {s: {o.world for o, name in pairs if name == s} for s in ("train", "test")}
    assert not seeds["train"] & seeds["test"]


@pytest.mark.parametrize(
    ("sizes", "wanted", "heldout", "empty"),
    [
        ({1: 9}, {"train": 0.9, "validation": 0.1}, [], "'train'"),
        ({1: 9, 2: 9}, {"a": 0.5, "b": 0.3, "c": 0.2}, [], "'a'"),
        ({1: 9}, {"train": 1.0}, ["shop"], "'heldout'"),
        ({1: 9}, {"train": 1.0}, ["bank"], "'train'"),
    ],
)
def test_a_split_without_a_task_is_refused(
    sizes: dict[int, int], wanted: dict[str, float], heldout: list[str], empty: str
) -> None:
    with pytest.raises(InputError, match=f"no task is left for split {empty}"):
        assign(of(sizes), wanted, heldout)


def test_many_worlds_are_divided_in_no_time() -> None:
    origins = of(dict.fromkeys(range(2_000), 7))
    names = assign(origins, {"train": 0.9, "validation": 0.05, "test": 0.05})
    assert Counter(names) == {"train": 12_600, "validation": 700, "test": 700}


LONG = "please tell me how warm it is going to be in the old town of the capital on sunday {}"


def questions(*texts: str) -> list[Origin]:
    """Origins of tasks without servers that ask this, and one of a world in front."""
    asked = [Task(f"t{i}", "abstention", (Turn(text),)) for i, text in enumerate(texts)]
    said = {i: shingles(task) for i, task in enumerate(asked, 1)}
    return joined([Origin("7", BANK), *(origin(task, OWNERS) for task in asked)], said)


def test_alike_questions_without_a_world_stay_together_and_others_do_not() -> None:
    found = questions(LONG.format("morning"), "Which way is north?", LONG.format("evening"))
    assert [o.world == "7" for o in found] == [True, False, False, False]
    _, morning, north, evening = found
    assert morning.world == evening.world != north.world


def test_questions_that_are_alike_by_way_of_a_third_stay_together_too() -> None:
    # Runs of three of w0 to w29: one end shares 24 of 28 + 4 with the middle, 20 of 36 with the
    # other end; the middle comes last.
    words = [f"w{i}" for i in range(38)]
    ends = " ".join(words[:30]), " ".join(words[8:38])
    assert len({o.world for o in questions(*ends)}) == 3
    middle = " ".join(words[4:34])
    assert len({o.world for o in questions(*ends, middle)}) == 2
    assert len({o.world for o in questions("Hello there", *ends, "Go", middle)}) == 4
