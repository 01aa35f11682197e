"""`provegym servers play`: a live session under a prompt, called, undone and forked by hand."""

from __future__ import annotations

import json
import re
import sys
from cmd import Cmd
from collections.abc import Collection
from typing import IO, Any

from provegym.errors import InputError, seen
from provegym.world.session import Session, Snapshot
from provegym.world.world import World


class Prompt(Cmd):
    """The prompt. A line is a command of ours, or a tool with its arguments.

        transfer_between_accounts from_account_id=acc_1 to_account_id=acc_2 amount=5.00
        transfer_between_accounts {"from_account_id": "acc_1", ...}

    Quotes hold words together.
    """

    intro = (
        "A private session; nothing outside of it changes. Write a tool with key=value pairs or a "
        "JSON object,\nor: tools, show TOOL, changes, undo, fork, back, now, help, quit."
    )
    doc_header = "Commands (help COMMAND explains one):"

    def __init__(
        self, world: World, stdin: IO[str] | None = None, out: IO[str] | None = None
    ) -> None:
        super().__init__(stdin=stdin, stdout=out)
        # Cmd reads a line by readline on a terminal only, or scripts would see its echo.
        self.use_rawinput = stdin is None and sys.stdin.isatty()
        self._name = "+".join(world.servers)
        self._branches: list[tuple[Session, list[Snapshot]]] = [(world.open(), [])]
        self._ask()

    @property
    def session(self) -> Session:
        """The session that calls go to."""
        return self._branches[-1][0]

    def default(self, line: str) -> None:
        """Call a tool."""
        name, _, rest = line.strip().partition(" ")
        before = self.session.snapshot()
        result = self.session.call(name, arguments(rest, self._strings(name)))
        if result.outcome == "ok":
            self._branches[-1][1].append(before)
        self._say(f"{result.outcome} {_pretty(result.builtins())}")

    def _strings(self, tool: str) -> set[str]:
        """The tool's parameters that are texts; their values are never taken for JSON."""
        functions = {schema.function.name: schema.function for schema in self.session.tools()}
        known = functions[tool].parameters["properties"] if tool in functions else {}
        return {name for name, schema in known.items() if schema.get("type") == "string"}

    def do_tools(self, _: str) -> None:
        """Tools: the session's tools, each with its parameters."""
        for schema in self.session.tools():
            name = schema.function.name
            self._say(f"{name}({self.session.world.tools[name].tool.usage})")

    def do_show(self, name: str) -> None:
        """Show TOOL: what a model is told about the tool."""
        found = [tool.function for tool in self.session.tools() if tool.function.name == name]
        if not found:
            self._say(f"there is no tool {name!r}; `tools` lists them")
            return
        self._say(f"{found[0].description}\n{_pretty(found[0].parameters)}")

    def do_changes(self, _: str) -> None:
        """Changes: what differs from the world's start."""
        self._say(_pretty(self.session.changes()))

    def do_undo(self, rest: str) -> None:
        """Undo: take back the last call that was carried out."""
        if rest:
            self._say(f"undo takes back one call and no argument such as {rest!r}; repeat it")
            return
        past = self._branches[-1][1]
        if not past:
            self._say("there is nothing to undo")
            return
        self.session.restore(past.pop())
        self._say(f"undone; {len(past)} calls are left")

    def do_fork(self, _: str) -> None:
        """Fork: go on in a copy of the session; `back` returns to this one as it is now."""
        self._branches.append((self.session.fork(), []))
        self._ask()

    def do_back(self, _: str) -> None:
        """Back: drop this copy and return to where it was forked."""
        if len(self._branches) == 1:
            self._say("this is the first session; `fork` makes a copy")
            return
        self._branches.pop()[0].close()
        self._ask()

    def do_now(self, _: str) -> None:
        """Now: the session's time."""
        self._say(self.session.now.isoformat())

    def do_quit(self, _: str) -> bool:
        """Quit: end the session."""
        return True

    def do_EOF(self, _: str) -> bool:
        """Control-D: end the session."""
        self._say("")
        return True

    def onecmd(self, line: str) -> bool:
        """Carry out a line; what is wrong with it is said, and the prompt goes on."""
        try:
            return bool(super().onecmd(line))
        except InputError as error:
            self._say(f"error: {error}")
            return False

    def emptyline(self) -> bool:
        """An empty line does nothing."""
        return False

    def _ask(self) -> None:
        depth = len(self._branches) - 1
        self.prompt = f"{self._name}{f' fork {depth}' if depth else ''}> "

    def _say(self, text: str) -> None:
        self.stdout.write(f"{text}\n")


def arguments(text: str, strings: Collection[str] = ()) -> dict[str, Any] | str:
    """A tool's arguments as they were typed: a JSON text as it is, key=value pairs as an object.

    Values are JSON where they can be, but for the parameters in `strings`. Raises `InputError` for
    a word that is no pair, or a quote without its end.
    """
    if text.lstrip().startswith("{"):
        return text
    words = _words(text)
    pairs = [word.partition("=") for word in words]
    for word, (key, equals, _) in zip(words, pairs, strict=True):
        if not (key and equals):
            raise InputError(f"{word!r} is no argument; write key=value, or a JSON object")
    return {key: value if key in strings else _value(value) for key, _, value in pairs}


_PIECE = re.compile(
    r"""(?P<gap>[ \t\r\n]+)|(?P<plain>[^ \t\r\n'"\\]+)|'(?P<whole>[^']*)'"""
    r"""|"(?P<quoted>(?:[^"\\]|\\.)*)"|\\(?P<escaped>.)""",
    re.DOTALL,
)


def _words(text: str) -> list[str]:
    """The words as a POSIX shell splits them. `shlex` would take the square of a line's length."""
    words: list[list[str]] = []
    apart, at = True, 0
    while piece := _PIECE.match(text, at):
        at, kind = piece.end(), piece.lastgroup
        if kind == "gap":
            apart = True
            continue
        if apart:
            words.append([])
        part = piece[kind or 0]
        words[-1].append(re.sub(r'\\(["\\])', r"\1", part) if kind == "quoted" else part)
        apart = False
    if at < len(text):
        raise InputError(f"{seen(text[at:])} cannot be split into words; end what it opens")
    return ["".join(parts) for parts in words]


def _value(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def _pretty(value: object) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False)
