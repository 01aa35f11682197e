"""Each check of the certificate fails where what it says does not hold."""

from __future__ import annotations

import msgspec
import pytest
from msgspec.structs import replace

from provegym import servers
from provegym.rewards import score
from provegym.synth.certify import certify, task_tools
from provegym.synth.make import Candidate
from provegym.synth.replay import Moment, Played, replay, start_of
from provegym.types import GroundCall, Task
from provegym.worlds import world_of

WITH_CALLS = {
    *("replays_ok", "same_results", "same_changes", "not_done_at_start", "scores_maximum"),
    *("nothing_is_lower", "reading_all_is_lower", "wrong_value_is_lower", "dropped_call_is_lower"),
    *("unknown_tool_is_lower", "extra_never_pays", "repeat_never_pays", "over_budget_is_lower"),
}


@pytest.fixture(scope="module")
def writing(candidates: list[Candidate]) -> Task:
    """A task that changes something."""
    return next(c.task for c in candidates if c.task.final_changes)


def start(task: Task) -> Moment:
    return start_of(world_of(task), task_tools(task))


def failed(task: Task) -> set[str]:
    return {n for n, ok in certify(task, world_of(task)).checks.items() if not ok}


def test_every_task_passes_again_in_a_fresh_world(candidates: list[Candidate]) -> None:
    for candidate in candidates[:60]:
        again = certify(candidate.task, world_of(candidate.task))
        assert again == candidate.task.certificate


def test_a_certificate_holds_every_check_of_its_kind(candidates: list[Candidate]) -> None:
    for task in (c.task for c in candidates):
        checks = set(task.certificate.checks)
        wanted = {"silence_scores_one", "any_call_scores_zero", "nothing_changes"}
        assert checks == (WITH_CALLS if task.ground_truth else wanted)


def test_replaying_the_ground_truth_scores_the_maximum_with_state_one(
    candidates: list[Candidate],
) -> None:
    for task in (c.task for c in candidates[:100]):
        trace = replay(start(task), task.ground_truth).trace(task)
        for preset in ("paper", "strict"):
            judged = score(task, trace, preset)
            assert judged.total == pytest.approx(judged.max_total, abs=1e-9)
            assert judged.state in (1, None) or not task.ground_truth


def test_recorded_results_and_changes_must_be_those_of_the_replay(writing: Task) -> None:
    assert {"same_changes"} <= failed(replace(writing, final_changes={}))
    turns = [
        replace(t, calls=tuple(replace(c, result={"no": 1}) for c in t.calls))
        for t in writing.turns
    ]
    assert "same_results" in failed(replace(writing, turns=tuple(turns)))


def test_a_call_that_is_refused_fails_the_replay(writing: Task) -> None:
    turn = writing.turns[-1]
    wrong = GroundCall("zz", turn.calls[-1].name if turn.calls else "no_such_tool", {"no": 1})
    turns = (*writing.turns[:-1], replace(turn, calls=(*turn.calls, wrong)))
    assert {"replays_ok", "scores_maximum"} <= failed(replace(writing, turns=turns))


def test_changes_that_hold_already_at_the_start_are_found(writing: Task) -> None:
    templates = world_of(writing).templates
    table, template = next((n, t) for n, t in templates.items() if t.rows)
    row = next(iter(template.rows.values()))
    field = row.__struct_fields__[1]
    holds = {field: msgspec.to_builtins(getattr(row, field))}
    for key, fields in ((row.id, holds), ("+1", holds), ("no_such_row", None)):
        done = replace(writing, final_changes={table: {key: fields}})
        assert "not_done_at_start" in failed(done)
    for key, wanted in ((row.id, {field: "other"}), ("+1", {field: "other"}), (row.id, None)):
        open_ = replace(writing, final_changes={table: {key: wanted}})
        assert "not_done_at_start" not in failed(open_)


def test_a_task_without_calls_must_change_nothing_and_take_silence(
    candidates: list[Candidate],
) -> None:
    task = next(c.task for c in candidates if c.task.kind == "abstention")
    assert failed(task) == set()
    claimed = {"banking.accounts": {"acc_1": {"balance": 1}}}
    assert failed(replace(task, final_changes=claimed)) == {"nothing_changes"}


def test_a_moment_makes_each_call_once_and_reads_lead_back_to_it() -> None:
    world = servers.world(3, ("banking",))
    moment = start_of(world)
    outcome, result, after = moment.call("list_accounts", {})
    assert (outcome, after is moment) == ("ok", True)
    assert moment.call("list_accounts", {})[1] is result
    payee = {"name": "Ada Diaz", "iban": "GB82WEST12345698765432"}
    outcome, _, changed = moment.call("add_payee", payee)
    assert outcome == "ok"
    assert changed is moment.call("add_payee", payee)[2] is not moment
    assert moment.changes == {}
    assert list(changed.changes) == ["banking.payees"]


def test_a_replay_can_go_on_from_another(writing: Task) -> None:
    whole = replay(start(writing), writing.ground_truth)
    part: Moment | Played = start(writing)
    for call in writing.ground_truth:
        part = replay(part, [call])
    assert isinstance(part, Played)
    assert (part.calls, part.end.digest) == (whole.calls, whole.end.digest)
