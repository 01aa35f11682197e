"""The verb `synth`: which teacher makes the tasks, by what settings, and what it came to."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from provegym import cli_dataset, tables, terminal
from provegym.options import Json, Servers, example
from provegym.types import MOST_SEED, MOST_TASKS

EXAMPLES = example(
    "provegym synth --limit 100 --seed 7 --servers banking --out tasks.jsonl",
    "provegym synth configs/paper.toml --teacher offline --limit 100 --out tasks.jsonl",
    "provegym synth --teacher openai:MODEL --base-url http://127.0.0.1:8000/v1 --limit 5 \\",
    "    --budget-tokens 1000000 --out model.jsonl",
)

TeacherName = Annotated[
    str | None,
    typer.Option(
        help="offline (plans over the graph), gemma-4-31b, qwen3-32b or openai:MODEL; else the "
        "config's.",
    ),
]
BaseUrl = Annotated[
    str | None, typer.Option(help="Endpoint of the model; its key is OPENAI_API_KEY.")
]
Dollars = Annotated[
    float | None, typer.Option(min=0, help="Most that a model may cost; needs prices.")
]
Tokens = Annotated[
    int | None, typer.Option(min=0, help="Most tokens that a model may read and write.")
]
Limit = Annotated[int | None, typer.Option(min=1, max=MOST_TASKS, help="Certified tasks to write.")]
EngineName = Annotated[
    str | None,
    typer.Option(help="local (two processes) or ray (a cluster): the same comes out."),
]


def synth(
    out: Annotated[Path, typer.Option(help="Where the tasks go; other files go beside it.")],
    config: Annotated[
        Path | None, typer.Argument(help="A run's TOML; options given here win over it.")
    ] = None,
    teacher: TeacherName = None,
    base_url: BaseUrl = None,
    budget_usd: Dollars = None,
    budget_tokens: Tokens = None,
    limit: Limit = None,
    seed: Annotated[
        int | None, typer.Option(min=0, max=MOST_SEED, help="Root of all randomness.")
    ] = None,
    servers: Servers = None,
    engine: EngineName = None,
    json: Json = False,
) -> None:
    """Make certified tasks on live worlds; a killed synthesis goes on where it stopped."""
    from provegym import servers as library
    from provegym.config import Synth, load
    from provegym.config import Teacher as NoTeacher
    from provegym.dataset.stats import stats
    from provegym.names import check_names, engine_named, served, servers_named, teacher_named
    from provegym.records import beside
    from provegym.synth.crew import answers_beside, cluster, studio
    from provegym.synth.graphs import graph_of
    from provegym.synth.make import Plan
    from provegym.synth.pipeline import check, synthesize

    told = load(config) if config else None
    budget = {"base_url": base_url, "budget_usd": budget_usd, "budget_tokens": budget_tokens}
    model = teacher_named(told.teacher if told else NoTeacher(), teacher, budget)
    served(model)
    settings = told.synth if told else Synth()
    if limit:
        settings = settings.model_copy(update={"limit": limit})
    if engine:
        settings = settings.model_copy(update={"engine": engine_named(engine)})
    if told:
        check_names(told)
    names = told.run.servers if told and servers is None else servers_named(servers)
    plan = Plan(seed if seed is not None else (told.run.seed if told else 0), names, names)
    check(plan, settings, out, model if model.model else None)
    loaded, where = [library.load(name) for name in names], beside(out, "graph", ".json")
    with terminal.progress("graph") as advance:
        answers = answers_beside(out, model)
        edges = graph_of(loaded, where, settings.edges, model, answers, advance, terminal.note)
    with (
        cluster(settings.engine) as computing,
        studio(model, out, terminal.note) as teaching,
        terminal.progress("synth") as advance,
    ):
        summary = synthesize(plan, settings, edges, out, advance, teaching, computing)
    if json:
        terminal.as_json(summary)
    else:
        tables.show_tasks(summary, str(out))
        terminal.line(stats(out, *cli_dataset.library()).coverage())
        if model.model:
            tables.show_cost(out)
