"""What the pages show and tests/test_readme.py does not run is read by what would run it.

Commands in ```sh blocks want a GPU, a network, a container or a server that stays: the command
line's own parser reads those of provegym, and extras and targets are looked up. A ```toml block is
read among the demo's settings.
"""

from __future__ import annotations

import itertools
import json
import re
import shlex
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
import typer
from typer.core import TyperGroup
from typer.main import get_command

from provegym import cli, config
from tests.test_readme import PAGES, look_up

ROOT = Path(__file__).parents[1]
DOCS = sorted(path.name for path in (ROOT / "docs").glob("*.md"))
ALL = ("README.md", "CONTRIBUTING.md", *(f"docs/{name}" for name in DOCS))
RUN = {"console", "python"}
"""Languages that tests/test_readme.py runs."""
READ = {"sh", "bash", "toml", "json", "py"}
"""Those that are read here; ```py is the text of a file of the repository."""
ELSEWHERE = {"docker", "gym", "uvicorn", "vf-eval", "vllm", "python", "python3", ".", "..."}
"""Commands of others, which nothing here can read."""
DEMO = config.told(ROOT / "configs" / "demo.toml")


class Fence(NamedTuple):
    """A fenced block of a page."""

    language: str
    text: str


def fences(page: str) -> list[Fence]:
    """Every block of a page. Fails for a fence that is not closed."""
    text = (ROOT / page).read_text("utf-8")
    found = re.findall(r"^```(\w*)\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    assert len(re.findall(r"^\s*```", text, re.MULTILINE)) == 2 * len(found), page
    return [Fence(*each) for each in found]


def commands(text: str) -> Iterator[list[str]]:
    """The single commands of a shell's text, without comments and variables before them."""
    for line in text.replace("\\\n", " ").splitlines():
        words = shlex.shlex(line, posix=True, punctuation_chars="&|")
        words.whitespace_split = True
        for joint, part in itertools.groupby(words, lambda word: set(word) <= set("&|")):
            command = list(itertools.dropwhile(re.compile(r"[A-Z_]+=").match, part))
            if command and not joint:
                yield command


def check(command: list[str]) -> None:
    """Hold a command to what its program knows. Raises `TyperException`, `AssertionError`."""
    name, rest = command[0].rpartition("/")[2], command[1:]
    if name == "provegym":
        parse(rest)
    elif name == "pip":
        project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
        for extras in re.findall(r"provegym\[([\w,-]+)\]", " ".join(rest)):
            assert set(extras.split(",")) <= project["optional-dependencies"].keys(), command
    elif name == "make":
        assert look_up(command)
    else:
        assert name in ELSEWHERE, f"nothing runs or reads {' '.join(command)}"


def parse(words: list[str]) -> None:
    """Let the command line read a command, without running it. Raises `TyperException`."""
    command = get_command(cli.app)
    context = command.make_context("provegym", words)
    while isinstance(command, TyperGroup):
        left = [*context._protected_args, *context.args]
        name, found, rest = command.resolve_command(context, left)
        assert found
        command, context = found, found.make_context(name, rest, parent=context)


@pytest.mark.parametrize("page", ALL)
def test_what_is_not_run_is_read_by_what_would_run_it(page: str) -> None:
    for language, text in fences(page):
        if language in ("sh", "bash"):
            for command in commands(text):
                check(command)
        elif language == "json":
            assert json.loads(text)
        elif language == "toml":
            settings = tomllib.loads(text)
            if "orchestrator" not in settings:  # prime-rl's, which has a reader of its own
                config.parse({**DEMO, **settings}, page)


@pytest.mark.parametrize("page", ALL)
def test_every_block_is_of_a_language_that_is_run_or_read(page: str) -> None:
    found = {fence.language for fence in fences(page)}
    assert found <= RUN | READ
    assert not found & RUN or page in PAGES


def test_every_file_that_a_page_shows_is_a_file_of_the_repository() -> None:
    """Which one, tests/test_readme.py says of each page."""
    assert [p for p in ALL if any(f.language == "py" for f in fences(p))] == [
        "docs/add-a-server.md",
        "docs/trainers.md",
    ]


@pytest.mark.parametrize(
    "line", ["provegym serv", "provegym rollout t.jsonl --polcy noop", "provegym view --port x"]
)
def test_a_command_that_does_not_exist_is_found(line: str) -> None:
    with pytest.raises(typer.TyperException):
        check(shlex.split(line))


@pytest.mark.parametrize("line", ["provgym view", "make tests", "pip install 'provegym[gatway]'"])
def test_a_slip_of_the_pen_is_found(line: str) -> None:
    with pytest.raises(AssertionError):
        check(shlex.split(line))


def test_a_line_is_read_as_a_shell_reads_it() -> None:
    told = "A=b provegym view && pip \\\n install 'x y' &  # as it is"
    assert list(commands(told)) == [["provegym", "view"], ["pip", "install", "x y"]]
