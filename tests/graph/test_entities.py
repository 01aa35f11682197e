"""What the graph knows of entities: their names."""

from __future__ import annotations

import pytest

from provegym.graph.entities import noun


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
