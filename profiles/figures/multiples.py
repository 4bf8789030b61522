"""Small multiples: one small speedup curve per profile, all on the same axes, as SVG points that need no script."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from profiles.figures.axes import speedup_axis
from profiles.figures.base import MeasuredCurve, speedup_of

WIDTH, HEIGHT = 140.0, 84.0


@dataclass(frozen=True)
class Multiple:
    """A small speedup curve.

    `points` and `ideal` are SVG coordinates in a box of WIDTH x HEIGHT, with y downwards. `best` is the largest
    speedup, at `best_n` threads.
    """

    points: list[tuple[float, float]]
    ideal: list[tuple[float, float]]
    best: float
    best_n: int

    @property
    def path(self) -> str:
        return path_of(self.points)

    @property
    def dots(self) -> str:
        """Return one SVG path of zero-length lines, which the style sheet draws as dots."""
        return " ".join(f"M{x:g},{y:g}h0" for x, y in self.points)

    @property
    def ideal_path(self) -> str:
        return path_of(self.ideal)


@dataclass(frozen=True)
class Multiples:
    """Small speedup curves on common logarithmic axes, from 1 to `n_top` threads and from `bottom` to `top`.

    `drawings` has one item per curve, None if there is nothing to draw. `rows` has the drawn numbers as (curve, n,
    speedup).
    """

    drawings: list[Multiple | None]
    n_top: int
    bottom: float
    top: float
    rows: list[tuple[str, int, float]]


def path_of(points: Sequence[tuple[float, float]]) -> str:
    """
    >>> path_of([(0.0, 84.0), (7.0, 80.5)])
    'M0,84 L7,80.5'
    """
    return "M" + " L".join(f"{x:g},{y:g}" for x, y in points) if points else ""


def small_multiples(curves: Sequence[MeasuredCurve]) -> Multiples:
    """Return drawings of the speedups over n on common axes. Curves without t(1) or with one thread count have none."""
    speedups = [speedup_of(curve) if curve.t1_s and len(curve.n) > 1 else np.array([]) for curve in curves]
    drawable = [(curve.n, speedup) for curve, speedup in zip(curves, speedups, strict=True) if len(speedup)]
    if not drawable:
        return Multiples([None] * len(curves), 1, 1.0, 1.0, [])
    n_top = max(int(n.max()) for n, _ in drawable)
    low, high = speedup_axis(np.array([n_top]), np.concatenate([speedup for _, speedup in drawable]))["range"]

    def place(n: float, speedup: float) -> tuple[float, float]:
        x = np.log(n) / np.log(max(n_top, 2))
        return round(WIDTH * float(x), 1), round(HEIGHT * (1 - (float(np.log10(speedup)) - low) / (high - low)), 1)

    ideal_end = min(float(n_top), 10**high)
    ideal = [place(1, 1), place(ideal_end, ideal_end)]
    drawings: list[Multiple | None] = []
    rows: list[tuple[str, int, float]] = []
    for curve, speedup in zip(curves, speedups, strict=True):
        if not len(speedup):
            drawings.append(None)
            continue
        drawn = list(zip(curve.n.tolist(), speedup.tolist(), strict=True))
        best = speedup.argmax()
        drawings.append(Multiple([place(*point) for point in drawn], ideal, float(speedup[best]), int(curve.n[best])))
        rows += [(curve.label, n, value) for n, value in drawn]
    return Multiples(drawings, n_top, 10**low, 10**high, rows)
