"""One process of a cluster: it plans, executes and replays what it is told to."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import msgspec

from provegym import __version__, config
from provegym.synth.twin import Order, Worker
from provegym.synth.unmet import Aims

if TYPE_CHECKING:
    from provegym.llm.teacher import Answer
    from provegym.synth.asker import Complete
    from provegym.synth.make import Outcome
    from provegym.synth.suspended import Step, Suspended


class Hand:
    """The process; one call at a time. A model's candidates stand still in it between calls."""

    def __init__(self, order: bytes, teacher: str) -> None:
        """`order` and `teacher` are an `Order` and a `config.Teacher` as JSON.

        The process has its own folders that modules lie in; those of the order are looked at last.
        """
        told = msgspec.json.decode(order, type=Order)
        sys.path += [folder for folder in told.path if folder not in sys.path]
        self._worker = Worker(told)
        self._teacher = config.Teacher.model_validate_json(teacher)
        self._begun: dict[int, Suspended] = {}

    def version(self) -> str:
        """Of provegym, as this process has it."""
        return __version__

    def answer(self, request: bytes) -> bytes:
        """As `Worker.answer`."""
        return self._worker.answer(request)

    def begin(self, i: int, k: int, aims: Aims) -> Step:
        """Make candidate `i` for place `k` until it asks the model, or to its end."""
        from provegym.synth.model_make import ModelMaker
        from provegym.synth.suspended import Suspended

        def make(complete: Complete) -> Outcome:
            maker = ModelMaker(self._worker.maker, self._teacher, complete, lambda line: None)
            return maker.make(i, k, aims)

        self._begun[i] = Suspended(make)
        return self.go_on(i)

    def go_on(self, i: int, answer: Answer | None = None) -> Step:
        """Go on with candidate `i`, after the answer to what it asked last."""
        from provegym.synth.suspended import Ask

        step = self._begun[i].step(answer)
        if not isinstance(step, Ask):
            del self._begun[i]
        return step

    def drop(self, i: int) -> None:
        """Nobody wants candidate `i` any more."""
        self._begun.pop(i).drop()
