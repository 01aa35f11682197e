"""The video meetings at the start of an episode: a month of them, some going on right now."""

from __future__ import annotations

from datetime import timedelta
from random import Random
from typing import Any

from msgspec.structs import replace

from provegym.servers.video_meeting.desk import talk
from provegym.servers.video_meeting.state import (
    Line,
    Meeting,
    Participant,
    Poll,
    Presence,
    Recording,
    Room,
    Vote,
)
from provegym.servers.video_meeting.words import FORMS, POLLS, ROOMS, SUBJECTS
from provegym.world.cast import Cast, Person
from provegym.world.server import Seeds
from provegym.world.stories import stories

LETTERS = "0123456789abcdefghjkmnpqrstvwxyz"
_SHIFTS = range(0, 30, 5)
PAST, COMING = 26, 14
COLLEAGUES = 24


class Office:
    """Collects rows while the world is made. Times are minutes from the start."""

    def __init__(self, cast: Cast, rnd: Random) -> None:
        self.cast, self.rnd, self.start = cast, rnd, cast.start
        self._used: set[str] = set()
        self.staff = rnd.sample(cast.others, COLLEAGUES)
        pairs = [f"{subject} {form}" for subject in SUBJECTS for form in FORMS]
        self.topics = rnd.sample(pairs, len(pairs))
        self._keep_topics()
        self.rooms = [Room(self.id("vroom"), *room) for room in ROOMS]
        self.free_rooms = rnd.sample(self.rooms, len(self.rooms))
        self.taken: dict[str, list[tuple[int, int]]] = {r.id: [] for r in self.rooms}
        self.meetings: list[Meeting] = []
        self.people: dict[str, list[Participant]] = {}
        self.recordings: list[Recording] = []
        self.lines: list[Line] = []
        self.polls: list[Poll] = []
        self.votes: list[Vote] = []

    def id(self, prefix: str) -> str:
        """A fresh id."""
        while True:
            n = self.rnd.getrandbits(30)
            new = f"{prefix}_{''.join([LETTERS[n >> shift & 31] for shift in _SHIFTS])}"
            if new not in self._used:
                self._used.add(new)
                return new

    def _keep_topics(self) -> None:
        """Move the stories' topics to where `pop` never comes, so that each names one meeting."""
        for i, meeting in enumerate(stories(self.cast).meetings):
            if meeting.topic in self.topics:
                place = self.topics.index(meeting.topic)
                self.topics[i], self.topics[place] = self.topics[place], self.topics[i]

    def at(self, minutes: int) -> str:
        """The time that many minutes after the start."""
        return (self.start + timedelta(minutes=minutes)).isoformat()

    def room(self, first: int, last: int, people: int) -> Room:
        """A room that holds the people and is free then."""
        fit = [
            r
            for r in self.rooms
            if r.capacity >= people
            and all(last <= a or b <= first for a, b in self.taken[r.id])
        ]  # fmt: skip
        return self.rnd.choice(fit)

    def meeting(
        self,
        host: Person,
        guests: list[Person],
        span: tuple[int, int],
        room: Room | None = None,
        **fields: Any,
    ) -> Meeting:
        """A meeting in a free room, with everyone invited."""
        first, last = span
        room = room or self.room(first, last, len(guests) + 1)
        self.taken[room.id].append(span)
        row = Meeting(
            id=self.id("vmt"),
            room_id=room.id,
            topic=self.topics.pop(),
            host=host.email,
            starts_at=self.at(first),
            ends_at=self.at(last),
        )
        row = replace(row, **fields)
        self.meetings.append(row)
        self.people[row.id] = [
            Participant(self.id("par"), row.id, p.name, p.email) for p in (host, *guests)
        ]
        return row

    def enter(self, meeting: Meeting, presences: dict[str, Presence]) -> None:
        """Set how each person, by e-mail, stands to the meeting; a few who are in are muted."""
        self.people[meeting.id] = [
            replace(
                p,
                presence=presences.get(p.email, p.presence),
                muted=presences.get(p.email) == "joined" and self.rnd.random() < 0.35,
            )
            for p in self.people[meeting.id]
        ]

    def poll(self, meeting: Meeting, *, open_now: bool, by_me: bool) -> None:
        """A poll in which most of those present have voted."""
        question, options = self.rnd.choice(POLLS)
        poll = Poll(self.id("poll"), meeting.id, question, options, open_now)
        self.polls.append(poll)
        for p in self.people[meeting.id]:
            me = p.email == self.cast.user.email
            if p.presence in ("joined", "left") and (by_me if me else self.rnd.random() < 0.7):
                option = self.rnd.choice(options)
                self.votes.append(Vote(self.id("vote"), poll.id, p.email, option))

    def record(self, meeting: Meeting, since: int, minutes: int) -> None:
        """A recording with its transcript."""
        ready = self.at(since + minutes + 10)
        row = Recording(self.id("rec"), meeting.id, self.at(since), minutes, ready)
        self.recordings.append(row)
        speakers = [p.name for p in self.people[meeting.id] if p.presence in ("joined", "left")]
        for second, speaker, text in talk(meeting.topic, speakers, self.cast.seed):
            self.lines.append(Line(self.id("line"), row.id, second, speaker, text))


def seed(cast: Cast, rnd: Random) -> Seeds:
    """Rows of every table for one world."""
    office = Office(cast, rnd)
    _live_of_mine(office)
    _live_of_others(office)
    for _ in range(PAST):
        _past(office)
    for i in range(COMING):
        _coming(office, i)
    _told(office)
    return {
        "rooms": office.rooms,
        "meetings": office.meetings,
        "participants": [p for people in office.people.values() for p in people],
        "recordings": office.recordings,
        "transcripts": office.lines,
        "polls": office.polls,
        "votes": office.votes,
    }


def _everyone(people: list[Person], presence: Presence) -> dict[str, Presence]:
    return {p.email: presence for p in people}


def _running(office: Office, host: Person, guests: list[Person], room: Room) -> Meeting:
    """A meeting that has begun and will end within the next hours."""
    begun = -office.rnd.randrange(2, 10) * 5
    ends = office.rnd.randrange(5, 12) * 10
    span = (begun, ends)
    return office.meeting(host, guests, span, room, status="live", started_at=office.at(begun))


def _live_room(office: Office, most: int, *, records: bool | None = None) -> Room:
    """A room in which nothing is planned yet."""
    for room in office.free_rooms:
        fits = room.capacity <= most and records in (None, room.records)
        if fits and not office.taken[room.id]:
            return room
    raise LookupError("the seed plans more live meetings than there are rooms")


def _live_of_others(office: Office) -> None:
    """One that is full, two that the user is in, one to join, one that put the user out."""
    rnd, me = office.rnd, office.cast.user
    plan: tuple[tuple[Presence, bool, bool], ...] = (
        ("invited", False, False),
        ("joined", False, True),
        ("joined", rnd.random() < 0.5, True),
        ("invited", False, rnd.random() < 0.5),
        ("removed", False, False),
    )
    for i, (mine, voted, asked) in enumerate(plan):
        room = _live_room(office, 12 if i else 6)
        others = rnd.sample(office.staff, min(3, room.capacity - 1) if i else room.capacity)
        meeting = _running(office, others[0], [*others[1:], me], room)
        office.enter(meeting, {**_everyone(others, "joined"), me.email: mine})
        if asked:
            office.poll(meeting, open_now=True, by_me=voted)


def _live_of_mine(office: Office) -> None:
    """The user hosts three: people wait at one, one is full, one cannot be recorded."""
    rnd, me = office.rnd, office.cast.user
    for i in range(3):
        room = _live_room(office, 6 if i == 1 else 12, records=i < 2)
        others = rnd.sample(office.staff, room.capacity if i == 1 else min(5, room.capacity))
        meeting = _running(office, me, others, room)
        waiting = others[-2:] if i != 1 else others[-1:]
        inside = [p for p in others if p not in waiting]
        office.enter(
            meeting, {**_everyone([me, *inside], "joined"), **_everyone(waiting, "waiting")}
        )
        if i == 1 or (i == 0 and rnd.random() < 0.3):
            office.poll(meeting, open_now=True, by_me=rnd.random() < 0.5)
        if i == 1 or (i == 0 and rnd.random() < 0.4):
            _now_recording(office, meeting)


def _now_recording(office: Office, meeting: Meeting) -> None:
    place = office.meetings.index(meeting)
    since = office.at(-office.rnd.randrange(1, 9))
    office.meetings[place] = replace(meeting, recorded=True, recording_since=since)


def _guests(office: Office, number: int) -> tuple[Person, list[Person]]:
    """A host and guests, the user among them."""
    others, me = office.rnd.sample(office.staff, number), office.cast.user
    if office.rnd.random() < 0.45:
        return me, others
    return others[0], [*others[1:], me]


def _past(office: Office) -> None:
    """A meeting that was held, or cancelled, in the last weeks."""
    rnd = office.rnd
    day = -rnd.randrange(1, 29)
    first = day * 1440 + rnd.randrange(0, 32) * 15
    last = first + rnd.choice((30, 45, 60))
    host, guests = _guests(office, rnd.randrange(2, 6))
    if rnd.random() < 0.12:
        office.meeting(host, guests, (first, last), status="cancelled")
        return
    room = office.room(first, last, len(guests) + 1)
    recorded = room.records and rnd.random() < 0.8
    begun, ended = first + rnd.randrange(3), last + rnd.randrange(-4, 5)
    meeting = office.meeting(
        host,
        guests,
        (first, last),
        room,
        status="ended",
        recorded=recorded,
        started_at=office.at(begun),
        ended_at=office.at(ended),
    )
    came = [p for p in (host, *guests) if p is host or rnd.random() < 0.85]
    office.enter(meeting, _everyone(came, "left"))
    office.people[meeting.id] = [replace(p, muted=False) for p in office.people[meeting.id]]
    if recorded:
        office.record(meeting, begun + 2, ended - begun - 4)
    if rnd.random() < 0.3:
        office.poll(meeting, open_now=False, by_me=rnd.random() < 0.7)


def _coming(office: Office, i: int) -> None:
    """A planned meeting; the user can start the first ones now, one in a room still in use."""
    rnd, me = office.rnd, office.cast.user
    soon = i < 3
    first = (
        rnd.choice((5, 10, 15)) if soon else rnd.randrange(1, 12) * 1440 + rnd.randrange(32) * 15
    )
    if i == 3:
        first = rnd.choice((30, 45, 60))
    span = (first, first + rnd.choice((30, 45, 60)))
    host, guests = _guests(office, rnd.randrange(2, 4))
    if soon:
        host, guests = me, [p for p in guests if p is not me] or office.staff[:2]
    busy = next((m for m in office.meetings if m.status == "live"), None)
    room = None
    if i == 2 and busy is not None:
        room = next(r for r in office.rooms if r.id == busy.room_id)
    office.meeting(host, guests, span, room)


def _told(office: Office) -> None:
    """The meetings of the world's stories, which the user holds."""
    office.rnd = office.cast.rng("stories", "video_meeting")
    for meeting in stories(office.cast).meetings:
        first = (meeting.starts - office.start) // timedelta(minutes=1)
        span = (first, first + meeting.minutes)
        office.meeting(office.cast.user, list(meeting.guests), span, topic=meeting.topic)
