"""The command line: exit codes, one line for each mistake, what is shown with and without a tty."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from provegym import __version__, cli, records, terminal
from provegym.errors import InfrastructureError, InputError
from provegym.types import Call, GroundCall, Score, Task, Trace, Turn
from tests.conftest import Command, Ran

ROOT = Path(__file__).parents[1]
HEAVY = (
    "torch",
    "transformers",
    "trl",
    "networkx",
    "faker",
    "rich.console",
    "openai",
)


@pytest.fixture
def scored(tmp_path: Path) -> list[str]:
    """Arguments of `score` for a perfect and a silent trace of a task with one call."""
    call = GroundCall("g0", "pay", {"amount": 3})
    task = Task("k", "workflow", (Turn("pay 3", (call,)),))
    perfect = Trace("t1", "k", (Call("pay", {"amount": 3}, 0, 0, "ok"),))
    records.write_atomic(tmp_path / "tasks.jsonl", [records.encode(task)])
    traces = [records.encode(trace) for trace in (perfect, Trace("t2", "k", ()))]
    records.write_atomic(tmp_path / "traces.jsonl", traces)
    files = {name: str(tmp_path / f"{name}.jsonl") for name in ("tasks", "traces", "out")}
    return ["score", *(part for name, path in files.items() for part in (f"--{name}", path))]


def verbs() -> list[list[str]]:
    """Every verb, those of groups as two words."""
    plain = [
        [command.name or command.callback.__name__]
        for command in cli.app.registered_commands
        if command.callback
    ]
    grouped = [
        [group.name, command.name or command.callback.__name__]
        for group in cli.app.registered_groups
        if group.typer_instance and isinstance(group.name, str)
        for command in group.typer_instance.registered_commands
        if command.callback
    ]
    return plain + grouped


def test_help_and_version_exit_with_0(provegym: Command) -> None:
    assert provegym().out == provegym("--help").out
    assert provegym("--version") == Ran(0, f"{__version__}\n", "")


@pytest.mark.parametrize("verb", verbs(), ids=" ".join)
def test_the_help_of_every_verb_shows_an_example(provegym: Command, verb: list[str]) -> None:
    told = provegym(*verb, "--help")
    assert told.code == 0
    assert f"  provegym {' '.join(verb)}" in told.out.split("Example:")[1]


def test_help_imports_nothing_heavy() -> None:
    script = f"""
import sys
from provegym import cli
cli.call(["--help"])
assert not [name for name in {HEAVY!r} if name in sys.modules]
"""
    subprocess.run([sys.executable, "-c", script], check=True, stdout=subprocess.DEVNULL, cwd=ROOT)


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["nope"], "No such command 'nope'."),
        (["--nope"], "No such option: --nope"),
        (["score"], "Missing option '--tasks'."),
        (["score", "--tasks"], "Option '--tasks' requires an argument."),
        (["score", "extra", "--tasks=a", "--traces=b", "--out=c"], "extra argument"),
        (["eval", "m", "--concurrency", "1000000"], "Input should be less than or equal to 1000"),
        (
            ["rollout", "t", "--policy=noop", "--out=o", "--concurrency=1001"],
            "Input should be less than or equal to 1000",
        ),
        (["serve", "--http", "--workers", "1000000"], "less than or equal to 1000"),
        (
            ["benchmark", "make", "c", "--seal=s", "--out=o", "--limit=99999999999"],
            "less than or equal to 10000000",
        ),
    ],
)
def test_a_wrong_command_line_is_one_line_and_2(
    provegym: Command, arguments: list[str], told: str
) -> None:
    ran = provegym(*arguments)
    assert (ran.code, ran.out, ran.err.count("\n")) == (2, "", 1)
    assert ran.err.startswith("error: ")
    assert told in ran.err


def test_score_writes_the_scores_and_a_summary(provegym: Command, scored: list[str]) -> None:
    ran = provegym(*scored)
    assert (ran.code, ran.err) == (0, "")
    assert "total       0.65\n" in ran.out  # a perfect trace is 1.3 and a silent one 0
    assert "2 traces, 0 masked\n" in ran.out
    assert len(Path(scored[-1]).read_bytes().splitlines()) == 2


def test_score_speaks_json_and_takes_presets_that_begin_with_a_dash(
    provegym: Command, scored: list[str]
) -> None:
    told = json.loads(provegym(*scored, "--json", "--preset=-validity").out)
    assert (told["preset"], told["count"]) == ("-validity", 2)
    assert told["means"]["total"] == pytest.approx(0.4)  # (0.5 + 0.2 + 0.1) / 2


def test_score_says_where_the_reasons_are(provegym: Command, scored: list[str]) -> None:
    ran = provegym(*scored, "--explain")
    reasons = ran.out.splitlines()[-1].removeprefix("reasons: ")
    assert "pay" in Path(reasons).read_text("utf-8")
    told = json.loads(provegym(*scored, "--explain", "--json").out)
    assert told["explained"] == reasons


def test_a_file_without_traces_is_refused_by_all_who_read_it(
    provegym: Command, scored: list[str]
) -> None:
    tasks, traces, out = scored[2], scored[4], scored[-1]
    Path(traces).write_bytes(b"")
    rescore = ["rescore", "--tasks", tasks, "--traces", traces, "--out", out]
    for command in (scored, rescore, ["eval", tasks, traces]):
        ran = provegym(*command)
        assert (ran.code, ran.out) == (2, "")
        assert f"{traces} holds no trace; make some with `provegym rollout`" in ran.err
    assert not Path(out).exists()


def test_bad_input_is_one_line_and_2_and_writes_nothing(
    provegym: Command, scored: list[str]
) -> None:
    unknown = provegym(*scored, "--preset", "kind")
    assert unknown.code == 2
    assert unknown.err.startswith("error: unknown preset 'kind'; known: paper, strict")
    traces = Path(scored[4])
    traces.write_bytes(traces.read_bytes() + b"{broken\n")
    broken = provegym(*scored)
    assert broken.code == 2
    assert broken.err.startswith(f"error: {traces}:3: JSON is malformed")
    assert not Path(scored[-1]).exists()


@pytest.mark.parametrize(
    ("error", "code", "told"),
    [
        (InputError("two\nlines"), 2, "error: two lines\n"),
        (InfrastructureError("gone"), 1, "error: gone\n"),
        (KeyboardInterrupt(), 130, "interrupted\n"),
        (
            ModuleNotFoundError("No module named 'trl'", name="trl"),
            2,
            "error: trl is needed: pip install 'provegym[train]'\n",
        ),
    ],
    ids=["input", "infrastructure", "interrupt", "extra"],
)
def test_errors_of_a_stage_end_in_their_exit_code(
    provegym: Command,
    scored: list[str],
    monkeypatch: pytest.MonkeyPatch,
    error: BaseException,
    code: int,
    told: str,
) -> None:
    def fails(*_: object) -> None:
        raise error

    monkeypatch.setattr("provegym.scoring.score_files", fails)
    assert provegym(*scored) == Ran(code, "", told)


def test_what_is_made_of_an_unfinished_file_says_so(provegym: Command, scored: list[str]) -> None:
    tasks, traces, out = scored[2], scored[4], scored[-1]
    rescore = ["rescore", "--tasks", tasks, "--traces", traces, "--out", out]
    told = f"{traces} is unfinished; what there is of it is taken"
    for complete, lines in ((False, [told]), (True, [])):
        records.write_manifest(traces, records.Manifest("traces", complete=complete, rows=2))
        for command in (scored, rescore, ["eval", tasks, traces]):
            ran = provegym(*command)
            assert ran.code == 0
            news = [line for line in ran.err.splitlines() if "replay" not in line]
            assert news == lines, command


def test_a_missing_module_of_our_own_is_not_taken_for_an_extra(
    provegym: Command, scored: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: object) -> None:
        raise ModuleNotFoundError("No module named 'provegym.x'", name="provegym.x")

    monkeypatch.setattr("provegym.scoring.score_files", fails)
    with pytest.raises(ModuleNotFoundError):
        provegym(*scored)


# --- stages, one after another -------------------------------------------------------------


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file of eight certified tasks over the bank."""
    out = tmp_path_factory.mktemp("made") / "tasks.jsonl"
    arguments = ["synth", "--limit", "8", "--seed", "5", "--servers", "banking", "--out", str(out)]
    assert cli.call(arguments) == 0
    return out


def test_synth_writes_as_many_certified_tasks_as_asked_for(made: Path) -> None:
    tasks = list(records.read(made, Task))
    assert len(tasks) == 8
    assert all(task.certificate.passed for task in tasks)


@pytest.mark.parametrize("why", ["no manifest beside it", "cannot read nowhere.jsonl"])
def test_a_refused_synthesis_leaves_nothing(
    provegym: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, why: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("c.toml").write_text(
        """[run]
        name = "c"
        servers = ["banking"]
        [synth.mix]
        kinds = { workflow = 1, clarification = 1, abstention = 1 }
        abstentions = ["nowhere.jsonl"]
        """
    )
    command = ["synth", "c.toml", "--out", "tasks.jsonl"]
    if "manifest" in why:
        Path("tasks.jsonl").write_text("{}\n")
        command = ["synth", "--servers", "banking", "--out", "tasks.jsonl"]
    before = sorted(tmp_path.iterdir())
    ran = provegym(*command)
    assert (ran.code, ran.out, ran.err.count("\n")) == (2, "", 1)
    assert why in ran.err
    assert sorted(tmp_path.iterdir()) == before


def test_synth_again_changes_nothing_and_refuses_another_seed(
    provegym: Command, made: Path
) -> None:
    before = made.read_bytes()
    again = ["synth", "--limit", 8, "--servers", "banking", "--out", made]
    assert "8 certified tasks of" in provegym(*again, "--seed", 5).out
    refused = provegym(*again, "--seed", 6)
    assert refused.code == 2
    assert "tasks.jsonl was made with" in refused.err
    assert made.read_bytes() == before


def test_certify_finds_a_task_that_was_tampered_with(
    provegym: Command, made: Path, tmp_path: Path
) -> None:
    assert provegym("certify", made).out == "8 of 8 tasks certified\n"
    tasks = list(records.read(made, Task))
    broken = msgspec.structs.replace(tasks[3], final_changes={"banking.payees": {"+1": {}}})
    changed = [*tasks[:3], broken, *tasks[4:]]
    records.write_atomic(tmp_path / "tasks.jsonl", map(records.encode, changed))
    told = provegym("certify", tmp_path / "tasks.jsonl", "--json")
    assert told.code == 1
    assert list(json.loads(told.out)["failed"]) == [broken.id]


def test_certify_finds_a_task_that_tells_another_time_than_its_world_has(
    provegym: Command, made: Path, tmp_path: Path
) -> None:
    first, *others = records.read(made, Task)
    dated = msgspec.structs.replace(first, reference_time="yesterday")
    records.write_atomic(tmp_path / "tasks.jsonl", map(records.encode, [dated, *others]))
    told = provegym("certify", tmp_path / "tasks.jsonl", "--json")
    assert told.code == 1
    assert json.loads(told.out)["failed"] == {dated.id: ["same_time"]}


def test_the_oracle_scores_the_maximum_and_replays_to_the_same_scores(
    provegym: Command, made: Path, tmp_path: Path
) -> None:
    traces, scores, again = (tmp_path / f"{name}.jsonl" for name in ("traces", "scores", "again"))
    assert provegym("rollout", made, "--policy", "oracle", "--out", traces).code == 0
    files = ("--tasks", made, "--traces", traces, "--preset", "strict")
    assert provegym("score", *files, "--out", scores).code == 0
    assert [row.normalized for row in records.read(scores, Score)] == [1.0] * 8
    told = provegym("rescore", *files, "--out", again)
    assert "8 of 8 traces gave the same results again" in told.out
    assert again.read_bytes() == scores.read_bytes()


def test_an_unknown_name_is_one_line_that_lists_the_known(
    provegym: Command, made: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out.jsonl"
    for arguments, told in (
        (
            ["rollout", made, "--policy", "best", "--out", out],
            "unknown policy 'best'; known: oracle",
        ),
        (["synth", "--servers", "bank", "--out", out], "unknown server 'bank'; known: banking"),
        (["synth", "--teacher", "human", "--out", out], "unknown teacher 'human'; known: offline"),
        (["servers", "show", "bank"], "unknown server 'bank'; known: banking"),
        (["servers", "check", "bank"], "unknown server 'bank'; known: banking"),
    ):
        ran = provegym(*arguments)
        assert (ran.code, ran.out) == (2, "")
        assert ran.err.startswith(f"error: {told}")
    assert not out.exists()


def test_a_server_is_shown_with_its_tools_and_tables(provegym: Command) -> None:
    told = provegym("servers", "show", "banking")
    assert "transfer_between_accounts" in told.out
    assert "banking.accounts" in told.out
    schemas = json.loads(provegym("servers", "show", "banking", "--json").out)
    assert len(schemas) == 17
    assert {schema["type"] for schema in schemas} == {"function"}


def test_graph_counts_every_pair_once(provegym: Command, tmp_path: Path) -> None:
    out = tmp_path / "graph.json"
    told = provegym("graph", "--servers", "banking", "--out", out)
    assert told.code == 0
    pairs = json.loads(out.read_bytes())["pairs"]
    assert sum(pairs.values()) == 17 * 16


# --- what is shown -------------------------------------------------------------------------

LONG = "x" * 300
SHOW = f"""
from provegym import terminal
terminal.table(("name", "tools"), [("{LONG}", 7), ("[b]", 40)], "Servers")
with terminal.progress("synth") as advance:
    for done in range(1, 21):
        advance(done, 20)
"""


def on_a_terminal(script: str) -> str:
    """Standard output and error of a script whose terminal is 80 columns wide."""
    leader, follower = pty.openpty()
    environment = {**os.environ, "TERM": "xterm-256color", "COLUMNS": "80", "NO_COLOR": "1"}
    process = subprocess.Popen(
        [sys.executable, "-c", script], stdout=follower, stderr=follower, cwd=ROOT, env=environment
    )
    os.close(follower)
    shown = b""
    with os.fdopen(leader, "rb", buffering=0) as screen:
        while block := read_screen(screen.fileno()):
            shown += block
    assert process.wait() == 0
    return shown.decode()


def read_screen(screen: int) -> bytes:
    """What is shown next; a terminal whose other end is closed reads as an error on Linux."""
    try:
        return os.read(screen, 65_536)
    except OSError:
        return b""


def test_without_a_terminal_lines_are_plain_and_never_cut(
    capsys: pytest.CaptureFixture[str],
) -> None:
    exec(SHOW)
    ran = Ran(0, *capsys.readouterr())
    assert ran.out.splitlines() == [
        "Servers",
        "name" + " " * 296 + "  tools",
        LONG + "      7",
        "[b]" + " " * 297 + "     40",
    ]
    assert ran.err.splitlines() == [f"synth: {done}/20" for done in range(2, 21, 2)]


def test_on_a_terminal_there_is_a_table_and_a_bar() -> None:
    shown = on_a_terminal(SHOW)
    assert "│" in shown
    assert "[b]" in shown
    assert "20/20" in shown
    assert "\x1b[" in shown
    assert shown.count("x") >= 300


def test_an_empty_table_is_not_shown(capsys: pytest.CaptureFixture[str]) -> None:
    terminal.table(("a", "b"), [])
    assert capsys.readouterr().out == ""


def test_progress_of_one_part_after_the_other_is_told_of_each(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with terminal.progress("eval") as advance:
        for of in (20, 10):
            for done in range(1, of + 1):
                advance(done, of)
    told = capsys.readouterr().err.splitlines()
    assert told[9:12] == ["eval: 20/20", "eval: 2/10", "eval: 3/10"]


def test_progress_without_work_says_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    with terminal.progress("synth") as advance:
        advance(0, 0)
    assert capsys.readouterr().err == ""
