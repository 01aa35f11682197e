"""MCP over stdin and stdout: the real command in a process of its own."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest
from mcp import Client, StdioServerParameters

from provegym import cli, records
from provegym.gateway.settings import Settings
from provegym.servers import world
from provegym.types import Task, Turn
from tests.gateway.house import ERAS, HELLO, LEGACY, play, play_over, script

COMMAND = ("-c", "from provegym.cli import main; main()", "serve")
LOCALE = {**os.environ, "LC_ALL": "C", "PYTHONIOENCODING": "latin-1", "PYTHONUTF8": "0"}
"""A locale that knows no more than ASCII."""


def parameters(*arguments: str) -> StdioServerParameters:
    return StdioServerParameters(command=sys.executable, args=[*COMMAND, *arguments], env=LOCALE)


def lines(*messages: bytes | dict[str, Any], arguments: tuple[str, ...] = ("banking",)) -> Any:
    """What the command answers to raw lines, and that it ends by itself with code 0."""
    hello = [HELLO, {"jsonrpc": "2.0", "method": "notifications/initialized"}]
    sent = [m if isinstance(m, bytes) else msgspec.json.encode(m) for m in (*hello, *messages)]
    done = subprocess.run(
        [sys.executable, *COMMAND, *arguments],
        input=b"\n".join(sent) + b"\n",
        capture_output=True,
        env=LOCALE,
        check=True,
        timeout=60,
    )
    assert done.stderr == b""
    answers = [msgspec.json.decode(line) for line in done.stdout.splitlines()]
    [greeted] = [answer for answer in answers if answer["id"] == 1]
    assert greeted["result"]["protocolVersion"] == LEGACY
    return [answer for answer in answers if answer is not greeted]


def called(id: int | str, name: str = "list_accounts", **arguments: Any) -> dict[str, Any]:
    params = {"name": name, "arguments": arguments}
    return {"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params}


@pytest.mark.parametrize("era", ERAS)
def test_an_episode_over_stdio_gives_what_one_in_process_gives(era: str) -> None:
    alone = world(7, ("banking",)).open()
    steps = script(alone.fork())

    async def converse() -> list[tuple[str, Any]]:
        async with Client(parameters("banking", "--seed", "7"), mode=era) as client:
            assert [t.name for t in (await client.list_tools()).tools] == list(alone.world.tools)
            return await play_over(client, steps)

    assert asyncio.run(converse()) == play(alone, steps)


def test_a_task_is_served_with_its_own_tools(tmp_path: Path) -> None:
    shown = world(7, ("banking",)).tools["list_cards"].tool.schema
    task = Task("bank/1", "workflow", (Turn("a"),), ("banking",), 7, tools=(shown,))
    file = tmp_path / "tasks.jsonl"
    records.write_atomic(file, [records.encode(task)])

    async def converse() -> list[str]:
        async with Client(parameters("--task", f"{file}:bank/1")) as client:
            return [tool.name for tool in (await client.list_tools()).tools]

    assert asyncio.run(converse()) == ["list_cards"]


def test_text_is_utf_8_whatever_the_locale_and_nothing_is_escaped_twice() -> None:
    text = "Täglich 東京 \u2028 😀"
    steps = [("create_file", {"path": "a.txt", "content": text}), ("read_file", {"path": "a.txt"})]
    calls = [called(i, name, **given) for i, (name, given) in enumerate(steps, 2)]
    answers = {answer["id"]: answer for answer in lines(*calls, arguments=("filesystem",))}
    alone = world(0, ("filesystem",)).open()
    [_, (_, expected)] = play(alone, steps)
    result = answers[3]["result"]
    assert expected["content"] == f"{text}\n"
    assert result["structuredContent"] == expected
    assert text in result["content"][0]["text"]


BAD = {
    "nan": (b'{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":NaN}}', -32700),
    "a lone surrogate": (rb'{"jsonrpc":"2.0","id":2,"method":"x\ud800"}', -32700),
    "latin-1": (b'{"jsonrpc":"2.0","id":2,"method":"\xe9"}', -32700),
    "no json": (b"hello", -32700),
    "a batch": (b"[]", -32600),
    "no message": (b'{"hello":1}', -32600),
    "deep nesting": (b"[" * 200 + b"]" * 200, -32600),
}


@pytest.mark.parametrize(("line", "code"), BAD.values(), ids=BAD)
def test_a_bad_line_is_answered_and_the_next_one_served(line: bytes, code: int) -> None:
    bad, good = lines(line, b"", called(2))
    if bad["id"] == 2:
        bad, good = good, bad
    assert (bad["id"], bad["error"]["code"]) == (None, code)
    assert not good["result"]["isError"]


def test_a_line_beyond_the_limit_is_answered_and_the_next_one_served() -> None:
    limit = Settings().max_body
    endless = b'{"a":"' + b"a" * (2 * limit) + b'"}'
    answers = {answer["id"]: answer for answer in lines(endless, called(2))}
    assert answers[None]["error"]["code"] == -32600
    assert str(limit) in answers[None]["error"]["message"]
    assert not answers[2]["result"]["isError"]


@pytest.mark.parametrize("again", [2, "2"])
def test_a_second_request_with_an_id_in_flight_is_refused(again: int | str) -> None:
    answers = lines(called(2), called(again), called(3))
    told = [answer for answer in answers if str(answer["id"]) == "2"]
    [refused] = [answer for answer in told if "error" in answer]
    [served] = [answer for answer in told if "result" in answer]
    assert (refused["error"]["code"], refused["id"], served["id"]) == (-32600, again, 2)
    assert len(answers) == 3


def test_what_else_is_printed_does_not_reach_the_wire() -> None:
    script = (
        "import sys, os; from provegym.gateway import stdio; from provegym import cli\n"
        "run = stdio.run\n"
        "async def noisy(*given):\n"
        "    print('noise', flush=True); os.system('echo noise')\n"
        "    await run(*given)\n"
        "stdio.run = noisy; sys.exit(cli.call(['serve', 'banking']))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script],
        input=msgspec.json.encode(HELLO) + b"\n",
        capture_output=True,
        check=True,
        timeout=60,
    )
    assert msgspec.json.decode(done.stdout)["id"] == 1
    assert done.stderr == b"noise\nnoise\n"


REFUSED = [
    ([], "say what to serve"),
    (["banking", "--http"], "'banking' beside --http"),
    (["banking", "--servers", "maps"], "--servers maps beside 'banking'"),
    (["--http", "--servers", "bank"], "unknown server 'bank'"),
    (["bank"], "unknown server 'bank'"),
    (["--http", "--host", "0.0.0.0"], "0.0.0.0 can be reached from other machines"),
    (["--http", "--host", "::"], ":: can be reached from other machines"),
    (["--http", "--host", "gym.example"], "gym.example can be reached from other machines"),
    (
        ["--http", "--host", "192.0.2.1", "--token", "t" * 16],
        "cannot listen on 192.0.2.1 port 8765: Cannot assign requested address; choose another "
        "with --host",
    ),
    (["--task", "tasks"], "'tasks' is not FILE:ID"),
    (["--task", "none.jsonl:"], "'none.jsonl:' is not FILE:ID"),
    (["--task", "none.jsonl:a"], "'none.jsonl:a': there is no file none.jsonl"),
    (["--task", "none:a"], "'none:a': there is no file none;"),
    (["--task", "/tmp:a"], "'/tmp:a': /tmp is a folder; give a file of tasks"),
]


@pytest.mark.parametrize(("arguments", "told"), REFUSED)
def test_what_cannot_be_served_is_one_line_and_2(
    arguments: list[str], told: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert cli.call(["serve", *arguments]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    [line] = err.splitlines()
    assert told in line


def test_a_task_that_is_not_in_the_file_is_named(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    file = tmp_path / "tasks.jsonl"
    records.write_atomic(file, [records.encode(Task("there", "workflow", (Turn("a"),)))])
    assert cli.call(["serve", "--task", f"{file}:gone"]) == 2
    assert "unknown task 'gone'; known: there" in capsys.readouterr().err
