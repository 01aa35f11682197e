"""Official harnesses end to end, on an endpoint over real HTTP that says what a script says."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from provegym.errors import EndpointDown, InputError, ManifestMismatch
from provegym.evals import bfcl, harness, plan, suites, tau2, teval
from provegym.evals.harness import Environment
from provegym.evals.items import Item, Job, Roles, json_lines
from provegym.evals.loads import NOTHING, Load
from provegym.evals.plan import Settings, sampled
from provegym.evals.suites import evaluate
from provegym.llm.relay import Remote
from provegym.llm.scripted import Json, Response, ScriptedServer, fails, says

BROKEN = Response(body=b'{"choices": [')
CUT = Response(body=says("lost").body, cut=True)
LIMITED = fails(429, "slow down")
START = "from provegym.entry import main; main()"


def gold(environment: Environment, wanted: list[str]) -> Callable[[Json], Response]:
    """An endpoint that answers BFCL's questions with its ground truth."""
    agent: Any = bfcl.scripted(Job(environment, {"base": wanted}, Path()), "oracle")["agent"]
    return lambda request: agent(request)


@pytest.fixture
def settings(bfcl_environment: Environment, harnesses: Path, tmp_path: Path) -> Settings:
    return Settings("m", ("bfcl/base",), tmp_path / "out", limit=2, cache=harnesses, patience=30)


def wanted_of(settings: Settings, environment: Environment) -> list[str]:
    return sampled(settings, "bfcl", "base", bfcl.names(environment, "base"))


def test_gold_calls_score_all_of_bfcl_whatever_the_endpoint_does_in_between(
    settings: Settings, bfcl_environment: Environment
) -> None:
    wanted = wanted_of(settings, bfcl_environment)
    right = gold(bfcl_environment, wanted)
    troubles = [LIMITED, BROKEN, CUT, LIMITED]

    def script(request: Json) -> Response:
        assert request["model"] == "m"
        assert "store" not in request
        return troubles.pop() if troubles else right(request)

    with ScriptedServer(script) as server:
        found = evaluate(replace(settings, base_url=server.url, concurrency=1))
    (result,) = found.results
    assert result.scores == {name: [1.0] for name in wanted}
    assert (result.score.mean, result.floor, result.ceiling) == (1.0, 0.0, 1.0)
    assert troubles == []
    assert found.traffic["retries"] == 4
    assert result.pins.version == "2026.3.23"
    assert json.loads((settings.out / "results.json").read_text())["model"] == "m"


def test_what_an_endpoint_that_went_down_had_answered_is_not_asked_for_again(
    settings: Settings, bfcl_environment: Environment
) -> None:
    wanted = wanted_of(settings, bfcl_environment)
    right = gold(bfcl_environment, wanted)
    first: list[str] = []
    gone = False

    def script(request: Json) -> Response:
        question = request["messages"][0]["content"]
        if gone or question in first[:1] or not first:
            first.append(question)
            return right(request)
        return fails(503, "down", **{"retry-after": "60"})

    with ScriptedServer(script) as server:
        told = replace(settings, base_url=server.url, concurrency=1, patience=1)
        with pytest.raises(EndpointDown, match="run the same command again"):
            evaluate(told)
        assert not (settings.out / "results.json").exists()
        gone, done = True, first[0]
        server.seen.clear()
        (result,) = evaluate(told).results
        again = [request["messages"][0]["content"] for request in server.requests]
    assert done not in again
    assert result.scores == {name: [1.0] for name in wanted}
    with pytest.raises(ManifestMismatch, match="limit 2, but 3"):
        evaluate(replace(told, limit=3))


def test_the_oracle_knows_parts_apart_that_begin_with_the_same_words(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(plan, "sampled", lambda told, suite, part, names: [f"multi_turn_{part}_15"])
    monkeypatch.setattr(suites._Suite, "bound", lambda suite, policy: {})  # others measure these
    parts = ("bfcl/base", "bfcl/miss_func")
    found = evaluate(replace(settings, model="oracle", suites=parts))
    assert [(row.part, row.score.mean) for row in found.results] == [
        ("base", 1.0),
        ("miss_func", 1.0),
    ]


def test_the_oracle_makes_gold_calls_of_tools_that_are_not_offered() -> None:
    tools: Json = {"cd": {"parameters": {"properties": {"folder": {}, "deep": {}}}}}
    told = [bfcl._call(text, tools, "c0") for text in ("cd('x', deep=True)", "tail(file_name='y')")]
    assert [json.loads(call["function"]["arguments"]) for call in told] == [
        {"folder": "x", "deep": True},
        {"file_name": "y"},
    ]


def test_a_run_killed_in_the_middle_asks_for_nothing_twice_and_ends_as_one_that_was_not(
    settings: Settings, bfcl_environment: Environment, harnesses: Path
) -> None:
    told = replace(settings, limit=3)
    wanted = wanted_of(told, bfcl_environment)
    right = gold(bfcl_environment, wanted)
    done: list[str] = []
    victim: subprocess.Popen[bytes] | None = None

    async def script(request: Json) -> Response:
        question = request["messages"][0]["content"]
        done.append(question)
        if victim and question != done[0]:  # the first is answered; the second is in the middle
            await until(lambda: answered(told.out) == 1)
            victim.kill()
            return Response(hold=True)
        return right(request)

    command = ["eval", "m", "--suite", "bfcl/base", "--limit", "3", "--concurrency", "1"]
    command += ["--harnesses", str(harnesses), "--out", str(told.out), "--base-url"]
    with ScriptedServer(script) as server:
        run = [sys.executable, "-c", START, *command, server.url, "--patience", "30"]
        victim = subprocess.Popen(run, stderr=subprocess.DEVNULL)
        assert victim.wait() == -signal.SIGKILL
        victim, finished = None, done[0]
        asyncio.run(until(lambda: not working_in(told.out)))
        assert answered(told.out) == 1
        server.seen.clear()
        done.clear()
        (result,) = evaluate(replace(told, base_url=server.url, concurrency=1)).results
    assert len(set(done)) == 2
    assert finished not in done
    assert result.scores == {name: [1.0] for name in wanted}
    assert (result.score.n, result.states) == (3, {"scored": 3})


def answered(out: Path) -> int:
    """Entries that BFCL has written an answer of."""
    own = out / "bfcl" / "base"  # not what the floor and the ceiling were measured with
    return len(list(json_lines(next(own.rglob("BFCL_v4_*_result.json"), own / "none"))))


def working_in(out: Path) -> list[Path]:
    """Processes that work in a folder below `out`."""
    found: list[Path] = []
    for link in Path("/proc").glob("[0-9]*/cwd"):
        with suppress(OSError):  # somebody else's, or it has just ended
            found += [link] if os.readlink(link).startswith(str(out)) else []
    return found


async def until(met: Callable[[], bool]) -> None:
    while not met():
        await asyncio.sleep(0.05)


@pytest.mark.parametrize("lost", ["provegym-relay[agent] fault: down", "Connection error."])
def test_an_endpoint_that_was_gone_is_no_answer_of_the_model(lost: str) -> None:
    assert bfcl.is_fault({"result": f"Error during inference: {lost}"})
    assert not bfcl.is_fault({"result": f"The page says: {lost}"})
    row = {"task_id": "0", "trial": 0, "skipped": True, "reward_info": {}}
    assert not tau2.explained(row, {("0", 0): f"litellm.InternalServerError: {lost}"})
    assert tau2.explained(row | {"reward_info": {}}, {("0", 0): "KeyError: 'name'"})


def test_a_conversation_that_outgrows_the_model_is_its_own_fault_and_counted(
    settings: Settings, bfcl_environment: Environment
) -> None:
    too_long = fails(400, "too long", code="context_length_exceeded")
    with ScriptedServer(lambda request: too_long) as server:
        (result,) = evaluate(replace(settings, base_url=server.url)).results
    assert result.states == {"overflow": 2}
    assert result.score.mean == 0.0


def tau2_job(environment: Environment, folder: Path, names: list[str]) -> Job:
    return Job(environment, {"airline": names}, folder, concurrency=2)


def tau2_played(job: Job, roles: Roles) -> dict[str, Item]:
    kept: dict[str, Item] = {}
    tau2.play(job, roles, lambda item: kept.update({item.name: item}))
    return kept


def test_tau2_tells_the_agents_faults_from_the_users_and_the_endpoints(
    tau2_environment: Environment, tmp_path: Path
) -> None:
    names = ["0", "3", "7"]
    rows = [row for row in tau2.tasks(tau2_environment, "airline") if row["id"] in names]
    agent, user = tau2.scripted(rows, "oracle").values()
    job = tau2_job(tau2_environment, tmp_path, names)

    def about(request: Json, row: int) -> bool:
        return f"TASK#{row}" in json.dumps(request["messages"])

    def plays_agent(request: Json) -> Any:
        if about(request, 1):
            return fails(400, "too long", code="context_length_exceeded")
        return agent(request)

    def plays_user(request: Json) -> Any:
        bad = len(request["messages"]) > 2 and about(request, 2)
        return says(None) if bad else user(request)

    with ScriptedServer(plays_agent) as first, ScriptedServer(plays_user) as second:
        roles = {
            "agent": Remote("agent", "a", first.url),
            "user": Remote("user", "u", second.url, usable=True, retries=0),
        }
        found = tau2_played(job, roles)
        asked = len(second.seen)
    assert {name: (item.score, item.state) for name, item in found.items()} == {
        "0": (1.0, "scored"),
        "3": (0.0, "overflow"),
    }  # of "7" nothing is told: its user failed, which says nothing about the agent
    assert asked > 3
    again = tau2_played(job, tau2.scripted(rows, "oracle"))
    assert again["7"].score == 1.0
    assert again["3"] == found["3"]


@pytest.mark.parametrize("part", tau2.PARTS)
def test_the_data_of_every_domain_of_tau2_have_a_hash(
    tau2_environment: Environment, part: str
) -> None:
    files = tau2.files(tau2_environment, (part,))
    names = {path.name for path in files}
    assert {"tasks.json", "split_tasks.json", "simulation_guidelines.md"} <= names
    assert (part == "telecom") == any(path.parent.name == "workflows" for path in files)
    assert len(harness.data_hash(files)) == 64


def test_a_silent_agent_earns_on_tau2_what_leaves_nothing_changed(
    tau2_environment: Environment, tmp_path: Path
) -> None:
    job = tau2_job(tau2_environment, tmp_path, ["0", "3"])
    kept: dict[str, Item] = {}
    tau2.play_scripted(job, "noop", lambda item: kept.update({item.name: item}))
    assert {name: item.score for name, item in kept.items()} == {"0": 1.0, "3": 0.0}


REVIEW = {
    "template": "",
    "meta_data": {"response_format": "str"},
    "ground_truth": {"answer": "B", "thought": ""},
    "origin_prompt": [{"role": "user", "content": "Response: 500. Answer with a letter."}],
}
RETRIEVE = {
    "meta_data": {"response_format": "str"},
    "ground_truth": json.dumps({"thought": "", "name": "Maps.find", "args": {}}),
    "origin_prompt": [
        {"role": "system", "content": "Name a tool."},
        {"role": "function", "content": "Maps.find, Maps.show"},
        {"role": "user", "content": "Where is it?"},
    ],
}
INSTRUCT = {
    "template": {"thought": "why", "action": "tool", "args": "with"},
    "meta_data": {"response_format": "json"},
    "ground_truth": {"action": "Maps.find", "args": {"place": "Rome"}},
    "origin_prompt": [{"role": "user", "content": "Find Rome, in JSON."}],
}


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """A few items in the form of T-Eval's files."""
    folder = tmp_path / "data"
    folder.mkdir()
    other = REVIEW | {"origin_prompt": [{"role": "user", "content": "Another."}]}
    files = {
        "review_str_v2": {"1": REVIEW, "2": other},
        "retrieve_str_v2": {"1": RETRIEVE},
        "instruct_v2": {"1": INSTRUCT},
    }
    for name, rows in files.items():
        (folder / f"{name}.json").write_text(json.dumps(rows))
    return folder


def test_gold_answers_score_all_of_teval_and_empty_ones_nothing(
    teval_environment: Environment, harnesses: Path, data: Path, tmp_path: Path
) -> None:
    settings = Settings("oracle", ("teval",), tmp_path / "out", teval_data=data, cache=harnesses)
    found = evaluate(settings)
    scores = {r.part: (r.score.mean, r.floor, r.ceiling) for r in found.results}
    assert scores == dict.fromkeys(("instruct_json", "retrieve_str", "review_str"), (1.0, 0.0, 1.0))
    assert found.abilities == {"teval": {"review": 1.0}}  # no mean of half an ability, none of all
    assert "no plan_json_v*.json" in found.absent["teval/plan_json"]
    assert found.absent["teval/instruct_string"] == "no item of this form"


def test_a_forecast_of_teval_is_read_from_its_data(data: Path) -> None:
    both = {"a": RETRIEVE, "b": RETRIEVE}
    (data / "reason_retrieve_understand_json_v2.json").write_text(json.dumps(both))
    wanted = {"review_str": ["1"], "reason_json": ["a", "b"], "retrieve_json": ["a", "b"]}
    found = teval.loads_of(data, wanted)
    # By hand: [{"role":"user","content":"..."}] has 30 characters around the question's 36.
    assert found["review_str"] == Load(1, (30 + 36) / 4, len('"Answer: B"') / 4)
    assert found["reason_json"].requests == 1
    assert found["retrieve_json"] == NOTHING  # it is judged on the same answers


def test_teval_without_data_asks_for_it() -> None:
    with pytest.raises(InputError, match=r"^T-Eval needs its data: .* with --teval-data$"):
        teval.absent(None, None, None)
    with pytest.raises(InputError, match=r"^T-Eval's data is not at /nowhere: download it"):
        teval.absent(Path("/nowhere"), None, None)


def test_teval_says_what_is_missing(data: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="--teval-data"):
        teval.absent(None, None, None)
    (data / "plan_json_v2.json").write_text("{}")
    assert "all-mpnet-base-v2" in teval.absent(data, None, None)["plan_json"]
    (data / "review_str_v1.json").write_text("{}")
    with pytest.raises(InputError, match=r"review_str_v1\.json, review_str_v2\.json"):
        teval.absent(data, None, None)


@pytest.mark.slow
def test_plan_and_review_of_teval_score_what_was_measured(harnesses: Path, tmp_path: Path) -> None:
    told = [os.environ.get(f"PROVEGYM_TEVAL_{name}") for name in ("DATA", "EMBEDDER")]
    if not all(told):
        pytest.skip("PROVEGYM_TEVAL_DATA and PROVEGYM_TEVAL_EMBEDDER do not say where they are")
    files, embedder = map(Path, filter(None, told))
    parts = ("teval/plan_json", "teval/plan_str", "teval/review_str")
    settings = Settings("oracle", parts, tmp_path / "out", limit=20, cache=harnesses)
    found = evaluate(replace(settings, teval_data=files, teval_embedder=embedder))
    scores = {r.part: r.score.mean for r in found.results}
    assert scores["review_str"] == 1.0
    assert scores["plan_json"] > 0.9
    assert scores["plan_str"] > 0.5
    assert {r.floor for r in found.results} == {0.0}
