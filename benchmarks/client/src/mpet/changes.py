"""Comparison of two uploads of one program: t(n) and the seven parts of each region, relative to their noise.

The noise is that of the repeats: with the means of K_b and K_h repeats and the standard deviation s,

    noise = q(0.05 / m, df) * s * sqrt(1 / K_b + 1 / K_h)

where q is the two-sided quantile of Student's t distribution and m is the number of comparisons in the report. With
this Bonferroni correction, one report in twenty finds any change where nothing has changed. s is the larger of two
standard deviations: that of the repeats at this thread count, and that of the region at all thread counts relative to
the mean, because three repeats alone can agree by chance. The noise does not include differences between two machines,
or between two days on one machine.
"""

from __future__ import annotations

import csv
import io
import math
import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from statistics import fmean
from typing import Any, Optional

from mpet.results import frame_of, html_of_rows

PARTS = ("use", "lock", "imbalance", "creation", "distribution", "switching", "join")
LEVEL = 0.05
LEAST_CHANGE = 0.02
_PLACE = re.compile(r":\d+$|\+0x[0-9a-f]+$|\+\d+$")

Repeats = dict[int, list[float]]  # number of threads -> seconds of each repeat


@dataclass(frozen=True)
class Change:
    """One quantity in seconds, before and after. `noise_s` is None if neither side has repeats, so that the noise is
    unknown."""

    n: int
    base_s: float
    head_s: float
    noise_s: Optional[float]
    scale_s: float  # the region's t(n) before, to which changes are relative
    least: float = LEAST_CHANGE

    @property
    def relative(self) -> float:
        return (self.head_s - self.base_s) / self.scale_s

    @property
    def relative_noise(self) -> Optional[float]:
        return None if self.noise_s is None else self.noise_s / self.scale_s

    @property
    def is_beyond_noise(self) -> bool:
        noise = self.relative_noise
        return noise is not None and abs(self.relative) > max(noise, self.least)

    @property
    def is_slower(self) -> bool:
        return self.is_beyond_noise and self.relative > 0

    def document(self) -> dict[str, Any]:
        return {
            "n": self.n,
            "base_s": self.base_s,
            "head_s": self.head_s,
            "relative": self.relative,
            "relative_noise": self.relative_noise,
            "beyond_noise": self.is_beyond_noise,
        }


@dataclass(frozen=True)
class MeasuredRegion:
    """The repeats of one workload in one upload: its times, and the time per thread of each part."""

    name: str
    times: Repeats
    parts: dict[str, Repeats]


@dataclass(frozen=True)
class RegionChange:
    """The changes of one region between two uploads, in t(n) and in each part."""

    base_name: str
    head_name: str
    times: list[Change]
    parts: dict[str, list[Change]]
    label: str = ""  # the owner's name of the region; "": the measured name

    @property
    def shown_name(self) -> str:
        return self.label or self.head_name

    @property
    def is_slower(self) -> bool:
        return any(change.is_slower for change in self.times)

    @property
    def is_faster(self) -> bool:
        return any(change.is_beyond_noise and change.relative < 0 for change in self.times)

    def document(self) -> dict[str, Any]:
        return {
            "region": self.head_name,
            "label": self.shown_name,
            "base_region": self.base_name,
            "times": [change.document() for change in self.times],
            "parts": {part: [change.document() for change in changes] for part, changes in self.parts.items()},
        }


@dataclass(frozen=True)
class Changes:
    """The changes of all regions between two uploads. `base` and `head` are the documents of the uploads."""

    base: dict[str, Any] = field(repr=False)
    head: dict[str, Any] = field(repr=False)
    regions: list[RegionChange]
    gone: list[str]
    new: list[str]
    least: float = LEAST_CHANGE

    @property
    def is_slower(self) -> bool:
        return any(region.is_slower for region in self.regions)

    @property
    def rows(self) -> list[dict[str, Any]]:
        """Return t(n) of each region at each n, before and after."""
        return [{"region": region.shown_name, **one.document()} for region in self.regions for one in region.times]

    @property
    def frame(self) -> Any:
        return frame_of(self.rows)

    def _repr_html_(self) -> str:
        return html_of_rows("changes of t(n)", self.rows)

    @property
    def document(self) -> dict[str, Any]:
        names = ("id", "url", "commit", "branch")
        return {
            "base": {name: self.base.get(name) for name in names},
            "head": {name: self.head.get(name) for name in names},
            "slower": self.is_slower,
            "regions": [region.document() for region in self.regions],
            "gone": self.gone,
            "new": self.new,
        }


def read_region(text: str) -> Optional[MeasuredRegion]:
    """Read the runs of a region from the CSV of `profiles/{id}/runs/`. Leave out runs with another size or clock than
    the workload's own, and return None if no other runs exist. t(n) is from the clean runs, or from the profile runs at
    an n without clean runs."""
    clean: Repeats = defaultdict(list)
    profiled: Repeats = defaultdict(list)
    parts: dict[str, Repeats] = {part: defaultdict(list) for part in PARTS}
    name = ""
    for row in csv.DictReader(io.StringIO(text)):
        if row.get("size") or row.get("clock_mhz"):
            continue
        name, n = row["workload"], int(row["n"])
        is_clean = row["pass"] == "clean"  # noqa: S105
        (clean if is_clean else profiled)[n].append(float(row["time_s"]))
        for part in PARTS:
            if not is_clean and row.get(f"{part}_ns"):
                parts[part][n].append(int(row[f"{part}_ns"]) * 1e-9 / n)
    times = {n: clean.get(n) or profiled[n] for n in sorted({*clean, *profiled})}
    return MeasuredRegion(name, times, parts) if times else None


def tail_of_student(t: float, df: int) -> float:
    """Return P(|T| > t) of Student's t distribution with a whole number of degrees of freedom, by the finite sums of
    Abramowitz and Stegun, 26.7.3 and 26.7.4. (scipy would be ten times the size of this client.)

    >>> round(tail_of_student(2.776445, 4), 6), round(tail_of_student(12.706205, 1), 6)
    (0.05, 0.05)
    """
    angle = math.atan(t / math.sqrt(df))
    sine, cosine = math.sin(angle), math.cos(angle)
    term, total = (1.0, 1.0) if df % 2 == 0 else (cosine, cosine if df > 1 else 0.0)
    for k in range(2 if df % 2 == 0 else 3, df - 1, 2):
        term *= cosine**2 * (k - 1) / k
        total += term
    inside = sine * total if df % 2 == 0 else 2 / math.pi * (angle + sine * total)
    return 1.0 - inside


def quantile_of_student(p: float, df: int) -> float:
    """Return t with P(|T| > t) = p, by bisection.

    >>> round(quantile_of_student(0.05, 4), 4), round(quantile_of_student(0.001, 12), 4)
    (2.7764, 4.3178)
    """
    low, high = 0.0, 1.0
    while tail_of_student(high, df) > p:
        low, high = high, high * 2
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if tail_of_student(middle, df) > p else (low, middle)
    return high


def pooled_variance(samples: Iterable[Sequence[float]]) -> tuple[float, int]:
    """Return the variance of samples that have different means, and its degrees of freedom. Return (0, 0) if no sample
    has two values.

    >>> pooled_variance([[1.0, 3.0], [5.0]])
    (2.0, 1)
    """
    squares, df = 0.0, 0
    for sample in samples:
        mean = fmean(sample)
        squares += sum((value - mean) ** 2 for value in sample)
        df += len(sample) - 1
    return (squares / df if df else 0.0), df


def compare_repeats(
    base: Repeats, head: Repeats, scales: dict[int, float], comparisons: int, least: float = LEAST_CHANGE
) -> list[Change]:
    """Return a Change of the means for each n that both sides have, with the noise that the module docstring
    defines."""
    shared = sorted(set(base) & set(head) & set(scales))
    samples = [[value / scales[n] for value in side[n]] for n in shared for side in (base, head)]
    common, df = pooled_variance(samples)
    critical = quantile_of_student(LEVEL / comparisons, df) if df else math.nan
    changes = []
    for n in shared:
        own, _ = pooled_variance((base[n], head[n]))
        deviation = max(math.sqrt(common) * scales[n], math.sqrt(own))
        noise = critical * deviation * math.sqrt(1 / len(base[n]) + 1 / len(head[n])) if df else None
        changes.append(Change(n, fmean(base[n]), fmean(head[n]), noise, scales[n], least))
    return changes


def match_regions(
    base: Sequence[MeasuredRegion], head: Sequence[MeasuredRegion]
) -> list[tuple[MeasuredRegion, MeasuredRegion]]:
    """Return pairs of the regions of both uploads. The regions of a function are paired in their order if their number
    is equal, because a commit moves lines. Otherwise they are paired by name.

    >>> before, after = ([MeasuredRegion(f"p/f:{line}", {}, {}) for line in lines] for lines in ((9, 20), (20, 31)))
    >>> [(b.name, h.name) for b, h in match_regions(before, after)]
    [('p/f:9', 'p/f:20'), ('p/f:20', 'p/f:31')]
    """
    before, after = _by_function(base), _by_function(head)
    pairs = []
    for function, regions in after.items():
        known = before.get(function, [])
        if len(known) == len(regions):
            pairs += list(zip(known, regions))
        else:
            named = {region.name: region for region in known}
            pairs += [(named[region.name], region) for region in regions if region.name in named]
    return pairs


def _by_function(regions: Sequence[MeasuredRegion]) -> dict[str, list[MeasuredRegion]]:
    """Return the regions of each function in the order of their places. `prog/main:12` and `prog/main+0x40` are regions
    of `prog/main`."""
    found: dict[str, list[MeasuredRegion]] = defaultdict(list)
    for region in sorted(regions, key=_place):
        found[_PLACE.sub("", region.name)].append(region)
    return found


def _place(region: MeasuredRegion) -> tuple[int, str]:
    found = _PLACE.search(region.name)
    return (int(found[0][1:], 0 if found[0].startswith("+0x") else 10) if found else 0, region.name)


def compare_regions(
    base: Sequence[MeasuredRegion], head: Sequence[MeasuredRegion], least: float = LEAST_CHANGE
) -> tuple[list[RegionChange], list[str], list[str]]:
    """Return the changes of the regions that both uploads have, the longest first, and the names of the regions that
    only the base (gone) or only the head (new) has."""
    pairs = match_regions(base, head)
    comparisons = max(1, sum(len(set(b.times) & set(h.times)) for b, h in pairs) * (1 + len(PARTS)))
    regions = []
    for b, h in pairs:
        scales = {n: fmean(times) for n, times in b.times.items()}
        parts = {part: compare_repeats(b.parts[part], h.parts[part], scales, comparisons, least) for part in PARTS}
        times = compare_repeats(b.times, h.times, scales, comparisons, least)
        regions.append(RegionChange(b.name, h.name, times, parts))
    regions.sort(key=lambda region: -max((change.base_s for change in region.times), default=0.0))
    gone = sorted({region.name for region in base} - {b.name for b, _ in pairs})
    new = sorted({region.name for region in head} - {h.name for _, h in pairs})
    return regions, gone, new
