"""An agent that plays the ground truth over MCP: python oracle_agent.py TASKS.

It knows its task by what the user says. It writes lines that are none of the protocol, too.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import anyio
import mcp

from provegym import records
from provegym.rollout import pointer
from provegym.types import GroundCall, Task


def filled(call: GroundCall, results: dict[str, Any]) -> dict[str, Any]:
    """The call's arguments, what came from an earlier result taken from this episode's."""
    arguments: dict[str, Any] = call.arguments
    for place, ref in call.refs.items():
        value = pointer.resolve(results[ref.call], ref.path)
        arguments = pointer.replace(arguments, place, value)
    return arguments


def say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


async def turn(url: str, calls: tuple[GroundCall, ...], results: dict[str, Any]) -> None:
    async with mcp.Client(url) as client:
        known = {tool.name for tool in (await client.list_tools()).tools}
        for call in calls:
            assert call.name in known
            answer = await client.call_tool(call.name, filled(call, results))
            results[call.id] = answer.structured_content


def main() -> None:
    tasks = list(records.read(Path(sys.argv[1]), Task))
    results: dict[str, Any] = {}
    said: list[str] = []
    say("ready")
    for line in sys.stdin:
        told = json.loads(line)
        said.append(told["user"])
        [task] = [t for t in tasks if [x.user for x in t.turns][: len(said)] == said]
        anyio.run(turn, told["mcp"], task.turns[told["turn"]].calls, results)
        say(json.dumps({"note": "done"}))
        say(json.dumps({"reply": f"Turn {told['turn']} is done."}))


main()
