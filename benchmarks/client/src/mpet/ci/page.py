"""The history as a static HTML page that loads nothing else, and its change points as an Atom feed."""

from __future__ import annotations

import hashlib
import math
import xml.etree.ElementTree as ET
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from html import escape
from statistics import fmean
from typing import Optional

from mpet.ci.history import Run
from mpet.ci.translation import LEAST_RUNS, Fit, fit_benchmark
from mpet.results import html_table, shown_number
from mpet.summary import percent

ATOM = "http://www.w3.org/2005/Atom"
WIDTH, HEIGHT, MARGIN = 640, 120, 8
EPOCH = "1970-01-01T00:00:00+00:00"  # for runs without a time
STYLE = (
    "body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;color:#222}"
    "table{border-collapse:collapse;margin:1rem 0}caption{text-align:left;font-weight:bold}"
    "th,td{border-bottom:1px solid #ccc;padding:.2rem .8rem .2rem 0;text-align:left;overflow-wrap:anywhere}"
    "h2{font-size:1rem;margin:2rem 0 0;overflow-wrap:anywhere}svg{width:100%;height:auto}"
    ".measured{fill:none;stroke:#999}.translated{fill:#0b5394}.level{stroke:#b45f06;stroke-width:2}"
)


@dataclass(frozen=True)
class ChangePoint:
    """A run at which the level of a benchmark changes. Both levels are in seconds on the newest run's machine."""

    benchmark: str
    run: Run
    before_s: float
    after_s: float

    @property
    def relative(self) -> float:
        return self.after_s / self.before_s - 1

    @property
    def title(self) -> str:
        word = "slower" if self.relative > 0 else "faster"
        return f"{self.benchmark}: {word} ({percent(self.relative)}) at {self.run.commit[:10] or self.run.time}"


@dataclass(frozen=True)
class Series:
    """The runs of one benchmark: seconds as measured, and seconds translated to the newest run's machine."""

    name: str
    fit: Fit

    @property
    def measured(self) -> list[float]:
        return [run.values[self.name].seconds for run in self.fit.runs]

    @property
    def translated(self) -> list[float]:
        newest = math.log(self.measured[-1]) - self.fit.translated[-1]
        return [math.exp(value + newest) for value in self.fit.translated]

    @property
    def levels(self) -> list[float]:
        """Return for each run the geometric mean of its segment."""
        logs = [math.log(value) for value in self.translated]
        means = {s: fmean(v for v, t in zip(logs, self.fit.segments) if t == s) for s in set(self.fit.segments)}
        return [math.exp(means[segment]) for segment in self.fit.segments]

    @property
    def changes(self) -> list[ChangePoint]:
        levels, segments = self.levels, self.fit.segments
        starts = [i for i in range(1, len(segments)) if segments[i] != segments[i - 1]]
        return [ChangePoint(self.name, self.fit.runs[i], levels[i - 1], levels[i]) for i in starts]


def series_of(history: Sequence[Run]) -> list[Series]:
    """Return the series of each benchmark with at least LEAST_RUNS runs, sorted by name."""
    names = sorted({name for run in history for name in run.values})
    counts = {name: sum(name in run.values for run in history) for name in names}
    return [Series(name, fit_benchmark(history, name)) for name in names if counts[name] >= LEAST_RUNS]


def change_points(series: Sequence[Series]) -> list[ChangePoint]:
    """Return the change points of all series, the newest first."""
    found = [change for one in series for change in one.changes]
    return sorted(found, key=lambda change: (change.run.time, change.benchmark), reverse=True)


def svg_of(series: Series) -> str:
    """Return a chart with measured times as circles, translated times as dots and levels as lines. The title of each
    dot describes the run."""
    measured, translated, levels = series.measured, series.translated, series.levels
    low, high = min(*measured, *translated), max(*measured, *translated)
    span = math.log(high / low) or 1.0

    def x(i: int) -> float:
        return round(MARGIN + (WIDTH - 2 * MARGIN) * (i / max(1, len(measured) - 1)), 1)

    def y(value: float) -> float:
        return round(HEIGHT - MARGIN - (HEIGHT - 2 * MARGIN) * math.log(value / low) / span, 1)

    parts = [f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{escape(series.name, quote=True)}">']
    for i, run in enumerate(series.fit.runs):
        times = f"measured {shown_number(measured[i])} s, translated {shown_number(translated[i])} s"
        title = escape(f"{run.commit[:10]} {run.time[:10]}, {run.cpu or 'unknown CPU'}: {times}")
        parts.append(f'<circle class="measured" cx="{x(i)}" cy="{y(measured[i])}" r="3"/>')
        parts.append(
            f'<circle class="translated" cx="{x(i)}" cy="{y(translated[i])}" r="3"><title>{title}</title></circle>'
        )
        if i and series.fit.segments[i] == series.fit.segments[i - 1]:
            height = y(levels[i])
            parts.append(f'<line class="level" x1="{x(i - 1)}" x2="{x(i)}" y1="{height}" y2="{height}"/>')
    return "".join(parts) + "</svg>"


def history_page(series: Sequence[Series], title: str) -> str:
    """Return the page with the change points, followed by a chart per benchmark. Names are escaped, because they come
    from other people."""
    changes = change_points(series)
    rows = [
        [change.benchmark, change.run.commit[:10], change.run.time[:10], percent(change.relative)] for change in changes
    ]
    table = html_table("Changes, the newest first", ["benchmark", "commit", "date", "change"], rows)
    figures = "".join(
        f"<h2>{escape(one.name)}</h2><p>{shown_number(one.translated[-1])} s in the newest run</p>{svg_of(one)}"
        for one in series
    )
    return (
        '<!DOCTYPE html><html lang="en"><head><meta charset="utf-8">'
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">"
        '<meta name="viewport" content="width=device-width">'
        f'<title>{escape(title)}</title><link rel="alternate" type="application/atom+xml" href="feed.atom">'
        f"<style>{STYLE}</style></head><body><h1>{escape(title)}</h1>"
        "<p>Circles are measured times. Dots are the same times translated to the machine of the newest run, so that "
        "only commits and noise make them differ. Lines are levels between change points. Scales are logarithmic.</p>"
        f"{table if rows else '<p>No change beyond noise.</p>'}{figures}</body></html>\n"
    )


def atom_feed(series: Sequence[Series], title: str, link: str = "") -> str:
    """Return a feed with an entry for each change point. The id of an entry depends on its benchmark and commit, so
    that readers show it once."""
    changes = change_points(series)
    ET.register_namespace("", ATOM)
    feed = ET.Element(f"{{{ATOM}}}feed")

    def add(parent: ET.Element, tag: str, text: Optional[str] = None, **attributes: str) -> ET.Element:
        element = ET.SubElement(parent, f"{{{ATOM}}}{tag}", attributes)
        # XML does not allow control characters.
        element.text = None if text is None else "".join(c if c.isprintable() else " " for c in text)
        return element

    add(feed, "title", title)
    add(feed, "id", link or f"urn:sha256:{hashlib.sha256(title.encode()).hexdigest()}")
    add(feed, "updated", timestamp(changes[0].run.time if changes else ""))
    add(add(feed, "author"), "name", "mpet ci")
    if link:
        add(feed, "link", href=link)
    for change in changes:
        entry = add(feed, "entry")
        key = f"{change.benchmark}\n{change.run.commit}\n{change.run.time}"
        add(entry, "title", change.title)
        add(entry, "id", f"urn:sha256:{hashlib.sha256(key.encode('utf-8', 'replace')).hexdigest()}")
        add(entry, "updated", timestamp(change.run.time))
        seconds = f"{shown_number(change.before_s)} s before, {shown_number(change.after_s)} s since"
        add(entry, "summary", f"{seconds}, on the machine of the newest run")
        if link:
            add(entry, "link", href=link)
    return '<?xml version="1.0" encoding="utf-8"?>\n' + ET.tostring(feed, encoding="unicode") + "\n"


def timestamp(text: str) -> str:
    """Return a time as Atom requires it (RFC 3339), or EPOCH if the text is not a time.

    >>> timestamp("2026-11-24T10:00:00"), timestamp("yesterday")
    ('2026-11-24T10:00:00+00:00', '1970-01-01T00:00:00+00:00')
    """
    try:
        moment = datetime.fromisoformat(text.replace("Z", "+00:00"))
    except ValueError:
        return EPOCH
    return (moment if moment.tzinfo else moment.replace(tzinfo=timezone.utc)).isoformat()
