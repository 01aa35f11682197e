"""What user turns must not give away or be: each check on turns that pass and that fail."""

from __future__ import annotations

import json
import re
from pathlib import Path

import msgspec
import pytest

from provegym import cli, records, servers
from provegym.dataset.languages import known_languages, named
from provegym.dataset.leaks import GRANTED, LONGEST, Leak, Rules, leaks
from provegym.errors import UnknownName
from provegym.types import Function, GroundCall, Task, Tool, Turn

RULES = Rules(("acc", "line", "usr"), ("en",))
PAY, SHOW = Tool(Function("pay_payee")), Tool(Function("show"))


def task(*turns: str | Turn, tools: tuple[Tool, ...] = (PAY, SHOW)) -> Task:
    said = tuple(Turn(turn) if isinstance(turn, str) else turn for turn in turns)
    return Task("t", "workflow", said, tools=tools)


def found(*turns: str | Turn, rules: Rules = RULES) -> list[tuple[str, int, str]]:
    return [(leak.check, leak.turn, leak.seen) for leak in leaks(task(*turns), rules)]


@pytest.mark.parametrize(
    "text",
    [
        "Pay $12.50 out of the Everyday account.",
        "Throw /tmp/acc_y12026 away, and /home/kim/acc_y12026.txt too.",
        "What does @usr_kim123 say, and acc_y12026@bank.example?",
        "Keep the line_number column.",  # the shape of an id, but a plain word
        "Show the tool_acc_y12026_more entry and acc_y120264 and acc_y12.",
    ],
)
def test_names_paths_handles_and_plain_words_are_no_row_ids(text: str) -> None:
    assert found(text) == []


def test_an_id_of_the_shape_that_worlds_mint_is_one() -> None:
    assert found("Good morning.", "Pay out of acc_y12026, please.") == [("row_id", 1, "acc_y12026")]
    assert found("Give it to usr_bc9165.") == [("row_id", 0, "usr_bc9165")]


def test_an_id_without_digits_is_one_where_the_task_has_it() -> None:
    look = GroundCall("g0", "show", {}, result={"accounts": [{"id": "acc_qqtemp"}]})
    assert found("Pay out of acc_qqtemp now.") == []
    assert found(Turn("Pay out of acc_qqtemp now.", (look,))) == [("row_id", 0, "acc_qqtemp")]


def test_every_table_of_every_server_mints_ids_that_are_found() -> None:
    world = servers.world(3, ("banking", "calendar"))
    rules = Rules(servers.prefixes())
    tables = [t for t in world.templates.values() if t.row.label]
    assert len(tables) > 5
    for table in tables:
        for name in (table.ids[0], table.fresh_id(0)):
            asked = f"Please show me {name} again and all of its details."
            shown = GroundCall("g0", "show", {}, result=[name])
            seen = leaks(task(Turn(asked, (shown,))), rules)
            assert seen == (Leak("row_id", 0, name),)


def test_a_tool_is_named_only_in_the_turn_that_grants_it() -> None:
    late = Tool(Function("open_account"))
    granted = Turn("You now have the tool open_account. Please go ahead.", tools=(late,))
    assert found("Open an account for me.", granted) == []
    assert found("Call open_account for me.", granted) == [("tool_name", 0, "open_account")]
    again = "Use open_account again."
    assert found("Open an account.", granted, again) == [("tool_name", 2, "open_account")]


def test_a_tool_with_a_plain_name_is_named_only_as_code() -> None:
    assert found("Show what there is.", "Now show the file show.txt, please.") == []
    assert found("Run `show` for me.") == [("tool_name", 0, "show")]
    assert found("Run show(account) for me.") == [("tool_name", 0, "show")]
    assert found("Pack it as /tmp/pay_payee and pay_payee.tar.") == []


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("Überweise bitte hundert Euro vom Girokonto auf das Sparkonto meiner Schwester.", "de"),
        ("Montre-moi les dernières factures et paie celle de l'électricité.", "fr"),
        ("Покажи мне последние счета и оплати счёт за электричество.", "ru"),
        ("最新の請求書を見せて、電気代を払ってください。", "ja"),
    ],
)
def test_a_turn_in_a_language_that_was_not_asked_for_is_found(text: str, language: str) -> None:
    assert found(text) == [("language", 0, language)]
    assert found(text, rules=Rules(languages=("en", language))) == []


@pytest.mark.parametrize(
    "text",
    [
        "The Momentum portfolio, please.",
        "I mean Magnolia Museum.",
        "2026-08-19.",
        'Post "Das Wetter ist heute sehr schön, wir gehen alle an den See" to my feed.',
        "Invite Łukasz Żółć and 李伟 to the Café Médicis meeting on Friday.",
    ],
)
def test_names_dates_and_quotations_are_not_taken_for_another_language(text: str) -> None:
    assert found(text) == []


def test_languages_are_codes_that_can_be_found() -> None:
    assert known_languages("en, de") == ("en", "de")
    with pytest.raises(UnknownName, match="unknown language 'english'; known: "):
        known_languages("en,english")


def test_languages_are_found_by_their_english_names() -> None:
    assert named("German") == ("de", "lb")
    assert named("brazilian portuguese") == ("pt", "gl")
    assert named("English or French") == ("en", "fr")
    with pytest.raises(UnknownName, match="unknown language 'Germann'; known: German, "):
        named("Germann")


def test_the_words_that_grant_a_tool_are_in_any_language() -> None:
    late = Tool(Function("open_account"))
    granted = GRANTED.format(tool="open_account")
    german = " Eröffne dann bitte gleich ein neues Sparkonto für meine Schwester."
    rules = Rules(languages=("de",))
    assert found(Turn(granted + german, tools=(late,)), rules=rules) == []
    assert found(Turn(granted, tools=(late,)), rules=rules) == []
    assert found(Turn(german + granted * 2, tools=(late,))) == [] == found(granted)
    assert found(Turn(granted + german, tools=(late,))) == [("language", 0, "de")]


def test_empty_endless_and_repeated_turns_are_found() -> None:
    assert found(" ... ") == [("empty", 0, " ... ")]
    assert found("And so on. " * (LONGEST // 11)) == []
    long = "And so on. " * (LONGEST // 11 + 1)
    assert found(long) == [("too_long", 0, f"{len(long)} characters")]
    assert found("Show my bills.", "Pay them.", "show  my bills.") == [
        ("repeated", 2, "show  my bills.")
    ]


def test_the_command_tells_what_fails_and_exits_with_1(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    good = msgspec.structs.replace(task("Show my bills."), id="good")
    bad = msgspec.structs.replace(task("Show acc_y12026.", "Show acc_y12026."), id="bad")
    path = tmp_path / "tasks.jsonl"
    records.write_atomic(path, map(records.encode, [good, bad]))
    assert cli.call(["dataset", "check", str(path)]) == 1
    told = capsys.readouterr().out
    assert re.search(r"^row_id +2$", told, re.MULTILINE)
    assert re.search(r"^bad +1  repeated +Show acc_y12026\.$", told, re.MULTILINE)
    assert told.endswith("1 of 2 tasks pass\n")
    assert cli.call(["dataset", "check", str(path), "--json"]) == 1
    shown = json.loads(capsys.readouterr().out)
    assert shown["tasks"] == 2
    assert {name: n for name, n in shown["turns"].items() if n} == {"row_id": 2, "repeated": 1}
    assert list(shown["failed"]) == ["bad"]
    records.write_atomic(path, [records.encode(good)])
    assert cli.call(["dataset", "check", str(path)]) == 0
    assert capsys.readouterr().out.endswith("1 of 1 tasks pass\n")
    assert cli.call(["dataset", "check", str(path), "--languages", "xx"]) == 2
