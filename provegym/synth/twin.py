"""A second process that makes and replays tasks: nothing must depend on one process's memory.

It is an interpreter of its own, with its own hash seed, and never imports the caller's script; it
is told where the caller finds servers.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from types import TracebackType

import msgspec
from msgspec import Struct

from provegym.config import Synth
from provegym.errors import InfrastructureError
from provegym.graph.edges import Graph
from provegym.servers import SERVERS
from provegym.synth.make import Candidate, Maker, Outcome, Plan, Rejection
from provegym.synth.replay import replay, start_of
from provegym.synth.unmet import NO_AIMS, Aim, Aims
from provegym.types import Task
from provegym.worlds import world_of


class Order(Struct, frozen=True):
    """What a process works on: where servers are found (the modules of `SERVERS`, and the folders
    that modules lie in), and what a `Maker` is made from.
    """

    servers: dict[str, str]
    path: list[str]
    plan: Plan
    settings: str
    """A `Synth` as JSON."""
    graph: Graph


def order_for(plan: Plan, settings: Synth, graph: Graph) -> Order:
    """The order for a process that is to find what this one finds."""
    return Order(dict(SERVERS), sys.path, plan, settings.model_dump_json(), graph)


class Request(Struct, frozen=True):
    """Candidates to make, by number and place, and what they aim at; or tasks to replay."""

    make: list[tuple[int, int]] = []
    aims: dict[str, Aim] = {}
    replay: list[Task] = []


class Made(Struct, frozen=True):
    """An outcome in a form that JSON can tell apart; one of the two is None."""

    candidate: Candidate | None = None
    rejection: Rejection | None = None


class Answer(Struct, frozen=True):
    """What became of a request."""

    made: list[Made]
    digests: list[str]


class Twin:
    """The process, as a context manager. One line of JSON goes in, one comes out."""

    def __init__(self, plan: Plan, settings: Synth, graph: Graph) -> None:
        self._order = order_for(plan, settings, graph)

    def __enter__(self) -> Twin:
        command = [sys.executable, "-c", f"from {__name__} import serve; serve()"]
        pipe = subprocess.PIPE
        self._process = subprocess.Popen(  # Ctrl-C is for this process, which ends the other
            command, stdin=pipe, stdout=pipe, start_new_session=True
        )
        self._send(self._order)
        return self

    def __exit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        self.stop()
        self._process.communicate()

    def stop(self) -> None:
        """End it; whoever waits for an answer is told that it died."""
        self._process.kill()

    def make(self, numbers: Sequence[tuple[int, int]], aims: Aims = NO_AIMS) -> list[Outcome]:
        """What becomes of the candidates of those numbers and places.

        Raises `InfrastructureError`.
        """
        return outcomes_of(self._ask(to_make(numbers, aims)))

    def digests(self, tasks: list[Task]) -> list[str]:
        """The digests of the tasks' worlds after their ground truth, as the process finds them.

        Raises `InfrastructureError` if it died.
        """
        return self._ask(Request(replay=tasks)).digests

    def _ask(self, request: Request) -> Answer:
        assert self._process.stdout
        try:
            self._send(request)
            return msgspec.json.decode(self._process.stdout.readline(), type=Answer)
        except (OSError, msgspec.DecodeError) as error:
            ended = f"ended with code {self._process.poll()}"
            raise InfrastructureError(
                f"the second process of the synthesis {ended}; see above, and start again"
            ) from error

    def _send(self, message: object) -> None:
        assert self._process.stdin
        self._process.stdin.write(msgspec.json.encode(message) + b"\n")
        self._process.stdin.flush()


class Worker:
    """What a process is that makes and replays: requests and answers are JSON."""

    def __init__(self, order: Order) -> None:
        SERVERS.update(order.servers)
        self.maker = Maker(order.plan, Synth.model_validate_json(order.settings), order.graph)

    def answer(self, request: bytes) -> bytes:
        """The answer to a request."""
        told = msgspec.json.decode(request, type=Request)
        made = [_told(self.maker.make(i, told.aims, k)) for i, k in told.make]
        return msgspec.json.encode(Answer(made, [digest(task) for task in told.replay]))


def serve() -> None:
    """What the second process runs until its input ends, or nobody is left to read."""
    order = msgspec.json.decode(sys.stdin.buffer.readline(), type=Order)
    sys.path[:] = order.path
    worker = Worker(order)
    for line in sys.stdin.buffer:
        answer = worker.answer(line) + b"\n"
        try:
            sys.stdout.buffer.write(answer)
            sys.stdout.buffer.flush()
        except BrokenPipeError:
            os._exit(1)  # the other was killed; to flush at the end would fail, too


def to_make(numbers: Sequence[tuple[int, int]], aims: Aims) -> Request:
    """The request for the candidates of those numbers and places."""
    return Request(list(numbers), dict(aims))


def outcomes_of(answer: Answer) -> list[Outcome]:
    """What became of the candidates that were asked for."""
    made = (m.candidate or m.rejection for m in answer.made)
    return [outcome for outcome in made if outcome]


def _told(outcome: Outcome) -> Made:
    if isinstance(outcome, Candidate):
        return Made(candidate=outcome)
    return Made(rejection=outcome)


def tasks_of(outcomes: Sequence[Outcome]) -> list[Task]:
    """The tasks among the outcomes."""
    return [outcome.task for outcome in outcomes if isinstance(outcome, Candidate)]


def digest(task: Task) -> str:
    """The digest of the task's world after its ground truth."""
    return replay(start_of(world_of(task)), task.ground_truth).end.digest
