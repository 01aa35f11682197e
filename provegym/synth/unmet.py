"""Reasons to refuse that no conversation has met yet, and the last tools that none has called, for
later candidates to aim at.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from msgspec import Struct

from provegym import servers as library
from provegym.synth import vain
from provegym.types import Call, Trace

FEW = 3
"""Tools that no conversation has called, at most, for later ones to aim at them: a small set of
tasks leaves many out (ours)."""


class Aim(Struct, frozen=True):
    """What candidates about a server aim at: `codes` to be refused with, and `tools` to call."""

    codes: tuple[str, ...] = ()
    tools: tuple[str, ...] = ()


Aims = Mapping[str, Aim]
"""By server; those without any are left out."""
NO_AIM = Aim()
NO_AIMS: Aims = {}


def unmet(conversations: Iterable[Trace], servers: Iterable[str]) -> Aims:
    """By server, the declared codes that none of its calls in the conversations was refused with,
    and its tools that none called if they are few; servers without any are left out.
    """
    calls = [call for talk in conversations for call in talk.calls]
    called = {call.name for call in calls if call.outcome == "ok"}
    refused = {_refusal(call) for call in calls if call.outcome != "ok"}
    found = {}
    for name in servers:
        server = library.load(name)
        met = {code for tool, code in refused if tool in server.tools}
        idle = sorted(server.tools.keys() - called)
        codes = sorted(vain.declared(server).keys() - met - {vain.MISSING})
        found[name] = Aim(tuple(codes), tuple(idle) if len(idle) <= FEW else ())
    return {name: aim for name, aim in found.items() if aim != NO_AIM}


def _refusal(call: Call) -> tuple[str, str]:
    """The tool and the code of a call that did not succeed."""
    return call.name, call.result.get("error", {}).get("code", "")
