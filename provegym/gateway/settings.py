"""What a gateway is told when it starts."""

from __future__ import annotations

import ipaddress
from functools import lru_cache
from math import isfinite

from msgspec import Struct, field

from provegym.errors import InputError
from provegym.servers import library
from provegym.types import MOST_SEED, Task
from provegym.world.sessions import IDLE_SECONDS

TOKEN_LENGTH = 16
"""Fewest characters of a token that other machines may guess at."""


class Settings(Struct, frozen=True):
    """Where to listen, for whom, and how much of everything there may be.

    Raises `InputError` for an address off this machine without a token, for a token that is empty,
    that no header can hold (RFC 6750, 2.1) or that could be guessed, and for a seed that no task
    can have.
    """

    host: str = "127.0.0.1"
    port: int = 8765
    token: str | None = None
    """Demanded as `Authorization: Bearer TOKEN`, but for URLs that hold a session's id."""
    hosts: tuple[str, ...] = ()
    """Further names that clients may know the gateway by, as a proxy's."""
    servers: tuple[str, ...] = field(default_factory=library)
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
    rate: float = 1000.0
    """Requests a second through one session's URL; an address may make ten times as many of all
    others. Ten seconds' worth may come at once. 0: no limit."""
    max_result: int = 65_536
    """Most characters of a result that MCP shows, as in a rollout; of a longer one, its start."""

    def __post_init__(self) -> None:
        for name, value in (("idle", self.idle), ("rate", self.rate)):
            if not isfinite(value):
                raise InputError(f"{name} {value} is no number of seconds or requests")
        if not 0 <= self.seed <= MOST_SEED:
            raise InputError(f"seed {self.seed} is not from 0 to {MOST_SEED}")
        if self.token is not None and not self.token:
            raise InputError(
                "the token is empty, as an unset variable is: give one (`openssl rand -hex 32` "
                "makes it), or no token at all"
            )
        if self.token is None and not is_loopback(self.host):
            raise InputError(
                f"{self.host} can be reached from other machines: give a token (--token), "
                "or listen on 127.0.0.1"
            )
        if self.token is not None:
            _check_token(self.token, is_loopback(self.host))

    def __repr__(self) -> str:
        """Where it listens; never the token, since texts find their way into logs."""
        return f"Settings(host={self.host!r}, port={self.port}, ...)"


def _check_token(token: str, is_private: bool) -> None:
    if not all("!" <= letter <= "~" for letter in token):
        raise InputError("the token may hold visible ASCII characters alone, and no space")
    if len(token) < TOKEN_LENGTH and not is_private:
        raise InputError(
            f"a token of {len(token)} characters can be guessed; give at least {TOKEN_LENGTH}, "
            "as `openssl rand -hex 32` makes"
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
