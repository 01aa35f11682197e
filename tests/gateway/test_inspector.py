"""The official Inspector's command line lists and calls the tools of every server."""

from __future__ import annotations

import json
import subprocess
from typing import Any

import pytest
from mcp import types
from mcp.server import Server, ServerRequestContext

from provegym.gateway import http
from provegym.gateway.settings import Settings
from provegym.servers import SERVERS, load, world
from provegym.world.tool import Tool
from tests.gateway import nodejs
from tests.gateway.conftest import Opened

SEED = 7


@pytest.fixture(scope="module")
def session(gateway: str, opened: Opened) -> str:
    """The URL of a session of all servers."""
    return f"{gateway}{opened(SEED, list(SERVERS))}/mcp"


def inspect(url: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run the Inspector's command line on a server."""
    fixed = "--transport", "http", "--format", "json", "--protocol-era", "modern"
    return nodejs.run("mcp-inspector", "--cli", url, *fixed, *arguments)


def look_up(tools: dict[str, Tool]) -> str:
    """The first tool that reads and needs no arguments."""
    return next(n for n, t in tools.items() if t.effect == "read" and not t.required)


@pytest.mark.parametrize("server", SERVERS)
def test_the_inspector_finds_nothing_to_say_about_the_tools_of_a_server(
    server: str, session: str
) -> None:
    done = inspect(f"{session}/{server}", "--method", "tools/list", "--strict")
    assert (done.returncode, done.stderr) == (0, "")
    tools = json.loads(done.stdout)["result"]["tools"]
    assert [tool["name"] for tool in tools] == list(load(server).tools)


@pytest.mark.parametrize("server", SERVERS)
def test_the_inspector_gets_what_a_call_in_process_gives(server: str, session: str) -> None:
    name = look_up(load(server).tools)
    call = "--method", "tools/call", "--tool-name", name, "--tool-args-json", "{}"
    done = inspect(f"{session}/{server}", *call)
    assert (done.returncode, done.stderr) == (0, "")
    expected = world(SEED, tuple(SERVERS)).open().call(name, {})
    assert expected.outcome == "ok"
    assert json.loads(done.stdout)["result"]["structuredContent"] == expected.builtins()


def test_the_inspector_finds_a_schema_that_allows_anything() -> None:
    async def list_tools(context: ServerRequestContext[Any, Any], page: Any) -> Any:
        schema = {"type": "object", "properties": {"anything": True}}
        return types.ListToolsResult(tools=[types.Tool(name="t", input_schema=schema)])

    careless = Server[Any]("careless", on_list_tools=list_tools)
    settings = Settings(port=0)
    with http.background(http.mount(careless, "/mcp", settings), settings) as url:
        done = inspect(f"{url}/mcp", "--method", "tools/list", "--strict")
    assert done.returncode == 6, done.stdout
    assert "anything" in done.stderr
