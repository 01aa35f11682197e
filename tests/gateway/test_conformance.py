"""The official conformance suite, run against a server with its fixtures behind our gateway."""

from __future__ import annotations

import json
import re
import subprocess
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

from provegym.gateway import http
from provegym.gateway.settings import Settings
from tests.gateway import nodejs
from tests.gateway.conftest import Opened
from tests.gateway.fixture.server import server

EXPECTED = tomllib.loads(Path(__file__).with_name("expected_failures.toml").read_text("utf-8"))
SCORED = {"2025-11-25": 30, "2026-07-28": 37}
"""How many server scenarios each revision requires, frozen at its release."""
NO_FIXTURE = {
    "2025-11-25": {
        *("server-initialize", "ping", "tools-list", "server-sse-multiple-streams"),
        *("dns-rebinding-protection", "server-session-lifecycle"),
    },
    "2026-07-28": {
        *("tools-list", "server-sse-multiple-streams", "dns-rebinding-protection"),
        *("http-header-validation", "input-required-result-unsupported-methods"),
    },
}
"""Scenarios that call no fixture, so that a session of the library can pass them itself."""
UNTESTABLE = {
    *("sep-2575-server-rejects-undeclared-capability", "sep-2575-missing-capability-http-400"),
    *("sep-2575-http-server-no-independent-requests-on-stream",),
    *("sep-2575-server-no-log-without-loglevel",),
}
"""Checks of `server-stateless` that call a fixture; its other ones ask for none."""

# The suite asks for what 2025-11-25 had; the SDK warns of it since 2026-07-28 has it no more.
pytestmark = pytest.mark.filterwarnings("ignore::mcp.shared.exceptions.MCPDeprecationWarning")


@pytest.fixture(scope="module")
def fixture_url() -> Iterator[str]:
    settings = Settings(port=0)
    with http.background(http.mount(server(), "/mcp", settings), settings) as url:
        yield f"{url}/mcp"


def judge(url: str, revision: str, results: Path) -> subprocess.CompletedProcess[str]:
    """Run all that the suite has for a revision, scored or not."""
    arguments = ["--url", url, "--requirements", revision, "-o", str(results)]
    return nodejs.run("conformance", "server", *arguments)


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
    done = judge(fixture_url, revision, tmp_path)
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr
    failed = failures(tmp_path)
    assert len(failed) >= SCORED[revision]  # else nothing was asked
    assert {name for name, checks in failed.items() if checks} == set(EXPECTED[revision])


@pytest.mark.parametrize("revision", SCORED)
def test_a_session_of_the_library_passes_what_asks_for_no_fixture(
    revision: str, gateway: str, opened: Opened, tmp_path: Path
) -> None:
    judge(f"{gateway}{opened(7, ['banking'])}/mcp", revision, tmp_path)
    failed = failures(tmp_path)
    assert len(failed) >= SCORED[revision]
    assert {name: failed[name] for name in NO_FIXTURE[revision] if failed[name]} == {}
    assert set(failed.get("server-stateless", ())) <= UNTESTABLE
