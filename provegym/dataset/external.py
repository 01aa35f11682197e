"""Published sets of examples on which no call is right, row by row in their own formats.

The paper's abstentions are 806 examples of When2Call and 316 of xLAM-irrelevance (table 1). Which
files and labels it drew them from is not published; here every label but `tool_call` is a no-call
example of When2Call.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from provegym.dataset import portable
from provegym.errors import BrokenRecord, InputError
from provegym.records.files import read_whole
from provegym.types import Tool


class Example(Struct, frozen=True):
    """A question with the tools that were shown. `reply` is the answer in words that the set takes
    for right, "" where it gives none.
    """

    key: str
    question: str
    tools: tuple[Tool, ...]
    reply: str = ""


class Unusable(Exception):
    """A row that is no such example; the message is the reason that is counted."""


class Source(Struct, frozen=True):
    """A published set: where it is, its licence, how many rows its files have."""

    name: str
    url: str
    licence: str
    files: dict[str, int]
    read: Callable[[dict[str, Any]], Example]
    """The example in a row; raises `Unusable`."""


class Found(Struct, frozen=True):
    """What a file holds: rows, those that are examples, and why the others are none."""

    rows: int
    examples: tuple[Example, ...]
    skipped: dict[str, int]


def examples(source: Source, path: Path) -> Found:
    """The examples of a file, each question once.

    Raises `InputError` where the file cannot be read, or is not in the source's format.
    """
    rows = _rows(path)
    found: dict[str, Example] = {}
    skipped: Counter[str] = Counter()
    for row in rows:
        try:
            example = _storable(source.read(row))
            if example.question in found:
                raise Unusable("a question that came before")
            found[example.question] = example
        except Unusable as reason:
            skipped[str(reason)] += 1
        except RecursionError:
            skipped["nested too deep"] += 1
    if not found:
        told = "".join(f", {reason} ({count})" for reason, count in skipped.items())
        raise InputError(
            f"none of the {len(rows)} rows of {path} is an example of {source.name}{told}; give "
            f"one of its files ({', '.join(source.files)}, {source.url})"
        )
    return Found(len(rows), tuple(found.values()), dict(skipped))


def _rows(path: Path) -> list[Any]:
    """The rows of one JSON array, or of JSON Lines."""
    text = read_whole(path)
    if text.lstrip().startswith(b"["):
        rows: list[Any] = _json(text, path, 1)
        return rows
    lines = enumerate(text.splitlines(), start=1)
    return [_json(line, path, number) for number, line in lines if line.strip()]


def _json(text: bytes, path: Path, line: int) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        reason = f"neither JSON Lines nor a JSON array ({error}); give the file as it is published"
        raise BrokenRecord(str(path), line, reason) from error


# --- When2Call -----------------------------------------------------------------------------

CALL = "<TOOLCALL>"
"""What answers with a call begin with in When2Call's training files."""
_TEST = ("uuid", "source", "source_id", "question", "correct_answer", "answers", "target_tool")
_NO_CALL = ("direct", "request_for_info", "cannot_answer")


def when2call(row: Any) -> Example:
    """A row of When2Call's test files, or of one of the two training files."""
    if "correct_answer" in _fields(row, "tools"):
        return _tested(row)
    fields = _fields(row, "messages")
    messages = fields["messages"] if isinstance(fields["messages"], list) else []
    right = [fields["chosen_response"]] if "chosen_response" in fields else []
    return _answered([*messages, *right], _tools(fields["tools"]))


def _tested(row: dict[str, Any]) -> Example:
    fields = _fields(row, *_TEST)
    label = fields["correct_answer"]
    if label not in (*_NO_CALL, "tool_call"):
        raise Unusable("a label that is not known")
    if label == "tool_call":
        raise Unusable("a call is right")
    answers = fields["answers"]
    reply = answers.get(label) if isinstance(answers, dict) else ""
    question, tools = _text(fields["question"]), _tools(fields["tools"])
    return Example(str(fields["uuid"]), question, tools, reply if isinstance(reply, str) else "")


def _answered(messages: list[Any], tools: tuple[Tool, ...]) -> Example:
    """The example in a conversation of one question and one answer."""
    said = [(m.get("role"), m.get("content")) for m in messages if isinstance(m, dict)]
    if [role for role, _ in said] != ["user", "assistant"]:
        raise Unusable("not one question and one answer")
    (_, question), (_, reply) = said
    if not isinstance(reply, str) or not reply.strip():
        raise Unusable("no answer in words")
    if CALL in reply:
        raise Unusable("a call is right")
    return Example("", _text(question), tools, reply)


# --- xLAM-irrelevance ----------------------------------------------------------------------


def xlam_irrelevance(row: Any) -> Example:
    """A row of xLAM-irrelevance: the tool that would answer was taken out of the list."""
    fields = _fields(row, "query", "tools", "answers")
    if _decoded(fields["answers"]) != []:
        raise Unusable("a call is right")
    return Example("", _text(fields["query"]), _tools(fields["tools"]))


# --- both ----------------------------------------------------------------------------------


def _fields(row: Any, *names: str) -> dict[str, Any]:
    if not isinstance(row, dict):
        raise Unusable("not an object")
    for name in names:
        if name not in row:
            raise Unusable(f"no field {name!r}")
    return row


def _text(value: Any) -> str:
    if not isinstance(value, str) or not value.strip():
        raise Unusable("no question")
    return value.strip()


def _tools(value: Any) -> tuple[Tool, ...]:
    """Tools in a list or in the text of one, each an object or the text of one."""
    listed = _decoded(value)
    if not isinstance(listed, list):
        raise Unusable("tools that cannot be read")
    tools = [portable.tool(_decoded(item)) for item in listed]
    found = tuple(tool for tool in tools if tool)
    if len(found) < len(tools):
        raise Unusable("tools that cannot be read")
    if len({tool.function.name for tool in found}) < len(found):
        raise Unusable("two tools of one name")
    return found


def _decoded(value: Any) -> Any:
    """The value, taken out of JSON text where it is one; None where the text is broken."""
    if not isinstance(value, str):
        return value
    try:
        return json.loads(value)
    except (ValueError, RecursionError):
        return None


def _storable(example: Example) -> Example:
    """The example, named by its content where the row has no name."""
    try:
        text = msgspec.json.encode(example)
    except UnicodeEncodeError as error:
        raise Unusable("text that UTF-8 cannot hold") from error
    return example if example.key else replace(example, key=hashlib.sha256(text).hexdigest()[:16])


SOURCES = {
    "when2call": Source(
        "when2call",
        "https://huggingface.co/datasets/nvidia/When2Call",
        "CC-BY-4.0",
        {
            "when2call_test_mcq.jsonl": 3652,
            "when2call_test_llm_judge.jsonl": 300,
            "when2call_train_sft.jsonl": 15_000,
            "when2call_train_pref.jsonl": 9_000,
        },
        when2call,
    ),
    "xlam-irrelevance": Source(
        "xlam-irrelevance",
        "https://huggingface.co/datasets/MadeAgents/xlam-irrelevance-7.5k",
        "CC-BY-4.0",
        {"xlam-7.5k-irrelevancek.json": 7_500},
        xlam_irrelevance,
    ),
}
"""By the name that tasks carry as their teacher. See docs/mix.md for what of this was seen."""
