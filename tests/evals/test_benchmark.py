"""The sealed split, entries with floor and ceiling, and the page made of them."""

from __future__ import annotations

import hashlib
import json
import re
import sys
from pathlib import Path

import pytest
from msgspec.structs import asdict, replace

from provegym import cli, records
from provegym.config import Synth
from provegym.errors import InputError
from provegym.evals import benchmark
from provegym.evals.benchmark import Entry, Seal, published, read_board
from provegym.evals.canary import CANARY
from provegym.evals.leaderboard import render
from provegym.evals.plan import Settings
from provegym.evals.stats import share
from provegym.evals.suites import evaluate
from provegym.graph.build import build
from provegym.llm.scripted import ScriptedServer, fails, says
from provegym.servers import load
from provegym.synth.make import Plan
from provegym.synth.pipeline import synthesize
from provegym.types import Task, Trace

ROOT = Path(__file__).parents[2]
SERVERS = ("email", "calendar")
LIMIT = 16


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Certified tasks of two servers, all kinds among them."""
    path = tmp_path_factory.mktemp("made") / "made.jsonl"
    graph = build([load(name) for name in SERVERS])
    synthesize(Plan(7, servers=SERVERS, others=SERVERS), Synth(limit=LIMIT), graph, path)
    return path


@pytest.fixture(scope="module")
def tasks(made: Path) -> Path:
    """The same as a split, with the canary."""
    out = made.with_name("tasks.jsonl")
    benchmark.mark(made, out, Seal("mine", "00" * 32))
    return out


def entered(tasks: Path, folder: Path, policy: str, trials: int = 1) -> Entry:
    """The entry of a policy measured in `folder/POLICY`, on `folder`'s leaderboard."""
    evaluate(Settings(policy, ("provegym",), folder / policy, tasks=tasks, trials=trials))
    return read_board(folder / "leaderboard.jsonl")[-1]


# -- the seal ------------------------------------------------------------------------------------


def test_the_commitment_binds_the_secret_to_its_split() -> None:
    # By hand: SHA-256 of the four parts with the unit separator between.
    text = "provegym benchmark\x1fcommitment\x1fmine\x1fabc"
    assert Seal("mine", "abc").commitment == hashlib.sha256(text.encode()).hexdigest()
    others = {Seal(*parts).commitment for parts in (("mine", "abd"), ("yours", "abc"))}
    assert len(others | {Seal("mine", "abc").commitment}) == 3


def test_the_seed_follows_from_the_secret_and_not_from_the_commitment() -> None:
    seal = Seal("mine", "abc")
    text = "provegym benchmark\x1fseed\x1fmine\x1fabc"
    assert seal.seed == int(hashlib.sha256(text.encode()).hexdigest()[:16], 16) >> 1
    assert 0 <= seal.seed < 2**63


def test_a_new_secret_has_256_bits_is_private_and_is_never_replaced(tmp_path: Path) -> None:
    first, second = (benchmark.new_seal("mine", tmp_path / name) for name in ("a", "b"))
    assert first.secret != second.secret
    assert len(bytes.fromhex(first.secret)) == 32
    assert (tmp_path / "a").stat().st_mode & 0o777 == 0o600
    assert benchmark.read_seal(tmp_path / "a") == first
    with pytest.raises(InputError, match="is there already"):
        benchmark.new_seal("mine", tmp_path / "a")


def test_a_seal_that_is_not_the_published_one_is_refused(tmp_path: Path) -> None:
    forged = Seal(published().name, "00" * 32)
    records.write_atomic(tmp_path / "forged", [records.encode(forged)])
    with pytest.raises(InputError, match="is not the seal of test-2"):
        benchmark.read_seal(tmp_path / "forged")


@pytest.mark.parametrize("secret", ["zz", "", "0" * 63, "g" * 64, "A" * 64])
def test_a_secret_that_is_no_256_bits_is_refused(tmp_path: Path, secret: str) -> None:
    seal = tmp_path / "badseal.json"
    seal.write_bytes(records.encode(Seal("mine", secret)))
    with pytest.raises(InputError) as caught:
        benchmark.read_seal(seal)
    shown = repr(secret) if len(secret) < 3 else f"a text of {len(secret)} characters"
    assert str(caught.value) == (
        f"{seal}: secret is {shown}, should be 64 hex digits in lower case; make one with "
        "`provegym benchmark seal`"
    )


@pytest.mark.parametrize("name", ["", "my split", "a/b", "a\x1fb", "x" * 65, "Zoë", "a\n", "own"])
def test_a_seal_has_the_name_of_a_split_or_is_not_made(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    out = tmp_path / "seal.json"
    for split in (name, published().name):
        assert cli.call(["benchmark", "seal", split, "--out", str(out)]) == 2
        told = capsys.readouterr().err
        assert told.startswith(f"error: {split!r} is ")
        assert told.count("\n") == 1
        assert not out.exists()
    assert cli.call(["benchmark", "seal", "my-split.1_a", "--out", str(out)]) == 0


def test_what_is_published_of_the_split_tells_nothing_to_make_it_from() -> None:
    split = asdict(published())
    assert split.keys() == {
        *("name", "commitment", "tasks", "tasks_hash", "world", "version", "canary")
    }
    assert all(len(split[key]) == 64 for key in ("commitment", "tasks_hash", "world"))
    assert (split["canary"], split["tasks"]) == (CANARY, 400)


def test_a_split_is_made_from_its_seal_and_comes_out_the_same_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    recipe = '[run]\nname = "b"\nservers = ["email", "calendar"]\n[synth]\nlimit = 4\n'
    Path("recipe.toml").write_text(recipe, "utf-8")
    assert cli.call(["benchmark", "seal", "mine", "--out", "seal.json"]) == 0
    told = []
    for out in ("a/tasks.jsonl", "b/tasks.jsonl"):
        capsys.readouterr()
        command = ["benchmark", "make", "recipe.toml", "--seal", "seal.json", "--out", out]
        assert cli.call([*command, "--json"]) == 0
        told.append(json.loads(capsys.readouterr().out))
        assert json.loads(Path(out).with_name("split.json").read_bytes()) == told[-1]
    assert told[0] == told[1]
    seal = benchmark.read_seal(Path("seal.json"))
    assert (told[0]["commitment"], told[0]["tasks"]) == (seal.commitment, 4)
    assert str(seal.seed) not in json.dumps(told[0])


def test_a_split_of_another_seal_is_refused_without_the_seeds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("recipe.toml").write_text('[run]\nname = "b"\nservers = ["email", "calendar"]\n', "utf-8")
    seals = [benchmark.new_seal("mine", Path(name)) for name in ("a.json", "b.json")]
    command = ["benchmark", "make", "recipe.toml", "--limit", "1", "--out", "t.jsonl", "--seal"]
    assert cli.call([*command, "a.json"]) == 0
    capsys.readouterr()
    assert cli.call([*command, "b.json"]) == 2
    told = capsys.readouterr().err
    assert told.startswith("error: t.made.jsonl was made with other settings (plan.seed); delete")
    assert not any(str(seal.seed) in told for seal in seals)


# -- the canary ----------------------------------------------------------------------------------


def test_every_line_of_a_split_holds_the_canary_and_is_the_same_task(
    made: Path, tasks: Path
) -> None:
    assert all(CANARY in line for line in tasks.read_text("utf-8").splitlines())
    assert list(records.read(tasks, Task)) == list(records.read(made, Task))
    assert all(path.stat().st_mode & 0o077 == 0 for path in (made, tasks))


def test_nothing_is_trained_on_or_exported_from_tasks_of_the_benchmark(
    tasks: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    export = ["dataset", "export", str(tasks), "--format", "openai", "--out", str(tmp_path / "x")]
    train = ["train", str(ROOT / "configs" / "demo.toml"), "--tasks", str(tasks)]
    for command in (export, train):
        assert cli.call(command) == 2
        assert "holds tasks of the benchmark" in capsys.readouterr().err
    assert not (tmp_path / "x").exists()


# -- entries -------------------------------------------------------------------------------------


def test_silence_and_the_ground_truth_stand_beside_every_entry(tasks: Path, tmp_path: Path) -> None:
    silent = sum(not task.ground_truth for task in records.read(tasks, Task))
    entry = entered(tasks, tmp_path, "random", trials=2)
    assert 0 < silent < LIMIT
    assert entry.floor == share(silent, LIMIT)
    assert entry.ceiling == share(LIMIT, LIMIT)
    assert (entry.kind, entry.split, entry.tasks, entry.trials) == ("policy", "own", LIMIT, 2)
    assert entry.pass_hat.keys() == {1, 2}
    assert read_board(tmp_path / "leaderboard.jsonl") == [entry]


def test_a_run_that_was_killed_ends_with_the_entry_of_one_that_was_not(
    tasks: Path, tmp_path: Path
) -> None:
    whole = entered(tasks, tmp_path / "whole", "random", trials=2)
    entered(tasks, tmp_path / "killed", "random", trials=2)
    traces = tmp_path / "killed" / "random" / "provegym" / "traces.jsonl"
    manifest = records.read_manifest(traces)
    assert manifest
    records.write_manifest(traces, replace(manifest, complete=False))
    traces.write_bytes(traces.read_bytes()[: traces.stat().st_size // 2])
    (tmp_path / "killed" / "leaderboard.jsonl").unlink()
    assert entered(tasks, tmp_path / "killed", "random", trials=2) == whole


def test_a_second_measurement_replaces_the_first_and_leaves_others(
    tasks: Path, tmp_path: Path
) -> None:
    for policy in ("noop", "oracle"):
        entered(tasks, tmp_path, policy)
    entered(tasks, tmp_path, "noop")
    names = [entry.name for entry in read_board(tmp_path / "leaderboard.jsonl")]
    assert names == ["oracle", "noop"]


def test_a_model_behind_an_endpoint_is_entered_once_no_episode_is_lost(
    tasks: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with ScriptedServer(lambda request: fails(400) if ill else says("No.")) as server:
        command = ["eval", "m", "--suite", "provegym", "--tasks", str(tasks), "--base-url"]
        command += [server.url, "--out", str(tmp_path / "m"), "--patience", "0"]
        ill = True
        assert cli.call(command) != 0
        assert not (tmp_path / "leaderboard.jsonl").exists()
        ill = False
        assert cli.call(command) == 0
    assert "entered for the split own: " in capsys.readouterr().out
    [entry] = read_board(tmp_path / "leaderboard.jsonl")
    assert entry.scores["success"] == entry.floor
    assert (entry.name, entry.kind) == ("m", "model")
    traces = list(records.read(tmp_path / "m" / "provegym" / "traces.jsonl", Trace))
    assert len(traces) == LIMIT


def test_a_whole_split_keeps_its_hash_its_canary_and_its_secrecy(
    tasks: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    known = replace(published(), name="mine", tasks_hash=records.content_hash(tasks))
    monkeypatch.setattr(benchmark, "published", lambda: known)
    assert entered(tasks, tmp_path, "noop").split == "mine"
    own = tmp_path / "noop" / "provegym" / "tasks.jsonl"
    assert own.read_bytes() == tasks.read_bytes()
    assert own.stat().st_mode & 0o077 == 0
    few = Settings("noop", ("provegym",), tmp_path / "few", tasks=tasks, limit=2)
    evaluate(few)
    part = tmp_path / "few" / "provegym" / "tasks.jsonl"
    assert part.read_text("utf-8").count(CANARY) == 2
    assert read_board(tmp_path / "leaderboard.jsonl")[-1].split == "own"


def test_results_of_the_benchmark_say_what_they_depend_on(tasks: Path, tmp_path: Path) -> None:
    settings = Settings("random", ("provegym",), tmp_path / "out", tasks=tasks)
    results = evaluate(settings).results
    assert [row.part for row in results] == ["success", "strict", "paper"]
    assert {row.pins.data_hash for row in results} == {records.content_hash(tasks)}
    [entry] = read_board(tmp_path / "leaderboard.jsonl")
    assert [row.score.mean for row in results] == [
        entry.scores[name].mean for name in ("success", "reward", "reward_paper")
    ]
    assert (results[0].floor, results[0].ceiling) == (entry.floor.mean, 1.0)


@pytest.mark.parametrize(
    ("model", "agent"), [("random", []), ("reader", ["--agent", "python my_agent.py"])]
)
def test_official_harnesses_measure_models_alone(
    model: str, agent: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.call(["eval", model, "--suite", "bfcl/base,heldout", *agent]) == 2
    assert "plays live worlds alone, not bfcl; give --suite provegym" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("suites", "option", "told"),
    [
        ("bfcl", "--tasks", "--tasks is for heldout and provegym, not for bfcl; leave it out"),
        ("heldout,bfcl", "--user-url", "--user-url is for tau2, not for heldout, bfcl"),
        ("tau2", "--teval-source", "--teval-source is for teval, not for tau2"),
    ],
)
def test_an_option_of_another_suite_is_refused(
    suites: str, option: str, told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.call(["eval", "m", "--suite", suites, option, "x"]) == 2
    assert capsys.readouterr().err.startswith(f"error: {told}")


def test_the_example_agent_is_scored_through_the_gateway(tasks: Path, tmp_path: Path) -> None:
    few = tmp_path / "few.jsonl"
    few.write_bytes(b"".join(tasks.read_bytes().splitlines(keepends=True)[:2]))
    agent = f"{sys.executable} {ROOT / 'examples' / 'mcp_agent.py'}"
    command = ["eval", "reader", "--suite", "provegym", "--tasks", str(few), "--agent", agent]
    assert cli.call([*command, "--out", str(tmp_path / "reader"), "--json"]) == 0
    [entry] = read_board(tmp_path / "leaderboard.jsonl")
    assert (entry.name, entry.kind, entry.tasks) == ("reader", "agent", 2)
    traces = list(records.read(tmp_path / "reader" / "provegym" / "traces.jsonl", Trace))
    assert all(call.outcome == "ok" for trace in traces for call in trace.calls)
    assert entry.scores["calls"].mean == sum(len(trace.calls) for trace in traces) / 2


def test_an_agent_that_is_no_program_is_refused(
    tasks: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["eval", "x", "--suite", "provegym", "--tasks", str(tasks)]
    assert cli.call([*command, "--agent", "no-such-agent", "--out", str(tmp_path / "x")]) == 2
    assert "'no-such-agent' starts no program" in capsys.readouterr().err
    assert cli.call([*command, "--agent", "'open", "--out", str(tmp_path / "x")]) == 2
    told = 'error: --agent "\'open" cannot be split into words: No closing quotation\n'
    assert capsys.readouterr().err == told


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--base-url", "not-a-url"], "'not-a-url' is no base URL"),
        (["--base-url", "ftp://x/v1"], "'ftp://x/v1' is no base URL"),
        ([], "OpenAI's own endpoint needs a key: set OPENAI_API_KEY"),
        (["--prices", "nan,1", "--dry-run"], "--prices 'nan,1' are no prices"),
        (["--prices", "-1,1", "--dry-run"], "--prices '-1,1' are no prices"),
        (["--prices", "1e999,1", "--dry-run"], "--prices '1e999,1' are no prices"),
    ],
)
def test_what_cannot_be_is_refused_before_anything_is_measured(
    tasks: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    options: list[str],
    told: str,
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    command = ["eval", "x", "--suite", "heldout", "--tasks", str(tasks), *options]
    assert cli.call([*command, "--out", str(tmp_path / "x")]) == 2
    error = capsys.readouterr().err
    assert error.startswith(f"error: {told}")
    assert error.count("\n") == 1
    assert not (tmp_path / "x").exists()


def test_an_endpoint_that_is_down_ends_a_measurement_in_one_line_that_names_it(
    tasks: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["eval", "x", "--suite", "provegym", "--tasks", str(tasks), "--patience", "0"]
    command += ["--out", str(tmp_path / "x"), "--base-url"]
    assert cli.call([*command, "http://127.0.0.1:1/v1"]) == 1
    _, model, last = capsys.readouterr().err.rpartition("provegym: x\n")
    assert model  # nothing is told between the model's turn and the end
    assert re.fullmatch(
        r"error: the endpoint of model 'x' took no request for 0 s: http://127\.0\.0\.1:1/v1: "
        r"Connection error\. \(.*\); run the same command again later: what is finished is kept\n",
        last,
    )
    assert list(records.read(tmp_path / "x" / "provegym" / "traces.jsonl", Trace)) == []
    with ScriptedServer(lambda request: says("No.")) as server:
        assert cli.call([*command, server.url]) == 0


# -- the page ------------------------------------------------------------------------------------


def test_the_page_in_docs_is_the_one_of_the_board_beside_it() -> None:
    board = read_board(ROOT / "docs" / "leaderboard.jsonl")
    assert board
    page = (ROOT / "docs" / "leaderboard.md").read_text("utf-8")
    assert page == render(board, published()).rstrip() + "\n"


def test_only_what_may_be_compared_shares_a_table(tasks: Path, tmp_path: Path) -> None:
    entry = entered(tasks, tmp_path, "noop")
    better = replace(entry, name="better", scores={**entry.scores, "success": share(16, 16)})
    others = [replace(entry, name="x", tasks_hash="ff"), replace(entry, name="y", trials=2)]
    page = render([entry, *others, better], published())
    tables = page.split("\n## ")[1:]
    assert len(tables) == 3
    assert tables[0].index("| better |") < tables[0].index("| noop |")
    assert f"of silence is {entry.floor}, of the ground truth {entry.ceiling}" in tables[0]
    assert CANARY in page


def test_a_name_cannot_break_out_of_its_cell(tasks: Path, tmp_path: Path) -> None:
    entry = replace(entered(tasks, tmp_path, "noop"), name="a|b\n# c <img>")
    page = render([entry], published())
    assert "| a\\|b \\# c \\<img\\> | policy |" in page


def test_an_empty_file_is_no_board_to_print(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "empty.jsonl").write_bytes(b"")
    assert cli.call(["benchmark", "page", str(tmp_path / "empty.jsonl")]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith(f"error: {tmp_path}/empty.jsonl holds no entry; `provegym eval ")


def test_a_board_without_entries_says_so() -> None:
    assert "Nobody has been measured yet." in render([], published())


def test_a_plan_tells_what_comparing_two_such_runs_can_see(
    tasks: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["eval", "m", "--suite", "provegym/success", "--tasks", str(tasks), "--trials", "2"]
    assert cli.call([*command, "--dry-run"]) == 0
    told = capsys.readouterr().out
    # By hand: (1.95996 + 0.84162) sqrt((1/64 + 2 (1/6) / trials) / 16)
    assert "with 1 trial you can see 41.4 points; with 2, 29.9; with 4, 22.0" in told
    assert cli.call([*command, "--dry-run", "--json"]) == 0
    [row] = json.loads(capsys.readouterr().out)["plan"]
    assert row["detectable"] == pytest.approx(0.29904, abs=1e-5)
