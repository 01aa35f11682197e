"""What one item of a suite takes: requests, and tokens of all its prompts and all its answers.

Told as the ground truth takes it. A model that tries more often takes more; one that stops early,
less. A token is taken as four bytes, as English JSON has about.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from msgspec import Struct

from provegym.dataset import conversation
from provegym.records import encode
from provegym.rollout.loop import tools_at
from provegym.types import Task

BYTES = 4
"""Of a token."""


class Load(Struct, frozen=True):
    """What one item takes in the mean; a prompt is the whole conversation, sent again each time."""

    requests: float
    prompt: float
    completion: float


NOTHING = Load(0, 0, 0)
"""Of a part that is judged on what another part asked for."""
LOADS: Mapping[str, Load] = {
    "bfcl/base": Load(7.3, 44_008, 277),
    "bfcl/miss_func": Load(8.3, 49_010, 289),
    "bfcl/miss_param": Load(8.3, 50_034, 290),
    "bfcl/long_context": Load(7.3, 61_880, 325),
    "tau2/airline": Load(6.0, 23_347, 220),
    "tau2/retail": Load(7.9, 34_480, 290),
    "tau2/telecom": Load(14.4, 78_832, 285),
}
"""Measured over all items by `python -m benchmarks.loads`. Those of tau2 are of the agent and the
simulated user together. What is neither here nor to be read from a user's own data has no forecast.
"""


def tokens(said: Any) -> float:
    """About how many tokens something has that is sent as JSON."""
    return len(encode(said)) / BYTES


def mean(items: int, exchanges: Iterable[tuple[Any, Any]]) -> Load:
    """The load of one of so many items, from all that was sent and answered."""
    requests, prompt, completion = 0, 0.0, 0.0
    for sent, answered in exchanges:
        requests += 1
        prompt += tokens(sent)
        completion += tokens(answered)
    return Load(requests / items, prompt / items, completion / items)


def of_tasks(tasks: Iterable[Task]) -> Load:
    """Of tasks of ours, from their ground truth; no session is opened."""
    known = list(tasks)
    return mean(len(known), (found for task in known for found in _exchanges(task)))


def _exchanges(task: Task) -> Iterable[tuple[Any, Any]]:
    said, turn = conversation.messages(task), -1
    for place, message in enumerate(said):
        turn += message["role"] == "user"
        if message["role"] == "assistant":
            yield (said[:place], tools_at(task, turn)), message
