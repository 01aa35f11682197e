"""Sampled arguments fit their tool and this world."""

from __future__ import annotations

from random import Random
from typing import Any

import jsonschema

from provegym.world.sample import BAD_ID_RATE, arguments
from tests.world.conftest import library_world
from tests.world.library import SERVER, Library

DRAWS = 400


def drawn(name: str) -> list[dict[str, Any]]:
    state, rnd = library_world(2).open().state("library"), Random(5)
    return [arguments(SERVER.tools[name], state, rnd) for _ in range(DRAWS)]


def test_every_sample_fits_its_schema_and_its_formats() -> None:
    session = library_world(2).open()
    state, rnd = session.state("library"), Random(1)
    for tool in SERVER.tools.values():
        for _ in range(60):
            given = arguments(tool, state, rnd)
            jsonschema.validate(given, tool.schema.function.parameters)
            result = session.call(tool.name, given)
            assert result.outcome in ("ok", "tool_error")
            assert result.outcome == "ok" or result.value["error"]["code"] != "invalid_value"


def test_few_ids_are_of_no_row_and_all_others_of_rows_alive() -> None:
    members = {row.id for row in library_world(2).templates["library.members"].rows.values()}
    ids = [given["member_id"] for given in drawn("get_member")]
    bad = [i for i in ids if i not in members]
    assert 0 < len(bad) < 3 * BAD_ID_RATE * DRAWS
    assert all(i.startswith("mem_") for i in bad)
    assert len(set(ids)) > 40


def test_ids_of_rows_made_in_the_session_are_drawn_and_deleted_ones_are_not() -> None:
    session = library_world(2).open()
    state = session.state("library")
    assert isinstance(state, Library)
    gift = {"donations": [{"title": "Emma", "price": "9.50"}]}
    new = session.call("add_donations", gift).builtins()["books"][0]["id"]
    state.books.delete("book_000003")
    rnd, seen = Random(3), set[str]()
    for _ in range(DRAWS):
        seen.update(arguments(SERVER.tools["set_wishes"], state, rnd)["book_ids"])
    assert new in seen
    assert "book_000003" not in seen


def test_optional_parameters_come_and_go_and_no_cursor_is_made_up() -> None:
    given = drawn("search_books")
    assert 0.2 * DRAWS < sum("query" in g for g in given) < 0.4 * DRAWS
    assert not any("cursor" in g for g in given)
    donations = [d for g in drawn("add_donations") for d in g["donations"]]
    assert {len(g["donations"]) for g in drawn("add_donations")} == {1, 2, 3}
    assert 0.15 < sum("year" in d for d in donations) / len(donations) < 0.45


def test_numbers_reach_both_of_their_bounds_sides() -> None:
    guests = [g["guests"] for g in drawn("plan_visit")]
    shares = [g["share"] for g in drawn("plan_visit") if "share" in g]
    assert min(guests) < 5 < 50 < max(guests)
    assert all(0 <= share <= 1 for share in shares)
    assert max(shares) > 0.8


def test_the_same_seed_draws_the_same() -> None:
    assert drawn("plan_visit") == drawn("plan_visit")
