"""The page in a real browser: what people see, do by mouse and key, and what never runs."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest
from msgspec.structs import replace
from playwright.sync_api import Browser, Page, expect

from provegym.records import encode, read
from provegym.types import Task, Trace
from tests.viewer.chromium import SECONDS, complaints, shoot, tab, viewing
from tests.viewer.conftest import STEPS, curve, poison

TASKS = "train/tasks.jsonl"
AFTER, BEFORE = "eval/after.traces.jsonl", "eval/before.traces.jsonl"

expect.set_options(timeout=SECONDS)


@pytest.fixture
def page(browser: Browser, site: str) -> Iterator[Page]:
    with tab(browser, site) as found:
        yield found


def parameter(page: Page, name: str) -> str:
    """What the address says of it."""
    return parse_qs(urlsplit(page.url).query).get(name, [""])[0]


def longest(made: Path) -> Task:
    """The task with the most references."""
    return max(read(made / TASKS, Task), key=lambda t: sum(len(c.refs) for _, c in t.ground_truth))


def opened(page: Page, server: str = "banking") -> None:
    """Open a session by hand."""
    page.goto("/play")
    page.get_by_label(server).check()
    page.get_by_label("World").fill("7")
    page.get_by_role("button", name="Open", exact=True).click()
    expect(page.locator(".caller")).to_be_visible()


# -- each page ---------------------------------------------------------------------------------

VIEWS = {
    "worlds": ("/worlds?server=banking&tool=pay_payee", ".toolbox[open] table"),
    "tables": ("/worlds?server=banking&tab=tables&table=banking.payees", ".rowtable tbody tr"),
    "graph": ("/worlds?server=banking&tab=graph&tool=pay_payee", "svg.graph .edge.in"),
    "play": ("/play", ".opening .go"),
    "tasks": (f"/tasks?file={TASKS}&id=TASK", ".arrows path[d^=M]"),
    "trace-list": (f"/traces?file={BEFORE}&order=failed+first", ".rows a .dot"),
    "trace": (f"/traces?file={BEFORE}&id=TASK/random/0", ".chat .call"),
    "side-by-side": (
        f"/traces?file={BEFORE}&id=TASK/random/0&beside={AFTER}&against={AFTER}",
        ".side:nth-child(2) .chat .call",
    ),
    "runs": ("/runs", ".funnel li"),
}


@pytest.mark.parametrize("screen", ["desktop", "phone"])
@pytest.mark.parametrize("view", VIEWS)
def test_every_page_is_there_and_axe_finds_nothing_serious(
    browser: Browser, site: str, made: Path, view: str, screen: str
) -> None:
    address, wanted = VIEWS[view]
    with tab(browser, site, screen) as page:
        page.goto(address.replace("TASK", longest(made).id))
        expect(page.locator(wanted).first).to_be_attached()
        expect(page.locator(".complaint")).to_have_count(0)
        shoot(page, f"{view}-{screen}")
        width = page.evaluate("document.documentElement.scrollWidth - innerWidth")
        assert width <= 0, "the page scrolls sideways"
        if screen == "desktop":  # a phone has the same elements in the same colours
            assert complaints(page) == []
            page.emulate_media(color_scheme="dark")
            shoot(page, f"{view}-dark")
            assert complaints(page, "color-contrast") == []


def test_the_start_leads_to_what_the_folder_holds(page: Page) -> None:
    page.goto("/")
    expect(page).to_have_url(re.compile("/traces"))
    expect(page.get_by_role("link", name="Traces", exact=True)).to_have_attribute(
        "aria-current", "page"
    )


# -- worlds ------------------------------------------------------------------------------------


def test_the_graph_is_zoomed_moved_and_tells_the_evidence_of_each_edge(page: Page) -> None:
    page.goto("/worlds?server=banking&tab=graph")
    graph = page.locator("svg.graph")
    whole = graph.get_attribute("viewBox")
    page.get_by_role("button", name="Zoom in").click()
    near = graph.get_attribute("viewBox")
    graph.press("ArrowRight")
    moved = graph.get_attribute("viewBox")
    graph.hover()
    page.mouse.wheel(0, -300)
    expect(graph).not_to_have_attribute("viewBox", str(moved))
    assert len({whole, near, moved}) == 3
    page.get_by_role("button", name="Fit").click()
    expect(graph).to_have_attribute("viewBox", str(whole))
    page.get_by_role("combobox", name="Tool", exact=True).select_option("pay_payee")
    edge = page.locator(".evidence details", has_text="list_payees")
    expect(edge).to_contain_text("/payees/*/id")
    expect(edge).to_contain_text("payee_id")
    assert parameter(page, "tool") == "pay_payee"


def test_an_edge_that_is_clicked_opens_its_evidence_and_the_address_keeps_it(page: Page) -> None:
    page.goto("/worlds?server=banking&tab=graph")
    page.locator("[data-edge='list_payees pay_payee'] .hit").dispatch_event("click")
    proof = page.locator(".evidence details[open]")
    expect(proof).to_have_count(1)
    expect(proof).to_contain_text("/payees/*/id")
    assert (parameter(page, "tool"), parameter(page, "edge")) == ("pay_payee", "list_payees")
    page.reload()
    expect(proof).to_contain_text("list_payees")
    expect(page.locator(".edge.read")).to_have_count(1)
    legend = page.locator(".legend", has_text="a tool that writes").bounding_box()
    assert legend
    assert legend["width"] > 60, "the words of the legend have no room"


def test_rows_of_a_table_are_searched(page: Page) -> None:
    page.goto("/worlds?server=banking&tab=tables&table=banking.accounts&seed=7")
    expect(page.locator(".pages").last).to_contain_text("of 35")
    page.get_by_label("Search banking.accounts").fill("savings")
    expect(page.locator(".pages").last).not_to_contain_text("of 35")
    for text in page.locator(".rowtable tbody tr").all_text_contents():
        assert "savings" in text


# -- play --------------------------------------------------------------------------------------


def test_a_session_is_played_to_a_change_and_taken_back(page: Page) -> None:
    opened(page)
    page.get_by_role("link", name=re.compile("^add_payee")).click()
    page.get_by_role("button", name="Fill in an example").click()
    expect(page.get_by_label("iban")).not_to_have_value("")
    page.get_by_role("button", name="Call", exact=True).click()
    state = page.locator(".state")
    expect(state).to_contain_text("banking.payees")
    expect(state.locator(".changes .created")).to_have_count(1)
    expect(page.locator(".steps .call.right")).to_have_count(1)
    shoot(page, "played-desktop")
    assert complaints(page) == []
    page.reload()  # the address leads back to the same session
    expect(state.locator(".changes .created")).to_have_count(1)
    page.get_by_role("button", name="Undo").click()
    expect(state).to_contain_text("Nothing changed.")
    expect(page.get_by_role("button", name="Undo")).to_be_disabled()


def test_a_fork_leaves_the_session_it_came_from_as_it_was(page: Page) -> None:
    opened(page)
    page.get_by_role("link", name=re.compile("^add_payee")).click()
    page.get_by_role("button", name="Fill in an example").click()
    expect(page.get_by_label("iban")).not_to_have_value("")
    page.get_by_role("button", name="Call", exact=True).click()
    expect(page.locator(".changes .created")).not_to_have_count(0)
    first = page.url
    page.get_by_role("button", name="Fork").click()
    expect(page).not_to_have_url(first)
    page.keyboard.press("u")
    expect(page.locator(".state")).to_contain_text("Nothing changed.")
    page.goto(first)
    expect(page.locator(".state .created")).to_have_count(1)


def test_a_form_sends_each_value_in_its_type_and_refusals_are_shown(page: Page) -> None:
    opened(page)
    page.get_by_role("link", name=re.compile("^list_accounts")).click()
    page.get_by_role("combobox", name=re.compile("^kind")).select_option(label="savings")
    page.get_by_label("limit").fill("2")
    page.get_by_role("button", name="Call", exact=True).click()
    step = page.locator(".steps .call").first
    expect(step).to_contain_text("kind: savings, limit: 2")
    expect(step.locator("tbody tr")).to_have_count(2)
    page.get_by_label("limit").fill("many")
    page.get_by_role("button", name="Call", exact=True).click()
    expect(page.locator(".steps .call.wrong").first).to_contain_text("invalid arguments")


def test_a_result_is_a_table_that_can_be_read_on_a_phone(browser: Browser, site: str) -> None:
    with tab(browser, site, "phone") as page:
        opened(page)
        page.get_by_role("link", name=re.compile("^list_transactions")).click()
        page.get_by_role("button", name="Call", exact=True).click()
        name = page.locator(".steps td .text", has_text=re.compile("^txn_")).first
        assert name.evaluate("e => e.getClientRects().length") == 1, "an id is broken into lines"
        shoot(page, "played-phone")
        width = page.evaluate("document.documentElement.scrollWidth - innerWidth")
        assert width <= 0, "the page scrolls sideways"


# -- tasks -------------------------------------------------------------------------------------


def test_every_reference_is_an_arrow(page: Page, made: Path) -> None:
    task = longest(made)
    refs = sum(len(call.refs) for _, call in task.ground_truth)
    assert refs
    page.goto(f"/tasks?file={TASKS}&id={task.id}")
    expect(page.locator(".arrows path[marker-end]")).to_have_count(refs)
    expect(page.locator(".truth .call")).to_have_count(len(task.ground_truth))
    expect(page.locator(".chip", has_text="scores maximum")).to_contain_text("✓")


def test_tasks_are_filtered_in_the_page_and_the_address_keeps_it(page: Page, made: Path) -> None:
    wanted = [task.id for task in read(made / TASKS, Task) if "calendar" in task.servers]
    page.goto(f"/tasks?file={TASKS}")
    page.get_by_role("combobox", name="server", exact=True).select_option(
        label=f"calendar ({len(wanted)})"
    )
    expect(page.locator(".rows a")).to_have_count(len(wanted))
    page.reload()
    expect(page.locator(".rows a")).to_have_count(len(wanted))
    assert parameter(page, "server") == "calendar"


# -- traces ------------------------------------------------------------------------------------


def test_traces_are_filtered_searched_and_stepped_through_by_keys(page: Page, made: Path) -> None:
    traces = list(read(made / BEFORE, Trace))
    page.goto(f"/traces?file={BEFORE}")
    rows = page.locator(".rows a")
    expect(rows).to_have_count(len(traces))
    page.get_by_role("combobox", name="failure", exact=True).select_option(index=1)
    expect(page).to_have_url(re.compile("failure="))
    failure = parameter(page, "failure")
    expect(rows).not_to_have_count(len(traces))
    fitting = rows.count()
    page.keyboard.press("/")
    page.keyboard.type(traces[3].id)
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile("q="))
    page.goto(f"/traces?file={BEFORE}&failure={failure}")
    expect(rows).to_have_count(fitting)
    page.keyboard.press("j")
    expect(page.locator(".detail h2")).to_have_text(rows.nth(0).get_attribute("data-id") or "")
    page.keyboard.press("j")
    expect(page.locator(".detail h2")).to_have_text(rows.nth(1).get_attribute("data-id") or "")
    page.keyboard.press("k")
    expect(page.locator(".detail h2")).to_have_text(rows.nth(0).get_attribute("data-id") or "")


def test_the_first_mistake_is_jumped_to(page: Page) -> None:
    page.goto(f"/traces?file={BEFORE}&failure=unneeded")
    page.locator(".rows a").first.click()
    expect(page.locator(".call.first")).to_have_count(1)
    page.keyboard.press("e")
    expect(page.locator(".call.first")).to_be_focused()
    expect(page.locator(".call.first")).to_be_in_viewport()


def test_each_call_is_judged_beside_the_ground_truth(browser: Browser, run: Path) -> None:
    """Of an oracle's episode, the first call is made last, with another value where it has one."""
    path = run / AFTER
    task = longest(run)
    found = {trace.task_id: trace for trace in read(path, Trace)}
    calls = list(found[task.id].calls)
    at = next(i for i, (_, c) in enumerate(task.ground_truth) if c.refs and c.after)
    first = task.ground_truth[at][1].after[0]
    source = [c.id for _, c in task.ground_truth].index(first)
    calls.append(calls.pop(source))
    name, value = next((k, v) for k, v in calls[at - 1].arguments.items() if k == "amount")
    calls[at - 1] = replace(calls[at - 1], arguments={**calls[at - 1].arguments, name: "1.25"})
    found[task.id] = replace(found[task.id], calls=tuple(calls), messages=())
    path.write_bytes(b"".join(encode(trace) + b"\n" for trace in found.values()))
    path.with_name(path.name + ".manifest.json").unlink()
    with viewing(browser, run) as page:
        page.goto(f"/traces?file={AFTER}&id={found[task.id].id}&at={at - 1}")
        card = page.locator(f"[data-call='{at - 1}']")
        expect(card).to_be_focused()
        expect(card.locator(".chip", has_text="ok")).to_be_visible()
        expect(card).to_contain_text(f"matches {task.ground_truth[at][1].id}")
        expect(card.locator(".order.bad")).to_contain_text(f"not after {first}")
        expect(card.locator(".unequal")).to_contain_text(re.compile(rf"1\.25.*≠.*{value}"))
        expect(card.locator(".equal").first).to_contain_text("=")
        expect(
            card.locator(".changed .changes").or_(card.locator(".note", has_text="replay"))
        ).to_be_visible()
        page.locator("[data-call='0'] a.id").click()
        assert parameter(page, "at") == "0"
        expect(page.locator("[data-call='0']")).to_be_focused()
        shoot(page, "judged-desktop")


def test_two_policies_stand_side_by_side(page: Page, made: Path) -> None:
    page.goto(f"/traces?file={BEFORE}")
    page.get_by_role("combobox", name="Compare with").select_option(AFTER)
    expect(page.locator(".rows a").first).to_contain_text("−")  # the oracle earns more
    page.locator(".rows a").first.click()
    heads = page.locator(".side h3")
    expect(heads.nth(0)).to_contain_text("random")
    expect(heads.nth(1)).to_contain_text("oracle")
    expect(page.locator(".bars figcaption b").nth(1)).to_have_text("1")


def test_what_a_trace_holds_is_never_run(browser: Browser, run: Path) -> None:
    poison(run)
    with viewing(browser, run) as page:
        for path, file, seen in (
            ("tasks", TASKS, ".truth .call"),
            ("traces", AFTER, ".chat .call"),
        ):
            page.goto(f"/{path}?file={file}")
            page.locator(".rows a", has_text="<script>").first.click()
            expect(page.locator(seen).first).to_contain_text("<script>")
            for summary in page.locator("details > summary").all():
                summary.click()
            expect(page.locator("main script, main img")).to_have_count(0)
            assert page.evaluate("window.stolen") is None


# -- runs --------------------------------------------------------------------------------------


def test_a_run_is_followed_while_it_goes_on(browser: Browser, run: Path) -> None:
    reasons = ("not_grounded", "not_grounded", "too_long")
    lost = "".join(json.dumps({"id": f"c{i}", "reason": r}) + "\n" for i, r in enumerate(reasons))
    (run / "train" / "rejections.jsonl").write_text(lost, "utf-8")
    with viewing(browser, run) as page:
        page.goto("/runs")
        expect(page.locator(".funnel li")).to_have_count(4)
        assert page.locator(".funnel .num").all_text_contents() == ["15", "13", "12", "12"]
        expect(page.locator(".funnel li").nth(1)).to_contain_text("not grounded dropped")
        expect(page.locator(".funnel li").nth(1)).to_contain_text("−2")
        steps = page.locator(".card:has(span:text-is('Steps'))")
        expect(steps).to_contain_text(f"{STEPS} steps")
        expect(page.locator(".card", has_text="Masked")).to_contain_text("1 episode")
        expect(page.locator(".chip", has_text="live")).to_have_count(0)
        with (run / "grpo" / "curves.jsonl").open("a", encoding="utf-8") as file:
            file.write(curve(STEPS + 1))
        expect(steps).to_contain_text(f"{STEPS + 1} steps")
        expect(page.locator(".chip", has_text="live")).to_have_count(1)
        figure = page.get_by_role("img", name=re.compile("^Reward"))
        expect(figure).to_have_attribute(
            "aria-label", f"Reward, normalized: reward {0.05 * 13:.2f}"
        )


def test_a_run_that_comes_to_train_while_it_is_looked_at_shows_its_curves(
    browser: Browser, run: Path
) -> None:
    path = run / "grpo" / "curves.jsonl"
    rows = path.read_text("utf-8")
    path.unlink()
    with viewing(browser, run) as page:
        page.goto("/runs")
        expect(page.locator(".funnel li")).not_to_have_count(0)
        expect(page.locator(".chart")).to_have_count(0)
        path.write_text(rows, "utf-8")
        expect(page.locator(".chart").first).to_be_visible()
        expect(page.locator(".card").first).to_contain_text(f"{STEPS} steps")


def test_ablations_show_their_table_and_lead_to_each_cell(browser: Browser, ablated: Path) -> None:
    with viewing(browser, ablated) as page:
        page.goto("/runs")
        expect(page.get_by_role("heading", name="4 of 6 trainings done")).to_be_visible()
        written = page.get_by_role("region", name="tiny: difference")
        expect(written).to_contain_text("full - base")
        expect(written.locator("b, em").first).to_be_attached()
        expect(page.get_by_role("region", name="The paper's claims")).to_contain_text("verdict")
        shoot(page, "ablations-desktop")
        assert complaints(page) == []
        expect(page.get_by_role("link", name="done, with an alarm")).to_have_count(1)
        page.get_by_role("region", name="tiny: cell").first.get_by_role(
            "link", name="full", exact=True
        ).click()
        assert parameter(page, "cell") == "tiny/full"
        trained = page.get_by_role("region", name="Trainings")
        expect(trained).to_contain_text("tiny/full/1")
        expect(trained.locator("tbody tr")).to_have_count(2)
        expect(page.locator(".curves")).to_have_count(1)
        expect(page.locator(".curves .chart").first).to_be_visible()
        shoot(page, "ablation-cell-desktop")
        page.get_by_role("link", name="tiny/full/1/eval/after.traces.jsonl").click()
        expect(page.locator(".rows a")).to_have_count(12)
        page.go_back()
        page.get_by_role("link", name="‹ smoke").click()
        expect(written).to_be_visible()


# -- the frame ---------------------------------------------------------------------------------


def test_keys_change_the_page_the_theme_and_tell_of_themselves(page: Page) -> None:
    page.goto("/worlds")
    page.keyboard.press("5")
    expect(page).to_have_url(re.compile("/runs"))
    before = page.evaluate("getComputedStyle(document.body).backgroundColor")
    page.keyboard.press("t")
    after = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert before != after
    page.reload()
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == after
    page.keyboard.press("?")
    expect(page.get_by_role("dialog")).to_contain_text("jump to the first mistake")
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)
    page.go_back()
    expect(page).to_have_url(re.compile("/worlds"))


def test_what_does_not_exist_is_told_in_the_page(browser: Browser, site: str) -> None:
    with tab(browser, site, error="404") as page:
        page.goto("/worlds?server=bank")
        expect(page.get_by_role("alert")).to_contain_text("unknown server 'bank'")
