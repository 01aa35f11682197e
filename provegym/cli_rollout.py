"""The verbs `provegym rollout`, `score` and `rescore`: tasks played, and what they earned."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from provegym import tables, terminal
from provegym.errors import InfrastructureError
from provegym.options import (
    Concurrency,
    Json,
    MostTokens,
    Preset,
    ScoresOut,
    Seed,
    Tasks,
    Temperature,
    Traces,
    Trials,
    example,
)

if TYPE_CHECKING:
    from provegym.rollout.summary import TraceSummary

EXAMPLES = example(
    "provegym rollout tasks.jsonl --policy oracle --out traces.jsonl",
    "provegym rollout tasks.jsonl --policy openai:MODEL --base-url http://127.0.0.1:8000/v1 \\",
    "    --out traces.jsonl",
)
SCORE_EXAMPLES = example(
    "provegym score --tasks tasks.jsonl --traces traces.jsonl --preset strict --out s.jsonl"
)
RESCORE_EXAMPLES = example(
    "provegym rescore --tasks tasks.jsonl --traces traces.jsonl --preset strict --out s.jsonl"
)


def rollout(
    tasks: Annotated[Path, typer.Argument(help="Tasks to play (JSON Lines).")],
    policy: Annotated[
        str, typer.Option(help="oracle, noop, random, openai:MODEL or hf:PATH.", metavar="POLICY")
    ],
    out: Annotated[Path, typer.Option(help="Where the traces go (JSON Lines).")],
    base_url: Annotated[
        str | None, typer.Option(help="Endpoint of openai:MODEL; its key is OPENAI_API_KEY.")
    ] = None,
    temperature: Temperature = None,
    max_tokens: MostTokens = None,
    trials: Trials = 1,
    concurrency: Concurrency = 16,
    seed: Seed = 0,
    retry_masked: Annotated[
        bool,
        typer.Option("--retry-masked", help="Play again what faults cut short in an earlier run."),
    ] = False,
    json: Json = False,
) -> None:
    """Let a policy play tasks on live sessions; a killed rollout goes on where it stopped."""
    from provegym import worlds
    from provegym.learning import own_policy
    from provegym.llm.factory import policy_factory
    from provegym.rollout.run import load_tasks, rollout_file

    tables.note_unfinished(tasks)
    content = worlds.content(load_tasks(tasks))
    make_policy = own_policy(policy, temperature, max_tokens) or policy_factory(
        policy,
        base_url=base_url,
        temperature=temperature,
        max_tokens=max_tokens,
        concurrency=concurrency,
        seed=seed,
    )
    with terminal.progress("rollout") as advance:
        summary = rollout_file(
            tasks,
            policy,
            out,
            open_session=worlds.open_session,
            make_policy=make_policy,
            concurrency=concurrency,
            trials=trials,
            seed=seed,
            settings={"temperature": temperature, "max_tokens": max_tokens},
            world=content,
            retry_masked=retry_masked,
            progress=advance,
        )
    if json:
        terminal.as_json(summary)
    else:
        tables.show_traces(summary, f"{policy}: {out}")
    _see_that_some_were_played(summary)


def _see_that_some_were_played(summary: TraceSummary) -> None:
    if summary.traces == summary.masked:
        raise InfrastructureError(
            f"all {summary.masked} episodes were lost to faults that are not the policy's "
            f"({', '.join(summary.faults)}); mend the cause and play again with --retry-masked"
        )


def score(
    tasks: Tasks,
    traces: Traces,
    out: ScoresOut,
    preset: Preset = "paper",
    explain: Annotated[
        bool, typer.Option("--explain", help="Write each call's level, match and equal values too.")
    ] = False,
    json: Json = False,
) -> None:
    """Score traces against their tasks; a pure function that opens no server."""
    from provegym.scoring import score_files

    tables.note_unfinished(tasks, traces)
    summary = score_files(tasks, traces, preset, out, explain)
    if json:
        terminal.as_json(summary)
    else:
        tables.show_scores(summary, out)


def rescore(
    tasks: Tasks, traces: Traces, out: ScoresOut, preset: Preset = "paper", json: Json = False
) -> None:
    """Replay stored calls on live sessions, without a model, and score what comes of them.

    The replayed traces are written beside the scores.
    """
    from provegym import records, worlds
    from provegym.rollout.rescore import rescore_file
    from provegym.rollout.run import load_tasks
    from provegym.scoring import score_files

    records.check_output(out, "scores", (tasks, traces))
    tables.note_unfinished(tasks, traces)
    replayed = out.with_suffix(".traces.jsonl")
    content = worlds.content(load_tasks(tasks))
    with terminal.progress("replay") as advance:
        rescore_file(
            tasks,
            traces,
            replayed,
            open_session=worlds.open_session,
            world=content,
            progress=advance,
        )
    summary = score_files(tasks, replayed, preset, out)
    if json:
        terminal.as_json(summary)
    else:
        tables.show_scores(summary, out)
        same, total = _agreement(traces, replayed)
        terminal.line(f"{same} of {total} traces gave the same results again: {replayed}")


def _agreement(traces: Path, replayed: Path) -> tuple[int, int]:
    """How many traces have the same calls, outcomes, results and changes in both files, of all."""
    from provegym.records import read
    from provegym.types import Trace

    pairs = zip(read(traces, Trace), read(replayed, Trace), strict=True)
    same = [a.calls == b.calls and a.final_changes == b.final_changes for a, b in pairs]
    return sum(same), len(same)
