"""An episode as it is shown: the end state field by field, and what each call changed."""

from __future__ import annotations

from msgspec.structs import replace

from provegym.types import Call, Function, GroundCall, Task, Tool, Trace, Turn
from provegym.viewer.episode import atoms, changes_by_call, shown

TASK = Task("t", "workflow", (Turn("x"),), servers=("banking",), seed=7)


def test_the_end_state_is_compared_field_by_field_and_as_exact_json() -> None:
    made = {"bank.accounts": {"a": {"balance": 5, "name": "x"}, "b": None}}
    wanted = {"bank.accounts": {"a": {"balance": 5.0, "name": "x"}, "b": None, "c": {"on": True}}}
    assert list(atoms(made, wanted)) == [
        {
            "table": "bank.accounts",
            "row": "a",
            "field": "balance",
            "made": 5,
            "wanted": 5.0,
            "equal": False,
        },
        {
            "table": "bank.accounts",
            "row": "a",
            "field": "name",
            "made": "x",
            "wanted": "x",
            "equal": True,
        },
        {
            "table": "bank.accounts",
            "row": "b",
            "field": "",
            "made": "deleted",
            "wanted": "deleted",
            "equal": True,
        },
        {"table": "bank.accounts", "row": "c", "field": "on", "wanted": True, "equal": False},
    ]


def test_a_replay_tells_what_each_call_changed() -> None:
    tools = shown_tools("list_payees")
    calls = (
        Call("list_payees", {}, 0, 0, "ok"),
        Call("list_payees", {"color": "red"}, 0, 1, "invalid_arguments"),
        Call("list_payees", "{", 0, 2, "malformed"),
    )
    assert changes_by_call(replace(TASK, tools=tools), Trace("r", "t", calls)) == [[], [], []]


def test_from_where_a_replay_goes_another_way_the_changes_are_not_known() -> None:
    calls = tuple(Call("list_payees", {}, 0, i, "ok") for i in range(3))
    elsewhere = (calls[0], replace(calls[1], outcome="tool_error"), calls[2])
    task = replace(TASK, tools=shown_tools("list_payees"))
    assert changes_by_call(task, Trace("r", "t", elsewhere)) == [[], None, None]


def test_a_world_that_cannot_be_made_here_leaves_all_changes_unknown() -> None:
    calls = (Call("list_payees", {}, 0, 0, "ok"),)
    assert changes_by_call(replace(TASK, servers=("gone",)), Trace("r", "t", calls)) == [None]


def test_turns_are_whole_though_a_file_leaves_out_what_is_empty() -> None:
    told = shown(replace(TASK, turns=(Turn(),)), Trace("r", "t", ()), "strict")
    assert told["task"]["turns"] == [{"user": "", "calls": (), "reply": "", "tools": ()}]


def test_bars_add_up_to_the_total_also_where_calls_are_spare() -> None:
    truth = (GroundCall("g0", "list_payees"),)
    task = replace(TASK, turns=(Turn("who?", truth),), tools=shown_tools("list_payees"))
    calls = tuple(Call("list_payees", {}, 0, i, "ok") for i in range(4))
    told = shown(task, Trace("r", "t", calls), "strict")
    assert abs(sum(bar["part"] for bar in told["bars"]) - told["score"]["total"]) < 1e-9
    assert [note["mistake"] for note in told["calls"]] == ["", "unneeded", "unneeded", "unneeded"]
    assert (told["first"]["kind"], told["first"]["position"]) == ("unneeded", 1)


def shown_tools(*names: str) -> tuple[Tool, ...]:
    return tuple(Tool(Function(name)) for name in names)


def test_a_task_that_needs_no_call_has_one_bar_which_silence_fills() -> None:
    for calls, value in (((), 1.0), ((Call("list_payees", {}, 0, 0, "ok"),), 0.0)):
        told = shown(TASK, Trace("r", "t", calls), "strict")
        bar = {"name": "no_call", "value": value, "weight": 1, "part": value}
        assert (told["bars"], told["score"]["total"]) == ([bar], value)
