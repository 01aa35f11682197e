"""Standing orders: payments that repeat. Amounts are US dollars."""

from __future__ import annotations

from provegym.servers.banking import samples
from provegym.servers.banking.ledger import (
    known_payee,
    payable,
    payee_account,
    positive,
)
from provegym.servers.banking.state import (
    AccountId,
    Bank,
    Frequency,
    OrderStatus,
    PayeeId,
    StandingOrder,
    StandingOrderId,
)
from provegym.servers.banking.views import (
    OrderItem,
    OrderPage,
    order_item,
)
from provegym.world.fields import Date, Limit, Money, money
from provegym.world.page import page
from provegym.world.tool import refuse, tool


@tool(
    "read",
    phrases=(
        "List my[ {status}] standing orders[ to {query}]",
        "Show the[ {status}] standing orders I have set up[ for {query}]",
        "Go through my[ {status}] standing orders[ that pay {query}]",
    ),
    sample=samples.orders,
)
def list_standing_orders(
    bank: Bank,
    query: str = "",
    status: OrderStatus | None = None,
    limit: Limit = 5,
    cursor: str = "",
) -> OrderPage:
    """List your standing orders, the next to be paid first, cancelled ones last.

    Args:
        query: Part of the payee's name.
        status: Only orders in this state.
        limit: Orders per page.
        cursor: next_cursor of the page before.
    """
    words = query.casefold()
    found = [
        o
        for o in bank.standing_orders
        if bank.accounts[o.account_id].customer_id == bank.me
        and (status is None or o.status == status)
        and words in bank.payees[o.payee_id].name.casefold()
    ]
    found.sort(key=lambda o: (o.status != "active", o.next_payment_on))
    rows, total, after = page(found, limit, cursor)
    return OrderPage([order_item(bank, o) for o in rows], total, after)


def _require_terms(
    bank: Bank, account_limit: int, amount: int, next_payment_on: str, ends_on: str
) -> None:
    if amount > account_limit:
        text = f"{money(amount)} is more than the account's daily limit of {money(account_limit)}"
        refuse("daily_limit", text, limit=money(account_limit))
    if next_payment_on <= bank.today:
        text = f"the payment date {next_payment_on} is not after today, {bank.today}"
        refuse("date_in_past", text, today=bank.today)
    if ends_on and ends_on < next_payment_on:
        text = f"the order would end on {ends_on}, before its payment of {next_payment_on}"
        refuse("ends_too_early", text, ends_on=ends_on)


@tool(
    "write",
    phrases=(
        "Set up a {frequency} standing order of {amount} to {payee_id} from {from_account_id} "
        "starting {first_payment_on}[ and ending {ends_on}]",
        "From {first_payment_on} on[ until {ends_on}], pay {payee_id} {amount} {frequency} "
        "out of {from_account_id} by standing order",
        "Create a standing order on {from_account_id} that sends {payee_id} {amount} {frequency}, "
        "first on {first_payment_on}[ and until {ends_on}]",
    ),
    refuses=(
        "unknown_payee",
        "payee_blocked",
        "payee_account_closed",
        "not_found",
        "account_closed",
        "account_locked",
        "not_a_checking_account",
        "daily_limit",
        "date_in_past",
    ),
    sample=samples.new_order,
)
def create_standing_order(
    bank: Bank,
    payee_id: PayeeId,
    from_account_id: AccountId,
    amount: Money,
    frequency: Frequency,
    first_payment_on: Date,
    ends_on: Date | None = None,
) -> OrderItem:
    """Set up a repeating payment to a saved payee.

    Args:
        payee_id: Who is paid.
        from_account_id: Your checking account.
        amount: US dollars each time.
        frequency: How often.
        first_payment_on: Day of the first payment, after today.
        ends_on: Last day on which it may pay.
    """
    value = positive(amount)
    payee, source = known_payee(bank, payee_id), payable(bank, from_account_id)
    payee_account(bank, payee)
    _require_terms(bank, source.daily_limit, value, first_payment_on, ends_on or "")
    order = StandingOrder(
        id=bank.standing_orders.new_id(),
        account_id=source.id,
        payee_id=payee.id,
        amount=value,
        frequency=frequency,
        next_payment_on=first_payment_on,
        ends_on=ends_on or "",
    )
    return order_item(bank, bank.standing_orders.put(order))


def _active_order(bank: Bank, order_id: str) -> StandingOrder:
    order = bank.standing_orders.get(order_id)
    if order is None or bank.accounts[order.account_id].customer_id != bank.me:
        refuse("not_found", f"you have no standing order {order_id[:40]!r}", id=order_id)
    if order.status == "cancelled":
        refuse("order_cancelled", "this standing order was cancelled; create a new one instead")
    return order


@tool(
    "write",
    phrases=(
        "Change {standing_order_id}[ to {amount}][ to {frequency} payments]"
        "[ so that it next pays on {next_payment_on}]",
        "Update {standing_order_id}[; make the amount {amount}][; make it {frequency}]"
        "[; let the next payment go out on {next_payment_on}]",
    ),
    refuses=(
        "not_found",
        "order_cancelled",
        "daily_limit",
        "date_in_past",
        "ends_too_early",
        "no_change",
    ),
    sample=samples.change_order,
)
def update_standing_order(
    bank: Bank,
    standing_order_id: StandingOrderId,
    amount: Money | None = None,
    frequency: Frequency | None = None,
    next_payment_on: Date | None = None,
) -> OrderItem:
    """Change the amount, frequency or next date of an active standing order.

    Args:
        standing_order_id: The standing order.
        amount: New amount in US dollars.
        frequency: New frequency.
        next_payment_on: New day of the next payment, after today.
    """
    order = _active_order(bank, standing_order_id)
    value = order.amount if amount is None else positive(amount)
    day, often = next_payment_on or order.next_payment_on, frequency or order.frequency
    if (value, day, often) == (order.amount, order.next_payment_on, order.frequency):
        refuse("no_change", "give an amount, frequency or date that differs from the present one")
    limit = bank.accounts[order.account_id].daily_limit
    _require_terms(bank, limit, value, day, order.ends_on)
    changed = bank.standing_orders.update(order, amount=value, frequency=often, next_payment_on=day)
    return order_item(bank, changed)


@tool(
    "write",
    phrases=(
        "Cancel {standing_order_id}",
        "Stop {standing_order_id} for good",
        "End {standing_order_id}, I no longer need it",
    ),
    refuses=("not_found", "order_cancelled"),
    sample=samples.cancel_order,
)
def cancel_standing_order(bank: Bank, standing_order_id: StandingOrderId) -> OrderItem:
    """Cancel a standing order; no further payment is made.

    Args:
        standing_order_id: The standing order.
    """
    order = _active_order(bank, standing_order_id)
    return order_item(bank, bank.standing_orders.update(order, status="cancelled"))
