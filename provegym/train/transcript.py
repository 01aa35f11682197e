"""Conversations as token ids: what a policy read, what it wrote, and which is which.

Ids are only ever appended. Sampled ids are kept as they were sampled and never made from text
again, so the sequence that is trained on is the sequence that the model produced.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from provegym.train import chat
from provegym.train.chat import Message, Piece, Tool


class Codec:
    """Text to ids and back. Special tokens come from control pieces alone, never from content.

    `max_response_tokens` cuts a tool's result that is longer (with an ellipsis), so that one long
    listing cannot eat the episode; None never cuts.
    """

    def __init__(self, tokenizer: Any, max_response_tokens: int | None = None) -> None:
        self.tokenizer = tokenizer
        self.max_response_tokens = max_response_tokens
        self._backend = tokenizer.backend_tokenizer
        self.start = int(tokenizer.convert_tokens_to_ids(chat.IM_START))
        self.end = int(tokenizer.convert_tokens_to_ids(chat.IM_END))

    def text(self, text: str) -> list[int]:
        """The ids of content; `<|im_end|>` written by a user or a tool is ordinary text."""
        self._backend.encode_special_tokens = True
        ids: list[int] = self._backend.encode(text, add_special_tokens=False).ids
        return ids

    def pieces(self, pieces: Sequence[Piece]) -> list[int]:
        """The ids of rendered pieces, each encoded by itself."""
        control = {chat.IM_START: self.start, chat.IM_END: self.end}
        rows = ([control[text]] if is_control else self.text(text) for text, is_control in pieces)
        return [token for row in rows for token in row]

    def opening(self, messages: Sequence[Message], tools: Sequence[Tool]) -> list[int]:
        """The prompt: up to where the first reply starts."""
        return self.pieces(chat.opening(self._cut(messages), tools))

    def continuation(self, messages: Sequence[Message], new_tools: Sequence[Tool]) -> list[int]:
        """What is read between two replies."""
        return self.pieces(chat.continuation(self._cut(messages), new_tools))

    def reply(self, message: Message) -> list[int]:
        """The ids that a policy has to write to say `message`, the end token included."""
        return [*self.text(chat.assistant_text(message)), self.end]

    def decode(self, ids: Sequence[int]) -> str:
        """The text of sampled ids, without a final end token."""
        body = list(ids[:-1] if ids and ids[-1] == self.end else ids)
        return str(self._backend.decode(body, skip_special_tokens=False))

    def cuts(self, message: Message) -> bool:
        """Whether a tool's result is too long to be shown whole."""
        return message["role"] == "tool" and self._short(message) is not message

    def _cut(self, messages: Sequence[Message]) -> list[Message]:
        return [self._short(m) if m["role"] == "tool" else m for m in messages]

    def _short(self, message: Message) -> Message:
        limit = self.max_response_tokens
        text = chat.clean(str(message.get("content") or ""))
        if limit is None or len(text) <= limit:  # a token is at least one character
            return message
        ids = self.text(text)
        if len(ids) <= limit:
            return message
        kept = str(self._backend.decode(ids[:limit], skip_special_tokens=False))
        return {**message, "content": kept + "…"}


@dataclass
class Transcript:
    """One episode's ids. `mask` is 1 where the policy wrote the token and 0 where it read it."""

    codec: Codec
    ids: list[int] = field(default_factory=list)
    mask: list[int] = field(default_factory=list)
    logprobs: list[float] = field(default_factory=list)
    prompt_length: int = 0
    _seen: int = 0
    _tools: set[str] = field(default_factory=set)

    def read(self, messages: Sequence[Message], tools: Sequence[Tool]) -> list[int]:
        """Append all that is new in `messages` and `tools` since the last reply; the new ids.

        The first unseen message is the policy's own reply, which is already here as it was
        sampled.
        """
        new_tools = [t for t in tools if t["function"]["name"] not in self._tools]
        self._tools.update(t["function"]["name"] for t in new_tools)
        if not self.ids:
            ids = self.codec.opening(messages, tools)
            self.prompt_length = len(ids)
        else:
            own_end = [] if self.ids[-1] == self.codec.end else [self.codec.end]
            ids = own_end + self.codec.continuation(messages[self._seen + 1 :], new_tools)
        self._seen = len(messages)
        self._append(ids, 0, [0.0] * len(ids))
        return ids

    def write(self, ids: Sequence[int], logprobs: Sequence[float] = ()) -> None:
        """Append what the policy wrote."""
        self._append(ids, 1, list(logprobs) or [0.0] * len(ids))

    def _append(self, ids: Sequence[int], mark: int, logprobs: list[float]) -> None:
        self.ids.extend(ids)
        self.mask.extend([mark] * len(ids))
        self.logprobs.extend(logprobs)

    @property
    def prompt_ids(self) -> list[int]:
        """The ids up to the first reply."""
        return self.ids[: self.prompt_length]

    @property
    def completion_ids(self) -> list[int]:
        """All ids after the prompt, tool results and later user turns included."""
        return self.ids[self.prompt_length :]

    @property
    def completion_mask(self) -> list[int]:
        """1 where `completion_ids` were written by the policy."""
        return self.mask[self.prompt_length :]
