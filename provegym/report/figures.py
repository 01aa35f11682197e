"""Figures as SVG and HTML text that a style sheet colours, for a page that needs no other file."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from html import escape

from msgspec import Struct

Points = Sequence[float | None]
"""A value a step; None where there is none."""
Interval = tuple[float, float, float]
"""Mean, low end, high end."""

WIDTH, HEIGHT = 440, 210
"""Of a figure in its own units; the page scales it."""
ROW, BAR = 44, 13
"""Height of a metric's row of intervals, and between the policies in it."""
PLOT_ROW = 17
"""Height of a bar of a plot with its room."""
LETTER, NAME = 6.2, 24
"""Width of a letter in a name, about; most letters of a name that are shown."""
COLOURS = 6
"""Of the style sheet: `s0`, a grey, to `s5`."""
TICKS = 5
"""About so many lines of a grid."""


class Frame(Struct, frozen=True):
    """Where data lie in a figure: the box in figure units, and the range of both axes."""

    box: tuple[float, float, float, float]
    """Left, top, right, bottom."""
    across: tuple[float, float]
    up: tuple[float, float]

    def x(self, value: float) -> float:
        """The place of a value on the horizontal axis."""
        left, _, right, _ = self.box
        return left + (right - left) * (value - self.across[0]) / (self.across[1] - self.across[0])

    def y(self, value: float) -> float:
        """The place of a value on the vertical axis."""
        _, top, _, bottom = self.box
        return bottom - (bottom - top) * (value - self.up[0]) / (self.up[1] - self.up[0])


def lines(title: str, series: Mapping[str, Points], window: int = 1) -> str:
    """Curves over the training steps: the values faint, a running mean of `window` steps strong."""
    known = {n: [(i, v) for i, v in enumerate(vs, 1) if v is not None] for n, vs in series.items()}
    known = {name: points for name, points in known.items() if points}
    if not known:
        return _figure(title, "", '<p class="empty">No values.</p>')
    values = [v for points in known.values() for _, v in points]
    last = max(2, *(i for points in known.values() for i, _ in points))
    marks = ticks(min(values), max(values))
    frame = Frame((42, 8, WIDTH - 10, HEIGHT - 34), (1, last), (marks[0], marks[-1]))
    parts = [*_grid(frame, marks), *_steps(frame, last)]
    ends = []
    for k, points in enumerate(known.values(), 1):
        steps, ys = zip(*points, strict=True)
        means = smooth(ys, window)
        ends.append(means[-1])
        parts.append(_curve(frame, steps, ys, f"raw s{k % COLOURS}"))
        parts.append(_curve(frame, steps, means, f"mean s{k % COLOURS}"))
    keys = [f"{name} {end:.2f}" for name, end in zip(known, ends, strict=True)]
    return _figure(title, _legend(keys, 1), _svg(title, HEIGHT, parts))


def intervals(title: str, policies: Mapping[str, Mapping[str, Interval]], first: int = 0) -> str:
    """Means with their intervals between 0 and 1: a row a metric, a mark a policy.

    `first` is the colour of the first policy; `lines` begins with 1.
    """
    metrics = list(next(iter(policies.values()), {}))
    height = 30 + ROW * len(metrics)
    frame = Frame((112, 4, WIDTH - 20, height - 24), (0, 1), (0, 1))
    parts = list(_shares(frame))
    for i, metric in enumerate(metrics):
        middle = 4 + ROW * (i + 0.5)
        parts.append(f'<text class="name" x="0" y="{middle + 4:.1f}">{escape(metric)}</text>')
        for k, (name, found) in enumerate(policies.items()):
            if metric in found:
                y = middle + BAR * (k - (len(policies) - 1) / 2)
                parts.append(_interval(frame, y, f"{name}: {metric}", found[metric], k + first))
    return _figure(title, _legend(policies, first), _svg(title, height, parts))


def differences(title: str, says: str, found: Mapping[str, Interval]) -> str:
    """Differences with their intervals about a strong line at 0: a row a metric.

    `says` what is taken from what.
    """
    if not found:
        return _figure(title, "", '<p class="empty">None.</p>')
    reach = max(0.05, *(abs(end) for each in found.values() for end in each))
    marks = ticks(-reach, reach)
    height = 30 + ROW * len(found)
    frame = Frame((112, 4, WIDTH - 20, height - 24), (marks[0], marks[-1]), (0, 1))
    parts = [*_axis(frame, marks, "+g"), *_axis(frame, (0,), "", "zero")]
    for i, (metric, interval) in enumerate(found.items()):
        middle = 4 + ROW * (i + 0.5)
        parts.append(f'<text class="name" x="0" y="{middle + 4:.1f}">{escape(metric)}</text>')
        parts.append(_interval(frame, middle, metric, interval, 3))
    return _figure(title, _legend([says], 3), _svg(title, height, parts))


def bars(title: str, values: Mapping[str, float], head: str = "") -> str:
    """Horizontal bars with their numbers, the longest first; that of `head` stands out."""
    longest = max(values.values(), default=0) or 1
    ordered = sorted(values.items(), key=lambda item: (item[0] != head, -item[1], item[0]))
    rows = "".join(
        f"<span>{escape(name)}</span>{_bar(value / longest, name == head)}<b>{value:g}</b>"
        for name, value in ordered
    )
    return _figure(title, "", f'<div class="bars">{rows}</div>')


def plot(
    title: str,
    rows: Mapping[str, Sequence[float]],
    series: Sequence[str] = (),
    limit: tuple[float, str] | None = None,
) -> str:
    """Bars of counts, each of one or more parts, in the order given.

    `series` names the parts; `limit` is a value that a broken line marks, and what it means.
    """
    if not rows:
        return _figure(title, "", '<p class="empty">None.</p>')
    left = 8 + LETTER * min(NAME, max(map(len, rows)))
    height = 30 + PLOT_ROW * len(rows)
    most = max(*(sum(parts) for parts in rows.values()), limit[0] if limit else 0, 1)
    marks = ticks(0, most)
    frame = Frame((left, 4, WIDTH - 46, height - 24), (0, marks[-1]), (0, 1))
    drawn = [*_axis(frame, (mark for mark in marks if mark == int(mark)))]
    for i, (name, parts) in enumerate(rows.items()):
        drawn += _parts(frame, 4 + PLOT_ROW * i, name, parts, series)
    key = _legend(series, 1) if series else ""
    if limit:
        drawn.append(_limit(frame, *limit))
        key += f'<div class="legend">Broken line: {escape(limit[1])}</div>'
    return _figure(title, key, _svg(title, height, drawn))


def smooth(values: Sequence[float], window: int) -> list[float]:
    """Trailing running mean."""
    parts = (values[max(0, i + 1 - window) : i + 1] for i in range(len(values)))
    return [sum(part) / len(part) for part in parts]


def ticks(low: float, high: float) -> list[float]:
    """Round numbers, evenly apart, that reach from at most `low` to at least `high`."""
    if high - low < 1e-9 * max(1.0, abs(low), abs(high)):
        low, high = (0.0, 1.0) if low == 0 else (low - 0.5, high + 0.5)  # a count is never below 0
    rough = (high - low) / TICKS
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(power * m for m in (1, 2, 2.5, 5, 10) if power * m >= rough * (1 - 1e-9))
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    return [round(i * step, 12) for i in range(first, last + 1)]


# -- pieces ----------------------------------------------------------------------------------


def _bar(share: float, strong: bool) -> str:
    kind = "s1" if strong else "s0"
    return f'<span><i class="{kind}" style="width:{share:.1%}"></i></span>'


def _axis(
    frame: Frame, marks: Iterable[float], style: str = "g", kind: str = "grid"
) -> Iterator[str]:
    """Upright lines with their numbers."""
    _, top, _, bottom = frame.box
    for mark in marks:
        x = frame.x(mark)
        yield f'<line class="{kind}" x1="{x:.1f}" x2="{x:.1f}" y1="{top}" y2="{bottom}"/>'
        if style:
            told = f"{mark:{style}}" if mark else "0"
            yield f'<text class="across" x="{x:.1f}" y="{bottom + 16:.1f}">{told}</text>'


def _parts(
    frame: Frame, top: float, name: str, parts: Sequence[float], series: Sequence[str]
) -> Iterator[str]:
    """A bar with its name and its number; who points at it is told all parts."""
    named = [f"{n} {v:g}" for n, v in zip(series, parts, strict=True)] if series else []
    told = f"{name}: {', '.join(named) or f'{sum(parts):g}'}"
    base, end = top + PLOT_ROW - 4.5, frame.x(sum(parts))
    short = name if len(name) <= NAME else f"{name[: NAME - 1]}…"
    yield f"<g><title>{escape(told)}</title>"
    yield f'<text class="name" x="0" y="{base:.1f}">{escape(short)}</text>'
    start = 0.0
    for k, part in enumerate(parts, 1):
        x, width = frame.x(start), frame.x(start + part) - frame.x(start)
        size = f'width="{width:.1f}" height="{PLOT_ROW - 5}"'
        yield f'<rect class="s{k % COLOURS}" x="{x:.1f}" y="{top + 2:.1f}" {size}/>'
        start += part
    number = " + ".join(f"{part:g}" for part in parts)
    yield f'<text x="{end + 5:.1f}" y="{base:.1f}">{number}</text></g>'


def _limit(frame: Frame, value: float, meaning: str) -> str:
    x, (_, top, _, bottom) = frame.x(value), frame.box
    place = f'x1="{x:.1f}" x2="{x:.1f}" y1="{top}" y2="{bottom}"'
    return f'<g><title>{escape(meaning)}</title><line class="limit" {place}/></g>'


def _curve(frame: Frame, steps: Sequence[int], values: Sequence[float], kind: str) -> str:
    places = " ".join(
        f"{frame.x(i):.1f},{frame.y(v):.1f}" for i, v in zip(steps, values, strict=True)
    )
    return f'<polyline class="{kind}" points="{places}"/>'


def _interval(frame: Frame, y: float, name: str, found: Interval, k: int) -> str:
    mean, low, high = (frame.x(value) for value in found)
    told = f"{name} {found[0]:z.3f}, 95 % interval {found[1]:z.3f} to {found[2]:z.3f}"
    return (
        f'<g class="s{k}"><title>{escape(told)}</title>'
        f'<line class="whisker" x1="{low:.1f}" x2="{high:.1f}" y1="{y:.1f}" y2="{y:.1f}"/>'
        f'<circle cx="{mean:.1f}" cy="{y:.1f}" r="4"/></g>'
    )


def _grid(frame: Frame, marks: Sequence[float]) -> Iterator[str]:
    left, _, right, _ = frame.box
    for mark in marks:
        y = frame.y(mark)
        yield f'<line class="grid" x1="{left}" x2="{right}" y1="{y:.1f}" y2="{y:.1f}"/>'
        yield f'<text class="up" x="{left - 6}" y="{y + 4:.1f}">{mark:g}</text>'


def _steps(frame: Frame, last: int) -> Iterator[str]:
    bottom = frame.box[3]
    for mark in ticks(0, last):
        if 1 <= mark <= last and mark == int(mark):
            x = frame.x(mark)
            yield f'<text class="across" x="{x:.1f}" y="{bottom + 16:.1f}">{mark:g}</text>'
    yield f'<text class="across" x="{WIDTH / 2}" y="{HEIGHT - 3}">step</text>'


def _shares(frame: Frame) -> Iterator[str]:
    _, top, _, bottom = frame.box
    for mark in (0, 0.25, 0.5, 0.75, 1):
        x = frame.x(mark)
        yield f'<line class="grid" x1="{x:.1f}" x2="{x:.1f}" y1="{top}" y2="{bottom}"/>'
        yield f'<text class="across" x="{x:.1f}" y="{bottom + 16:.1f}">{mark:.0%}</text>'


def _svg(title: str, height: float, parts: Iterable[str]) -> str:
    label = escape(title, quote=True)
    box = f'viewBox="0 0 {WIDTH} {height:g}"'
    return f'<svg {box} role="img" aria-label="{label}">{"".join(parts)}</svg>'


def _legend(names: Iterable[str], first: int = 0) -> str:
    keys = (
        f'<span><i class="s{k % COLOURS}"></i>{escape(name)}</span>'
        for k, name in enumerate(names, first)
    )
    return f'<div class="legend">{"".join(keys)}</div>'


def _figure(title: str, legend: str, body: str) -> str:
    return f"<figure><figcaption>{escape(title)}</figcaption>{legend}{body}</figure>"
