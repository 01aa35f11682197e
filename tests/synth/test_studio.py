"""Synthesis with a language model as the teacher: a scripted one, over real HTTP."""

from __future__ import annotations

import asyncio
import json
import sqlite3
from collections import Counter
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from provegym import config
from provegym.config import Information, Mix, Synth
from provegym.errors import BudgetSpent, EndpointDown, InputError
from provegym.graph.edges import Graph
from provegym.llm.scripted import Json, Response, Script, ScriptedServer, fails, says
from provegym.records import read, read_manifest
from provegym.synth.asker import prompt
from provegym.synth.make import Plan, Rejection
from provegym.synth.pipeline import Summary, synthesize
from provegym.synth.studio import Studio
from provegym.types import Kind, Task, Trace
from tests.synth.competent import Competent
from tests.synth.spoilt import (
    Spoiler,
    call,
    failing,
    garbage,
    is_wish,
    spoiled_at_first,
    step,
    wish,
)

NAMES = ("banking", "calendar", "filesystem", "shopping")
PLAN = Plan(seed=7, servers=NAMES, others=NAMES)
WORLDS = 3
SETTINGS = Synth(limit=12, world_seeds=WORLDS)
FEW = SETTINGS.model_copy(update={"limit": 3})


def competent() -> Competent:
    return Competent(PLAN, WORLDS)


def made(
    script: Script, graph: Graph, out: Path, settings: Synth = SETTINGS, **teacher: Any
) -> tuple[Summary, ScriptedServer]:
    """A whole run, and the server as it was left."""
    with ScriptedServer(script) as server:
        return run(server, graph, out, settings, **teacher), server


def run(
    server: ScriptedServer, graph: Graph, out: Path, settings: Synth = SETTINGS, **teacher: Any
) -> Summary:
    told = {"concurrency": 4, "patience": 5.0, **teacher}
    model = config.Teacher(model="m", base_url=server.url, **told)
    with Studio(model, out.with_name("answers.sqlite")) as studio:
        return synthesize(PLAN, settings, graph, out, studio=studio)


@pytest.fixture(scope="module")
def whole(graph: Graph, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file of twelve tasks by the scripted model, others beside it."""
    out = tmp_path_factory.mktemp("whole") / "tasks.jsonl"
    summary, _ = made(competent(), graph, out)
    assert summary.tasks == SETTINGS.limit
    return out


def test_a_model_makes_certified_tasks_that_a_second_process_confirms(whole: Path) -> None:
    tasks = list(read(whole, Task))
    assert len(tasks) == SETTINGS.limit
    for task in tasks:
        assert task.certificate.passed
        assert task.certificate.checks["two_processes_agree"]
        assert task.teacher == "m"
        assert 2 <= len(task.turns) <= 3
        assert task.persona.count(";") == 3
    assert {t.policy for t in read(whole.with_name("conversations.jsonl"), Trace)} == {"teacher:m"}


def test_the_kind_follows_from_where_the_calls_are(whole: Path) -> None:
    for task in read(whole, Task):
        calls = [len(turn.calls) for turn in task.turns]
        kind = "workflow" if calls[0] else "clarification" if any(calls) else "abstention"
        assert task.kind == kind


def test_the_manifest_has_what_it_took(whole: Path) -> None:
    manifest = read_manifest(whole)
    assert manifest
    with closing(sqlite3.connect(whole.with_name("answers.sqlite"))) as answers:
        count, tokens = answers.execute(
            "SELECT COUNT(*), TOTAL(prompt_tokens + completion_tokens) FROM answers"
        ).fetchone()
    assert manifest.cost["requests"] == count > SETTINGS.limit
    assert manifest.cost["prompt_tokens"] + manifest.cost["completion_tokens"] == tokens


def test_a_synthesis_has_256_requests_under_way_at_once(graph: Graph, tmp_path: Path) -> None:
    many, all_are_there = 256, asyncio.Event()

    async def patient(request: Json) -> Response:
        """Answer nobody before so many have asked; then nobody gets anything."""
        if server.peak == many:
            all_are_there.set()
        await all_are_there.wait()
        return fails(401, "enough")

    settings = SETTINGS.model_copy(update={"limit": 2 * many})
    with ScriptedServer(patient) as server, pytest.raises(InputError, match="enough"):
        run(server, graph, tmp_path / "tasks.jsonl", settings, concurrency=many)
    assert len(server.requests) == server.peak == many


def test_the_assistant_is_told_neither_the_context_nor_the_goal(
    graph: Graph, tmp_path: Path
) -> None:
    _, server = made(competent(), graph, tmp_path / "tasks.jsonl", FEW)
    steps = [body for body in server.requests if "tools" in body]
    assert steps
    for body in steps:
        system, *rest = body["messages"]
        assert {m["role"] for m in rest} <= {"user", "assistant", "tool"}
        assert "context" not in system["content"]
        users = [m["content"] for m in rest if m["role"] == "user"]
        assert not any(text.startswith("{") for text in users)


def test_the_places_of_a_mix_are_filled_by_kind_and_information(
    graph: Graph, tmp_path: Path
) -> None:
    kinds: dict[Kind, int] = {"workflow": 7, "clarification": 3, "abstention": 2}
    settings = SETTINGS.model_copy(update={"mix": Mix(kinds=kinds)})
    summary, _ = made(competent(), graph, tmp_path / "tasks.jsonl", settings)
    assert summary.kinds == kinds
    tasks = list(read(tmp_path / "tasks.jsonl", Task))
    told = Counter(t.information for t in tasks if t.kind != "abstention")
    assert told == {"complete": 6, "missing_required": 2, "minimal": 2}
    assert Counter(t.servers[0] for t in tasks) == dict.fromkeys(NAMES, 3)


def test_a_critique_can_only_reject(graph: Graph, tmp_path: Path, whole: Path) -> None:
    script, verdicts = competent(), iter([False])

    def critical(request: Json) -> Response:
        if request["messages"][0]["content"].startswith(prompt("critique")):
            fine = next(verdicts, True)
            return says(json.dumps({"consistent": fine, "reason": "" if fine else "no"}))
        return script(request)

    out = tmp_path / "tasks.jsonl"
    summary, _ = made(critical, graph, out, FEW, critique=True, concurrency=1)
    assert summary.rejected.pop("critique") == 1
    assert summary.tasks == FEW.limit


def test_what_else_a_model_writes_beside_what_was_asked_for_is_let_pass(
    graph: Graph, tmp_path: Path
) -> None:
    script = competent()

    def talkative(request: Json) -> Response:
        found = script(request)
        if "tools" in request:
            return found
        body = json.loads(found.body)
        message = body["choices"][0]["message"]
        value = json.loads(message["content"]) | {"thoughts": "well"}
        message["content"] = f"```json\n{json.dumps(value)}\n```"
        return Response(body=json.dumps(body).encode())

    summary, _ = made(talkative, graph, tmp_path / "tasks.jsonl", FEW)
    assert summary.tasks == FEW.limit


# -- what goes wrong ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("spoil", "times", "reason"),
    [
        (wish("Please pay John Miller at once."), 3, "ungrounded"),
        (wish("Use transfer_between_accounts now."), 3, "tool_name_in_turn"),
        (wish(" "), 3, "empty_turn"),
        (garbage, 3, "broken_json"),
        (step(failing), 3, "loop"),
        (step(lambda request: call("list_accounts", '{"limit": ')), 3, "broken_call"),
        (step(lambda request: call("list_accounts", '{"limit": "x"}')), 3, "broken_call"),
        (step(lambda request: call("no_such_tool", "{}")), 3, "unknown_tool"),
        (step(lambda request: says("")), 3, "empty_answer"),
        (step(lambda request: says("All done!", finish="length")), 3, "cut_off"),
        (step(lambda request: says("All done!")), 4, "prose_only"),
        (step(lambda request: says(None, refusal="I will not")), 3, "model_refused"),
        (step(lambda request: fails(400, "maximum context length")), 1, "too_long_for_model"),
        (step(lambda request: fails(400, "no")), 1, "model_fault"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_a_model_gets_wrong_is_counted_and_made_up_for(
    spoil: Spoiler, times: int, reason: str, graph: Graph, tmp_path: Path
) -> None:
    script = spoiled_at_first(competent(), spoil, times)
    out = tmp_path / "tasks.jsonl"
    summary, _ = made(script, graph, out, FEW, concurrency=1)
    assert summary.rejected.get(reason) == 1
    assert summary.tasks == FEW.limit
    assert next(read(out.with_name("rejections.jsonl"), Rejection)).reason == reason


ASKING = FEW.model_copy(
    update={"information": Information(complete=0, missing_required=1, minimal=0)}
)


def answering(**value: Any) -> Spoiler:
    """Say this to the assistant's question."""

    def spoil(request: Json) -> Response | None:
        asked = str(request["messages"][0]["content"]).startswith(prompt("answer"))
        return says(json.dumps(value)) if asked else None

    return spoil


def test_an_answer_names_nothing_that_is_not_there(graph: Graph, tmp_path: Path) -> None:
    script, left = competent(), [3]

    def inventive(request: Json) -> Response:
        found = script(request)
        if not left[0] or not request["messages"][0]["content"].startswith(prompt("answer")):
            return found
        left[0] -= 1
        value = json.loads(json.loads(found.body)["choices"][0]["message"]["content"])
        return says(json.dumps(value | {"words": f"{value['words']} I know it from John Miller."}))

    summary, server = made(inventive, graph, tmp_path / "tasks.jsonl", ASKING, concurrency=1)
    assert summary.rejected["ungrounded"] >= 1
    assert left == [0]
    reminded = [b["messages"][0]["content"] for b in server.requests]
    assert sum("'John Miller' stands neither in" in text for text in reminded) == 2


def withholding(words: str, withheld: str) -> Spoiler:
    """Write this where a value is to be left out."""

    def spoil(request: Json) -> Response | None:
        value = {"goal": f"{words} {withheld}", "withheld": withheld, "words": words}
        leaves_out = is_wish(request) and "leave_out" in request["messages"][1]["content"]
        return says(json.dumps(value)) if leaves_out else None

    return spoil


@pytest.mark.parametrize(
    ("spoil", "times", "reason"),
    [
        (answering(asked=True, words="You know it."), 3, "answer_lacks_value"),
        (answering(asked=False, words="You may choose."), 1, "did_not_ask"),
        (withholding("Please do something.", ""), 3, "withholds_nothing"),
        (withholding("Please pay 20.00 for me.", "20.00"), 3, "says_too_much"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_user_who_keeps_a_value_back_says_it_when_asked_and_not_before(
    spoil: Spoiler, times: int, reason: str, graph: Graph, tmp_path: Path
) -> None:
    script = spoiled_at_first(competent(), spoil, times)
    summary, server = made(script, graph, tmp_path / "tasks.jsonl", ASKING, concurrency=1)
    assert summary.rejected.get(reason) == 1
    assert summary.tasks == FEW.limit
    for body in server.requests:
        about = body["messages"][1]["content"]
        if body["messages"][0]["content"].startswith(prompt("answer")):
            assert "context" not in json.loads(about)  # all that it may reveal is the goal


@pytest.mark.parametrize(
    "spoil",
    [wish("Please pay John Miller at once."), garbage, step(lambda request: says(""))],
)
def test_what_is_wrong_twice_is_asked_for_again_and_the_model_is_told(
    spoil: Spoiler, graph: Graph, tmp_path: Path
) -> None:
    script = spoiled_at_first(competent(), spoil, 2)
    _, server = made(script, graph, tmp_path / "tasks.jsonl", FEW, concurrency=1)
    told = [b for b in server.requests if "could not be used" in b["messages"][0]["content"]]
    assert len(told) >= 2
    rejected = list(read(tmp_path / "rejections.jsonl", Rejection))
    assert not [r for r in rejected if r.id.endswith("000000")]


def test_an_endpoint_that_is_down_for_a_while_costs_nothing(graph: Graph, tmp_path: Path) -> None:
    script = spoiled_at_first(competent(), lambda request: fails(503), 5)
    summary, _ = made(script, graph, tmp_path / "tasks.jsonl", FEW)
    assert summary.tasks == FEW.limit
    assert "model_fault" not in summary.rejected
    manifest = read_manifest(tmp_path / "tasks.jsonl")
    assert manifest
    assert (manifest.cost["retries"], manifest.cost["lost_requests"]) == (5, 0)


def files(out: Path) -> list[bytes]:
    names = ("tasks", "conversations", "rejections")
    return [out.with_name(f"{name}.jsonl").read_bytes() for name in names]


def test_an_endpoint_that_stays_down_ends_the_run_and_another_goes_on(
    graph: Graph, tmp_path: Path, whole: Path
) -> None:
    script, served = competent(), [0]

    def mortal(request: Json) -> Response:
        served[0] += 1
        return fails(503) if 50 < served[0] <= 100 else script(request)

    out = tmp_path / "tasks.jsonl"
    with ScriptedServer(mortal) as server:
        with pytest.raises(EndpointDown, match="what is finished is kept"):
            run(server, graph, out, patience=0.01)
        kept = len(list(read(out, Task)))
        served[0] = 100
        assert run(server, graph, out).tasks == SETTINGS.limit
    assert 0 < kept < SETTINGS.limit
    assert files(out) == files(whole)


def test_a_budget_of_a_thousand_tokens_stops_at_once_and_a_larger_one_goes_on(
    graph: Graph, tmp_path: Path, whole: Path
) -> None:
    out = tmp_path / "tasks.jsonl"
    with ScriptedServer(competent()) as server:
        with pytest.raises(BudgetSpent, match="the budget of 1,000 tokens is spent"):
            run(server, graph, out, budget_tokens=1_000)
        assert server.requests == []  # a request might have taken more
        with pytest.raises(BudgetSpent, match="raise budget_tokens"):
            run(server, graph, out, budget_tokens=60_000)
        asked = len(server.requests)
        manifest = read_manifest(out)
        assert manifest
        spent = manifest.cost["prompt_tokens"] + manifest.cost["completion_tokens"]
        assert 0 < spent <= 60_000
        assert run(server, graph, out).tasks == SETTINGS.limit
    assert 0 < asked < len(server.requests)
    assert len({json.dumps(body) for body in server.requests}) == len(server.requests)
    assert files(out) == files(whole)


def test_another_model_may_not_go_on_with_a_file(graph: Graph, whole: Path) -> None:
    with (
        ScriptedServer(competent()) as server,
        pytest.raises(
            InputError, match=r"\(teacher\.temperature: 0\.7, now 0\.1\).*none is paid for twice"
        ),
    ):
        run(server, graph, whole, temperature=0.1)


def test_an_endpoint_that_only_gives_pages_ends_the_run_and_another_goes_on(
    graph: Graph, tmp_path: Path
) -> None:
    script, mended = competent(), [False]
    page = Response(body=b"<html>welcome</html>")
    out = tmp_path / "tasks.jsonl"
    with ScriptedServer(lambda request: script(request) if mended[0] else page) as server:
        with pytest.raises(EndpointDown, match=r"never answered with a chat completion: .*no chat"):
            run(server, graph, out, FEW, retries=0)
        assert len(server.requests) < 40  # not all candidates of each task
        mended[0] = True
        assert run(server, graph, out, FEW).tasks == FEW.limit


def test_a_model_whose_answers_cannot_be_read_is_given_up_and_named(
    graph: Graph, tmp_path: Path
) -> None:
    out = tmp_path / "tasks.jsonl"
    with pytest.raises(InputError, match=r"after 40 candidates.*broken_json.*the model 'm'"):
        made(lambda request: says("Sure! Here you go."), graph, out, SETTINGS)
    assert len(list(read(out.with_name("rejections.jsonl"), Rejection))) == 40
    assert made(competent(), graph, out, SETTINGS)[0].tasks == SETTINGS.limit
