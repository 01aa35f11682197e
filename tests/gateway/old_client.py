"""The episode through the official Python SDK as it was before 2.0, which many still have.

Run as a script beside that SDK, not ours: what to do comes in as JSON, answers go out as JSON.
"""

# The types are those of the SDK that it is not run with.
# mypy: ignore-errors

from __future__ import annotations

import asyncio
import json
import sys
from typing import Any

from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamablehttp_client
from mcp.shared.exceptions import McpError


async def play(order: dict[str, Any]) -> dict[str, Any]:
    """Make the calls; what was heard of each."""
    command, *args = order["command"] or [""]
    server = StdioServerParameters(command=command, args=args, env=order["env"])
    pipes = streamablehttp_client(order["url"]) if order["url"] else stdio_client(server)
    async with pipes as (read, write, *_), ClientSession(read, write) as session:
        greeting = await session.initialize()
        tools = (await session.list_tools()).tools
        answers = [await ask(session, name, arguments) for name, arguments in order["calls"]]
        names = [tool.name for tool in tools]
        return {"protocol": greeting.protocolVersion, "tools": names, "answers": answers}


async def ask(session: ClientSession, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
    """One call."""
    try:
        result = await session.call_tool(name, arguments)
    except McpError as error:
        return {"code": error.error.code}
    structured, text = result.structuredContent, result.content[0].text
    return {"text": text, "structured": structured, "isError": result.isError}


if __name__ == "__main__":
    print(json.dumps(asyncio.run(play(json.load(sys.stdin)))))  # noqa: T201
