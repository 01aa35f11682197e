"""What counts as success, over-calling, abstention and a premature call, by hand."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

from provegym import records
from provegym.errors import InputError
from provegym.evals.heldout import (
    Measure,
    by_task,
    compared,
    difference,
    measure,
    measure_file,
    outlook,
    report,
)
from provegym.types import Call, Changes, GroundCall, Kind, Outcome, Task, Trace, Turn

CHANGES: Changes = {"bank.accounts": {"a": {"balance": 7}}}
FIND = GroundCall("g0", "find", {"name": "Ada"})
PAY = GroundCall("g1", "pay", {"to": "a", "amount": 3}, after=("g0",))

WORKFLOW = Task(
    "w", "workflow", (Turn("Find Ada", (FIND,)), Turn("Pay her 3", (PAY,))), ("bank",),
    final_changes=CHANGES,
)  # fmt: skip
CLARIFICATION = Task(
    "c", "clarification", (Turn("Pay 3"), Turn("To Ada", (FIND, PAY))), ("bank", "shop"),
    final_changes=CHANGES,
)  # fmt: skip
ABSTENTION = Task("n", "abstention", (Turn("Sing"),), ("bank",))

RIGHT = (
    Call("find", {"name": "Ada"}, 0, 0, "ok"),
    Call("pay", {"to": "a", "amount": 3}, 1, 1, "ok"),
)


def spare(turn: int = 1, outcome: Outcome = "ok") -> Call:
    return Call("list", {}, turn, 9, outcome)


def played(task: Task, *calls: Call, changes: Changes | None = None, trial: int = 0) -> Trace:
    left = task.final_changes if changes is None else changes
    return Trace(f"{task.id}/{trial}", task.id, calls, final_changes=left)


def judged(task: Task, *calls: Call, changes: Changes | None = None) -> Measure:
    found = measure(task, played(task, *calls, changes=changes))
    assert found is not None
    return found


def test_the_ground_truth_succeeds() -> None:
    found = judged(WORKFLOW, *RIGHT)
    assert (found.success, found.coverage, found.over_called, found.calls) == (True, 1, False, 2)
    assert found.reward == 1
    assert (found.abstained, found.premature) == (None, None)
    assert (found.kind, found.server) == ("workflow", "bank")


@pytest.mark.parametrize("outcome", ["ok", "tool_error", "malformed", "unknown_tool"])
def test_one_spare_call_is_allowed_but_counts_as_over_calling(outcome: Outcome) -> None:
    found = judged(WORKFLOW, *RIGHT, spare(outcome=outcome))
    assert (found.success, found.over_called) == (True, True)


def test_two_spare_calls_are_not_allowed() -> None:
    assert not judged(WORKFLOW, *RIGHT, spare(), spare()).success


def test_a_missing_call_is_no_success() -> None:
    found = judged(WORKFLOW, RIGHT[0])
    assert (found.success, found.coverage, found.over_called) == (False, 0.5, False)


def test_a_wrong_value_is_no_success_though_every_call_is_there() -> None:
    wrong = replace(RIGHT[1], arguments={"to": "a", "amount": 4})
    found = judged(WORKFLOW, RIGHT[0], wrong)
    assert (found.success, found.coverage) == (False, 1)


def test_another_end_state_is_no_success_though_every_call_is_right() -> None:
    assert not judged(WORKFLOW, *RIGHT, changes={"bank.accounts": {"a": {"balance": 4}}}).success


def test_a_call_before_the_user_asked_for_it_is_no_success() -> None:
    assert not judged(WORKFLOW, RIGHT[0], replace(RIGHT[1], turn=0)).success


def test_only_silence_succeeds_where_nothing_can_be_done() -> None:
    silent, busy = judged(ABSTENTION), judged(ABSTENTION, spare(0))
    assert (silent.success, silent.abstained, silent.reward) == (True, True, 1)
    assert (busy.success, busy.abstained, busy.reward) == (False, False, 0)
    assert (silent.coverage, silent.over_called, silent.premature) == (None, None, None)


def test_a_call_in_the_turn_that_lacks_information_is_premature() -> None:
    waited = tuple(replace(call, turn=1) for call in RIGHT)
    assert judged(CLARIFICATION, *waited).premature is False
    early = judged(CLARIFICATION, spare(0), *waited)
    assert (early.premature, early.success) == (True, True)  # its one spare call


@pytest.mark.parametrize("kind", ["stop", "call"])
def test_an_episode_that_our_own_failure_touched_is_no_measure(kind: str) -> None:
    trace = played(WORKFLOW, *RIGHT)
    stopped = replace(trace, stop_reason="infrastructure")
    called = played(WORKFLOW, replace(RIGHT[0], outcome="infrastructure"))
    assert measure(WORKFLOW, stopped if kind == "stop" else called) is None


def test_recovery_is_doing_it_all_in_the_end_after_a_call_that_failed() -> None:
    failed = [spare(outcome="tool_error") for _ in range(3)]
    clumsy = judged(WORKFLOW, *failed, *RIGHT)
    assert (clumsy.recovered, clumsy.success) == (True, False)  # two calls too many
    assert judged(WORKFLOW, RIGHT[0], failed[0]).recovered is False
    assert judged(WORKFLOW, *RIGHT, spare()).recovered is None
    assert judged(ABSTENTION, failed[0]).recovered is None


def test_both_presets_and_the_length_are_told() -> None:
    half = judged(WORKFLOW, RIGHT[0])
    # By hand under `paper`: (0.5 validity + 0.5 x 0.5 coverage + 0.2 name + 0.1 argument) / 1.3
    assert half.reward_paper == pytest.approx(1.05 / 1.3)
    assert half.reward < 1.05 / 1.3
    assert (half.chain, judged(ABSTENTION).chain) == (2, 0)


# -- many episodes ---------------------------------------------------------------------------


def measured(
    task_id: str, success: bool, *, calls: int = 2, kind: Kind = "workflow", server: str = "bank"
) -> Measure:
    return Measure(
        f"{task_id}/0",
        task_id,
        kind,
        server,
        calls,
        success,
        1.0,
        False,
        None,
        None,
        float(success),
        chain=2,
    )


def test_masked_episodes_are_counted_and_left_out(tmp_path: Path) -> None:
    tasks, traces = tmp_path / "tasks.jsonl", tmp_path / "traces.jsonl"
    lost = replace(played(WORKFLOW, trial=1), stop_reason="infrastructure")
    records.write_atomic(tasks, map(records.encode, (WORKFLOW, ABSTENTION)))
    records.write_atomic(
        traces, map(records.encode, (played(WORKFLOW, *RIGHT), lost, played(ABSTENTION)))
    )
    found, masked = measure_file(tasks, traces)
    assert ([m.trace_id for m in found], masked) == (["w/0", "n/0"], 1)
    summary = report("policy", found, masked)
    assert (summary.episodes, summary.masked) == (3, 1)
    assert (summary.overall["success"].mean, summary.overall["success"].n) == (1, 2)
    assert summary.overall["abstention"].n == 1
    assert "premature_calls" not in summary.overall


def test_a_trace_of_an_unknown_task_is_refused(tmp_path: Path) -> None:
    tasks, traces = tmp_path / "tasks.jsonl", tmp_path / "traces.jsonl"
    records.write_atomic(tasks, [records.encode(ABSTENTION)])
    records.write_atomic(traces, [records.encode(played(WORKFLOW))])
    with pytest.raises(InputError, match=r"'w/0' is of task 'w', .* the 1 tasks of .*tasks\.jsonl"):
        measure_file(tasks, traces)


def test_groups_are_by_server_and_by_kind() -> None:
    episodes = [
        measured("a", True),
        measured("b", False, server="shop"),
        measured("c", True, kind="clarification", server="shop"),
    ]
    found = report("policy", episodes, 0).groups
    assert {name: group["success"].mean for name, group in found.items()} == {
        "kind clarification": 1,
        "kind workflow": 0.5,
        "length 2": 2 / 3,
        "server bank": 1,
        "server shop": 0.5,
    }


def test_trials_are_averaged_within_their_task() -> None:
    values = by_task([measured("a", True), measured("a", False), measured("b", True)], "success")
    assert values == {"a": [1, 0], "b": [1]}


def test_a_difference_is_taken_task_by_task() -> None:
    # By hand: a gains 1, b nothing, c loses nothing; d and e stand on one side only.
    before = [measured("a", False), measured("b", False), measured("c", True), measured("d", True)]
    after = [measured("c", True), measured("a", True, calls=5), measured("b", False),
             measured("e", True)]  # fmt: skip
    found = difference(before, after)
    assert found["success"].mean == pytest.approx(1 / 3)
    assert found["success"].n == 3
    assert found["calls"].mean == 1  # three more on a, over three tasks
    # Of three tasks drawn anew, a is never drawn in 8 of 27 cases and always in 1 of 27: more
    # than 2.5 % each.
    assert found["success"].low == 0
    assert found["success"].high == 1
    assert "abstention" not in found
    tests = compared(before, after)
    assert {name: one.gain for name, one in tests.items()} == found
    assert tests["success"].p == 1  # one task moved; it could as well have moved down


def test_trials_are_told_as_pass_hat_k() -> None:
    twice = [measured("a", True), measured("a", True), measured("b", True), measured("b", False)]
    assert [e.mean for e in report("p", twice, 0).pass_hat.values()] == [0.75, 0.5]
    assert report("p", twice[1:3], 0).pass_hat == {}


def test_the_outlook_says_where_its_spread_is_from() -> None:
    once, twice = ([measured(t, True) for t in "abcd" * n] for n in (1, 2))
    assert outlook(once).endswith("(80 % power, spread assumed)")
    # By hand: four tasks that never vary, gains as assumed: 280.16 x 0.125 / 2
    assert outlook(twice) == ("with 1 trial you can see 17.5 points; with 4, 17.5 (80 % power)")
    assert outlook(once, twice).endswith("spread assumed)")
