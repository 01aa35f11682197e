"""External servers by name: from `provegym.toml` to `world.Server`s like those of the library."""

from __future__ import annotations

import atexit
import threading
from collections.abc import Callable, Iterable
from functools import lru_cache
from pathlib import Path
from random import Random
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from provegym.errors import ServerFault
from provegym.gateway.external import learned as knowledge
from provegym.gateway.external import settings, trees
from provegym.gateway.external.connection import Connection
from provegym.gateway.external.learn import learn
from provegym.gateway.external.learned import Entity, Learned, Start
from provegym.gateway.external.pool import Pool
from provegym.gateway.external.scout import Scout, start_at
from provegym.gateway.external.settings import External
from provegym.gateway.external.state import Committed, Foreign, Record
from provegym.gateway.external.tools import make
from provegym.servers import SERVERS, load
from provegym.world.cast import Cast, cast
from provegym.world.server import Seeds, Server
from provegym.world.table import Row, table


def server(text: str) -> Server:
    """The server that `SERVERS` names as `MODULE:NAME@PATH of its provegym.toml`.

    What is not known of it is found out, which starts it. Raises `InputError` for settings that
    do not fit it, `ServerFault` where it cannot be started.
    """
    name, _, path = text.partition("@")
    return _server(name, Path(path))


@lru_cache(maxsize=64)
def _server(name: str, path: Path) -> Server:
    site = Site(name, path, settings.of(path, name))
    found = site.learned()
    kinds = {entity.name: _row(entity) for entity in found.entities}
    tables: dict[str, Any] = {"calls": table(Committed, "call"), "records": table(Record, "record")}
    tables |= {entity: table(row, entity) for entity, row in kinds.items()}
    space = {"server": name, "pools": staticmethod(site.pool), **tables}
    state = type("ForeignState", (Foreign,), space)
    tools = {tool.name: make(name, tool, site.told, found) for tool in found.tools}

    def seed(people: Cast, rnd: Random) -> Seeds:
        start = site.start(people.seed)
        rows: Seeds = {kind: _rows(row, start.values.get(kind, {})) for kind, row in kinds.items()}
        first = Committed("start", arguments=site.content)
        records = [Record(key, value) for key, value in start.rows.items()]
        return {**rows, "calls": [first], "records": records}

    return Server(name, found.title, state, tools, seed, _no_violations, outside=True)


def _row(entity: Entity) -> Any:
    """The row type of an entity: its value and, if it has one, the label beside it."""
    fields: list[Any] = [(entity.label, str)] if entity.label else []
    label = f'"{{{entity.label}}}"' if entity.label else ""
    return msgspec.defstruct(
        entity.name, fields, bases=(Row,), namespace={"label": label}, frozen=True
    )


def _rows(row: Any, known: dict[str, str]) -> list[Row]:
    """The things of one kind; those that are named by what stands beside them hold that."""
    return [row(value, label) if row.label else row(value) for value, label in known.items()]


def _silent(text: str) -> None:
    """Nobody listens."""


def _no_violations(state: Foreign) -> Iterable[str]:
    return ()


class Site:
    """One external server as its `provegym.toml` has it."""

    def __init__(self, name: str, path: Path, told: External) -> None:
        """`path` is that of its `provegym.toml`."""
        self.name, self.home, self.told = name, path.parent, told
        self.content = trees.digest(trees.take(path.parent / told.files)) if told.files else ""
        self._pools: dict[int, Pool] = {}
        self._first = threading.Lock()
        self._learned: Learned | None = None
        atexit.register(self.close)

    @property
    def where(self) -> Path:
        """The file of what is known about it."""
        return knowledge.path_of(self.home, self.name)

    def pool(self, seed: int) -> Pool:
        """The processes for worlds of that seed."""
        key = seed if self.told.seeded else 0
        with self._first:
            if key not in self._pools:
                connect = Connector(self.name, self.told, self.home, key)
                turns = self.where.with_suffix(".lock")
                self._pools[key] = Pool(self.told, cast(key).start, connect, turns, self._check)
            return self._pools[key]

    def _check(self, connection: Connection) -> None:
        """See that the server lists the tools that it was found out about with."""
        known = self._learned
        if known and knowledge.fingerprint(connection.listing().tools) != known.listing:
            raise ServerFault(
                f"server {self.name} lists other tools than {self.where} tells of; delete that "
                "file to find out about it anew"
            )

    def learned(self, news: Callable[[str], None] = _silent) -> Learned:
        """What is known about it, found out at the first time; `news` is told what goes on.

        One process finds out, all others read what it wrote: two that look may see two things.
        """
        wanted = knowledge.identity(self.told, self.content)
        found = self._learned or knowledge.load(self.where, wanted)
        if found is None:
            with knowledge.alone(self.home):
                found = knowledge.load(self.where, wanted) or self._find_out(wanted, news)
        self._learned = found
        return found

    def _find_out(self, wanted: str, news: Callable[[str], None]) -> Learned:
        pool = self.pool(0)
        found = learn(self.name, self.told, pool.listing(), pool, _taken(self.name), wanted, news)
        knowledge.save(found, self.where)
        return found

    def start(self, seed: int) -> Start:
        """What there is at the start of a world of that seed. Raises `ServerFault` where a tool
        that is known is lost now: without what it shows, the world would be another one.
        """
        found = self.learned()
        key = seed if self.told.seeded else 0
        if key not in found.starts:
            with knowledge.alone(self.home):
                found = knowledge.load(self.where, found.identity) or found
                if key not in found.starts:
                    found = self._look_at(key, found)
            self._learned = found
        return found.starts[key]

    def _look_at(self, key: int, found: Learned) -> Learned:
        scout = Scout(self.told, found.tools, self.pool(key), [])
        scout.look_around()
        for why in scout.broken.values():
            raise ServerFault(f"the start of seed {key} is not known: {why}")
        start = start_at(found.tools, found, scout)
        found = replace(found, starts={**found.starts, key: start})
        knowledge.save(found, self.where)
        return found

    def close(self) -> None:
        """End its processes."""
        for pool in self._pools.values():
            pool.close()


class Connector(Struct, frozen=True):
    """Makes connections to one server."""

    name: str
    told: External
    home: Path
    seed: int

    def __call__(self) -> Connection:
        """A connection that is not started."""
        return Connection(self.name, self.told, self.home, self.seed)


def _taken(name: str) -> set[str]:
    """Names of the tools of all other servers; of external ones those that are known about."""
    found: set[str] = set()
    for other, place in SERVERS.items():
        module, _, told = place.partition(":")
        if other == name:
            continue
        if module == __name__:
            path = Path(told.partition("@")[2])
            found |= knowledge.names(knowledge.path_of(path.parent, other))
        else:
            found |= load(other).tools.keys()
    return found
