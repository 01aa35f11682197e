"""Calls that are no use: refused for a reason that the world has, and told by look-ups."""

from __future__ import annotations

import re
from collections import Counter

import pytest

from provegym import servers
from provegym.seeding import rng
from provegym.synth import vain
from provegym.synth.plan import Planner, Refusal
from provegym.world.session import Session

DRAWS = 16


def open_session(server: str, seed: int) -> Session:
    return servers.world(seed, (server,)).open()


def given_up(server: str, tool: str, code: str) -> tuple[Planner, Refusal]:
    """The first wish of some worlds that is refused with the code."""
    for seed in range(DRAWS):
        planner = Planner(open_session(server, seed), rng(seed, tool, code))
        if refusal := planner.give_up(tool, code):
            return planner, refusal
    raise AssertionError(f"{tool} is never refused with {code}")


WISHES = [
    ("banking", "withdraw_cash", "card_frozen"),  # an id that one list shows
    ("shopping", "return_item", "return_window_over"),  # an id behind two look-ups
    ("iot_devices", "set_thermostat", "child_locked"),  # a row beyond the first page
    ("calendar", "cancel_event", "past_event"),  # a row that the list leaves out unasked
    ("maps", "save_route", "no_route"),  # names instead of ids
    ("team_chat", "create_channel", "channel_name_taken"),  # what the tool makes
]


@pytest.mark.parametrize(("server", "tool", "code"), WISHES)
def test_a_wish_is_refused_for_the_reason_asked_for(server: str, tool: str, code: str) -> None:
    planner, refusal = given_up(server, tool, code)
    result = planner.session.call(refusal.tool, refusal.choice.arguments)
    assert result.outcome == "tool_error"
    error = result.builtins()["error"]
    assert (error["code"], error["message"]) == (code, refusal.message)


@pytest.mark.parametrize(("server", "tool", "code"), WISHES)
def test_a_wish_that_is_given_up_comes_after_look_ups_that_show_each_id(
    server: str, tool: str, code: str
) -> None:
    planner, refusal = given_up(server, tool, code)
    looked = planner.steps[refusal.start :]
    assert looked
    assert not any(step.write for step in looked)
    shown = {(h.call, h.path): h.value for h in planner.seen}
    for pointer, ref in refusal.choice.refs.items():
        name = pointer.split("/")[1]
        assert shown[ref.call, ref.path] == refusal.choice.arguments[name]


def test_arguments_that_are_drawn_for_a_reason_are_refused_with_it() -> None:
    server = servers.load("vehicle")
    session = open_session("vehicle", 3)
    found = 0
    for tool in server.tools.values():
        for code in tool.refuses:
            given = vain.refused(session, tool, code, rng(3, tool.name, code))
            if given is not None:
                assert vain.error(session, tool, given)["code"] == code
                found += 1
    assert found > 50
    assert session.digest() == open_session("vehicle", 3).digest()


def test_reasons_that_few_tools_give_come_first_more_often() -> None:
    server = servers.load("banking")
    declared = Counter(code for tool in server.tools.values() for code in tool.refuses)
    first: Counter[str] = Counter()
    for i in range(400):
        order = vain.reasons(server, rng(i))
        assert sorted(order) == sorted(declared.keys() - {"not_found"})
        first[order[0]] += 1
    rare = [code for code, count in declared.items() if count == 1]
    common = [code for code, count in declared.items() if count > 2 and code != "not_found"]
    assert min(first[code] for code in rare) > 0
    means = [sum(first[code] for code in codes) / len(codes) for codes in (rare, common)]
    assert means[0] > 2 * means[1]


def test_what_is_not_allowed_is_another_value_that_the_world_refuses() -> None:
    session = open_session("banking", 2)
    tool = servers.load("banking").tools["withdraw_cash"]
    planner = Planner(session, rng(2, "withdraw"))
    assert planner.extend("withdraw_cash")
    before = open_session("banking", 2)
    right = planner.steps[-1].arguments
    rows = {"card_id": {row.id for row in before.open_table("banking.cards")}}
    attempts = [vain.disallowed(before, tool, right, rows, rng(i, "vain")) for i in range(40)]
    made = [a.arguments for a in attempts if a]
    assert 5 < len(made) < 35
    for given in made:
        assert len([name for name in right if given[name] != right[name]]) == 1
        assert given["pin"] == right["pin"]
        assert vain.error(before, tool, given)["code"] in tool.refuses


def test_ids_behind_two_look_ups_are_found() -> None:
    reached = 0
    for seed in range(8):
        planner = Planner(open_session("video_meeting", seed), rng(seed, "transcript"))
        if planner.extend("read_meeting_transcript"):
            reached += 1
            tools = [step.tool for step in planner.steps]
            assert tools == [
                "list_video_meetings",
                "get_video_meeting",
                "read_meeting_transcript",
            ]
            first, second, third = planner.steps
            assert second.sources == {first.id}
            assert third.sources == {second.id}
    assert reached > 1


@pytest.mark.parametrize(
    ("server", "code"),
    [
        ("shopping", "unknown_coupon"),
        ("filesystem", "unknown_user"),
        ("food_delivery", "unknown_promo"),
    ],
)
def test_a_wish_that_is_refused_names_no_row_by_its_id(server: str, code: str) -> None:
    library = servers.load(server)
    found = 0
    for seed in range(2 * DRAWS):
        session = open_session(server, seed)
        tool = rng(seed, code).choice(vain.tools_that_refuse(library, code))
        refusal = Planner(session, rng(seed, tool.name)).give_up(tool.name, code)
        said = " ".join(refusal.choice.said.values()) if refusal else ""
        found += bool(refusal)
        prefixes = "|".join(t.prefix for t in session.world.templates.values())
        assert not re.search(rf"\b(?:{prefixes})_[0-9a-z]{{6}}\b", said), said
    assert found
