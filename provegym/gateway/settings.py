"""What a gateway is told when it starts."""

from __future__ import annotations

import ipaddress
from functools import lru_cache

from msgspec import Struct

from provegym.errors import InputError
from provegym.servers import SERVERS
from provegym.types import Task
from provegym.world.sessions import IDLE_SECONDS


class Settings(Struct, frozen=True):
    """Where to listen, for whom, and how much of everything there may be.

    Raises `InputError` for an address off this machine without a token.
    """

    host: str = "127.0.0.1"
    port: int = 8765
    token: str | None = None
    """Demanded as `Authorization: Bearer TOKEN`, but for URLs that hold a session's id."""
    hosts: tuple[str, ...] = ()
    """Further names that clients may know the gateway by, as a proxy's."""
    servers: tuple[str, ...] = tuple(SERVERS)
    """Those of a connection's own session, and the ones that `/mcp/{server}` serves."""
    seed: int = 0
    task: Task | None = None
    """What a connection's own session is for, in place of `seed` and `servers`."""
    idle: float = IDLE_SECONDS
    """Seconds without use after which a session expires."""
    sessions: int = 10_000
    """Most sessions alive at once, and most connections with a session of their own."""
    max_body: int = 8 << 20
    """Most bytes of a request."""
    max_depth: int = 128
    """Deepest nesting of a request's JSON."""
    deadline: float = 30.0
    """Seconds that the calls of one request may take together."""

    def __post_init__(self) -> None:
        if not self.token and not is_loopback(self.host):
            raise InputError(
                f"{self.host} can be reached from other machines: give a token (--token), "
                "or listen on 127.0.0.1"
            )


@lru_cache(maxsize=1024)
def is_loopback(host: str) -> bool:
    """Whether only this machine reaches an address."""
    return host == "localhost" or _address_is_loopback(host)


def _address_is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False
