"""What the offline teacher drafts: its shares, what turns lack and supply, how it recovers."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise, permutations, product
from math import sqrt
from typing import Any

import pytest

from provegym import servers
from provegym.config import Synth
from provegym.graph.edges import Graph
from provegym.graph.leaves import CARRIED
from provegym.seeding import rng
from provegym.synth import letter
from provegym.synth.certify import certify, failed
from provegym.synth.draft import draw
from provegym.synth.lookup import alternatives
from provegym.synth.make import Candidate, Maker, Plan
from provegym.synth.plan import Planner
from provegym.types import Call, Task
from provegym.world.session import Session
from provegym.worlds import world_of

TURNS = 3


@pytest.fixture(scope="module")
def tasks(candidates: list[Candidate]) -> list[Task]:
    return [c.task for c in candidates]


def assert_share(count: int, total: int, share: float) -> None:
    """Within four standard deviations of a binomial."""
    assert abs(count - total * share) < 4 * sqrt(total * share * (1 - share)), (count, total)


def test_shares_of_the_tasks_are_those_of_the_settings(tasks: list[Task]) -> None:
    assert_share(sum(t.kind == "abstention" for t in tasks), len(tasks), 1122 / 13517)
    taken = [t for t in tasks if t.kind != "abstention"]
    information = Counter(t.information for t in taken)
    marks = [t.perturbations for t in taken]
    n = len(taken)
    assert_share(information["complete"], n, 0.6)
    assert_share(information["missing_required"], n, 0.2)
    assert_share(information["minimal"], n, 0.2)
    assert_share(sum(m.distractors > 0 for m in marks), n, 0.4)
    assert_share(sum(m.enum_stripped for m in marks), n, 0.3)
    assert_share(sum(m.irrelevant for m in marks), n, 0.05)
    assert_share(sum(m.missing_function is not None for m in marks), n, 0.11)


def test_shapes_are_drawn_by_the_shares() -> None:
    shapes = [draw(Synth(), rng(1, "shape", i)) for i in range(4000)]
    taken = [s for s in shapes if s.kind != "abstention"]
    assert_share(len(taken), len(shapes), 1 - 1122 / 13517)
    assert_share(sum(s.missing for s in taken), len(taken), 0.11)
    assert_share(sum(s.turns == TURNS for s in taken), len(taken), 0.5)
    assert not any(s.missing and s.information == "missing_required" for s in taken)
    for shape in taken:
        assert (shape.kind == "clarification") == shape.supplied


def test_what_the_second_turn_supplies_was_not_said_in_the_first(tasks: list[Task]) -> None:
    lacking = [t for t in tasks if t.information == "missing_required"]
    assert len(lacking) > 20
    for task in lacking:
        asked, answered = task.turns[:2]
        assert asked.reply.startswith("Which ")
        assert asked.reply.endswith(" do you mean?")
        assert not asked.calls
        value = answered.user.split(". Then ")[0].split(". And ")[0]
        value = value.removeprefix("I mean ").removesuffix(".").removesuffix(", please")
        assert value.lower() not in asked.user.lower()
        assert ", then " not in asked.user


def test_a_value_that_is_left_open_is_one_of_several(candidates: list[Candidate]) -> None:
    open_ = [c.task for c in candidates if " one of the " in c.task.turns[0].user]
    # Codes are said as they are and come from no result.
    listed = [task for task in open_ if any(call.refs for call in task.turns[1].calls)]
    assert len(listed) > 5
    for task in listed:
        call = next(c for c in task.turns[1].calls if c.refs)
        ref = next(iter(call.refs.values()))
        source = next(c for c in task.turns[1].calls if c.id == ref.call)
        assert len(next(v for v in source.result.values() if isinstance(v, list))) > 1


def test_a_hidden_tool_is_offered_only_by_the_turn_that_brings_it(tasks: list[Task]) -> None:
    hidden = [t for t in tasks if t.perturbations.missing_function]
    assert {t.kind for t in hidden} == {"clarification", "abstention"}
    for task in hidden:
        name = task.perturbations.missing_function
        assert name not in {t.function.name for t in task.tools}
        brought = [t.function.name for turn in task.turns for t in turn.tools]
        assert brought == ([name] if task.kind == "clarification" else [])
        if task.kind == "clarification":
            assert name in {c.name for c in task.turns[1].calls}
            assert ", then " not in task.turns[0].user


def test_an_irrelevant_turn_has_no_call_and_no_tool_that_could_serve_it(tasks: list[Task]) -> None:
    marked = [t for t in tasks if t.perturbations.irrelevant and t.kind != "abstention"]
    assert marked
    for task in marked:
        assert any(
            not t.calls and t.reply == "I have no tool that can do that." for t in task.turns
        )


def test_a_look_up_that_goes_unsaid_is_the_only_one_on_offer(tasks: list[Task]) -> None:
    sparing = [t for t in tasks if t.information == "minimal" and not t.perturbations.irrelevant]
    checked = 0
    for task in sparing:
        homes = world_of(task).tools
        said = " ".join(turn.user for turn in task.turns).lower()
        offered = {t.function.name for t in task.tools}
        for _, call in task.ground_truth:
            tool = homes[call.name].tool
            phrases = {p.split("[")[0].split("{")[0].lower().strip() for p in tool.phrases}
            if tool.effect == "read" and not any(p in said for p in phrases):
                checked += 1
                assert not alternatives(homes[call.name].server, tool) & offered
    assert checked > 5


def test_some_workflows_lead_from_one_server_to_another(tasks: list[Task]) -> None:
    workflows = [t for t in tasks if t.kind == "workflow"]
    across = [t for t in workflows if len(homes_of(t)) > 1]
    assert 0.2 < len(across) / len(workflows) < 0.4
    for task in across:
        home = {call.id: world_of(task).tools[call.name].place for _, call in task.ground_truth}
        carried = [
            (name.split("/")[1], call)
            for _, call in task.ground_truth
            for name, ref in call.refs.items()
            if home[ref.call] != home[call.id]
        ]
        assert carried
        for name, call in carried:
            parameter = next(
                p for p in world_of(task).tools[call.name].tool.parameters if p.name == name
            )
            kind = (parameter.item or parameter).format
            assert kind is not None
            assert kind.name in CARRIED


def homes_of(task: Task) -> set[str]:
    tools = world_of(task).tools
    return {tools[call.name].place for _, call in task.ground_truth}


def test_a_call_never_takes_one_value_twice_by_chance(tasks: list[Task]) -> None:
    for _, call in (pair for t in tasks for pair in t.ground_truth):
        if call.name in ("diff_files", "copy_path", "move_path", "make_symlink"):
            assert len(set(call.arguments.values())) == len(call.arguments)


# -- recoveries ---------------------------------------------------------------------------------


def in_turns(candidate: Candidate) -> list[list[Call]]:
    return [
        [c for c in candidate.conversation.calls if c.turn == i]
        for i in range(len(candidate.task.turns))
    ]


def test_failed_calls_stay_in_the_conversation_and_out_of_the_ground_truth(
    candidates: list[Candidate],
) -> None:
    seen = Counter(c.outcome for x in candidates for c in x.conversation.calls)
    assert set(seen) == {"ok", "tool_error"}
    for candidate in candidates:
        calls = candidate.conversation.calls
        assert sum(c.outcome != "ok" for c in calls) < 0.3 * max(1, len(calls))
        for turn, made in zip(candidate.task.turns, in_turns(candidate), strict=True):
            worked = [(c.name, c.arguments) for c in made if c.outcome == "ok"]
            assert all((c.name, c.arguments) in worked for c in turn.calls)


def test_refused_calls_are_made_again_with_corrected_parameters(
    candidates: list[Candidate],
) -> None:
    corrected = 0
    for made in (turn for c in candidates for turn in in_turns(c)):
        for first, second in pairwise(made):
            if first.outcome == "tool_error" and first.name == second.name:
                assert second.outcome == "ok"
                assert first.arguments.keys() == second.arguments.keys()
                corrected += 1
    assert corrected > 10


def test_many_refusals_are_of_the_state_of_the_world_and_not_of_a_wrong_id(
    candidates: list[Candidate],
) -> None:
    met: Counter[str] = Counter()
    for candidate in candidates:
        tools = world_of(candidate.task).tools
        for call in candidate.conversation.calls:
            code = call.result["error"]["code"] if call.outcome == "tool_error" else ""
            met[code] += code in tools[call.name].tool.refuses and code != "not_found"
    assert len([code for code, count in met.items() if count]) > 15
    assert sum(met.values()) > 40


def test_a_turn_that_is_given_up_tries_explains_and_keeps_the_reads_that_show_why(
    candidates: list[Candidate],
) -> None:
    given_up = 0
    for candidate in candidates:
        for turn, made in zip(candidate.task.turns, in_turns(candidate), strict=True):
            if turn.reply.startswith("I cannot do that: "):
                given_up += 1
                assert made[-1].outcome == "tool_error"
                assert turn.reply.endswith(made[-1].result["error"]["message"])
                tools = world_of(candidate.task).tools
                assert turn.calls
                assert all(tools[c.name].tool.effect == "read" for c in turn.calls)
    assert given_up > 3


def test_a_look_up_of_a_given_up_turn_is_asked_for_or_shows_what_a_call_takes(
    candidates: list[Candidate],
) -> None:
    checked = 0
    for candidate in candidates:
        tools = world_of(candidate.task).tools
        for turn, made in zip(candidate.task.turns, in_turns(candidate), strict=True):
            if not turn.reply.startswith("I cannot do that: "):
                continue
            for call in turn.calls:
                later = [v for c in made if c.name != call.name for v in texts(c.arguments)]
                shown = set(texts(call.result))
                phrases = {p.split("[")[0].split("{")[0] for p in tools[call.name].tool.phrases}
                said = any(p.lower().strip() in turn.user.lower() for p in phrases)
                checked += 1
                assert said or shown & set(later), (candidate.task.id, call.name, turn.user)
    assert checked > 3


def texts(value: Any) -> list[str]:
    """All texts in a JSON value."""
    if isinstance(value, dict | list):
        inner = value.values() if isinstance(value, dict) else value
        return [text for item in inner for text in texts(item)]
    return [value] if isinstance(value, str) else []


@pytest.mark.parametrize(
    ("server", "name"), [("shopping", "cancel_order"), ("calendar", "cancel_event")]
)
def test_a_look_up_in_vain_is_followed_by_another_tool_that_shows_the_entity(
    server: str, name: str
) -> None:
    found = 0
    for seed in range(12):
        session = servers.world(seed, (server,)).open()
        planner = Planner(session, rng(seed, "detour"))
        if planner.extend(name):
            target = planner.steps[-1].arguments
            for step in planner.steps[:-1]:
                for attempt in (a for a in step.failed if a.tool != step.tool):
                    found += 1
                    again = servers.world(seed, (server,)).open()
                    result = again.call(attempt.tool, attempt.arguments)
                    ids = {str(v) for v in target.values()}
                    assert result.outcome == "tool_error" or not any(
                        i.encode() in result.json() for i in ids
                    )
    assert found > 2


# -- an assumption about the servers ------------------------------------------------------------


@pytest.mark.parametrize("server", servers.SERVERS)
def test_no_other_single_call_does_what_a_hidden_tool_does(server: str) -> None:
    tools = servers.load(server).tools
    for hidden in (t for t in tools.values() if t.effect == "write"):
        session = servers.world(1, (server,)).open()
        planner = Planner(session, rng(1, hidden.name))
        if not planner.extend(hidden.name):
            continue
        values = list(planner.steps[-1].arguments.values())
        for other in (t for t in tools.values() if t.effect == "write" and t is not hidden):
            assert not same_effect(session, other.name, sorted(other.required), values)


def same_effect(done: Session, name: str, required: list[str], values: list[Any]) -> bool:
    """Whether the tool, given any of the values, ends in the same state from the start."""
    for chosen in permutations(values, len(required)) if required else product():
        tried = done.world.open()
        ok = tried.call(name, dict(zip(required, chosen, strict=True))).outcome == "ok"
        if ok and tried.changes() == done.changes():
            return True
    return False


def test_the_second_teacher_writes_letters_and_its_tasks_are_sound_too(graph: Graph) -> None:
    names = ("banking", "shopping")
    settings = Synth(limit=24, world_seeds=3, tools_per_task=8, style="written")
    maker = Maker(Plan(5, names, names), settings, graph)
    made = [o.task for o in map(maker.make, range(40)) if isinstance(o, Candidate)]
    assert len(made) > 20
    first = [task.turns[0].user for task in made]
    assert all(text.startswith(letter.OPENINGS) for text in first)
    assert any("(2) " in text for text in first)
    assert all(not failed(certify(task, world_of(task)).checks) for task in made)
