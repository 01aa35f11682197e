"""The sampling context and the personas."""

from __future__ import annotations

import json
from random import Random

from provegym import servers
from provegym.synth.context import FAR, NEAR, context, entities
from provegym.synth.personas import PERSONAS, some_persona

BANK = servers.load("banking")


def test_discovery_names_accounts_with_what_people_speak_of() -> None:
    accounts = entities(7, ("banking",))["banking.accounts"]
    rows = servers.world(7, ("banking",)).templates["banking.accounts"].rows
    assert len(accounts) >= NEAR
    for entity in accounts:
        assert entity.fields["nickname"] == rows[entity.id].nickname
        assert entity.fields["nickname"] in entity.label
    assert len({entity.label for entity in accounts}) == len(accounts)


def test_a_context_shows_no_id_of_a_row() -> None:
    world = servers.world(7, ("banking", "calendar"))
    shown = json.dumps(context(7, ("banking", "calendar"), [], 0))
    ids = [i for t in world.templates.values() if t.row.label for i in t.ids]
    assert ids
    assert not [i for i in ids if i in shown]


def test_what_the_tools_take_comes_first_and_in_larger_numbers() -> None:
    found = context(7, ("banking",), [BANK.tools["repay_loan"]], 0)
    kinds = list(found)
    assert max(map(kinds.index, ("banking.loans", "banking.accounts"))) < kinds.index(
        "banking.cards"
    )
    assert FAR < len(found["banking.accounts"]) <= NEAR
    assert len(found["banking.cards"]) == FAR


def test_a_sample_is_the_same_again_and_another_number_gives_another() -> None:
    tools = [BANK.tools["pay_payee"]]
    again = [context(7, ("banking",), tools, 3) for _ in range(2)]
    assert again[0] == again[1]
    assert again[0] != context(7, ("banking",), tools, 4)


def test_an_entity_that_is_asked_for_is_there() -> None:
    payees = entities(7, ("banking",))["banking.payees"]
    for payee in payees:
        found = context(7, ("banking",), [], 0, also={payee.id})
        assert payee.label in [row["name"] for row in found["banking.payees"]]


def test_there_are_at_least_two_hundred_different_personas() -> None:
    assert len({str(p) for p in PERSONAS}) == len(PERSONAS) >= 200


def test_a_persona_writes_in_one_of_the_languages() -> None:
    found = {some_persona(("German", "Polish"), Random(i)).language for i in range(40)}
    assert found == {"German", "Polish"}
