"""What a message must be before the SDK sees it, whatever the transport (RFC 8259, JSON-RPC 2.0).

The SDK's own parsers take NaN and lone surrogates, and pair answers with requests by id alone:
two requests with one id in flight get each other's answers. Both are stopped here.
"""

from __future__ import annotations

from typing import Any

import msgspec
from mcp import types
from mcp.types import jsonrpc_message_adapter
from msgspec import Struct

from provegym.errors import seen
from provegym.world.validate import is_deeper, why

BATCH = (
    "a batch is no message: MCP has had none since revision 2025-06-18; send one message at a time "
    "(POST /v1/calls runs many calls at once)"
)
KINDS: dict[type, str] = {
    **{bool: "a boolean", int: "a number", float: "a number", str: "a text"},
    **{list: "an array", dict: "an object"},
}
_decode = msgspec.json.Decoder().decode
_encode = msgspec.json.Encoder().encode


class Refusal(Struct, frozen=True):
    """Why a message is not let in: an error of JSON-RPC, and the status that HTTP gives it."""

    code: int
    message: str
    status: int = 400
    data: Any = None

    def json(self, request: str | int | None) -> bytes:
        """The answer to the request of that id; None where it could not be read."""
        error = {"code": self.code, "message": self.message}
        told = error if self.data is None else {**error, "data": self.data}
        return _encode({"jsonrpc": "2.0", "id": request, "error": told})


NOT_A_MESSAGE = Refusal(
    types.INVALID_REQUEST, "this is no request, notification or answer of JSON-RPC 2.0"
)
USUAL = {"jsonrpc", "id", "method", "params"}
"""The members of a request."""


def read(body: bytes, max_depth: int) -> Any:
    """The JSON value of a message, or the `Refusal` of what is none or is nested too deep."""
    try:
        value = _decode(body)
    except (msgspec.MsgspecError, UnicodeError, RecursionError) as error:
        return Refusal(types.PARSE_ERROR, f"the message is no JSON: {why(body, error)}")
    if isinstance(value, list):
        return Refusal(types.INVALID_REQUEST, BATCH)
    if not isinstance(value, dict):
        told = f"a message is an object of JSON-RPC 2.0, got {kind_of(value)}"
        return Refusal(types.INVALID_REQUEST, told)
    if may_be_deeper(body, max_depth) and is_deeper(value, max_depth):
        return Refusal(types.INVALID_REQUEST, f"nested deeper than {max_depth} levels")
    return value


def is_message(value: dict[str, Any]) -> bool:
    """Whether it is a message of JSON-RPC 2.0. A usual request is seen to be one at a glance; of
    the others the SDK judges, which would tell of it in many lines of its own.
    """
    if "method" in value and type(value.get("id", 0)) not in (int, str):
        return False  # the SDK would take it for a notification, and never answer
    if value.keys() == USUAL and value["jsonrpc"] == "2.0" and type(value["method"]) is str:
        return type(value["params"]) is dict
    try:
        jsonrpc_message_adapter.validate_python(value, by_name=False)
    except ValueError:
        return False
    return True


def kind_of(value: Any) -> str:
    """What a JSON value is, in JSON's words."""
    return "null" if value is None else KINDS.get(type(value), type(value).__name__)


def may_be_deeper(body: bytes, levels: int) -> bool:
    """Whether so many levels open at all in the JSON of a body: a quick look for most."""
    return body.count(b"{") + body.count(b"[") > levels


def request_id(value: Any) -> str | int | None:
    """The id of a request, None for anything that is owed no answer or has no valid one."""
    if not isinstance(value, dict) or "method" not in value:
        return None
    found = value.get("id")
    return found if type(found) in (str, int) else None


def in_flight(found: str | int) -> Refusal:
    """The refusal of a request whose id another one in flight has."""
    told = f"a request with the id {seen(str(found))} is in flight; use another id"
    return Refusal(types.INVALID_REQUEST, told)
