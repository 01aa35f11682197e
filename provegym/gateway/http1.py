"""HTTP for the client: kept-alive connections, a limit of time, and requests that are made again.

The standard library's client is enough for one server, and costs a third of a request of the
usual libraries.
"""

from __future__ import annotations

import http.client
import time
from typing import NamedTuple
from urllib.parse import urlsplit

from provegym.errors import InfrastructureError, InputError

PAUSES = (0.0, 0.0, 0.2, 1.0)
"""Seconds before each attempt; the first connection may just have been kept too long."""
REFUSED_SECONDS = 0.1
"""Between attempts to connect to a server that is starting."""
BUSY = (429, 503)
"""Answers of a server that may have room a moment later."""


class Answer(NamedTuple):
    """Status and body."""

    status: int
    body: bytes


class Pool:
    """Connections to one server; any number of threads may use it.

    A server that refuses a connection is waited for during `patience` seconds.
    """

    def __init__(self, url: str, token: str | None, timeout: float, patience: float = 0.0) -> None:
        parts = urlsplit(url if "//" in url else f"http://{url}")
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise InputError(f"{url!r} is no URL of a gateway; give one like http://127.0.0.1:8765")
        self.url = f"{parts.scheme}://{parts.netloc}{parts.path.rstrip('/')}"
        self._secure = parts.scheme == "https"
        self._place = parts.hostname, parts.port
        self._prefix = parts.path.rstrip("/")
        self._timeout = timeout
        self._patience = patience
        self._headers = {"Content-Type": "application/json", "Accept": "application/json"}
        if token:
            self._headers["Authorization"] = f"Bearer {token}"
        self._idle: list[http.client.HTTPConnection] = []
        self._closed = False

    def ask(self, method: str, path: str, body: bytes | None) -> Answer:
        """One request, made again where its connection breaks or the server is busy.

        So the server may see it twice. Raises `InfrastructureError` after the last attempt, and
        `InputError` after `close`.
        """
        if self._closed:
            raise InputError(f"the connection to {self.url} was closed; connect again")
        last: object = ""
        for pause in PAUSES:
            time.sleep(pause)
            try:
                answer = self._once(method, path, body)
            except (OSError, http.client.HTTPException) as error:
                last = f"{type(error).__name__}: {error}"
                self._drop()  # the others are of the same age, and most likely broken, too
                continue
            if answer.status not in BUSY:
                return answer
            last = answer
        if isinstance(last, Answer):
            return last
        raise InfrastructureError(f"the gateway at {self.url} cannot be reached ({last})")

    def _once(self, method: str, path: str, body: bytes | None) -> Answer:
        connection = self._idle.pop() if self._idle else self._connect()
        try:
            connection.request(method, self._prefix + path, body, self._headers)
            answer = connection.getresponse()
            found = Answer(answer.status, answer.read())
        except BaseException:
            connection.close()
            raise
        self._idle.append(connection)
        return found

    def _connect(self) -> http.client.HTTPConnection:
        make = http.client.HTTPSConnection if self._secure else http.client.HTTPConnection
        connection = make(*self._place, timeout=self._timeout)
        until = time.monotonic() + self._patience
        while True:
            try:
                connection.connect()
            except ConnectionRefusedError:
                if time.monotonic() >= until:
                    raise
                time.sleep(REFUSED_SECONDS)
            else:
                return connection

    def close(self) -> None:
        """Close the connections; nothing can be asked any more."""
        self._closed = True
        self._drop()

    def _drop(self) -> None:
        """Close those that nobody uses; a later request opens another."""
        while self._idle:
            self._idle.pop().close()
