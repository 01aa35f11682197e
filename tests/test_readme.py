"""Every command and example of the README and of docs/ is run, and what it shows is compared.

A ```console block holds commands after "$ " and what they print; a ```python block is a doctest;
a ```toml block whose first line is "# NAME.toml" is that file, a whole run's settings. Blocks of
one page share a folder and variables. As in a doctest, "..." stands for anything. What takes
minutes is looked up instead of run: targets of the Makefile and configs of whole runs.

Commands run in this process, since starting one takes a second; where `NEWCOMER` is set, as
`.ci/newcomer` does, they are the installed ones, each a process of its own.
"""

from __future__ import annotations

import ast
import contextlib
import doctest
import io
import itertools
import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import mcp.client.stdio  # noqa: F401  (keeps the standard error of its first import: the real one)
import pytest

import provegym
from provegym import cli, servers
from provegym.config import load
from provegym.llm.scripted import Json, Response, ScriptedServer, says

ROOT = Path(__file__).parents[1]
NAMES = (
    "install",
    "concepts",
    "reproduce",
    "api",
    "tour",
    "reward",
    "datasets",
    "quality",
    "mix",
    "teacher",
    "graph",
    "add-a-server",
    "ablations",
    "control",
    "external",
    "design",
    "serve",
    "view",
    "fleet",
    "benchmark",
    "gpu",
    "evaluate",
    "trainers",
)
PAGES = ("README.md", *(f"docs/{name}.md" for name in NAMES))
NAMED = re.compile(r"# (\S+\.toml)\n")
"""How a block begins that is a file."""
OTHERS = ("docs/trainers.md",)
"""Pages that show settings of other people's programs."""
OPTIONS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
HERE = Path(provegym.__file__).parents[1]
"""Where the package that is tested lies: the checkout, or an installation."""
ENDPOINT = "http://127.0.0.1:8000/v1"


class Block(NamedTuple):
    """A fenced block and the line that it starts on."""

    language: str
    text: str
    line: int


class Command(NamedTuple):
    """A command of a console block and what it is said to print."""

    line: str
    shown: str


def blocks(page: str) -> list[Block]:
    text = (ROOT / page).read_text("utf-8")
    return [
        Block(m[1], m[2], text.count("\n", 0, m.start()) + 1)
        for m in re.finditer(r"^```(\w+)\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
        if m[1] in ("console", "python") or (m[1] == "toml" and NAMED.match(m[2]))
    ]


def commands(text: str) -> list[Command]:
    """The commands of a block; one that ends in a backslash goes on in the next line."""
    joined = text.replace("\\\n", " ")
    parts = re.split(r"^\$ ", joined, flags=re.MULTILINE)
    assert not parts[0].strip(), f"a console block starts with {parts[0]!r}, not with a command"
    return [Command(*part.partition("\n")[::2]) for part in parts[1:]]


def nothing(request: Json) -> Response:
    """What a model says that has nothing to say, and finds that no tool needs another."""
    told = request["messages"][-1]["content"]
    none = {"b_needs_a": "none", "a_needs_b": "none", "why": ""}
    pairs = [{"pair": int(n), **none} for n in re.findall(r"^(\d+)\. A = ", told, re.MULTILINE)]
    return says(json.dumps({"pairs": pairs}) if pairs else "I cannot help with that.")


@pytest.fixture
def endpoint() -> Iterator[str]:
    """Such a model behind OpenAI's protocol."""
    with ScriptedServer(nothing) as server:
        yield server.url


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """An empty folder to work in, with the repository's configs, examples and tests at hand."""
    for name in ("configs", "examples", "tests"):
        (tmp_path / name).symlink_to(ROOT / name)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.syspath_prepend(ROOT / "examples")
    known = dict(servers.SERVERS)
    yield tmp_path
    servers.SERVERS.clear()
    servers.SERVERS.update(known)


def in_process(arguments: list[str]) -> str:
    """What a `provegym` command prints, its error included."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = cli.call(arguments)
    return told(code, out.getvalue(), err.getvalue())


def installed(arguments: list[str]) -> str:
    """The same of the installed command, in a process of its own."""
    done = subprocess.run(["provegym", *arguments], text=True, capture_output=True, check=False)
    return told(done.returncode, done.stdout, done.stderr)


def told(code: int, out: str, err: str) -> str:
    """What a command says to who runs it: its output, and its error if it failed."""
    errors = [line for line in err.splitlines() if line.startswith("error: ")]
    assert bool(errors) == (code != 0), err
    return out + "".join(f"{line}\n" for line in errors)


def in_shell(line: str) -> str:
    """What any other command prints; it finds this interpreter and the project."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path, "PYTHONPATH": str(HERE)}
    done = subprocess.run(
        ["bash", "-euc", line], env=environment, text=True, capture_output=True, check=False
    )
    assert done.returncode == 0, f"{line}\n{done.stderr}"
    return done.stdout


def look_up(words: list[str]) -> bool:
    """Whether a command takes minutes; then it is only seen to be there."""
    if words[0] == "make":
        rules = (ROOT / "Makefile").read_text("utf-8")
        assert all(re.search(rf"^{target}:", rules, re.MULTILINE) for target in words[1:])
        return True
    if words[:2] == ["provegym", "run"] and Path(words[2]).exists():
        assert set(words[3::2]) <= {"--set"}
        load(words[2], words[4::2])
        return True
    return False


def run(command: Command, endpoint: str) -> str | None:
    """What a command prints; None if it is not run."""
    words = shlex.split(command.line, comments=True)
    if look_up(words):
        return None
    if words[0] == "provegym":
        call = installed if "NEWCOMER" in os.environ else in_process
        return call([endpoint if word == ENDPOINT else word for word in words[1:]])
    return in_shell(command.line)


def check_console(page: str, block: Block, endpoint: str) -> None:
    for command in commands(block.text):
        printed = run(command, endpoint)
        if printed is not None and command.shown.strip():
            same = doctest.OutputChecker().check_output(command.shown, printed, OPTIONS)
            assert same, f"{page}:{block.line}: $ {command.line}\nprinted:\n{printed}"


def check_python(page: str, block: Block, variables: dict[str, Any]) -> None:
    test = doctest.DocTestParser().get_doctest(block.text, variables, page, page, block.line)
    assert test.examples, f"{page}:{block.line}: a python block without >>>"
    told = io.StringIO()
    runner = doctest.DocTestRunner(optionflags=OPTIONS)
    failed = runner.run(test, out=told.write, clear_globs=False).failed
    variables.update(test.globs)
    assert not failed, told.getvalue()


def check_settings(block: Block) -> None:
    """Put the file in place for the commands that follow, and read it whole."""
    told = NAMED.match(block.text)
    assert told
    Path(told[1]).write_text(block.text, "utf-8")
    load(told[1])


def test_settings_of_ours_that_a_page_shows_are_whole_files() -> None:
    for page in (ROOT / "README.md", *(ROOT / "docs").glob("*.md")):
        shown = re.findall(r"^```toml\n(.*?)^```$", page.read_text("utf-8"), re.M | re.S)
        if page.relative_to(ROOT).as_posix() not in OTHERS:
            assert [text for text in shown if not NAMED.match(text)] == [], page


@pytest.mark.parametrize("page", PAGES)
def test_every_example_does_what_the_page_shows(page: str, place: Path, endpoint: str) -> None:
    found = blocks(page)
    assert found
    variables: dict[str, Any] = {"__name__": "__main__"}
    for block in found:
        if block.language == "console":
            check_console(page, block, endpoint)
        elif block.language == "toml":
            check_settings(block)
        else:
            check_python(page, block, variables)


def test_no_page_writes_where_another_wrote_something_else() -> None:
    written: dict[str, str] = {}
    for page in PAGES:
        for block in blocks(page):
            lines = [c.line for c in commands(block.text)] if block.language == "console" else []
            for line in lines:
                words = shlex.split(line, comments=True)
                for option, place in itertools.pairwise(words):
                    if option == "--out":
                        told = " ".join(words)
                        assert written.setdefault(place, told) == told, f"{page}: {line}"
    assert len(written) > 20


def test_reasons_that_the_tour_gives_for_lost_candidates_are_those_of_the_code() -> None:
    tour = (ROOT / "docs" / "tour.md").read_text("utf-8")
    table = tour.partition("| reason | what it means |")[2].partition("\n\n")[0]
    rows = [row.split("|")[1] for row in table.splitlines() if row]
    reasons = [reason for row in rows for reason in re.findall("`([a-z_]+)`", row)]
    code = "".join(p.read_text("utf-8") for p in (ROOT / "provegym" / "synth").glob("*.py"))
    assert len(reasons) >= 10
    assert [reason for reason in reasons if f'"{reason}"' not in code] == []


def test_links_between_pages_lead_somewhere() -> None:
    pages = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").glob("*.md")]
    for page in pages:
        for target in re.findall(r"\]\(([^)#]+)[^)]*\)", page.read_text("utf-8")):
            assert target.startswith("http") or (page.parent / target).exists(), (page, target)


def test_every_page_stands_in_the_site_and_leads_nowhere_outside_of_it() -> None:
    site = (ROOT / "mkdocs.yml").read_text("utf-8")
    listed = re.findall(r": ([\w-]+\.md)$", site, re.MULTILINE)
    docs = {page.name: page.read_text("utf-8") for page in (ROOT / "docs").glob("*.md")}
    assert sorted(listed) == sorted(docs)
    assert [name for name, text in docs.items() if "](../" in text] == []


def test_the_example_server_takes_less_than_sixty_lines_of_code() -> None:
    text = (ROOT / "examples" / "library_server" / "__init__.py").read_text("utf-8")
    told = {
        line
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef)
        if ast.get_docstring(node)
        for line in range(node.body[0].lineno, (node.body[0].end_lineno or 0) + 1)
    }
    code = [n for n, line in enumerate(text.splitlines(), 1) if line.strip() and n not in told]
    assert len(code) < 60


def test_the_page_on_adding_a_server_shows_the_example_as_it_is() -> None:
    text = (ROOT / "examples" / "library_server" / "__init__.py").read_text("utf-8")
    page = (ROOT / "docs" / "add-a-server.md").read_text("utf-8")
    shown = re.findall(r"^```py\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    assert shown
    for part in shown:
        assert part.strip() in text


def test_the_page_on_trainers_shows_its_example_as_it_is() -> None:
    text = (ROOT / "examples" / "trainers" / "openenv_rollout.py").read_text("utf-8")
    tested = (ROOT / "tests" / "adapters" / "test_skyrl_gym.py").read_text("utf-8")
    page = (ROOT / "docs" / "trainers.md").read_text("utf-8")
    rollout, register = re.findall(r"^```py\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    assert rollout.strip() in text
    assert register.strip() in tested
