"""The paper's figures: copied without a slip, and with the right standard errors."""

from __future__ import annotations

from pathlib import Path

import pytest

from provegym import records
from provegym.errors import InputError, UnknownName
from provegym.evals.paper import MARK, Result, beside, errors, published, read_results, rows
from provegym.evals.stats import Estimate


def test_every_overall_figure_is_the_mean_of_its_parts() -> None:
    # Printed means are of unrounded parts, and parts are rounded to 0.1. T-Eval's are means of
    # two formats, so one more rounding lies between.
    whole = [row for row in published().rows if len(row.scores) > 1]
    assert len(whole) == 24
    for row in whole:
        parts = [value for part, value in row.scores.items() if part != "overall"]
        assert row.scores["overall"] == pytest.approx(sum(parts) / len(parts), abs=0.11), row


def test_tables_agree_where_they_repeat_each_other() -> None:
    seen: dict[tuple[str, str, str], float] = {}
    renamed = {(5, "full"): "PROVE", (7, "Gemma-4-31B"): "PROVE"}  # the paper's own teacher
    for row in published().rows:
        method = renamed.get((row.table, row.method), row.method)
        value = row.scores["overall"]
        assert seen.setdefault((row.suite, row.model, method), value) == value, row
    assert len(published().rows) == 24 + 21 + 36 + 18


def test_parts_are_whole_numbers_of_tasks() -> None:
    for row in published().rows:
        for part, of in published().items[row.suite].items():
            if not of or part not in row.scores:
                continue
            solved = row.scores[part] / 100 * of
            odd = (row.suite, row.model, part, row.method) == (
                "tau2",
                "Qwen3-4B",
                "airline",
                "base",
            )
            near = abs(solved - round(solved)) <= 0.0005 * of + 1e-9
            assert near is not odd, row  # 26.8 is 11 of 41: probably a run that was cut short


def test_standard_errors_are_those_of_shares_and_their_mean() -> None:
    # By hand, base 23.5 of 200: sqrt(0.235 x 0.765 / 200). The four parts' variances are 0.179775,
    # 0.123975, 0.1204 and 0.1771 over 200; the mean's error is sqrt(0.60125 / 200) / 4.
    found = errors(rows("bfcl")[0])
    assert found["base"] == pytest.approx(2.998, abs=1e-3)
    assert found["overall"] == pytest.approx(1.3707, abs=1e-3)


def test_what_is_not_known_has_no_standard_error() -> None:
    found = errors(rows("teval")[0])
    assert found.keys() == {"review"}
    assert found["review"] == pytest.approx(4.641, abs=1e-3)  # sqrt(0.708 x 0.292 / 96)


def test_a_row_without_parts_has_the_error_of_equal_parts() -> None:
    full = rows("bfcl", table=5)[0]
    assert full.scores == {"overall": 29.0}
    assert errors(full)["overall"] == pytest.approx(1.604, abs=1e-3)  # sqrt(0.29 x 0.71 / 800)


def test_ours_stand_below_the_papers_and_each_says_whose_it_is() -> None:
    mine = Result("mine", "tau2", {"airline": Estimate(0.25, 0.1, 0.4, 20, 0.097)})
    other = Result("other", "bfcl", {"base": Estimate(1, 1, 1, 1)})
    heads, lines = beside("tau2", [mine, other])
    assert heads == ("model", "measured by", "airline", "retail", "telecom", "overall")
    assert lines[0][:3] == ("Qwen3-4B base", MARK, "26.8 +- 6.3")
    assert lines[-1] == ("mine", "ours", "25.0 +- 9.7", "-", "-", "-")
    assert [line[1] for line in lines].count(MARK) == 8


def test_unknown_suites_and_tables_are_refused() -> None:
    with pytest.raises(UnknownName, match="unknown suite 'gaia'; known: bfcl, tau2, teval"):
        beside("gaia")
    with pytest.raises(UnknownName, match="unknown table '4'; known: 3, 5, 6, 7"):
        beside("bfcl", table=4)


def test_results_are_read_from_lines(tmp_path: Path) -> None:
    path = tmp_path / "ours.jsonl"
    mine = Result("mine", "bfcl", {"base": Estimate(0.5, 0.4, 0.6, 200, 0.03)})
    records.write_atomic(path, [records.encode(mine)])
    assert read_results(path) == [mine]
    path.write_bytes(b"")
    with pytest.raises(InputError, match="holds no result"):
        read_results(path)
