"""What the team chat has of the world's stories, as its tools show it."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import pytest

from provegym.world.cast import Person
from provegym.world.stories import stories
from tests.servers.chat_desk import Desk, desk

SEEDS = range(6)


def told_by(d: Desk, person: Person, query: str, when: datetime) -> Any:
    """The one message of a person that mentions it, sent on that day."""
    day = when.date().isoformat()
    given = {"query": query, "sender": person.name, "since": day, "until": day}
    (message,) = d.ok("search_channel_messages", **given)["messages"]
    return message


@pytest.mark.parametrize("seed", SEEDS)
def test_the_contact_of_the_deal_is_a_member_and_asks_about_it(seed: int) -> None:
    d = desk(seed)
    told = stories(d.chat.cast).deal
    message = told_by(d, told.contact, told.title, told.written)
    assert told.title in message["text"]
    people = d.ok("search_workspace_members", query=told.contact.email)["members"]
    assert {person["name"] for person in people} == {told.contact.name}


@pytest.mark.parametrize("seed", SEEDS)
def test_the_reporter_of_the_fault_tells_the_others_about_it(seed: int) -> None:
    d = desk(seed)
    told = stories(d.chat.cast).fault
    assert told.title in told_by(d, told.reporter, told.title, told.found)["text"]


@pytest.mark.parametrize("seed", SEEDS)
def test_the_sender_of_the_paper_shares_its_file(seed: int) -> None:
    d = desk(seed)
    told = stories(d.chat.cast).paper
    message = told_by(d, told.sender, told.filename, told.sent)
    shown = d.ok("get_channel_thread", message_id=message["id"])
    assert [file["filename"] for file in shown["files"]] == [told.filename]


@pytest.mark.parametrize("seed", SEEDS)
def test_who_tells_a_story_has_a_working_account_and_is_in_the_channel(seed: int) -> None:
    d = desk(seed)
    told = stories(d.chat.cast)
    for person, query, when in (
        (told.deal.contact, told.deal.title, told.deal.written),
        (told.fault.reporter, told.fault.title, told.fault.found),
        (told.paper.sender, told.paper.filename, told.paper.sent),
    ):
        message = d.chat.messages[told_by(d, person, query, when)["id"]]
        author, channel = d.chat.members[message.author_id], d.chat.channels[message.channel_id]
        assert author.status == "active"
        assert d.chat.membership(channel, author)
        assert d.chat.is_in(channel)
