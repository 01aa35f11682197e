"""A world's calendars: an office's rooms and about a hundred events around the first day."""

from __future__ import annotations

from datetime import UTC, date, datetime, time, timedelta
from random import Random

from msgspec.structs import replace

from provegym.servers.calendar.recurrence import WEEKDAYS, Rule, expand, zone
from provegym.servers.calendar.state import (
    Attendee,
    Calendar,
    Equipment,
    Event,
    Method,
    Reminder,
    Response,
    Room,
)
from provegym.world.cast import Cast, Person
from provegym.world.server import Seeds
from provegym.world.stories import Meeting as Held
from provegym.world.stories import Trip, stories

COLLEAGUES = 20
HOME_ZONES = ("Europe/London", "Europe/Berlin", "Europe/Paris", "Europe/Madrid", "Europe/Helsinki")
OFFICES = (
    ("New York office", "America/New_York"),
    ("Tokyo office", "Asia/Tokyo"),
    ("Sydney office", "Australia/Sydney"),
    ("Toronto office", "America/Toronto"),
)
TEAMS = ("Product", "Design", "Marketing", "Platform", "Research", "Sales")
SUBJECTS = (
    *("Budget", "Roadmap", "Onboarding", "Hiring", "Website", "Security", "Pricing", "Launch"),
    *("Brand", "Contract", "Data", "Mobile app", "Customer", "Quarterly", "Partner", "Vendor"),
    *("Warehouse", "Training", "Support", "Newsletter", "Analytics", "Payroll", "Travel policy"),
    *("Supplier", "Compliance", "Conference", "Migration", "Packaging", "Inventory", "Survey"),
)
FORMS = (
    *("review", "planning", "workshop", "sync", "kickoff", "update", "demo", "retrospective"),
    *("interview", "briefing", "brainstorm", "check-in"),
)
PERSONAL = (
    *("Dentist appointment", "Gym class", "Haircut", "Piano lesson", "Car service"),
    *("School concert", "Yoga", "Book club", "Eye test", "Parents' evening", "Swimming"),
    *("Dinner reservation", "Plumber visit", "Birthday lunch", "Bank appointment", "Choir"),
)
COMPANY = (
    *("All-hands meeting", "Fire drill", "Summer party", "Town hall", "Charity run"),
    *("Health and safety talk", "New joiner breakfast", "Office move briefing", "Awards evening"),
)
PLACES = ("Main office", "Canteen", "Video call", "Head office lobby", "Client site", "Phone")
TOWN = ("High Street", "City centre", "Station Road", "Market Square", "Riverside")
NOTES = (
    *(
        "Bring the latest figures",
        "Agenda to follow",
        "Please read the draft first",
        "Slides ready",
    ),
    *("Decide next steps", "Short status from everyone", "", "", ""),
)
ROOMS = (
    *("Cedar", "Maple", "Willow", "Birch", "Aspen", "Juniper", "Oak", "Hazel", "Rowan", "Elm"),
    *("Laurel", "Poplar", "Linden", "Alder", "Sycamore", "Hawthorn"),
)
BUILDINGS = ("North building", "South building", "Tower")
CAPACITIES = (2, 4, 4, 6, 6, 8, 8, 10, 12, 14, 20, 30)
LENGTHS = (30, 30, 45, 60, 60, 60, 90)
REMIND = (5, 10, 15, 30, 60, 120, 1440)
REGULAR = (
    *("Gym class", "Piano lesson", "Yoga", "Book club", "Swimming", "Choir"),
    *("All-hands meeting", "Town hall", "New joiner breakfast"),
)
"""Which of the personal and company events recur."""
_LETTERS = "0123456789abcdefghjkmnpqrstvwxyz"
_PAIRS = tuple(a + b for a in _LETTERS for b in _LETTERS)
_CELL = 900
"""Seconds of the grid on which seeded events lie."""


def seed(cast: Cast, rnd: Random) -> Seeds:
    """All rows of one world."""
    return _Office(cast, rnd).rows()


class _Office:
    """Collects the rows; knows who and which room is taken when."""

    def __init__(self, cast: Cast, rnd: Random) -> None:
        self.cast, self.rnd = cast, rnd
        self.today = cast.start.date()
        self.now = int(cast.start.timestamp())
        self.staff = rnd.sample(cast.others, COLLEAGUES)
        self.home = rnd.choice(HOME_ZONES)
        self.ids: set[str] = set()
        self.titles: set[str] = set()
        self.taken: dict[str, set[int]] = {}
        self.events: list[Event] = []
        self.attendees: list[Attendee] = []
        self.reminders: list[Reminder] = []
        self.rules: list[Rule] = []
        self.rooms = self._rooms()
        self.calendars = self._calendars()

    def rows(self) -> Seeds:
        personal, work, team, office, company = self.calendars
        for _ in range(26):
            self._meeting(work, self.cast.user, mine=True)
        for _ in range(24):
            self._meeting(work, self.rnd.choice(self.staff), mine=True)
        for i in range(20):
            organizer = self.cast.user if i < 4 else self.rnd.choice(self.staff)
            self._meeting(team, organizer, mine=self.rnd.random() < 0.4)
        for _ in range(14):
            self._meeting(office, self.rnd.choice(self.staff), mine=self.rnd.random() < 0.15)
        for title in self.rnd.sample(PERSONAL, 13):
            self._event(personal, title, self.cast.user, [], self.rnd.choice(TOWN))
        host = self.rnd.choice(self.staff)
        for title in self.rnd.sample(COMPANY, 7):
            self._event(company, title, host, self._guests(host, mine=True), "Canteen")
        self._remind()
        self._tell(personal, work)
        return {
            "calendars": self.calendars,
            "events": self.events,
            "attendees": self.attendees,
            "reminders": self.reminders,
            "rooms": self.rooms,
            "rules": self.rules,
        }

    def _id(self, prefix: str) -> str:
        while True:
            bits = self.rnd.getrandbits(30)
            letters = _PAIRS[bits & 1023] + _PAIRS[bits >> 10 & 1023] + _PAIRS[bits >> 20]
            new = f"{prefix}_{letters}"
            if new not in self.ids:
                self.ids.add(new)
                return new

    def _rooms(self) -> list[Room]:
        rnd = self.rnd
        names = rnd.sample(ROOMS, 12)
        closed = set(rnd.sample(names, 2))
        return [self._room(n, c, n in closed) for n, c in zip(names, CAPACITIES, strict=True)]

    def _room(self, name: str, capacity: int, closed: bool) -> Room:
        rnd = self.rnd
        kit: tuple[Equipment, ...] = ("projector", "whiteboard", "video")
        return Room(
            self._id("room"),
            name=name,
            building=rnd.choice(BUILDINGS),
            capacity=capacity,
            equipment=tuple(k for k in kit if rnd.random() < 0.55),
            max_minutes=60 if capacity <= 4 else rnd.choice((240, 480)),
            in_service=not closed,
        )

    def _calendars(self) -> list[Calendar]:
        user, others = self.cast.user.email, self.staff
        office, office_zone = self.rnd.choice(OFFICES)
        team = f"{self.rnd.choice(TEAMS)} team"
        return [
            Calendar(self._id("cal"), "Personal", "owner", user, self.home, False),
            Calendar(self._id("cal"), "Work", "owner", user, self.home, True),
            Calendar(self._id("cal"), team, "editor", others[0].email, self.home, False),
            Calendar(self._id("cal"), office, "reader", others[1].email, office_zone, False),
            Calendar(
                self._id("cal"), "Company events", "reader", others[2].email, self.home, False
            ),
        ]

    # -- events ----------------------------------------------------------------------------

    def _meeting(self, calendar: Calendar, organizer: Person, *, mine: bool) -> None:
        guests = self._guests(organizer, mine=mine)
        if len(guests) == 1 and self.rnd.random() < 0.5:
            title = f"{organizer.name.split()[0]} and {guests[0].name.split()[0]}"
            self.titles.add(title)
            if sum(e.title == title for e in self.events):
                title = self._title()
        else:
            title = self._title()
        self._event(calendar, title, organizer, guests, self.rnd.choice(PLACES))

    def _title(self) -> str:
        while True:
            title = f"{self.rnd.choice(SUBJECTS)} {self.rnd.choice(FORMS)}"
            if title not in self.titles:
                self.titles.add(title)
                return title

    def _guests(self, organizer: Person, *, mine: bool) -> list[Person]:
        user = self.cast.user
        number = self.rnd.choice((1, 1, 1, 2, 2, 2, 2, 3, 3, 4))
        others = [p for p in self.rnd.sample(self.staff, number) if p.key != organizer.key]
        return [user, *others] if mine and organizer.key != user.key else others

    def _event(
        self, calendar: Calendar, title: str, host: Person, guests: list[Person], place: str
    ) -> None:
        rnd = self.rnd
        recurs = title in REGULAR if title in PERSONAL + COMPANY else rnd.random() < 0.14
        rule = self._rule() if recurs else None
        minutes = rnd.choice(LENGTHS)
        start, cells = self._when(calendar, host, minutes, rule)
        status = "cancelled" if rnd.random() < 0.06 else "confirmed"
        inside = calendar.name != "Personal" and status == "confirmed" and rnd.random() < 0.55
        room = self._free_room(cells, 1 + len(guests), minutes) if inside else None
        if rule:
            self.rules.append(rule)
        event = Event(
            self._id("evt"),
            calendar_id=calendar.id,
            title=title,
            description=rnd.choice(NOTES) if guests else "",
            location=room.building if room else place,
            organizer=host.email,
            start=start.isoformat(),
            end=_plus(start, minutes),
            time_zone=calendar.time_zone,
            status="cancelled" if status == "cancelled" else "confirmed",
            room_id=room.id if room else None,
            rule_id=rule.id if rule else None,
            updated=(self.cast.start - timedelta(hours=rnd.randrange(1, 400))).isoformat(),
        )
        self.events.append(event)
        if event.status == "confirmed":
            self.taken.setdefault(host.email, set()).update(cells)
        self._attend(event, host, guests)

    def _when(
        self, calendar: Calendar, host: Person, minutes: int, rule: Rule | None
    ) -> tuple[datetime, set[int]]:
        """A time at which the organizer is free; after a few tries, any."""
        start, cells = self._somewhen(calendar, minutes, rule)
        busy = self.taken.get(host.email, set())
        for _ in range(1 if rule else 5):
            if busy.isdisjoint(cells):
                break
            start, cells = self._somewhen(calendar, minutes, rule)
        return start, cells

    def _somewhen(
        self, calendar: Calendar, minutes: int, rule: Rule | None
    ) -> tuple[datetime, set[int]]:
        rnd = self.rnd
        personal = calendar.name == "Personal"
        day = self.today + timedelta(days=rnd.randint(-28, 3) if rule else rnd.randint(-12, 30))
        if rule and rule.weekdays:
            day += timedelta(days=WEEKDAYS.index(rule.weekdays[0]) - day.weekday())
        elif not personal:
            day += timedelta(days=max(0, 7 - day.weekday()) if day.weekday() > 4 else 0)
        quarter = 30 * rnd.randrange(36, 40) if personal else 30 * rnd.randrange(18, 33)
        start = _at(day, quarter, calendar.time_zone)
        starts: tuple[int, ...] = (int(start.timestamp()),)
        if rule:
            starts = expand(start.isoformat(), calendar.time_zone, rule)
        length = -(-minutes * 60 // _CELL)
        return start, {s // _CELL + i for s in starts for i in range(length)}

    def _rule(self) -> Rule:
        rnd = self.rnd
        kind = rnd.choice(("weekly", "weekly", "weekly", "fortnightly", "days", "monthly"))
        count: int | None = rnd.randrange(5, 11)
        until = None
        if rnd.random() < 0.5:
            count, until = None, (self.today + timedelta(days=rnd.randrange(20, 70))).isoformat()
        if kind == "monthly":
            return Rule(self._id("rule"), "monthly", 1, (), count, until)
        first = rnd.randrange(3)
        days = WEEKDAYS[first : first + 3 : 2] if kind == "days" else (WEEKDAYS[rnd.randrange(5)],)
        return Rule(
            self._id("rule"), "weekly", 2 if kind == "fortnightly" else 1, days, count, until
        )

    def _free_room(self, cells: set[int], people: int, minutes: int) -> Room | None:
        fit = [
            room
            for room in self.rooms
            if room.in_service and room.capacity >= people and room.max_minutes >= minutes
        ]
        for room in self.rnd.sample(fit, min(3, len(fit))):
            taken = self.taken.setdefault(room.id, set())
            if taken.isdisjoint(cells):
                taken.update(cells)
                return room
        return None

    # -- people and reminders --------------------------------------------------------------

    def _attend(self, event: Event, host: Person, guests: list[Person]) -> None:
        self.attendees.append(self._attendee(event, host, "accepted", False))
        for guest in guests:
            answer: Response = self.rnd.choice(_ANSWERS)
            optional = len(guests) > 2 and self.rnd.random() < 0.2
            self.attendees.append(self._attendee(event, guest, answer, optional))

    def _attendee(self, event: Event, who: Person, answer: Response, optional: bool) -> Attendee:
        return Attendee(self._id("att"), event.id, who.email, who.name, answer, optional)

    def _remind(self) -> None:
        """Reminders of about half of the user's events; now and then as many as fit."""
        rnd, user = self.rnd, self.cast.user.email
        for event_id in [a.event_id for a in self.attendees if a.email == user]:
            if rnd.random() < 0.5:
                continue
            for minutes in rnd.sample(REMIND, rnd.choice((1, 1, 1, 1, 2, 2, 5))):
                method: Method = rnd.choice(("popup", "popup", "email"))
                self.reminders.append(Reminder(self._id("rem"), event_id, minutes, method))

    # -- what other servers know too -------------------------------------------------------

    def _tell(self, personal: Calendar, work: Calendar) -> None:
        """The meetings and the flight of the world's stories."""
        told, self.rnd = stories(self.cast), self.cast.rng("stories", "calendar")
        topics = {meeting.topic for meeting in told.meetings}
        self.titles |= topics
        self.events = [
            replace(e, title=self._title()) if e.title in topics else e for e in self.events
        ]
        for meeting in told.meetings:
            self._hold(work, meeting)
        self._fly(personal, told.trip)

    def _hold(self, work: Calendar, meeting: Held) -> None:
        made = (self.cast.start - timedelta(hours=self.rnd.randrange(20, 200))).isoformat()
        event = self._own(work, meeting.topic, "Video call", meeting.starts, meeting.ends, made)
        for guest in meeting.guests:
            answer = self.rnd.choice(_COMING)
            self.attendees.append(self._attendee(event, guest, answer, False))
        self.reminders.append(Reminder(self._id("rem"), event.id, 15, "popup"))

    def _fly(self, personal: Calendar, trip: Trip) -> None:
        title, place = f"Flight {trip.number} to {trip.city}", f"{self.cast.user.city} airport"
        booked = trip.booked.isoformat()
        event = self._own(personal, title, place, trip.departs, trip.arrives, booked)
        self.reminders.append(Reminder(self._id("rem"), event.id, 1440, "email"))

    def _own(
        self, home: Calendar, title: str, place: str, start: datetime, end: datetime, updated: str
    ) -> Event:
        """An event of the user's, written in UTC as the services that it came from do."""
        event = Event(
            self._id("evt"),
            calendar_id=home.id,
            title=title,
            description="",
            location=place,
            organizer=self.cast.user.email,
            start=start.isoformat(),
            end=end.isoformat(),
            time_zone="UTC",
            status="confirmed",
            room_id=None,
            rule_id=None,
            updated=updated,
        )
        self.events.append(event)
        self.attendees.append(self._attendee(event, self.cast.user, "accepted", False))
        return event


_COMING: tuple[Response, ...] = ("accepted", "accepted", "tentative", "needs_action")
_ANSWERS: tuple[Response, ...] = (
    *("accepted", "accepted", "accepted", "accepted", "needs_action", "needs_action"),
    *("needs_action", "tentative", "declined"),
)


def _at(day: date, minute: int, zone_name: str) -> datetime:
    """That minute of the day on the zone's wall clock."""
    hours, minutes = divmod(minute, 60)
    return datetime.combine(day, time(hours, minutes), zone(zone_name))


def _plus(start: datetime, minutes: int) -> str:
    moment = start.astimezone(UTC) + timedelta(minutes=minutes)
    return moment.astimezone(start.tzinfo).isoformat()
