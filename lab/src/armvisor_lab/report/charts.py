# SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
"""Charts as shapes: the places of bars, dots, lines and words of an inline SVG.

Horizontal positions are in percent of the drawing's width, vertical ones in pixels: a drawing is as
wide as the page allows, and its words stay as large as the page's. matplotlib's SVG has fixed
widths and colours, which suit neither a narrow nor a dark page. Colours are classes of the page's
style, one per tone; if two series have the same tone, the second is paler.
"""

import math
from dataclasses import dataclass, replace

from armvisor_lab.report.model import Bars, Chart, Layers, Lines, Series, Whole, number

_LABEL, _BAR, _GAP, _BETWEEN = 18, 13, 4, 10
# The space to the right of the longest bar is for its value.
_BARS_END, _DOTS = 74.0, (3.0, 94.0)
_LINES, _LINES_HEIGHT = (9.0, 96.0), 200
_DOT = 7
_WHOLE = 34
_LAYER, _LAYER_GAP = 44, 4


@dataclass(frozen=True)
class Key:
    """A series in the legend and in the drawing."""

    name: str
    tone: str
    pale: bool
    shape: int


@dataclass(frozen=True)
class Shape:
    """Something drawn: `kind` is rect, text, line or dot; x and width in percent, y in pixels."""

    kind: str
    x: float
    y: float
    key: Key | None = None
    width: float = 0
    height: float = 0
    text: str = ""
    style: str = ""


@dataclass(frozen=True)
class Drawing:
    """A chart to be drawn: its caption, its legend, and shapes on a height.

    `wide`: it has the whole width of the page, with nothing beside it.
    """

    title: str
    unit: str
    keys: tuple[Key, ...]
    shapes: tuple[Shape, ...]
    height: int
    wide: bool = False


def _keys(series: tuple[Series, ...]) -> tuple[Key, ...]:
    found: list[Key] = []
    for i, each in enumerate(series):
        pale = any(key.tone == each.tone for key in found)
        found.append(Key(each.name, each.tone, pale, i % 4))
    return tuple(found)


def _bars(chart: Bars, keys: tuple[Key, ...]) -> Drawing:
    values = [mark.value for _, marks in chart.rows for mark in marks]
    low, high = min(0.0, *values, 0.0), max(0.0, *values, 0.0)
    scale = _BARS_END / ((high - low) or 1)
    zero = -low * scale
    shapes: list[Shape] = []
    y = 0
    for label, marks in chart.rows:
        shapes.append(Shape("text", 0, y + _LABEL - 5, text=label, style="label"))
        y += _LABEL
        for mark in marks:
            key = keys[mark.series]
            end = zero + mark.value * scale
            least = end if mark.low is None else zero + mark.low * scale
            if mark.low is not None:
                shapes.append(Shape("rect", least, y, key, end - least, _BAR, style="range"))
            x, width = min(zero, least), abs(least - zero)
            hint = f"{label}, {key.name}: {mark.text}"
            shapes.append(Shape("rect", x, y, key, max(width, 0.15), _BAR, hint))
            shapes.append(
                Shape("text", max(zero, end), y + _BAR - 2, text=mark.text, style="value")
            )
            y += _BAR + _GAP
        y += _BETWEEN
    if low < 0:
        shapes.append(Shape("line", zero, 0, height=y, style="axis"))
    squares = tuple(replace(key, shape=1) for key in keys)
    return Drawing(chart.title, chart.unit, squares, tuple(shapes), y)


def ticks(low: float, high: float) -> list[float]:
    """Round values of a logarithmic line from `low` to `high`, at most about ten."""
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    steps = (1, 2, 5) if high / low <= 1000 else (1,)
    every = [step * 10.0**power for power in range(first, last + 1) for step in steps]
    return [each for each in every if low <= each * 1.0001 and each <= high * 1.0001]


def even(low: float, high: float) -> list[float]:
    """Round values at even distances, the first at most `low` and the last at least `high`."""
    wide = (high - low) or 1
    power = 10.0 ** math.floor(math.log10(wide / 4))
    step = next(n * power for n in (1, 2, 5, 10) if wide / (n * power) <= 5)
    first, last = math.floor(low / step), math.ceil(high / step)
    return [n * step for n in range(first, max(last, first + 1) + 1)]


def _dots(chart: Bars, keys: tuple[Key, ...]) -> Drawing:
    values = [mark.value for _, marks in chart.rows for mark in marks]
    low, high = min(*values, 1.0), max(values)
    begin, end = _DOTS
    span = math.log(high / low) or 1

    def at(value: float) -> float:
        return begin + (end - begin) * math.log(value / low) / span

    step = _LABEL + _DOT * 2
    height = step * len(chart.rows) + 22
    shapes: list[Shape] = []
    for tick in ticks(low, high):
        shapes.append(Shape("line", at(tick), 0, height=height - 20, style="grid"))
        shapes.append(Shape("text", at(tick), height - 5, text=number(tick), style="tick"))
    for i, (label, marks) in enumerate(chart.rows):
        y = i * step
        shapes.append(Shape("text", 0, y + _LABEL - 5, text=label, style="label"))
        track = y + _LABEL + _DOT
        shapes.append(Shape("line", begin, track, width=end - begin, style="track"))
        for mark in marks:
            key = keys[mark.series]
            hint = f"{label}, {key.name}: {mark.text}"
            shapes.append(Shape("dot", at(mark.value), track, key, text=hint))
    return Drawing(chart.title, f"{chart.unit}, logarithmic", keys, tuple(shapes), height)


def _lines(chart: Lines, keys: tuple[Key, ...]) -> Drawing:
    values = [value for series in chart.values for value in series if value is not None]
    marks = even(min(values), max(values))
    low, high = marks[0], marks[-1]
    begin, end = _LINES
    bottom = _LINES_HEIGHT - 24

    def across(i: int) -> float:
        return begin + (end - begin) * i / max(len(chart.points) - 1, 1)

    def down(value: float) -> float:
        return 6 + (bottom - 6) * (high - value) / (high - low)

    shapes: list[Shape] = []
    for mark in marks:
        shapes.append(Shape("line", begin, down(mark), width=end - begin, style="track"))
        shapes.append(Shape("text", 0, down(mark) + 4, text=number(mark), style="value"))
    each = math.ceil(len(chart.points) / 6)
    for i, point in enumerate(chart.points):
        if i % each == 0 or i == len(chart.points) - 1:
            style = (
                "tick first" if i == 0 else "tick last" if i == len(chart.points) - 1 else "tick"
            )
            shapes.append(Shape("text", across(i), _LINES_HEIGHT - 5, text=point, style=style))
    for key, series in zip(keys, chart.values, strict=True):
        last: tuple[float, float] | None = None
        for i, value in enumerate(series):
            if value is None:
                continue
            x, y = across(i), down(value)
            if last:
                shapes.append(
                    Shape("line", last[0], last[1], key, x - last[0], y - last[1], style="course")
                )
            hint = f"{chart.points[i]}, {key.name}: {number(value)} {chart.unit}"
            shapes.append(Shape("dot", x, y, key, text=hint))
            last = x, y
    return Drawing(chart.title, chart.unit, keys, tuple(shapes), _LINES_HEIGHT)


def _whole(chart: Whole, keys: tuple[Key, ...]) -> Drawing:
    total = sum(chart.values) or 1
    shapes: list[Shape] = []
    x = 0.0
    for key, value in zip(keys, chart.values, strict=True):
        width = 100 * value / total
        shapes.append(Shape("rect", x, 0, key, width, _WHOLE, key.name))
        x += width
    squares = tuple(replace(key, shape=1) for key in keys)
    return Drawing(chart.title, chart.unit, squares, tuple(shapes), _WHOLE, wide=True)


def _layers(chart: Layers) -> Drawing:
    shapes: list[Shape] = []
    keys = _keys(tuple(series for series, _ in chart.rows))
    for i, (key, (series, detail)) in enumerate(zip(keys, chart.rows, strict=True)):
        y = i * (_LAYER + _LAYER_GAP)
        shapes.append(Shape("rect", 0, y, None, 100, _LAYER, style="layer"))
        shapes.append(Shape("rect", 0, y, replace(key, pale=False), 1.2, _LAYER))
        shapes.append(Shape("text", 3, y + 18, text=series.name, style="label strong"))
        shapes.append(Shape("text", 3, y + 35, text=detail, style="label"))
    return Drawing(chart.title, "", (), tuple(shapes), len(keys) * (_LAYER + _LAYER_GAP))


def draw(chart: Chart) -> Drawing:
    """The shapes of a chart."""
    if isinstance(chart, Layers):
        return _layers(chart)
    keys = _keys(chart.series)
    if isinstance(chart, Lines):
        return _lines(chart, keys)
    if isinstance(chart, Whole):
        return _whole(chart, keys)
    return _dots(chart, keys) if chart.form == "dots" else _bars(chart, keys)


def trend(values: tuple[float, ...], width: int = 90, height: int = 22) -> str:
    """The points of a small line through values, for an SVG of that size."""
    low, high = min(values), max(values)
    span = high - low or 1
    step = (width - 4) / max(len(values) - 1, 1)
    return " ".join(
        f"{2 + i * step:.1f},{height - 3 - (height - 6) * (value - low) / span:.1f}"
        for i, value in enumerate(values)
    )
