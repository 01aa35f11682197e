"""A server that speaks the protocol of 2025-11-25 by hand, and breaks it where it is asked to."""

from __future__ import annotations

import json
import sys
from typing import Any

TOOL = {
    "name": "act",
    "description": "Do something.",
    "inputSchema": {"type": "object", "properties": {"kind": {"type": "string"}}},
    "annotations": None,
}
WELCOME = {
    "protocolVersion": "2025-11-25",
    "capabilities": {"tools": {}},
    "serverInfo": {"name": "raw", "version": "1"},
}
LISTS = "".join(sys.argv[1:])
ERRORS = {"invalid": (-32602, "kind is wrong"), "internal": (-32603, "disk is full")}


def result(method: str, parameters: dict[str, Any]) -> dict[str, Any]:
    kind = parameters.get("arguments", {}).get("kind")
    if method == "initialize":
        return {"result": WELCOME}
    if method == "tools/list" and LISTS == "endless":
        return {"result": {"tools": [], "nextCursor": "again"}}
    if method == "tools/list" and LISTS == "twice":
        return {"result": {"tools": [TOOL, TOOL]}}
    if method == "tools/list" and LISTS.startswith("schema:"):
        return {"result": {"tools": [{**TOOL, "inputSchema": json.loads(LISTS[7:])}]}}
    if method == "tools/list":
        page = {"tools": [{**TOOL, "name": "more"}]} if "cursor" in parameters else None
        return {"result": page or {"tools": [TOOL], "nextCursor": "2"}}
    if method != "tools/call":
        return {"error": {"code": -32601, "message": "no such method"}}
    if kind in ERRORS:
        return {"error": dict(zip(("code", "message"), ERRORS[kind], strict=True))}
    told = [{"type": "text", "text": json.dumps(parameters["arguments"])}]
    return {"result": {"content": "odd" if kind == "odd" else told}}


for line in sys.stdin:
    request = json.loads(line)
    if "id" in request:
        parameters = request.get("params") or {}
        if parameters.get("arguments", {}).get("kind") == "junk":
            sys.stdout.write("this is no JSON\n")
        answer = result(request["method"], parameters)
        sys.stdout.write(json.dumps({"jsonrpc": "2.0", "id": request["id"], **answer}) + "\n")
        sys.stdout.flush()
