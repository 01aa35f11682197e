"""Which calls of a conversation are ground truth, and what they refer to."""

from __future__ import annotations

from typing import Any

import pytest

from provegym import servers
from provegym.synth.effective import truth
from provegym.synth.machine import Intent, Made, Spoken
from provegym.synth.offline import Rejected
from provegym.synth.replay import start_of
from provegym.types import GroundCall, Ref

WORLD = servers.world(7, ("banking",))
ACCOUNTS = WORLD.open().call("list_accounts", {}).builtins()["accounts"]
PAY = "transfer_between_accounts"


class Talk:
    """Plays turns by hand on a live session."""

    def __init__(self) -> None:
        self.session = WORLD.open()
        self.turns: list[Spoken] = []

    def user(self, words: str) -> None:
        self.turns.append(Spoken(words, (), []))

    def call(self, name: str, **arguments: Any) -> Any:
        result = self.session.call(name, arguments)
        made = self.turns[-1].made
        intent = Intent(f"call_{len(made)}", name, arguments)
        made.append(Made(intent, result.outcome, result.builtins(), len(made)))
        return result.builtins()

    def truth(self, *goals: set[str]) -> list[tuple[GroundCall, ...]]:
        return truth(start_of(WORLD), self.turns, goals, self.session.changes())


def transfer(amount: str, source: int = 0, target: int = 1) -> dict[str, Any]:
    ends = {"from_account_id": ACCOUNTS[source]["id"], "to_account_id": ACCOUNTS[target]["id"]}
    return {**ends, "amount": amount}


def test_failed_repeated_and_unused_calls_are_dropped() -> None:
    talk = Talk()
    talk.user("Move 5.00 from my first account to my second")
    talk.call("list_loans")  # nothing uses it
    talk.call("list_accounts")
    talk.call("list_accounts")  # told nothing new
    talk.call(PAY, **transfer("5000000.00"))  # refused
    talk.call(PAY, **transfer("5.00"))
    ((look_up, paid),) = talk.truth({PAY})
    assert (look_up.name, paid.name) == ("list_accounts", PAY)
    assert paid.refs == {
        "/from_account_id": Ref("g0", "/accounts/0/id"),
        "/to_account_id": Ref("g0", "/accounts/1/id"),
    }
    assert (look_up.after, paid.after) == ((), ("g0",))
    assert paid.arguments["amount"] == "5.00"


def test_a_repeated_write_that_changes_something_again_stays() -> None:
    talk = Talk()
    talk.user("Move 5.00 twice")
    talk.call("list_accounts")
    talk.call(PAY, **transfer("5.00"))
    talk.call(PAY, **transfer("5.00"))
    assert [c.name for c in talk.truth({PAY})[0]] == ["list_accounts", PAY, PAY]


def test_a_look_up_that_is_wanted_for_its_own_sake_stays() -> None:
    talk = Talk()
    talk.user("Which loans do I have?")
    talk.call("list_accounts")
    talk.call("list_loans")
    assert [c.name for c in talk.truth({"list_loans"})[0]] == ["list_loans"]


def test_an_answer_by_another_tool_than_foreseen_keeps_the_last_look_up() -> None:
    talk = Talk()
    talk.user("Which loans do I have?")
    talk.call("list_cards")
    talk.call("list_loans")
    assert [c.name for c in talk.truth({"get_loan"})[0]] == ["list_loans"]


def test_a_turn_that_wants_nothing_keeps_no_idle_look_up() -> None:
    talk = Talk()
    talk.user("Repaint my kitchen")
    talk.call("list_loans")
    assert talk.truth(set()) == [()]


def test_a_turn_that_was_given_up_keeps_the_look_ups_that_show_why() -> None:
    talk = Talk()
    talk.user("Move 5000000.00 from the first to the second")
    talk.call("list_accounts")
    talk.call(PAY, **transfer("5000000.00"))
    assert [c.name for c in talk.truth({PAY})[0]] == ["list_accounts"]


def test_a_turn_that_was_given_up_without_a_look_up_is_no_task() -> None:
    talk = Talk()
    talk.user("Move 5000000.00")
    talk.call(PAY, **transfer("5000000.00"))
    with pytest.raises(Rejected, match="gave_up_without_look_ups"):
        talk.truth({PAY})


def test_the_latest_result_that_shows_a_value_is_its_source() -> None:
    talk = Talk()
    talk.user("Move 5.00 from my first account to my second")
    talk.call("list_accounts")
    talk.call("list_accounts", limit=4)
    talk.call(PAY, **transfer("5.00"))
    ((look_up, paid),) = talk.truth({PAY})
    assert look_up.arguments == {"limit": 4}
    assert {ref.call for ref in paid.refs.values()} == {look_up.id}


def test_what_the_user_said_needs_no_source() -> None:
    talk = Talk()
    talk.user(f"Move 5.00 from {ACCOUNTS[0]['id']} to {ACCOUNTS[1]['id']}")
    talk.call("list_accounts")
    talk.call(PAY, **transfer("5.00"))
    ((paid,),) = talk.truth({PAY})
    assert (paid.name, paid.refs) == (PAY, {})


@pytest.mark.parametrize("extra", [{"amount": "6.00"}, {"note": "for the boat"}])
def test_an_amount_or_a_text_out_of_nowhere_is_no_task(extra: dict[str, str]) -> None:
    talk = Talk()
    talk.user("Move 5.00 from my first account to my second")
    talk.call("list_accounts")
    talk.call(PAY, **(transfer("5.00") | extra))
    with pytest.raises(Rejected, match="argument_out_of_nowhere"):
        talk.truth({PAY})


def test_calls_that_lead_to_another_state_are_no_task() -> None:
    talk = Talk()
    talk.user("Move 5.00 from my first account to my second")
    talk.call("list_accounts")
    talk.call(PAY, **transfer("5.00"))
    with pytest.raises(Rejected, match="effective:other_state"):
        truth(start_of(WORLD), talk.turns, [{PAY}], {})
