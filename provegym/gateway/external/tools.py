"""What was learned about a tool, as a `world.Tool` that runs on a session's state."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from typing import Any

import msgspec
from msgspec import UNSET

from provegym.gateway.external import shapes
from provegym.gateway.external.drawing import sampler
from provegym.gateway.external.kinds import KEYS
from provegym.gateway.external.learned import Foreigner, Learned
from provegym.gateway.external.names import CHANGERS, MAKERS, READERS, WORD, parts, tokens
from provegym.gateway.external.scout import sent
from provegym.gateway.external.settings import External
from provegym.gateway.external.state import Foreign
from provegym.types import Function
from provegym.types import Tool as ToolSchema
from provegym.world.fields import take_apart
from provegym.world.schema import argument_struct
from provegym.world.tool import Tool

WAYS = ("{}", "Please {}", "I want you to {}")
"""How people ask for it, around what it is called."""
VERBS = (READERS | MAKERS | CHANGERS) - {
    "status",
    "log",
    "diff",
    "count",
    "query",
    "all",
    "by",
    "new",
}
"""Words that a wish can begin with; one word may stand before, as in `git_create_branch`."""
_VERB_NOUN = re.compile(r"[a-z]+( [a-z0-9]+)*", re.IGNORECASE)


def make(server: str, tool: Foreigner, told: External, learned: Learned) -> Tool:
    """The tool, ready to run."""
    schema = tool.schema
    known = {entity.name for entity in learned.entities}
    takes = {path: f"{server}.{name}" for path, name in tool.takes.items() if name in known}
    shows = {path: f"{server}.{name}" for path, name in tool.shows.items() if name in known}
    parameters = tuple(
        take_apart(name, shapes.annotation(child, takes, f"/{name}"))
        for name, child in schema["properties"].items()
    )
    required = frozenset(schema["required"])
    defaults = {p.name: UNSET for p in parameters if p.name not in required}
    decoded = argument_struct("tool", parameters, defaults)
    return Tool(
        name=tool.name,
        description=tool.description,
        effect=tool.effect,
        run=_run(tool, tuple(decoded.__struct_fields__)),
        parameters=parameters,
        required=required,
        returns=shapes.result_type(tool.returns, shows),
        phrases=phrases(tool, {e.name for e in learned.entities if e.label}),
        refuses=(),
        sample=sampler(server, tool, told, learned),
        schema=ToolSchema(Function(tool.name, tool.description, schema)),
        decoder=msgspec.json.Decoder(decoded),
        checks=(),
        defaults=defaults,
    )


def _run(tool: Foreigner, names: tuple[str, ...]) -> Callable[..., Any]:
    def run(state: Foreign, *given: Any) -> Any:
        told = {n: v for n, v in zip(names, given, strict=True) if v is not UNSET}
        return state.call(tool.real, tool.effect, sent(tool, msgspec.to_builtins(told)))

    return run


def phrases(tool: Foreigner, labelled: Collection[str] = ()) -> tuple[str, ...]:
    """Ways to ask for it: its name in words, then each argument after its own. What one of the
    `labelled` entities names is no id in people's mouths.
    """
    required = tool.schema["required"]
    optional = [name for name in tool.schema["properties"] if name not in required]
    said = {n: _spoken(n, tool.takes.get(f"/{n}") in labelled) for n in (*required, *optional)}
    slots = " and ".join(f"{said[name]} {{{name}}}" for name in required)
    more = "".join(f"[ {'and' if required else 'with'} {said[n]} {{{n}}}]" for n in optional)
    told = f"{asked_for(tool)} with {slots}{more}" if required else f"{asked_for(tool)}{more}"
    return tuple(_opened(way.format("\0").replace("\0", told)) for way in WAYS)


def asked_for(tool: Foreigner) -> str:
    """What people call what the tool does: "create ticket" for `tickets.create`."""
    title = re.sub(r"[\[\]{}\"]", "", tool.title)
    if _VERB_NOUN.fullmatch(title):
        return title.lower()
    words = tokens("_".join(reversed(parts(tool.real)[-2:])))
    verb = next((i for i, word in enumerate(words[:2]) if word in VERBS), None)
    return f"use {' '.join(words)}" if verb is None else " ".join(words[verb:])


def _opened(text: str) -> str:
    return text[:1].upper() + text[1:]


def _spoken(name: str, labelled: bool) -> str:
    words = [word.lower() for word in WORD.findall(name)] or [name]
    return " ".join(words[:-1] if labelled and len(words) > 1 and words[-1] in KEYS else words)
