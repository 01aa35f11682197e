"""Patience with an endpoint: what is asked again, how often, for how long, and what it counts."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

import pytest

from provegym.errors import EndpointDown, ModelFault
from provegym.llm import endpoint as endpoint_module
from provegym.llm.dialect import Request
from provegym.llm.ledger import NOTHING, Ledger
from provegym.llm.scripted import Response, ScriptedServer, fails, says
from provegym.llm.teacher import Teacher

OK = says("ok", usage=(5, 2))


def user(text: str) -> list[dict[str, Any]]:
    return [{"role": "user", "content": text}]


async def once(teacher: Teacher) -> tuple[Any, Ledger]:
    """One request, whatever becomes of it, and the account after it."""
    (answer,) = await asyncio.gather(
        teacher.complete(user("a"), seed=1, max_tokens=64), return_exceptions=True
    )
    return answer, teacher.ledger


@pytest.mark.parametrize("status", [408, 409, 429, 500, 502, 503, 504, 529])
def test_passing_failures_are_asked_again(endpoint: ScriptedServer, desk: Any, status: int) -> None:
    endpoint.answers = [fails(status), fails(status), OK]
    answer, ledger = desk.run(once)
    assert (answer.content, ledger.retries, ledger.answered.requests) == ("ok", 2, 1)


@pytest.mark.parametrize("status", [429, 500, 502, 503])
def test_what_the_endpoint_turned_away_costs_nothing(
    endpoint: ScriptedServer, desk: Any, status: int
) -> None:
    endpoint.answers = [fails(status), OK]
    assert desk.run(once)[1].lost == NOTHING
    assert desk.run(once)[1].lost == NOTHING  # nor in the file


def test_the_endpoint_says_how_long_to_wait(endpoint: ScriptedServer, desk: Any) -> None:
    endpoint.answers = [fails(429, "slow down", **{"retry-after-ms": "80"}), OK]
    desk.ask()
    first, second = (seen.at for seen in endpoint.seen)
    assert second - first >= 0.08  # its own pause would be a millisecond
    assert "slow down" in desk.told[0]
    assert "trying again in 0.1 s" in desk.told[0]


@pytest.mark.parametrize(
    ("broken", "told"),
    [
        (replace(OK, cut=True), "Connection error"),
        (replace(OK, body=b"<html>busy</html>"), "no chat completion"),
        (fails(504, "upstream timed out"), "upstream timed out"),
    ],
)
def test_an_answer_that_was_lost_is_asked_for_again_but_not_for_ever(
    endpoint: ScriptedServer, desk: Any, broken: Response, told: str
) -> None:
    endpoint.answers = [broken, OK]
    answer, ledger = desk.run(once, patience=0)  # it is there, so nothing is waited for
    assert (answer.content, ledger.lost.requests) == ("ok", 1)
    endpoint.seen.clear()
    endpoint.answers = [broken]
    desk.file.unlink()
    answer, ledger = desk.run(once, retries=1)
    assert type(answer) is ModelFault
    assert told in str(answer)
    assert len(endpoint.seen) == 2
    assert (ledger.lost.requests, ledger.lost.completion_tokens) == (2, 128)


def test_an_answer_that_does_not_come_in_time_is_asked_for_again_but_not_for_ever(
    endpoint: ScriptedServer, desk: Any
) -> None:
    endpoint.answers = [replace(OK, hold=True), OK]
    answer, ledger = desk.run(once, timeout=0.2, retries=100)
    assert answer.content == "ok"
    assert ledger.lost.requests >= 1
    endpoint.answers = [Response(hold=True)]
    desk.file.unlink()
    answer, ledger = desk.run(once, timeout=0.05, retries=1)
    assert type(answer) is ModelFault
    assert "no answer within 0.05 s (attempt 2)" in str(answer)
    assert (ledger.lost.requests, ledger.lost.completion_tokens) == (2, 128)


def test_lost_requests_count_after_reopening_too(endpoint: ScriptedServer, desk: Any) -> None:
    endpoint.answers = [replace(OK, cut=True), OK]
    _, ledger = desk.run(once)
    assert ledger.lost.requests == 1
    again = desk.run(once)[1]
    assert (again.lost, again.answered, again.hits) == (ledger.lost, ledger.answered, 1)


def test_an_endpoint_that_is_down_is_waited_for(endpoint: ScriptedServer, desk: Any) -> None:
    endpoint.answers = [OK]
    endpoint.down()

    def notify(line: str) -> None:
        desk.told.append(line)
        if len(desk.told) == 4:
            endpoint.up()

    desk.notify = notify
    answer, ledger = desk.run(once)
    assert (answer.content, ledger.retries, ledger.lost) == ("ok", 4, NOTHING)
    assert "Connection error" in desk.told[0]


@pytest.mark.parametrize("status", [None, 429, 500, 503])
def test_an_endpoint_that_stays_down_ends_the_waiting(
    endpoint: ScriptedServer, desk: Any, status: int | None
) -> None:
    endpoint.answers = [fails(status or 500, "being repaired")]
    if status is None:
        endpoint.down()
    answer, ledger = desk.run(once, patience=0.2, retries=0)  # these are no retries of its own
    assert isinstance(answer, EndpointDown)
    assert "run the same command again later: what is finished is kept" in str(answer)
    assert ("being repaired" in str(answer)) == (status is not None)
    assert (ledger.spent, ledger.answered) == (NOTHING, NOTHING)


def test_a_longer_pause_than_is_waited_ends_it_at_once(endpoint: ScriptedServer, desk: Any) -> None:
    endpoint.answers = [fails(429, "come back tomorrow", **{"Retry-After": "86400"})]
    answer, _ = desk.run(once)
    assert isinstance(answer, EndpointDown)
    assert "come back tomorrow" in str(answer)
    assert len(endpoint.seen) == 1


def test_a_longer_pause_than_the_openai_client_would_take_is_waited_for(
    endpoint: ScriptedServer, desk: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    pauses: list[float] = []

    async def skip(seconds: float) -> None:
        pauses.append(seconds)

    endpoint.answers = [fails(429, **{"Retry-After": "300"}), OK]
    monkeypatch.setattr(asyncio, "sleep", skip)
    assert desk.ask().content == "ok"
    assert 300.0 in pauses


async def bad_among_good(teacher: Teacher) -> Any:
    """What becomes of a request that fails while others are answered all the time."""
    bad = asyncio.create_task(teacher.complete(user("bad"), seed=0))
    while not bad.done():
        await teacher.complete(user("good"), seed=teacher.ledger.answered.requests)
    (found,) = await asyncio.gather(bad, return_exceptions=True)
    return found


def test_a_request_that_fails_while_others_are_answered_fails_alone(
    endpoint: ScriptedServer, desk: Any
) -> None:
    def script(request: dict[str, Any]) -> Response:
        return fails(500, "bad input") if request["messages"] == user("bad") else OK

    endpoint.script = script
    error = desk.run(bad_among_good, retries=2)
    assert type(error) is ModelFault
    assert "bad input" in str(error)


def test_a_request_whose_turn_does_not_come_while_others_are_answered_goes_on_waiting(
    endpoint: ScriptedServer, desk: Any
) -> None:
    limited = [fails(429, "not your turn")] * 6

    def script(request: dict[str, Any]) -> Response:
        return limited.pop() if limited and request["messages"] == user("bad") else OK

    endpoint.script = script
    assert desk.run(bad_among_good, retries=2).content == "ok"
    assert limited == []


def test_being_turned_away_does_not_count_as_failing(endpoint: ScriptedServer, desk: Any) -> None:
    endpoint.answers = [fails(429)] * 5 + [replace(OK, cut=True)] * 2 + [fails(503)] * 5 + [OK]
    answer, ledger = desk.run(once, retries=2)
    assert (answer.content, ledger.retries, ledger.lost.requests) == ("ok", 12, 2)


def test_many_requests_that_fail_together_are_told_once(
    endpoint: ScriptedServer, desk: Any
) -> None:
    endpoint.answers = [fails(503)] * 60 + [OK]

    async def work(teacher: Teacher) -> None:
        await asyncio.gather(*(teacher.complete(user("a"), seed=n) for n in range(30)))

    desk.run(work)
    assert 2 <= len(desk.told) <= 10  # of 60 that failed


def test_an_endpoint_that_says_not_to_try_again_is_believed(
    endpoint: ScriptedServer, desk: Any
) -> None:
    endpoint.answers = [fails(500, "never", **{"x-should-retry": "false"})]
    answer, _ = desk.run(once)
    assert type(answer) is ModelFault
    assert len(endpoint.seen) == 1


def test_pauses_double_up_to_a_minute_and_differ_between_requests() -> None:
    one, other = (Request("m", user(text), 1, 0.5, 64) for text in "ab")
    pauses = [endpoint_module.own_pause(one, failed) for failed in range(1, 12)]
    wanted = [0.5, 1, 2, 4, 8, 16, 32, 60, 60, 60, 60]
    assert all(0.75 * most < pause <= most for pause, most in zip(pauses, wanted, strict=True))
    assert endpoint_module.own_pause(one, 5000) <= 60
    assert endpoint_module.own_pause(one, 1) != endpoint_module.own_pause(other, 1)


def test_an_endpoint_that_closes_during_a_pause_asks_no_more(
    endpoint: ScriptedServer, desk: Any
) -> None:
    endpoint.answers = [fails(503, **{"Retry-After": "60"})]

    async def work(teacher: Teacher) -> None:
        waiting = asyncio.create_task(teacher.complete(user("a"), seed=1))
        while not desk.told:
            await asyncio.sleep(0)
        waiting.cancel()

    desk.run(work)
    assert len(endpoint.seen) == 1


async def many_lost(teacher: Teacher) -> list[Any]:
    """What becomes of thirty requests, one after the other."""
    return [
        (await asyncio.gather(teacher.complete(user(f"{n}"), seed=1), return_exceptions=True))[0]
        for n in range(30)
    ]


@pytest.mark.parametrize(
    ("broken", "told"),
    [
        (replace(OK, body=b"<html>welcome</html>"), "no chat completion"),
        (replace(OK, cut=True), "Connection error"),
        (fails(400, "no such field"), "no such field"),
    ],
)
def test_an_endpoint_that_never_answers_with_a_completion_is_given_up(
    endpoint: ScriptedServer, desk: Any, broken: Response, told: str
) -> None:
    endpoint.answers = [broken]
    ends = desk.run(many_lost, retries=0)
    assert [type(end) for end in ends[:19]] == [ModelFault] * 19
    assert type(ends[19]) is EndpointDown
    assert "never answered with a chat completion" in str(ends[19])
    assert told in str(ends[19])


def test_an_endpoint_that_answered_once_is_not_given_up(
    endpoint: ScriptedServer, desk: Any
) -> None:
    endpoint.answers = [OK, replace(OK, cut=True)]
    assert [type(end) for end in desk.run(many_lost, retries=0)[1:]] == [ModelFault] * 29


def test_of_many_short_pauses_the_user_hears_ever_less(endpoint: ScriptedServer, desk: Any) -> None:
    endpoint.answers = [fails(429)] * 100 + [OK]
    desk.ask()
    assert len(desk.told) == 4 + 4  # after 1, 2, 3 and 4 failures, then after 8, 16, 32 and 64
