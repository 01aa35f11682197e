"""A user's words: requests, values, and what is left open."""

from __future__ import annotations

import re
from random import Random

import pytest

from provegym import servers
from provegym.synth import letter, say
from provegym.world.tool import Tool


def tool(server: str, name: str) -> Tool:
    return servers.load(server).tools[name]


def requests(phrases: list[str], style: str, *, again: bool = False) -> set[str]:
    return {say.request(phrases, style, Random(i), again=again) for i in range(40)}


def test_wishes_are_joined_in_order() -> None:
    assert requests(["List my cards"], "brief") == {"List my cards."}
    assert requests(["List A", "Show B"], "brief") == {"List A, then show B."}
    assert requests(["List A", "Show B", "Open C"], "brief") == {
        "List A, then show B, after that open C."
    }


def test_an_opener_suits_what_follows() -> None:
    assert requests(["List A"], "polite") == {"Please list A.", "Could you please list A?"}
    assert requests(["I need you to freeze A"], "polite") == {"I need you to freeze A."}
    assert requests(["Please freeze A"], "polite") == {"Please freeze A."}
    assert requests(["Which A do I have"], "polite") == {"Which A do I have?"}
    assert requests(["Which A do I have"], "chatty") == {
        "Hi! Which A do I have?",
        "Hey, which A do I have?",
        "When you have a moment: Which A do I have?",
    }


def test_no_please_goes_before_what_is_no_order() -> None:
    for text in ("On 2026-02-13 I got $5 from Ada; add it", "I'd pay $5 for A, bid on it"):
        assert requests([text], "polite") == {f"{text}."}
    assert requests(["List A", "On B, give me C"], "polite") == {
        "Please list A, then on B, give me C.",
        "Could you please list A, then on B, give me C?",
    }


def test_a_question_with_an_order_behind_it_ends_as_an_order() -> None:
    assert requests(["Which A are there? List them"], "brief") == {"Which A are there? List them."}
    assert requests(["Open B", "Which A are there? List them"], "brief") == {
        "Open B. And which A are there? List them."
    }


def test_a_question_among_several_wishes_is_a_sentence_of_its_own() -> None:
    assert requests(["List A", "What is on B", "Open C"], "brief") == {
        "List A. And what is on B? Then open C."
    }


def test_an_answer_supplies_the_value_and_may_go_on() -> None:
    assert {say.answer("the red one", Random(i)) for i in range(30)} == {
        "The red one.",
        "I mean the red one.",
        "The red one, please.",
    }
    assert {say.answer("notes/a.txt", Random(i)) for i in range(30)} == {
        "notes/a.txt.",
        "I mean notes/a.txt.",
        "notes/a.txt, please.",
    }
    assert say.also(["Open A", "When is B"]) == " Then open A. And when is B?"


def test_a_value_left_open_is_named_as_the_phrase_names_it() -> None:
    checksum = tool("filesystem", "checksum_file")
    path = next(p for p in checksum.parameters if p.name == "path")
    left_open = say.vague(path, "/home/ada/a.txt")
    assert left_open == say.Vague("a certain file", "file")
    said = {"path": "/home/ada/a.txt"}
    texts = {say.vague_phrase(checksum, said, "path", left_open, Random(i)) for i in range(60)}
    assert texts == {
        (f"{wish} the checksum of {open_} file", "file")
        for wish in ("Compute", "Give me")
        for open_ in ("a certain", "a", "some")
    }
    link = tool("filesystem", "read_link")
    folder = say.vague(path, "/home/ada/latest")
    assert folder == say.Vague("a certain folder", "folder")
    texts = {say.vague_phrase(link, said, "path", folder, Random(i)) for i in range(60)}
    assert texts == {
        told
        for open_ in ("a certain", "a", "some")
        for told in (
            (f"Tell me where {open_} link points", "link"),
            (f"Show the target of {open_} symbolic link", "symbolic link"),
        )
    }


def test_what_is_left_open_replaces_all_that_names_it() -> None:
    label = tool("email", "label_email")
    left_open = say.Vague("one of the labels", "label")
    said = {"email_id": "E", "action": "add", "label": "work"}
    texts = {say.vague_phrase(label, said, "label", left_open, Random(i))[0] for i in range(80)}
    assert texts == {
        f"{wish} {open_}{rest}"
        for open_ in ("one of the labels", "a label", "some label")
        for wish, rest in (
            ("For E, add", ""),
            ("Please add", " on E"),
            ("I want you to add", " on E"),
        )
    }
    cards = tool("payments", "list_customer_cards")
    whose = say.Vague("one of the customers", "customer")
    texts = {say.vague_phrase(cards, {}, "customer_id", whose, Random(i))[0] for i in range(80)}
    for open_ in ("one of the customers", "a customer", "some customer"):
        assert f"Which cards can {open_} be charged on" in texts


def test_what_is_left_open_has_the_article_of_its_noun() -> None:
    accounts = say.Vague("one of the accounts", "account")
    assert accounts.ways == ("one of the accounts", "an account", "some account")
    assert say.Vague("a certain date", "date").ways == ("a certain date", "a date", "some date")
    assert say.Vague("one of the users", "user").ways[1] == "a user"


@pytest.mark.parametrize(
    ("server", "name", "parameter", "value", "words"),
    [
        ("banking", "manage_card", "card_id", "crd_1", "one of the cards"),
        ("banking", "pay_payee", "amount", "12.50", "a certain amount"),
        ("calendar", "list_events", "start_date", "2026-03-04", "a certain date"),
        ("calendar", "reschedule_event", "start", "2026-03-04T10:00:00+00:00", "a certain time"),
        ("calendar", "add_event_reminder", "minutes_before", 15, None),
        ("banking", "manage_card", "action", "freeze", None),
    ],
)
def test_only_values_with_words_that_sound_right_stay_open(
    server: str, name: str, parameter: str, value: object, words: str | None
) -> None:
    field = next(p for p in tool(server, name).parameters if p.name == parameter)
    left_open = say.vague(field, value)
    assert (left_open.words if left_open else None) == words
    assert say.may_stay_open(field) == (words is not None)


def test_values_are_said_as_people_say_them() -> None:
    pay = tool("banking", "pay_payee")
    assert say.value(pay, "amount", "12.50") == "$12.50"
    assert say.value(pay, "reference", "March rent") == '"March rent"'
    find = tool("calendar", "find_free_slots")
    assert say.value(find, "duration_minutes", 45) == "45"
    assert say.value(find, "attendees", ["Ada", "Bo"]) == "Ada and Bo"
    refund = tool("payments", "refund_customer_payment")
    assert say.value(refund, "reason", "requested_by_customer") == "requested by customer"
    assert say.value(pay, "reference", "march_rent") == '"march_rent"'


def test_every_phrase_of_every_tool_can_be_filled_with_its_required_values() -> None:
    for name in servers.SERVERS:
        for known in servers.load(name).tools.values():
            said = dict.fromkeys(known.required, "X")
            for i in range(20):
                text = say.phrase(known, said, Random(i))
                assert not set("{}[]") & set(text), (known.name, text)
                assert text == text.strip()
                assert "  " not in text, (known.name, text)


BROKEN = re.compile(
    r"^[^A-Z]|  | [.,;:?]|[(,:]$|\b(?:the|a|an) (?:the|a|an|my|one of)\b|"
    r"\b(?:the|a|an) (?:for|to|with|from|in|on|at|by|of|and|or)\b|"
    r"\b(?:for|of|with) (?:in|with|from|for|on|by|of)\b|\b(?:the|a|an|and|or|called|named)$"
)
"""What no sentence of ours has, whatever is left out of it."""


def test_every_phrase_is_a_sentence_whichever_of_its_optional_parts_is_there() -> None:
    for name in servers.SERVERS:
        for known in servers.load(name).tools.values():
            optional = {p.name for p in known.parameters} - known.required
            required = dict.fromkeys(known.required, "X")
            for said in (required, *({**required, extra: "X"} for extra in sorted(optional))):
                for text in say.phrases(known, said):
                    assert not BROKEN.search(text), (known.name, text)


def test_no_phrase_begins_with_a_value_for_a_sentence_cannot_do_so_everywhere() -> None:
    for name in servers.SERVERS:
        for known in servers.load(name).tools.values():
            assert not [p for p in known.phrases if p.startswith(("{", "[", "Do "))], known.name


def test_a_letter_numbers_its_wishes_and_shares_no_wording_with_speech() -> None:
    single = {letter.request(["List my cards"], "polite", Random(i), again=False) for i in range(9)}
    assert single == {f"{opening}list my cards." for opening in letter.OPENINGS}
    assert letter.request(["Which A do I have", "Open B"], "brief", Random(0), again=True) in {
        f"{further}(1) which A do I have; (2) open B." for further in letter.FURTHER
    }
    assert {letter.answer("card 7", Random(i)) for i in range(9)} == {
        "What I had in mind is card 7.",
        "The one I refer to: card 7.",
    }
    assert letter.also(["Open A", "Show B"]) == " In addition: (1) open A; (2) show B."
    assert letter.also([]) == ""
    spoken = {o for style in say.OPENERS.values() for o in style} | {*say.AGAIN, *say.ANSWERS}
    assert not spoken & {*letter.OPENINGS, *letter.FURTHER, *letter.ANSWERS}


def test_a_letter_asks_for_a_tool_by_its_fullest_phrase() -> None:
    payees = tool("banking", "list_payees")
    assert letter.fullest(payees).phrases == (
        "Check whom I have saved as a payee[ under the name {query}]",
    )
