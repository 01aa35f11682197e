"""Notes in files, as a third party would keep them: an MCP server over stdio.

python notebook.py FOLDER
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ToolError

FOLDER = Path(sys.argv[1])
server = MCPServer("notebook")


@server.tool()
async def list_notes() -> list[str]:
    """List the paths of all notes."""
    return [str(path) for path in sorted(FOLDER.rglob("*.txt"))]


@server.tool()
async def read_note(path: str) -> str:
    """Read a note."""
    if not Path(path).is_file():
        raise ToolError(f"no note at {path}")
    return Path(path).read_text()


@server.tool()
async def write_note(path: str, text: str) -> str:
    """Write a note. A text that is too long is refused halfway."""
    Path(path).write_text(text[:20])
    if len(text) > 20:
        raise ToolError(f"{path}: too long")
    return f"wrote {path}"


@server.tool()
async def drop_note(path: str) -> str:
    """Remove a note."""
    read = await read_note(path)
    Path(path).unlink()
    return read


@server.tool()
async def get_secret() -> str:
    """Die with the token on the lips."""
    sys.stderr.write(f"Error: bad token {os.environ.get('NOTE_TOKEN')}\n")
    sys.stderr.flush()
    os._exit(1)


@server.tool()
async def show_login() -> dict[str, str]:
    """Say how to log in."""
    return {"use": f"Bearer {os.environ.get('NOTE_TOKEN')}"}


server.run("stdio")
