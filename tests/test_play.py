"""The prompt over a live session."""

from __future__ import annotations

import io
import json
import re
import shlex
from time import process_time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from provegym import cli, play, servers
from provegym.errors import InputError
from provegym.play import Prompt, arguments

WORLD = servers.world(7, ("banking",))


def played(*lines: str) -> str:
    """What the prompt answers to these lines."""
    out = io.StringIO()
    Prompt(WORLD, io.StringIO("\n".join(lines)), out).cmdloop()
    return out.getvalue()


def card() -> str:
    found = WORLD.open().call("list_cards", {"status": "active"}).builtins()["cards"]
    return str(found[0]["id"])


def test_a_call_answers_with_its_outcome_and_result() -> None:
    told = played("list_accounts kind=savings limit=1")
    assert re.search(r'^banking> ok \{\n  "accounts": \[', told, re.MULTILINE)
    assert told.count('"id"') == 1


def test_pairs_and_json_are_the_same_call() -> None:
    assert played(f"manage_card card_id={card()} action=freeze") == played(
        f'manage_card {{"card_id": "{card()}", "action": "freeze"}}'
    )


def test_a_refusal_is_shown_and_nothing_is_there_to_undo() -> None:
    told = played("manage_card card_id=crd_000000 action=freeze", "undo")
    assert "tool_error" in told
    assert '"code": "not_found"' in told
    assert "there is nothing to undo" in told


def test_changes_are_shown_and_undone() -> None:
    freeze = f"manage_card card_id={card()} action=freeze"
    told = played(freeze, "changes", "undo", "changes")
    changed, undone = told.split("undone; 0 calls are left")
    assert '"status": "frozen"' in changed.split("banking> ")[2]
    assert "banking> {}" in undone


def test_a_fork_leaves_the_session_as_it_was() -> None:
    freeze = f"manage_card card_id={card()} action=freeze"
    told = played("fork", freeze, "changes", "back", "changes", "back")
    assert "banking fork 1> " in told
    assert "banking> {}" in told.split(card())[-1]
    assert "this is the first session" in told


def test_what_is_wrong_with_a_line_is_said_and_the_prompt_goes_on() -> None:
    told = played('list_accounts query="x', "list_accounts savings", "", "show nothing", "now")
    assert "error: ' query=\"x'" not in told
    assert "cannot be split into words" in told
    assert "'savings' is no argument" in told
    assert "there is no tool 'nothing'" in told
    assert WORLD.open().now.isoformat() in told


def test_tools_are_listed_and_shown() -> None:
    told = played("tools", "show manage_card", "quit", "now")
    assert "manage_card(card_id, action)" in told
    assert "list_accounts([query], [kind], [limit], [cursor])" in told
    assert '"enum": [\n        "freeze"' in told
    assert WORLD.open().now.isoformat() not in told


def test_texts_stay_texts_and_numbers_become_numbers() -> None:
    assert arguments('amount=12.50 limit=3 note="two words"', {"amount", "note"}) == {
        "amount": "12.50",
        "limit": 3,
        "note": "two words",
    }
    assert arguments("tags='[1]' on=2026-03-02") == {"tags": [1], "on": "2026-03-02"}
    assert arguments(' {"a": ', ()) == ' {"a": '
    with pytest.raises(InputError, match="'=3' is no argument"):
        arguments("=3")


@given(st.text("""ab= '"\\\n\té""", max_size=12))
def test_words_are_those_of_a_posix_shell(text: str) -> None:
    try:
        expected = shlex.split(text)
    except ValueError:
        with pytest.raises(InputError, match="cannot be split into words"):
            play._words(text)
    else:
        assert play._words(text) == expected


def test_a_line_of_a_megabyte_is_split_at_once() -> None:
    begun = process_time()
    for text in ("x" * 10**6, f"'{'x' * 10**6}'", '"' + r"\x" * 10**6 + '"', "x " * 10**6):
        assert len("".join(play._words(text))) >= 10**6
    assert process_time() - begun < 10  # by the square of its length, minutes


def test_the_command_plays_over_standard_input(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO('list_cards {"limit": 1}\n'))
    assert cli.call(["servers", "play", "banking", "calendar", "--seed", "7"]) == 0
    told = capsys.readouterr().out
    assert "banking+calendar> ok {" in told
    assert json.dumps("last4") in told
    assert cli.call(["servers", "play", "bank"]) == 2
