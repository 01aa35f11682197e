"""What one check of the contract finds."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct

from provegym.world.server import Server
from provegym.world.session import Session

SHOWN, LINE = 6, 300
"""How many problems a check's detail lists, and the characters of each."""


class Check(Struct, frozen=True):
    """One demand, whether it holds, and the evidence or what breaks it."""

    name: str
    passed: bool
    detail: str


Judged = tuple[Iterable[str], str]
"""Problems, and the evidence if there are none."""


def judge(name: str, found: Judged) -> Check:
    """A check that passes if there are no problems."""
    problems, evidence = found
    listed = list(dict.fromkeys(p if len(p) < LINE else f"{p[:LINE]}..." for p in problems))
    more = [f"and {len(listed) - SHOWN} more"] if len(listed) > SHOWN else []
    return Check(name, not listed, "; ".join([*listed[:SHOWN], *more]) or evidence)


def violations(server: Server, session: Session) -> list[str]:
    """The invariants that a session's state breaks."""
    return list(server.violations(session.state(server.name)))
