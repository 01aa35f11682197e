"""The viewer's server over real HTTP: who may ask, what it answers, what it refuses."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
from pathlib import Path
from threading import Event
from typing import Any

import httpx2
import pytest

from provegym import cli
from provegym.errors import InputError
from provegym.gateway.settings import Settings
from provegym.records import read
from provegym.rewards.success import success
from provegym.rewards.total import score
from provegym.types import Task, Trace
from provegym.viewer import app as viewer
from provegym.viewer import lists, place
from provegym.viewer.index import Index
from tests.viewer.conftest import STEPS, curve

TASKS = "train/tasks.jsonl"
AFTER, BEFORE = "eval/after.traces.jsonl", "eval/before.traces.jsonl"
PATHS = ("/", *viewer.PAGES, "/api/files", "/api/servers", "/static/main.js", "/api/runs")


def get(url: str, path: str, **params: Any) -> Any:
    answer = httpx2.get(f"{url}{path}", params=params, timeout=60)
    assert answer.status_code == 200, answer.text
    return answer.json()


def listed(url: str, path: str, file: str, **params: Any) -> Any:
    """A page of a list, asked again until its file is indexed."""
    while True:
        found = get(url, path, file=file, **params)
        progress = found["progress"]
        assert not progress["error"]
        if progress["done"] == progress["total"]:
            return found


def refused(url: str, path: str, **params: Any) -> tuple[int, str]:
    answer = httpx2.get(f"{url}{path}", params=params, timeout=60)
    return answer.status_code, answer.json()["error"]


# -- who may ask -------------------------------------------------------------------------------


@pytest.mark.parametrize("path", PATHS)
def test_another_name_or_another_page_is_turned_away(site: str, path: str) -> None:
    assert httpx2.get(f"{site}{path}", headers={"host": "evil.example"}).status_code == 421
    assert httpx2.get(f"{site}{path}", headers={"origin": "http://evil.example"}).status_code == 403
    assert httpx2.get(f"{site}{path}").status_code == 200


def test_a_form_of_another_page_opens_no_session(site: str) -> None:
    answer = httpx2.post(f"{site}/api/play", content=b'{"servers":["banking"]}')
    assert (answer.status_code, answer.json()["error"]) == (
        400,
        "the body has to be application/json",
    )


def test_no_answer_may_run_a_script_that_is_not_ours(site: str) -> None:
    for path in PATHS:
        headers = httpx2.get(f"{site}{path}").headers
        policy = dict(
            part.strip().split(" ", 1) for part in headers["content-security-policy"].split(";")
        )
        assert policy["default-src"] == "'none'"
        assert policy["script-src"] == "'self'"
        assert headers["x-content-type-options"] == "nosniff"


def test_it_listens_to_this_machine_alone() -> None:
    assert Settings(port=0).host == "127.0.0.1"
    with pytest.raises(InputError, match="can be reached from other machines"):
        Settings(host="0.0.0.0")


def test_only_record_files_of_the_folder_are_read(site: str) -> None:
    for name in ("run.json", "../demo/run.json", "/etc/passwd", "train/../run.json", ""):
        status, said = refused(site, "/api/traces", file=name)
        assert status in (400, 404), name
        assert "unknown file" in said
        assert refused(site, "/api/curves", file=name)[0] == 404
        assert refused(site, "/api/graph", file=name)[0] == 404
    assert httpx2.get(f"{site}/static/../app.py").status_code == 404
    assert httpx2.get(f"{site}/static/%2e%2e/app.py").status_code == 404


def test_the_page_asks_no_other_host_for_anything() -> None:
    for path in viewer.STATIC.iterdir():
        urls = re.findall(r"https?://[^\s\"'`)]+", path.read_text("utf-8"))
        assert set(urls) <= {"http://www.w3.org/2000/svg"}, path


def test_no_module_of_the_page_makes_markup_of_text() -> None:
    banned = ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "srcdoc")
    for path in viewer.STATIC.glob("*.js"):
        assert [word for word in banned if word in path.read_text("utf-8")] == [], path


# -- what it answers ---------------------------------------------------------------------------


def test_it_finds_the_files_by_their_kind(site: str) -> None:
    found = get(site, "/api/files")
    assert found["folder"] == "demo"
    kinds = {file["name"]: file["kind"] for file in found["files"]}
    assert (
        kinds
        == {
            TASKS: "tasks",
            "train/conversations.jsonl": "conversations",
            "train/rejections.jsonl": "rejections",
            AFTER: "traces",
            BEFORE: "traces",
            "grpo/curves.jsonl": "curves",
        }
        or kinds.pop("train/graph.json") == "graph"
    )


def test_all_servers_are_there_with_their_tools_and_tables(site: str) -> None:
    found = get(site, "/api/servers")
    assert len(found) == 20
    assert sum(each["tools"] for each in found) == 343
    bank = get(site, "/api/server", name="banking", seed=7)
    assert len(bank["tool_list"]) == bank["tools"] == 17
    sizes = {table["name"]: table["rows"] for table in bank["table_list"]}
    rows = get(site, "/api/rows", server="banking", seed=7, table="banking.accounts")
    assert rows["total"] == sizes["banking.accounts"] == 35
    some = get(site, "/api/rows", server="banking", seed=7, table="banking.accounts", q="SAVINGS")
    assert {row["kind"] for row in some["rows"]} == {"savings"}


def test_each_edge_of_a_graph_has_its_evidence(site: str) -> None:
    found = get(site, "/api/graph", server="banking")
    assert found["pairs"]["explicit"] == len([e for e in found["edges"] if e["kind"] == "explicit"])
    assert all(edge["evidence"] for edge in found["edges"])
    assert found["effects"]["pay_payee"] == "write"


def test_tasks_are_filtered_by_what_they_are(site: str, made: Path) -> None:
    known = list(read(made / TASKS, Task))
    for server in ("banking", "calendar"):
        wanted = [task.id for task in known if server in task.servers]
        found = listed(site, "/api/tasks", TASKS, server=server)
        assert [row["id"] for row in found["rows"]] == wanted
        assert found["facets"]["server"][server] == len(wanted)
    for kind in {task.kind for task in known}:
        wanted = [task.id for task in known if task.kind == kind]
        assert [r["id"] for r in listed(site, "/api/tasks", TASKS, kind=kind)["rows"]] == wanted
    wanted = [task.id for task in known if task.perturbations.distractors]
    found = listed(site, "/api/tasks", TASKS, perturbation="distractors")
    assert wanted
    assert [row["id"] for row in found["rows"]] == wanted
    longest = max(len(task.ground_truth) for task in known)
    found = listed(site, "/api/tasks", TASKS, calls=longest)
    assert {row["calls"] for row in found["rows"]} == {longest}


def test_traces_have_the_scores_of_the_reward_and_success_of_evaluation(
    site: str, made: Path
) -> None:
    known = {task.id: task for task in read(made / TASKS, Task)}
    found = {row["id"]: row for row in listed(site, "/api/traces", BEFORE)["rows"]}
    traces = list(read(made / BEFORE, Trace))
    assert len(found) == len(traces) == 12
    for trace in traces:
        judged = score(known[trace.task_id], trace, "strict")
        row = found[trace.id]
        assert (row["reward"], row["argument"]) == (judged.normalized, judged.argument)
        assert (row["result"] == "success") == success(known[trace.task_id], trace, judged)
    assert listed(site, "/api/traces", AFTER)["facets"]["result"] == {"success": 12}


def test_failures_come_first_where_asked_and_the_other_policy_stands_beside(site: str) -> None:
    found = listed(site, "/api/traces", BEFORE, order="failed first", against=AFTER)["rows"]
    results = [row["result"] for row in found]
    assert results == sorted(results)  # "failed" before "success"
    assert results[0] == "failed"
    assert {row["other"] for row in found} == {1.0}  # the oracle's


def test_an_episode_is_told_with_every_reason(site: str) -> None:
    listed(site, "/api/traces", AFTER)
    rows = listed(site, "/api/traces", AFTER, order="most calls")["rows"]
    found = get(site, "/api/trace", file=AFTER, id=rows[0]["id"], preset="strict")
    assert found["score"]["normalized"] == 1
    assert sum(bar["part"] for bar in found["bars"]) == pytest.approx(found["score"]["total"])
    assert [note["mistake"] for note in found["calls"]] == [""] * rows[0]["calls"]
    assert found["first"]["kind"] == ""
    assert all(atom["equal"] for atom in found["state"])
    paper = get(site, "/api/trace", file=AFTER, id=rows[0]["id"], preset="paper")
    assert paper["score"]["max_total"] == pytest.approx(1.3)


def test_a_task_tells_where_it_was_played(site: str, made: Path) -> None:
    listed(site, "/api/traces", AFTER)
    listed(site, "/api/traces", BEFORE)
    task = next(read(made / TASKS, Task)).id
    assert {row["file"] for row in get(site, "/api/played", task=task)} == {AFTER, BEFORE}


def test_a_task_tells_where_it_was_played_before_anybody_listed_that(
    url: str, run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(place, "PATIENCE", 60.0)  # a busy machine may need longer than usual
    task = next(read(run / TASKS, Task)).id
    assert {row["file"] for row in get(url, "/api/played", task=task)} == {AFTER, BEFORE}


def test_the_yield_counts_every_candidate(site: str, made: Path) -> None:
    found = get(site, "/api/synthesis", file="train/rejections.jsonl")
    lost = (made / "train" / "rejections.jsonl").read_text("utf-8").splitlines()
    assert sum(found["lost"].values()) == len(lost)
    assert found["certified"] == sum(found["kinds"].values()) == 12


def test_runs_name_their_files(site: str) -> None:
    (found,) = get(site, "/api/runs")
    assert (found["name"], found["curves"]) == ("demo", ["grpo/curves.jsonl"])
    assert found["synthesis"] == [{"rejections": "train/rejections.jsonl", "tasks": TASKS}]
    assert found["played"] == [AFTER, BEFORE]


def test_curves_give_only_what_they_grew_by_and_no_half_line(url: str, run: Path) -> None:
    path = run / "grpo" / "curves.jsonl"
    first = get(url, "/api/curves", file="grpo/curves.jsonl")
    assert [row["step"] for row in first["rows"]] == list(range(1, STEPS + 1))
    row = curve(STEPS + 1)
    with path.open("a", encoding="utf-8") as file:
        file.write(row[:20])
        file.flush()
        more = {"file": "grpo/curves.jsonl", "from": first["next"]}
        assert get(url, "/api/curves", **more) == {"rows": [], "next": first["next"]}
        file.write(row[20:])
        file.flush()
    assert [row["step"] for row in get(url, "/api/curves", **more)["rows"]] == [STEPS + 1]
    path.write_text(curve(1), "utf-8")  # begun anew, so shorter
    assert [row["step"] for row in get(url, "/api/curves", **more)["rows"]] == [1]


def test_a_session_is_played_over_http(site: str) -> None:
    def post(path: str, **body: Any) -> Any:
        answer = httpx2.post(f"{site}{path}", json=body, timeout=60)
        return answer.status_code, answer.json()

    name = post("/api/play", seed=7, servers=["banking"])[1]["id"]
    given = get(site, f"/api/play/{name}/example", name="add_payee")
    _, played = post(f"/api/play/{name}/call", name="add_payee", arguments=given)
    assert [change["kind"] for change in played["changes"]] == ["created"]
    twin = post(f"/api/play/{name}/fork")[1]["id"]
    assert post(f"/api/play/{name}/undo")[1]["changes"] == []
    assert get(site, f"/api/play/{twin}")["changes"] == played["changes"]
    rows = get(site, f"/api/play/{twin}/rows", table="banking.payees")
    assert played["changes"][0]["row"] in [row["id"] for row in rows["rows"]]
    assert post(f"/api/play/{name}/undo") == (400, {"error": "there is no call to take back"})
    assert post(f"/api/play/{twin}/close")[0] == 200
    assert refused(site, f"/api/play/{twin}")[0] == 404


def test_what_cannot_be_answered_is_one_clear_line(site: str) -> None:
    assert refused(site, "/api/tasks") == (400, "the question lacks file")
    assert refused(site, "/api/server", name="bank")[1].startswith("unknown server 'bank'; known:")
    assert refused(site, "/api/server", name="banking", seed="-1")[0] == 400
    assert refused(site, "/api/rows", server="banking", table="nope")[0] == 404
    ids = [row["id"] for row in listed(site, "/api/tasks", TASKS)["rows"]]
    assert len(ids) > 0
    assert refused(site, "/api/task", file=TASKS, id="nope") == (
        404,
        f"unknown task 'nope'; known: {', '.join(ids[:20])}",
    )
    assert refused(site, "/api/trace", file=AFTER, id="nope")[1].startswith(
        "unknown trace 'nope'; known: "
    )
    listed(site, "/api/traces", AFTER)
    some = listed(site, "/api/traces", AFTER)["rows"][0]["id"]
    assert "unknown preset" in refused(site, "/api/trace", file=AFTER, id=some, preset="kind")[1]
    told = httpx2.post(
        f"{site}/api/play", content=b"[", headers={"content-type": "application/json"}
    )
    assert told.status_code == 400


@pytest.mark.parametrize(
    ("path", "asked"),
    [
        ("/api/task", {"file": TASKS, "id": "x", "preset": "strict"}),
        ("/api/traces", {"file": AFTER, "preset": "strict"}),
        ("/api/runs", {"preset": "strict"}),
        ("/api/server", {"name": "banking", "preset": "strict"}),
    ],
)
def test_what_a_question_has_no_use_for_is_refused_and_not_passed_over(
    site: str, path: str, asked: dict[str, Any]
) -> None:
    status, said = refused(site, path, **asked)
    assert status == 400
    assert said.startswith("unknown parameter 'preset'; ")


@pytest.mark.parametrize(
    ("path", "body", "said"),
    [
        (
            "",
            {"servers": "banking"},
            "servers is 'banking'; give a list of names, as [\"banking\"]",
        ),
        ("", {"servers": [7]}, 'servers is [7]; give a list of names, as ["banking"]'),
        ("", {"servers": ["banking"], "sed": 7}, "unknown field 'sed'; known: seed, servers"),
        ("/call", {"name": 7}, "name is 7; give the name of a tool"),
        ("/call", {"arguments": {}}, "name is None; give the name of a tool"),
        ("/call", {"name": "x", "args": {}}, "unknown field 'args'; known: name, arguments"),
        ("/undo", {"steps": 2}, "unknown field 'steps'; none is taken here"),
    ],
)
def test_a_body_that_says_what_it_cannot_is_refused(
    site: str, path: str, body: dict[str, Any], said: str
) -> None:
    game = httpx2.post(f"{site}/api/play", json={"servers": ["banking"]}).json()["id"]
    where = f"{site}/api/play/{game}{path}" if path else f"{site}/api/play"
    answer = httpx2.post(where, json=body)
    assert (answer.status_code, answer.json()["error"]) == (400, said)


def test_a_tool_that_a_game_does_not_have_is_told_with_those_that_it_has(site: str) -> None:
    game = httpx2.post(f"{site}/api/play", json={"servers": ["banking"]}).json()["id"]
    status, said = refused(site, f"/api/play/{game}/example", name="pay")
    assert status == 404
    assert said.startswith("unknown tool 'pay'; known: ")
    assert "add_payee" in said


def test_traces_without_their_tasks_are_shown_unscored(url: str, run: Path) -> None:
    for path in (run / "train").iterdir():
        path.unlink()
    found = listed(url, "/api/traces", AFTER)
    assert found["facets"]["result"] == {"unscored": 12}
    some = get(url, "/api/trace", file=AFTER, id=found["rows"][0]["id"])
    assert some["task"] is None
    assert some["trace"]["messages"]


def test_a_folder_that_is_none_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="is no folder"):
        viewer.app(tmp_path / "nope", Settings(port=0))


def test_traces_that_are_written_meanwhile_are_listed(url: str, run: Path) -> None:
    path = run / AFTER
    lines = path.read_text("utf-8").splitlines(keepends=True)
    path.write_text("".join(lines[:5]), "utf-8")
    assert listed(url, "/api/traces", AFTER)["total"] == 5
    with path.open("a", encoding="utf-8") as file:
        file.writelines(lines[5:])
    assert listed(url, "/api/traces", AFTER)["total"] == 12
    assert json.loads(lines[-1])["id"] in [
        r["id"] for r in listed(url, "/api/traces", AFTER)["rows"]
    ]


def test_a_list_is_not_called_whole_while_rows_of_it_are_missing(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    read, commit, page = Event(), Index._commit, lists.page

    def late(self: Index, *told: Any) -> bool:
        assert read.wait(60)
        return commit(self, *told)

    def first(index: Index, *told: Any) -> Any:
        found = page(index, *told)
        read.set()
        index.wait(60)  # the worst moment: whole just after its rows were read
        return found

    monkeypatch.setattr(Index, "_commit", late)
    monkeypatch.setattr(lists, "page", first)
    found = get(url, "/api/tasks", file=TASKS)
    assert found["rows"] == []
    assert found["progress"]["done"] < found["progress"]["total"]
    assert listed(url, "/api/tasks", TASKS)["total"] == 12


# -- the verb ----------------------------------------------------------------------------------


def test_the_verb_serves_a_folder_until_it_is_interrupted(made: Path) -> None:
    command = [sys.executable, "-c", "from provegym import cli; cli.main()", "view", str(made)]
    with subprocess.Popen([*command, "--port", "0"], stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr
        where = re.fullmatch(r"look at (http://127\.0\.0\.1:\d+)\n", process.stderr.readline())
        assert where
        assert get(where[1], "/api/files")["folder"] == "demo"
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 0


def test_the_verb_refuses_what_is_no_folder_in_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.call(["view", str(tmp_path / "nope")]) == 2
    assert capsys.readouterr().err.count("\n") == 1
