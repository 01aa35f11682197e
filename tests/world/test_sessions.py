"""The registry of sessions says what it knows, and forgets nobody without a reason."""

from __future__ import annotations

from itertools import count

import pytest

from provegym.errors import SessionClosed, SessionError, SessionExpired, SessionUnknown
from provegym.world.session import Session
from provegym.world.sessions import Sessions
from tests.world.conftest import library_world


class Clock:
    """Seconds, moved by hand."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def sessions(clock: Clock) -> Sessions[Session]:
    numbers = count()
    return Sessions(clock, lambda: f"s{next(numbers)}", idle=60.0)


def test_each_id_leads_to_its_own_session(sessions: Sessions[Session]) -> None:
    one, other = (sessions.add(library_world(1).open()) for _ in range(2))
    assert one != other
    assert sessions.get(one) is sessions.get(one)
    assert sessions.get(one) is not sessions.get(other)
    assert len(sessions) == 2


def test_an_unknown_id_makes_no_session(sessions: Sessions[Session]) -> None:
    for use in (sessions.get, sessions.close):
        with pytest.raises(SessionUnknown, match="s9"):
            use("s9")
    assert len(sessions) == 0


def test_a_closed_session_stays_closed(sessions: Sessions[Session]) -> None:
    name = sessions.add(library_world(1).open())
    session = sessions.get(name)
    sessions.close(name)
    assert session.closed
    for use in (sessions.get, sessions.close):
        with pytest.raises(SessionClosed, match=name):
            use(name)


def test_idle_time_starts_anew_with_each_use(sessions: Sessions[Session], clock: Clock) -> None:
    used, left = (sessions.add(library_world(1).open()) for _ in range(2))
    session = sessions.get(left)
    clock.now = 59.0
    sessions.get(used)
    clock.now = 60.0
    with pytest.raises(SessionExpired, match="60 s"):
        sessions.get(left)
    assert session.closed
    sessions.get(used)
    clock.now = 120.0
    assert sessions.expire() == 1
    with pytest.raises(SessionExpired):
        sessions.close(used)


def test_an_id_is_never_given_twice(clock: Clock) -> None:
    sessions: Sessions[Session] = Sessions(clock, lambda: "same")
    sessions.add(library_world(1).open())
    sessions.close("same")
    with pytest.raises(ValueError, match="same"):
        sessions.add(library_world(1).open())
    with pytest.raises(SessionError):
        sessions.get("same")


def test_sessions_are_listed_and_counted(sessions: Sessions[Session], clock: Clock) -> None:
    names = [sessions.add(library_world(1).open()) for _ in range(4)]
    sessions.close(names[0])
    clock.now = 30.0
    sessions.get(names[2])
    assert [name for name, _ in sessions.items()] == [names[1], names[3], names[2]]
    clock.now = 61.0
    assert sessions.items() == [(names[2], sessions.get(names[2]))]
    assert sessions.counts == {"opened": 4, "closed": 1, "expired": 2}
