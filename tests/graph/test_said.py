"""A model's word beside what types and execution show, worked out by hand.

Server s has the tools a, b and c, server t has d and e. Shown are a before b (explicit), b before
c (implicit) and a bridge; the model names a before b and b before c explicit, b before a implicit,
and left the pair of a and c out.
"""

from __future__ import annotations

from provegym.graph.edges import Edge, Graph
from provegym.graph.said import Said, agreement, chosen

TYPED = Edge(
    "a", "b", "explicit", {"entity": "s.rows", "path": "/id", "parameter": "x"}, ("types",)
)
PROVED = Edge("b", "c", "implicit", {"refused_before": "closed"}, ("execution",))
BRIDGE = Edge("c", "d", "bridge", {}, ("execution",))
SHOWN = Graph(
    servers=("s", "t"),
    tools=("a", "b", "c", "d", "e"),
    edges=(TYPED, PROVED, BRIDGE),
    pairs={"explicit": 1, "implicit": 1, "none": 6, "bridge": 1},
    schema_hash="h",
    owners={"a": "s", "b": "s", "c": "s", "d": "t", "e": "t"},
)
WHY = {"why": "so it seems"}
NAMED = (
    Edge("a", "b", "explicit", WHY, ("llm:m",)),
    Edge("b", "c", "explicit", WHY, ("llm:m",)),
    Edge("b", "a", "implicit", WHY, ("llm:m",)),
)
SAID = Said("m", "asked", NAMED, (("a", "c"), ("c", "a")))


def test_every_ordered_pair_is_in_one_cell() -> None:
    found = agreement(SHOWN, SAID)
    assert found.servers["s"].counts == {
        "explicit": {"explicit": 1, "implicit": 0, "none": 0, "unclassified": 0},
        "implicit": {"explicit": 1, "implicit": 0, "none": 0, "unclassified": 0},
        "none": {"explicit": 0, "implicit": 1, "none": 1, "unclassified": 2},
    }
    assert found.servers["t"].counts["none"]["none"] == 2
    assert found.total.counts["none"] == {
        "explicit": 0,
        "implicit": 1,
        "none": 3,
        "unclassified": 2,
    }
    assert [m.pairs for m in (found.total, *found.servers.values())] == [8, 6, 2]


def test_agreement_beyond_chance_leaves_out_what_is_unclassified() -> None:
    found = agreement(SHOWN, SAID)
    # Of s: 2 of 4 agree; shown are 1, 1 and 2 of each relation, named 2, 1 and 1.
    assert found.servers["s"].agreement == 2 / 4
    assert found.servers["s"].kappa == (4 * 2 - 5) / (4 * 4 - 5)
    # Of both: 4 of 6 agree; 1, 1 and 4 against 2, 1 and 3.
    assert found.total.agreement == 4 / 6
    assert found.total.kappa == (6 * 4 - 15) / (6 * 6 - 15)


def test_where_both_know_one_relation_alone_there_is_no_kappa() -> None:
    assert agreement(SHOWN, SAID).servers["t"].kappa is None
    nothing = Said("m", "asked", (), (("d", "e"), ("e", "d")))
    empty = agreement(SHOWN, nothing).servers["t"]
    assert (empty.agreement, empty.kappa) == (None, None)


def test_a_disagreement_holds_what_speaks_for_either_side() -> None:
    found = agreement(SHOWN, SAID)
    told = [(d.server, d.source, d.target, d.shown, d.named) for d in found.disagreements]
    assert told == [("s", "b", "a", "none", "implicit"), ("s", "b", "c", "implicit", "explicit")]
    assert [d.evidence for d in found.disagreements] == [{}, {"refused_before": "closed"}]
    assert {d.why for d in found.disagreements} == {"so it seems"}
    assert found.unclassified == (("a", "c"), ("c", "a"))


def test_an_edge_that_the_model_misses_is_a_disagreement_too() -> None:
    (found,) = agreement(SHOWN, Said("m", "asked", NAMED[:1])).disagreements
    assert (found.source, found.target, found.shown, found.named) == ("b", "c", "implicit", "none")
    assert (found.evidence, found.why) == (PROVED.evidence, "")


def test_the_models_edges_can_stand_alone_beside_the_bridges() -> None:
    graph = chosen(SHOWN, SAID, "llm")
    assert graph.edges == (*NAMED, BRIDGE)
    assert graph.pairs == {
        "explicit": 2,
        "implicit": 1,
        "none": 3,
        "unclassified": 2,
        "bridge": 1,
    }
    assert (graph.choice, graph.model, graph.asked) == ("llm", "m", "asked")
    assert graph.schema_hash == SHOWN.schema_hash


def test_in_a_union_what_is_shown_comes_first_and_each_edge_says_who_found_it() -> None:
    graph = chosen(SHOWN, SAID, "union")
    assert [(e.source, e.target, e.kind, e.by) for e in graph.edges] == [
        ("a", "b", "explicit", ("types", "llm:m")),
        ("b", "c", "implicit", ("execution",)),
        ("b", "a", "implicit", ("llm:m",)),
        ("c", "d", "bridge", ("execution",)),
    ]
    assert graph.edges[0].evidence == TYPED.evidence
    assert sum(n for kind, n in graph.pairs.items() if kind != "bridge") == 8
    assert graph.pairs["unclassified"] == 2


def test_an_unclassified_pair_that_is_shown_is_an_edge_of_the_union() -> None:
    said = Said("m", "asked", (), (("a", "b"), ("b", "a")))
    assert chosen(SHOWN, said, "union").pairs == {
        "explicit": 1,
        "implicit": 1,
        "none": 5,
        "unclassified": 1,
        "bridge": 1,
    }


def test_the_executed_choice_leaves_the_graph_as_it_is() -> None:
    assert chosen(SHOWN, SAID, "executed") is SHOWN
