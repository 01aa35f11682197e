"""One tool shown: what it says is true of the live world, and its edges are those of the graph."""

from __future__ import annotations

import json

import pytest

from provegym import cli, servers, tables
from provegym.errors import UnknownName
from provegym.graph.edges import explicit_edges
from provegym.showing import Shown, shown
from provegym.world.schema import lint
from provegym.world.server import Server

BANK = servers.load("banking")


@pytest.fixture(scope="module")
def payment() -> Shown:
    return shown(BANK, "pay_payee")


def played(found: Shown, *calls: object) -> list[object]:
    """Results of the arguments on a fresh session of the world of seed 0."""
    session = servers.world(0, (found.server,)).open()
    return [session.call(found.name, call).builtins() for call in calls if isinstance(call, dict)]


def test_the_accepted_call_and_the_refused_one_give_the_same_again(payment: Shown) -> None:
    accepted, refused = payment.accepted, payment.refused
    assert accepted is not None
    assert refused is not None
    assert (accepted.outcome, accepted.code) == ("ok", "")
    assert played(payment, accepted.arguments) == [accepted.result]
    assert not refused.again
    assert refused.code in BANK.tools["pay_payee"].refuses
    assert played(payment, refused.arguments) == [refused.result]
    assert refused.result["error"]["code"] == refused.code


def test_what_only_a_second_call_meets_is_refused_after_the_first() -> None:
    found = shown(BANK, "manage_card")
    assert found.accepted is not None
    assert found.refused is not None
    assert (found.refused.code, found.refused.again) == ("already_frozen", True)
    calls = found.accepted.arguments, found.refused.arguments
    assert played(found, *calls) == [found.accepted.result, found.refused.result]


def test_phrases_are_filled_with_names_and_amounts_as_people_say_them(payment: Shown) -> None:
    assert payment.accepted is not None
    given = payment.accepted.arguments
    session = servers.world(0, ("banking",)).open()
    payee = session.open_table("banking.payees")[given["payee_id"]]
    assert len(payment.phrases) == len(BANK.tools["pay_payee"].phrases) >= 2
    for phrase in payment.phrases:
        assert payee.name in phrase
        assert f"${given['amount']}" in phrase
        assert not any(mark in phrase for mark in ("{", "[", given["payee_id"]))


def test_edges_lead_to_and_from_the_tool_and_implicit_ones_hold_when_run(payment: Shown) -> None:
    explicit = [e for e in explicit_edges(BANK) if "pay_payee" in (e.source, e.target)]
    known = [e for e in (*payment.before, *payment.after) if e.kind == "explicit"]
    assert sorted(known, key=str) == sorted(explicit, key=str)
    assert {e.target for e in payment.before} == {e.source for e in payment.after} == {"pay_payee"}
    proved = [e.evidence for e in payment.before if e.kind == "implicit"]
    assert proved
    for found in proved:
        session = servers.world(found["seed"], ("banking",)).open()
        first, then = (found[step].values() for step in ("first", "then"))
        before = session.fork().call(*then)
        assert before.value["error"]["code"] == found["refused_before"]
        assert session.call(*first).outcome == session.call(*then).outcome == "ok"


def test_an_unknown_tool_lists_the_servers_tools(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(UnknownName) as caught:
        shown(BANK, "pay")
    assert caught.value.known == list(BANK.tools)
    assert cli.call(["servers", "show", "banking", "pay"]) == 2
    told = capsys.readouterr()
    assert told.out == ""
    assert told.err.startswith("error: unknown tool 'pay'; known: list_accounts, ")


def test_the_command_shows_all_of_it_and_the_same_as_json(
    payment: Shown, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.call(["servers", "show", "banking", "pay_payee"]) == 0
    told = capsys.readouterr().out
    assert cli.call(["servers", "show", "banking", "pay_payee", "--json"]) == 0
    as_json = json.loads(capsys.readouterr().out)
    assert payment.refused is not None
    assert f"refused with {payment.refused.code}: pay_payee(" in told
    assert all(f"  {phrase}\n" in told for phrase in payment.phrases)
    assert "implicit  proved by running: pay_payee is insufficient_funds before it" in told
    assert "payee_id takes an id of banking.payees from /payees/*/id" in told
    assert as_json["schema"]["function"]["name"] == "pay_payee"
    assert lint(as_json["schema"]["function"]["parameters"]) == []
    assert as_json["phrases"] == list(payment.phrases)
    assert len(as_json["before"]) == len(payment.before)


def test_long_results_are_cut_with_a_mark() -> None:
    assert tables.cut("x" * 600) == "x" * 600
    assert tables.cut("x" * 1700) == "x" * 600 + " [... 1,100 more]"


@pytest.mark.parametrize("name", ["video_meeting", "team_chat"])
def test_every_tool_of_a_server_can_be_shown(
    name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("provegym.showing.PROOFS", (1, 1))
    server: Server = servers.load(name)
    for tool in server.tools:
        found = shown(server, tool)
        assert found.accepted is not None
        assert not any("{" in phrase for phrase in found.phrases)
        tables.show_tool(found)
        assert capsys.readouterr().out.startswith(f"{tool} (")


def test_estimated_tokens_are_a_quarter_of_the_schemas_characters(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert cli.call(["servers", "show", "team_chat", "--json"]) == 0
    schemas = capsys.readouterr().out.strip()
    assert cli.call(["servers", "list", "--json"]) == 0
    rows = {row["server"]: row for row in json.loads(capsys.readouterr().out)}
    assert rows["team_chat"]["estimated_tokens"] == round(len(schemas) / 4)
    assert rows["team_chat"]["entities"] == len(servers.load("team_chat").state.tables())
    assert all(row["estimated_tokens"] < 4500 for row in rows.values())
