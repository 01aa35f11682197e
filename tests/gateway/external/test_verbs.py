"""The ordinary verbs on an external server, from `add` to a score."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest

from provegym.gateway.external.settings import External
from provegym.llm.scripted import Json, Response, ScriptedServer, says
from provegym.names import servers_named
from provegym.records import read
from provegym.synth.make import Plan
from provegym.types import Task
from tests.conftest import Command
from tests.synth.competent import Competent

pytestmark = pytest.mark.usefixtures("known_servers")


def test_the_whole_pipeline_makes_ten_certified_tasks_that_the_oracle_solves(
    provegym: Command, shop: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(shop, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    assert "tickets_close" in provegym("servers", "show", "desk").out
    assert provegym("graph", "--servers", "desk").code == 0
    made = provegym(
        *("synth", "--servers", "desk", "--limit", "10", "--seed", "7", "--out", "tasks.jsonl"),
        "--json",
    )
    assert json.loads(made.out)["tasks"] == 10
    tasks = list(read(tmp_path / "tasks.jsonl", Task))
    assert all(task.certificate.passed for task in tasks)
    assert all(task.certificate.checks["two_processes_agree"] for task in tasks)
    assert all("deterministic" in t.certificate.checks for t in tasks if t.ground_truth)
    assert any(task.final_changes for task in tasks)
    assert any(call.refs for task in tasks for _, call in task.ground_truth)
    assert provegym("certify", "tasks.jsonl").code == 0
    means = {}
    for policy in ("oracle", "noop"):
        out = f"{policy}.jsonl"
        assert provegym("rollout", "tasks.jsonl", "--policy", policy, "--out", out).code == 0
        files = ("--tasks", "tasks.jsonl", "--traces", out, "--out", f"{policy}-scores.jsonl")
        scored = provegym("score", *files, "--preset", "strict", "--json")
        means[policy] = json.loads(scored.out)["means"]["normalized"]
    assert means["oracle"] == 1.0
    assert means["noop"] < 0.5


def test_add_lists_the_server_and_writes_its_settings_beside_others(
    provegym: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, told: External
) -> None:
    monkeypatch.chdir(tmp_path)
    kept = '# mine\n[servers.other]\nurl = "http://127.0.0.1:9/mcp"\n'
    (tmp_path / "provegym.toml").write_text(kept)
    options = ("--reset", "start_over", "--snapshot", "whole_desk", "--volatile", "id")
    ran = provegym("add", "desk", "--command", told.command, *options)
    assert ran.code == 0, ran.err
    assert "tickets_list      read    probing" in ran.out
    text = (tmp_path / "provegym.toml").read_text()
    assert text.startswith(kept)
    assert "[servers.desk]" in text
    assert (tmp_path / ".provegym/desk.json").exists()
    shown = provegym("servers", "show", "desk", "--json")
    assert len(json.loads(shown.out)) == 9
    again = provegym("add", "desk", "--command", told.command)
    assert again.code == 2
    assert again.err.startswith("error: there is a server 'desk' already")


def test_three_hundred_tools_are_added_by_their_list_alone(
    provegym: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    command = f"{sys.executable} {Path(__file__).with_name('shelves.py')} 300"
    ran = provegym("add", "shelves", "--command", command, "--seconds", "120", "--no-probe")
    assert ran.code == 0, ran.err
    assert "\nprobe = false\n" in (tmp_path / "provegym.toml").read_text()
    assert ran.out.splitlines()[-3:] == [
        "not probed: nothing is known of its state",
        "300 tools: a task shows 128 at most",
        "shelves: 300 tools; provegym.toml has its settings",
    ]


def test_a_language_model_as_the_teacher_makes_tasks_on_it(
    provegym: Command, shop: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(shop, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    with ScriptedServer(Competent(Plan(5, ("desk",), ("desk",)), worlds=40)) as model:
        teacher = ("--teacher", "openai:m", "--base-url", model.url)
        synth = ("synth", "--servers", "desk", "--seed", "5", "--limit", "3", "--out", "m.jsonl")
        ran = provegym(*synth, *teacher)
    assert ran.code == 0, ran.err
    tasks = list(read(tmp_path / "m.jsonl", Task))
    assert [task.teacher for task in tasks] == ["m"] * 3
    assert any(call.refs for task in tasks for _, call in task.ground_truth)


def test_one_server_over_http_is_shared_by_both_processes_and_by_many_episodes(
    provegym: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, url: str
) -> None:
    monkeypatch.chdir(tmp_path)
    options = ("--reset", "start_over", "--snapshot", "whole_desk", "--volatile", "id")
    faults = ("--hide", "get_crash", "--hide", "get_hang")
    assert provegym("add", "desk", "--url", url, *options, *faults).code == 0
    synth = ("synth", "--servers", "desk", "--limit", "4", "--seed", "7", "--out", "t.jsonl")
    ran = provegym(*synth)
    assert ran.code == 0, ran.err
    played = provegym("rollout", "t.jsonl", "--policy", "oracle", "--out", "o.jsonl", "--json")
    assert json.loads(played.out)["masked"] == 0, played.err
    files = ("--tasks", "t.jsonl", "--traces", "o.jsonl", "--out", "s.jsonl")
    scored = provegym("score", *files, "--preset", "strict", "--json")
    assert json.loads(scored.out)["means"]["normalized"] == 1


def no_edges(request: Json) -> Response:
    """A model that sees no tool that needs another."""
    told = request["messages"][-1]["content"]
    none = {"b_needs_a": "none", "a_needs_b": "none", "why": ""}
    numbers = re.findall(r"^(\d+)\. A = ", told, re.MULTILINE)
    return says(json.dumps({"pairs": [{"pair": int(n), **none} for n in numbers]}))


def test_a_language_model_is_asked_about_its_graph(
    provegym: Command, shop: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(shop, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    with ScriptedServer(no_edges) as model:
        asked = ("--edges", "union", "--teacher", "openai:m", "--base-url", model.url)
        ran = provegym("graph", "--servers", "desk", *asked, "--json")
    assert ran.code == 0, ran.err
    edges = json.loads(ran.out)["edges"]
    pairs = {(edge["source"], edge["target"]) for edge in edges}
    assert ("tickets_list", "tickets_close") in pairs


MISTAKES: list[tuple[tuple[str, ...], int, str]] = [
    (("add", "Desk", "--command", "x"), 2, "a server's name is a-z"),
    (("add", "desk"), 2, "error: server desk: give either --command or --url"),
    (("add", "desk", "--command", "x", "--url", "http://a"), 2, "either --command or --url"),
    (("add", "desk", "--command", "x", "--seconds", "0"), 2, "seconds, processes and"),
    (("add", "desk", "--command", "cat"), 2, "server desk is no MCP server (cat)"),
    (
        ("add", "desk", "--command", "true"),
        2,
        "it ended where one waits for requests; its exit code is 0",
    ),
    (("add", "", "--command", "x"), 2, "the first of them a letter, not ''"),
    (
        ("add", "desk", "--url", "http://127.0.0.1:9/mcp"),
        2,
        "server desk cannot be reached at http://127.0.0.1:9/mcp: ",
    ),
    (("add", "desk", "--command", "x", "--files", "/etc"), 2, "'/etc' is no folder below"),
    (("add", "desk", "--command", "x", "--files", "../.."), 2, "'../..' is no folder below"),
    (("add", "desk", "--command", "x", "--files", "."), 2, "'.' is no folder below"),
    (
        ("add", "desk", "--command", "no-such-program"),
        2,
        "no-such-program: No such file or directory",
    ),
    (("add", "desk", "--command", "/etc"), 2, "/etc: Permission denied"),
    (
        ("add", "desk", "--command", "sh -c 'echo no key >&2; exit 7'"),
        1,
        "server desk ended: Connection closed; its exit code is 7; it said: no key",
    ),
    (("add", "desk", "--command", "x", "--env", "A"), 2, "--env 'A' is not NAME=VALUE"),
    (("add", "desk", "--command", "x", "--files", "nowhere"), 2, "no folder 'nowhere'"),
    (("add", "banking", "--command", "x"), 2, "there is a server 'banking' already"),
]


@pytest.mark.parametrize(("arguments", "code", "why"), MISTAKES)
def test_what_cannot_be_added_is_said_in_one_line_and_nothing_is_written(
    provegym: Command,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    arguments: tuple[str, ...],
    code: int,
    why: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    ran = provegym(*arguments)
    assert (ran.code, ran.out, ran.err.count("\n")) == (code, "", 1), ran.err
    assert why in ran.err
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_lies_beside_the_settings_alone_is_told_with_how_to_write_it(
    provegym: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "desk.py").write_text("")
    ran = provegym("add", "desk", "--command", f"{sys.executable} desk.py")
    assert (ran.code, ran.err.count("\n")) == (2, 1)
    assert ran.err.endswith("write it as {home}/desk.py\n")


RAW = Path(__file__).with_name("raw.py")


@pytest.mark.parametrize(
    ("schema", "told"),
    [
        ('"x"', "tools.0.inputSchema is 'x'"),
        ("null", "tools.0.inputSchema is None"),
        ('{"type":7}', "tools.0.inputSchema.type is 7"),
        ('{"type":"object","properties":{"a":7}}', "tools.0.inputSchema.properties.a is 7"),
        ("{}", "tools.0.inputSchema.type is missing"),
    ],
)
def test_a_tool_without_a_schema_is_told_in_words_of_ours(
    provegym: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, schema: str, told: str
) -> None:
    monkeypatch.chdir(tmp_path)
    command = shlex.join([sys.executable, str(RAW), f"schema:{schema}"])
    ran = provegym("add", "raw", "--command", command)
    words = f"error: server raw breaks MCP while listing its tools: {told}; mend the server\n"
    assert (ran.code, ran.err) == (2, words)
    assert not (tmp_path / "provegym.toml").exists()


def test_how_long_a_call_may_take_is_told_to_add(
    provegym: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, told: External
) -> None:
    monkeypatch.chdir(tmp_path)
    options = ("--reset", "start_over", "--snapshot", "whole_desk", "--volatile", "id")
    ran = provegym("add", "desk", "--command", told.command, "--seconds", "77.5", *options)
    assert ran.code == 0, ran.err
    assert "\nseconds = 77.5\n" in (tmp_path / "provegym.toml").read_text()


def test_a_mistake_in_one_table_stops_only_what_uses_that_server(
    provegym: Command, shop: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(shop, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    with (tmp_path / "provegym.toml").open("a") as file:
        file.write("\n[servers.x]\ncomand = 'y'\n")
    why = "servers.x: unknown key 'comand'; did you mean 'command'?"
    for used in (("servers", "show", "x"), ("synth", "--servers", "x", "--out", "x.jsonl")):
        ran = provegym(*used)
        assert (ran.code, ran.out, ran.err.count("\n")) == (2, "", 1), ran.err
        assert why in ran.err
    assert provegym("servers", "show", "banking").err == ""
    assert "tickets_close" in provegym("servers", "show", "desk").out
    listed = provegym("servers", "list", "--json")
    assert {"desk", "banking"} <= {row["server"] for row in json.loads(listed.out)}
    assert listed.err.startswith("x is left out: ")
    assert (listed.code, listed.err.count("\n")) == (0, 1)
    made = provegym("synth", "--servers", "banking", "--limit", "1", "--out", "t.jsonl")
    assert (made.code, why in made.err) == (0, True), made.err


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("[servers", "Expected ']'"),
        ("servers = 3", "tables [servers.NAME] and nothing else"),
        ('[servers.banking]\ncommand = "x"', "there is a server 'banking' already"),
    ],
)
def test_a_file_that_holds_no_servers_is_told_in_one_line_and_the_library_works(
    provegym: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, why: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "provegym.toml").write_text(text)
    ran = provegym("servers", "show", "banking", "--json")
    assert (ran.code, ran.err.count("\n")) == (0, 1)
    assert ran.err.startswith(f"error: {tmp_path / 'provegym.toml'}: ")
    assert why in ran.err
    assert json.loads(ran.out)
    for needs in (("servers", "show", "desk"), ("synth", "--servers", "desk", "--out", "t.jsonl")):
        named = provegym(*needs)
        assert (named.code, named.err) == (2, ran.err)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (b"[other]", "it may hold tables [servers.NAME] and nothing else"),
        (b"[servers.x]\n# \xff\n", "line 2 is not UTF-8; save the file as UTF-8"),
    ],
)
def test_what_nothing_can_be_added_to_is_told_in_one_line(
    provegym: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: bytes, why: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "provegym.toml").write_bytes(text)
    ran = provegym("add", "desk", "--command", "cat")
    assert (ran.code, ran.out, ran.err) == (2, "", f"error: {tmp_path / 'provegym.toml'}: {why}\n")


def test_a_name_that_no_server_has_is_told_beside_a_mistake_in_another_table(
    provegym: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    text = "[servers.banking]\ncommand = 'x'\n[servers.desk]\ncommand = 'x'\n"
    (tmp_path / "provegym.toml").write_text(text)
    ran = provegym("servers", "show", "deks")
    assert ran.code == 2
    assert [line.partition(";")[0] for line in ran.err.splitlines()] == [
        f"error: {tmp_path / 'provegym.toml'}: there is a server 'banking' already",
        "error: unknown server 'deks'",
    ]


@pytest.mark.parametrize("name", ["Desk", "my-desk", "9", "d" * 25, '"my desk"', '""'])
def test_a_name_that_no_server_can_have_is_told_and_never_listed_among_the_known(
    provegym: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.chdir(tmp_path)
    text = f"[servers.{name}]\ncommand = 'x'\n[servers.good]\ncommand = 'x'\n"
    (tmp_path / "provegym.toml").write_text(text)
    told, unknown = provegym("servers", "show", "deks").err.splitlines()
    plain = name.strip('"')
    place = f"{tmp_path / 'provegym.toml'}: servers.{plain!r}"
    assert told.startswith(f"error: {place}: a server's name is a-z, 0-9 and _, at most 24")
    known = unknown.partition("known: ")[2].split(", ")
    assert "good" in known
    assert plain not in known


def test_a_server_outside_that_cannot_be_started_disturbs_no_other(
    provegym: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "provegym.toml").write_text("[servers.lost]\ncommand = 'no-such-program'\n")
    synth = ("synth", "--servers", "banking", "--limit", "1", "--out", "t.jsonl")
    ran = provegym(*synth)
    assert ran.code == 0, ran.err
    assert "lost is left out: server lost cannot be started: no-such-program" in ran.err
    assert "lost" not in servers_named(None)
    assert provegym("servers", "show", "lost").code == 2


def test_the_contract_is_not_for_servers_outside(
    provegym: Command, shop: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(shop)
    ran = provegym("servers", "check", "desk")
    assert ran.code == 2
    assert ran.err.startswith("error: desk runs outside")


def told_of(path: Path) -> list[Any]:
    """All of the tasks but results, for the dice show others each time."""
    tasks = read(path, Task)
    return [
        (t.id, t.final_changes, t.tools, [(c.name, c.arguments, c.refs) for _, c in t.ground_truth])
        for t in tasks
    ]


def test_a_synthesis_that_was_killed_goes_on_and_ends_as_one_that_was_not(
    provegym: Command, shop: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(shop, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    synth: tuple[Any, ...] = ("synth", "--servers", "desk", "--seed", "3")
    assert provegym(*synth, "--limit", "4", "--out", "whole.jsonl").code == 0
    whole = (tmp_path / "whole.jsonl").read_bytes()
    for path in tmp_path.glob("whole*"):
        shutil.copy(path, path.name.replace("whole", "part"))
    lines = whole.splitlines(keepends=True)
    (tmp_path / "part.jsonl").write_bytes(b"".join(lines[:2]) + lines[2][:40])
    manifest = tmp_path / "part.jsonl.manifest.json"
    left = json.loads(manifest.read_text())
    manifest.write_text(json.dumps({**left, "complete": False}))
    assert provegym(*synth, "--limit", "4", "--out", "part.jsonl").code == 0
    assert told_of(tmp_path / "part.jsonl") == told_of(tmp_path / "whole.jsonl")
