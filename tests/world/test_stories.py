"""Stories: what several servers of one world know, each from the cast alone."""

from __future__ import annotations

import pytest

from provegym import servers
from provegym.world.cast import cast
from provegym.world.facts import facts, known
from provegym.world.stories import stories

EVERY = tuple(servers.SERVERS)


@pytest.mark.parametrize("seed", [0, 7, 4711])
def test_every_fact_is_held_at_every_place_it_names(seed: int) -> None:
    held = {fact.name: fact for fact in known(servers.world(seed, EVERY))}
    for fact in facts(stories(cast(seed))):
        assert held[fact.name].places == fact.places


@pytest.mark.parametrize("seed", range(10, 22))
def test_a_world_of_all_servers_has_at_least_fifteen_facts(seed: int) -> None:
    found = known(servers.world(seed, EVERY))
    assert len(found) >= 15
    assert all(len(fact.servers) >= 2 for fact in found)


def test_servers_apart_share_no_fact() -> None:
    assert known(servers.world(3, ("iot_devices", "payments"))) == []


def test_two_worlds_tell_different_stories() -> None:
    assert len({stories(cast(seed)).trip for seed in range(20)}) == 20
    assert len({stories(cast(seed)).deposit for seed in range(20)}) == 20


def test_no_two_stories_are_about_one_person() -> None:
    for seed in range(20):
        told = stories(cast(seed))
        people = [b.payer for b in told.bills] + [g for m in told.meetings for g in m.guests]
        people += [told.deal.contact, told.fault.reporter, told.sale.seller, told.paper.sender]
        assert len({p.key for p in people}) == len(people)
