"""How tests talk to a server: calls that it must accept, and calls that it must refuse."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

from provegym.world.server import Server
from provegym.world.session import Session

Writes = Sequence[tuple[str, dict[str, Any]]]
"""Calls by tool and arguments."""


@dataclass(frozen=True)
class Talk:
    """A session of a server; what tests add is the typed view of its state.

    Rows that a test wrote by hand are part of the state from the next call on, so that a refusal
    does not undo them.
    """

    session: Session

    def keep(self) -> None:
        """Let rows that a test wrote by hand survive a refused call."""
        self.session.restore(self.session.snapshot())

    def ok(self, tool: str, /, **arguments: Any) -> Any:
        """What an accepted call gives."""
        self.keep()
        result = self.session.call(tool, arguments)
        assert result.outcome == "ok", result
        return result.builtins()

    def refused(self, tool: str, /, **arguments: Any) -> dict[str, Any]:
        """The error of a call that is refused and changes nothing."""
        self.keep()
        before = self.session.digest()
        result = self.session.call(tool, arguments)
        assert result.outcome == "tool_error", result
        assert self.session.digest() == before
        error: dict[str, Any] = result.builtins()["error"]
        return error

    def code(self, tool: str, /, **arguments: Any) -> str:
        """The code of a refusal."""
        return str(self.refused(tool, **arguments)["code"])


Refusal = tuple[str, str]
"""A tool and the code that it refuses with."""


def declared(server: Server, scenarios: Collection[Refusal] | None = None) -> list[Refusal]:
    """Each refusal that a server's tools declare; of these and no others there are `scenarios`."""
    found = [(name, code) for name, tool in server.tools.items() for code in tool.refuses]
    assert scenarios is None or set(scenarios) == set(found)
    return found


def agree(one: Talk, writes: Writes, two: Talk, again: Writes = ()) -> None:
    """Two like sessions change in the same way by writes in either order.

    `again` are the writes as the second session has them; by default they are the same.
    """
    for tool, arguments in writes:
        one.ok(tool, **arguments)
    for tool, arguments in reversed(again or writes):
        two.ok(tool, **arguments)
    assert one.session.changes() == two.session.changes()
