"""The verb `synth` with a language model as the teacher."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from provegym import cli, records
from provegym.llm.scripted import ScriptedServer
from provegym.synth.make import Plan
from provegym.types import Task, Turn
from tests.synth.competent import Competent

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
        (["--teacher", "openai:"], "unknown teacher 'openai:'; known: offline, openai:MODEL"),
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
