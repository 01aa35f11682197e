"""The policy of one episode: verl's model servers behind the agent loop's interface."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Any

from msgspec import Struct

from provegym.errors import InputError, ModelFault
from provegym.records import encode
from provegym.rollout.parse import Parsed
from provegym.rollout.reply import Reply
from provegym.train.adapter import announcement
from provegym.train.verl.tokens import Message, Tokens
from provegym.types import Usage


class Budget(Struct, frozen=True):
    """Tokens of the prompt and of all that follows it; assistant messages of the episode."""

    prompt: int
    response: int
    replies: int


class ServedPolicy:
    """Samples from `server`, verl's `LLMServerClient`; keeps what it read and wrote in `tokens`.

    `versions` are those of the weights that the first and the last message were sampled with.
    """

    def __init__(
        self,
        server: Any,
        name: str,
        sampling: dict[str, Any],
        tokens: Tokens,
        parse: Callable[[str], Parsed],
        budget: Budget,
    ) -> None:
        """`name` keeps an episode on one server, whose cache then holds its prefix."""
        self.tokens, self.replies, self.seconds = tokens, 0, 0.0
        self.versions: tuple[int | None, int | None] = (None, None)
        self._server, self._name, self._sampling = server, name, sampling
        self._parse, self._budget = parse, budget
        self._seen = 0
        self._tools: set[str] = set()

    async def __call__(self, messages: list[Message], tools: list[dict[str, Any]]) -> Reply:
        """The next message; `overflow` once tokens or messages are used up.

        Raises `ModelFault` where the server gives none, `InputError` for a prompt that is too long.
        """
        if self.replies >= self._budget.replies or not await self._read(messages, tools):
            return Reply(overflow=True)
        room = self._budget.response - len(self.tokens.mask)
        asked, began = len(self.tokens.ids), time.perf_counter()
        ids, logprobs = await self._sample(room)
        self.seconds += time.perf_counter() - began
        self.tokens.write(ids, logprobs)
        self.replies += 1
        text = self.tokens.text(ids)
        found = self._parse(text)
        return Reply(
            content=found.content,
            calls=found.calls,
            usage=Usage(asked, len(ids)),
            raw=text,
            form=found.form,
            reasoning=found.reasoning,
        )

    async def _read(self, messages: list[Message], tools: list[dict[str, Any]]) -> bool:
        """Take in what is new; whether there is room left to answer it."""
        new = [tool for tool in tools if tool["function"]["name"] not in self._tools]
        self._tools.update(tool["function"]["name"] for tool in new)
        if not self.tokens.ids:
            await asyncio.to_thread(self.tokens.begin, messages, new)
            self._check()
        else:
            said = messages[self._seen + 1 :]  # the first unseen one is its own reply
            ids = await asyncio.to_thread(self.tokens.between, _announced(said, new))
            if len(self.tokens.mask) + len(ids) >= self._budget.response:
                return False
            self.tokens.read(ids)
        self._seen = len(messages)
        return True

    def _check(self) -> None:
        if len(self.tokens.ids) > self._budget.prompt:
            raise InputError(
                f"episode {self._name}: its prompt has {len(self.tokens.ids)} tokens, more than "
                f"max_prompt_tokens = {self._budget.prompt}; write the rows anew"
            )

    async def _sample(self, room: int) -> tuple[list[int], list[float]]:
        """At most `room` ids and their log-probabilities."""
        output = await self._server.generate(
            request_id=self._name,
            prompt_ids=list(self.tokens.ids),
            sampling_params={**self._sampling, "max_tokens": room},
        )
        ids, logprobs = list(output.token_ids)[:room], list(output.log_probs or ())[:room]
        if not ids:
            raise ModelFault(f"the model server gave no token ({output.stop_reason})")
        told = output.extra_fields
        first, last = (told.get(key, told.get("global_steps")) for key in _VERSIONS)
        self.versions = (self.versions[0] if self.replies else first, last)
        return ids, logprobs or [0.0] * len(ids)


_VERSIONS = ("min_global_steps", "max_global_steps")


def _announced(messages: list[Message], new: list[dict[str, Any]]) -> list[Message]:
    """The messages with tools that appear now, which the system block could not tell, in front of
    the user's turn.
    """
    if not new:
        return messages
    head = announcement(encode(tool).decode() for tool in new)
    *before, last = messages
    return [*before, {**last, "content": f"{head}{last['content']}"}]
