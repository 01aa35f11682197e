"""Policies without a model: the ground truth, silence, and valid calls at random.

Each is a factory `(task, seed) -> Policy`; `POLICIES` has them by name.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from provegym.rollout import pointer
from provegym.rollout.arguments import Seen, arguments_for
from provegym.rollout.reply import Policy, PolicyFactory, Reply, ToolCall
from provegym.seeding import rng
from provegym.types import GroundCall, Task

ANSWER_RATE = 0.3
"""How often the random policy answers in words instead of calling."""


def oracle(task: Task, seed: int) -> Policy:
    """Plays the ground truth, a call a message; the score's maximum.

    An argument that came from an earlier result is taken from this episode's own result, for ids
    made during an episode may differ from the teacher's. `seed` is not used.
    """
    order = task.ground_truth
    places = {call.id: place for place, (_, call) in enumerate(order)}

    async def policy(messages: list[dict[str, Any]], tools: list[dict[str, Any]]) -> Reply:
        turn = sum(m["role"] == "user" for m in messages) - 1
        results = [_value(m["content"]) for m in messages if m["role"] == "tool"]
        if len(results) == len(order) or order[len(results)][0] != turn:
            return Reply(task.turns[turn].reply or "Done.")
        call = order[len(results)][1]
        return _calling(call.name, _own_arguments(call, places, results))

    return policy


def noop(task: Task, seed: int) -> Policy:
    """Answers in words and calls nothing."""

    async def policy(messages: list[dict[str, Any]], tools: list[dict[str, Any]]) -> Reply:
        return Reply("I cannot help with that.")

    return policy


def random(task: Task, seed: int) -> Policy:
    """Calls tools at random with arguments that fit their schemas, ids taken from results seen."""
    rnd = rng(seed, "random policy")

    async def policy(messages: list[dict[str, Any]], tools: list[dict[str, Any]]) -> Reply:
        if not tools or rnd.random() < ANSWER_RATE:
            return Reply("That is all I can do.")
        seen = Seen(_value(m["content"]) for m in messages if m["role"] == "tool")
        function = rnd.choice(tools)["function"]
        return _calling(function["name"], arguments_for(function["parameters"], rnd, seen))

    return policy


POLICIES: dict[str, PolicyFactory] = {"oracle": oracle, "noop": noop, "random": random}


def _own_arguments(
    call: GroundCall, places: Mapping[str, int], results: list[Any]
) -> dict[str, Any]:
    """The arguments with every reference resolved; the recorded value where that fails."""
    arguments: Any = call.arguments
    for where, ref in call.refs.items():
        try:
            value = pointer.resolve(results[places[ref.call]], ref.path)
            arguments = pointer.replace(arguments, where, value)
        except LookupError:
            continue  # the reward compares with the recorded value in this case, too
    return dict(arguments)


def _calling(name: str, arguments: dict[str, Any]) -> Reply:
    return Reply(calls=(ToolCall("", name, json.dumps(arguments)),), form="native")


def _value(content: str) -> Any:
    """A tool message's JSON value; None for one that was cut."""
    try:
        return json.loads(content)
    except ValueError:
        return None
