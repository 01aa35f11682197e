"""Ids that a task keeps from run to run."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from provegym.dataset.content import content_id
from provegym.types import Certificate, GroundCall, Task, Turn

CALL = GroundCall("g0", "pay", {"to": "Zoë", "amount": 2})
TASK = Task("a", "workflow", (Turn("Pay Zoë 2", (CALL,), "Done."),), ("bank",), seed=7)


def test_a_task_from_another_run_or_teacher_has_the_same_id() -> None:
    again = replace(TASK, id="b", teacher="openai:m", certificate=Certificate(True, "d"))
    assert content_id(again) == content_id(TASK)


def test_the_order_of_arguments_is_no_content() -> None:
    turned = replace(CALL, arguments={"amount": 2, "to": "Zoë"})
    same = replace(TASK, turns=(replace(TASK.turns[0], calls=(turned,)),))
    assert content_id(same) == content_id(TASK)


def test_whatever_else_differs_gives_another_id() -> None:
    turn = TASK.turns[0]
    others = [
        replace(TASK, seed=8),
        replace(TASK, kind="clarification"),
        replace(TASK, persona="brief"),
        replace(TASK, final_changes={"bank.accounts": {"+1": None}}),
        replace(TASK, turns=(replace(turn, user="Pay Zoë 2!"),)),
        replace(TASK, turns=(replace(turn, calls=(replace(CALL, result=1),)),)),
        replace(TASK, turns=(turn, turn)),
    ]
    assert len({content_id(task) for task in [TASK, *others]}) == len(others) + 1


def test_the_id_is_the_hash_of_canonical_json_without_labels_and_defaults() -> None:
    # printf %s '{"final_changes":{},"kind":"abstention","turns":[{"user":"Fly"}]}' | sha256sum
    task = Task("a", "abstention", (Turn("Fly"),))
    assert content_id(task) == "771040e062505c0eb9f25ce4e9da770a"


@given(st.integers(), st.integers())
def test_seeds_are_told_apart(one: int, other: int) -> None:
    same = content_id(replace(TASK, seed=one)) == content_id(replace(TASK, seed=other))
    assert same == (one == other)
