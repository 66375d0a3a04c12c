"""Charts as SVG text, for pages that need nothing else to be read.

Read `Series` and `chart` first.
"""

from __future__ import annotations

import html
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

Point = tuple[float, float]

_WIDTH, _HEIGHT = 460, 240
_LEFT, _RIGHT, _TOP, _BOTTOM = 58, 12, 26, 38
_COLOURS = ("#1f6fb4", "#d95f02", "#1b9e77", "#7570b3")
_TICKS = 5


@dataclass(frozen=True, slots=True)
class Series:
    """Points that belong together.

    Attributes:
        points: Positions; those that are not finite are left out.
        style: A line through them (that falls in steps), or a dot each.
        label: Shown where a pointer rests on it.
    """

    points: Sequence[Point]
    style: Literal["steps", "dots"] = "dots"
    label: str = ""


@dataclass(frozen=True, slots=True)
class _Scale:
    """Maps values of one axis to pixels."""

    low: float
    high: float
    start: float
    end: float

    def __call__(self, value: float) -> float:
        return self.start + (value - self.low) / (self.high - self.low) * (self.end - self.start)

    @property
    def ticks(self) -> list[float]:
        """Round values within the range."""
        rough = (self.high - self.low) / _TICKS
        power = 10.0 ** math.floor(math.log10(rough))
        step = next(f * power for f in (1, 2, 5, 10) if f * power >= rough)
        first = math.ceil(self.low / step)
        return [step * n for n in range(first, math.floor(self.high / step) + 1)]


def chart(title: str, across: str, up: str, series: Sequence[Series]) -> str:
    """Draw a chart.

    Args:
        title: Written above.
        across: What the horizontal axis shows.
        up: What the vertical axis shows.
        series: In the order of their colours.

    Returns:
        The text of an SVG element; a chart without points says so.
    """
    kept = [[p for p in s.points if all(map(math.isfinite, p))] for s in series]
    points = [point for one in kept for point in one]
    body: list[str] = []
    if points:
        x = _scale([p[0] for p in points], _LEFT, _WIDTH - _RIGHT)
        y = _scale([p[1] for p in points], _HEIGHT - _BOTTOM, _TOP)
        body += [*_axes(x, y, across, up)]
        for number, (one, its) in enumerate(zip(series, kept, strict=True)):
            body += _drawn(one, [(x(a), y(b)) for a, b in its], _COLOURS[number % len(_COLOURS)])
    else:
        body.append(_text(_WIDTH / 2, _HEIGHT / 2, "nothing to show", "middle"))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" '
        f'width="{_WIDTH}" height="{_HEIGHT}" font-family="sans-serif" font-size="11">'
        f"{_text(_LEFT, 14, title, 'start', 13)}{''.join(body)}</svg>"
    )


def _scale(values: Sequence[float], start: float, end: float) -> _Scale:
    low, high = min(values), max(values)
    room = 0.05 * (high - low) or max(abs(high), 1.0) * 0.05
    return _Scale(low - room, high + room, start, end)


def _axes(x: _Scale, y: _Scale, across: str, up: str) -> Iterator[str]:
    for value in x.ticks:
        yield _line(x(value), y.start, x(value), y.end, "#eee")
        yield _text(x(value), y.start + 14, f"{value:g}", "middle")
    for value in y.ticks:
        yield _line(x.start, y(value), x.end, y(value), "#eee")
        yield _text(x.start - 5, y(value) + 4, f"{value:.4g}", "end")
    yield _line(x.start, y.start, x.end, y.start, "#444")
    yield _line(x.start, y.start, x.start, y.end, "#444")
    yield _text((x.start + x.end) / 2, y.start + 30, across, "middle")
    middle = (y.start + y.end) / 2
    yield (
        f'<text x="12" y="{middle:.1f}" text-anchor="middle" '
        f'transform="rotate(-90 12 {middle:.1f})">{html.escape(up)}</text>'
    )


def _drawn(series: Series, places: Sequence[Point], colour: str) -> Iterator[str]:
    title = f"<title>{html.escape(series.label)}</title>" if series.label else ""
    if series.style == "steps" and places:
        path = "".join(
            f"M{a:.1f} {b:.1f}" if n == 0 else f"H{a:.1f}V{b:.1f}"
            for n, (a, b) in enumerate(places)
        )
        yield f'<path d="{path}" fill="none" stroke="{colour}" stroke-width="1.5">{title}</path>'
        return
    for a, b in places:
        yield f'<circle cx="{a:.1f}" cy="{b:.1f}" r="2.2" fill="{colour}" opacity="0.6">{title}'
        yield "</circle>"


def _line(x1: float, y1: float, x2: float, y2: float, colour: str) -> str:
    places = f'x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}"'
    return f'<line {places} stroke="{colour}"/>'


def _text(x: float, y: float, text: str, anchor: str, size: int = 11) -> str:
    place = f'x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-size="{size}"'
    return f"<text {place}>{html.escape(text)}</text>"
