"""What went wrong with a request: whose fault it is, and whether to ask again."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from math import isfinite

import httpx2
import openai
from msgspec import Struct

from provegym.errors import EndpointDown, InputError, ModelFault, ProvegymError

PATH = "/chat/completions"
"""Posted to as it is: `chat.completions.create` would first compare the request with its types,
which takes more time than all the rest."""
MISCONFIGURED = (
    openai.AuthenticationError,
    openai.PermissionDeniedError,
    openai.NotFoundError,
)
_PAYMENT_REQUIRED = 402
_BUSY = (429, 502, 503, 529)
"""Too many requests, or nobody behind the gateway (RFC 9110; 529 is "overloaded" by custom)."""
_RETRIED = (408, 409)
"""Besides all from 500 on, as the `openai` client retries them."""
_GATEWAY_TIMEOUT = 504
_NEVER_SENT = (
    httpx2.ConnectError,
    httpx2.ConnectTimeout,
    httpx2.PoolTimeout,
    httpx2.ProxyError,
)
_OVERFLOW = re.compile(
    r"context.?(length|size|window)|prompt is too long|too many (input )?tokens", re.IGNORECASE
)
_NO_TOOLS = re.compile(
    r"tool choice requires|not support (tool|function)|tools? (is|are) not supported|"
    r"tools param requires|tool use is not",
    re.IGNORECASE,
)
"""vLLM without a tool parser, Ollama, hosted ones, llama.cpp without its templates."""


class Trouble(Struct, frozen=True):
    """A failed attempt after which the request may be made again.

    `busy`: the endpoint turned it away or is not there, so that nothing speaks against the
    request itself. `lost`: it was sent, and may be billed although no answer came. `pause` is how
    many seconds the endpoint asks to wait.
    """

    told: str
    busy: bool = False
    lost: bool = False
    pause: float | None = None


def down(model: str, waited: float, trouble: Trouble, patience: float) -> EndpointDown:
    """That an endpoint takes no request for as long as it is waited for, `patience` seconds; with
    the pause that it asks for, if it does.
    """
    pause = trouble.pause
    more = f" and asks for {pause:,.0f} s more (patience: {patience:g} s)" if pause else ""
    return EndpointDown(
        f"the endpoint of model {model!r} took no request for {waited:.0f} s{more}: "
        f"{trouble.told}; run the same command again later: what is finished is kept"
    )


def judge(error: openai.OpenAIError, model: str) -> Trouble | ProvegymError | None:
    """What an error of the client means: try again, or raise what is returned.

    None says that the conversation is too long for the model.
    """
    if isinstance(error, openai.APIStatusError):
        return _status(error, model)
    if isinstance(error, openai.APIConnectionError):
        away = is_away(error)
        return Trouble(told(error), busy=away, lost=not away)
    return ModelFault(f"model {model!r}: {told(error)}")


def overflowed(error: openai.APIStatusError) -> bool:
    """Whether a request was refused since the model's context cannot hold it."""
    return error.code == "context_length_exceeded" or bool(_OVERFLOW.search(str(error)))


def is_away(error: openai.OpenAIError) -> bool:
    """Whether nobody was there to take the request."""
    return isinstance(error.__cause__, _NEVER_SENT)


def told(error: openai.OpenAIError) -> str:
    """The error, the endpoint that it comes from and, for a lost connection, its cause."""
    cause = f" ({error.__cause__})" if str(error.__cause__ or "") else ""
    where = f"{_base(error.request.url)}: " if isinstance(error, openai.APIError) else ""
    return f"{where}{error}{cause}"


def never_answered(fault: ModelFault) -> EndpointDown:
    """What ends a run whose first requests were all lost, the last to `fault`."""
    return EndpointDown(
        f"the endpoint never answered with a chat completion: {fault}; see that the base URL is "
        "that of OpenAI's protocol (it mostly ends in /v1), then run the same command again: "
        "what is finished is kept"
    )


def _base(url: httpx2.URL) -> str:
    """The base URL that a request went to, without a password that may stand in it."""
    return f"{url.scheme}://{url.netloc.decode()}{url.path.removesuffix(PATH)}"


def asked_pause(headers: Mapping[str, str], now: datetime) -> float | None:
    """Seconds that a response asks to wait: `retry-after-ms`, or `Retry-After` (RFC 9110,
    10.2.3) in seconds or as a date. None where it asks for nothing that can be read.
    """
    milliseconds = _number(headers.get("retry-after-ms"))
    if milliseconds is not None:
        return milliseconds / 1000
    value = headers.get("retry-after")
    seconds = _number(value)
    return _until(value, now) if value and seconds is None else seconds


def _status(error: openai.APIStatusError, model: str) -> Trouble | ProvegymError | None:
    status, headers = error.status_code, error.response.headers
    if status < 500 and overflowed(error):
        return None
    if _NO_TOOLS.search(str(error)):
        return InputError(
            f"the endpoint does not let {model!r} call tools ({told(error)}); enable them there, "
            'or set teacher.mode = "json"'
        )
    unpaid = status == _PAYMENT_REQUIRED or error.code == "insufficient_quota"
    if isinstance(error, MISCONFIGURED) or unpaid:
        return InputError(f"the endpoint refuses model {model!r}: {told(error)}")
    passing = status >= 500 or status in (*_BUSY, *_RETRIED)
    if not passing or headers.get("x-should-retry") == "false":
        return ModelFault(f"model {model!r} refused the request: {told(error)}")
    pause = asked_pause(headers, datetime.now(UTC))
    return Trouble(told(error), status in _BUSY, status == _GATEWAY_TIMEOUT, pause)


def _number(value: str | None) -> float | None:
    try:
        number = float(value or "")
    except ValueError:
        return None
    return max(0.0, number) if isfinite(number) else None


def _until(date: str, now: datetime) -> float | None:
    try:
        then = parsedate_to_datetime(date)
    except ValueError:
        return None
    return max(0.0, (then.astimezone(UTC) - now).total_seconds())
