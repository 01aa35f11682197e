"""The control API on a real server on loopback, over the library's worlds and one with a bug."""

from __future__ import annotations

from random import Random
from secrets import token_urlsafe
from types import SimpleNamespace

from msgspec import Struct
from starlette.applications import Starlette

from provegym.gateway.control import ERRORS, routes
from provegym.gateway.rooms import Rooms, Session, open_world
from provegym.world.cast import Cast
from provegym.world.server import Seeds, Server, State, collect
from provegym.world.sessions import Sessions
from provegym.world.table import Row, table
from provegym.world.tool import tool
from provegym.world.world import World


class Note(Row, frozen=True):
    """A note."""

    text: str


class Pad(State):
    """A pad of notes."""

    server = "pad"
    notes = table(Note, "note")


@tool("read", phrases=("Show my notes",))
def list_notes(pad: Pad) -> list[Note]:
    """List the notes."""
    return list(pad.notes)


@tool("write", phrases=("Note {text}",))
def write_note(pad: Pad, text: str) -> Note:
    """Write a note.

    Args:
        text: What to note.
    """
    return pad.notes.put(Note(pad.notes.new_id(), text))


@tool("write", phrases=("Tear it",))
def tear(pad: Pad) -> bool:
    """Tear the pad: its body has a bug."""
    pad.notes.put(Note(pad.notes.new_id(), "half"))
    raise ZeroDivisionError("secret")


def _seed(cast: Cast, rnd: Random) -> Seeds:
    return {"notes": [Note("note_1", "milk")]}


TOOLS = collect(SimpleNamespace(a=list_notes, b=write_note, c=tear))
PAD = Server("pad", "Pad", Pad, TOOLS, _seed, lambda state: ())


class Settings(Struct, frozen=True):
    sessions: int = 10_000
    deadline: float = 30.0


class Clock:
    """Seconds, moved by hand."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


def pad(seed: int, names: tuple[str, ...]) -> Session:
    """Any world of the library, and that of the pad."""
    return World(seed, [PAD]).open() if names == ("pad",) else open_world(seed, names)


def new_rooms(clock: Clock | None = None) -> Rooms:
    return Sessions(clock or Clock(), lambda: token_urlsafe(16), idle=60.0)


def control_app(rooms: Rooms, settings: Settings | None = None) -> Starlette:
    found = routes(rooms, settings or Settings(), pad)
    return Starlette(routes=found, exception_handlers={**ERRORS})
