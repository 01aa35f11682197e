"""The published files of the benchmarks that a data set must not contain, read as items.

Nothing of a benchmark comes with this package: the files are the user's. Their text is data; code
is parsed for the signatures of tools, never run.
"""

from __future__ import annotations

import ast
import hashlib
import json
import tomllib
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from msgspec import Struct

from provegym.dataset.overlap import Item, Shape, strings
from provegym.errors import InputError, UnknownName, seen
from provegym.records import content_hash

Read = Iterator[tuple[Path, Item]]
"""Items, each with the file it is from."""


class Benchmark(Struct, frozen=True):
    """One benchmark's items; `version` is the release its files name and a hash over them."""

    name: str
    version: str
    items: tuple[Item, ...]


def load(name: str, path: Path) -> Benchmark:
    """Read a benchmark's files: a folder with them at any depth, or one of them.

    Raises `UnknownName` for a benchmark, and `InputError` for a path without items of it and for a
    file that is not as published.
    """
    if name not in READERS:
        raise UnknownName("benchmark", name, sorted(READERS))
    title, reader = READERS[name]
    if not path.exists():
        raise InputError(f"cannot read {path}: no such file or folder")
    try:
        found = list(reader(path))
    except (KeyError, TypeError, AttributeError, UnicodeDecodeError) as error:
        raise InputError(f"{path} is not as {title} is published: {_reason(error)}") from error
    if not any(item.texts for _, item in found):
        raise InputError(f"{path} holds no tasks of {title}; give the folder of its data files")
    files = sorted({file for file, _ in found})
    return Benchmark(title, _version(files), tuple(item for _, item in found))


def _reason(error: Exception) -> str:
    """One of bytes would hold them all in its repr; a missing key is nothing but its repr."""
    return str(error) if isinstance(error, UnicodeDecodeError) else repr(error)[:200]


def _version(files: Iterable[Path]) -> str:
    """Such as "v4, sha256 0123456789ab": over the content of the files, whatever their place."""
    files = list(files)
    parts = (part for file in files for part in file.stem.split("_"))
    named = sorted({part for part in parts if part[:1] == "v" and part[1:].isdecimal()})
    digest = hashlib.sha256("".join(sorted(map(content_hash, files))).encode()).hexdigest()
    return ", ".join([*named, f"sha256 {digest[:12]}"])


def _files(path: Path, *patterns: str) -> list[Path]:
    """The file itself, or those of a folder that one of the patterns describes."""
    if path.is_file():
        return [path]
    return sorted({found for pattern in patterns for found in path.rglob(pattern)})


def _json(file: Path) -> Any:
    return _parsed(file, file.read_bytes(), json.loads)


def _json_lines(file: Path) -> list[Any]:
    lines = file.read_text("utf-8").split("\n")  # no other separator ends a line of JSON
    rows = [(n, line) for n, line in enumerate(lines, start=1) if line.strip()]
    return [_parsed(f"{file}:{n}", line, json.loads) for n, line in rows]


def _parsed(place: object, text: Any, parse: Callable[[Any], Any]) -> Any:
    try:
        return parse(text)
    except (ValueError, SyntaxError) as error:
        raise InputError(f"{place} is not as it is published: {error}") from error


# -- BFCL --------------------------------------------------------------------------------------


def bfcl(path: Path) -> Read:
    """Berkeley Function Calling Leaderboard: `BFCL_v*.json` (JSON Lines) with `possible_answer/`
    and `multi_turn_func_doc/` beside them, as in the package `bfcl-eval`.
    """
    questions = [file for file in _files(path, "BFCL_v*.json") if _is_question(file)]
    for file in questions:
        answers = file.parent / "possible_answer" / file.name
        truth = {row["id"]: row["ground_truth"] for row in _rows(answers)}
        for row in _json_lines(file):
            yield file, _bfcl_item(row, truth.get(row["id"], []))
        if answers.exists():
            yield answers, Item(answers.name)
    for folder in sorted({file.parent / "multi_turn_func_doc" for file in questions}):
        for file in sorted(folder.glob("*.json")):
            yield file, Item(file.name, tools=tuple(map(_documented, _json_lines(file))))


def _is_question(file: Path) -> bool:
    """Not answers, sets out of use, or the list of which questions to put in other words."""
    aside = {"possible_answer", "unused_datasets"} & set(file.parts)
    return not aside and "format_sensitivity" not in file.name


def _rows(file: Path) -> list[Any]:
    return _json_lines(file) if file.exists() else []


def _bfcl_item(row: dict[str, Any], truth: list[Any]) -> Item:
    calls = [call for answer in truth for call in _bfcl_calls(row["id"], answer)]
    said = [m["content"] for turn in row["question"] for m in turn if m["role"] == "user"]
    return Item(
        row["id"],
        tools=tuple(map(_documented, row.get("function", ()))),
        calls=tuple(name for name, _ in calls),
        values=tuple(strings([row.get("initial_config"), [given for _, given in calls]])),
        texts=tuple(said),
    )


def _bfcl_calls(name: str, answer: Any) -> Iterator[tuple[str, Any]]:
    """A turn's calls as Python text, or one call as {name: {parameter: [values]}}; texts that are
    answers in words (memory, web search) are no calls.
    """
    if isinstance(answer, dict):
        yield from answer.items()
    elif isinstance(answer, list):
        for text in answer:
            call = _parsed(f"the answer of {name}", text, _call)
            yield ast.unparse(call.func), [_literal(given) for given in _arguments(call)]


def _call(text: str) -> ast.Call:
    body = ast.parse(text, mode="eval").body
    if not isinstance(body, ast.Call):
        raise ValueError(f"{seen(text)} is no call")
    return body


def _arguments(call: ast.Call) -> list[ast.expr]:
    return [*call.args, *(keyword.value for keyword in call.keywords)]


def _literal(node: ast.expr) -> Any:
    try:
        return ast.literal_eval(node)
    except ValueError:
        return ast.unparse(node)


def _documented(function: dict[str, Any]) -> Shape:
    return Shape(function["name"], tuple(function["parameters"].get("properties", ())))


# -- tau2-bench --------------------------------------------------------------------------------


def tau2(path: Path) -> Read:
    """tau2-bench: any `tasks*.json`, `db.json` and `db.toml` below the path, and the tools in its
    Python code: methods that `is_tool` or the like decorates.
    """
    for file in _files(path, "tasks*.json"):
        rows = _json(file)
        yield from ((file, _tau2_item(file, row)) for row in rows if "user_scenario" in row)
    if path.is_file():
        return
    for file in _files(path, *_DATA_BASES):
        yield file, Item(_place(file), values=tuple(strings(_data_base(file))))
    for file in _files(path, "*.py"):
        if tools := _tools(file):
            yield file, Item(_place(file), tools=tools)


_DATA_BASES = ("db.json", "user_db.json", "db.toml", "user_db.toml")


def _data_base(file: Path) -> Any:
    if file.suffix == ".json":
        return _json(file)
    return _parsed(file, file.read_text("utf-8"), tomllib.loads)


def _place(file: Path) -> str:
    return "/".join(file.parts[-2:])


def _tau2_item(file: Path, row: dict[str, Any]) -> Item:
    actions = (row.get("evaluation_criteria") or {}).get("actions") or []
    setting = (row.get("initial_state") or {}).get("initialization_actions") or []
    scenario = row["user_scenario"]["instructions"]
    said = [scenario] if isinstance(scenario, str) else [t for t in scenario.values() if t]
    return Item(
        f"{file.parent.name}/{row['id']}",
        calls=tuple(action["name"] for action in actions),
        values=tuple(strings([action["arguments"] for action in (*actions, *setting)])),
        texts=(*said, row.get("ticket") or ""),
    )


def _tools(file: Path) -> tuple[Shape, ...]:
    tree = _parsed(file, file.read_text("utf-8"), ast.parse)
    return tuple(
        Shape(node.name, tuple(arg.arg for arg in (*node.args.args[1:], *node.args.kwonlyargs)))
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef) and any(map(_marks_tool, node.decorator_list))
    )


def _marks_tool(decorator: ast.expr) -> bool:
    function = decorator.func if isinstance(decorator, ast.Call) else decorator
    return isinstance(function, ast.Name) and function.id in ("is_tool", "is_discoverable_tool")


# -- T-Eval ------------------------------------------------------------------------------------


def teval(path: Path) -> Read:
    """T-Eval: its JSON files, each one object of items by name with `origin_prompt` (messages; the
    system's lists the tools) and `ground_truth` (a plan, one call, or an answer).
    """
    for file in _files(path, "*_v*.json"):
        for name, row in _json(file).items():
            if "origin_prompt" in row:
                yield file, _teval_item(f"{file.stem}/{name}", row)


def _teval_item(name: str, row: dict[str, Any]) -> Item:
    truth = [step for step in _dicts(row["ground_truth"]) if "args" in step]
    system, user = (
        [m["content"] for m in row["origin_prompt"] if m["role"] == role]
        for role in ("system", "user")
    )
    return Item(
        name,
        tools=tuple(shape for text in system for shape in _listed(text)),
        calls=tuple(_called(step) for step in truth),
        values=tuple(strings([step["args"] for step in truth])),
        texts=tuple(user),
    )


def _called(step: dict[str, Any]) -> str:
    return str(step.get("name") or step.get("action") or "")


def _dicts(value: Any) -> Iterator[dict[str, Any]]:
    """The objects in a list, or the one object."""
    for item in value if isinstance(value, list) else [value]:
        if isinstance(item, dict):
            yield item


def _listed(text: str) -> Iterator[Shape]:
    """The tools that a system message lists as Python literals, one or many a line."""
    for line in text.splitlines():
        if "'required_parameters'" in line:
            for tool in _described(_parsed("the list of tools", line, ast.literal_eval)):
                given = [*tool["required_parameters"], *tool.get("optional_parameters", ())]
                yield Shape(tool["name"], tuple(p["name"] for p in given))


def _described(value: Any) -> Iterator[dict[str, Any]]:
    if isinstance(value, dict):
        yield value
    elif isinstance(value, list):
        for item in value:
            yield from _described(item)


READERS: dict[str, tuple[str, Callable[[Path], Read]]] = {
    "bfcl": ("BFCL", bfcl),
    "tau2": ("tau2-bench", tau2),
    "teval": ("T-Eval", teval),
}
