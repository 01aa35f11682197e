"""What holds of every score, whatever the task and the trace."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from provegym.rewards import PRESETS, score
from provegym.types import Call, Changes, GroundCall, Outcome, Ref, Task, Trace, Turn

NAMES = st.sampled_from(["open", "pay", "list"])
VALUES = st.sampled_from([0, 1, True, "acc_1", "acc_7", None, [1, 2], {"id": "acc_1"}])
ARGUMENTS: st.SearchStrategy[dict[str, Any]] = st.dictionaries(
    st.sampled_from(["a", "b"]), VALUES, max_size=2
)
RESULTS = st.sampled_from([None, {"id": "acc_1"}, {"id": "acc_7"}, {"id": [1, 2]}])
OUTCOMES: st.SearchStrategy[Outcome] = st.sampled_from(
    ["ok", "ok", "ok", "tool_error", "invalid_arguments", "malformed", "unknown_tool"]
)
CHANGES: st.SearchStrategy[Changes] = st.dictionaries(
    st.sampled_from(["s.t", "s.u"]),
    st.dictionaries(st.sampled_from(["r1", "+1"]), st.none() | ARGUMENTS, max_size=2),
    max_size=2,
)


@st.composite
def tasks(draw: st.DrawFn, distinct: bool = False) -> Task:
    """One to five calls over two turns, each with dependencies on earlier ones and refs to one."""
    made: list[GroundCall] = []
    for i in range(draw(st.integers(1, 5))):
        name, arguments = f"tool_{i}" if distinct else draw(NAMES), draw(ARGUMENTS)
        after = draw(st.lists(st.sampled_from(made), unique_by=lambda g: g.id)) if made else []
        refs = {f"/{k}": Ref(after[0].id, "/id") for k in arguments if after}
        ids = tuple(g.id for g in after)
        made.append(GroundCall(f"g{i}", name, arguments, ids, refs, draw(RESULTS)))
    cut = draw(st.integers(0, len(made)))
    turns = Turn(calls=tuple(made[:cut])), Turn(calls=tuple(made[cut:]))
    return Task("t", "workflow", turns, final_changes=draw(CHANGES))


@st.composite
def calls(draw: st.DrawFn) -> Call:
    outcome = draw(OUTCOMES)
    arguments: Any = "{" if outcome == "malformed" else draw(ARGUMENTS)
    return Call(draw(NAMES), arguments, draw(st.integers(0, 1)), 0, outcome, draw(RESULTS))


TRACES = st.builds(
    lambda made, changes: Trace("r", "t", tuple(made), final_changes=changes),
    st.lists(calls(), max_size=8),
    CHANGES,
)
EACH_PRESET = pytest.mark.parametrize("preset", ["paper", "strict"])


def known(number: float | None) -> float:
    assert number is not None
    return number


@EACH_PRESET
@given(tasks(), TRACES)
def test_no_component_leaves_its_range_and_no_total_exceeds_the_maximum(
    preset: str, task: Task, trace: Trace
) -> None:
    result = score(task, trace, preset)
    for field in ("validity", "coverage", "name", "argument", "state"):
        assert 0 <= getattr(result, field) <= 1, field
    assert known(result.efficiency) <= 0
    assert known(result.total) <= known(result.max_total) == PRESETS[preset].max_total
    assert result.normalized == known(result.total) / known(result.max_total)


@EACH_PRESET
@given(tasks(), TRACES, st.data())
def test_repeating_a_call_never_raises_efficiency(
    preset: str, task: Task, trace: Trace, data: st.DataObject
) -> None:
    repeated = data.draw(st.sampled_from(trace.calls)) if trace.calls else data.draw(calls())
    longer = structs.replace(trace, calls=(*trace.calls, repeated))
    before, after = score(task, trace, preset), score(task, longer, preset)
    assert known(after.efficiency) <= known(before.efficiency)


@EACH_PRESET
@given(tasks(distinct=True))
def test_the_ground_truth_itself_has_the_maximum(preset: str, task: Task) -> None:
    made = tuple(
        Call(g.name, own_arguments(task, g), turn, 0, "ok", g.result)
        for turn, g in task.ground_truth
    )
    result = score(task, Trace("r", "t", made, final_changes=task.final_changes), preset)
    assert (result.validity, result.coverage, result.efficiency, result.name) == (1, 1, 0, 1)
    assert (result.argument, result.state) == (1, 1)
    assert result.normalized == 1


def own_arguments(task: Task, ground: GroundCall) -> dict[str, Any]:
    """The arguments with each ref followed into the recorded results."""
    results = {g.id: g.result for _, g in task.ground_truth}
    arguments = dict(ground.arguments)
    for pointer, ref in ground.refs.items():
        if isinstance(results[ref.call], dict):
            arguments[pointer[1:]] = results[ref.call]["id"]
    return arguments


@given(tasks(), TRACES, st.integers(0, 8))
def test_an_infrastructure_failure_anywhere_masks_every_number(
    task: Task, trace: Trace, place: int
) -> None:
    lost = Call("open", {}, 0, 0, "infrastructure")
    made = (*trace.calls[:place], lost, *trace.calls[place:])
    result = score(task, structs.replace(trace, calls=made), "paper")
    numbers = set(structs.astuple(result)[3:-1])
    assert result.masked
    assert numbers == {None}


@EACH_PRESET
@given(tasks(), TRACES)
def test_the_total_is_the_weighted_sum_of_the_components(
    preset: str, task: Task, trace: Trace
) -> None:
    result, weights = score(task, trace, preset), PRESETS[preset]
    fields = ("validity", "coverage", "efficiency", "name", "argument", "state")
    total = sum(getattr(weights, f"w_{field}") * getattr(result, field) for field in fields)
    assert result.total == pytest.approx(total)


@given(tasks(), TRACES)
def test_scoring_is_pure(task: Task, trace: Trace) -> None:
    before = repr(task), repr(trace)
    assert score(task, trace, "strict") == score(task, trace, "strict")
    assert (repr(task), repr(trace)) == before


@given(tasks(), TRACES)
def test_the_ablations_change_no_component(task: Task, trace: Trace) -> None:
    paper = structs.astuple(score(task, trace, "paper"))[3:9]
    for name in PRESETS.keys() - {"paper", "strict", "beta0"}:
        assert structs.astuple(score(task, trace, name))[3:9] == paper
