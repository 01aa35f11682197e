"""The control API as an OpenAPI 3.1 document, made from its operations and their types."""

from __future__ import annotations

from functools import cache
from typing import Any

import msgspec

import provegym
from provegym.gateway.operations import OPERATIONS, Operation
from provegym.gateway.wire import ErrorAnswer

_REF = "#/components/schemas/{name}"
_ALWAYS = {
    "401": "The token is missing or wrong.",
    "503": "A failure of ours: the episode does not count.",
}
_WITH_BODY = {
    "400": "The body is no JSON.",
    "413": "The body is too large.",
    "415": "The body is not said to be JSON.",
}
_CAN_BE_WRONG = {
    "422": "The request says what cannot be done; the message says what to do instead.",
}
_OF_SESSION = {
    "404": "No session of that id was ever opened here.",
    "410": "The session was closed, or expired.",
}
_NEW_SESSION = {"429": "As many sessions are open as there may be."}


@cache
def document() -> dict[str, Any]:
    """The whole document."""
    bodies = [op.body for op in OPERATIONS if op.body]
    types = dict.fromkeys([*bodies, *(op.answer for op in OPERATIONS), ErrorAnswer])
    _, schemas = msgspec.json.schema_components(types, ref_template=_REF)
    paths: dict[str, dict[str, Any]] = {}
    for operation in OPERATIONS:
        paths.setdefault(operation.path, {})[operation.method.lower()] = _operation(operation)
    return {
        "openapi": "3.1.1",
        "info": {
            "title": "provegym gateway",
            "version": provegym.__version__,
            "summary": "Private sessions of tool servers: open, call, fork, restore, score.",
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "paths": paths,
        "components": {
            "schemas": schemas,
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
        "security": [{}, {"token": []}],
    }


def _operation(operation: Operation) -> dict[str, Any]:
    of_session = "{session}" in operation.path
    errors = (
        (_WITH_BODY if operation.body else {})
        | (_CAN_BE_WRONG if operation.path.startswith("/v1/") else {})
        | (_OF_SESSION if of_session else {})
        | (_NEW_SESSION if operation.status == 201 else {})
        | _ALWAYS
    )
    answers = {str(operation.status): _content("Done.", operation.answer)}
    told: dict[str, Any] = {
        "operationId": f"{operation.method.lower()}{operation.path}".replace("/", "_"),
        "summary": operation.says,
        "responses": answers | {code: _content(says, ErrorAnswer) for code, says in errors.items()},
    }
    if of_session:
        where = {"name": "session", "in": "path", "required": True}
        told["parameters"] = [{**where, "schema": {"type": "string"}}]
    if operation.body:
        told["requestBody"] = {"content": _json(operation.body)}
    return told


def _content(says: str, type_: Any) -> dict[str, Any]:
    return {"description": says, "content": _json(type_)}


def _json(type_: Any) -> dict[str, Any]:
    return {"application/json": {"schema": {"$ref": _REF.format(name=type_.__name__)}}}
