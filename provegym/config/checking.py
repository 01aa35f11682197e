"""Settings held against their tables, and what is said of the first that is wrong."""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any, TypeVar, get_args

from pydantic import ValidationError

from provegym.config.run import RunConfig
from provegym.config.section import Section
from provegym.config.teacher import Teacher, preset
from provegym.config.toml import override, told
from provegym.errors import InputError, seen

S = TypeVar("S", bound=Section)


def load(path: str | Path, overrides: Iterable[str] = ()) -> RunConfig:
    """Read a run's TOML, change it by overrides like `grpo.steps=20`, and check it whole.

    Raises `InputError` with one line: the file, the key's path, the value, what would be right.
    """
    return parse(told(path, overrides), str(path))


def parse(settings: dict[str, Any], source: str) -> RunConfig:
    """Check settings that come from `source` (named in errors); a preset is filled in.

    Raises `InputError`.
    """
    return checked(RunConfig, _filled(settings), source)


def checked(kind: type[S], settings: dict[str, Any], source: str) -> S:
    """Settings of any kind, checked. Raises `InputError` as `load` does."""
    try:
        # From JSON, strict mode takes an array for a tuple and still no "3" for a 3.
        return kind.model_validate_json(json.dumps(settings, default=str))
    except ValidationError as error:
        raise InputError(f"{source}: {_explain(error, kind)}") from error


def _filled(settings: dict[str, Any]) -> dict[str, Any]:
    """The same with the values of the teacher's preset where no others are told."""
    told = settings.get("teacher")
    name = told.get("preset") if isinstance(told, dict) else None
    if not told or not name or not isinstance(name, str):
        return settings
    return {**settings, "teacher": {**preset(name).teacher, **told}}


def changed(teacher: Teacher, changes: dict[str, Any]) -> Teacher:
    """The same with some settings changed, checked anew. Raises `InputError`."""
    settings = teacher.model_dump(mode="json") | changes
    whole = {"run": {"name": "options", "servers": ["any"]}, "teacher": settings}
    return parse(whole, "the options").teacher


def changed_run(config: RunConfig, changes: Iterable[str]) -> RunConfig:
    """One training of its own: the same without ablations and with overrides like
    `grpo.steps=20`, checked anew. Raises `InputError`.
    """
    settings = config.model_dump(mode="json", exclude={"ablations"})
    for change in changes:
        override(settings, change)
    return parse(settings, config.run.name)


def _explain(error: ValidationError, kind: type[Section]) -> str:
    found = error.errors(include_url=False)
    # A key that is no setting comes first: it is often the cause of what is missing.
    first, *others = sorted(found, key=lambda e: e["type"] != "extra_forbidden")
    path = ".".join(map(str, first["loc"]))
    more = f" (mistakes besides: {len(others)})" if others else ""
    if first["type"] == "extra_forbidden":
        return f"{path} is not a setting{_hint(first['loc'], kind)}{more}"
    if first["type"] == "missing":
        return f"{path} is missing{more}"
    if first["type"] == "too_short":
        return f"{path} is empty; give at least {first['ctx']['min_length']}{more}"
    reason = first["msg"].removeprefix("Value error, ")
    if first["type"] != "value_error":
        _, should, wanted = reason.rpartition("should ")  # "Input should be ..."
        reason = f"{path} is {seen(first['input'])}{', ' if should else ': '}{should}{wanted}"
    elif path:
        reason = f"{path}: {reason}"
    return f"{reason}{more}"


def _hint(location: tuple[int | str, ...], root: type[Section]) -> str:
    """The nearest known key, or all of them where none is near."""
    *tables, name = location
    section: Any = root
    for table in tables:
        kind = section.model_fields[str(table)].annotation
        section = next((x for x in (kind, *get_args(kind)) if hasattr(x, "model_fields")), root)
    known = list(section.model_fields)
    near = difflib.get_close_matches(str(name), known, n=1)
    return f"; did you mean {near[0]}?" if near else f"; known: {', '.join(known)}"
