"""Reasons to refuse that no conversation has met yet, and the last tools that none has called, for
later candidates to aim at.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from provegym import servers as library
from provegym.synth import vain
from provegym.types import Call, Trace

Codes = Mapping[str, Sequence[str]]
"""By server, codes that its tools declare, and tools after `CALL`."""
NO_AIMS: Codes = {}
CALL = "call:"
"""Begins an aim that is a tool to be called; any other is a code to be refused with."""
FEW = 3
"""Tools that no conversation has called, at most, for later ones to aim at them: a small set of
tasks leaves many out (ours)."""


def unmet(conversations: Iterable[Trace], servers: Iterable[str]) -> Codes:
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
        found[name] = [*codes, *(f"{CALL}{tool}" for tool in idle if len(idle) <= FEW)]
    return {name: aims for name, aims in found.items() if aims}


def codes_in(aims: Iterable[str]) -> list[str]:
    """The aims that are codes."""
    return [aim for aim in aims if not aim.startswith(CALL)]


def tools_in(aims: Iterable[str]) -> list[str]:
    """The tools to be called among the aims."""
    return [aim.removeprefix(CALL) for aim in aims if aim.startswith(CALL)]


def _refusal(call: Call) -> tuple[str, str]:
    """The tool and the code of a call that did not succeed."""
    return call.name, call.result.get("error", {}).get("code", "")
