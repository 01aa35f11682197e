"""Where two settings differ, and how to say it."""

from __future__ import annotations

import json
from typing import Any, NamedTuple

MOST = 3
"""Differences that a line names."""
LONGEST = 60
"""Characters of one value in it."""


class Difference(NamedTuple):
    """A path, such as `synth.limit`, and both values."""

    key: str
    found: Any
    wanted: Any


def differences(found: Any, wanted: Any, key: str = "") -> list[Difference]:
    """Where two settings (JSON-like values) differ."""
    if not (isinstance(found, dict) and isinstance(wanted, dict)):
        return [Difference(key, found, wanted)] if found != wanted else []
    return [
        difference
        for name in {**found, **wanted}
        for difference in differences(
            found.get(name), wanted.get(name), f"{key}.{name}".lstrip(".")
        )
    ]


def named(found: Any, wanted: Any) -> str:
    """Such as "synth.limit: 12, now 20"; "" where nothing differs."""
    all_of_them = differences(found, wanted)
    told = [f"{d.key}: {_short(d.found)}, now {_short(d.wanted)}" for d in all_of_them[:MOST]]
    if len(all_of_them) > MOST:
        told.append(f"{len(all_of_them) - MOST} more")
    return "; ".join(told)


def _short(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}..."
