"""What a task must be for a session to be opened for it, whether HTTP or a file brings it.

A file of tasks may hold what no session can be about (see `provegym.records`); here it is told in
one sentence before anything is opened.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from datetime import datetime
from functools import lru_cache

import msgspec
from jsonschema import Draft202012Validator, SchemaError

from provegym.errors import InputError, UnknownName, seen
from provegym.ground import check_ground
from provegym.types import MOST_SEED, SCHEMA, Function, Task

MOST_LETTERS = 200
"""Of a task's id."""
NAMED = 20
"""So many names an error lists."""
TOOL_NAME = re.compile(r"[A-Za-z0-9_.-]{1,128}")
"""Of a tool (MCP 2026-07-28, "Tools", tool names)."""


def check_task(task: Task) -> None:
    """Raise `InputError` that names the field and the value no session can be opened for."""
    if task.schema > SCHEMA:
        raise InputError(f"task.schema {task.schema} is newer than {SCHEMA}; use a newer provegym")
    if not task.id.strip():
        raise InputError(f"task.id {task.id!r} is empty; give the task a name")
    if len(task.id) > MOST_LETTERS:
        told = f"task.id {seen(task.id, 40)} has {len(task.id)} letters"
        raise InputError(f"{told}; give it at most {MOST_LETTERS}")
    if not task.turns:
        raise InputError("task.turns is empty; a task has at least one turn of its user")
    if not 0 <= task.seed <= MOST_SEED:
        raise InputError(f"task.seed {task.seed} is not from 0 to {MOST_SEED}")
    check_servers("task.servers", task.servers)
    _check_time(task.reference_time)
    _check_shown(task)
    check_ground(task)


def _check_shown(task: Task) -> None:
    """Look at every tool that the task ever shows."""
    known: set[str] = set()
    for tool in (*task.tools, *[tool for turn in task.turns for tool in turn.tools]):
        check_function(tool.function)
        if tool.function.name in known:
            raise InputError(f"the task shows the tool {tool.function.name} twice; leave one out")
        known.add(tool.function.name)


def check_function(function: Function) -> None:
    """Raise `InputError` for a tool that no client could be shown: its name is not of MCP, or its
    parameters are no JSON Schema (2020-12) of an object.
    """
    if not TOOL_NAME.fullmatch(function.name):
        told = f"the tool name {seen(function.name)} cannot be listed"
        raise InputError(f"{told}; take 1 to 128 letters and digits of ASCII, `_`, `-` and `.`")
    wrong = _wrong(msgspec.json.encode(function.parameters))
    if wrong:
        raise InputError(f"the parameters of the tool {function.name} {wrong}")


@lru_cache(maxsize=4096)
def _wrong(parameters: bytes) -> str:
    """What keeps parameters from being the schema of an object; "" where nothing does. Kept, for
    a look takes a millisecond, and most tasks have the tools of others.
    """
    schema = msgspec.json.decode(parameters)
    if schema.get("type") != "object":
        told = f"have the type {seen(schema['type'])}" if "type" in schema else "have no type"
        return f'{told}; MCP demands {{"type": "object"}} with their `properties`'
    try:
        Draft202012Validator.check_schema(schema)
    except SchemaError as error:
        return f"are no JSON Schema: at {error.json_path[:80]}, {error.message[:160]}"
    except RecursionError:
        return "are nested too deep"
    return ""


def check_servers(field: str, names: Sequence[str]) -> None:
    """Raise `InputError` where a server is named twice."""
    for name in names:
        if names.count(name) > 1:
            raise InputError(f"{field} names {seen(name)} twice; name each server once")


def check_tools(names: Sequence[str], known: Collection[str], told: Collection[str]) -> None:
    """Raise `UnknownName` for a tool that is none of the known; the message names those told."""
    for name in names:
        if name not in known:
            raise UnknownName("tool", name, sorted(told)[:NAMED])


def _check_time(text: str) -> None:
    try:
        datetime.fromisoformat(text or "2026-01-01")
    except ValueError:
        told = f"task.reference_time {seen(text)} is no time of ISO 8601"
        raise InputError(f"{told}, such as 2026-03-02T09:00:00") from None
