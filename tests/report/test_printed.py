"""The page of two runs in a real browser: in the dark, on a phone, on paper."""

from __future__ import annotations

from pathlib import Path

from provegym.report import page
from tests.report.small import edited
from tests.report.test_beside import another
from tests.viewer.chromium import complaints, launched, shoot, tab


def test_a_page_of_two_runs_is_read_in_the_dark_on_a_phone_and_on_paper(
    folder: Path, tmp_path: Path
) -> None:
    mine = edited(folder, tmp_path / "run", lambda trace: trace)
    url = page.write(mine, another(folder, tmp_path / "other")).as_uri()
    with launched() as browser:
        with tab(browser, url, "phone") as shown:
            shown.goto(url)
            shoot(shown, "report-phone")
            assert shown.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0
        with tab(browser, url, "dark") as shown:
            shown.goto(url)
            shoot(shown, "report-dark")
            assert complaints(shown) == []
            shown.get_by_text("all steps").click()
            shown.emulate_media(media="print")
            background = "getComputedStyle(document.body).backgroundColor"
            assert shown.evaluate(background) == "rgb(255, 255, 255)"
            figure = shown.locator("figure").first
            assert figure.evaluate("e => getComputedStyle(e).breakInside") == "avoid"
            assert shown.get_by_text("all steps").is_visible()  # what was opened is printed
            assert not shown.get_by_text("numbers", exact=True).first.is_visible()
            shoot(shown, "report-paper")
