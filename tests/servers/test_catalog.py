"""The page that lists the library."""

from __future__ import annotations

from pathlib import Path

import pytest

from provegym import cli, servers
from provegym.servers.catalog import markdown

PAGE = Path(__file__).parents[2] / "docs" / "servers.md"


def test_the_page_in_docs_is_what_the_code_says() -> None:
    assert PAGE.read_text("utf-8") == markdown()


def test_the_page_names_every_tool_with_its_parameters_and_refusals() -> None:
    page = markdown()
    for name in servers.SERVERS:
        for tool in servers.load(name).tools:
            assert f"| `{tool}` | " in page
    row = next(line for line in page.splitlines() if line.startswith("| `manage_card`"))
    assert "| write | card_id, action |" in row
    assert "already_frozen" in row


def test_the_command_writes_the_page(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "servers.md"
    assert cli.call(["servers", "document", "--out", str(out)]) == 0
    assert capsys.readouterr().out == f"{out}\n"
    assert out.read_text("utf-8") == markdown()
