"""Accounts, transactions, payees and loans, as a customer uses them. Amounts are US dollars."""

from __future__ import annotations

from typing import Literal

from provegym.servers.banking import samples
from provegym.servers.banking.ledger import (
    DISPUTE_WINDOW,
    NEW_PAYEE_CAP,
    known_payee,
    move,
    my_account,
    payable,
    payee_account,
    positive,
    require_daily_limit,
    require_funds,
    usable,
)
from provegym.servers.banking.numbers import is_own_iban
from provegym.servers.banking.state import (
    AccountId,
    AccountKind,
    Bank,
    Category,
    Iban,
    LoanId,
    Payee,
    PayeeId,
    Transaction,
    TransactionId,
    days_between,
)
from provegym.servers.banking.views import (
    AccountPage,
    DisputeReceipt,
    LoanPage,
    PayeeItem,
    PayeePage,
    Receipt,
    Repayment,
    TransactionItem,
    TransactionPage,
    account_item,
    loan_item,
    payee_item,
    receipt,
    transaction_item,
)
from provegym.world.fields import Date, Limit, Money, Text, money
from provegym.world.page import page
from provegym.world.period import period
from provegym.world.tool import refuse, tool

# -- accounts and transactions -----------------------------------------------------------------


@tool(
    "read",
    phrases=(
        'List my[ {kind}] accounts[ named "{query}"] with their balances',
        "Show how much I have on my[ {kind}] accounts[ called {query}]",
        "Give me an overview of my[ {kind}] bank accounts[ with {query} in the name]",
    ),
    sample=samples.accounts,
)
def list_accounts(
    bank: Bank,
    query: str = "",
    kind: AccountKind | None = None,
    limit: Limit = 5,
    cursor: str = "",
) -> AccountPage:
    """List your bank accounts with balance and available funds, closed ones last.

    Args:
        query: Part of the account's nickname.
        kind: Only accounts of this kind.
        limit: Accounts per page.
        cursor: next_cursor of the page before.
    """
    words = query.casefold()
    found = [
        a
        for a in bank.my_accounts()
        if words in a.nickname.casefold() and (kind is None or a.kind == kind)
    ]
    found.sort(key=lambda a: a.status == "closed")
    rows, total, after = page(found, limit, cursor)
    return AccountPage([account_item(bank, a) for a in rows], total, after)


@tool(
    "read",
    phrases=(
        'Show my latest transactions[ on {account_id}][ matching "{query}"]'
        "[ in the {category} category][ since {since}][ until {until}]",
        'Find the transactions[ on {account_id}][ that mention "{query}"]'
        "[ filed under {category}][ from {since} on][ up to {until}]",
        "Pull up what went in and out[ of {account_id}][ for {query}][ under {category}]"
        "[ since {since}][ until {until}]",
    ),
    refuses=("not_found",),
    sample=samples.transactions,
)
def list_transactions(
    bank: Bank,
    account_id: AccountId | None = None,
    query: str = "",
    category: Category | None = None,
    since: Date | None = None,
    until: Date | None = None,
    limit: Limit = 5,
    cursor: str = "",
) -> TransactionPage:
    """List account transactions, newest first: on one account, or on all of yours.

    Args:
        account_id: Only this account.
        query: Part of the description, e.g. the merchant.
        category: Only this category.
        since: First day.
        until: Last day.
        limit: Transactions per page.
        cursor: next_cursor of the page before.
    """
    accounts = [my_account(bank, account_id)] if account_id is not None else bank.my_accounts()
    words, (first, last) = query.casefold(), period(since, until)
    found = [
        t
        for a in accounts
        for t in bank.transactions.where(account_id=a.id)
        if first <= t.posted_at < last
        and (category is None or t.category == category)
        and (not words or words in t.description.casefold())
    ]
    found.sort(key=lambda t: t.posted_at, reverse=True)
    rows, total, after = page(found, limit, cursor)
    return TransactionPage([transaction_item(t) for t in rows], total, after)


def _my_transaction(bank: Bank, transaction_id: str) -> Transaction:
    posting = bank.transactions.get(transaction_id)
    if posting is not None:
        account = bank.accounts[posting.account_id]
        if account.customer_id == bank.me and account.kind != "loan":
            return posting
    text = f"you have no transaction {transaction_id[:40]!r}"
    refuse("not_found", text, transaction_id=transaction_id)


@tool(
    "write",
    phrases=(
        "File {transaction_id} under {category}",
        "Change the category of {transaction_id} to {category}",
        "Categorize {transaction_id} as {category}",
    ),
    refuses=("not_found", "no_change"),
    sample=samples.categorize,
)
def categorize_transaction(
    bank: Bank, transaction_id: TransactionId, category: Category
) -> TransactionItem:
    """Put a transaction into another spending category.

    Args:
        transaction_id: The transaction.
        category: The new category.
    """
    posting = _my_transaction(bank, transaction_id)
    if posting.category == category:
        refuse("no_change", f"the transaction is filed under {category} already")
    return transaction_item(bank.transactions.update(posting, category=category))


@tool(
    "write",
    phrases=(
        "Dispute {transaction_id} as {reason}",
        "Open a dispute over {transaction_id}; the charge is {reason}",
        "Contest {transaction_id} because it is {reason}",
    ),
    refuses=("not_found", "not_disputable", "already_disputed", "dispute_window_over"),
    sample=samples.dispute,
)
def dispute_transaction(
    bank: Bank,
    transaction_id: TransactionId,
    reason: Literal["duplicate", "fraudulent", "undelivered", "overcharged", "faulty"],
) -> DisputeReceipt:
    """Dispute a card purchase of the last 120 days; its amount is credited until decided.

    Args:
        transaction_id: The card purchase.
        reason: What is wrong with it.
    """
    posting = _my_transaction(bank, transaction_id)
    _require_disputable(bank, posting)
    disputed = bank.transactions.update(posting, dispute="open", note=f"Disputed: {reason}")
    text = f"Provisional credit: {posting.description}"
    credit = move(
        bank,
        bank.ledger("Disputes"),
        bank.accounts[posting.account_id],
        -posting.amount,
        (text, text),
        kind="provisional_credit",
        category="other",
        note=reason,
    )
    mine = bank.transactions[credit.counter_id]
    return DisputeReceipt(transaction_item(disputed), "open", transaction_item(mine))


def _require_disputable(bank: Bank, posting: Transaction) -> None:
    if posting.kind != "purchase":
        text = f"only card purchases can be disputed; this is a {posting.kind}"
        refuse("not_disputable", text, kind=posting.kind)
    if posting.dispute != "none":
        refuse("already_disputed", f"its dispute is {posting.dispute}", dispute=posting.dispute)
    age = days_between(posting.posted_at, bank.today)
    if age > DISPUTE_WINDOW:
        text = f"the purchase is {age} days old; disputes end after {DISPUTE_WINDOW}"
        refuse("dispute_window_over", text, age_days=age)


@tool(
    "write",
    phrases=(
        'Transfer {amount} from {from_account_id} to {to_account_id}[ with the note "{note}"]',
        'Move {amount} out of {from_account_id} into {to_account_id}[, noted as "{note}"]',
        'Shift {amount} from {from_account_id} over to {to_account_id}[; note "{note}"]',
    ),
    refuses=("not_found", "account_closed", "account_locked", "insufficient_funds"),
    sample=samples.transfer,
)
def transfer_between_accounts(
    bank: Bank,
    from_account_id: AccountId,
    to_account_id: AccountId,
    amount: Money,
    note: Text | None = None,
) -> Receipt:
    """Move money between two of your own accounts.

    Args:
        from_account_id: Account the money leaves.
        to_account_id: Account the money enters.
        amount: US dollars.
        note: Text for both statements.
    """
    value = positive(amount)
    if from_account_id == to_account_id:
        refuse("same_account", "money must move between two different accounts")
    source, target = usable(bank, from_account_id), usable(bank, to_account_id)
    require_funds(bank, source, value)
    texts = (f"Transfer to {target.nickname}", f"Transfer from {source.nickname}")
    posting = move(
        bank, source, target, value, texts, kind="transfer", category="transfers", note=note or ""
    )
    return receipt(bank, posting)


# -- payees ------------------------------------------------------------------------------------


@tool(
    "read",
    phrases=(
        'Show my payees[ called "{query}"]',
        "Look through the people and firms I can pay[ for {query}]",
        "Check whom I have saved as a payee[ under the name {query}]",
    ),
    sample=samples.payees,
)
def list_payees(bank: Bank, query: str = "", limit: Limit = 5, cursor: str = "") -> PayeePage:
    """List the saved payees that you can pay, by name.

    Args:
        query: Part of the payee's name.
        limit: Payees per page.
        cursor: next_cursor of the page before.
    """
    words = query.casefold()
    found = [p for p in bank.payees.where(customer_id=bank.me) if words in p.name.casefold()]
    found.sort(key=lambda p: p.name)
    rows, total, after = page(found, limit, cursor)
    return PayeePage([payee_item(p) for p in rows], total, after)


@tool(
    "write",
    phrases=(
        "Add {name} with IBAN {iban} to my payees",
        "Save {name} as a new payee; the IBAN is {iban}",
        "Set up {name}, IBAN {iban}, as someone I can pay",
    ),
    refuses=(
        "payee_exists",
        "own_account",
        "no_such_account",
        "name_mismatch",
        "payee_account_closed",
    ),
    sample=samples.new_payee,
)
def add_payee(bank: Bank, name: Text, iban: Iban) -> PayeeItem:
    """Save a new payee. At this bank the holder's name must match the account.

    Args:
        name: Full name of the person or company.
        iban: Account number to pay to.
    """
    known = next((p for p in bank.payees.where(iban=iban) if p.customer_id == bank.me), None)
    if known:
        refuse("payee_exists", f"that IBAN is saved as {known.name}", payee_id=known.id)
    if is_own_iban(iban):
        _verify_holder(bank, name, iban)
    row = Payee(bank.payees.new_id(), bank.me, name.strip(), iban, "active", bank.stamp)
    return payee_item(bank.payees.put(row))


def _verify_holder(bank: Bank, name: str, iban: str) -> None:
    """Verification of payee: the name given against the name of the account's holder."""
    account = next(iter(bank.accounts.where(iban=iban)), None)
    if account is None or account.kind in ("loan", "internal"):
        refuse("no_such_account", f"no account at this bank has IBAN {iban}", iban=iban)
    if account.customer_id == bank.me:
        refuse("own_account", f"{iban} is your own {account.nickname} account; transfer instead")
    if account.status == "closed":
        refuse("payee_account_closed", f"the account with IBAN {iban} is closed")
    if bank.customers[account.customer_id].name.casefold() != name.strip().casefold():
        refuse("name_mismatch", f"the holder of {iban} is not called {name[:60]!r}", name=name)


@tool(
    "write",
    phrases=(
        'Pay {payee_id} {amount} from {from_account_id}[ with the reference "{reference}"]',
        'Send {amount} to {payee_id} out of {from_account_id}[; the reference is "{reference}"]',
        'Make a payment of {amount} to {payee_id} via {from_account_id}[, reference "{reference}"]',
    ),
    refuses=(
        "unknown_payee",
        "payee_blocked",
        "payee_account_closed",
        "not_found",
        "account_closed",
        "account_locked",
        "not_a_checking_account",
        "new_payee_limit",
        "daily_limit",
        "insufficient_funds",
    ),
    sample=samples.pay,
)
def pay_payee(
    bank: Bank,
    payee_id: PayeeId,
    from_account_id: AccountId,
    amount: Money,
    reference: Text | None = None,
) -> Receipt:
    """Pay a saved payee at once from a checking account, within its daily limit.

    Args:
        payee_id: Who is paid.
        from_account_id: Your checking account.
        amount: US dollars.
        reference: Text that the payee sees.
    """
    value = positive(amount)
    payee, source = known_payee(bank, payee_id), payable(bank, from_account_id)
    target = payee_account(bank, payee)
    _require_settled_payee(bank, payee, value)
    require_daily_limit(bank, source, value)
    require_funds(bank, source, value)
    posting = move(
        bank,
        source,
        target,
        value,
        (payee.name, bank.cast.user.name),
        kind="payment",
        category="other",
        note=reference or "",
    )
    return receipt(bank, posting)


def _require_settled_payee(bank: Bank, payee: Payee, amount: int) -> None:
    """A payee of less than a day is paid little at once, against fraud."""
    if amount > NEW_PAYEE_CAP and days_between(payee.added_at, bank.today) < 1:
        text = (
            f"{payee.name} was added today; at most {money(NEW_PAYEE_CAP)} at once until tomorrow"
        )
        refuse("new_payee_limit", text, limit=money(NEW_PAYEE_CAP))


# -- loans -------------------------------------------------------------------------------------


@tool(
    "read",
    phrases=(
        "List my[ {status}] loans",
        "Show what I owe on my[ {status}] loans",
        "Give me an overview of my[ {status}] loans",
    ),
    sample=samples.loans,
)
def list_loans(
    bank: Bank,
    status: Literal["open", "repaid"] | None = None,
    limit: Limit = 5,
    cursor: str = "",
) -> LoanPage:
    """List your loans with what is still owed.

    Args:
        status: Only loans in this state.
        limit: Loans per page.
        cursor: next_cursor of the page before.
    """
    items = [loan_item(bank, loan) for loan in bank.loans.where(customer_id=bank.me)]
    found = [i for i in items if status is None or i.status == status]
    return LoanPage(*page(found, limit, cursor))


@tool(
    "write",
    phrases=(
        "Repay {amount} of {loan_id} from {from_account_id}",
        "Put {amount} from {from_account_id} towards {loan_id}",
        "Use {from_account_id} to pay {amount} off {loan_id}",
    ),
    refuses=(
        "not_found",
        "loan_repaid",
        "more_than_owed",
        "account_closed",
        "account_locked",
        "insufficient_funds",
    ),
    sample=samples.repay,
)
def repay_loan(bank: Bank, loan_id: LoanId, from_account_id: AccountId, amount: Money) -> Repayment:
    """Make an extra repayment on a loan; the monthly payment stays as it is.

    Args:
        loan_id: The loan.
        from_account_id: Your account that pays.
        amount: US dollars, at most what is owed.
    """
    value = positive(amount)
    loan = bank.loans.get(loan_id)
    if loan is None or loan.customer_id != bank.me:
        refuse("not_found", f"you have no loan {loan_id[:40]!r}", loan_id=loan_id)
    source, ledger = usable(bank, from_account_id), bank.accounts[loan.account_id]
    owed = -ledger.balance
    if owed == 0:
        refuse("loan_repaid", f"the {loan.name} is repaid; nothing is owed")
    if value > owed:
        refuse("more_than_owed", f"{amount} is more than the {money(owed)} owed", owed=money(owed))
    require_funds(bank, source, value)
    texts = (f"Repayment of {loan.name}", "Repayment")
    posting = move(bank, source, ledger, value, texts, kind="loan", category="other")
    return Repayment(loan_item(bank, loan), transaction_item(posting))
