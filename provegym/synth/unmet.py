"""Reasons to refuse that no conversation has met yet, for later candidates to aim at."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from provegym import servers as library
from provegym.synth import vain
from provegym.types import Call, Trace

Codes = Mapping[str, Sequence[str]]
"""By server, codes that its tools declare."""
NO_AIMS: Codes = {}


def unmet(conversations: Iterable[Trace], servers: Iterable[str]) -> Codes:
    """By server, the declared codes that none of its calls in the conversations was refused with;
    servers without any are left out.
    """
    refused = {_refusal(c) for talk in conversations for c in talk.calls if c.outcome != "ok"}
    found = {}
    for name in servers:
        server = library.load(name)
        met = {code for tool, code in refused if tool in server.tools}
        found[name] = sorted(vain.declared(server).keys() - met - {vain.MISSING})
    return {name: codes for name, codes in found.items() if codes}


def _refusal(call: Call) -> tuple[str, str]:
    """The tool and the code of a call that did not succeed."""
    return call.name, call.result.get("error", {}).get("code", "")
