"""Finding out about a server: its tools, which of them write, what there is at its start.

Tools are called on processes of their own, which are thrown away after.
"""

from __future__ import annotations

from collections.abc import Callable, Collection

import mcp_types as types
from msgspec.structs import replace

from provegym.errors import InputError
from provegym.gateway.external import kinds as things
from provegym.gateway.external.connection import Listing
from provegym.gateway.external.learned import Foreigner, Learned, Start, fingerprint
from provegym.gateway.external.names import tool_names
from provegym.gateway.external.pool import Pool
from provegym.gateway.external.portable import portable, takes_null
from provegym.gateway.external.scout import Scout
from provegym.gateway.external.settings import External
from provegym.world.tool import Effect

SHOWN = 128
"""Tools that providers take in one list."""


def learn(
    name: str,
    told: External,
    listing: Listing,
    pool: Pool,
    taken: Collection[str],
    wanted: str,
    news: Callable[[str], None],
) -> Learned:
    """All about a server. `taken` are names of other servers' tools, `wanted` is the identity.
    `news` is told which tool is called.

    Raises `InputError` where it has no tool to show or settings name one that it does not have.
    """
    tools = described(name, told, listing, taken)
    notes: list[str] = []
    scout = Scout(told, tools, pool, notes, news)
    scout.look_around()
    scout.settle_effects()
    scout.look_around()
    found = scout.settle_effects()
    found = [replace(t, returns=scout.returned(i)) for i, t in enumerate(found)]
    known = things.infer(found, scout.samples)
    found = [scout.placed(i, tool, known, found) for i, tool in enumerate(found)]
    found = [tool for tool in found if tool.name not in scout.broken]
    taken_kinds = {kind for tool in found for kind in tool.takes.values()}
    values = {name: known.values[name] for name in known.values if name in taken_kinds}
    if len(found) > SHOWN:
        notes.append(f"{len(found)} tools: a task shows {SHOWN} at most")
    return Learned(
        identity=wanted,
        listing=fingerprint(listing.tools),
        title=told.title or listing.title or name,
        tools=tuple(found),
        entities=tuple(e for e in known.entities if e.name in taken_kinds),
        starts={0: Start(values, scout.rows)},
        words=tuple(sorted({word for kind in known.values.values() for word in kind})),
        notes=tuple(notes),
    )


def described(
    name: str, told: External, listing: Listing, taken: Collection[str]
) -> list[Foreigner]:
    """The tools that may be shown, portable and with names that no other tool has."""
    own = {tool.name for tool in listing.tools}
    named = {*told.hide, *told.read, *told.write, *filter(None, [told.shows_state])}
    named |= {told.reset} - {"restart", "files"}
    if missing := sorted(named - own):
        raise InputError(
            f"server {name} has no tool {missing[0]!r}, which its settings name; it has "
            f"{', '.join(sorted(own)) or 'none'}"
        )
    away = {*told.hide, told.reset}
    shown = [tool for tool in listing.tools if tool.name not in away]
    if not shown:
        raise InputError(f"server {name} has no tool to show")
    names = tool_names(name, [tool.name for tool in shown], taken)
    return [_foreigner(names[tool.name], tool, told) for tool in shown]


def _foreigner(name: str, tool: types.Tool, told: External) -> Foreigner:
    renamed: dict[str, str] = {}
    schema = portable(tool.input_schema, renamed)
    schema.pop("description", None)
    own = tool.input_schema.get("properties") or {}
    demanded = tool.input_schema.get("required") or ()
    effect, why = _effect(tool, told)
    title = tool.title or (tool.annotations.title if tool.annotations else None) or ""
    return Foreigner(
        name=name,
        real=tool.name,
        title=title,
        description=" ".join((tool.description or title or tool.name).split()),
        schema=schema,
        renamed=renamed,
        nulls=tuple(n for n in demanded if takes_null(own.get(n))),
        effect=effect,
        why=why,
        returns=portable(tool.output_schema, {}) if tool.output_schema else {},
    )


def _effect(tool: types.Tool, told: External) -> tuple[Effect, str]:
    """What is said of the tool: by the settings, else by itself."""
    if tool.name in told.read or tool.name == told.shows_state:
        return "read", "settings"
    if tool.name in told.write:
        return "write", "settings"
    hint = tool.annotations.read_only_hint if tool.annotations else None
    if hint is not None:
        return ("read" if hint else "write"), "annotation"
    return "write", "caution"
