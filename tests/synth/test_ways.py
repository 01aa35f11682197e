"""Look-ups that nobody asked for are the only way to what they show."""

from __future__ import annotations

import pytest

from provegym import servers
from provegym.config import Information, Synth
from provegym.graph.build import build
from provegym.graph.leaves import Leaf, looks_ahead, taken
from provegym.rollout import pointer
from provegym.seeding import rng
from provegym.synth.lookup import alternatives
from provegym.synth.make import Candidate, Maker, Plan
from provegym.synth.plan import Planner
from provegym.synth.ways import two_ways
from provegym.types import GroundCall, Task
from provegym.world.session import Session
from provegym.worlds import open_session

NAMES = ("calendar", "trading")


@pytest.fixture(scope="module")
def tasks() -> list[Task]:
    """Tasks of few words that show whole servers."""
    settings = Synth(
        limit=60,
        world_seeds=3,
        tools_per_task=0,
        information=Information(complete=0, missing_required=0.5, minimal=0.5),
    )
    graph = build([servers.load(name) for name in NAMES], worlds=1, tries=1)
    maker = Maker(Plan(seed=4, servers=NAMES, others=NAMES), settings, graph)
    made = [maker.make(i) for i in range(60)]
    return [o.task for o in made if isinstance(o, Candidate)]


def position(session: Session) -> tuple[str, str]:
    """An instrument that the user holds: its id and its name."""
    held = session.call("list_positions", {}).builtins()["positions"][0]["instrument_id"]
    found = session.call("get_stock_quote", {"instrument_id": held}).builtins()
    return held, found["name"]


def test_an_id_that_a_search_by_name_shows_too_has_two_ways() -> None:
    session = servers.world(3, ("trading",)).open()
    held, name = position(session)
    assert held.encode() in session.call("search_instruments", {"query": name}).json()
    tool = session.world.tools["list_positions"].tool
    assert two_ways(session, tool, {held}, ["search_instruments"])


def test_an_id_that_no_other_look_up_shows_has_one_way() -> None:
    session = servers.world(3, ("trading",)).open()
    held, _ = position(session)
    tool = session.world.tools["list_positions"].tool
    assert not two_ways(session, tool, {held}, [])
    assert not two_ways(session, tool, {held}, ["list_portfolios"])
    assert not two_ways(session, tool, {held, "prt_none"}, ["search_instruments"])


def unasked(task: Task) -> list[GroundCall]:
    """Look-ups for ids of which the user says no word."""
    known = open_session(task).world.tools
    said = " ".join(turn.user for turn in task.turns).lower()
    used = {ref.call for _, call in task.ground_truth for ref in call.refs.values()}
    return [
        call
        for _, call in task.ground_truth
        if call.id in used and not call.arguments and known[call.name].tool.effect == "read"
        if not any(
            phrase.split("[")[0].strip().lower() in said for phrase in known[call.name].tool.phrases
        )
    ]


def test_no_plain_list_on_offer_shows_what_an_unasked_look_up_is_for(tasks: list[Task]) -> None:
    checked = 0
    for task in tasks:
        session = open_session(task)
        for look in unasked(task):
            bound = session.world.tools[look.name]
            others = alternatives(bound.server, bound.tool)
            plain = [n for n in others if not session.world.tools[n].tool.required]
            shown = [session.call(name, {}).json().decode() for name in plain]
            checked += 1
            refs = [r for _, c in task.ground_truth for r in c.refs.values() if r.call == look.id]
            ids = {pointer.resolve(look.result, r.path) for r in refs}
            assert not all(any(i in text for text in shown) for i in ids), (task.id, look.name)
    assert checked > 3


def test_a_call_carries_no_amount_into_a_filter_of_what_is_read() -> None:
    deals = servers.load("crm").tools
    assert "min_amount" in {p.name for p in deals["search_deals"].parameters}
    assert not [name for kind, name in taken(deals["search_deals"]) if kind == "money"]
    assert ("money", "amount") in taken(servers.load("banking").tools["transfer_between_accounts"])


def test_a_look_back_to_a_time_to_come_is_found() -> None:
    now = servers.world(3, ("vehicle",)).open().now
    today, far = now.date().isoformat(), f"{now.year + 3}-09-30"
    assert looks_ahead("since", far, now)
    assert looks_ahead("since", f"{far}T10:00:00+00:00", now)
    assert not looks_ahead("since", today, now)
    assert not looks_ahead("until", far, now)


def test_no_card_lends_its_expiry_date_to_a_log_that_looks_back() -> None:
    world = servers.world(3, ("banking", "vehicle"))
    lent = 0
    for seed in range(12):
        planner = Planner(world.open(), rng(seed, "since"))
        assert planner.extend("list_cards")
        assert any(leaf.kind == "date" for leaf in planner.leaves)
        planner.leaves.append(Leaf("date", "2020-01-05", "g0", "/cards/0/expires", "the old date"))
        if planner.extend("list_vehicle_trips"):
            lent += 1
            since = planner.steps[-1].arguments.get("since", "")
            assert since <= world.cast.start.isoformat()
    assert lent
