"""Pairs of tools, classified by a scripted model over real HTTP."""

from __future__ import annotations

import json
from collections import Counter
from itertools import combinations, pairwise, permutations
from pathlib import Path
from typing import Any

import pytest

from examples.library_server import SERVER as LIBRARY
from provegym import config, servers
from provegym.errors import EndpointDown, ModelFault
from provegym.graph.build import build
from provegym.graph.said import Said, agreement
from provegym.llm.scripted import Json, Response, ScriptedServer, fails, says
from provegym.synth.classify import ANSWER, SIZES, ask, asked_by
from provegym.world.server import Server
from tests.synth.asked import all_explicit, answer, model, pairs_of, verdict, verdicts

MEETINGS = servers.load("video_meeting")
NAMES = list(MEETINGS.tools)
PAIRS = list(combinations(NAMES, 2))


def teacher(endpoint: ScriptedServer, **settings: Any) -> config.Teacher:
    given = {"model": "m", "base_url": endpoint.url, "retries": 0, **settings}
    return config.Teacher.model_validate(given)


def said(
    endpoint: ScriptedServer, folder: Path, *, server: Server = MEETINGS, **settings: Any
) -> Said:
    return ask([server], teacher(endpoint, **settings), folder / "answers.sqlite")[0]


def follows(a: str, b: str) -> tuple[str, str]:
    """By the order of the tools: one after the other is explicit, the next but one implicit."""
    apart = NAMES.index(b) - NAMES.index(a)
    return {1: "explicit", 2: "implicit"}.get(apart, "none"), "none"


def test_each_pair_of_a_server_is_asked_once_in_requests_of_a_stated_size(tmp_path: Path) -> None:
    assert (len(NAMES), SIZES[0]) == (10, 20)
    with ScriptedServer(model(follows)) as endpoint:
        found = said(endpoint, tmp_path)
        asked = [pairs_of(request) for request in endpoint.requests]
    assert sorted(map(len, asked)) == [5, 20, 20]
    assert Counter(pair for part in asked for pair in part) == Counter(PAIRS)
    edges = {(e.source, e.target): e.kind for e in found.edges}
    assert edges == {
        **dict.fromkeys(pairwise(NAMES), "explicit"),
        **dict.fromkeys(zip(NAMES, NAMES[2:], strict=False), "implicit"),
    }
    assert found.unclassified == ()


def test_both_directions_of_a_pair_are_edges_with_their_reason_and_who_named_them(
    tmp_path: Path,
) -> None:
    long = "because " * 100
    script = lambda request: answer(  # noqa: E731
        [verdict(i, "implicit", "explicit", long) for i in range(1, 1 + len(pairs_of(request)))]
    )
    with ScriptedServer(script) as endpoint:
        found = said(endpoint, tmp_path, server=LIBRARY)
    kinds = {(e.source, e.target): e.kind for e in found.edges}
    assert kinds["find_books", "borrow_book"] == "implicit"
    assert kinds["borrow_book", "find_books"] == "explicit"
    assert len(kinds) == 6
    assert {e.by for e in found.edges} == {("llm:m",)}
    assert {e.evidence["why"] for e in found.edges} == {long[:200]}


def test_a_request_shows_each_of_its_tools_once_with_what_it_returns(tmp_path: Path) -> None:
    with ScriptedServer(model(all_explicit)) as endpoint:
        said(endpoint, tmp_path, server=LIBRARY)
        (request,) = endpoint.requests
    told = [json.loads(line) for line in request["messages"][0]["content"].splitlines()[-3:]]
    assert [tool["name"] for tool in told] == ["find_books", "borrow_book", "return_book"]
    assert told[0]["returns"] == [{"id": "str", "title": "str", "reader": "str"}]
    assert told[1]["parameters"]["required"] == ["book_id"]
    assert told[1]["refusals"] == ["lent", "too_many"]
    assert [tool["effect"] for tool in told] == ["reads", *["changes the state"] * 2]
    assert request["response_format"]["json_schema"]["schema"] == ANSWER


def test_broken_json_is_asked_again_in_requests_half_the_size(tmp_path: Path) -> None:
    broken: list[Json] = []

    def script(request: Json) -> Response:
        if not broken:
            broken.append(request)
            return says('{"pairs": [{"pair": 1, "b_needs')
        return model(follows)(request)

    with ScriptedServer(script) as endpoint:
        found = said(endpoint, tmp_path)
        asked = [len(pairs_of(request)) for request in endpoint.requests]
        again = [pair for request in endpoint.requests[3:] for pair in pairs_of(request)]
    first = len(pairs_of(broken[0]))
    assert asked[3:] == ([10, 10] if first == 20 else [5])
    assert sorted(again) == sorted(pairs_of(broken[0]))  # the halves are asked at once
    assert len(found.edges) == 9 + 8
    assert found.unclassified == ()


def test_a_pair_left_out_is_asked_again_alone(tmp_path: Path) -> None:
    missed = PAIRS[7]

    def script(request: Json) -> Response:
        asked = pairs_of(request)
        told = verdicts(asked, follows)
        return answer(
            told if len(asked) == 1 else [v for v in told if asked[v["pair"] - 1] != missed]
        )

    with ScriptedServer(script) as endpoint:
        found = said(endpoint, tmp_path)
        assert [pairs_of(request) for request in endpoint.requests[3:]] == [[missed]]
    assert found.unclassified == ()


WRONG: dict[str, Any] = {
    "an unknown relation": [verdict(1, "perhaps")],
    "a direction is missing": [{"pair": 1, "b_needs_a": "none", "why": ""}],
    "answered twice": [verdict(1, "none"), verdict(1, "explicit")],
    "a number as text": [{**verdict(1, "none"), "pair": "1"}],
    "no object": ["none"],
}


@pytest.mark.parametrize("wrong", WRONG.values(), ids=WRONG)
def test_what_is_never_answered_well_is_unclassified_after_the_last_size(
    tmp_path: Path, wrong: list[Any]
) -> None:
    missed = PAIRS[0]

    def script(request: Json) -> Response:
        asked = pairs_of(request)
        told = verdicts(asked, follows)
        beyond = [verdict(len(asked) + 1, "explicit"), verdict(0, "explicit")]
        return answer([*(wrong if asked[0] == missed else told[:1]), *told[1:], *beyond])

    with ScriptedServer(script) as endpoint:
        found = said(endpoint, tmp_path)
        times = sum(missed in pairs_of(request) for request in endpoint.requests)
    assert times == len(SIZES) == 3
    assert found.unclassified == (missed, missed[::-1])
    graph = build([MEETINGS], worlds=1, tries=1)
    compared = agreement(graph, found)
    assert sum(row["unclassified"] for row in compared.total.counts.values()) == 2
    assert compared.total.pairs == 10 * 9


def test_a_model_that_says_explicit_of_all_agrees_by_chance_alone(tmp_path: Path) -> None:
    with ScriptedServer(model(all_explicit)) as endpoint:
        found = said(endpoint, tmp_path, server=LIBRARY)
    compared = agreement(build([LIBRARY]), found)
    # find_books shows ids and takes none; borrow_book and return_book show one and take one.
    assert {row: cells["explicit"] for row, cells in compared.total.counts.items()} == {
        "explicit": 4,
        "implicit": 0,
        "none": 2,
    }
    assert (compared.total.agreement, compared.total.kappa) == (4 / 6, 0)
    wrong = {(d.source, d.target, d.shown, d.named) for d in compared.disagreements}
    assert wrong == {
        ("borrow_book", "find_books", "none", "explicit"),
        ("return_book", "find_books", "none", "explicit"),
    }


def test_a_second_run_asks_nothing_and_says_the_same(tmp_path: Path) -> None:
    with ScriptedServer(model(follows)) as endpoint:
        first = said(endpoint, tmp_path)
        again = said(endpoint, tmp_path)
        assert (again, len(endpoint.seen)) == (first, 3)


def test_another_model_is_asked_anew(tmp_path: Path) -> None:
    with ScriptedServer(model(follows)) as endpoint:
        first, other = said(endpoint, tmp_path), said(endpoint, tmp_path, model="n")
        assert len(endpoint.seen) == 6
        assert asked_by(teacher(endpoint)) == asked_by(teacher(endpoint, concurrency=1))
    assert first.asked != other.asked
    assert {e.by for e in other.edges} == {("llm:n",)}


def test_a_request_that_is_refused_alone_leaves_its_pairs_to_smaller_ones(tmp_path: Path) -> None:
    def script(request: Json) -> Response:
        return fails(400, "too hard") if len(pairs_of(request)) == 20 else model(follows)(request)

    with ScriptedServer(script) as endpoint:
        assert said(endpoint, tmp_path).unclassified == ()
        assert sorted(len(pairs_of(r)) for r in endpoint.requests) == [5, 10, 10, 10, 10, 20, 20]


def test_a_model_that_classifies_nothing_is_a_fault(tmp_path: Path) -> None:
    with (
        ScriptedServer(answers=[says("I would rather not.")]) as endpoint,
        pytest.raises(ModelFault, match="model 'm' classified none of 45 pairs"),
    ):
        said(endpoint, tmp_path)


def test_an_endpoint_that_is_down_ends_the_run(tmp_path: Path) -> None:
    endpoint = ScriptedServer(model(follows))
    with endpoint:
        endpoint.down()
        with pytest.raises(EndpointDown):
            said(endpoint, tmp_path, patience=0)


def test_every_ordered_pair_is_an_edge_none_or_unclassified(tmp_path: Path) -> None:
    with ScriptedServer(model(follows)) as endpoint:
        found = said(endpoint, tmp_path)
    joined = {(e.source, e.target) for e in found.edges}
    assert joined <= set(permutations(NAMES, 2))
