"""BFCL's multi-turn categories, run by `bfcl-eval` over chat completions with native tools.

The package's own command line generates and evaluates; ours is the endpoint, the choice of
entries and the reading of what it wrote. Scores of its other route (a vendor's or a local model's
handler that renders prompts itself) are other measurements.
"""

from __future__ import annotations

import ast
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from msgspec import Struct

from provegym.evals import harness, process
from provegym.evals.harness import Environment
from provegym.evals.items import Item, Job, Keep, Policy, Roles, json_lines, key
from provegym.llm.relay import FAULT, GONE, OVERFLOW, Relay, check
from provegym.llm.scripted import Json, Response, says
from provegym.records import write_atomic

PARTS = ("base", "miss_func", "miss_param", "long_context")
ROUTE = "chat completions with native tools (OpenAICompletionsHandler)"
TEMPERATURE = 0.001
"""BFCL's own, of its command line."""
ERROR = "Error during inference"
"""With this BFCL writes an exception down as the answer, which its checker then finds wrong."""
MODEL = "provegym-FC"


class Entry(Struct, frozen=True):
    """A question with what the oracle needs: users' turns as they are sent, and the gold calls."""

    id: str
    users: tuple[str, ...]
    gold: tuple[tuple[str, ...], ...]


def files(environment: Environment, parts: tuple[str, ...] = PARTS) -> list[Path]:
    """The data that scores depend on: questions, answers and the tools' documents."""
    data = environment.site / "bfcl_eval" / "data"
    names = [f"BFCL_v4_multi_turn_{part}.json" for part in parts]
    asked = [data / name for name in names]
    answers = [data / "possible_answer" / name for name in names]
    return [*asked, *answers, *sorted((data / "multi_turn_func_doc").glob("*.json"))]


def names(environment: Environment, part: str) -> list[str]:
    """The ids of a part's entries."""
    asked = environment.site / "bfcl_eval" / "data" / f"BFCL_v4_multi_turn_{part}.json"
    return [str(row["id"]) for row in json_lines(asked)]


def play(job: Job, roles: Roles, keep: Keep) -> None:
    """Generate what is wanted and evaluate it, one part and trial after the other.

    Entries that were answered are kept in `job.folder`. Those that failed because of the endpoint
    are neither kept nor told. Raises what ended the service of an endpoint.
    """
    for part, wanted in job.wanted.items():
        for trial in range(job.trials):
            _Round(job, part, tuple(wanted), trial).play(roles, keep)


class _Round:
    """One part, once."""

    def __init__(self, job: Job, part: str, wanted: tuple[str, ...], trial: int) -> None:
        self.job, self.part, self.wanted, self.trial = job, part, wanted, trial
        self.category = f"multi_turn_{part}"
        self.folder = job.folder / part / str(trial)
        name = f"BFCL_v4_{self.category}"
        self.results = self.folder / "result" / MODEL / "multi_turn" / f"{name}_result.json"
        self.scores = self.folder / "score" / MODEL / "multi_turn" / f"{name}_score.json"
        self.kept = self.folder / "kept.jsonl"

    def play(self, roles: Roles, keep: Keep) -> None:
        done = self.finished()
        missing = [name for name in self.wanted if name not in done]
        self.results.parent.mkdir(parents=True, exist_ok=True)
        if missing:
            wanted = json.dumps({self.category: missing}).encode()
            write_atomic(self.folder / "test_case_ids_to_generate.json", [wanted])
            write_atomic(self.results, [])  # the rest is kept aside: only what is new is rewritten
            with Relay(roles) as relay:
                self.run(relay.url, "generate", "--run-ids", *self.sampling())
            done = self.finished()
            check(roles)
        if not done:
            return
        write_atomic(self.results, [json.dumps(done[name]).encode() for name in sorted(done)])
        self.run("http://127.0.0.1:9/v1", "evaluate", "--partial-eval")
        for item in self.judged(done):
            keep(item)

    def finished(self) -> dict[str, dict[str, Any]]:
        """Answers by id, faults of the endpoint's left out; put aside, whole, for a later run."""
        rows = [*json_lines(self.kept), *json_lines(self.results)]
        done = {str(row["id"]): row for row in rows if not is_fault(row)}
        done = {name: row for name, row in done.items() if name in self.wanted}
        write_atomic(self.kept, [json.dumps(row).encode() for row in done.values()])
        return done

    def sampling(self) -> list[str]:
        temperature = TEMPERATURE if self.job.temperature is None else self.job.temperature
        return ["--temperature", str(temperature), "--num-threads", str(self.job.concurrency)]

    def run(self, url: str, verb: str, *options: str) -> None:
        environment = self.job.environment
        process.run(
            [
                *(environment.python, "-P", harness.script("bfcl.py"), verb, "--model", MODEL),
                *("--test-category", self.category, *options),
            ],
            environment=harness.clean_environment(
                OPENAI_BASE_URL=url,
                OPENAI_API_KEY="none",
                BFCL_PROJECT_ROOT=str(self.folder.absolute()),
                BFCL_ROLE="agent",
            ),
            folder=self.folder,
            log=self.folder / f"{verb}.log",
            look=lambda: None if verb == "evaluate" else self.save(),
        )

    def save(self) -> None:
        """Put aside what is answered by now."""
        self.job.advance(len(self.finished()), len(self.wanted))

    def judged(self, done: Mapping[str, Mapping[str, Any]]) -> list[Item]:
        """The checker's verdicts: its file lists the entries that are wrong."""
        head, *wrong = json_lines(self.scores)
        assert head["total_count"] == len(done), f"{self.scores} counts other entries"
        failed = {str(row["id"]): row for row in wrong}
        return [self.item(name, row, failed.get(name)) for name, row in done.items()]

    def item(self, name: str, row: Mapping[str, Any], wrong: Mapping[str, Any] | None) -> Item:
        over = OVERFLOW.search(str(row["result"])) is not None
        reason = str(((wrong or {}).get("error") or {}).get("error_type", ""))
        return Item(
            key(self.part, name, self.trial),
            self.part,
            name,
            self.trial,
            score=float(wrong is None),
            state="overflow" if over else "scored",
            detail=reason,
        )


def is_fault(row: Mapping[str, Any]) -> bool:
    """Whether an answer of BFCL's is an exception that the model has no part in.

    A refusal for the length of the conversation is the model's own limit. An exception of the
    harness over what the model wrote has no mark of the relay's and stays the model's answer, as
    BFCL means it.
    """
    answer = row.get("result")
    if not isinstance(answer, str) or ERROR not in answer:
        return False
    return any(mark.search(answer) for mark in (FAULT, GONE))


def scripted(job: Job, policy: Policy) -> Roles:
    """Roles that do nothing, or what BFCL's ground truth does."""
    if policy == "noop":
        return {"agent": lambda request: says("I cannot do that.")}
    known = {entry.users: entry for part in job.wanted for entry in entries(job, part)}
    return {"agent": lambda request: _gold(known, request)}


def entries(job: Job, part: str) -> list[Entry]:
    """The wanted entries of a part with their gold."""
    data = job.environment.site / "bfcl_eval" / "data"
    name = f"BFCL_v4_multi_turn_{part}.json"
    gold = {row["id"]: row["ground_truth"] for row in json_lines(data / "possible_answer" / name)}
    wanted = set(job.wanted[part])
    return [
        Entry(
            str(row["id"]),
            tuple(turn[0]["content"] if turn else "" for turn in row["question"]),
            tuple(tuple(turn) for turn in gold[row["id"]]),
        )
        for row in json_lines(data / name)
        if row["id"] in wanted
    ]


def _gold(known: Mapping[tuple[str, ...], Entry], request: Json) -> Response:
    """All gold calls of the turn in one message, then a sentence."""
    messages = request["messages"]
    users = [m["content"] for m in messages if m["role"] == "user"]
    if messages[-1]["role"] != "user":
        return says("Done.")
    entry = next(e for e in known.values() if _begins(e.users, users))
    calls = entry.gold[len(users) - 1]
    tools = {tool["function"]["name"]: tool["function"] for tool in request["tools"]}
    made = [_call(text, tools, f"c{len(messages)}_{n}") for n, text in enumerate(calls)]
    return says(None, tool_calls=made) if made else says("Nothing to do yet.")


def _begins(users: tuple[str, ...], said: list[str]) -> bool:
    """Whether the turns so far are an entry's; "" stands for the sentence that BFCL puts in."""
    return len(said) <= len(users) and all(a in ("", b) for a, b in zip(users, said, strict=False))


def _call(text: str, tools: Mapping[str, Any], id_: str) -> Json:
    """A gold call, which is Python text and partly positional, as a tool call.

    One that is wholly named needs no tool: an entry's gold calls `tail`, which it does not offer.
    """
    parsed = ast.parse(text, mode="eval").body
    assert isinstance(parsed, ast.Call)
    name = ast.unparse(parsed.func)
    order = list(tools[name]["parameters"]["properties"]) if parsed.args else []
    given = dict(zip(order, map(ast.literal_eval, parsed.args), strict=False))
    given |= {str(word.arg): ast.literal_eval(word.value) for word in parsed.keywords}
    function = {"name": name, "arguments": json.dumps(given)}
    return {"id": id_, "type": "function", "function": function}
