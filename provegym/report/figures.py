"""Figures of a run as SVG text, for a page that needs no other file."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

mpl.rcParams.update({"svg.fonttype": "none", "svg.hashsalt": "provegym", "font.size": 9})

BLUE, ORANGE, GREY = "#2563a8", "#d9730d", "#8a8f98"
Points = Sequence[float | None]


def lines(series: Mapping[str, Points], label: str, window: int = 1) -> str:
    """Curves over the training steps, each smoothed by a running mean of `window` steps."""
    figure = Figure(figsize=(6.4, 2.6), layout="constrained")
    axes = figure.subplots()
    for name, values in series.items():
        known = [(i + 1, v) for i, v in enumerate(values) if v is not None]
        if known:
            steps, ys = zip(*known, strict=True)
            axes.plot(steps, smooth(ys, window), label=name, linewidth=1.4)
    _finish(axes, "step", label)
    if len(series) > 1:
        axes.legend(frameon=False, fontsize=8, ncols=2)
    return _svg(figure)


def smooth(values: Sequence[float], window: int) -> list[float]:
    """Trailing running mean."""
    means = []
    for i in range(len(values)):
        part = values[max(0, i + 1 - window) : i + 1]
        means.append(sum(part) / len(part))
    return means


def bars(values: Mapping[str, float], label: str) -> str:
    """Horizontal bars, the longest first."""
    ordered = sorted(values.items(), key=lambda item: item[1])
    figure = Figure(figsize=(6.4, 0.5 + 0.26 * max(1, len(ordered))), layout="constrained")
    axes = figure.subplots()
    axes.barh([n for n, _ in ordered], [v for _, v in ordered], color=BLUE, height=0.7)
    _finish(axes, label, "")
    return _svg(figure)


def intervals(
    before: Mapping[str, tuple[float, float, float]],
    after: Mapping[str, tuple[float, float, float]],
) -> str:
    """Means with their intervals, before and after side by side, by metric."""
    names = [name for name in before if name in after]
    figure = Figure(figsize=(6.4, 0.6 + 0.42 * max(1, len(names))), layout="constrained")
    axes = figure.subplots()
    for data, shift, colour, label in (
        (before, 0.14, GREY, "before"),
        (after, -0.14, ORANGE, "after"),
    ):
        means = [data[n][0] for n in names]
        ends = [[m - data[n][1] for n, m in zip(names, means, strict=True)],
                [data[n][2] - m for n, m in zip(names, means, strict=True)]]  # fmt: skip
        places = [len(names) - i + shift for i in range(len(names))]
        axes.errorbar(means, places, xerr=ends, fmt="o", color=colour, label=label, capsize=3)
    axes.set_yticks([len(names) - i for i in range(len(names))], names)
    _finish(axes, "mean over held-out tasks, 95 % interval", "")
    axes.legend(frameon=False, fontsize=8)
    return _svg(figure)


def _finish(axes: Axes, across: str, up: str) -> None:
    axes.set_xlabel(across)
    axes.set_ylabel(up)
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(axis="x" if not up else "y", linewidth=0.4, alpha=0.5)


def _svg(figure: Figure) -> str:
    text = io.StringIO()
    figure.savefig(text, format="svg", metadata={"Date": None})
    return text.getvalue()[text.getvalue().index("<svg") :]
