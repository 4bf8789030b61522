"""A whole program, part by part: what was measured over n, and what is predicted on each platform. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from profiles.arrays import FloatArray, IntArray
from profiles.figures import Chart, Table, figure, stacked
from profiles.figures.base import SERIES_COLOURS, table

MOST_PARTS_DRAWN = SERIES_COLOURS - 1  # with a colour each; the others are one band
OTHER_REGIONS = "other regions"


@dataclass(frozen=True)
class ProgramPart:
    """A part of the program with its times at the n of the drawing."""

    label: str
    time_s: FloatArray


def program_chart(n: IntArray, parts: Sequence[ProgramPart], caption: str) -> Chart:
    """t(n) of the program on one machine, the parts stacked; `n` (J,) as in the parts."""
    drawn = merge_small_parts(parts)
    traces = stacked(n, {part.label: (f"series-{index}", part.time_s) for index, part in enumerate(drawn)})
    whole = np.sum([part.time_s for part in parts], axis=0)
    columns = {"n": n, **{f"{part.label} (s)": part.time_s for part in parts}, "program (s)": whole}
    return Chart(
        "program",
        "Where the program’s time goes",
        caption,
        figure(traces, "time t(n) (s)", rangemode="tozero"),
        Table(tuple(columns), table(columns).rows),
    )


def merge_small_parts(parts: Sequence[ProgramPart]) -> list[ProgramPart]:
    """The longest parts by their sum over n in the order given, and what is left as one band."""
    if len(parts) <= MOST_PARTS_DRAWN + 1:
        return list(parts)
    by_time = sorted(range(len(parts)), key=lambda index: -float(parts[index].time_s.sum()))
    longest = set(by_time[:MOST_PARTS_DRAWN])
    others = np.sum([part.time_s for index, part in enumerate(parts) if index not in longest], axis=0)
    kept = [part for index, part in enumerate(parts) if index in longest]
    return [*kept, ProgramPart(OTHER_REGIONS, others)]
