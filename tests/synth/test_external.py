"""Published abstentions as tasks: imported, played, scored, certified, and part of a mix."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from provegym import cli
from provegym.config import Mix, Synth
from provegym.dataset.stats import stats
from provegym.errors import InputError, ManifestMismatch
from provegym.graph.edges import Graph
from provegym.llm.scripted import ScriptedServer, says
from provegym.records import content_hash, encode, read, read_manifest, write_atomic
from provegym.synth.external import drawn, import_file
from provegym.synth.make import Plan
from provegym.synth.offline import NO_TOOL
from provegym.synth.pipeline import synthesize
from provegym.types import Score, Task, Trace

TOOLS = [
    {"name": "uber.ride", "description": "Order a ride.", "parameters": {"to": {"type": "str"}}},
    {"name": "now", "description": "The time.", "parameters": {}},
]


def row(number: int, **change: Any) -> dict[str, Any]:
    return {"query": f"Question {number}?", "tools": json.dumps(TOOLS), "answers": "[]", **change}


def published(folder: Path, count: int, first: int = 0) -> Path:
    path = folder / "xlam.json"
    rows = [row(i) for i in range(first, first + count)]
    path.write_text(json.dumps([*rows, row(-1, answers='[{"name": "now"}]')]))
    return path


def imported(folder: Path, count: int, first: int = 0) -> Path:
    out = folder / f"from{first}.jsonl"
    import_file("xlam-irrelevance", published(folder, count, first), out)
    return out


def test_an_imported_task_is_one_turn_without_servers_and_calls(tmp_path: Path) -> None:
    made = import_file("xlam-irrelevance", published(tmp_path, 3), tmp_path / "tasks.jsonl")
    assert (made.rows, made.examples, made.tasks) == (4, 3, 3)
    assert made.skipped == {"a call is right": 1}
    assert (made.licence, made.published) == ("CC-BY-4.0", False)
    task = next(read(tmp_path / "tasks.jsonl", Task))
    assert (task.kind, task.servers, task.seed) == ("abstention", (), 0)
    assert task.teacher == "xlam-irrelevance"
    assert [(turn.user, turn.calls, turn.reply) for turn in task.turns] == [
        ("Question 0?", (), NO_TOOL)
    ]
    assert [tool.function.name for tool in task.tools] == ["uber_ride", "now"]
    assert task.certificate.passed
    assert task.certificate.checks == {
        "labelled_no_call": True,
        "silence_scores_one": True,
        "any_call_scores_zero": True,
        "nothing_changes": True,
    }
    manifest = read_manifest(tmp_path / "tasks.jsonl")
    assert manifest is not None
    assert (manifest.rows, manifest.complete) == (3, True)
    assert manifest.parent == content_hash(tmp_path / "xlam.json")


def test_a_sample_depends_on_its_seed_alone_and_keeps_the_files_order(tmp_path: Path) -> None:
    path = published(tmp_path, 40)

    def questions(seed: int) -> list[str]:
        out = tmp_path / "tasks.jsonl"
        import_file("xlam-irrelevance", path, out, limit=12, seed=seed)
        return [task.turns[0].user for task in read(out, Task)]

    first = questions(1)
    assert questions(2) != first == questions(1)
    numbers = [int(q.removeprefix("Question ").rstrip("?")) for q in first]
    assert numbers == sorted(set(numbers))
    assert len(numbers) == 12
    with pytest.raises(InputError, match="has 40 examples, fewer than --limit 41"):
        import_file("xlam-irrelevance", path, tmp_path / "more.jsonl", limit=41)


def test_the_verb_says_what_was_left_out_and_what_was_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "tasks.jsonl"
    command = ["dataset", "import", "xlam-irrelevance", str(published(tmp_path, 2))]
    assert cli.call([*command, "--out", str(out)]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "rows left out for  rows",
        "a call is right       1",
        "3 rows, 2 of them examples; no published file of the set has so many rows",
        f"2 certified tasks of xlam-irrelevance (CC-BY-4.0): {out}",
    ]
    assert cli.call([*command[:2], "bfcl", *command[3:], "--out", str(out)]) == 2
    told = capsys.readouterr().err
    assert told == "error: unknown data set 'bfcl'; known: when2call, xlam-irrelevance\n"


def test_a_file_of_something_else_is_not_overwritten(tmp_path: Path) -> None:
    path = published(tmp_path, 2)
    with pytest.raises(InputError, match="is what this command reads"):
        import_file("xlam-irrelevance", path, path)
    (tmp_path / "notes").write_text("mine")
    with pytest.raises(ManifestMismatch, match="something without a manifest"):
        import_file("xlam-irrelevance", path, tmp_path / "notes")


@pytest.mark.parametrize(("policy", "total"), [("noop", 1.0), ("oracle", 1.0), ("caller", 0.0)])
def test_imported_tasks_are_played_scored_and_certified(
    tmp_path: Path, policy: str, total: float
) -> None:
    tasks, traces, scores = (tmp_path / f"{name}.jsonl" for name in ("tasks", "traces", "scores"))
    import_file("xlam-irrelevance", published(tmp_path, 3), tasks)
    if policy == "caller":
        play_a_shown_tool(tasks, traces)
    else:
        command = ["rollout", str(tasks), "--policy", policy, "--out", str(traces)]
        assert cli.call(command) == 0
    files = ["--tasks", str(tasks), "--traces", str(traces), "--preset", "strict"]
    assert cli.call(["score", *files, "--out", str(scores)]) == 0
    assert [score.total for score in read(scores, Score)] == [total] * 3
    again = tmp_path / "again.jsonl"
    assert cli.call(["rescore", *files, "--out", str(again)]) == 0
    assert again.read_bytes() == scores.read_bytes()
    assert cli.call(["certify", str(tasks)]) == 0
    assert cli.call(["eval", str(tasks), str(traces)]) == 0


def play_a_shown_tool(tasks: Path, traces: Path) -> None:
    """Each task by a policy that calls the first tool that it is shown, then answers."""
    from provegym import worlds
    from provegym.rollout.reply import Policy, Reply, ToolCall
    from provegym.rollout.run import rollout_file

    def caller(task: Task, seed: int) -> Policy:
        async def policy(messages: list[dict[str, Any]], tools: list[dict[str, Any]]) -> Reply:
            if messages[-1]["role"] == "tool":
                return Reply("Done.")
            return Reply(calls=(ToolCall("", tools[0]["function"]["name"], "{}"),), form="native")

        return policy

    rollout_file(tasks, "caller", traces, open_session=worlds.open_session, make_policy=caller)
    calls = [call for trace in read(traces, Trace) for call in trace.calls]
    assert [(call.name, call.outcome) for call in calls] == [("uber_ride", "tool_error")] * 3
    assert {call.result["error"]["code"] for call in calls} == {"no_server"}


# --- the mix -------------------------------------------------------------------------------

NAMES = ("banking", "calendar", "filesystem", "shopping")
PLAN = Plan(seed=7, servers=NAMES, others=NAMES)


def mixed(*files: Path, abstention: int = 6) -> Synth:
    kinds: dict[Any, int] = {"workflow": 6, "clarification": 0, "abstention": abstention}
    mix = Mix(kinds=kinds, abstentions=tuple(map(str, files)))
    return Synth(limit=6 + abstention, world_seeds=2, tools_per_task=6, mix=mix)


def test_a_mix_takes_its_abstentions_from_the_files_first(tmp_path: Path, graph: Graph) -> None:
    files = [imported(tmp_path, 3), imported(tmp_path, 2, first=2)]  # question 2 is in both
    out = tmp_path / "tasks.jsonl"
    synthesize(PLAN, mixed(*files), graph, out)
    found = stats(out)
    assert found.kinds == {"abstention": 6, "workflow": 6}
    assert found.teachers == {"offline": 8, "xlam-irrelevance": 4}
    tasks = list(read(out, Task))
    foreign = [task for task in tasks if task.teacher == "xlam-irrelevance"]
    assert {task.turns[0].user for task in foreign} == {f"Question {i}?" for i in range(4)}
    assert all(task.certificate.checks["two_processes_agree"] for task in tasks)
    assert cli.call(["certify", str(out)]) == 0
    talks = {talk.task_id: talk for talk in read(tmp_path / "conversations.jsonl", Trace)}
    assert {talks[t.id].policy.split(":")[0] for t in foreign} == {"import"}
    assert talks[foreign[0].id].messages[1] == {"role": "assistant", "content": NO_TOOL}


def test_files_with_more_than_the_mix_has_places_for_are_drawn_from(
    tmp_path: Path, graph: Graph
) -> None:
    out = tmp_path / "tasks.jsonl"
    synthesize(PLAN, mixed(imported(tmp_path, 30), abstention=4), graph, out)
    assert stats(out).teachers == {"offline": 6, "xlam-irrelevance": 4}


def test_a_file_without_a_task_is_refused_before_anything_is_written(
    tmp_path: Path, graph: Graph
) -> None:
    empty, out = tmp_path / "empty.jsonl", tmp_path / "tasks.jsonl"
    empty.write_bytes(b"")
    with pytest.raises(InputError, match=r"empty\.jsonl holds no task; .*dataset import"):
        synthesize(PLAN, mixed(imported(tmp_path, 3), empty), graph, out)
    assert not out.exists()


def test_a_model_is_not_asked_for_what_is_imported(tmp_path: Path) -> None:
    file, out, settings = imported(tmp_path, 3), tmp_path / "tasks.jsonl", tmp_path / "run.toml"
    with ScriptedServer(answers=[says("Nothing.")]) as endpoint:
        settings.write_text(
            '[run]\nname = "x"\nservers = ["banking"]\n[synth]\nlimit = 3\n'
            f'[synth.mix]\nabstentions = ["{file}"]\n'
            "kinds = { workflow = 0, clarification = 0, abstention = 1 }\n"
            f'[teacher]\nmodel = "m"\nbase_url = "{endpoint.url}"\n'
        )
        assert cli.call(["synth", str(settings), "--out", str(out)]) == 0
        assert endpoint.seen == []
    assert stats(out).teachers == {"xlam-irrelevance": 3}


def test_tasks_to_evaluate_on_are_never_imported(tmp_path: Path, graph: Graph) -> None:
    unseen = Plan(PLAN.seed, NAMES, NAMES, first_world=2)
    out = tmp_path / "tasks.jsonl"
    synthesize(unseen, mixed(imported(tmp_path, 3)), graph, out)
    assert stats(out).teachers == {"offline": 12}


def test_an_interrupted_mix_goes_on_and_refuses_other_files(tmp_path: Path, graph: Graph) -> None:
    file = imported(tmp_path, 3)
    whole, part = tmp_path / "tasks.jsonl", tmp_path / "part" / "tasks.jsonl"
    synthesize(PLAN, mixed(file), graph, whole)

    def stop(done: int, total: int) -> None:
        if done == 5:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        synthesize(PLAN, mixed(file), graph, part, stop)
    synthesize(PLAN, mixed(file), graph, part)
    assert part.read_bytes() == whole.read_bytes()
    import_file("xlam-irrelevance", published(tmp_path, 2), file)
    with pytest.raises(ManifestMismatch):
        synthesize(PLAN, mixed(file), graph, whole)


def test_what_was_not_imported_is_refused_by_name(tmp_path: Path) -> None:
    file = imported(tmp_path, 1)
    (task,) = read(file, Task)
    odd = tmp_path / "odd.jsonl"
    write_atomic(odd, [encode(task).replace(b'"servers":[]', b'"servers":["banking"]')])
    with pytest.raises(InputError, match=rf"odd\.jsonl: task '{task.id}' is not one that"):
        drawn([str(odd)], 1, 0)
    with pytest.raises(InputError, match="cannot read none"):
        drawn(["none.jsonl"], 1, 0)
