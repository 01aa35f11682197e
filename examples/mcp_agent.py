"""An agent that speaks MCP and knows no model: it reads, so that its calls can be seen and scored.

provegym eval reader --suite provegym --tasks b.jsonl --agent "python examples/mcp_agent.py"

One line of JSON a user turn comes in, with the URL of the session's tools; one line goes out when
the turn is done. Put your model where `choose` is.
"""

from __future__ import annotations

import json
import sys
from typing import Any

import anyio
import mcp


def choose(user: str, tools: list[Any]) -> list[tuple[str, dict[str, Any]]]:
    """Which tools to call with which arguments: here, what wants no arguments and only reads."""
    readers = [tool for tool in tools if tool.annotations and tool.annotations.read_only_hint]
    free = [tool.name for tool in readers if not tool.input_schema.get("required")]
    words = set(user.lower().split())
    named = [name for name in free if words & set(name.split("_"))]
    return [(name, {}) for name in named[:1]]


async def answer(url: str, user: str) -> str:
    """Do one user turn and say what came of it."""
    async with mcp.Client(url) as client:
        tools = (await client.list_tools()).tools
        calls = choose(user, tools)
        results = [await client.call_tool(name, arguments) for name, arguments in calls]
    done = sum(not result.is_error for result in results)
    return f"I looked at {done} of {len(tools)} tools' answers."


def main() -> None:
    """Answer each line until there is none."""
    for line in sys.stdin:
        told = json.loads(line)
        reply = anyio.run(answer, told["mcp"], told["user"])
        print(json.dumps({"reply": reply}), flush=True)


if __name__ == "__main__":
    main()
