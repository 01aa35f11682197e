"""Figures: round ticks, running means, and marks that stand where their values are."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from provegym.report.figures import HEIGHT, WIDTH, Frame, bars, intervals, lines, smooth, ticks


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [
        (0, 1, [0, 0.2, 0.4, 0.6, 0.8, 1]),
        (-0.07, 0.88, [-0.2, 0, 0.2, 0.4, 0.6, 0.8, 1]),
        (0, 350, [0, 100, 200, 300, 400]),
        (3.1, 4.9, [3, 3.5, 4, 4.5, 5]),
        (0, 0, [0, 0.2, 0.4, 0.6, 0.8, 1]),  # nothing was masked
        (2, 2, [1.4, 1.6, 1.8, 2, 2.2, 2.4, 2.6]),  # of no width: half a unit either way
    ],
)
def test_ticks_are_round_numbers(low: float, high: float, expected: list[float]) -> None:
    assert ticks(low, high) == expected


@given(st.floats(-1e6, 1e6), st.floats(1e-3, 1e6))
def test_ticks_reach_over_all_values_and_are_few(low: float, width: float) -> None:
    marks = ticks(low, low + width)
    assert marks[0] <= low + 1e-6 * width
    assert marks[-1] >= low + width - 1e-6 * width
    assert 3 <= len(marks) <= 9


def test_a_running_mean_looks_back() -> None:
    assert smooth([1, 3, 5, 9], 2) == [1, 2, 4, 7]
    assert smooth([], 5) == []


def test_a_frame_puts_the_ends_of_the_data_into_the_corners_of_its_box() -> None:
    frame = Frame((40, 10, 240, 110), (1, 21), (-1, 1))
    assert (frame.x(1), frame.x(21), frame.x(11)) == (40, 240, 140)
    assert (frame.y(-1), frame.y(1), frame.y(0)) == (110, 10, 60)


def curves(svg: str, kind: str) -> list[list[tuple[float, float]]]:
    texts = re.findall(rf'<polyline class="{kind} s\d" points="([^"]*)"', svg)
    return [[(float(x), float(y)) for x, y in (p.split(",") for p in t.split())] for t in texts]


def test_curves_start_left_end_right_and_stay_inside() -> None:
    drawn = lines("Reward", {"reward": [0.0, 0.5, 1.0]}, window=2)
    (raw,), (mean,) = curves(drawn, "raw"), curves(drawn, "mean")
    assert [x for x, _ in raw] == [42, 236, 430]  # 42 to WIDTH - 10, evenly
    assert [y for _, y in raw] == [176, 92, 8]  # HEIGHT - 34 to 8
    assert [y for _, y in mean] == [176, 134, 50]  # of 0, 0.25, 0.75
    assert "reward 0.75" in drawn
    assert WIDTH == 440
    assert HEIGHT == 210


def test_steps_without_a_value_leave_their_place_empty() -> None:
    drawn = lines("Reward", {"reward": [0.0, None, 1.0], "never": [None, None, None]})
    (raw,) = curves(drawn, "raw")
    assert [x for x, _ in raw] == [42, 430]
    assert "never" not in drawn


def test_a_figure_without_values_says_so() -> None:
    assert "No values." in lines("Reward", {"reward": [None]})


def test_one_step_can_be_drawn() -> None:
    assert curves(lines("Reward", {"reward": [0.5]}), "mean") == [[(42.0, 92.0)]]


def test_intervals_stand_where_their_values_are() -> None:
    drawn = intervals("Shares", {"before": {"success": (0.5, 0.25, 1.0)}})
    left, right = 112, 420
    assert f'cx="{(left + right) / 2:.1f}"' in drawn
    assert f'x1="{left + (right - left) / 4:.1f}" x2="{right:.1f}"' in drawn
    assert "before: success 0.500, 95 % interval 0.250 to 1.000" in drawn


def test_a_metric_that_one_policy_lacks_is_left_out_for_it_alone() -> None:
    drawn = intervals(
        "Shares", {"before": {"a": (0, 0, 0), "b": (1, 1, 1)}, "after": {"a": (1, 1, 1)}}
    )
    assert drawn.count("<circle") == 3


def test_bars_put_the_head_first_and_then_the_longest() -> None:
    drawn = bars("Yield", {"rare": 1, "common": 4, "certified": 2}, head="certified")
    assert re.findall(r"<span>(\w+)</span>", drawn) == ["certified", "common", "rare"]
    assert re.findall(r"width:([\d.]+)%", drawn) == ["50.0", "100.0", "25.0"]


def test_names_are_written_as_text_not_as_markup() -> None:
    for drawn in (bars("<b>", {"<i>": 1}), lines("<b>", {"<i>": [1.0]})):
        assert "<b>1" in drawn or "&lt;b&gt;" in drawn
        assert "&lt;i&gt;" in drawn
        assert "<i>" not in drawn
