"""The verb `provegym eval`: of traces, of a model on suites, and of two results."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from provegym import tables, terminal
from provegym.errors import InputError
from provegym.options import (
    A_MONTH,
    MOST_TEMPERATURE,
    Concurrency,
    Json,
    MostTokens,
    Seed,
    Trials,
    example,
)

if TYPE_CHECKING:
    from provegym.evals.comparison import Comparison
    from provegym.evals.plan import Settings, Suite
    from provegym.evals.results import Evaluation, Result

EXAMPLES = example(
    "provegym eval tasks.jsonl after.jsonl --against before.jsonl",
    "provegym eval setup bfcl",
    "provegym eval qwen3-4b --suite bfcl --base-url http://127.0.0.1:8000/v1 --out before",
    "provegym eval qwen3-4b --suite bfcl,heldout --tasks tasks.jsonl --limit 20 --dry-run",
    "provegym eval after/results.json --against before/results.json",
    'provegym eval reader --suite provegym --tasks tasks.jsonl --agent "python my_agent.py"',
)
What = Annotated[
    str,
    typer.Argument(
        help="A model of the endpoint (or noop, oracle, random); tasks; results; or `setup`.",
        metavar="MODEL|TASKS|RESULTS|setup",
    ),
]
Second = Annotated[
    str | None,
    typer.Argument(help="Traces of the tasks; the suite to set up.", metavar="[TRACES|SUITE]"),
]
Against = Annotated[
    Path | None, typer.Option(help="Traces or results of another policy, to compare with.")
]
Suites = Annotated[
    str | None,
    typer.Option(help="bfcl, tau2, teval, heldout, provegym, or parts as bfcl/base; with commas."),
]
Url = Annotated[str | None, typer.Option(help="The model's endpoint; its key is OPENAI_API_KEY.")]
Agent = Annotated[
    str | None,
    typer.Option(
        help="What starts a program that speaks MCP, to be measured as MODEL on live worlds."
    ),
]
User = Annotated[str | None, typer.Option(help="The model that plays the user in tau2.")]
UserUrl = Annotated[str | None, typer.Option(help="Its endpoint; the model's if not given.")]
HeldOut = Annotated[
    Path | None, typer.Option(help="Tasks of the suites heldout and provegym (JSON Lines).")
]
Data = Annotated[Path | None, typer.Option(envvar="PROVEGYM_TEVAL_DATA", help="T-Eval's files.")]
Embedder = Annotated[
    Path | None,
    typer.Option(envvar="PROVEGYM_TEVAL_EMBEDDER", help="Folder of all-mpnet-base-v2, for T-Eval."),
]
Source = Annotated[
    Path | None, typer.Option(help="A checkout of T-Eval, whose scorers are then used.")
]
Limit = Annotated[int, typer.Option(min=0, help="Items of each part; 0 takes all.")]
Temperature = Annotated[
    float | None,
    typer.Option(min=0, max=MOST_TEMPERATURE, help="The benchmark's own if not given."),
]
Timeout = Annotated[
    float,
    typer.Option(min=1, max=A_MONTH, help="Seconds for one answer, or for one turn of an agent."),
]
Patience = Annotated[
    float, typer.Option(min=0, max=A_MONTH, help="Seconds to wait for a silent endpoint.")
]
Template = Annotated[
    str, typer.Option(help="Hash of the chat template, where the endpoint does not state it.")
]
Out = Annotated[Path | None, typer.Option(help="Folder of the results; evals/MODEL.")]
Prices = Annotated[
    str | None, typer.Option(help="USD for a million tokens of prompts and answers: 0.4,1.6.")
]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Tell what would be asked for, and end.")]
Cache = Annotated[
    Path | None,
    typer.Option(envvar="PROVEGYM_HARNESSES", help="Where benchmarks' environments are."),
]


def evaluate(
    what: What,
    second: Second = None,
    against: Against = None,
    suite: Suites = None,
    base_url: Url = None,
    agent: Agent = None,
    user_model: User = None,
    user_url: UserUrl = None,
    tasks: HeldOut = None,
    teval_data: Data = None,
    teval_embedder: Embedder = None,
    teval_source: Source = None,
    limit: Limit = 0,
    trials: Trials = 1,
    seed: Seed = 0,
    concurrency: Concurrency = 4,
    temperature: Temperature = None,
    max_tokens: MostTokens = None,
    timeout: Timeout = 600,
    patience: Patience = 300,
    template_hash: Template = "",
    out: Out = None,
    prices: Prices = None,
    dry_run: DryRun = False,
    harnesses: Cache = None,
    json: Json = False,
) -> None:
    """Measure a model on benchmarks and held-out tasks, with 95 % intervals; compare two."""
    given = dict(locals())
    if what == "setup":
        prepare(second, harnesses)
    elif suite is not None:
        of_model(settings_of(given), dry_run, prices, json)
    elif second is not None:
        of_traces(Path(what), Path(second), against, json)
    else:
        of_results(Path(what), against, json)


def settings_of(given: dict[str, Any]) -> Settings:
    """The settings of an evaluation, from the options by name."""
    from provegym.evals.plan import Settings

    special = {
        "model": given["what"],
        "suites": tuple(name.strip() for name in given["suite"].split(",")),
        "out": given["out"] or Path("evals") / given["what"].replace("/", "_"),
        "cache": given["harnesses"],
    }
    same = {name: given[name] for name in Settings.__struct_fields__ if name not in special}
    return Settings(**special, **same)


def prepare(suite: str | None, cache: Path | None) -> None:
    """Make the environment of a suite's harness."""
    from provegym.evals import harness

    if suite is None:
        raise InputError(f"say which: provegym eval setup {'|'.join(harness.HARNESSES)}")
    made = harness.setup(suite, cache, terminal.note)
    of = made.harness
    terminal.line(
        f"{suite}: {of.package} {of.version} ({of.licence}), {len(made.packages)} packages, "
        f"hash {made.harness_hash[:12]}"
    )


def of_model(settings: Settings, dry_run: bool, prices: str | None, json: bool) -> None:
    """Tell the plan, or carry it out."""
    from provegym.contestants import agent
    from provegym.evals.plan import plan
    from provegym.evals.suites import evaluate as measure

    if dry_run:
        show_plan(plan(settings), settings.trials, prices, json)
        return
    plan(settings)  # what cannot be measured is refused before anything is started
    with terminal.progress("eval") as advance, agent(settings, advance) as plays:
        found = measure(settings, terminal.note, advance, plays)
    if json:
        terminal.as_json(found)
        return
    show(found)
    terminal.line(f"results: {settings.out / 'results.json'}")
    if any(row.suite == "provegym" for row in found.results):
        entered(settings)


def entered(settings: Settings) -> None:
    """Say where the benchmark's entry is, and how to see all its measures."""
    from provegym.evals.benchmark import split_of
    from provegym.evals.heldout_suite import TASKS, TRACES
    from provegym.evals.suites import board

    tasks, traces = (settings.out / "provegym" / name for name in (TASKS, TRACES))
    terminal.line(f"entered for the split {split_of(tasks)}: {board(settings.out)}")
    terminal.line(f"all measures: provegym eval {tasks} {traces}")


def show_plan(suites: list[Suite], trials: int, prices: str | None, json: bool) -> None:
    """The plan as a table: what is asked for, and what it is likely to take."""
    from msgspec.structs import astuple

    from provegym.evals import power
    from provegym.evals.plan import forecast

    rows = forecast(suites, trials, _prices(prices))
    absent = {part: why for suite in suites for part, why in suite.absent.items()}
    if json:
        terminal.as_json({"plan": rows, "absent": absent})
        return
    heads = ("part", "items", "trials", "requests", "prompt tokens", "answer tokens", "USD")
    terminal.table(heads, [["-" if v is None else v for v in astuple(r)[:-1]] for r in rows])
    shown = sorted({1, 4, trials})
    terminal.table(
        ("part", "comparing two such runs"), [(r.part, power.plan(r.items, shown)) for r in rows]
    )
    terminal.table(("not scored", "why"), absent.items())


def _prices(text: str | None) -> tuple[float, float] | None:
    if text is None:
        return None
    try:
        prompt, completion = map(float, text.split(","))
    except ValueError as error:
        raise InputError(f"--prices {text!r} is not two numbers, such as 0.4,1.6") from error
    if not all(0 <= price < inf for price in (prompt, completion)):
        raise InputError(f"--prices {text!r} are no prices; give numbers from 0 on")
    return prompt, completion


def show(found: Evaluation) -> None:
    """Scores between their floors and ceilings."""
    heads = ("part", "items", "score", "95 % interval", "floor", "ceiling", "too long", "user")
    terminal.table(heads, map(_cells, found.results), title=found.model)
    for suite, abilities in found.abilities.items():
        terminal.table((suite, "score"), abilities.items())
    terminal.table(("not scored", "why"), found.absent.items())


def _cells(row: Result) -> Sequence[object]:
    score = row.score
    return (
        f"{row.suite}/{row.part}",
        score.n,
        f"{score.mean:z.3f}",
        f"{score.low:z.3f} to {score.high:z.3f}",
        *("-" if bound is None else f"{bound:z.3f}" for bound in (row.floor, row.ceiling)),
        row.states.get("overflow", 0),
        row.states.get("user_fault", 0),
    )


def reported(place: Path, against: Path | None) -> bool:
    """Show the results of an evaluation's folder; False where it is none. Raises `InputError` for a
    result without its pins.
    """
    found = results_in(place)
    if found:
        of_results(found, against, json=False)
    return found is not None


def results_in(place: Path) -> Path | None:
    """The results that an evaluation left in a folder, or that file itself; None for another."""
    file = place if place.suffix == ".json" else place / "results.json"
    return file if file.is_file() else None


def of_results(after: Path, against: Path | None, json: bool) -> None:
    """Compare two files of results, or show one; either may be the folder of an evaluation."""
    from provegym.evals.results import compare, read

    file = results_in(after)
    if file is None and after.suffix != ".json":
        raise InputError(
            f"say what to measure {str(after)!r} on: a suite with --suite, or a file of traces"
        )
    found = read(file or after)
    if against is None:
        terminal.as_json(found) if json else show(found)
        return
    rows = compare(read(results_in(against) or against), found)
    if json:
        terminal.as_json(rows)
        return
    heads = ("part", "before", "after", "difference", "p", "p (Holm)", "remark")
    terminal.table(
        heads,
        [
            (
                f"{row.suite}/{row.part}",
                *("-" if e is None else str(e) for e in (row.before, row.after)),
                *_tested(row.tested),
                f"not comparable: {row.why_not}" if row.why_not else row.remark,
            )
            for row in rows
        ],
    )


def _tested(found: Comparison | None) -> tuple[str, str, str]:
    """A difference with its p-value, alone and corrected for all that are shown."""
    if found is None:
        return "-", "-", "-"
    return str(found.gain), f"{found.p:z.3f}", f"{found.holm:z.3f}"


def of_traces(tasks: Path, traces: Path, against: Path | None, json: bool) -> None:
    """Success, both rewards, over-calling, abstention, premature calls and recovery of traces, with
    95 % intervals; success by server, kind and length; pass^k where tasks were tried more than
    once. `against` other traces, each difference is tested task by task.
    """
    from provegym.evals.heldout import compared, measure_file, outlook, report

    files = [against, traces] if against else [traces]
    tables.note_unfinished(tasks, *files)
    measured = [measure_file(tasks, path) for path in files]
    found = [report(str(path), *each) for path, each in zip(files, measured, strict=True)]
    sides = [measures for measures, _ in measured]
    tested = compared(sides[0], sides[1]) if against else {}
    if against and not tested:
        raise InputError(f"{traces} and {against} have no unmasked episode of the same task")
    gain = {name: one.gain for name, one in tested.items()}
    if json:
        told = {"reports": found, "difference": gain, "tests": tested, "outlook": outlook(*sides)}
        terminal.as_json(told)
        return
    names = [path.name for path in files]
    tables.show_measures(found, gain, names, tested)
    tables.show_parts(found, names)
    terminal.line(f"comparing policies here: {outlook(*sides)}")
