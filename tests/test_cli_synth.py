"""The verb `synth` with a language model as the teacher."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from provegym import cli, records
from provegym.llm.scripted import ScriptedServer, fails, says
from provegym.synth.make import Plan, Rejection
from provegym.types import Task, Turn
from tests.synth.competent import Competent
from tests.synth.spoilt import Spoiler, failing, garbage, spoiled_at_first, step, wish

BANK = ["synth", "--servers", "banking", "--seed", "3", "--limit", "2"]


@pytest.fixture
def url() -> Iterator[str]:
    with ScriptedServer(Competent(Plan(3, ("banking",), ("banking",)), worlds=40)) as server:
        yield server.url


def synth(out: Path, *arguments: str) -> int:
    return cli.call([*BANK, "--out", str(out), *arguments])


def test_a_model_is_asked_at_the_base_url_and_its_cost_is_shown(
    tmp_path: Path, url: str, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "tasks.jsonl"
    assert synth(out, "--teacher", "openai:m", "--base-url", url) == 0
    shown = capsys.readouterr()
    assert "2 tasks may take 20 requests and 104,000 tokens (a guess)\n" in shown.err
    assert "2 certified tasks of" in shown.out
    cost = dict(line.rsplit(None, 1) for line in shown.out.splitlines() if " " in line)
    manifest = records.read_manifest(out)
    assert manifest
    assert cost["requests"] == f"{manifest.cost['requests']:,.0f}"
    assert [task.teacher for task in records.read(out, Task)] == ["m", "m"]


def test_the_teacher_of_the_config_is_asked_unless_another_is_named(
    tmp_path: Path, url: str
) -> None:
    told = tmp_path / "run.toml"
    told.write_text(
        f'[run]\nname = "r"\nservers = ["banking"]\n[teacher]\nmodel = "m"\nbase_url = "{url}"\n'
    )
    for name, arguments in (("m", []), ("offline", ["--teacher", "offline"])):
        out = tmp_path / name / "tasks.jsonl"
        assert synth(out, str(told), *arguments) == 0
        assert {task.teacher for task in records.read(out, Task)} == {name}


def test_a_spent_budget_is_one_line_and_exit_code_1(
    tmp_path: Path, url: str, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["--teacher", "openai:m", "--base-url", url, "--budget-tokens", "1000", "--json"]
    assert synth(tmp_path / "tasks.jsonl", *arguments) == 1
    shown = capsys.readouterr()
    (line,) = [line for line in shown.err.splitlines() if line.startswith("error: ")]
    assert line.startswith("error: the budget of 1,000 tokens is spent")
    assert shown.out == ""
    assert synth(tmp_path / "tasks.jsonl", *arguments[:-3], "--json") == 0
    assert json.loads(capsys.readouterr().out)["tasks"] == 2


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (
            ["--teacher", "openai:"],
            "unknown teacher 'openai:'; known: offline, gemma-4-31b, qwen3-32b, openai:MODEL",
        ),
        (
            ["--teacher", "openai:m", "--budget-usd", "1"],
            "the options: teacher: budget_usd needs prices",
        ),
    ],
)
def test_a_wrong_teacher_is_one_line_and_2(
    arguments: list[str], told: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "tasks.jsonl"
    assert synth(out, *arguments) == 2
    assert capsys.readouterr().err.startswith(f"error: {told}")
    assert not out.exists()


@pytest.mark.parametrize(
    ("verb", "files"), [("synth", ["--limit", "2"]), ("graph", ["--edges", "llm"])]
)
@pytest.mark.parametrize(
    ("url", "told"),
    [("nonsense", "'nonsense' is no base URL"), (None, "OpenAI's own endpoint needs a key")],
)
def test_a_model_that_cannot_be_asked_is_refused_before_anything_is_written(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    verb: str,
    files: list[str],
    url: str | None,
    told: str,
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    place = ["--base-url", url] if url else []
    out = ["--servers", "banking", "--out", str(tmp_path / "made.jsonl")]
    assert cli.call([verb, *files, *out, "--teacher", "openai:m", *place]) == 2
    refusal = capsys.readouterr().err
    assert told in refusal
    assert refusal.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


def test_a_rollout_goes_on_at_another_address_but_not_with_other_sampling(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tasks, out = tmp_path / "tasks.jsonl", tmp_path / "traces.jsonl"
    records.write_atomic(
        tasks,
        [
            records.encode(Task(f"t{n}", "abstention", (Turn("Hi."),), servers=("banking",)))
            for n in range(2)
        ],
    )
    play = ["rollout", str(tasks), "--policy", "openai:m", "--out", str(out)]
    play += ["--concurrency", "1", "--base-url"]
    with ScriptedServer(answers=[says("Hello."), fails(400, "no")]) as server:
        assert cli.call([*play, server.url]) == 0
    with ScriptedServer(answers=[says("Hello.")]) as server:
        assert cli.call([*play, server.url, "--retry-masked"]) == 0
        assert len(server.requests) == 1
        capsys.readouterr()
        assert cli.call([*play, server.url, "--temperature", "0.5"]) == 2
    assert "(settings.temperature: null, now 0.5)" in capsys.readouterr().err


def test_a_rollout_at_a_wrong_base_url_is_refused_before_an_episode_is_played(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tasks, out = tmp_path / "tasks.jsonl", tmp_path / "traces.jsonl"
    records.write_atomic(tasks, [records.encode(Task("t", "abstention", (Turn("Sing"),)))])
    for url in ("nonsense", "http://host:99999/v1", "http://[::1/v1"):
        policy = ["--policy", "openai:m", "--base-url", url]
        assert cli.call(["rollout", str(tasks), *policy, "--out", str(out)]) == 2
        assert capsys.readouterr().err.startswith(f"error: {url!r} is no base URL; write it like")
    assert list(tmp_path.iterdir()) == [tasks]


# -- what goes wrong ends in a documented state and is counted ---------------------------------

SLOWLY = """
[run]
name = "r"
servers = ["banking"]
[synth.information]
complete = 1.0
missing_required = 0.0
minimal = 0.0
[teacher]
model = "m"
concurrency = 1
"""


@pytest.mark.parametrize(
    ("spoil", "times", "reason"),
    [
        (wish("Please pay Zebulon Quux at once."), 3, "ungrounded"),
        (step(failing), 3, "loop"),
        (garbage, 3, "broken_json"),
        (step(lambda request: says("All done!")), 4, "prose_only"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_a_teacher_gets_wrong_stands_in_the_yield_table(
    spoil: Spoiler,
    times: int,
    reason: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (tmp_path / "run.toml").write_text(SLOWLY)
    competent = Competent(Plan(3, ("banking",), ("banking",)), worlds=40)
    with ScriptedServer(spoiled_at_first(competent, spoil, times)) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        assert synth(tmp_path / "tasks.jsonl", str(tmp_path / "run.toml")) == 0
    shown = capsys.readouterr().out
    rows = dict(line.rsplit(None, 1) for line in shown.splitlines() if len(line.split()) == 2)
    assert "2 certified tasks of" in shown
    rejected = [r.reason for r in records.read(tmp_path / "rejections.jsonl", Rejection)]
    assert rejected[0] == reason
    assert rows[reason] == str(rejected.count(reason))


def test_a_teacher_that_is_away_for_a_while_costs_retries_and_no_candidate(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    away = spoiled_at_first(
        Competent(Plan(3, ("banking",), ("banking",)), worlds=40), lambda request: fails(503), 9
    )
    (tmp_path / "run.toml").write_text(SLOWLY)
    with ScriptedServer(away) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        assert synth(tmp_path / "tasks.jsonl", str(tmp_path / "run.toml")) == 0
    shown = capsys.readouterr()
    assert "trying again in" in shown.err
    rows = dict(line.rsplit(None, 1) for line in shown.out.splitlines() if len(line.split()) == 2)
    assert (rows["retries"], rows["lost_requests"]) == ("9", "0")
    assert "model_fault" not in rows


@pytest.mark.slow
def test_a_teacher_that_is_down_for_a_minute_is_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "run.toml").write_text(SLOWLY)
    with ScriptedServer(Competent(Plan(3, ("banking",), ("banking",)), worlds=40)) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        server.down()
        back = threading.Timer(60, server.up)
        back.start()
        assert synth(tmp_path / "tasks.jsonl", str(tmp_path / "run.toml")) == 0
        back.join()
    manifest = records.read_manifest(tmp_path / "tasks.jsonl")
    assert manifest
    # Pauses of 0.5, 1, 2, ... 32 seconds, each up to a quarter shorter.
    assert 7 <= manifest.cost["retries"] <= 8
    assert manifest.cost["lost_requests"] == 0
    assert "model_fault" not in capsys.readouterr().out


# -- teachers with a short name ----------------------------------------------------------------

ALIAS = '[run]\nname = "r"\nservers = ["banking"]\n[teacher]\npreset = "gemma-4-31b"\n'


def test_a_short_name_brings_the_model_its_sampling_and_whether_it_thinks(tmp_path: Path) -> None:
    with ScriptedServer(Competent(Plan(3, ("banking",), ("banking",)), worlds=40)) as server:
        arguments = ["--teacher", "qwen3-32b", "--base-url", server.url]
        assert synth(tmp_path / "tasks.jsonl", *arguments) == 0
        asked = server.requests[0]
    assert asked["model"] == "Qwen/Qwen3-32B"
    # Best Practices of the model's card, without thoughts.
    assert (asked["temperature"], asked["top_p"], asked["top_k"], asked["min_p"]) == (
        0.7,
        0.8,
        20,
        0,
    )
    assert asked["chat_template_kwargs"] == {"enable_thinking": False}


def test_a_teacher_with_a_short_name_and_no_endpoint_is_a_line_that_says_how_to_start_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    told = tmp_path / "run.toml"
    told.write_text(ALIAS)
    assert synth(tmp_path / "tasks.jsonl", str(told)) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(
        "error: no endpoint is named for the teacher gemma-4-31b: start one with"
    )
    assert "`vllm serve google/gemma-4-31B-it --max-model-len" in line
    assert line.endswith("set OPENAI_BASE_URL=http://127.0.0.1:8000/v1, or take --teacher offline")
    assert cli.call(["graph", str(told), "--out", str(tmp_path / "g.json"), "--edges", "llm"]) == 2
    assert not (tmp_path / "tasks.jsonl").exists()
    assert synth(tmp_path / "tasks.jsonl", str(told), "--teacher", "offline") == 0
