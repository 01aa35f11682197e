"""One episode over OpenEnv, as the rollout function of a trainer plays it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from openenv import GenericEnvClient

Messages = list[dict[str, Any]]


def rollout(
    url: str, index: int, generate: Callable[[Messages, list[Any]], str]
) -> tuple[Messages, float]:
    """Play the task of that number; the conversation and its reward.

    `generate` applies the model's chat template to messages and tools, and samples a text.
    """
    with GenericEnvClient(base_url=url).sync() as env:
        heard = env.reset(index=index)
        messages = heard.observation["messages"]
        while not heard.done:
            text = generate(messages, heard.observation["tools"])
            heard = env.step({"content": text})
            messages += [{"role": "assistant", "content": text}, *heard.observation["messages"]]
    return messages, heard.reward
