"""T-Eval: the scorers are its authors', the data and the embedding model the user's.

T-Eval publishes its data on hubs and drives alone, so it is given by path, and so is
`all-mpnet-base-v2`, by which plans and thoughts are compared. What is absent is named and not
scored, and no mean is made of some of an ability's files.

Prompts are put to the endpoint as T-Eval's `test.py` does (greedy, at most 512 tokens), which
itself needs an agent framework to start. `function` messages become the user's, as endpoints know
no such role without a name, and neighbours of one role one message.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from msgspec import Struct

from provegym import loops
from provegym.errors import InputError
from provegym.evals import harness, process
from provegym.evals.harness import Environment
from provegym.evals.items import Item, Job, Keep, Policy, Roles, json_lines, key
from provegym.evals.loads import NOTHING, Load, mean
from provegym.llm.relay import FAULT, OVERFLOW, Remote, check
from provegym.llm.scripted import Json, Response, says
from provegym.records import content_hash, encode, write_atomic

FILE = re.compile(r"(?P<stem>[a-z_]+?)_v(?P<version>\d)(?P<subset>_subset)?\.json")
EMBEDDED = re.compile(r"^embedded (\d+) of (\d+) texts$", re.MULTILINE)
"""What the script inside T-Eval's environment prints while it works."""
MOST_TOKENS = 512
EMBEDDER = "78c0197b6159d92658e319bc1d72e4c73a9a03dd03815e70e555c5ef05615658"
"""SHA-256 of the published weights (`model.safetensors`) of all-mpnet-base-v2."""
_ENDS = ("<eoa>", "<TOKENS_UNUSED_1>", "<|im_end|>", "\nuser", "\nassistant", "\nUSER")
_MORE_ENDS = ("[INST]", "<|user|>")


class Part(Struct, frozen=True):
    """A score of T-Eval: from which file, by which evaluator, and which of its fields.

    `of` is the response format of the items that count, where a file holds several.
    """

    ability: str
    stem: str
    evaluator: str
    options: Mapping[str, Any]
    fields: tuple[str, ...]
    embeds: bool = False
    exact: bool = False
    of: str = ""


def _rru(ability: str, stem: str, form: str, field: str, embeds: bool, exact: bool = False) -> Part:
    kind = "rru" if form == "json" else ability
    options = {"default_prompt_type": form, "eval_type": kind}
    name = "ReasonRetrieveUnderstandEvaluator"
    return Part(ability, stem, name, options, (field,), embeds, exact)


def _plan(form: str) -> Part:
    options = {"default_prompt_type": form, "match_threshold": 0.8}
    return Part("plan", f"plan_{form}", "PlanningEvaluator", options, ("f1_score",), True)


def _instruct(form: str) -> Part:
    fields = (f"{form}_format_metric", f"{form}_args_em_metric")
    return Part("instruct", "instruct", "InstructEvaluator", {}, fields, of=form)


PARTS = {
    "instruct_json": _instruct("json"),
    "instruct_string": _instruct("string"),
    "plan_json": _plan("json"),
    "plan_str": _plan("str"),
    "reason_json": _rru("reason", "reason_retrieve_understand_json", "json", "thought", True),
    "reason_str": _rru("reason", "reason_str", "str", "thought", True),
    "retrieve_json": _rru("retrieve", "reason_retrieve_understand_json", "json", "name", True),
    "retrieve_str": _rru("retrieve", "retrieve_str", "str", "name", False),
    "understand_json": _rru(
        "understand", "reason_retrieve_understand_json", "json", "args", True, True
    ),
    "understand_str": _rru("understand", "understand_str", "str", "args", False, True),
    "review_str": Part("review", "review_str", "ReviewEvaluator", {}, ("review_quality",)),
}
"""T-Eval's scores, of which each ability is the mean of its own (`convert_results.py`). A part's
score is the mean of its `fields`. The match threshold is T-Eval's; OpenCompass has another default.
`exact`: T-Eval compares arguments exactly, OpenCompass's copy by their embeddings, so these are
scored from a checkout of T-Eval alone."""


def data_file(data: Path, stem: str) -> Path | None:
    """A file of the data set, in the version that is there. Raises `InputError` for two."""
    found = [
        path
        for path in data.glob(f"{stem}_v*.json")
        if (match := FILE.fullmatch(path.name)) and match["stem"] == stem
    ]
    if len(found) > 1:
        names = ", ".join(sorted(path.name for path in found))
        raise InputError(f"{data} holds {names}; give a folder with one of them")
    return found[0] if found else None


def absent(data: Path | None, model: Path | None, source: Path | None) -> dict[str, str]:
    """The parts that cannot be scored, and why. Raises `InputError` where nothing can be."""
    if data is None or not data.is_dir():
        what = "T-Eval needs its data" if data is None else f"T-Eval's data is not at {data}"
        raise InputError(
            f"{what}: download it as T-Eval's README says and give the folder with --teval-data"
        )
    lacks: dict[str, str] = {}
    for name, part in PARTS.items():
        if data_file(data, part.stem) is None:
            lacks[name] = f"no {part.stem}_v*.json in {data}"
        elif part.embeds and model is None:
            lacks[name] = "no embedding model; give all-mpnet-base-v2 with --teval-embedder"
        elif part.exact and source is None:
            lacks[name] = "needs T-Eval's own scorers; give its checkout with --teval-source"
    if len(lacks) == len(PARTS):
        raise InputError(f"{data} holds none of T-Eval's files, such as plan_json_v2.json")
    return lacks


def check_embedder(model: Path) -> str:
    """The hash of an embedding model's weights. Raises `InputError` where there are none."""
    weights = model / "model.safetensors"
    if not weights.is_file():
        raise InputError(f"no embedding model at {model}: model.safetensors is missing")
    return content_hash(weights)


def items(data: Path, name: str) -> dict[str, Json]:
    """A part's items as the file holds them."""
    part = PARTS[name]
    path = data_file(data, part.stem)
    assert path
    rows: dict[str, Json] = json.loads(path.read_text("utf-8"))
    meta = {n: row.get("meta_data") or row.get("meta") or {} for n, row in rows.items()}
    return {n: row for n, row in rows.items() if not part.of or _format(meta[n]) == part.of}


def _format(meta: Mapping[str, Any]) -> str:
    return str(meta.get("response_format", ""))


def files(data: Path) -> list[Path]:
    """All files of the data set that are there."""
    return sorted(path for path in data.glob("*.json") if FILE.fullmatch(path.name))


def play(job: Job, roles: Roles, keep: Keep) -> None:
    """Ask for predictions and score them. Predictions are kept in `job.folder`, one a line.

    Raises what ended the service of the endpoint.
    """
    job.folder.mkdir(parents=True, exist_ok=True)
    for name, wanted in job.wanted.items():
        assert job.data
        rows = {n: row for n, row in items(job.data, name).items() if n in set(wanted)}
        for trial in range(job.trials):
            stem = PARTS[name].stem  # shared by the parts that are scored on the same answers
            kept = job.folder / f"{stem}.{trial}.jsonl"
            loops.run(_predict(job, roles, rows, kept))
            check(roles)
            said = {row["id"]: row for row in json_lines(kept) if row["id"] in rows}
            for item in _scored(job, name, trial, rows, said):
                keep(item)


async def _predict(job: Job, roles: Roles, rows: Mapping[str, Json], kept: Path) -> None:
    known = [*json_lines(kept)]
    write_atomic(kept, map(encode, known))  # without the line that a killed process left torn
    done = {row["id"] for row in known}
    missing = iter(sorted(rows.keys() - done))
    with kept.open("ab", buffering=0) as out:

        async def work() -> None:
            for name in missing:
                found = roles["agent"](_request(job, rows[name]))
                response = found if isinstance(found, Response) else await found
                if not FAULT.search(response.body.decode("utf-8", "replace")):
                    out.write(encode(_prediction(name, response)) + b"\n")
                    done.add(name)
                    job.advance(len(done), len(rows))

        await asyncio.gather(*(work() for _ in range(min(job.concurrency, len(rows)))))
    for role in roles.values():
        if isinstance(role, Remote):
            await role.aclose()


def _request(job: Job, row: Json) -> Json:
    temperature = 0.0 if job.temperature is None else job.temperature
    return {"messages": prompt(row), "temperature": temperature, "max_tokens": MOST_TOKENS}


def prompt(row: Json) -> list[Json]:
    """What a model is asked for an item."""
    given = row["origin_prompt"]
    told = json.loads(given) if isinstance(given, str) else given
    messages: list[Json] = []
    for message in told:
        role = "user" if message["role"] == "function" else message["role"]
        if messages and messages[-1]["role"] == role:
            messages[-1]["content"] += "\n" + str(message["content"])
        else:
            messages.append({"role": role, "content": str(message["content"])})
    return messages


def _prediction(name: str, response: Response) -> Json:
    body = response.body.decode("utf-8", "replace")
    if OVERFLOW.search(body):
        return {"id": name, "prediction": "", "state": "overflow"}
    content = json.loads(body)["choices"][0]["message"].get("content") or ""
    whole = str(content).encode("utf-8", "replace").decode()  # half a surrogate breaks tokenizers
    return {"id": name, "prediction": cut(whole), "state": "scored"}


def cut(text: str) -> str:
    """An answer up to what ends it, without a fence (as `test.py` of T-Eval cuts it)."""
    for end in (*_ENDS, *_MORE_ENDS):
        text = text.split(end)[0]
    return text.strip().removeprefix("```json").strip().strip("`").strip()


def _scored(
    job: Job, name: str, trial: int, rows: Mapping[str, Json], said: Mapping[str, Json]
) -> list[Item]:
    part = PARTS[name]
    if not said:
        return []
    asked = {
        "evaluator": part.evaluator,
        "options": part.options,
        "fields": part.fields,
        "embedder": str(job.model.absolute()) if part.embeds and job.model else "",
        "embeddings": str(_embeddings(job)) if part.embeds and job.model else "",
        "items": {n: {**rows[n], "prediction": said[n]["prediction"]} for n in said},
    }
    ask, out = job.folder / f"{name}.{trial}.ask.json", job.folder / f"{name}.{trial}.scores.json"
    log = job.folder / f"{name}.{trial}.log"
    write_atomic(ask, [json.dumps(asked).encode()])
    process.run(
        [
            *(job.environment.python, "-P", harness.script("teval.py")),
            *(source(job.environment, job.source), ask.absolute(), out.absolute()),
        ],
        environment=harness.clean_environment(HF_HUB_OFFLINE="1", TOKENIZERS_PARALLELISM="false"),
        folder=job.folder,
        log=log,
        look=lambda: _follow(log, job),
    )
    found = json.loads(out.read_text("utf-8"))
    return [
        Item(
            key(name, n, trial),
            name,
            n,
            trial,
            sum(found[n].values()) / len(found[n]),
            said[n]["state"],
        )
        for n in said
    ]


def _embeddings(job: Job) -> Path:
    """Where embeddings by this model are kept: gold answers are the same in every run."""
    assert job.model
    place = job.environment.python.parents[2] / "embeddings"
    return place.absolute() / check_embedder(job.model)[:16]


def _follow(log: Path, job: Job) -> None:
    """Tell how far the embedding is, which takes longer than all else."""
    if found := EMBEDDED.findall(log.read_text("utf-8", "replace")):
        job.advance(*map(int, found[-1]))


def source(environment: Environment, checkout: Path | None) -> Path:
    """The folder that holds T-Eval's evaluators. Raises `InputError` for a checkout without."""
    if checkout is None:
        return environment.site / "opencompass" / "datasets" / "teval"
    if not (checkout / "teval" / "evaluators").is_dir():
        raise InputError(f"{checkout} is no checkout of T-Eval: it has no teval/evaluators")
    return (checkout / "teval").absolute()


def loads_of(data: Path | None, wanted: Mapping[str, Sequence[str]]) -> dict[str, Load]:
    """What an item of each part takes; parts that share a file share its answers, too."""
    found: dict[str, Load] = {}
    seen: set[str] = set()
    for name, names in wanted.items():
        assert data
        rows = items(data, name)
        asked = ((prompt(rows[n]), gold(name, rows[n])) for n in names)
        stem = PARTS[name].stem
        found[name] = NOTHING if stem in seen else mean(len(names), asked)
        seen.add(stem)
    return found


def abilities(scores: Mapping[str, float]) -> dict[str, float]:
    """T-Eval's six abilities from the scores of its parts, and "overall" where all six are there.

    An ability of which a part is missing is left out.
    """
    members: dict[str, list[str]] = {}
    for name, part in PARTS.items():
        members.setdefault(part.ability, []).append(name)
    found = {
        ability: sum(scores[name] for name in names) / len(names)
        for ability, names in members.items()
        if all(name in scores for name in names)
    }
    if len(found) == len(members):
        found["overall"] = sum(found.values()) / len(found)
    return found


def scripted(job: Job, policy: Policy) -> Roles:
    """Roles that answer nothing, or with the gold answer in the form that is asked for."""
    if policy == "noop":
        return {"agent": lambda request: says("")}
    assert job.data
    known: dict[str, str] = {}
    for name in job.wanted:
        for row in items(job.data, name).values():
            known[json.dumps(_request(job, row)["messages"])] = gold(name, row)
    return {"agent": lambda request: says(known[json.dumps(request["messages"])])}


def gold(name: str, row: Json) -> str:
    """What an item's ground truth looks like as an answer."""
    part, truth = PARTS[name], row["ground_truth"]
    if part.ability == "review":
        return f"Answer: {truth['answer']}"
    if part.ability == "instruct":
        return _instructed(part.of, row)
    if part.stem == "plan_str":
        steps: Sequence[Json] = json.loads(truth) if isinstance(truth, str) else truth
        return "\n".join(f"{step['name']} {step['args']}" for step in steps)
    if part.options.get("default_prompt_type") == "json":
        return truth if isinstance(truth, str) else json.dumps(truth)
    told = json.loads(truth) if isinstance(truth, str) else truth
    return str(told[part.fields[0]])


def _instructed(form: str, row: Json) -> str:
    template, truth = row["template"], row["ground_truth"]
    if form == "json":
        said = {"thought": "", "action": truth["action"], "args": truth["args"]}
        return json.dumps({template[name]: value for name, value in said.items()})
    values = {"thought": "", "action": truth["action"], "args": str(truth["args"])}
    return "".join(
        template[f"{name}_start"] + value + template[f"{name}_end"]
        for name, value in values.items()
    )
