"""The official conformance suite, run against a server with its fixtures behind our gateway."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

from provegym.gateway import http
from provegym.gateway.settings import Settings
from tests.gateway import nodejs
from tests.gateway.fixture.server import server
from tests.gateway.serving import serving

EXPECTED = tomllib.loads(Path(__file__).with_name("expected_failures.toml").read_text("utf-8"))
SCORED = {"2025-11-25": 30, "2026-07-28": 37}
"""How many server scenarios each revision requires, frozen at its release."""

# The suite asks for what 2025-11-25 had; the SDK warns of it since 2026-07-28 has it no more.
pytestmark = pytest.mark.filterwarnings("ignore::mcp.shared.exceptions.MCPDeprecationWarning")


@pytest.fixture(scope="module")
def fixture_url() -> Iterator[str]:
    with serving(http.mount(server(), "/mcp", Settings())) as url:
        yield f"{url}/mcp"


def failures(results: Path) -> dict[str, list[str]]:
    """The checks that failed, by scenario, of all that were run."""
    failed: dict[str, list[str]] = {}
    for path in sorted(results.glob("*/checks.json")):
        match = re.fullmatch(r"server-(.+)-\d{4}-\d\d-\d\dT[\d-]+Z", path.parent.name)
        assert match, path
        checks = json.loads(path.read_text("utf-8"))
        failed[match[1]] = [c["id"] for c in checks if c["status"] == "FAILURE"]
    return failed


@pytest.mark.parametrize("revision", SCORED)
def test_every_scored_scenario_passes_and_no_other_fails_without_a_reason(
    revision: str, fixture_url: str, tmp_path: Path
) -> None:
    arguments = ["--url", fixture_url, "--requirements", revision, "-o", str(tmp_path)]
    done = nodejs.run("conformance", "server", *arguments)
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr
    failed = failures(tmp_path)
    assert len(failed) >= SCORED[revision]  # else nothing was asked
    assert {name for name, checks in failed.items() if checks} == set(EXPECTED[revision])
