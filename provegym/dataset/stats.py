"""What a file of tasks holds: counts by server, tool, kind, length, perturbation and recovery."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path

from msgspec import Struct

from provegym.records import beside, read, read_tasks
from provegym.types import Call, Task, Trace

Counts = dict[str, int]


class Stats(Struct, frozen=True):
    """Counts over one file of tasks, largest first; `calls` and `turns` by their number."""

    tasks: int
    servers: Counts
    """Tasks by the server they are about."""
    tools: Counts
    """Calls of the ground truth by tool."""
    never_called: dict[str, tuple[str, ...]]
    """By server, its tools that no ground truth calls."""
    kinds: Counts
    teachers: Counts
    """Tasks by who made them."""
    information: Counts
    """Workflow and clarification tasks by how much their first turn says."""
    calls: dict[int, int]
    """Tasks by the number of calls in their ground truth."""
    turns: dict[int, int]
    perturbations: Counts
    """Workflow and clarification tasks by what was done to them."""
    recoveries: Counts
    """Refused or vain calls in the conversations: `corrected` by the next call of the tool,
    followed by an `alternative` tool, or `given_up`."""
    refusals: Counts
    """Codes of the refused calls in the conversations."""
    cross_server: int = 0
    """Tasks whose ground truth calls tools of two or more servers."""
    cross_server_share: float = 0.0
    """Share of the workflow tasks that do; 0 where there are none."""
    called: Counts = {}
    """By server, how many of its tools some ground truth calls."""
    refused: dict[str, tuple[str, ...]] = {}
    """By server, the declared refusal codes that some conversation meets."""
    never_refused: dict[str, tuple[str, ...]] = {}
    """By server, those that none meets."""

    def coverage(self) -> str:
        """How much of the servers the tasks are about is used, in one sentence."""
        idle = sum(map(len, self.never_called.values()))
        met, unmet = (sum(map(len, codes.values())) for codes in (self.refused, self.never_refused))
        largest = max(self.servers.values(), default=0) / max(1, self.tasks)
        codes = f"{met} of {met + unmet} refusal codes met"
        if not met + unmet:
            codes = "refusal codes unknown (no conversations beside the tasks)"
        return (
            f"{sum(self.called.values())} of {sum(self.called.values()) + idle} tools called, "
            f"{codes}, "
            f"{self.cross_server_share:.1%} of the workflows across servers, "
            f"at most {largest:.1%} of the tasks about one server"
        )

    def tables(self) -> Iterator[tuple[tuple[str, ...], list[tuple[object, ...]]]]:
        """All counts for people, as tables: the names of the columns and the rows."""
        for group in ("servers", "kinds", "teachers", "calls", "turns"):
            yield (group, "tasks"), list(getattr(self, group).items())
        for group in ("information", "perturbations"):
            yield (group, "tasks but abstentions"), list(getattr(self, group).items())
        for group in ("tools", "recoveries", "refusals"):
            yield (group, "calls"), list(getattr(self, group).items())
        heads = ("server", "tools called", "never", "tools never called")
        unused = ((name, self.never_called.get(name, ())) for name in self.called)
        yield heads, [(name, self.called[name], len(t), ", ".join(t)) for name, t in unused]
        codes = ("server", "refusal codes met", "never", "refusal codes never met")
        yield (
            codes,
            [
                (name, len(met), len(unmet), ", ".join(unmet))
                for name, met in self.refused.items()
                for unmet in (self.never_refused.get(name, ()),)
            ],
        )
        share = f"{self.cross_server_share:.1%}"
        yield ("cross_server", "of the workflows"), [(self.cross_server, share)]


def stats(
    path: Path,
    library: Mapping[str, Collection[str]] | None = None,
    codes: Mapping[str, Collection[str]] | None = None,
) -> Stats:
    """Count the tasks at `path`, and the teacher's conversations beside it if any.

    `library` has the tools of each server; without it, tools that some task shows stand for them.
    `codes` has the refusal codes that each server's tools declare.
    Raises InputError for a file that is missing, broken or empty.
    """
    tasks = list(read_tasks(path))
    talks = beside(path, "conversations")
    conversations = list(read(talks, Trace)) if talks.exists() else []
    declared = (codes or {}) if talks.exists() else {}
    failures = _failures(tasks, conversations)
    active = [t for t in tasks if t.kind != "abstention"]
    tools = Counter(call.name for task in tasks for _, call in task.ground_truth)
    known = library or _shown(tasks)
    owners = {tool: name for name, its in known.items() for tool in its}
    crossing = [len({owners.get(c.name) for _, c in t.ground_truth} - {None}) > 1 for t in tasks]
    workflows = [x for x, task in zip(crossing, tasks, strict=True) if task.kind == "workflow"]
    unused = _never_called(tasks, tools, known)
    return Stats(
        tasks=len(tasks),
        servers=_sorted(task.servers[0] for task in tasks if task.servers),
        tools=dict(tools.most_common()),
        never_called={name: idle for name, idle in unused.items() if idle},
        kinds=_sorted(task.kind for task in tasks),
        teachers=_sorted(task.teacher for task in tasks),
        information=_sorted(task.information for task in active),
        calls=dict(sorted(Counter(len(task.ground_truth) for task in tasks).items())),
        turns=dict(sorted(Counter(len(task.turns) for task in tasks).items())),
        perturbations=_sorted(mark for task in active for mark in _marks(task)),
        recoveries=_sorted(kind for kind, _ in failures),
        refusals=_sorted(_code(call) for _, call in failures if call.outcome != "ok"),
        cross_server=sum(crossing),
        cross_server_share=sum(workflows) / len(workflows) if workflows else 0.0,
        refused=_codes(failures, owners, declared, unused, met=True),
        never_refused=_codes(failures, owners, declared, unused, met=False),
        called={name: len(known[name]) - len(idle) for name, idle in unused.items()},
    )


def _codes(
    failures: Iterable[tuple[str, Call]],
    owners: Mapping[str, str],
    declared: Mapping[str, Collection[str]],
    about: Iterable[str],
    *,
    met: bool,
) -> dict[str, tuple[str, ...]]:
    """By server, its declared codes that some refused call has, or those that none has."""
    seen = {(owners.get(call.name), _code(call)) for _, call in failures}
    return {
        name: tuple(code for code in sorted(declared[name]) if ((name, code) in seen) == met)
        for name in about
        if name in declared
    }


def _sorted(names: Iterable[str]) -> Counts:
    return dict(sorted(Counter(names).items(), key=lambda pair: (-pair[1], pair[0])))


def _marks(task: Task) -> list[str]:
    marks = task.perturbations
    found = {
        "distractors": marks.distractors > 0,
        "enum_stripped": marks.enum_stripped,
        "irrelevant": marks.irrelevant,
        "missing_function": marks.missing_function is not None,
    }
    return [name for name, holds in found.items() if holds]


def _shown(tasks: Iterable[Task]) -> dict[str, set[str]]:
    """Tools shown by tasks about one server alone, which are all its own."""
    found: defaultdict[str, set[str]] = defaultdict(set)
    for task in tasks:
        if len(task.servers) == 1:
            parts = [task.tools, *(turn.tools for turn in task.turns)]
            found[task.servers[0]] |= {t.function.name for tools in parts for t in tools}
    return dict(found)


def _never_called(
    tasks: Iterable[Task], called: Collection[str], library: Mapping[str, Collection[str]]
) -> dict[str, tuple[str, ...]]:
    """For each server that a task is about, its tools that no ground truth calls, if any."""
    about = sorted({task.servers[0] for task in tasks if task.servers} & library.keys())
    return {name: tuple(t for t in sorted(library[name]) if t not in called) for name in about}


def _failures(tasks: Iterable[Task], conversations: Iterable[Trace]) -> list[tuple[str, Call]]:
    """Every call of the conversations that is not in its task's ground truth, and what came next
    in its turn.
    """
    truth = {task.id: [(i, c.name, c.arguments) for i, c in task.ground_truth] for task in tasks}
    found = []
    for talk in conversations:
        left = list(truth.get(talk.task_id, ()))
        for i, call in enumerate(talk.calls):
            mark = (call.turn, call.name, call.arguments)
            if call.outcome == "ok" and mark in left:
                left.remove(mark)
                continue
            after = next((c for c in talk.calls[i + 1 : i + 2] if c.turn == call.turn), None)
            found.append((_recovery(call, after), call))
    return found


def _recovery(call: Call, after: Call | None) -> str:
    if after is None:
        return "given_up"
    return "corrected" if after.name == call.name else "alternative"


def _code(call: Call) -> str:
    error = call.result.get("error") if isinstance(call.result, dict) else None
    return str(error.get("code", call.outcome)) if isinstance(error, dict) else call.outcome
