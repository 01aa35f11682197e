"""The teacher: what it sends, what it makes of the answers, and what it keeps."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from typing import Any

import pytest

from provegym.errors import BudgetSpent, InputError, ModelFault
from provegym.llm.ledger import Spent
from provegym.llm.scripted import Response, ScriptedServer, fails, says
from provegym.llm.teacher import Teacher
from provegym.rollout.reply import ToolCall
from provegym.types import Usage

PAY = {"type": "function", "function": {"name": "pay", "description": "", "parameters": {}}}
CALL = {"id": "c1", "type": "function", "function": {"name": "pay", "arguments": '{"x": 1}'}}
SCHEMA = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}


def user(text: str) -> list[dict[str, Any]]:
    return [{"role": "user", "content": text}]


def test_an_answer_holds_text_usage_and_why_it_ended(endpoint: ScriptedServer, desk: Any) -> None:
    endpoint.answers = [says("Hello.", finish="length", usage=(5, 2))]
    answer = desk.ask()
    assert (answer.content, answer.calls, answer.finish) == ("Hello.", (), "length")
    assert (answer.usage, answer.cached, answer.overflow) == (Usage(5, 2), False, False)
    assert answer.raw == {"role": "assistant", "content": "Hello."}


def test_settings_and_what_is_given_for_one_request_are_sent(
    endpoint: ScriptedServer, desk: Any
) -> None:
    endpoint.answers = [says("ok")]

    async def work(teacher: Teacher) -> None:
        await teacher.complete(user("a"), [PAY], seed=7)
        await teacher.complete(user("a"), seed=7, temperature=1, max_tokens=9)

    desk.run(work, temperature=0.2, max_tokens=99, extra={"top_k": 20})
    first, second = endpoint.requests
    assert first == {
        **{"model": "m", "messages": user("a"), "tools": [PAY], "top_k": 20},
        **{"seed": 7, "temperature": 0.2, "max_tokens": 99},
    }
    assert (second["temperature"], second["max_tokens"], "tools" in second) == (1.0, 9, False)
    assert endpoint.seen[0].key == "Bearer k"


def test_native_calls_come_back_raw(endpoint: ScriptedServer, desk: Any) -> None:
    endpoint.answers = [says(tool_calls=[CALL])]
    answer = desk.ask(tools=[PAY])
    assert (answer.calls, answer.form) == ((ToolCall("c1", "pay", '{"x": 1}'),), "native")


@pytest.mark.parametrize(
    "text",
    [
        '<tool_call>{"name": "pay", "arguments": {"x": 1}}</tool_call>',
        '```json\n{"name": "pay", "arguments": {"x": 1}}\n```',
    ],
)
def test_in_plain_json_calls_are_read_from_the_text(
    endpoint: ScriptedServer, desk: Any, text: str
) -> None:
    endpoint.answers = [says(text)]
    answer = desk.ask(tools=[PAY], mode="json")
    assert answer.calls == (ToolCall("", "pay", '{"x": 1}'),)
    assert "tools" not in endpoint.requests[0]


def test_where_no_tools_are_offered_nothing_is_taken_for_a_call(
    endpoint: ScriptedServer, desk: Any
) -> None:
    text = '{"name": "pay", "arguments": {}}'
    endpoint.answers = [says(text)]
    assert (desk.ask().content, desk.ask().calls) == (text, ())


@pytest.mark.parametrize(
    "message",
    [
        {"content": "Yes.", "reasoning_content": "Hm."},
        {"content": "Yes.", "reasoning": "Hm."},
        {"content": "<think>Hm.</think>\n\nYes."},
        {"content": "Hm.\n</think>\n\nYes."},
    ],
)
@pytest.mark.parametrize("tools", [None, [PAY]])
def test_what_a_model_thinks_is_kept_apart(
    endpoint: ScriptedServer, desk: Any, message: dict[str, Any], tools: Any
) -> None:
    endpoint.answers = [says(**message)]
    answer = desk.ask(tools=tools)
    assert (answer.content, answer.reasoning) == ("Yes.", "Hm.")


def test_a_refusal_is_told(endpoint: ScriptedServer, desk: Any) -> None:
    endpoint.answers = [says(refusal="I will not.", finish="content_filter")]
    answer = desk.ask()
    assert (answer.content, answer.refusal) == ("", "I will not.")
    assert answer.finish == "content_filter"


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('{"n": 3}', {"n": 3}),
        ('```json\n{"n": 3}\n```', {"n": 3}),
        ('<think>{"n": 2}</think>{"n": 3}', {"n": 3}),
        ('{"name": "x", "arguments": {}}', {"name": "x", "arguments": {}}),
        ("[1, 2] as you asked", [1, 2]),
        ("3", 3),
        ("3 of them", None),
        ('{"n": ', None),
        ("I would rather not.", None),
    ],
)
def test_a_value_of_a_schema_is_read_or_none(
    endpoint: ScriptedServer, desk: Any, text: str, value: Any
) -> None:
    endpoint.answers = [says(text)]
    answer = desk.ask(schema=SCHEMA)
    assert answer.value == value
    assert endpoint.requests[0]["response_format"]["json_schema"]["schema"] == SCHEMA


UNKNOWN_FORMATS = [
    "'response_format' of type 'json_schema' is not supported with this model",
    "This response_format type is unavailable now",
    'response_format type must be one of "text" or "json_object", but got: json_schema',
]


@pytest.mark.parametrize("message", UNKNOWN_FORMATS)
def test_an_endpoint_without_structured_output_gets_the_schema_in_the_prompt_from_then_on(
    endpoint: ScriptedServer, desk: Any, message: str
) -> None:
    def script(request: dict[str, Any]) -> Response:
        return fails(400, message) if "response_format" in request else says('{"n": 3}')

    async def work(teacher: Teacher) -> list[Any]:
        return [(await teacher.complete(user("n?"), seed=n, schema=SCHEMA)).value for n in (1, 2)]

    endpoint.script = script
    assert desk.run(work) == [{"n": 3}, {"n": 3}]
    assert ["response_format" in request for request in endpoint.requests] == [True, False, False]
    assert json.dumps(SCHEMA) in endpoint.requests[2]["messages"][0]["content"]
    assert desk.told == ["the endpoint does not take 'response_format'; going on without it"]


def test_a_schema_that_the_endpoint_finds_invalid_is_a_fault(
    endpoint: ScriptedServer, desk: Any
) -> None:
    endpoint.answers = [fails(400, "Invalid schema for response_format 'answer': no type")]
    with pytest.raises(ModelFault, match="no type"):
        desk.ask(schema=SCHEMA)
    assert len(endpoint.requests) == 1


def test_fields_that_an_endpoint_does_not_know_are_left_out(
    endpoint: ScriptedServer, desk: Any
) -> None:
    errors = {
        "max_tokens": "Unsupported parameter: 'max_tokens' is not supported with this model. Use "
        "'max_completion_tokens' instead.",
        "temperature": "Unsupported value: 'temperature' does not support 0.7 with this model.",
        "seed": 'Invalid JSON payload received. Unknown name "seed": Cannot find field.',
    }

    def script(request: dict[str, Any]) -> Response:
        found = next((name for name in errors if name in request), None)
        return fails(400, errors[found]) if found else says("ok")

    endpoint.script = script
    assert desk.ask().content == "ok"
    assert endpoint.requests[-1] == {
        "model": "m",
        "messages": user("Hello."),
        "max_completion_tokens": 4096,
    }


def test_a_field_with_a_bad_value_is_not_left_out(endpoint: ScriptedServer, desk: Any) -> None:
    endpoint.answers = [fails(400, "temperature must be at most 2")]
    with pytest.raises(ModelFault, match="at most 2"):
        desk.ask()


@pytest.mark.parametrize(
    ("status", "message", "told"),
    [
        (401, "bad key", "bad key"),
        (404, "no such model", "refuses model 'm'"),
        (402, "no balance", "no balance"),
        (400, '"auto" tool choice requires --enable-auto-tool-choice', 'teacher.mode = "json"'),
        (400, "m does not support tools", 'teacher.mode = "json"'),
        (500, "tools param requires --jinja flag", 'teacher.mode = "json"'),
    ],
)
def test_what_the_user_has_to_mend_is_told_at_once(
    endpoint: ScriptedServer, desk: Any, status: int, message: str, told: str
) -> None:
    endpoint.answers = [fails(status, message)]
    with pytest.raises(InputError, match=told):
        desk.ask(tools=[PAY])
    assert len(endpoint.requests) == 1


def test_a_used_up_quota_is_no_passing_rate_limit(endpoint: ScriptedServer, desk: Any) -> None:
    endpoint.answers = [fails(429, "quota exceeded", code="insufficient_quota")]
    with pytest.raises(InputError, match="quota exceeded"):
        desk.ask()


def test_a_conversation_that_is_too_long_overflows_and_costs_nothing(
    endpoint: ScriptedServer, desk: Any
) -> None:
    endpoint.answers = [fails(400, "maximum context length is 4096 tokens, max_tokens unsupported")]

    async def work(teacher: Teacher) -> tuple[Any, Spent]:
        return await teacher.complete(user("a"), seed=1), teacher.ledger.spent

    answer, spent = desk.run(work)
    assert (answer.overflow, answer.content, spent) == (True, "", Spent())
    assert len(endpoint.requests) == 1


def test_a_request_is_answered_from_the_file_also_by_a_later_process(
    endpoint: ScriptedServer, desk: Any
) -> None:
    endpoint.answers = [says("first", usage=(5, 2), cached=4), says("second")]

    async def work(teacher: Teacher) -> Any:
        answers = [await teacher.complete(user("a"), seed=seed) for seed in (1, 1, 2)]
        return [(a.content, a.cached) for a in answers], teacher.ledger

    answers, ledger = desk.run(work)
    assert answers == [("first", False), ("first", True), ("second", False)]
    assert (ledger.answered, ledger.hits) == (Spent(2, 16, 5, 4), 1)
    answers, ledger = desk.run(work)
    assert answers == [("first", True), ("first", True), ("second", True)]
    assert (ledger.answered, ledger.hits, len(endpoint.requests)) == (Spent(2, 16, 5, 4), 3, 2)


def test_what_is_not_sent_makes_no_other_request(endpoint: ScriptedServer, desk: Any) -> None:
    endpoint.answers = [says("ok")]
    plain = {"role": "assistant", "content": "Hm."}

    async def work(teacher: Teacher) -> None:
        await teacher.complete([plain], seed=1, temperature=1)
        await teacher.complete([{**plain, "reasoning_content": "x"}], seed=1, temperature=1.0)

    desk.run(work)
    assert len(endpoint.requests) == 1


def test_the_same_request_asked_many_times_at_once_goes_out_once(
    endpoint: ScriptedServer, desk: Any
) -> None:
    endpoint.answers = [says("ok")]

    async def work(teacher: Teacher) -> list[bool]:
        answers = await asyncio.gather(*(teacher.complete(user("a"), seed=1) for _ in range(20)))
        return [answer.cached for answer in answers]

    assert sorted(desk.run(work)) == [False] + [True] * 19
    assert len(endpoint.requests) == 1


def test_a_failure_is_told_to_all_who_asked_and_may_be_asked_again(
    endpoint: ScriptedServer, desk: Any
) -> None:
    endpoint.answers = [fails(400, "bad day"), says("ok")]

    async def work(teacher: Teacher) -> Any:
        both = (teacher.complete(user("a"), seed=1) for _ in range(2))
        failed = await asyncio.gather(*both, return_exceptions=True)
        return [str(error) for error in failed], await teacher.complete(user("a"), seed=1)

    failed, answer = desk.run(work)
    assert all("bad day" in error for error in failed)
    assert answer.content == "ok"


def test_an_answer_without_usage_counts_at_its_worst(endpoint: ScriptedServer, desk: Any) -> None:
    endpoint.answers = [says("ok", usage=None)]

    async def work(teacher: Teacher) -> Spent:
        await teacher.complete(user("Hello."), seed=1, max_tokens=50)
        return teacher.ledger.answered

    spent = desk.run(work)
    assert (spent.requests, spent.completion_tokens) == (1, 50)
    assert spent.prompt_tokens == len(json.dumps(endpoint.requests[0]))


def test_a_lone_surrogate_in_the_history_is_sent_as_its_escape(
    endpoint: ScriptedServer, desk: Any
) -> None:
    endpoint.answers = [says("ok")]
    assert desk.ask("odd \ud800").content == "ok"
    assert endpoint.requests[0]["messages"][0]["content"] == "odd \\ud800"


class Gate:
    """Lets requests go on when so many of them wait, or when it is opened."""

    def __init__(self, size: int) -> None:
        self.size, self.waiting, self.open = size, 0, asyncio.Event()

    def release(self) -> None:
        """From another thread."""
        self.loop.call_soon_threadsafe(self.open.set)

    async def __call__(self, request: dict[str, Any]) -> Response:
        self.loop = asyncio.get_running_loop()
        self.waiting += 1
        if self.waiting >= self.size:
            self.open.set()
        await self.open.wait()
        return says("ok")


@pytest.mark.parametrize(("slots", "asked"), [(256, 300), (3, 10)])
def test_so_many_requests_as_there_are_slots_are_under_way_at_once(
    endpoint: ScriptedServer, desk: Any, slots: int, asked: int
) -> None:
    endpoint.script = Gate(slots)

    async def work(teacher: Teacher) -> Spent:
        await asyncio.gather(*(teacher.complete(user("a"), seed=n) for n in range(asked)))
        return teacher.ledger.answered

    spent = desk.run(work, concurrency=slots)
    assert (endpoint.peak, len(endpoint.requests), spent.requests) == (slots, asked, asked)


def test_what_is_on_the_wire_is_kept_when_a_run_ends_early(
    endpoint: ScriptedServer, desk: Any
) -> None:
    """One slot: of three requests one is on the wire and two have not been sent."""
    gate = endpoint.script = Gate(99)

    async def work(teacher: Teacher) -> None:
        tasks = [asyncio.create_task(teacher.complete(user("a"), seed=n)) for n in range(3)]
        while not gate.waiting:
            await asyncio.sleep(0)
        for task in tasks:
            task.cancel()
        gate.release()
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        desk.run(work, concurrency=1)
    assert len(endpoint.requests) == 1
    again = desk.run(lambda teacher: teacher.complete(user("a"), seed=0))
    assert (again.cached, len(endpoint.requests)) == (True, 1)


def test_a_cancelled_run_ends_at_once_and_its_requests_count_as_lost(
    endpoint: ScriptedServer, desk: Any
) -> None:
    endpoint.answers = [replace(says("late"), hold=True)]

    async def work(teacher: Teacher) -> None:
        waiting = asyncio.create_task(teacher.complete(user("a"), seed=1))
        while not endpoint.seen:
            await asyncio.sleep(0)
        waiting.cancel()
        raise asyncio.CancelledError

    with pytest.raises(asyncio.CancelledError):
        desk.run(work)
    lost = desk.open().ledger.lost
    assert (lost.requests, lost.completion_tokens) == (1, 4096)


def test_a_spent_budget_stops_before_the_next_request_and_keeps_what_is_finished(
    endpoint: ScriptedServer, desk: Any
) -> None:
    endpoint.answers = [says("ok", usage=(100, 200))]

    async def work(teacher: Teacher) -> int:
        for number in range(10):
            await teacher.complete(user("a"), seed=number, max_tokens=200)
        return teacher.ledger.hits

    with pytest.raises(BudgetSpent, match=r"the budget of 1,000 tokens is spent: 3 requests"):
        desk.run(work, budget_tokens=1_000)
    done = len(endpoint.requests)
    assert done == 3  # a fourth would have had 100 tokens left
    with pytest.raises(BudgetSpent):
        desk.run(work, budget_tokens=1_000)  # what was spent before counts
    assert len(endpoint.requests) == done
    assert desk.run(work, budget_tokens=10_000) == done
    assert len(endpoint.requests) == 10


def test_requests_at_once_do_not_exceed_a_budget_of_money(
    endpoint: ScriptedServer, desk: Any
) -> None:
    endpoint.answers = [says("ok", usage=(50, 200))]
    prices = {"prompt": 1.0, "completion": 5.0}

    async def work(teacher: Teacher) -> tuple[float, int]:
        asked = (teacher.complete(user("a"), seed=n, max_tokens=200) for n in range(40))
        answers = await asyncio.gather(*asked, return_exceptions=True)
        refused = [error for error in answers if isinstance(error, BaseException)]
        assert all(isinstance(error, BudgetSpent) for error in refused)
        return teacher.ledger.usd, len(refused)

    usd, refused = desk.run(work, budget_usd=0.02, prices=prices)
    done = len(endpoint.requests)
    assert usd == pytest.approx(done * (50 * 1 + 200 * 5) / 1e6)
    assert usd <= 0.02 < usd + 0.0013  # one more might have exceeded it
    assert done + refused == 40
