"""One scripted episode at a bank: the same calls for every client, and what they must be told."""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from provegym.servers import world

SEED = 7
SERVER = "banking"
LATEST, BEFORE = "2026-07-28", "2025-11-25"
"""The protocol versions of the two eras."""

Call = tuple[str, dict[str, Any]]

DEEDS: list[Call] = [
    ("list_accounts", {"kind": "checking", "limit": 2}),
    ("list_accounts", {"kind": "checking", "limit": 2, "cursor": "p2"}),
    (
        "transfer_between_accounts",
        {
            "from_account_id": "acc_az55rr",
            "to_account_id": "acc_77vsfe",
            "amount": "120.50",
            "note": "Für später – 5 € 🏖",
        },
    ),
    (
        "transfer_between_accounts",  # more than there is: refused, and nothing is written
        {"from_account_id": "acc_7jvkqw", "to_account_id": "acc_77vsfe", "amount": "99999.00"},
    ),
    ("add_payee", {"name": "Zoë Łukasz", "iban": "DE89370400440532013000"}),
    (
        "pay_payee",
        {"payee_id": "pay_vfnpns", "from_account_id": "acc_az55rr", "amount": "42.00"},
    ),
    ("categorize_transaction", {"transaction_id": "txn_zkk0zz", "category": "dining"}),
    ("manage_card", {"card_id": "crd_k4dezn", "action": "melt"}),  # no such value
    ("manage_card", {"card_id": "crd_k4dezn"}),  # one argument too few
    ("manage_card", {"card_id": "crd_k4dezn", "action": "freeze", "how": "fast"}),  # too many
    ("manage_card", {"card_id": "crd_k4dezn", "action": "freeze"}),
    ("list_loan", {}),  # no such tool
    (
        "repay_loan",  # a number where a text is due
        {"loan_id": "loan_pbxd7x", "from_account_id": "acc_az55rr", "amount": 200},
    ),
    (
        "repay_loan",
        {"loan_id": "loan_pbxd7x", "from_account_id": "acc_az55rr", "amount": "200.00"},
    ),
    (
        "create_standing_order",
        {
            "payee_id": "pay_y7br4n",
            "from_account_id": "acc_az55rr",
            "amount": "10.00",
            "frequency": "monthly",
            "first_payment_on": "2026-05-01",
        },
    ),
    ("cancel_standing_order", {"standing_order_id": "sto_b2ypa8"}),
]
LISTS = "accounts", "transactions", "payees", "loans", "cards", "standing_orders"
LOOKS: list[Call] = [(f"list_{name}", {"limit": 50}) for name in LISTS]
CALLS = [*DEEDS, *LOOKS]
"""What is done, then a look at everything that the bank shows."""


class Told(Struct, frozen=True):
    """What a client was told of one call: a result, or the code of a JSON-RPC error."""

    text: str = ""
    structured: Any = None
    is_error: bool = False
    code: int | None = None


class Played(Struct, frozen=True):
    """An episode as a client saw it."""

    protocol: str
    tools: list[str]
    told: list[Told]


def played(protocol: str) -> Played:
    """The episode in process, as any client must see it."""
    session = world(SEED, (SERVER,)).open()
    told = []
    for name, arguments in CALLS:
        result = session.call(name, arguments)
        ok = result.outcome == "ok"
        if result.outcome == "unknown_tool":
            told.append(Told(code=-32602))
        else:
            structured = result.builtins() if ok else None
            told.append(Told(result.json().decode(), structured, is_error=not ok))
    return Played(protocol, [tool.function.name for tool in session.tools()], told)


def digest() -> str:
    """The digest of the state that the episode ends in."""
    session = world(SEED, (SERVER,)).open()
    for name, arguments in CALLS:
        session.call(name, arguments)
    return session.digest()
