"""The console script, to which Ctrl-C comes before a verb begins and after it has ended."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

LISTEN = "import signal, sys; signal.signal(signal.SIGINT, signal.default_int_handler)\n"
"""A shell's background jobs, which tests may run in, do not hear of Ctrl-C."""
STRIKE = "signal.raise_signal(signal.SIGINT)"
AT_AN_IMPORT = f"""
class Strike:
    def find_spec(self, name, *_):
        if name == {{name!r}}:
            {STRIKE}

sys.meta_path.insert(0, Strike())
"""
AT_THE_END = f"import atexit; atexit.register(lambda: {STRIKE})\n"
WHILE_IT_CLEARS_UP = f"""
import atexit
from provegym import cli
cli.take_in = lambda _: atexit.register(lambda: [{STRIKE}, sys.stderr.write("went on")])
"""
RUN = "from provegym.entry import main; main()"


def ended(script: str, *arguments: str) -> tuple[int, str]:
    """Exit code and words of the command."""
    done = subprocess.run(
        [sys.executable, "-c", f"{LISTEN}{script}{RUN}", *arguments],
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[1])},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=120,
    )
    return done.returncode, done.stderr


@pytest.mark.parametrize("name", ["provegym.cli", "typer", "msgspec", "provegym.options"])
@pytest.mark.parametrize(
    ("arguments", "end"),
    [
        (("serve", "--http"), (0, "")),
        (("view", "runs"), (0, "")),
        (("synth", "--out", "x.jsonl"), (130, "interrupted\n")),
        ((), (130, "interrupted\n")),
    ],
    ids=["serve", "view", "synth", "none"],
)
def test_an_interrupt_before_the_command_line_is_imported_shows_no_traceback(
    name: str, arguments: tuple[str, ...], end: tuple[int, str]
) -> None:
    assert ended(AT_AN_IMPORT.format(name=name), *arguments) == end


@pytest.mark.parametrize(("arguments", "code"), [(("--version",), 0), (("frobnicate",), 2)])
def test_an_interrupt_while_the_process_ends_changes_neither_its_words_nor_its_code(
    arguments: tuple[str, ...], code: int
) -> None:
    calm = ended("", *arguments)
    assert calm[0] == code
    assert ended(AT_THE_END, *arguments) == calm
    assert ended(WHILE_IT_CLEARS_UP, *arguments) == calm


def test_what_a_shell_keeps_from_hearing_an_interrupt_goes_on() -> None:
    deaf = "signal.signal(signal.SIGINT, signal.SIG_IGN)\n"
    struck = AT_AN_IMPORT.format(name="provegym.cli")
    assert ended(deaf + struck + AT_THE_END, "--version") == (0, "")


def test_the_word_comes_at_once_and_only_once() -> None:
    wait = """
from provegym import cli
def waits(*_):
    try:
        signal.raise_signal(signal.SIGINT)
    finally:
        sys.stderr.write("waiting\\n")
cli.take_in = waits
"""
    told = "interrupted; the same command goes on\nwaiting\n"
    assert ended(wait, "rollout", "t.jsonl") == (130, told)


def test_the_console_script_is_the_module_that_imports_nothing_heavy() -> None:
    text = (Path(__file__).parents[1] / "pyproject.toml").read_text("utf-8")
    assert 'provegym = "provegym.entry:main"' in text
    shown = "import sys, provegym.entry; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-S", "-c", shown], capture_output=True, text=True)
    loaded = done.stdout.split()
    assert [n for n in loaded if n.startswith("provegym")] == ["provegym", "provegym.entry"]
    assert not {"typer", "msgspec", "asyncio", "pathlib"} & set(loaded)
