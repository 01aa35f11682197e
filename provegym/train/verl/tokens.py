"""One episode as verl's tokens: what was read and what was written, each token once.

Sampled ids are kept as they were sampled. What is read in between is rendered by verl's continuous
token builder and appended, so the sequence that is trained on is the one that the model saw.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from verl.utils.tokenizer.continuous_token import ContinuousTokenBuilder

Message = dict[str, Any]


class Tokens:
    """Ids with `mask` 1 where the policy wrote the token. `logprobs` are the sampler's own."""

    def __init__(self, tokenizer: Any, builder: Any) -> None:
        self.tokenizer, self.builder = tokenizer, builder
        self.ids: list[int] = []
        self.mask: list[int] = []
        self.logprobs: list[float] = []
        self.end = int(tokenizer.eos_token_id)
        self._special = _special(tokenizer)

    @property
    def prompt(self) -> list[int]:
        """The ids up to the first reply."""
        return self.ids[: len(self.ids) - len(self.mask)]

    @property
    def response(self) -> list[int]:
        """All ids after the prompt."""
        return self.ids[len(self.ids) - len(self.mask) :]

    def begin(self, messages: Sequence[Message], tools: list[dict[str, Any]]) -> None:
        """Read the prompt."""
        safe = [self.plain(message) for message in messages]
        self.ids = list(self.builder.build_initial_tokens(safe, tools=tools or None))

    def between(self, messages: Sequence[Message]) -> list[int]:
        """The ids of what follows a reply: results or a user's turn, and the next reply's start.

        They do not depend on the tools, which stand in the system block alone.
        """
        safe = [self.plain(message) for message in messages]
        before: list[Message] = [{"role": "user", "content": ""}]
        start = self.ids if self.ids[-1] == self.end else [*self.ids, self.end]
        merged = self.builder.merge_context_tokens(before, before + safe, start).token_ids
        ids: list[int] = merged[len(self.ids) :]
        if type(self.builder) is not ContinuousTokenBuilder:
            return ids
        cut = len(start) - len(self.ids)  # verl's builder for unknown families joins without it
        return [*ids[:cut], *self._after_end(), *ids[cut:]]

    def _after_end(self) -> list[int]:
        """What the chat template puts between the end of a reply and the next message."""
        said = [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}]
        shown = self.tokenizer.apply_chat_template(said, tokenize=True, return_dict=False)
        last = max(place for place, token in enumerate(shown) if token == self.end)
        return list(shown[last + 1 :])

    def read(self, ids: Sequence[int]) -> None:
        """Append ids that the policy did not write."""
        self._append(ids, 0, [0.0] * len(ids))

    def write(self, ids: Sequence[int], logprobs: Sequence[float]) -> None:
        """Append ids that the policy wrote."""
        self._append(ids, 1, logprobs)

    def _append(self, ids: Sequence[int], mark: int, logprobs: Sequence[float]) -> None:
        self.ids.extend(ids)
        self.mask.extend([mark] * len(ids))
        self.logprobs.extend(logprobs)

    def text(self, ids: Sequence[int]) -> str:
        """The text of a reply, without its end token."""
        body = list(ids[:-1] if ids and ids[-1] == self.end else ids)
        return str(self.tokenizer.decode(body, skip_special_tokens=False))

    def plain(self, message: Mapping[str, Any]) -> Message:
        """A message for the chat template. Its text can make no control token: `<|im_end|>` in a
        tool's result is shown as `< |im_end|>`.
        """
        kept = {key: message[key] for key in ("role", "name", "tool_call_id") if key in message}
        content = str(message.get("content") or "").encode("utf-8", "replace").decode("utf-8")
        return {**kept, "content": self._special.sub(lambda m: f"{m[0][0]} {m[0][1:]}", content)}


def _special(tokenizer: Any) -> re.Pattern[str]:
    """Finds the texts of control tokens."""
    found = [str(token) for token in tokenizer.added_tokens_decoder.values() if token.special]
    return re.compile("|".join(map(re.escape, sorted(found, key=len, reverse=True))) or r"(?!)")
