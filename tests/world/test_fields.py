"""How formatted strings are written, case by case."""

from __future__ import annotations

import pytest

from provegym.world.fields import CLOCK, DATE, EMAIL, INSTANT, MONEY, TEXT, Format, cents, money

CASES: list[tuple[Format, list[str], list[str]]] = [
    (MONEY, ["0.00", "12.50", "-3.99", "999999999999.99"], ["1", "1.5", "1.500", ".50", "1,00"]),
    (MONEY, [], ["", "+1.00", "1.00 ", "1.00\n", "٣.٠٠", "1000000000000.00", "$1.00", "NaN"]),
    (DATE, ["2026-03-05", "2024-02-29"], ["2026-02-29", "2026-3-5", "20260305", "2026-03-05T00"]),
    (DATE, [], ["", "2026-13-01", "2026-03-05\n", "٢٠٢٦-٠٣-٠٥", "2026-W10-4"]),
    (INSTANT, ["2026-03-05T14:00:00+00:00", "2026-03-05T14:00Z"], ["2026-03-05T14:00:00"]),
    (INSTANT, ["2026-03-05T14:00:59-11:30"], ["2026-03-05 14:00:00Z", "2026-03-05T24:00:00Z"]),
    (INSTANT, [], ["2026-02-30T10:00:00Z", "2026-03-05T14:00:00.5Z", "2026-03-05", ""]),
    (CLOCK, ["00:00", "23:59", "09:05"], ["24:00", "9:05", "12:60", "12:5", "12:05:00", ""]),
    (EMAIL, ["ada@b.example", "a.b+c@d.e.f"], ["ada", "ada@b", "a b@c.d", "a@b@c.d", "@b.c", ""]),
    (TEXT, ["x", " x ", "é" * 2000], ["", " ", "\n\t", "x" * 2001]),
]


@pytest.mark.parametrize(("form", "good", "bad"), CASES)
def test_a_format_takes_the_well_written_and_nothing_else(
    form: Format, good: list[str], bad: list[str]
) -> None:
    assert [text for text in good if not form.accepts(text)] == []
    assert [text for text in bad if form.accepts(text)] == []


@pytest.mark.parametrize(
    ("text", "amount"), [("12.50", 1250), ("0.00", 0), ("-3.99", -399), ("-0.05", -5)]
)
def test_money_and_minor_units_are_one(text: str, amount: int) -> None:
    assert cents(text) == amount
    assert money(amount) == text
