"""What a user may say: marks in a text, and where they come from."""

from __future__ import annotations

import pytest

from provegym import servers
from provegym.synth.grounding import Known, Mark, internal_ids, marks
from provegym.world.tool import Tool

TEXTS = (
    '{"name": "the Emergency account", "balance": "1924.18", "due": "2026-04-25"}',
    '{"name": "Anna Daniel", "path": "/home/anna/notes.txt", "starts": "2026-03-05T14:30:00Z"}',
    "“Town hall” with Ben, room B12, 7 seats, ann.lee@shelton.example",
)


def tool(server: str, name: str) -> Tool:
    return servers.load(server).tools[name]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ('Call it "Summer party", please.', [Mark("quoted", "Summer party")]),
        ("Please pay Anna Daniel's rent", [Mark("name", "Anna Daniel")]),
        ("Anna Daniel called.", [Mark("name", "|Anna Daniel")]),
        ("Move $1,250.50 now", [Mark("number", "1,250.50")]),
        ("on April 25th, 2026", [Mark("date", "2026-04-25")]),
        ("on 3 May", [Mark("date", "-05-03")]),
        ("by 2026-04-25.", [Mark("date", "2026-04-25")]),
        ("at 2:30 pm or at 9:05", [Mark("time", "14:30"), Mark("time", "09:05")]),
        ("open /home/anna/notes.txt.", [Mark("code", "/home/anna/notes.txt")]),
        ("write to ann.lee@shelton.example", [Mark("code", "ann.lee@shelton.example")]),
        ("room B12", [Mark("code", "B12")]),
        ("I wait until Monday", []),
        ("Please do it.", []),
    ],
)
def test_marks_are_quotes_names_numbers_dates_times_and_codes(text: str, found: list[Mark]) -> None:
    assert list(marks(text)) == found


@pytest.mark.parametrize(
    "words",
    [
        "Move 1,924.18 from the Emergency account",
        "Please pay Anna Daniel by April 25.",
        "Pay Anna Daniel's invoice due 2026-04-25",
        "Read /home/anna/notes.txt at 2:30 pm",
        'Is "Town hall" in B12 with 7 seats?',
        "Write to ann.lee@shelton.example",
    ],
)
def test_what_the_texts_hold_is_traced(words: str) -> None:
    assert Known(TEXTS).strays(words) == []


@pytest.mark.parametrize(
    ("words", "stray"),
    [
        ("Please pay John Miller today", "John Miller"),
        ("Move 35.00 over", "35.00"),
        ("Do it by April 26", "-04-26"),
        ("Do it by 2026-04-17", "2026-04-17"),
        ("Meet at 3 pm", "15:00"),
        ("Read /home/anna/secret.txt", "/home/anna/secret.txt"),
        ('Open "Annual review"', "Annual review"),
        ("Book room C3", "C3"),
    ],
)
def test_what_the_texts_do_not_hold_is_a_stray(words: str, stray: str) -> None:
    assert Known(TEXTS).strays(words) == [stray]


def test_a_value_that_the_tool_leaves_to_the_user_is_free() -> None:
    transfer = tool("banking", "transfer_between_accounts")
    known = Known(TEXTS, [transfer])
    assert known.strays('Move $35 from the Emergency account, note "for the boat"') == []
    assert known.strays("Move $35.1234") == ["35.1234"]  # money has two places
    assert known.strays("Move $35 to John Miller") == ["John Miller"]  # no name is free here
    order = tool("banking", "create_standing_order")
    assert Known(TEXTS, [order]).strays("From May 3 on, 40 a month") == []


def test_what_is_searched_for_is_not_free_although_any_text_will_do() -> None:
    looking = tool("banking", "list_payees")
    assert Known(TEXTS, [looking]).strays('Find "Oakwood Lettings"') == ["Oakwood Lettings"]


def test_ids_of_named_rows_are_internal_and_paths_are_not() -> None:
    world = servers.world(7, ("banking", "filesystem"))
    account = world.templates["banking.accounts"].ids[0]
    assert internal_ids(world, f"Close {account}, please.") == [account]
    assert internal_ids(world, "Open /home and close the Travel account") == []
