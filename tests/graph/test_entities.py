"""What the graph knows of entities: their names."""

from __future__ import annotations

from typing import Annotated, Any

import pytest
from msgspec import Struct

from provegym.graph.entities import consumed, consumed_within, noun
from provegym.world.fields import Ref
from provegym.world.tool import tool


@pytest.mark.parametrize(
    ("table", "one"),
    [
        ("banking.standing_orders", "standing order"),
        ("shopping.addresses", "address"),
        ("marketplace.purchases", "purchase"),
        ("budget.expenses", "expense"),
        ("shopping.categories", "category"),
        ("email.mailboxes", "mailbox"),
        ("payments.webhooks", "webhook"),
        ("team_chat.branches", "branch"),
    ],
)
def test_a_row_is_called_by_its_tables_name_in_the_singular(table: str, one: str) -> None:
    assert noun(table) == one


BookId = Annotated[str, Ref("library.books")]


class Loan(Struct, frozen=True):
    book_id: BookId
    days: int = 7


@tool("write", phrases=("Lend {loans} and {also}",))
def lend(state: Any, loans: list[Loan], also: list[BookId]) -> None:
    """Lend books.

    Args:
        loans: What is lent, for how long.
        also: More books.
    """


def test_ids_in_records_that_a_parameter_takes_are_told_from_those_it_takes_itself() -> None:
    assert consumed(lend) == (("library.books", "also"),)
    assert consumed_within(lend) == (("library.books", "loans/*/book_id"),)
