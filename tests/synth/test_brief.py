"""What is the same whoever words a candidate: its servers' kin, its cuts, its last wish."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from provegym import servers
from provegym.config import Synth
from provegym.synth.agenda import Writer
from provegym.synth.brief import AKIN, REASONS, Brief, akin
from provegym.synth.draft import Draft, Shape
from provegym.synth.offline import Drafter, Rejected

NAMES = ("shopping", "marketplace", "retail_chain", "banking", "calendar")
ABSTAINS = Shape("abstention", 2, distractors=8)


def brief(
    shape: Shape, i: int = 0, home: str = "shopping", names: tuple[str, ...] = NAMES
) -> Brief:
    others = [servers.load(name) for name in names if name != home]
    return Brief(servers.world(7, (home,)), others, Synth(), shape, Random(i), lambda k: ())


def owners(draft: Draft) -> set[str]:
    """The servers whose tools are shown."""
    return {n for n in servers.SERVERS if {*draft.offered} & servers.load(n).tools.keys()}


def test_a_server_is_of_one_kind_at_most_and_akin_to_itself() -> None:
    named = [name for group in AKIN for name in group]
    assert set(named) <= servers.SERVERS.keys()
    assert len(named) == len(set(named))
    assert akin("filesystem") == {"filesystem"}
    assert akin("shopping") == akin("marketplace") == {"shopping", "marketplace", "retail_chain"}


def test_a_wish_in_vain_is_for_no_server_that_ours_may_be_taken_for() -> None:
    drawn = brief(Shape("abstention", 2, irrelevant=True))
    assert {server.name for server in drawn.strangers} == {"banking", "calendar"}
    for i in range(12):
        agenda = Writer(brief(drawn.shape, i)).agenda()
        assert {item.server for item in agenda.items} <= {"banking", "calendar"}
    only_akin = brief(Shape("workflow", 2, irrelevant=True), names=("shopping", "marketplace"))
    with pytest.raises(Rejected, match="no_other_server"):
        Writer(only_akin)._irrelevant()


def test_what_is_hidden_is_not_on_offer_under_another_name() -> None:
    shown = [owners(Drafter(brief(ABSTAINS, i)).draft()) for i in range(12)]
    assert {"banking", "calendar"} <= set().union(*shown)
    assert not {"marketplace", "retail_chain"} & set().union(*shown)
    agenda = Writer(brief(ABSTAINS)).agenda()
    assert agenda.away == {"shopping", "marketplace", "retail_chain"}


@given(st.integers(1, 4), st.integers(0, 6), st.integers(0, 99))
def test_a_cut_keeps_the_order_and_leaves_no_turn_empty(turns: int, more: int, i: int) -> None:
    items = list(range(turns + more))
    parts = brief(Shape("workflow", turns), i).parted(items)
    assert [x for part in parts for x in part] == items
    assert len(parts) == turns
    assert all(parts)


def test_reasons_are_those_aimed_at_or_a_few_of_all() -> None:
    drawn = brief(ABSTAINS)
    declared = {code for tool in drawn.server.tools.values() for code in tool.refuses}
    found = drawn.codes()
    assert len(found) == len(set(found)) == REASONS
    assert set(found) <= declared
    assert replace(drawn, aims=("in_use",)).codes() == ["in_use"] * 12


def test_many_tasks_aim_with_fewer_tries_each() -> None:
    aiming = replace(brief(ABSTAINS), aims=("in_use",))
    for limit, tries in ((5_000, 12), (13_517, 4), (1_000_000, 1)):
        many = replace(aiming, settings=aiming.settings.model_copy(update={"limit": limit}))
        assert many.codes() == ["in_use"] * tries


def test_a_wish_that_a_given_length_counts_on_takes_any_reason_in_the_end() -> None:
    long = replace(brief(Shape("workflow", 2, calls=4)), aims=("in_use",))
    found = long.codes()
    assert found[:12] == ["in_use"] * 12
    assert len(set(found[12:])) == REASONS


def test_only_a_turn_to_spare_is_given_up() -> None:
    full, spare = Shape("workflow", 3), Shape("workflow", 2)
    assert not any(brief(full, i).gives_up() for i in range(40))
    assert {brief(spare, i).gives_up() for i in range(40)} == {True, False}
