"""An episode's ids are those that the chat template gives its messages, for each model family."""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec
import pytest

from provegym import worlds
from provegym.dataset.conversation import opening
from provegym.rollout.loop import run_episode
from provegym.types import Task
from tests.train.verl import small

pytestmark = pytest.mark.verl

FAMILIES = {"qwen3": small.QWEN, "granite": small.GRANITE}


def builder_of(tokenizer: Any, family: str) -> Any:
    from verl.utils.tokenizer.continuous_token_wiring import create_continuous_token_builder

    return create_continuous_token_builder(tokenizer, hf_model_type=family)


@pytest.mark.parametrize("family", FAMILIES)
def test_calls_results_and_replies_are_as_the_template_has_them(
    family: str, tasks: list[Task]
) -> None:
    from provegym.train.verl.formats import FORMATS
    from provegym.train.verl.policy import Budget, ServedPolicy
    from provegym.train.verl.tokens import Tokens

    tokenizer = small.tokenizer(small.rendered(tasks, FAMILIES[family]), FAMILIES[family])
    tokens = Tokens(tokenizer, builder_of(tokenizer, family))
    said = f"{small.call('get_lamp', room='hall')}\n{small.call('get_lamp', room='attic')}"
    server = small.Scripted(tokenizer, lambda prompt, n: [said, "Both are off."][n])
    parse = FORMATS["granite" if family == "granite" else "hermes"]
    policy = ServedPolicy(server, "e", {}, tokens, parse, Budget(900, 600, 5))
    session = worlds.open_session(tasks[0])
    trace = asyncio.run(run_episode(tasks[0], session, policy, trace_id="e"))
    assert [call.outcome for call in trace.calls] == ["ok", "ok"]
    shown = [
        *opening(tasks[0]),
        {"role": "assistant", "content": said},
        {"role": "tool", "content": '{"id":"hall","level":0}'},
        {"role": "tool", "content": '{"id":"attic","level":0}'},
        {"role": "assistant", "content": "Both are off."},
    ]
    tools = msgspec.to_builtins(list(tasks[0].tools))
    text = tokenizer.apply_chat_template(shown, tools=tools, tokenize=False)
    assert tokenizer.decode(tokens.ids) == text.removesuffix("\n")


@pytest.mark.parametrize("family", FAMILIES)
def test_a_reply_without_its_end_is_closed_before_it_is_answered(
    family: str, tasks: list[Task]
) -> None:
    from provegym.train.verl.tokens import Tokens

    tokenizer = small.tokenizer(small.rendered(tasks, FAMILIES[family]), FAMILIES[family])
    answer = [{"role": "user", "content": "Go on."}]
    read = []
    for end in ([], [tokenizer.eos_token_id]):
        tokens = Tokens(tokenizer, builder_of(tokenizer, family))
        tokens.begin(opening(tasks[0]), [])
        ids = [*tokenizer.encode("Half a", add_special_tokens=False), *end]
        tokens.write(ids, [-1.0] * len(ids))
        between = tokens.between(answer)
        assert between.count(tokenizer.eos_token_id) == (1 if end else 2)
        read.append(tokens.ids + between)
    assert read[0] == read[1]


def test_what_is_read_later_does_not_depend_on_the_tools(qwen: Any, tasks: list[Task]) -> None:
    builder = builder_of(qwen, "qwen3")
    before = [{"role": "user", "content": "a"}]
    after = [*before, {"role": "tool", "content": "{}", "name": "get_lamp"}]
    tools = msgspec.to_builtins(list(tasks[0].tools))
    with_tools = builder.merge_context_tokens(before, after, [5], tools=tools).token_ids
    assert builder.merge_context_tokens(before, after, [5]).token_ids == with_tools
