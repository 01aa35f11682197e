"""A real browser, its screenshots, and what the accessibility checker says of a page."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, sync_playwright

from provegym.gateway.http import background
from provegym.gateway.settings import Settings
from provegym.viewer.app import app
from tests.gateway import nodejs

SHOTS = Path(__file__).parents[2] / "build" / "screenshots"
"""Where the screenshots of the last test run lie."""
ARGUMENTS = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
)
SCREENS: dict[str, dict[str, Any]] = {
    "desktop": {"viewport": {"width": 1400, "height": 900}},
    "dark": {"viewport": {"width": 1400, "height": 900}, "color_scheme": "dark"},
    "tablet": {"viewport": {"width": 820, "height": 1100}},
    "phone": {
        "viewport": {"width": 390, "height": 844},
        "device_scale_factor": 2,
        "is_mobile": True,
        "has_touch": True,
    },
}
SECONDS = 60_000
"""Milliseconds that anything may take on a busy machine."""


@contextmanager
def launched() -> Iterator[Browser]:
    """Debian's Chromium. Skips where it is not installed."""
    place = shutil.which("chromium")
    if place is None:
        pytest.skip("Chromium is not installed (apt-get install chromium)")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=place, args=[*ARGUMENTS])
        yield browser
        browser.close()


@contextmanager
def tab(
    browser: Browser, url: str, screen: str = "desktop", error: str | None = None
) -> Iterator[Page]:
    """A page of a fresh profile, which at its end must have asked nobody else, and met no error but
    those that hold the text `error`.
    """
    context = browser.new_context(base_url=url, **SCREENS[screen])
    page = context.new_page()
    page.set_default_timeout(SECONDS)
    met: list[str] = []
    page.on("pageerror", lambda error: met.append(str(error)))
    page.on("console", lambda told: met.append(told.text) if told.type == "error" else None)
    page.on("request", lambda r: None if r.url.startswith(url) else met.append(r.url))
    yield page
    context.close()
    unexpected = [told for told in met if error is None or error not in told]
    assert not unexpected, unexpected


def shoot(page: Page, name: str) -> None:
    """Keep a screenshot."""
    SHOTS.mkdir(parents=True, exist_ok=True)
    page.screenshot(path=SHOTS / f"{name}.png")


def complaints(page: Page, *rules: str) -> list[str]:
    """What axe finds that is serious or worse, by `rules` or by all: the rule, and where."""
    if not page.evaluate("'axe' in window"):
        script = nodejs.folder() / "node_modules" / "axe-core" / "axe.min.js"
        page.evaluate(script.read_text("utf-8"))
    found = page.evaluate("rules => axe.run(rules.length ? {runOnly: rules} : {})", [*rules])
    return [
        f"{each['id']}: {node['target']} {node['failureSummary']}"
        for each in found["violations"]
        if each["impact"] in ("serious", "critical")
        for node in each["nodes"]
    ]


@contextmanager
def viewing(browser: Browser, folder: Path, screen: str = "desktop") -> Iterator[Page]:
    """A page over a folder of its own."""
    settings = Settings(port=0)
    with background(app(folder, settings), settings) as url, tab(browser, url, screen) as page:
        yield page
