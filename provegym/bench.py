"""`provegym bench`: the benchmarks of the repository, each figure beside its target.

The measuring code lies in `benchmarks/`, outside of the package: it needs a checkout.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from importlib.util import find_spec, module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any, NamedTuple

from provegym.errors import InputError, UnknownName

Test = Callable[[float, float], bool]

FOLDER = Path(__file__).parents[1] / "benchmarks"


class Row(NamedTuple):
    """One figure. `target` is a least rate or a greatest cost, "" where there is none."""

    what: str
    value: str
    target: str
    verdict: str


def run(name: str | None = None, seconds: float | None = None) -> list[Row]:
    """Measure one of `PARTS` or all but the soak, in a few minutes on one core.

    `seconds` is how long the soak takes, ten minutes if not given. Raises `UnknownName`, and
    `InputError` outside of a checkout.
    """
    if not FOLDER.is_dir():
        raise InputError(f"there is no {FOLDER}: `provegym bench` runs from a checkout")
    if name == "soak":
        return list(_soak(seconds))
    if name is not None and name not in PARTS:
        raise UnknownName("benchmark", name, sorted([*PARTS, "soak"]))
    chosen = PARTS.values() if name is None else [PARTS[name]]
    return [row for part in chosen for row in part()]


def _engine() -> Iterator[Row]:
    measured = load("engine").measure()
    for what, value, target, unit in measured:
        yield row(what, value, target, unit, at_most)
    if not any(what.startswith("MCP SDK") for what, *_ in measured):
        yield Row("MCP SDK, call_tool in process", "skipped: mcp is not installed", "", "")


def _reward() -> Iterator[Row]:
    module = load("reward")
    for case, rate in module.measure().items():
        target = module.TARGET if case.startswith("typical") else None
        yield row(f"reward, {case}", rate, target, "traces/s", at_least)


def _synth() -> Iterator[Row]:
    module = load("synth")
    for what, value in module.measure().items():
        target = module.TARGET if what == "certified tasks" else None
        unit = "" if what == "yield" else "tasks/s"
        yield row(f"synthesis, {what}", value, target, unit, at_least)


def _gateway() -> Iterator[Row]:
    if not find_spec("mcp"):
        yield Row("gateway", "skipped: mcp is not installed", "", "")
        return
    for what, value, target, unit in load("gateway").measure():
        yield row(what, value, target, unit, at_most)


def _fleet() -> Iterator[Row]:
    if not find_spec("mcp"):
        yield Row("fleet", "skipped: mcp is not installed", "", "")
        return
    for what, value, target, unit in load("fleet").measure():
        yield row(what, value, target, unit, at_most)


def _viewer() -> Iterator[Row]:
    if not find_spec("starlette"):
        yield Row("viewer", "skipped: starlette is not installed", "", "")
        return
    for what, value, target, unit in load("viewer").measure():
        yield row(f"100,000 traces, {what}", value, target, unit, at_most)


def _soak(seconds: float | None) -> Iterator[Row]:
    module = load("soak")
    came = module.measure(seconds or module.SECONDS)
    errors = ", ".join(f"{count} {what}" for what, count in came.errors.items()) or "none"
    what = f"{came.sessions:,} sessions, {came.calls:,} calls"
    yield Row(f"errors in {what}", errors, "none", "met" if not came.errors else "missed")
    yield Row("digests compared with a replay", f"{came.checked:,}", "", "")
    for way, (median, late) in came.latency.items():
        yield Row(f"{way}, median and p99", f"{median:,.1f} and {late:,.1f} ms", "", "")
    line = came.memory
    slope = f"{line.slope:+.2f} [{line.low:+.2f}, {line.high:+.2f}] MB/min of {line.mean:,.0f} MB"
    flat = "met" if line.low <= 0 else "missed"
    yield Row("memory over time, 95 % interval", slope, "no growth", flat)


PARTS: dict[str, Callable[[], Iterator[Row]]] = {
    "engine": _engine,
    "reward": _reward,
    "synth": _synth,
    "gateway": _gateway,
    "fleet": _fleet,
    "viewer": _viewer,
}
"""The benchmarks by name, in the order in which they run; the soak runs only by its name."""


def row(what: str, value: float, target: float | None, unit: str, test: Test) -> Row:
    """A figure in words, with its target if it has one, and whether `test` finds it met."""
    if target is None:
        return Row(what, _number(value, unit), "", "")
    sign = "at most" if test is at_most else "at least"
    off = f"misses by {abs(value / target - 1):.0%}"
    verdict = "met" if test(value, target) else off
    return Row(what, _number(value, unit), f"{sign} {_number(target, unit)}", verdict)


def at_most(value: float, target: float) -> bool:
    """For a cost."""
    return value <= target


def at_least(value: float, target: float) -> bool:
    """For a rate."""
    return value >= target


def _number(value: float, unit: str) -> str:
    return f"{value:,.2f} {unit}".strip() if value < 100 else f"{value:,.0f} {unit}".strip()


def load(name: str) -> Any:
    """The module of that name in `benchmarks/`."""
    path = FOLDER / f"{name}.py"
    spec = spec_from_file_location(f"benchmarks.{name}", path)
    if spec is None or spec.loader is None:
        raise InputError(f"cannot read {path}")
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
