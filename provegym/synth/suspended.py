"""A candidate of a language model that stands still wherever it asks the model.

So who computes need not be who asks: the answer may come from another process.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from queue import SimpleQueue

from msgspec import Struct

from provegym.llm.teacher import Answer
from provegym.synth.asker import Complete, Json
from provegym.synth.make import Outcome


class Ask(Struct, frozen=True):
    """What the model is asked; see `Complete`."""

    messages: Sequence[Json]
    tools: Sequence[Json] | None
    seed: int
    schema: Json | None


Step = Ask | Outcome


class _Dropped(BaseException):
    """Nobody goes on with the candidate."""


class Suspended:
    """The candidate, in a thread that computes only while `step` waits for it."""

    def __init__(self, make: Callable[[Complete], Outcome]) -> None:
        self._steps: SimpleQueue[Step | BaseException] = SimpleQueue()
        self._answers: SimpleQueue[Answer | None] = SimpleQueue()
        self._thread = threading.Thread(target=self._run, args=(make,), daemon=True)
        self._thread.start()

    def step(self, answer: Answer | None = None) -> Step:
        """What it asks next or what became of it, after the answer to what it asked last.

        Raises what making it raised.
        """
        if answer:
            self._answers.put(answer)
        found = self._steps.get()
        if isinstance(found, BaseException):
            raise found
        return found

    def drop(self) -> None:
        """End it where it stands."""
        self._answers.put(None)
        self._thread.join()

    def _run(self, make: Callable[[Complete], Outcome]) -> None:
        try:
            self._steps.put(make(self._complete))
        except BaseException as error:  # noqa: BLE001 - raised to who waits for the step
            self._steps.put(error)

    def _complete(
        self,
        messages: Sequence[Json],
        tools: Sequence[Json] | None = None,
        *,
        seed: int,
        schema: Json | None = None,
    ) -> Answer:
        self._steps.put(Ask(messages, tools, seed, schema))
        answer = self._answers.get()
        if answer is None:
            raise _Dropped
        return answer
