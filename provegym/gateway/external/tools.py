"""What was learned about a tool, as a `world.Tool` that runs on a session's state."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import msgspec
from msgspec import UNSET

from provegym.gateway.external import shapes
from provegym.gateway.external.drawing import sampler
from provegym.gateway.external.learn import sent
from provegym.gateway.external.learned import Foreigner, Learned
from provegym.gateway.external.settings import External
from provegym.gateway.external.state import Foreign
from provegym.types import Function
from provegym.types import Tool as ToolSchema
from provegym.world.fields import take_apart
from provegym.world.schema import argument_struct
from provegym.world.tool import Tool

WAYS = ("{}", "Please {}", "I want you to {}")
"""How people ask for it, around what it is called."""
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
        phrases=phrases(tool),
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


def phrases(tool: Foreigner) -> tuple[str, ...]:
    """Ways to ask for it: its name in words, then each argument after its own."""
    words = " ".join(re.findall(r"[A-Za-z][a-z]*|\d+", tool.real)).lower()
    title = re.sub(r"[\[\]{}\"]", "", tool.title)
    asked = title.lower() if _VERB_NOUN.fullmatch(title) else words
    required = tool.schema["required"]
    optional = [name for name in tool.schema["properties"] if name not in required]
    slots = " and ".join(f"{_spoken(name)} {{{name}}}" for name in required)
    more = "".join(f"[ and {_spoken(name)} {{{name}}}]" for name in optional)
    told = f"{asked} with {slots}{more}" if required else f"{asked}{more}"
    return tuple(_opened(way.format("\0").replace("\0", told)) for way in WAYS)


def _opened(text: str) -> str:
    return text[:1].upper() + text[1:]


def _spoken(name: str) -> str:
    return " ".join(re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+", name)).lower() or name
