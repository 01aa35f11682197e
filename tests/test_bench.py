"""Benchmarks say what they measured, against which target, and by how much it is missed."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest

from provegym import bench
from provegym.errors import InputError, UnknownName
from provegym.servers import load

ROWS = [
    (2.0, 2.5, "us", bench.at_most, ("2.00 us", "at most 2.50 us", "met")),
    (3.0, 2.5, "us", bench.at_most, ("3.00 us", "at most 2.50 us", "misses by 20%")),
    (
        50.0,
        200.0,
        "tasks/s",
        bench.at_least,
        ("50.00 tasks/s", "at least 200 tasks/s", "misses by 75%"),
    ),
    (25_000.0, 20_000.0, "", bench.at_least, ("25,000", "at least 20,000", "met")),
    (7.0, None, "B", bench.at_most, ("7.00 B", "", "")),
]


@pytest.mark.parametrize(("value", "target", "unit", "test", "expected"), ROWS)
def test_a_row_says_whether_its_target_is_met(
    value: float, target: float | None, unit: str, test: bench.Test, expected: tuple[str, ...]
) -> None:
    assert bench.row("x", value, target, unit, test) == ("x", *expected)


def test_outside_of_a_checkout_there_is_nothing_to_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bench, "FOLDER", tmp_path / "benchmarks")
    with pytest.raises(InputError, match="checkout"):
        bench.run()


def test_a_call_costs_more_than_its_decoder_and_encoder_and_far_less_than_a_millisecond() -> None:
    engine = bench.load("engine")
    case = engine.accepted("banking", load("banking").tools["list_accounts"])
    cost = engine.cost(case)
    assert 0 < cost.least < cost.overhead < 1000
    assert 0 < cost.body < 10_000


def test_a_session_takes_less_memory_than_a_deep_copy() -> None:
    engine = bench.load("engine")
    of = engine.world(0, ("banking",))
    seconds, size = engine.copied(of)
    assert engine.bytes_per_session(of, lambda _: None, 50) * 100 < size
    assert engine.open_and_close(of) * 100 < seconds


def test_one_benchmark_is_run_by_its_name(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [bench.Row("a call", "1 us", "", "")]
    monkeypatch.setitem(bench.PARTS, "gateway", lambda: iter(rows))
    assert bench.run("gateway") == rows
    with pytest.raises(
        UnknownName, match="'gate'; known: engine, fleet, gateway, reward, soak, synth"
    ):
        bench.run("gate")


def test_what_a_front_adds_is_measured_beside_its_worker() -> None:
    values = {what: value for what, value, *_ in bench.load("fleet").measure(64, 1)}
    assert values["front, a call in a batch of 256"] < values["front, a call alone"]
    assert 0 < values["front, a call over MCP"] < values["its worker"]


def test_a_soak_finds_no_error_and_says_how_memory_went() -> None:
    soak = bench.load("soak")
    came = soak.measure(seconds=4, sessions=64, workers=2, ended=8)
    assert came.errors == {}
    assert (came.sessions, came.workers) == (64, 2)
    assert came.calls > came.requests > 100
    assert came.checked > 0
    assert set(came.latency) == {"batch of 64", "MCP"}
    assert all(0 < median <= late for median, late in came.latency.values())
    assert came.memory.mean > 100


def test_memory_that_grows_is_told_from_noise() -> None:
    line = bench.load("soak").line
    noise = [(n * 37 % 11) - 5.0 for n in range(400)]
    minutes = [n / 40 for n in range(400)]
    flat = line([(x, 200 + y) for x, y in zip(minutes, noise, strict=True)])
    assert flat.low < 0 < flat.high
    grows = line([(x, 200 + 2 * x + y) for x, y in zip(minutes, noise, strict=True)])
    assert 1.9 < grows.low < grows.slope < grows.high < 2.1


def test_a_soak_is_run_by_its_name_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    came = bench.load("soak").Soak(
        *(60.0, 100, 2, 5000, 900, 7, {"HTTP 503": 2}, {"MCP": (1.0, 9.25)}),
        memory=bench.load("soak").Line(0.25, 0.125, 0.375, 512.0),
    )
    asked = []

    def measure(seconds: float) -> object:
        asked.append(seconds)
        return came

    module = SimpleNamespace(measure=measure, SECONDS=600.0)
    monkeypatch.setattr(bench, "load", {"soak": module}.__getitem__)
    rows = bench.run("soak", 60.0)
    assert rows == bench.run("soak")
    assert asked == [60.0, 600.0]
    assert [row.verdict for row in rows] == ["missed", "", "", "missed"]
    assert rows[0][:2] == ("errors in 100 sessions, 5,000 calls", "2 HTTP 503")
    assert rows[2].value == "1.0 and 9.2 ms"
    assert rows[3].value == "+0.25 [+0.12, +0.38] MB/min of 512 MB"


def test_a_call_over_http_is_measured_beside_the_bare_server_and_meets_its_answers() -> None:
    rows = bench.load("gateway").measure(calls=64, repeats=1)
    names = [what for what, *_ in rows]
    assert "bare, a call" in names
    assert "gateway, a call" in names
    targets = {what: target for what, _, target, _ in rows}
    values = {what: value for what, value, *_ in rows}
    assert targets["gateway, a call"] == 1.15 * values["bare, a call"]
