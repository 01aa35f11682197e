"""What the disk has of the world's stories, as its tools show it."""

from __future__ import annotations

import pytest

from provegym.world.stories import stories
from tests.servers.disk_calls import disk_of, ok, world

SEEDS = range(6)


@pytest.mark.parametrize("seed", SEEDS)
def test_the_paper_is_among_the_downloads_and_names_its_sender_and_day(seed: int) -> None:
    session = world(seed).open()
    disk = disk_of(session)
    told = stories(disk.cast).paper
    (entry,) = ok(session, "find_files", name=told.filename)["entries"]
    assert entry["path"] == f"{disk.me.home}/downloads/{told.filename}"
    text = ok(session, "read_file", path=entry["path"])["content"]
    assert told.sender.email in text
    assert f"Dated: {told.sent.date()}\n" in text


@pytest.mark.parametrize("seed", SEEDS)
def test_the_paper_is_the_users_own_file_and_was_saved_after_it_was_sent(seed: int) -> None:
    session = world(seed).open()
    told = stories(disk_of(session).cast).paper
    (node,) = disk_of(session).inodes.where(name=told.filename)
    assert node.owner == disk_of(session).me.id
    assert told.sent.isoformat() < node.modified < disk_of(session).stamp
