"""Results with pins, their comparison, samples and forecasts."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from provegym import cli
from provegym.errors import InfrastructureError, InputError, UnknownName
from provegym.evals import loads, plan
from provegym.evals.items import Item
from provegym.evals.loads import Load
from provegym.evals.plan import Settings, Suite
from provegym.evals.results import Evaluation, Pins, Result, compare, read, result, write
from provegym.evals.tau2 import batches
from provegym.evals.teval import PARTS, abilities, cut
from provegym.records import encode, write_atomic
from provegym.rollout.loop import system_prompt
from provegym.types import GroundCall, Task, Turn

PINS = Pins(
    harness="bfcl-eval",
    version="1",
    harness_hash="h",
    packages_hash="p",
    data_hash="d",
    items_hash="i",
    route="chat",
    model="m",
    weights_hash="w",
    template_hash="t",
    sampling={"temperature": 0.0, "max_tokens": None},
    seed=0,
    trials=1,
    date="2026-01-01T00:00:00+00:00",
    provegym="0.1.0",
)


def scored(*scores: float | None, pins: Pins = PINS, part: str = "base") -> Result:
    items = [
        Item(f"{part}/{n}/0", part, str(n), 0, s, "scored" if s is not None else "user_fault")
        for n, s in enumerate(scores)
    ]
    return result("bfcl", part, items, pins, 0.0, 1.0)


def test_a_simulated_users_fault_is_counted_and_no_zero() -> None:
    found = scored(1.0, None, 0.0)
    assert found.score.mean == 0.5
    assert found.states == {"scored": 2, "user_fault": 1}
    with pytest.raises(InfrastructureError, match="--user-model"):
        scored(None)


def test_what_was_written_is_read_again(tmp_path: Path) -> None:
    found = Evaluation("m", (scored(1.0, 0.0),), {"teval/plan_json": "no file"})
    write(found, tmp_path / "r.json")
    assert read(tmp_path / "r.json") == found


@pytest.mark.parametrize("lost", ["data_hash", "template_hash", "sampling", "date"])
def test_a_result_without_a_pin_is_refused(tmp_path: Path, lost: str) -> None:
    path = tmp_path / "r.json"
    write(Evaluation("m", (scored(1.0),)), path)
    raw = json.loads(path.read_text())
    del raw["results"][0]["pins"][lost]
    path.write_text(json.dumps(raw))
    with pytest.raises(InputError, match=f"does not say {lost} of bfcl/base"):
        read(path)


def test_report_shows_an_evaluation_and_refuses_one_without_pins(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, score in (("before", 0.0), ("after", 1.0)):
        write(Evaluation(name, (scored(score, 1.0),)), tmp_path / name / "results.json")
    assert cli.call(["report", f"{tmp_path}/after"]) == 0
    assert capsys.readouterr().out.splitlines()[2].split()[:3] == ["bfcl/base", "2", "1.000"]
    assert cli.call(["report", f"{tmp_path}/after", "--compare", f"{tmp_path}/before"]) == 0
    assert "p (Holm)" in capsys.readouterr().out
    path = tmp_path / "after" / "results.json"
    raw = json.loads(path.read_text())
    del raw["results"][0]["pins"]["harness_hash"]
    path.write_text(json.dumps(raw))
    assert cli.call(["report", f"{tmp_path}/after"]) == 2
    assert "does not say harness_hash of bfcl/base" in capsys.readouterr().err


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"results": 3}', '{"results": [3]}'])
def test_another_file_is_refused_in_one_line(tmp_path: Path, text: str) -> None:
    (tmp_path / "r.json").write_text(text)
    with pytest.raises(InputError, match=r"r\.json"):
        read(tmp_path / "r.json")


def test_two_models_are_compared_item_by_item() -> None:
    trained = replace(PINS, model="n", weights_hash="v", template_hash="u")
    before, after = scored(0.0, 0.0, 1.0), scored(1.0, 0.0, 1.0, pins=trained)
    (found,) = compare(Evaluation("m", (before,)), Evaluation("n", (after,)))
    assert found.tested
    assert found.tested.gain.mean == pytest.approx(1 / 3)
    assert found.why_not == ""


def test_p_values_are_mcnemars_and_corrected_over_all_parts_that_can_be_compared() -> None:
    old = [scored(*[0.0] * 6), scored(0.0, part="miss_func"), scored(0.0, part="miss_param")]
    new = [scored(*[1.0] * 6), scored(0.0, part="miss_func")]
    new += [scored(1.0, pins=replace(PINS, version="2"), part="miss_param")]
    found = compare(Evaluation("m", tuple(old)), Evaluation("n", tuple(new)))
    # By hand: six gains and no loss have 2 / 2^6; the smaller of two p-values is doubled.
    p_values = [(row.tested.p, row.tested.holm) for row in found if row.tested]
    assert p_values == [(0.03125, 0.0625), (1.0, 1.0)]
    assert found[2].why_not == "version '1' and '2'"


def test_parts_without_an_item_in_common_say_so() -> None:
    (found,) = compare(Evaluation("m", (scored(None, 1.0),)), Evaluation("n", (scored(1.0, None),)))
    assert found.why_not == "no item was scored in both"


def test_a_score_of_nothing_on_few_items_claims_little() -> None:
    # Wilson's upper end for 0 of 20: z^2 / (20 + z^2) with z = 1.96.
    assert scored(*[0.0] * 20).score.high == pytest.approx(0.1611, abs=1e-4)


@pytest.mark.parametrize(
    "change",
    [{"version": "2"}, {"data_hash": "e"}, {"sampling": {"temperature": 1.0}}, {"user": "u"}],
)
def test_what_differs_besides_the_model_is_said_instead(change: dict[str, Any]) -> None:
    other = scored(1.0, pins=replace(PINS, **change))
    (found,) = compare(Evaluation("m", (scored(0.0),)), Evaluation("m", (other,)))
    assert found.tested is None
    assert next(iter(change)) in found.why_not


def test_an_unstated_template_is_remarked() -> None:
    old = scored(1.0, pins=replace(PINS, template_hash="unstated"))
    (found,) = compare(Evaluation("m", (old,)), Evaluation("m", (scored(1.0),)))
    assert "template" in found.remark


def test_policies_of_ours_have_no_template_to_state() -> None:
    sides = [
        Evaluation(name, (scored(1.0, pins=replace(PINS, model=name, template_hash="unstated")),))
        for name in ("noop", "oracle", "qwen")
    ]
    noop, oracle, model = sides
    assert compare(noop, oracle)[0].remark == ""
    assert "template" in compare(noop, model)[0].remark


def test_evaluations_without_a_common_part_are_refused() -> None:
    with pytest.raises(InputError, match="in common"):
        compare(Evaluation("m", ()), Evaluation("m", (scored(1.0),)))


def test_the_command_shows_and_compares(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(Evaluation("m", (scored(0.0, 1.0),)), tmp_path / "a.json")
    write(Evaluation("n", (scored(1.0, 1.0),)), tmp_path / "b.json")
    assert cli.call(["eval", f"{tmp_path}/b.json", "--against", f"{tmp_path}/a.json"]) == 0
    told = capsys.readouterr().out
    assert "0.500 [0.000, 1.000]" in told
    write(Evaluation("m", (scored(0.0, 1.0),)), tmp_path / "a" / "results.json")
    assert cli.call(["eval", f"{tmp_path}/b.json", "--against", f"{tmp_path}/a"]) == 0
    assert capsys.readouterr().out == told
    assert "p (Holm)" in told
    assert cli.call(["eval", f"{tmp_path}/a.json"]) == 0
    assert "bfcl/base" in capsys.readouterr().out
    assert cli.call(["eval", "qwen"]) == 2
    assert "--suite" in capsys.readouterr().err


def test_a_suite_without_its_harness_says_how_to_get_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    line = ["eval", "m", "--suite", "bfcl", "--harnesses", str(tmp_path), "--dry-run"]
    assert cli.call(line) == 2
    assert "provegym eval setup bfcl" in capsys.readouterr().err


def settings(tmp_path: Path, **more: Any) -> Settings:
    return Settings("m", ("bfcl",), tmp_path, **more)


def test_a_sample_is_the_same_for_every_model_and_grows_by_adding(tmp_path: Path) -> None:
    names = [f"n{n}" for n in range(200)]
    small = plan.sampled(settings(tmp_path, limit=20), "bfcl", "base", names)
    large = plan.sampled(settings(tmp_path, limit=50), "bfcl", "base", names)
    assert len(small) == 20
    assert set(small) < set(large)
    assert sorted(small, key=names.index) == small
    assert plan.sampled(settings(tmp_path), "bfcl", "base", names) == names


def test_suites_are_taken_whole_or_in_parts() -> None:
    assert plan.chosen(["bfcl/base", "tau2"]) == {
        "bfcl": ("base",),
        "tau2": ("airline", "retail", "telecom"),
    }
    with pytest.raises(UnknownName, match="known: bfcl"):
        plan.chosen(["mmlu"])
    with pytest.raises(UnknownName, match="miss_func"):
        plan.chosen(["bfcl/easy"])
    with pytest.raises(UnknownName, match="unknown part of bfcl ''"):
        plan.chosen(["bfcl/"])


def test_a_forecast_multiplies_what_one_item_was_measured_to_take(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(loads, "LOADS", {"bfcl/base": Load(7.5, 1000, 100)})
    ready = Suite("bfcl", None, {"base": ["a", "b"], "miss_func": ["c"]})
    first, second = plan.forecast([ready], 2, (0.5, 2.0))
    assert (first.requests, first.prompt_tokens, first.completion_tokens) == (30, 4000, 400)
    assert first.usd == pytest.approx((4000 * 0.5 + 400 * 2) / 1e6)
    assert (second.items, second.requests) == (1, None)


def test_tasks_of_ours_are_forecast_from_their_ground_truth(tmp_path: Path) -> None:
    silent = Task("s", "abstention", (Turn("Sing!", reply="No."),))
    call = GroundCall("g0", "find", {"x": 1}, result={"y": 2})
    busy = Task("b", "workflow", (Turn("Find.", (call,)), Turn("More.", (replace(call, id="g1"),))))
    write_atomic(tmp_path / "t.jsonl", map(encode, (silent, busy)))
    told = Settings("m", ("heldout",), tmp_path, tasks=tmp_path / "t.jsonl")
    first, *others = plan.forecast(plan.plan(told), trials=3)
    assert first.requests == (1 + 4) * 3  # a message for each call and one that ends each turn
    assert [row.requests for row in others] == [0, 0]  # judged on the same episodes
    one = loads.of_tasks([silent])
    # By hand: the answer is {"role":"assistant","content":"No."}, a pair of brackets around the
    # messages and the empty list of tools.
    said = [
        {"role": "system", "content": system_prompt(silent)},
        {"role": "user", "content": "Sing!"},
    ]
    assert one.completion == len('{"role":"assistant","content":"No."}') / 4
    assert one.prompt == len(json.dumps([said, []], separators=(",", ":"))) / 4


def test_an_ability_of_which_a_file_is_missing_has_no_score() -> None:
    every = dict.fromkeys(PARTS, 0.5) | {"plan_json": 1.0, "plan_str": 0.0}
    assert abilities(every) == dict.fromkeys(
        ("instruct", "plan", "reason", "retrieve", "understand", "review", "overall"), 0.5
    )
    del every["plan_str"]
    assert abilities(every).keys() == {"instruct", "reason", "retrieve", "understand", "review"}


def test_an_answer_is_cut_where_teval_cuts_it() -> None:
    assert cut('```json\n{"a": 1}\n```<|im_end|>\nuser: more') == '{"a": 1}'


def test_tasks_of_one_scenario_are_never_in_one_batch() -> None:
    def task(id_: str, known: str) -> dict[str, Any]:
        told = {"reason_for_call": "r", "known_info": known, "task_instructions": "t"}
        return {"id": id_, "user_scenario": {"persona": None, "instructions": told}}

    rows = [task("1", "x"), task("2", "x"), task("3", "y"), task("4", "x")]
    found = [[row["id"] for row in batch] for batch in batches(rows)]
    assert found == [["1", "3"], ["2"], ["4"]]
