"""What `provegym serve` refuses, in one line that names the option and its value."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
from msgspec.structs import replace

from provegym import cli, cli_serve
from provegym.errors import InputError
from provegym.gateway import front
from provegym.gateway.settings import Settings
from provegym.types import MOST_SEED, Function, GroundCall, Task, Tool, Turn

TASK = Task("t1", "abstention", (Turn("Hi."),), ("banking",))
OPTIONS = ("--host x", "--port 5", "--allow-host x", "--idle 9", "--sessions 9", "--rate 9")

REFUSED = [
    ("serve", "say what to serve: one of `serve NAME`, `serve --task FILE:ID`, --http"),
    ("serve|", "no server is named; give some of banking"),
    ("serve|--http|--servers|", "no server is named; give some of banking"),
    ("serve|--task|", "--task '' is not FILE:ID"),
    ("serve|bank", "unknown server 'bank'"),
    ("serve|banking|--http", "'banking' beside --http: name servers over HTTP with --servers"),
    ("serve|banking|--servers|calendar", "--servers calendar beside 'banking'"),
    ("serve|--task|t.jsonl:t|--servers|calendar", "--servers calendar beside --task"),
    ("serve|--http|--allow-host|http://x", "--allow-host 'http://x' is no host's name"),
    ("serve|--http|--allow-host|x:80", "--allow-host 'x:80' is no host's name"),
    ("serve|--http|--allow-host|", "--allow-host '' is no host's name"),
    ("serve|--http|--sessions|3|--workers|4", "--sessions 3 cannot be shared by 4 workers"),
    ("serve|--http|--idle|inf", "idle inf is no number"),
    ("serve|--http|--rate|inf", "rate inf is no number"),
    ("serve|--http|--token|", "the token is empty, as an unset variable is: give one"),
    ("serve|banking|--token|", "the token is empty, as an unset variable is: give one"),
    ("serve|banking|--seed|9223372036854775808", "Invalid value for '--seed'"),
    (
        "serve|--http|--port|-1",
        "Invalid value for '--port': Input should be greater than or equal to 0, not '-1'",
    ),
    *((f"serve|banking|{o.replace(' ', '|')}", f"{o.split()[0]} is for serving") for o in OPTIONS),
    ("serve|banking|--workers|2", "--workers is for serving over HTTP; add --http"),
]


@pytest.mark.parametrize(("arguments", "told"), REFUSED, ids=[line for line, _ in REFUSED])
def test_an_option_that_cannot_be_is_one_line_and_exit_code_2(
    arguments: str, told: str, capfd: pytest.CaptureFixture[str]
) -> None:
    assert cli.call(arguments.split("|")) == 2
    out, said = capfd.readouterr()
    assert out == ""
    [line] = said.splitlines()
    assert line.startswith(f"error: {told}")


@pytest.mark.parametrize(
    ("told", "name"),
    [("GYM.example", "gym.example"), ("10.0.0.7", "10.0.0.7"), ("[2001:db8::1]", "[2001:db8::1]")],
)
def test_a_further_host_is_known_in_lower_case(told: str, name: str) -> None:
    assert cli_serve.host_named(told) == name


@pytest.mark.parametrize(
    ("task", "told"),
    [
        (replace(TASK, servers=("banking", "banking")), "task.servers names 'banking' twice"),
        (replace(TASK, turns=()), "task.turns is empty"),
        (replace(TASK, seed=-1), "task.seed -1 is not from 0"),
        (replace(TASK, reference_time="soon"), "task.reference_time 'soon' is no time"),
        (replace(TASK, servers=("bank",)), "unknown server 'bank'"),
        (replace(TASK, tools=(Tool(Function("t", "", {})),)), "of the tool t have no type"),
        (replace(TASK, final_changes={"banking.x": {}}), "final_changes names 'banking.x'"),
        (
            replace(TASK, turns=(Turn("Hi.", (GroundCall("a", "x"),)),)),
            "ground call 'a' is of 'x', which is no tool",
        ),
    ],
)
def test_a_task_of_a_file_is_judged_as_one_over_http(task: Task, told: str, tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    path.write_bytes(msgspec.json.encode(task) + b"\n")
    with pytest.raises(InputError, match=told):
        cli_serve.task_of(f"{path}:t1")


def test_workers_share_the_sessions_and_never_hold_more(monkeypatch: pytest.MonkeyPatch) -> None:
    shares: list[int] = []

    def serve(settings: Settings, listening: object, launch: object, *_: object) -> None:
        shares.append(settings.sessions)

    def launcher(settings: Settings) -> None:
        shares.append(settings.sessions)

    monkeypatch.setattr(front, "serve", serve)
    monkeypatch.setattr("provegym.gateway.local.launcher", launcher)
    cli_serve.over_fleet(Settings(port=0, sessions=10), 4, "processes", True)
    assert shares == [2, 10]


def test_a_variable_for_the_token_that_is_empty_is_refused(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PROVEGYM_TOKEN", "")
    assert cli.call(["serve", "--http", "--port", "0"]) == 2
    assert capfd.readouterr().err.startswith("error: the token is empty, as an unset variable is")


def test_a_gateway_has_a_seed_that_a_task_can_have() -> None:
    assert Settings(seed=MOST_SEED).seed == 9223372036854775807
    for seed in (-1, MOST_SEED + 1):
        with pytest.raises(InputError, match=f"seed {seed} is not from 0 to 9223372036854775807"):
            Settings(seed=seed)
