"""A second process that replays tasks: what it finds must not depend on the first one's memory.

It is an interpreter of its own, with its own hash seed, and never imports the caller's script.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from types import TracebackType

import msgspec

from provegym.errors import InfrastructureError
from provegym.synth.replay import replay, start_of
from provegym.types import Task
from provegym.worlds import world_of


class Twin:
    """The process, as a context manager. One line of JSON goes in, one comes out."""

    def __enter__(self) -> Twin:
        command = [sys.executable, "-c", f"from {__name__} import serve; serve()"]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        return self

    def __exit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        self._process.kill()
        self._process.communicate()

    def digests(self, tasks: Sequence[Task]) -> list[str]:
        """The digests of the tasks' worlds after their ground truth, as the process finds them.

        Raises `InfrastructureError` if it died.
        """
        talk = self._process
        assert talk.stdin
        assert talk.stdout
        try:
            talk.stdin.write(msgspec.json.encode(tasks) + b"\n")
            talk.stdin.flush()
            return msgspec.json.decode(talk.stdout.readline(), type=list[str])
        except (OSError, msgspec.DecodeError) as error:
            raise InfrastructureError(
                f"the process that replays tasks ended with code {talk.poll()}; start again"
            ) from error


def serve() -> None:
    """What the second process runs until its input ends."""
    decoder = msgspec.json.Decoder(list[Task])
    for line in sys.stdin.buffer:
        found = [digest(task) for task in decoder.decode(line)]
        sys.stdout.buffer.write(msgspec.json.encode(found) + b"\n")
        sys.stdout.buffer.flush()


def digest(task: Task) -> str:
    """The digest of the task's world after its ground truth."""
    return replay(start_of(world_of(task)), task.ground_truth).end.digest
