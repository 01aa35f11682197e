"""A help desk as a third party would write it: an MCP server over stdio, or HTTP with a port.

    python desk.py [--http PORT] [--many COUNT] [--plain]

Its state is in memory; ids are minted at random. `--plain` leaves out what loses a process.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import random
import time
import uuid
from typing import Annotated, Any, Literal

import uvicorn
from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp_types import ToolAnnotations
from pydantic import BaseModel, Field

READS = ToolAnnotations(read_only_hint=True)
TITLES = ("Printer is out of paper", "Screen stays dark", "Cannot log in", "Mail comes late")


class Contact(BaseModel):
    """Who is to be told."""

    email: str
    phone: str | None = None


class Ticket(BaseModel):
    """Something that somebody wants done."""

    id: str
    title: str
    status: Literal["open", "closed"] = "open"
    priority: int = 2
    notes: list[str] = []


TICKETS: dict[str, Ticket] = {}


def fill() -> None:
    """The tickets that a desk begins with; a seed other than 0 adds one."""
    TICKETS.clear()
    seed = os.environ.get("PROVEGYM_SEED", "0")
    for title in (*TITLES, *([f"Order number {seed}"] if seed != "0" else [])):
        mint(title, 2)


def mint(title: str, priority: int) -> Ticket:
    ticket = Ticket(id=str(uuid.uuid4()), title=title, priority=priority)
    TICKETS[ticket.id] = ticket
    return ticket


def known(ticket_id: str) -> Ticket:
    if ticket_id not in TICKETS:
        raise ToolError(f"no ticket {ticket_id}")
    return TICKETS[ticket_id]


def desk() -> MCPServer:
    """The tools that behave."""
    server = MCPServer("help-desk", title="Help desk")

    @server.tool("tickets.list")
    async def listed(status: Literal["open", "closed"] | None = None) -> list[Ticket]:
        """List tickets."""
        return [t for t in TICKETS.values() if status in (None, t.status)]

    @server.tool("tickets.get", annotations=READS)
    async def got(ticket_id: str) -> Ticket:
        """Show one ticket."""
        return known(ticket_id)

    @server.tool("tickets.create")
    async def created(
        title: str,
        priority: Annotated[int, Field(ge=1, le=5)] = 2,
        contact: Contact | None = None,
    ) -> Ticket:
        """Open a new ticket."""
        return mint(title, priority)

    @server.tool("tickets.close", annotations=ToolAnnotations(read_only_hint=False))
    async def closed(ticket_id: str) -> Ticket:
        """Close a ticket."""
        ticket = known(ticket_id)
        if ticket.status == "closed":
            raise ToolError(f"{ticket.title!r} is closed already")
        ticket.status = "closed"
        return ticket

    @server.tool("tickets.annotate")
    async def annotated(ticket_id: str, note: str) -> Ticket:
        """Add a note to a ticket."""
        known(ticket_id).notes.append(note)
        return known(ticket_id)

    add_odd(server)
    return server


def add_odd(server: MCPServer) -> None:
    """Tools that are not what they say, that tell something else each time, and to start over."""

    @server.tool("get_and_count", annotations=READS)
    async def counted() -> dict[str, int]:
        """Say how many tickets there are. It claims to read, and leaves a ticket behind."""
        mint("Counted", 1)
        return {"count": len(TICKETS)}

    @server.tool("roll_dice", annotations=READS)
    async def rolled() -> dict[str, float]:
        """Roll the dice."""
        return {"eyes": random.random()}

    @server.tool("get_slowly", annotations=READS)
    async def slow(seconds: Annotated[float, Field(ge=0.01, le=0.3)] = 0.01) -> dict[str, float]:
        """Take some time."""
        await asyncio.sleep(seconds)
        return {"seconds": seconds}

    @server.tool("whole_desk", annotations=READS)
    async def whole() -> dict[str, Any]:
        """Show everything."""
        return {"tickets": [t.model_dump() for t in TICKETS.values()]}

    @server.tool("start_over")
    async def start_over() -> str:
        """Throw everything away and begin anew."""
        fill()
        return "done"


def add_faults(server: MCPServer) -> None:
    """Tools that lose the process, or say too much."""

    @server.tool("get_crash", annotations=READS)
    async def crash() -> str:
        """End the process."""
        os._exit(3)

    @server.tool("get_hang", annotations=READS)
    def hang() -> str:
        """Never answer."""
        time.sleep(1000)
        return ""

    @server.tool("get_everything", annotations=READS)
    async def flood() -> str:
        """Give 400,000 tokens."""
        return "word " * 400_000


def add_many(server: MCPServer, count: int) -> None:
    """A long list of tools."""
    for number in range(count):

        async def one(number: int = number) -> int:
            return number

        server.add_tool(one, name=f"get_number_{number}", description="A number.")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--http", type=int, default=0)
    parser.add_argument("--many", type=int, default=0)
    parser.add_argument("--plain", action="store_true")
    told = parser.parse_args()
    fill()
    server = desk()
    if not told.plain:
        add_faults(server)
    add_many(server, told.many + int(os.environ.get("MORE_TOOLS", "0")))
    if told.http:
        app = server.streamable_http_app(json_response=True)
        uvicorn.run(app, host="127.0.0.1", port=told.http, log_level="error")
    else:
        server.run("stdio")


if __name__ == "__main__":
    main()
