"""What a policy is, and what it answers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, Protocol, runtime_checkable

from msgspec import Struct

from provegym.types import Task, Usage

CallForm = Literal["none", "native", "tags", "fence", "bare"]
"""How a message wrote its calls: `native` = the endpoint's own `tool_calls` field, `tags` =
`<tool_call>` as asked for; `fence` (a fenced code block) and `bare` (plain JSON) are lenient."""

STRICT_FORMS: frozenset[CallForm] = frozenset({"none", "native", "tags"})


class ToolCall(Struct, frozen=True):
    """A call as the policy wrote it; `arguments_text` is raw and may be broken.

    `name` is "" where it cannot be read, `id` is "" where the policy gives none.
    """

    id: str
    name: str
    arguments_text: str


class Reply(Struct, frozen=True):
    """One assistant message.

    `raw` is what the model really wrote (text or a provider's message), kept for inspection.
    `reasoning` is text the model wrote for itself; it is no part of `content`.
    `overflow` says that the conversation no longer fits the model: the episode ends here.
    `cut` says that a limit of tokens ended the message, and not the model (local models tell).
    """

    content: str = ""
    calls: tuple[ToolCall, ...] = ()
    usage: Usage = Usage()
    raw: Any = None
    form: CallForm = "none"
    reasoning: str = ""
    overflow: bool = False
    cut: bool = False


class Policy(Protocol):
    """The agent in one episode: from the messages so far and the tools, the next message.

    `messages` and `tools` are in the format of OpenAI's chat completions. Raises
    `InfrastructureError` (usually `ModelFault`) for our faults, never for what the model wrote.
    """

    async def __call__(self, messages: list[dict[str, Any]], tools: list[dict[str, Any]]) -> Reply:
        """The next assistant message."""
        ...


PolicyFactory = Callable[[Task, int], Policy]
"""Makes the policy of one episode from its task and seed."""


@runtime_checkable
class Closing(Protocol):
    """A policy or a factory that holds something until the end of its episode or run."""

    async def aclose(self) -> None:
        """Give it back."""
        ...


@runtime_checkable
class Limited(Protocol):
    """A policy whose messages can be made shorter than its factory would have them."""

    def limit(self, tokens: int) -> None:
        """Write messages of at most so many tokens; never more than all may have."""
        ...


async def aclose(thing: object) -> None:
    """Close `thing` if it is `Closing`."""
    if isinstance(thing, Closing):
        await thing.aclose()
