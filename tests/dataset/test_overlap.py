"""What counts as shared, aspect by aspect, and what is everybody's."""

from __future__ import annotations

import pytest

from provegym.dataset.overlap import (
    Item,
    Shape,
    distinctive,
    entities,
    ngrams,
    of_task,
    schemas,
    sequences,
    strict_ngrams,
    strings,
    tool_names,
)
from provegym.types import Function, GroundCall, Task, Tool, Turn

COMMON = (
    *("1", "usd", "12.50", "$1,250.00", "100000000", "yes", "new york", "new york, ny", "emma kim"),
    *("2024-05-01", "2024-05-01t06:26:00+00:00", "05/21/2026", "10:30", "10:30-11:45", "2026-06"),
    *("1000ml", "2.5gb", "user_1", "step-02", "windows11", "report_2024.pdf", "q3_2025", "h2o"),
    *("bluetooth speaker", "final_report.pdf", "in_progress", "wireless noise-cancelling 2"),
    *("-122.4194", "15 days", "room 12", "visa ending 4242", ""),
)
TELLING = (
    *("emma_kim_9957", "#w2378156", "4og6t3", "hat001", "credit_card_9513926", "acc_y12026"),
    *("36339325", "555-123-2002", "emma.kim@example.com", "https://api.example.com/v1", "8jj51m"),
    *("just finished analyzing the reports!", "975 sunset drive, suite 217, austin, tx"),
)


@pytest.mark.parametrize("value", COMMON)
def test_what_two_data_sets_share_by_chance_is_no_entity(value: str) -> None:
    assert not distinctive(value)


@pytest.mark.parametrize("value", TELLING)
def test_codes_addresses_long_numbers_and_sentences_are_entities(value: str) -> None:
    assert distinctive(value)


def test_entities_come_from_values_and_from_words_that_users_say() -> None:
    item = Item("i", values=("Emma_Kim_9957", "1"), texts=("Cancel #W2378156, please.",))
    assert entities(item) == {"emma_kim_9957", "#w2378156"}


def test_names_of_tools_are_compared_without_class_and_case() -> None:
    names = ("TicketAPI.createTicket", "create_ticket", "Create-Ticket", "mv")
    item = Item("i", tools=tuple(Shape(name, ()) for name in names))
    assert tool_names(item) == {"create_ticket", "mv"}


def test_small_sets_of_parameters_count_only_with_their_tool() -> None:
    tools = (
        Shape("a.look", ("limit", "query")),
        Shape("find", ("query", "limit")),
        Shape("search", ("dueDate", "query", "limit")),
        Shape("seek", ("limit", "due_date", "query")),
        Shape("list_all", ()),
    )
    assert schemas(Item("i", tools=tools)) == {
        "look(limit, query)",
        "find(limit, query)",
        "(due_date, limit, query)",
    }


def test_call_sequences_are_all_runs_of_two_or_more() -> None:
    assert sequences(Item("i", calls=("A.cd", "ls", "mv"))) == {
        "cd > ls",
        "ls > mv",
        "cd > ls > mv",
    }
    assert sequences(Item("i", calls=("cd",))) == set()


def test_words_in_a_row_stay_within_a_turn_and_ignore_case_and_punctuation() -> None:
    thirteen = "One, two; three four five six seven eight nine ten eleven twelve THIRTEEN!"
    plain = "one two three four five six seven eight nine ten eleven twelve thirteen"
    assert ngrams(Item("i", texts=(thirteen,))) == {plain}
    assert len(strict_ngrams(Item("i", texts=(thirteen,)))) == 13 - 8 + 1
    halves = (plain[: plain.index(" eight")], plain[plain.index("eight") :])
    assert ngrams(Item("i", texts=halves)) == strict_ngrams(Item("i", texts=halves)) == set()


def test_values_are_texts_and_whole_numbers_at_any_depth_keys_included() -> None:
    assert list(strings({"a": [{"b": "c"}, 7, 2.5, True, None]})) == ["a", "b", "c", "7"]


def test_a_task_is_its_tools_calls_values_and_turns() -> None:
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}}
    late, shown = (Tool(Function(name, parameters=schema)) for name in ("late", "shown"))
    call = GroundCall("g0", "late", {"n": 7}, result={"id": "x"})
    task = Task("t", "workflow", (Turn("Go", (call,), tools=(late,)),), tools=(shown,))
    assert of_task(task) == Item(
        "t",
        tools=(Shape("shown", ("n",)), Shape("late", ("n",))),
        calls=("late",),
        values=("n", "7", "id", "x"),
        texts=("Go",),
    )
