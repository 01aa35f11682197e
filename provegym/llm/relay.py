"""A server on loopback that stands between a benchmark's program and the model it measures.

A benchmark's own client gives up after a few attempts and writes the error down as the model's
answer. Through the relay it never sees one: requests that are turned away, lost or answered with
broken JSON are made again, for as long as the user is willing to wait. What cannot be had is
refused with a text that begins with `MARK`, so that nobody takes it for something the model said.

    with Relay({"agent": Remote("agent", "qwen", "http://127.0.0.1:8000/v1")}) as relay:
        ...  # a program that asks relay.url for the model "agent"
        relay.check()
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any

import httpx2
import openai
from openai.types import Model

from provegym.errors import EndpointDown, InputError, ModelFault, ProvegymError, UnknownName
from provegym.llm.client import address
from provegym.llm.completion import Completion, decode, on_the_wire, to_reply
from provegym.llm.endpoint import CONNECT, FIRST_PAUSE, LONGEST_PAUSE, SILENT, News
from provegym.llm.failures import PATH, Trouble, down, judge, never_answered
from provegym.llm.scripted import Json, Response, ScriptedServer, fails
from provegym.rollout.parse import json_object
from provegym.rollout.reply import Policy, Reply
from provegym.types import Task

MARK = "provegym-relay"
"""Begins every refusal of the relay; `MARK[ROLE] overflow` and `MARK[ROLE] fault` are its kinds."""
OVERFLOW = re.compile(rf"{MARK}\[(\w+)\] overflow")
FAULT = re.compile(rf"{MARK}\[(\w+)\] fault")
GONE = re.compile(r"Connection error")
"""What clients of OpenAI's library write down where the relay itself is gone, killed with us."""
_FORWARDED = (
    *("messages", "tools", "tool_choice", "temperature", "top_p", "max_tokens", "seed", "stop"),
    *("max_completion_tokens", "response_format", "parallel_tool_calls"),
)
"""Fields of a request that are passed on. Others (`store`, `stream`) say nothing to a model, and
some endpoints refuse them."""

Answerer = Callable[[Json], Response | Awaitable[Response]]
"""What a role answers to a request's body."""


@dataclass
class Traffic:
    """What a role's requests took so far; `overflows` are conversations longer than its window."""

    requests: int = 0
    retries: int = 0
    overflows: int = 0
    faults: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0


@dataclass
class Remote:
    """A role that a model endpoint plays.

    `sampling` overrides what the benchmark asks for. With `usable` an answer must hold text or
    calls with JSON arguments, as a simulated user's has to. A request may take `timeout` seconds;
    an endpoint that takes none is waited for `patience` seconds.
    """

    role: str
    model: str
    base_url: str | None = None
    sampling: Mapping[str, Any] = field(default_factory=dict)
    api_key: str | None = None
    timeout: float = 600.0
    patience: float = 300.0
    retries: int = 5
    usable: bool = False
    notify: Callable[[str], None] = lambda line: None
    traffic: Traffic = field(default_factory=Traffic)
    ended: ProvegymError | None = None
    """Why no request is passed on any more."""

    def __post_init__(self) -> None:
        self._client: openai.AsyncOpenAI | None = None
        self._where = address(self.base_url, self.api_key)
        self._lost = 0
        self._news = News(lambda line: self.notify(f"{self.role}: {line}"))

    async def __call__(self, request: Json) -> Response:
        """Pass a request on, and its answer back; a refusal where none can be had."""
        try:
            body = await self.answer(request)
        except (ModelFault, InputError) as error:
            return self._refusal("fault", str(error))
        if body is None:
            return self._refusal("overflow", "context_length_exceeded")
        return Response(body=body)

    async def answer(self, request: Json) -> bytes | None:
        """The body of the answer to a request; None where the conversation is too long.

        Raises `ModelFault` where only this request fails, and `EndpointDown` or `InputError` for
        what ends the service, at once from then on.
        """
        if self.ended is not None:
            raise self.ended
        try:
            body = await self._asked(self._body(request))
        except ModelFault as fault:
            self.traffic.faults += 1
            self._lost += 1
            if isinstance(fault, EndpointDown):
                self.ended = fault
            elif self._silent:
                self.ended = never_answered(fault)
                raise self.ended from fault
            raise
        except InputError as error:
            self.ended = error
            raise
        self.traffic.overflows += body is None
        self._lost = 0
        return body

    async def aclose(self) -> None:
        """Close the connections."""
        if self._client is not None:
            await self._client.close()
            self._client = None

    @property
    def _silent(self) -> bool:
        return self._lost >= SILENT and not self.traffic.requests

    def _body(self, request: Json) -> Json:
        body = {name: request[name] for name in _FORWARDED if request.get(name) is not None}
        body["messages"] = [on_the_wire(message) for message in request["messages"]]
        return {"model": self.model, **body, **self.sampling}

    def _refusal(self, kind: str, told: str) -> Response:
        code = "context_length_exceeded" if kind == "overflow" else "provegym_fault"
        text = f"{MARK}[{self.role}] {kind}: {told}"
        return fails(400, text, code=code, **{"x-should-retry": "false"})

    async def _asked(self, body: Json) -> bytes | None:
        """The answer's body; None where the conversation is too long for the model."""
        failed = alone = 0
        since = _now()
        while isinstance(found := await self._attempt(body), Trouble):
            failed += 1
            alone = 0 if found.busy else alone + 1
            pause = found.pause or min(LONGEST_PAUSE, FIRST_PAUSE * 2.0 ** min(failed - 1, 16))
            if alone > self.retries:
                raise ModelFault(f"model {self.model!r}: {found.told} (attempt {failed})")
            if _now() - since + pause > self.patience:
                raise down(self.model, _now() - since, found, self.patience)
            self.traffic.retries += 1
            self._news.waiting(found.told, failed, pause)
            await asyncio.sleep(pause)
        return found

    async def _attempt(self, body: Json) -> bytes | Trouble | None:
        try:
            async with asyncio.timeout(self.timeout):
                raw = (await self._open().post(PATH, cast_to=httpx2.Response, body=body)).content
            return self._counted(raw)
        except TimeoutError:
            return Trouble(f"no answer within {self.timeout:g} s", lost=True)
        except ModelFault as fault:
            return Trouble(str(fault), lost=True)
        except openai.OpenAIError as error:
            found = judge(error, self.model)
            if isinstance(found, ProvegymError):
                raise found from error
            return found

    def _open(self) -> openai.AsyncOpenAI:
        if self._client is None:
            patient = httpx2.Timeout(None, connect=CONNECT)
            self._client = openai.AsyncOpenAI(**self._where, max_retries=0, timeout=patient)
        return self._client

    def _counted(self, raw: bytes) -> bytes:
        """The body, its tokens booked. Benchmarks count them too, so none means 0."""
        completion = decode(raw)
        if self.usable:
            _check(completion)
        self.traffic.requests += 1
        self._news.answered()
        if completion.usage is None:
            none = {"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0}
            return json.dumps(json.loads(raw) | {"usage": none}).encode()
        self.traffic.prompt_tokens += completion.usage.prompt_tokens
        self.traffic.completion_tokens += completion.usage.completion_tokens
        return raw


class RemotePolicies:
    """A policy factory over a remote, for worlds of our own: no program stands in between, so that
    what ends the service ends the rollout.
    """

    def __init__(self, remote: Remote) -> None:
        self._remote = remote

    def __call__(self, task: Task, seed: int) -> Policy:
        """The policy of one episode."""

        async def policy(messages: list[Json], tools: list[Json]) -> Reply:
            told = {"messages": messages, "tools": tools or None, "seed": seed}
            body = await self._remote.answer(told)
            return Reply(overflow=True) if body is None else to_reply(decode(body), lenient=True)

        return policy

    async def aclose(self) -> None:
        """Close the connections; they open again when needed."""
        await self._remote.aclose()


class Relay:
    """The server; a context manager. A request's `model` names the role that answers it."""

    def __init__(self, roles: Mapping[str, Answerer]) -> None:
        self._roles = dict(roles)
        self._server = ScriptedServer(self._answer)

    @property
    def url(self) -> str:
        """The base URL for the benchmark's program."""
        return self._server.url

    def check(self) -> None:
        """Raise what ended the service of a role, if anything did."""
        check(self._roles)

    def __enter__(self) -> Relay:
        self._server.__enter__()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        for role in self._roles.values():
            if isinstance(role, Remote):
                self._server.in_loop(role.aclose())
        self._server.__exit__(kind, error, at)

    async def _answer(self, request: Json) -> Response:
        role = self._roles.get(str(request.get("model")))
        if role is None:
            return fails(
                404, f"the relay plays {sorted(self._roles)}, not {request.get('model')!r}"
            )
        self._server.seen.clear()  # a run asks ten thousand times; nobody looks back
        found = role(request)
        return await found if isinstance(found, Awaitable) else found


def check(roles: Mapping[str, Answerer]) -> None:
    """Raise what ended the service of one of the roles, if anything did."""
    for role in roles.values():
        if isinstance(role, Remote) and role.ended is not None:
            raise role.ended


def _check(completion: Completion) -> None:
    """Raise `ModelFault` for an answer that a benchmark cannot go on with."""
    broken = [c.name for c in completion.calls if json_object(c.arguments_text) is None]
    if broken or not (completion.calls or completion.content.strip()):
        raise ModelFault(f"an answer without text or with broken calls {broken}")


def stated(model: str, base_url: str | None, api_key: str | None = None) -> dict[str, str]:
    """What an endpoint's list of models tells of one besides its name, "" where it tells nothing:
    `template_hash` and `weights_hash`, as `provegym serve-model` does.

    Raises `UnknownName` where it lists models, this one is not among them, and asked for a word
    under that name, the endpoint knows none: an alias need not be listed.
    """
    with openai.OpenAI(**address(base_url, api_key), max_retries=0, timeout=CONNECT) as client:
        listed = _listed(client)
        if listed and model not in listed and not _answers(client, model):
            raise UnknownName("model", model, list(listed)[:20])
    card = listed.get(model)
    return {name: str(getattr(card, name, "")) for name in ("template_hash", "weights_hash")}


def _listed(client: openai.OpenAI) -> dict[str, Model]:
    """An endpoint need not list its models; a down one is told of when it is asked."""
    try:
        return {model.id: model for model in client.models.list()}
    except openai.OpenAIError:
        return {}


def _answers(client: openai.OpenAI, model: str) -> bool:
    """Whether the endpoint knows a model of that name; other mistakes are told when it is asked."""
    try:
        client.chat.completions.create(
            model=model, messages=[{"role": "user", "content": "Hi."}], max_tokens=1
        )
    except openai.NotFoundError:
        return False
    except openai.OpenAIError:
        pass
    return True


def _now() -> float:
    return asyncio.get_running_loop().time()
