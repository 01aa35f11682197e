"""A second process that replays tasks: what it finds must not depend on the first one's memory.

It is an interpreter of its own, with its own hash seed, and never imports the caller's script; it
is told where the caller finds servers.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from types import TracebackType

import msgspec
from msgspec import Struct

from provegym.errors import InfrastructureError
from provegym.servers import SERVERS
from provegym.synth.replay import replay, start_of
from provegym.types import Task
from provegym.worlds import world_of


class Library(Struct, frozen=True):
    """Where servers are found: the modules of `SERVERS`, and the folders that modules lie in."""

    servers: dict[str, str]
    path: list[str]


class Twin:
    """The process, as a context manager. One line of JSON goes in, one comes out."""

    def __enter__(self) -> Twin:
        command = [sys.executable, "-c", f"from {__name__} import serve; serve()"]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self._send(Library(dict(SERVERS), sys.path))
        return self

    def __exit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        self._process.kill()
        self._process.communicate()

    def digests(self, tasks: Sequence[Task]) -> list[str]:
        """The digests of the tasks' worlds after their ground truth, as the process finds them.

        Raises `InfrastructureError` if it died.
        """
        assert self._process.stdout
        try:
            self._send(tasks)
            return msgspec.json.decode(self._process.stdout.readline(), type=list[str])
        except (OSError, msgspec.DecodeError) as error:
            ended = f"ended with code {self._process.poll()}"
            raise InfrastructureError(
                f"the process that replays tasks {ended}; see above, and start again"
            ) from error

    def _send(self, message: object) -> None:
        assert self._process.stdin
        self._process.stdin.write(msgspec.json.encode(message) + b"\n")
        self._process.stdin.flush()


def serve() -> None:
    """What the second process runs until its input ends."""
    library = msgspec.json.decode(sys.stdin.buffer.readline(), type=Library)
    sys.path[:] = library.path
    SERVERS.update(library.servers)
    decoder = msgspec.json.Decoder(list[Task])
    for line in sys.stdin.buffer:
        found = [digest(task) for task in decoder.decode(line)]
        sys.stdout.buffer.write(msgspec.json.encode(found) + b"\n")
        sys.stdout.buffer.flush()


def digest(task: Task) -> str:
    """The digest of the task's world after its ground truth."""
    return replay(start_of(world_of(task)), task.ground_truth).end.digest
