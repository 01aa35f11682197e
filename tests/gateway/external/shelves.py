"""A server of very many tools on the SDK's low-level server: two for each shelf in memory.

python shelves.py COUNT
"""

from __future__ import annotations

import sys
from typing import Any

import anyio
import mcp_types as types
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server

COUNT = int(sys.argv[1])
SHELVES: dict[int, list[str]] = {n: [f"item {n}"] for n in range(COUNT)}
TEXT = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}
NONE = {"type": "object", "properties": {}}


def tool(number: int) -> types.Tool:
    reads = number % 2 == 0
    name = f"{'list' if reads else 'add_to'}_shelf_{number}"
    return types.Tool(name=name, description=name, input_schema=NONE if reads else TEXT)


async def listed(context: Any, params: Any) -> types.ListToolsResult:
    return types.ListToolsResult(tools=[tool(n) for n in range(COUNT)])


async def called(context: Any, params: types.CallToolRequestParams) -> types.CallToolResult:
    number = int(params.name.rsplit("_", 1)[1])
    shelf = SHELVES[number // 2]
    if number % 2:
        shelf.append((params.arguments or {})["name"])
    shown = {"items": [{"name": name} for name in shelf]}
    return types.CallToolResult(
        content=[types.TextContent(type="text", text=str(shown))], structured_content=shown
    )


async def main() -> None:
    server: Server[Any] = Server("shelves", on_list_tools=listed, on_call_tool=called)
    async with stdio_server() as (reading, writing):
        await server.run(reading, writing, server.create_initialization_options())


anyio.run(main)
