"""Small plots as inline SVG: they take their colours from the page, so that they follow light, dark and print."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from markupsafe import Markup, escape

from .._text import percent, shown

WIDTH, HEIGHT = 640, 240  # of a chart, in its own units
LEFT, BOTTOM, TOP, RIGHT = 62, 44, 12, 12  # its margins


def bar(value: float | None, top: float = 1.0) -> Markup:
    """Return a bar for a table's cell; the number is beside it, so a screen reader can skip the bar."""
    if value is None:
        return Markup("")
    width = f"{100 * min(value / top, 1.0) if top > 0 else 0:.1f}"
    return Markup(
        '<svg class="bar" viewBox="0 0 100 8" preserveAspectRatio="none" aria-hidden="true">'
        '<rect class="rail" width="100" height="8"/><rect class="fill" width="{}" height="8"/></svg>'
    ).format(width)


def stack(parts: Sequence[tuple[str, int, float]]) -> Markup:
    """Return a bar of parts, (name, number of its colour or -1, share); names are written where they fit."""
    drawn, at = [], 0.0
    for name, colour, share in parts:
        width = 300 * share
        kind = f"k{colour}" if colour >= 0 else "kx"
        drawn.append(Markup('<rect class="{}" x="{:.1f}" width="{:.1f}" height="18"/>').format(kind, at, max(width - 1, 0.5)))
        text = shown(name)
        if 8 * len(text) + 6 <= width:
            drawn.append(Markup('<text x="{:.1f}" y="13">{}</text>').format(at + 4, text))
        at += width
    rail = Markup('<rect class="rail" width="300" height="18"/>')
    return Markup('<svg class="stack" viewBox="0 0 300 18" aria-hidden="true">{}{}</svg>').format(rail, Markup("").join(drawn))


def histogram(edges: Sequence[float], shares: Sequence[float], x_label: str, y_label: str) -> Markup:
    """Return columns over the range from 0 to 1, as high as their shares."""
    highest = max(shares, default=0.0)
    top = next((tick for tick in (0.04, 0.1, 0.2, 0.4, 0.6, 0.8) if highest <= tick), 1.0)
    columns = [
        Markup('<rect class="fill" x="{:.1f}" y="{:.1f}" width="{:.1f}" height="{:.1f}"><title>{}</title></rect>').format(
            _x(low) + 1,
            _y(share / top),
            _x(high) - _x(low) - 2,
            _y(0) - _y(share / top),
            f"{low:.2f} to {high:.2f}: {percent(share)}",
        )
        for low, high, share in zip(edges, edges[1:], shares, strict=False)
        if share > 0
    ]
    return _chart([*_axes(top, x_label, y_label), *columns], f"{y_label} by {x_label}")


def calibration_lines(answers: Sequence[Mapping[str, Any]]) -> Markup:
    """Return the share that is correct against confidence, with one line per answer, and the diagonal."""
    drawn = [Markup('<path class="diagonal" d="M{:.1f} {:.1f}L{:.1f} {:.1f}"/>').format(_x(0), _y(0), _x(1), _y(1))]
    for i, answer in enumerate(answers):
        name, points = shown(answer["name"]), answer["calibration"]
        places = [(_x(sure), _y(right)) for sure, right, _ in points]
        path = "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in places)
        drawn.append(Markup('<path class="line line{}" d="{}"/>').format(i, path))
        for (x, y), (sure, right, n) in zip(places, points, strict=True):
            hint = f"{name}: confidence {sure:.2f}, {percent(right)} correct, {n:,} objects"
            shape = _square(x, y) if i else Markup('<circle class="dot line{}" cx="{:.1f}" cy="{:.1f}" r="4">').format(i, x, y)
            drawn.append(Markup("{}<title>{}</title>{}").format(shape, hint, Markup("</rect>" if i else "</circle>")))
    return _chart([*_axes(1.0, "confidence", "share correct"), *drawn], "Share correct by confidence")


def _square(x: float, y: float) -> Markup:
    return Markup('<rect class="dot line1" x="{:.1f}" y="{:.1f}" width="8" height="8">').format(x - 4, y - 4)


def _axes(top: float, x_label: str, y_label: str) -> list[Markup]:
    lines = []
    for tick in (0.0, 0.25, 0.5, 0.75, 1.0):
        y, x = _y(tick), _x(tick)
        lines.append(Markup('<path class="grid" d="M{:.1f} {:.1f}H{:.1f}"/>').format(LEFT, y, WIDTH - RIGHT))
        lines.append(
            Markup('<text x="{:.1f}" y="{:.1f}" text-anchor="end">{}</text>').format(LEFT - 6, y + 4, f"{100 * tick * top:.3g} %")
        )
        lines.append(Markup('<text x="{:.1f}" y="{:.1f}" text-anchor="middle">{}</text>').format(x, _y(0) + 16, f"{tick:g}"))
    middle = (TOP + HEIGHT - BOTTOM) / 2
    lines.append(
        Markup('<text class="axis" x="{:.1f}" y="{}" text-anchor="middle">{}</text>').format(_x(0.5), HEIGHT - 8, x_label)
    )
    lines.append(
        Markup('<text class="axis" transform="translate(13 {:.1f}) rotate(-90)" text-anchor="middle">{}</text>').format(
            middle, y_label
        )
    )
    return lines


def _chart(parts: Sequence[Markup], name: str) -> Markup:
    return Markup('<svg class="chart" viewBox="0 0 {} {}" role="img" aria-label="{}">{}</svg>').format(
        WIDTH, HEIGHT, escape(name), Markup("").join(parts)
    )


def _x(share: float) -> float:
    return LEFT + share * (WIDTH - LEFT - RIGHT)


def _y(share: float) -> float:
    return HEIGHT - BOTTOM - share * (HEIGHT - BOTTOM - TOP)
