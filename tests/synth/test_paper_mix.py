"""The paper's mix by a language model as the teacher, at a size that shows the rates."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from scipy.stats import binom

from provegym import cli
from provegym.config import load
from provegym.dataset.stats import stats
from provegym.llm.scripted import ScriptedServer
from provegym.records import read
from provegym.synth.make import Plan
from provegym.types import Task, Trace
from tests.synth.competent import Competent

CONFIG = Path(__file__).parents[2] / "configs" / "paper.toml"
LIMIT = 300
CONFIDENCE = 0.99
"""A count lies in the exact two-sided interval of its binomial distribution: by chance, one of a
hundred does not."""

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def tasks(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Made by `provegym synth configs/paper.toml --limit 300` and an endpoint, first with too small
    a budget.
    """
    told = load(CONFIG)
    plan = Plan(told.run.seed, told.run.servers, told.run.servers)
    out = tmp_path_factory.mktemp("mix") / "tasks.jsonl"
    arguments = ["synth", str(CONFIG), "--limit", str(LIMIT), "--out", str(out)]
    script = Competent(plan, told.synth.world_seeds)
    with ScriptedServer(script) as server, pytest.MonkeyPatch.context() as patch:
        patch.setenv("OPENAI_BASE_URL", server.url)
        assert cli.call([*arguments, "--budget-tokens", "1000"]) == 1
        assert server.requests == []  # a request might have taken more
        assert cli.call(arguments) == 0
    return out


def test_three_hundred_certified_tasks_hold_the_mix_exactly(tasks: Path) -> None:
    found = list(read(tasks, Task))
    assert len(found) == LIMIT
    assert all(t.certificate.checks["two_processes_agree"] for t in found)
    assert {t.teacher for t in found} == {"google/gemma-4-31B-it"}
    # 10,895, 1,500 and 1,122 of 13,517, scaled to 300: 241.8, 33.3 and 24.9.
    assert Counter(t.kind for t in found) == {
        "workflow": 242,
        "clarification": 33,
        "abstention": 25,
    }
    # 275 tasks are no abstentions: 60, 20 and 20 %.
    told = Counter(t.information for t in found if t.kind != "abstention")
    assert told == {"complete": 165, "missing_required": 55, "minimal": 55}
    assert set(Counter(t.servers[0] for t in found).values()) == {15}


def test_each_perturbation_is_near_its_rate(tasks: Path) -> None:
    found = list(read(tasks, Task))
    active = [t for t in found if t.kind != "abstention"]
    perturb = load(CONFIG).synth.perturb
    for rate, count in (
        (perturb.distractors, sum(t.perturbations.distractors > 0 for t in active)),
        (perturb.enum_stripping, sum(t.perturbations.enum_stripped for t in active)),
        (perturb.irrelevance, sum(t.perturbations.irrelevant for t in active)),
    ):
        low, high = binom.interval(CONFIDENCE, len(active), rate)
        assert low <= count <= high, (rate, count, low, high)
    # The mix fixes how many wait for their second turn; 0.11 / (0.11 + 0.2) of 33 lack a tool.
    waiting = [t for t in found if t.kind == "clarification"]
    assert sum(bool(t.perturbations.missing_function) for t in waiting) == 12


def test_conversations_show_all_recoveries_and_answers(tasks: Path) -> None:
    found = stats(tasks)
    assert set(found.recoveries) == {"corrected", "alternative", "given_up"}
    withheld = [
        t for t in read(tasks, Task) if t.information == "missing_required" and not t.turns[0].calls
    ]
    assert withheld
    talks = {t.task_id: t for t in read(tasks.with_name("conversations.jsonl"), Trace)}
    for task in withheld:
        question = next(m for m in talks[task.id].messages if m["role"] == "assistant")
        assert question["content"].endswith("do you mean?")
        assert task.turns[1].calls


def test_conversations_show_abstention(tasks: Path) -> None:
    talks = {t.task_id: t for t in read(tasks.with_name("conversations.jsonl"), Trace)}
    silent = [t for t in read(tasks, Task) if t.kind == "abstention"]
    assert len(silent) == 25
    for task in silent:
        assert not talks[task.id].calls
        assert {m["role"] for m in talks[task.id].messages} == {"user", "assistant"}
