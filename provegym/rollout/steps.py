"""An episode that is played from outside: a trainer with a loop of its own gives each message.

It is the very loop of `run_episode`, held still wherever its policy is asked.
"""

from __future__ import annotations

from collections.abc import Generator
from types import coroutine
from typing import Any

from provegym.errors import InputError
from provegym.rollout.loop import DEFAULT_LIMITS, Limits, Session, run_episode
from provegym.rollout.parse import from_openai, parse
from provegym.rollout.reply import Reply
from provegym.types import Task, Trace

Message = dict[str, Any]
_Asked = tuple[list[Message], list[dict[str, Any]]]


class Steps:
    """One episode. `messages` is all that was said, `tools` what is on offer, both as OpenAI's chat
    completions have them; `trace` is None until the episode is over.

    Calls wait for their results in the thread that steps; any thread may, one at a time.
    """

    def __init__(
        self, task: Task, session: Session, *, limits: Limits = DEFAULT_LIMITS, trace_id: str
    ) -> None:
        self.task = task
        self.messages: list[Message] = []
        self.tools: list[dict[str, Any]] = []
        self.trace: Trace | None = None
        here = _Here(session)
        self._loop = run_episode(task, here, _outside, limits=limits, trace_id=trace_id)
        self._go_on(None)

    def step(self, reply: Reply) -> list[Message]:
        """Give the assistant's next message; what was said since: results, the next user turn.

        Raises `InputError` where the episode is over.
        """
        if self.trace is not None:
            raise InputError(f"episode {self.trace.id} is over ({self.trace.stop_reason})")
        known = len(self.messages) + 1  # the reply itself is no news
        self._go_on(reply)
        return self.messages[known:]

    def close(self) -> None:
        """End the episode wherever it is, and its session with it. It has no trace then."""
        self._loop.close()

    def _go_on(self, reply: Reply | None) -> None:
        try:
            self.messages, self.tools = self._loop.send(reply)
        except StopIteration as over:
            trace: Trace = over.value
            self.trace, self.messages = trace, list(trace.messages)


def reply_of(content: str | None, tool_calls: list[dict[str, Any]] | None = None) -> Reply:
    """An assistant message as a trainer has it: OpenAI's `tool_calls`, or text alone, in which
    calls are written as `parse` reads them.
    """
    if tool_calls:
        return Reply(content or "", from_openai(tool_calls), form="native")
    found = parse(content or "")
    return Reply(found.content, found.calls, form=found.form, reasoning=found.reasoning)


class _Here:
    """A session whose calls are waited for, for there is no event loop to go on meanwhile."""

    blocking = False

    def __init__(self, session: Session) -> None:
        self.call, self.offer = session.call, session.offer
        self.changes, self.digest = session.changes, session.digest
        self.close = session.close


async def _outside(messages: list[Message], tools: list[dict[str, Any]]) -> Reply:
    """The policy: hands out what it is asked, and is given the answer."""
    return await _handed_out(messages, tools)


@coroutine
def _handed_out(
    messages: list[Message], tools: list[dict[str, Any]]
) -> Generator[_Asked, Reply, Reply]:
    return (yield messages, tools)
