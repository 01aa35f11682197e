"""Tasks as verl's rows: those that fit the settings, written by the export that users have, too.

A row holds its whole task as JSON (`extra_info.task`); the agent loop needs nothing else.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path

import msgspec
from msgspec import Struct

from provegym import records
from provegym.dataset.conversation import opening
from provegym.dataset.export import Plan, export, refuse_unfinished
from provegym.errors import InputError
from provegym.records import Manifest
from provegym.rollout.loop import tools_at
from provegym.train.order import ordered
from provegym.train.verl.settings import Settings
from provegym.types import Task

Progress = Callable[[int, int], None]
Count = Callable[[Task], int]
"""The tokens of a task's prompt."""


class Rows(Struct, frozen=True):
    """A file of rows: so many tasks, and why others of the same source were left out."""

    path: Path
    kept: int
    left_out: dict[str, int]


def prepare(settings: Settings, tasks: Path, out: Path, progress: Progress, least: int) -> Rows:
    """Write the tasks that fit to `out` (Parquet), and as JSON Lines beside it.

    What an earlier call wrote from the same tasks is kept. Raises `InputError` for tasks that
    cannot be read or are unfinished, and where fewer than `least` fit.
    """
    refuse_unfinished(tasks)
    grpo, model = settings.grpo, settings.model
    told = [model.path, model.template, grpo.max_prompt_tokens, grpo.max_user_turns]
    config, parent = records.config_hash(told), records.content_hash(tasks)
    fitting = out.with_suffix(".jsonl")
    made = records.read_manifest(fitting)
    if not (made and (made.config, made.parent) == (config, parent)):
        made = _select(settings, tasks, fitting, Manifest("tasks", config, parent=parent), progress)
    rows = Rows(out, made.rows, made.settings["left_out"])
    _see_that_there_are_enough(rows, tasks, least)
    exported = records.read_manifest(out)
    if not (exported and exported.complete and exported.parent == records.content_hash(fitting)):
        export(fitting, out, Plan("verl"), {})
    return rows


def arrange(settings: Settings, made: Rows, out: Path) -> None:
    """Write the rows of all steps to `out`, in the order of the curriculum."""
    from provegym.dataset.parquet import arranged

    grpo = settings.grpo
    tasks = list(records.read_tasks(made.path.with_suffix(".jsonl")))
    places = {task.id: place for place, task in enumerate(tasks)}
    wanted = grpo.steps * grpo.prompts_per_step
    order = ordered(tasks, wanted, settings.run.seed, curriculum=True)
    arranged(made.path, [places[task.id] for task in order], out)


def _select(
    settings: Settings, tasks: Path, fitting: Path, made_by: Manifest, progress: Progress
) -> Manifest:
    """Write the tasks that fit; the manifest of them."""
    known = list(records.read_tasks(tasks))
    count, grpo = counter(settings), settings.grpo
    left_out: Counter[str] = Counter()
    kept: list[Task] = []
    for done, task in enumerate(known, start=1):
        if len(task.turns) > grpo.max_user_turns:
            left_out["more user turns than max_user_turns"] += 1
        elif count(task) > grpo.max_prompt_tokens:
            left_out["more prompt tokens than max_prompt_tokens"] += 1
        else:
            kept.append(task)
        progress(done, len(known))
    records.write_atomic(fitting, map(records.encode, kept))
    manifest = msgspec.structs.replace(
        made_by, complete=True, rows=len(kept), settings={"left_out": dict(left_out)}
    )
    records.write_manifest(fitting, manifest)
    return manifest


def counter(settings: Settings) -> Count:
    """Counts a prompt as the agent loop builds it. Raises `InputError` for an unknown model."""
    from transformers import AutoTokenizer

    try:
        tokenizer = AutoTokenizer.from_pretrained(settings.model.path)
    except (OSError, ValueError) as error:
        why = str(error).splitlines()[0]
        raise InputError(f"model.path: no tokenizer at {settings.model.path!r}: {why}") from error

    def count(task: Task) -> int:
        tools = msgspec.to_builtins(tools_at(task, 0)) or None
        ids = tokenizer.apply_chat_template(
            opening(task),
            tools=list(tools) if tools else None,
            add_generation_prompt=True,
            return_dict=False,
            **settings.model.template,
        )
        return len(ids)

    return count


def _see_that_there_are_enough(rows: Rows, tasks: Path, wanted: int) -> None:
    if rows.kept >= wanted:
        return
    why = ", ".join(f"{number} have {reason}" for reason, number in rows.left_out.items())
    raise InputError(
        f"{tasks}: {rows.kept} tasks fit the limits, {wanted} are needed at least"
        f"{f' ({why})' if why else ''}; make more with `provegym synth`"
    )
