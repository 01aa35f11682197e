"""What is done to the tool list after the chain is chosen (paper 3.2, step 4)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from random import Random
from typing import Any

from msgspec.structs import replace

from provegym.types import Tool
from provegym.world.server import Server

MOST_TOOLS = 128
"""Tools that providers of models take in one request; no task shows more."""


def tool_list(
    needed: Sequence[str],
    servers: Sequence[Server],
    others: Sequence[Server],
    hidden: Iterable[str],
    distractors: int,
    most: int,
    rnd: Random,
) -> tuple[tuple[Tool, ...], int]:
    """The tools a task shows, shuffled, and how many of them are distractors.

    `needed` always stay; the rest of the `servers` fills up to `most` (0 = all of them), except
    the `hidden`; `distractors` come from `others` and stay within `most`. There are never more
    than `MOST_TOOLS`.
    """
    away = set(hidden)
    own = {n: t for s in servers for n, t in s.tools.items() if n not in away}
    foreign = {n: t for s in others for n, t in s.tools.items()}
    room = max(0, min(most or MOST_TOOLS, MOST_TOOLS) - len(needed))
    count = min(distractors, room, len(foreign))
    rest = [n for n in own if n not in needed]
    fill = min(len(rest), room - count)
    names = [*needed, *rnd.sample(rest, fill), *rnd.sample(sorted(foreign), count)]
    rnd.shuffle(names)
    return tuple({**foreign, **own}[name].schema for name in names), count


def strip_enums(tools: tuple[Tool, ...]) -> tuple[Tool, ...]:
    """The same tools without the lists of valid values; execution still enforces them."""
    return tuple(
        replace(t, function=replace(t.function, parameters=_without_enum(t.function.parameters)))
        for t in tools
    )


def _without_enum(schema: Any) -> Any:
    if isinstance(schema, dict):
        return {k: _without_enum(v) for k, v in schema.items() if not _is_enum(k, v)}
    return [_without_enum(item) for item in schema] if isinstance(schema, list) else schema


def _is_enum(key: str, value: Any) -> bool:
    return key == "enum" and isinstance(value, list)
