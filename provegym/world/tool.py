"""`@tool`: a plain typed function becomes a tool.

The signature gives the portable JSON Schema and the compiled validator, the docstring the
descriptions that a model reads, `phrases` the ways a person asks for it.

    @tool("write", phrases=("Freeze {card_id}",), refuses=("already_frozen",))
    def freeze_card(bank: Bank, card_id: CardId) -> Card:
        ...  # docstring: prose, then Google-style `Args:` with a line for each parameter
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from random import Random
from typing import Any, ClassVar, Literal, NoReturn, get_type_hints

import msgspec
from msgspec import NODEFAULT

from provegym.types import Function, Outcome
from provegym.types import Tool as ToolSchema
from provegym.world.fields import SENSITIVE, Field, take_apart
from provegym.world.schema import argument_struct, format_check, parameters_schema

Effect = Literal["read", "write"]
Sampler = Callable[[Any, Random], dict[str, Any]]


class Refused(Exception):
    """A tool's refusal: becomes the result `{"error": {code, message, details}}`."""

    outcome: ClassVar[Outcome] = "tool_error"

    def __init__(self, code: str, message: str, **details: Any) -> None:
        super().__init__(message)
        self.code, self.message, self.details = code, message, details


def refuse(code: str, message: str, **details: Any) -> NoReturn:
    """End the tool: a stable `code`, a sentence with the value seen, and what would be valid."""
    raise Refused(code, message, **details)


@dataclass(frozen=True, slots=True, eq=False)
class Tool:
    """One tool of a server, ready to run."""

    name: str
    description: str
    effect: Effect
    run: Callable[..., Any]
    """Called as `run(state, *arguments)` in the order of `parameters`."""
    parameters: tuple[Field, ...]
    required: frozenset[str]
    returns: Any
    phrases: tuple[str, ...]
    """Ways a person asks for it: `{parameter}` slots, `[optional part]` kept if its slots are."""
    refuses: tuple[str, ...]
    """Codes of the refusals that depend on the state of the world."""
    sample: Sampler | None
    """Plausible arguments in this state; None leaves it to the types."""
    schema: ToolSchema
    decoder: msgspec.json.Decoder[Any]
    checks: tuple[tuple[int, Callable[[Any], object], Any], ...]
    """(place among the decoder's fields, test, default) of each value that holds formatted text.
    The default itself is always well written."""
    defaults: dict[str, Any]
    """Of the optional parameters."""

    def __reduce__(self) -> tuple[Callable[[str, str], Tool], tuple[str, str]]:
        return _find, (self.run.__module__, self.name)

    @property
    def usage(self) -> str:
        """Names of the parameters with commas between, optional ones in brackets."""
        names = (p.name if p.name in self.required else f"[{p.name}]" for p in self.parameters)
        return ", ".join(names)

    @property
    def sensitive(self) -> frozenset[str]:
        """Parameters that hold a secret."""
        return frozenset(p.name for p in self.parameters if p.has(SENSITIVE))


def tool(
    effect: Effect,
    *,
    phrases: tuple[str, ...],
    refuses: tuple[str, ...] = (),
    sample: Sampler | None = None,
) -> Callable[[Callable[..., Any]], Tool]:
    """Make a function a tool. Its first parameter is the server's state.

    Raises TypeError at import time where a parameter has no description or the type cannot be
    said in the portable schema.
    """

    def make(run: Callable[..., Any]) -> Tool:
        return _build(run, effect, phrases, refuses, sample)

    return make


def _build(
    run: Callable[..., Any],
    effect: Effect,
    phrases: tuple[str, ...],
    refuses: tuple[str, ...],
    sample: Sampler | None,
) -> Tool:
    name = run.__name__
    hints = get_type_hints(run, include_extras=True)
    signature = list(inspect.signature(run).parameters.values())[1:]
    parameters = tuple(take_apart(p.name, hints[p.name]) for p in signature)
    defaults = {p.name: p.default for p in signature if p.default is not p.empty}
    summary, described = parse_docstring(inspect.getdoc(run) or "")
    missing = [p.name for p in parameters if not described.get(p.name)]
    if missing or not summary:
        raise TypeError(f"tool {name}: no description for {missing or 'the tool'}")
    schema = parameters_schema(parameters, defaults, described)
    decoded = argument_struct(name, parameters, defaults)
    return Tool(
        name=name,
        description=summary,
        effect=effect,
        run=run,
        parameters=parameters,
        required=frozenset(p.name for p in parameters if p.name not in defaults),
        returns=hints["return"],
        phrases=phrases,
        refuses=refuses,
        sample=sample,
        schema=ToolSchema(Function(name, summary, schema)),
        decoder=msgspec.json.Decoder(decoded),
        checks=_checks(decoded, parameters, defaults),
        defaults=defaults,
    )


def _checks(
    decoded: type[msgspec.Struct], parameters: tuple[Field, ...], defaults: dict[str, Any]
) -> tuple[tuple[int, Callable[[Any], object], Any], ...]:
    place = {name: i for i, name in enumerate(decoded.__struct_fields__)}
    return tuple(
        (place[p.name], check, defaults.get(p.name, NODEFAULT))
        for p in parameters
        if (check := format_check(p))
    )


def _find(module: str, name: str) -> Tool:
    """The tool of that name as its module defines it: how a tool crosses processes."""
    found: Tool = getattr(import_module(module), name)
    return found


def parse_docstring(text: str) -> tuple[str, dict[str, str]]:
    """Split a Google-style docstring into its prose and its `Args:` entries."""
    prose, _, args = text.partition("\nArgs:\n")
    entries: dict[str, str] = {}
    name = ""
    for line in args.splitlines():
        start = re.match(r"    (\w+): (.*)", line)
        if start:
            name = start[1]
            entries[name] = start[2].strip()
        elif line.startswith("        ") and name:
            entries[name] += " " + line.strip()
        elif line.strip():
            break
    return " ".join(prose.split()), entries
