"""Debit cards, as their holder uses them. Amounts are US dollars."""

from __future__ import annotations

from typing import Literal

from provegym.servers.banking import samples
from provegym.servers.banking.ledger import (
    move,
    positive,
    require_card_limit,
    require_funds,
)
from provegym.servers.banking.state import (
    Bank,
    Card,
    CardId,
    CardStatus,
    Pin,
    card_status,
)
from provegym.servers.banking.views import (
    CardItem,
    CardPage,
    Receipt,
    card_item,
    receipt,
)
from provegym.world.fields import Limit, Money
from provegym.world.page import page
from provegym.world.tool import refuse, tool


@tool(
    "read",
    phrases=(
        "List my[ {status}] debit cards[ with a number ending in {last4}]",
        "Show me which[ {status}] cards I have[ that end in {last4}]",
        "Look up my[ {status}] cards[ ending {last4}]",
    ),
    sample=samples.cards,
)
def list_cards(
    bank: Bank,
    status: CardStatus | None = None,
    last4: str = "",
    limit: Limit = 5,
    cursor: str = "",
) -> CardPage:
    """List your debit cards with the last four digits of their numbers.

    Args:
        status: Only cards in this state.
        last4: Only the card whose number ends in these digits.
        limit: Cards per page.
        cursor: next_cursor of the page before.
    """
    today = bank.today
    found = [
        c
        for c in bank.cards
        if bank.accounts[c.account_id].customer_id == bank.me
        and (status is None or card_status(c, today) == status)
        and c.number[-4:].endswith(last4)
    ]
    rows, total, after = page(found, limit, cursor)
    return CardPage([card_item(bank, c) for c in rows], total, after)


def _live_card(bank: Bank, card_id: str) -> Card:
    """An own card that is neither cancelled nor expired."""
    card = bank.cards.get(card_id)
    if card is None or bank.accounts[card.account_id].customer_id != bank.me:
        refuse("not_found", f"you have no card {card_id[:40]!r}", card_id=card_id)
    status = card_status(card, bank.today)
    if status == "cancelled":
        refuse("card_cancelled", f"the card ending {card.number[-4:]} was cancelled for good")
    if status == "expired":
        refuse("card_expired", f"the card ending {card.number[-4:]} expired on {card.expires}")
    return card


_AFTER: dict[str, CardStatus] = {
    "freeze": "frozen",
    "unfreeze": "active",
    "cancel": "cancelled",
}


@tool(
    "write",
    phrases=(
        "Please {action} {card_id}",
        "I need you to {action} {card_id}",
        "Go ahead and {action} {card_id}",
    ),
    refuses=("not_found", "card_cancelled", "card_expired", "already_frozen", "not_frozen"),
    sample=samples.manage,
)
def manage_card(
    bank: Bank, card_id: CardId, action: Literal["freeze", "unfreeze", "cancel"]
) -> CardItem:
    """Freeze a debit card, unfreeze it, or cancel it for good.

    Args:
        card_id: The card.
        action: Freezing can be undone; cancelling cannot.
    """
    card = _live_card(bank, card_id)
    if action == "freeze" and card.status == "frozen":
        refuse("already_frozen", f"the card ending {card.number[-4:]} is frozen already")
    if action == "unfreeze" and card.status != "frozen":
        refuse("not_frozen", f"the card ending {card.number[-4:]} is not frozen")
    return card_item(bank, bank.cards.update(card, status=_AFTER[action]))


@tool(
    "write",
    phrases=(
        "Withdraw {amount} in cash with {card_id}, PIN {pin}",
        "Get me {amount} in cash on {card_id}; the PIN is {pin}",
        "Take out {amount} of cash using {card_id} and PIN {pin}",
    ),
    refuses=(
        "not_found",
        "card_cancelled",
        "card_expired",
        "card_frozen",
        "wrong_pin",
        "daily_limit",
        "insufficient_funds",
    ),
    sample=samples.withdraw,
)
def withdraw_cash(bank: Bank, card_id: CardId, amount: Money, pin: Pin) -> Receipt:
    """Release cash at the nearest machine, charged to the card's account.

    Args:
        card_id: An active card.
        amount: US dollars, a multiple of 10.00.
        pin: The card's PIN, as the customer gave it.
    """
    value = positive(amount)
    if value % 10_00:
        refuse("invalid_amount", f"cash comes in multiples of 10.00, got {amount}", step="10.00")
    card = _live_card(bank, card_id)
    if card.status == "frozen":
        refuse("card_frozen", f"the card ending {card.number[-4:]} is frozen; unfreeze it first")
    if pin != card.pin:
        refuse("wrong_pin", f"that is not the PIN of the card ending {card.number[-4:]}")
    account = bank.accounts[card.account_id]
    require_card_limit(bank, card.id, card.daily_limit, value)
    require_funds(bank, account, value)
    text = "Cash withdrawal"
    posting = move(
        bank,
        account,
        bank.ledger("Clearing"),
        value,
        (text, text),
        kind="cash",
        category="cash",
        card_id=card.id,
    )
    return receipt(bank, posting)
