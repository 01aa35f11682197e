"""The page in a real browser, by keys alone, by fingers, and over files that went wrong."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, expect

from tests.viewer.chromium import SECONDS, shoot, tab, viewing

TASKS, BEFORE = "train/tasks.jsonl", "eval/before.traces.jsonl"
RIGHT_TO_LEFT = "שלום עולם, אני רוצה להעביר כסף 👩‍👩‍👧‍👦 "

expect.set_options(timeout=SECONDS)


def changed(path: Path, change: Callable[[dict[str, Any]], None]) -> None:
    """Change the first record of a file, which then is nobody's by its manifest."""
    first, *rest = path.read_text("utf-8").splitlines(keepends=True)
    record = json.loads(first)
    change(record)
    path.write_text(json.dumps(record) + "\n" + "".join(rest), "utf-8")
    path.with_name(path.name + ".manifest.json").unlink()


# -- files that went wrong ---------------------------------------------------------------------


def test_lines_that_cannot_be_read_are_told_below_the_others(browser: Browser, run: Path) -> None:
    path = run / BEFORE
    lines = path.read_text("utf-8").splitlines(keepends=True)
    path.write_text("".join([*lines[:3], '{"id": "torn", "task_\n', *lines[3:]]), "utf-8")
    with viewing(browser, run) as page:
        page.goto(f"/traces?file={BEFORE}")
        expect(page.locator(".rows a")).to_have_count(len(lines))
        foot = page.locator(".foot")
        expect(foot).to_contain_text("1 line cannot be read")
        foot.locator("summary").click()
        expect(foot).to_contain_text(f"at byte {sum(len(x.encode()) for x in lines[:3])}: ")
        shoot(page, "broken-line-desktop")


@pytest.mark.parametrize("screen", ["desktop", "phone"])
def test_long_words_other_scripts_and_huge_results_keep_the_page_whole(
    browser: Browser, run: Path, screen: str
) -> None:
    rows = [{"id": i, "text": RIGHT_TO_LEFT + "x" * 200} for i in range(3000)]

    def strange(trace: dict[str, Any]) -> None:
        trace["id"], trace["policy"] = "i" * 400, "p" * 300
        for message in trace["messages"]:
            if message["role"] == "user":
                message["content"] = RIGHT_TO_LEFT * 3
        result = {"rows": rows, "blob": "b" * 2_000_000}
        call = {"name": "n" * 200, "arguments": {"k" * 200: "v" * 5000}, "result": result}
        trace["calls"] = [{**call, "turn": 0, "step": 0, "outcome": "ok"}]

    changed(run / BEFORE, strange)
    changed(run / TASKS, lambda task: task.update(teacher="t" * 300, persona=RIGHT_TO_LEFT))
    with viewing(browser, run, screen) as page:
        for address in (f"/traces?file={BEFORE}", f"/tasks?file={TASKS}"):
            page.goto(address)
            page.locator(".rows a").first.click()
            expect(page.locator(".detail .call").first).to_be_attached()
            for box in page.locator(".detail .chat details, .detail .truth details").all():
                box.evaluate("e => { e.open = true }")
            width = page.evaluate("document.documentElement.scrollWidth - innerWidth")
            assert width <= 0, "the page scrolls sideways"
            wide = "e => [...e.querySelectorAll('h2, h3, p, .said, .call')]"
            over = f"({wide})(document).filter(e => e.scrollWidth > e.clientWidth + 1).length"
            assert page.evaluate(over) == 0, "words stand out of their box"
        page.goto(f"/traces?file={BEFORE}")
        page.locator(".rows a").first.click()
        said = page.locator(".chat .said.user").first
        expect(said).to_contain_text("שלום")
        shoot(page, f"strange-trace-{screen}")


def test_an_empty_folder_tells_which_command_fills_it(browser: Browser, tmp_path: Path) -> None:
    with viewing(browser, tmp_path) as page:
        page.goto("/")
        expect(page).to_have_url(re.compile("/worlds"))
        for name, command in (("tasks", "synth"), ("traces", "rollout"), ("runs", "run")):
            page.goto(f"/{name}")
            expect(page.locator(".rows")).to_contain_text(f"provegym {command} writes")


# -- keys alone --------------------------------------------------------------------------------


def test_the_keyboard_stays_where_it_was_when_a_choice_draws_the_page_anew(
    browser: Browser, site: str
) -> None:
    with tab(browser, site) as page:
        page.goto("/worlds?server=banking&tab=graph")
        page.get_by_role("combobox", name="Tool", exact=True).focus()
        page.keyboard.press("ArrowDown")
        expect(page.locator(".evidence h3")).to_have_text("list_accounts")
        page.keyboard.press("ArrowDown")
        expect(page.locator(".evidence h3")).to_have_text("list_transactions")
        page.locator("#tab-tables").focus()
        page.keyboard.press("Enter")
        expect(page.locator(".rowtable tbody tr").first).to_be_visible()
        expect(page.locator("#tab-tables")).to_be_focused()
        page.goto(f"/traces?file={BEFORE}")
        expect(page.locator(".rows a")).to_have_count(12)
        page.keyboard.press("j")
        preset = page.get_by_label("preset")
        preset.focus()
        page.keyboard.press("ArrowUp")
        expect(page.locator(".bars figcaption")).to_contain_text("paper")
        expect(preset).to_be_focused()


def test_a_session_is_opened_played_and_taken_back_by_keys_alone(
    browser: Browser, site: str
) -> None:
    with tab(browser, site) as page:
        page.goto("/worlds")
        page.keyboard.press("2")
        expect(page.locator(".opening")).to_be_visible()
        page.keyboard.press("Tab")
        page.keyboard.press("Tab")

        def tab_to(name: str) -> None:
            """Press the tab key until what has the name has the keyboard."""
            for _ in range(120):
                at = "(e => e.labels?.[0]?.innerText || e.innerText || e.ariaLabel || e.value)"
                if page.evaluate(f"{at}(document.activeElement)").strip().startswith(name):
                    return
                page.keyboard.press("Tab")
            raise AssertionError(f"the tab key does not lead to {name}")

        tab_to("banking")
        page.keyboard.press("Space")
        tab_to("Open")
        page.keyboard.press("Enter")
        expect(page.locator(".caller")).to_be_visible()
        page.keyboard.press("/")
        page.keyboard.type("add_p")
        expect(page.locator(".three .rows a:visible")).to_have_count(1)
        tab_to("add_payee")
        page.keyboard.press("Enter")
        expect(page.locator(".caller h3").first).to_contain_text("add_payee")
        expect(page.locator("#tool-add_payee")).to_be_focused()
        expect(page.locator(".three .rows a:visible")).to_have_count(1)
        tab_to("Fill in an example")
        page.keyboard.press("Enter")
        expect(page.get_by_label("iban")).not_to_have_value("")
        page.keyboard.press("Shift+Tab")
        page.keyboard.press("Enter")
        expect(page.locator(".state .created")).to_have_count(1)
        expect(page.get_by_role("button", name="Call", exact=True)).to_be_focused()
        page.keyboard.press("u")
        expect(page.locator(".state")).to_contain_text("Nothing changed.")


def test_a_search_of_servers_leaves_those_that_fit(browser: Browser, site: str) -> None:
    with tab(browser, site) as page:
        page.goto("/worlds")
        servers = page.locator(".rows a[href*='server=']:visible")
        expect(servers).to_have_count(20)
        page.keyboard.press("/")
        page.keyboard.type("bank")
        expect(servers).to_have_count(1)


# -- fingers and mouse -------------------------------------------------------------------------


def test_a_picture_that_was_zoomed_into_stays_so_when_a_tool_is_chosen(
    browser: Browser, site: str
) -> None:
    with tab(browser, site) as page:
        page.goto("/worlds?server=banking&tab=graph")
        graph = page.locator("svg.graph")
        page.get_by_role("button", name="Zoom in").click()
        near = str(graph.get_attribute("viewBox"))
        page.locator(".node", has_text="list_payees").locator("circle").click()
        expect(page.locator(".evidence h3")).to_have_text("list_payees")
        expect(graph).to_have_attribute("viewBox", near)
        dot = page.locator(".node.chosen circle").bounding_box()
        assert dot
        x, y = dot["x"] + dot["width"] / 2, dot["y"] + dot["height"] / 2
        page.mouse.move(x, y)
        page.mouse.down()
        page.mouse.move(x + 60, y - 40, steps=4)
        page.mouse.up()
        expect(graph).not_to_have_attribute("viewBox", near)
        expect(page.locator(".evidence h3")).to_have_text("list_payees")  # a drag chooses nothing
        moved = page.locator(".node.chosen circle").bounding_box()
        assert moved
        assert moved["x"] - dot["x"] == pytest.approx(60, abs=1)  # it stayed under the pointer
        assert moved["y"] - dot["y"] == pytest.approx(-40, abs=1)


def test_two_policies_have_room_beside_each_other_on_a_tablet(browser: Browser, site: str) -> None:
    with tab(browser, site, "tablet") as page:
        page.goto(f"/traces?file={BEFORE}&beside=eval/after.traces.jsonl")
        page.locator(".rows a").first.click()
        expect(page.locator(".side")).to_have_count(2)
        for side in page.locator(".side").all():
            assert side.evaluate("e => e.scrollWidth - e.clientWidth") <= 1, "it overlaps the other"
        shoot(page, "side-by-side-tablet")


def test_two_fingers_zoom_the_picture(browser: Browser, site: str) -> None:
    with tab(browser, site, "phone") as page:
        page.goto("/worlds?server=banking&tab=graph")
        graph = page.locator("svg.graph")
        graph.scroll_into_view_if_needed()
        box = graph.bounding_box()
        assert box
        width = float(str(graph.get_attribute("viewBox")).split()[2])
        x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
        devtools = page.context.new_cdp_session(page)

        def touch(kind: str, *gaps: float) -> None:
            points = [{"x": x + gap, "y": y, "id": i} for i, gap in enumerate(gaps)]
            devtools.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})

        touch("touchStart", -20, 20)
        for gap in (30, 40, 60):
            touch("touchMove", -gap, gap)
        touch("touchEnd")
        now = float(str(graph.get_attribute("viewBox")).split()[2])
        assert now == pytest.approx(width / 3, rel=0.1)  # 40 pixels apart became 120


def test_a_phone_shows_one_from_its_top_and_the_list_where_it_was_left(
    browser: Browser, site: str
) -> None:
    with tab(browser, site, "phone") as page:
        page.goto(f"/traces?file={BEFORE}")
        row = page.locator(".rows a").nth(9)
        row.scroll_into_view_if_needed()
        left = page.evaluate("scrollY")
        assert left > 0
        row.click()
        expect(page.locator(".detail h2")).to_be_in_viewport()
        page.get_by_role("link", name="‹ Traces").click()
        expect(row).to_be_in_viewport()
        assert page.evaluate("scrollY") == pytest.approx(left, abs=2)
