"""A server = a state class, its tools and its seed; it knows no protocol."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from random import Random
from typing import TYPE_CHECKING, Any, ClassVar

from provegym.world.cast import Cast
from provegym.world.table import Row, Table, table
from provegym.world.tool import Tool

if TYPE_CHECKING:
    from provegym.world.session import Session

Seeds = dict[str, Iterable[Row]]
"""Rows of each table of one server."""


class State:
    """What a server's tools see of one session: its tables, its clock and who is asking.

    class Bank(State):
        accounts = table(Account, "acc")
    """

    server: ClassVar[str] = ""

    def __init__(self, session: Session) -> None:
        self._session = session

    def table_of(self, ref: str) -> Table[Any]:
        """The session's view of a table named as a `Ref` names it: "banking.accounts"."""
        return self._session.open_table(ref)

    @property
    def now(self) -> datetime:
        """The session's time (UTC); it moves one minute with every write."""
        return self._session.now

    @property
    def stamp(self) -> str:
        """`now` in ISO 8601 with zone."""
        return self._session.now.isoformat()

    @property
    def cast(self) -> Cast:
        """The people of this world; `cast.user` is who the assistant works for."""
        return self._session.world.cast

    @classmethod
    def tables(cls) -> dict[str, table[Any]]:
        """The declared tables by name."""
        return {n: t for n, t in vars(cls).items() if isinstance(t, table)}


@dataclass(frozen=True, slots=True, eq=False)
class Server:
    """A tool server. `seed(cast, rnd)` makes its rows; `violations` names broken invariants."""

    name: str
    title: str
    """What it is, for people: "Retail bank"."""
    state: type[State]
    tools: dict[str, Tool]
    seed: Callable[[Cast, Random], Seeds]
    violations: Callable[[Any], Iterable[str]]
    outside: bool = False
    """Whether it runs in another process, whose results may depend on more than seed and calls."""


def collect(module: Any) -> dict[str, Tool]:
    """The tools of a module, in the order of its source."""
    return {t.name: t for t in vars(module).values() if isinstance(t, Tool)}


def later(start: datetime, **delta: float) -> str:
    """`start` moved by a timedelta, in ISO 8601."""
    return (start + timedelta(**delta)).astimezone(UTC).isoformat()
