"""What several files of server tests start from."""

from __future__ import annotations

import pytest

from provegym.world.session import Session
from tests.servers.disk_calls import ok, roomy_seed, world


@pytest.fixture
def lab() -> Session:
    """A session at ~/lab, which holds a.txt, b.txt, sub/inner.txt and the directory empty."""
    session = world(roomy_seed()).open()
    ok(session, "make_directory", path="~/lab/sub", parents="create")
    ok(session, "change_directory", path="~/lab")
    ok(session, "create_file", path="a.txt", content="10 pears\n9 apples\n9 apples")
    ok(session, "create_file", path="b.txt", content="10 pears\n8 plums")
    ok(session, "create_file", path="sub/inner.txt", content="inside")
    ok(session, "make_directory", path="empty")
    return session
