"""Tools as MCP lists them: schemas of arguments and results, and all four annotations.

Input schemas are the very ones that a policy is shown in training, a task's perturbed ones too.
Output schemas and annotations are those of the session's world, else the library's: a perturbed
tool keeps those of the tool that it comes from. A tool that neither knows is taken to be as harmful
as MCP assumes.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache, reduce
from operator import or_
from types import NoneType, UnionType
from typing import Any, NamedTuple, Union, get_args, get_origin, get_type_hints

import msgspec
from mcp import types
from msgspec import Struct

from provegym import servers
from provegym.types import Tool
from provegym.world.fields import take_apart
from provegym.world.schema import field_schema
from provegym.world.tool import Tool as LibraryTool
from provegym.world.world import Bound

READ = types.ToolAnnotations(
    read_only_hint=True, destructive_hint=False, idempotent_hint=True, open_world_hint=False
)
"""A look-up in a simulated, closed world."""
WRITE = types.ToolAnnotations(
    read_only_hint=False, destructive_hint=True, idempotent_hint=False, open_world_hint=False
)
"""A write: it may change rows that are there, and doing it twice may do more."""
UNKNOWN = types.ToolAnnotations(
    read_only_hint=False, destructive_hint=True, idempotent_hint=False, open_world_hint=True
)
"""MCP's own assumptions about a tool that says nothing."""

OUTSIDE = {"open_world_hint": True}
"""What changes for a tool of an external server: nobody knows what it reaches."""
Known = Mapping[str, Bound]
"""The tools of a session's world by name."""
_NONE: Known = {}


class Origin(NamedTuple):
    """A tool and the server that it belongs to."""

    server: str
    tool: LibraryTool
    outside: bool = False


@lru_cache(maxsize=1)
def library() -> dict[str, Origin]:
    """Every tool of the library by name; names are unique over all servers."""
    loaded = [(name, servers.load(name)) for name in servers.library()]
    return {n: Origin(name, tool) for name, server in loaded for n, tool in server.tools.items()}


def origin_of(name: str, known: Known = _NONE) -> Origin | None:
    """The tool of that name in the session's world, else in the library, None if in neither."""
    bound = known.get(name)
    if bound is None:
        return library().get(name)
    return Origin(bound.place, bound.tool, bound.server.outside)


def server_of(name: str, known: Known = _NONE) -> str:
    """The server that a tool belongs to, "" if there is none."""
    origin = origin_of(name, known)
    return origin.server if origin else ""


def is_library_tool(tool: Tool) -> bool:
    """Whether it is shown just as the library has it."""
    origin = library().get(tool.function.name)
    return origin is not None and origin.tool.schema is tool


def described(tool: Tool, known: Known = _NONE) -> types.Tool:
    """A tool as MCP lists it."""
    if is_library_tool(tool):
        return _of_library(tool.function.name)
    return _describe(tool, origin_of(tool.function.name, known))


@lru_cache(maxsize=4096)
def _of_library(name: str) -> types.Tool:
    origin = library()[name]
    return _describe(origin.tool.schema, origin)


def _describe(tool: Tool, origin: Origin | None) -> types.Tool:
    told = tool.function
    is_ours = origin is not None and not origin.outside
    return types.Tool(
        name=told.name,
        description=told.description or None,
        input_schema=told.parameters,
        output_schema=output_schema(origin.tool) if origin and is_ours else None,
        annotations=_annotations(origin),
    )


def _annotations(origin: Origin | None) -> types.ToolAnnotations:
    if origin is None:
        return UNKNOWN
    hints = READ if origin.tool.effect == "read" else WRITE
    return hints.model_copy(update=OUTSIDE) if origin.outside else hints


def output_schema(tool: LibraryTool) -> dict[str, Any]:
    """The JSON Schema of what the tool gives where it succeeds: whole, without any `$ref`."""
    return value_schema(tool.returns)


def value_schema(annotation: Any) -> dict[str, Any]:
    """The schema of a value of that type, as msgspec writes it.

    Raises TypeError for a type that no tool gives.
    """
    kinds = _alternatives(annotation)
    if NoneType in kinds:
        return {"anyOf": [value_schema(_given(annotation)), {"type": "null"}]}
    if len(kinds) > 1:
        return _enum(kinds)
    field = take_apart("", annotation)
    if get_origin(field.type) in (list, tuple):
        return {"type": "array", "items": value_schema(get_args(field.type)[0])}
    if isinstance(field.type, type) and issubclass(field.type, Struct):
        return _record_schema(field.type)
    return field_schema(field)


def _alternatives(annotation: Any) -> tuple[Any, ...]:
    """The members of a union, else the annotation alone."""
    is_union = get_origin(annotation) in (Union, UnionType)
    return get_args(annotation) if is_union else (annotation,)


def _enum(kinds: tuple[Any, ...]) -> dict[str, Any]:
    """Several lists of valid texts as one."""
    return {"type": "string", "enum": [value for kind in kinds for value in get_args(kind)]}


def _record_schema(record: type[Struct]) -> dict[str, Any]:
    hints = get_type_hints(record, include_extras=True)
    fields = msgspec.structs.fields(record)
    omits = record.__struct_config__.omit_defaults
    if omits:  # a null that is the default is left out
        hints |= {f.name: _given(hints[f.name]) for f in fields if f.default is None}
    return {
        "type": "object",
        "properties": {f.encode_name: value_schema(hints[f.name]) for f in fields},
        "required": [f.encode_name for f in fields if f.required or not omits],
    }


def _given(annotation: Any) -> Any:
    """What a value is that is not None."""
    return reduce(or_, [kind for kind in _alternatives(annotation) if kind is not NoneType])
