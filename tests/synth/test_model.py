"""The agenda of a conversation, and how a model's turns are held against it."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

from provegym import servers
from provegym.config import Synth
from provegym.graph.edges import Graph
from provegym.synth import say
from provegym.synth.agenda import Agenda, Item, Writer
from provegym.synth.brief import Brief, akin
from provegym.synth.draft import Shape
from provegym.synth.machine import Intent, Machine, Made, Spoken
from provegym.synth.make import Maker, Plan
from provegym.synth.model import ModelTeacher, goals, see_it_was_played
from provegym.synth.offline import Rejected
from provegym.types import Kind, Outcome

NAMES = ("banking", "calendar", "filesystem", "shopping")
PLAN = Plan(seed=7, servers=NAMES, others=NAMES)
SETTINGS = Synth(limit=12, world_seeds=3)


def agendas(graph: Graph, shape: Shape, count: int = 12) -> list[Agenda]:
    """What is drawn up for the shape, over all servers; chains without room for it are left out."""
    maker = Maker(PLAN, SETTINGS, graph)
    found = []
    for i in range(count):
        home, chain = maker.chains(NAMES[i % 4], shape, Random(i))
        world = servers.world(7, home)
        others = [servers.load(n) for n in NAMES if n not in home]
        try:
            brief = Brief(world, others, SETTINGS, shape, Random(i), lambda k: chain(k, i))  # noqa: B023
            found.append(Writer(brief).agenda())
        except Rejected:
            continue
    assert found
    return found


def bound(agenda: Agenda, i: int = 0) -> Any:
    """The first tool of a turn, as a server has it."""
    name = agenda.items[i].tools[-1]
    return next(s.tools[name] for s in map(servers.load, NAMES) if name in s.tools)


def test_a_workflow_is_a_chain_cut_into_its_turns(graph: Graph) -> None:
    for agenda in agendas(graph, Shape("workflow", 3)):
        assert [item.mode for item in agenda.items] == ["wish"] * 3
        names = [name for item in agenda.items for name in item.tools]
        assert len(names) == len(set(names)) >= 3


def test_a_first_turn_may_lack_a_tool_that_writes_and_the_second_brings_it(graph: Graph) -> None:
    for agenda in agendas(graph, Shape("clarification", 3, missing=True)):
        first, second = agenda.items[:2]
        assert (first.mode, second.mode) == ("hidden", "granted")
        assert first.tools == (agenda.hidden,) == second.tools[:1]
        assert bound(agenda).effect == "write"


@pytest.mark.parametrize("kind", ["clarification", "workflow"])
def test_a_first_turn_may_lack_a_value_that_can_stay_open(graph: Graph, kind: Kind) -> None:
    for agenda in agendas(graph, Shape(kind, 3, information="missing_required")):
        first, second = agenda.items[:2]
        assert (first.mode, second.mode) == ("wish", "answer")
        assert (len(first.tools) > 1) == (kind == "workflow")  # some of it can be done at once
        tool = bound(agenda)
        parameter = next(p for p in tool.parameters if p.name == first.leave_out)
        assert parameter.name in tool.required
        assert say.may_stay_open(parameter)


def test_a_wish_to_be_refused_has_an_example_that_a_fresh_world_refuses(graph: Graph) -> None:
    refused = 0
    for i, agenda in enumerate(agendas(graph, Shape("workflow", 2), 24)):
        for item in (item for item in agenda.items if item.mode == "refused"):
            name = next(n for n in NAMES if item.tools[0] in servers.load(n).tools)
            result = servers.world(7, (name,)).open().call(item.tools[0], item.example)
            assert result.builtins()["error"]["code"] == item.code, i
            refused += 1
    assert refused


def test_an_irrelevant_wish_is_for_a_server_that_the_task_does_not_show(graph: Graph) -> None:
    for agenda in agendas(graph, Shape("workflow", 3, irrelevant=True)):
        (item,) = (item for item in agenda.items if item.mode == "irrelevant")
        assert item.tools[0] in servers.load(item.server).tools
        assert agenda.away == akin(item.server)
        home = {tool for other in agenda.items if other is not item for tool in other.tools}
        assert not home & set(servers.load(item.server).tools)


def test_no_agenda_has_more_turns_than_a_conversation_may_have(graph: Graph) -> None:
    shape = Shape("clarification", 2, missing=True, irrelevant=True)
    assert {len(agenda.items) for agenda in agendas(graph, shape, 24)} == {3}


def test_an_abstention_is_about_one_hidden_tool_or_another_server(graph: Graph) -> None:
    for agenda in agendas(graph, Shape("abstention", 3)):
        assert [item.mode for item in agenda.items] == ["hidden", "insist", "insist"]
    for agenda in agendas(graph, Shape("abstention", 2, irrelevant=True)):
        assert [item.mode for item in agenda.items] == ["irrelevant", "irrelevant"]
        assert len({item.server for item in agenda.items}) == 1


# -- turns as they come ------------------------------------------------------------------------


class Lines:
    """Both sides of a conversation by a script: the assistant's replies, or calls."""

    def __init__(self, *lines: str | tuple[str, dict[str, Any]]) -> None:
        self.lines = list(lines)
        self.asked: list[Item] = []

    def say(self, item: Item, before: Any) -> str:
        self.asked.append(item)
        return "Well"

    def hear(self, words: str, tools: Any) -> None:
        """Nothing to note."""

    def act(self, made: Any) -> tuple[Intent, ...] | str:
        line = self.lines.pop(0)
        return line if isinstance(line, str) else (Intent("c", *line),)


def played(lines: Lines, *items: Item) -> list[str]:
    both: Any = lines
    teacher = ModelTeacher(both, both, Agenda(items), (), 3)
    Machine(teacher, servers.world(7, ("banking",)).open()).run()
    return [item.mode for item in lines.asked]


WISH = Item("wish", ("list_loans",))
LOOK: tuple[str, dict[str, Any]] = ("list_loans", {})


def test_a_question_that_nobody_foresaw_is_answered_and_the_last_turn_falls_away() -> None:
    lines = Lines("Which loans?", LOOK, "Here.", "Bye.")
    assert played(lines, WISH, WISH, Item("irrelevant")) == ["wish", "answer", "wish"]


def test_a_question_after_a_call_that_worked_is_mere_politeness() -> None:
    assert played(Lines(LOOK, "Anything else?", "Bye."), WISH, WISH) == ["wish", "wish"]


def test_a_question_that_was_foreseen_brings_no_turn_more() -> None:
    asking = Item("wish", ("list_loans",), leave_out="status")
    assert played(Lines("Which?", LOOK, "Here."), asking, Item("answer")) == ["wish", "answer"]


def test_nobody_answers_a_question_in_the_last_turn() -> None:
    with pytest.raises(Rejected, match="unanswered_question"):
        played(Lines("A.", "B.", "Which one?"), *[WISH] * 3)


def spoken(*calls: tuple[str, Outcome]) -> Spoken:
    made = [Made(Intent("c", name, {}), outcome, {}, 0) for name, outcome in calls]
    return Spoken("Well", (), made, "Done.")


@pytest.mark.parametrize(
    ("item", "turn", "reason"),
    [
        (WISH, spoken(), "prose_only"),
        (Item("irrelevant"), spoken(("list_loans", "ok")), "called_in_vain"),
        (Item("insist"), spoken(("list_loans", "tool_error")), "called_in_vain"),
        (Item("wish", ("pay",), leave_out="amount"), spoken(("pay", "ok")), "did_not_ask"),
        (Item("refused", ("pay",)), spoken(), "gave_up_without_look_ups"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_turn_that_was_not_played_as_its_kind_is_no_task(
    item: Item, turn: Spoken, reason: str
) -> None:
    with pytest.raises(Rejected, match=reason):
        see_it_was_played([item], [turn])


def test_turns_played_as_they_should_be_pass() -> None:
    items = [Item("wish", ("pay",), leave_out="amount"), Item("answer"), Item("irrelevant")]
    see_it_was_played(items, [spoken(("list_loans", "ok")), spoken(("pay", "ok")), spoken()])


def test_a_turn_wants_the_tools_of_its_wish_once_they_can_be_called() -> None:
    asking = Item("wish", ("look", "pay"), leave_out="amount")
    assert goals([asking, Item("answer", ("note",)), Item("irrelevant", ("fly",))]) == [
        {"look"},
        {"look", "pay", "note"},
        set(),
    ]
    hidden = [Item("hidden", ("pay",)), Item("granted", ("pay", "note"))]
    assert goals(hidden) == [set(), {"pay", "note"}]
