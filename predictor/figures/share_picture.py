"""Pictures of answers for link previews on other sites (Open Graph): one line of text, and t(n) with its interval.

They are PNG files, because those sites show neither SVG nor Plotly.
"""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from predictor.figures.answer import AnswerDrawing
from profiles.arrays import FloatArray
from profiles.figures.axes import thread_axis
from profiles.figures.base import FEW_POINTS

WIDTH, HEIGHT = 1200, 630  # the size that the sites ask for
OVERSAMPLING = 2  # drawn larger and scaled down, because Pillow's lines are not smooth
MARGIN = 64
LABEL_SIZE = 24
PLOT = (150, 230, WIDTH - MARGIN, HEIGHT - 110)  # left, top, right, bottom
PAPER, INK, FAINT, ACCENT, BAND = "#ffffff", "#1a1d21", "#5c636b", "#0a5a9c", "#c9dff2"
MARKED_POINTS = 64  # a curve with more points has no dots
DRAWABLE = {"±", "·", "…"} | {chr(code) for code in range(32, 127)}  # the characters of Pillow's default font


class Sheet:
    """A drawing in units of the finished picture."""

    def __init__(self) -> None:
        self.image = Image.new("RGB", (WIDTH * OVERSAMPLING, HEIGHT * OVERSAMPLING), PAPER)
        self.draw = ImageDraw.Draw(self.image)

    def text(self, y: float, text: str, size: int, fill: str) -> None:
        """Draw one line of text from the left margin, cut off at the right margin."""
        font = ImageFont.load_default(size * OVERSAMPLING)
        shown, room = drawable(text[:WIDTH]), (WIDTH - 2 * MARGIN) * OVERSAMPLING
        if font.getlength(shown) > room:
            while font.getlength(shown + "…") > room:
                shown = shown[:-1]
            shown += "…"
        self.draw.text((MARGIN * OVERSAMPLING, y * OVERSAMPLING), shown, font=font, fill=fill, anchor="ls")

    def label(self, x: float, y: float, text: str, anchor: str) -> None:
        """Draw an axis label. `anchor` is Pillow's: "rs" ends at x, "ms" is centred at x."""
        font = ImageFont.load_default(LABEL_SIZE * OVERSAMPLING)
        self.draw.text((x * OVERSAMPLING, y * OVERSAMPLING), text, font=font, fill=FAINT, anchor=anchor)

    def line(self, points: Sequence[tuple[float, float]], fill: str, width: float) -> None:
        self.draw.line(scaled(points), fill=fill, width=round(width * OVERSAMPLING), joint="curve")

    def area(self, points: Sequence[tuple[float, float]], fill: str) -> None:
        self.draw.polygon(scaled(points), fill=fill)

    def dot(self, x: float, y: float, radius: float, fill: str) -> None:
        self.draw.ellipse(scaled([(x - radius, y - radius), (x + radius, y + radius)]), fill=fill)

    def png(self) -> bytes:
        file = io.BytesIO()
        self.image.resize((WIDTH, HEIGHT), Image.Resampling.LANCZOS).save(file, "PNG", optimize=True)
        return file.getvalue()


def drawable(text: str) -> str:
    """Replace the characters that the font lacks by question marks.

    >>> drawable("2.9 s ±22 % on Zürich")
    '2.9 s ±22 % on Z?rich'
    """
    return "".join(letter if letter in DRAWABLE else "?" for letter in text)


def scaled(points: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    return [(x * OVERSAMPLING, y * OVERSAMPLING) for x, y in points]


def share_picture(title: str, line: str, source: str, answer: AnswerDrawing) -> bytes:
    """Return a PNG of 1200 x 630: `title` and `line` above t(n) with its interval, `source` below. If no time is known
    it contains the text alone."""
    sheet = Sheet()
    sheet.text(100, title, 44, INK)
    sheet.text(172, line, 52, ACCENT)
    sheet.text(HEIGHT - 28, source, LABEL_SIZE, FAINT)
    if answer.has_times:
        draw_curve(sheet, answer)
    return sheet.png()


def draw_curve(sheet: Sheet, answer: AnswerDrawing) -> None:
    """Draw t(n) over the threads on a logarithmic axis from 1, with the time on a linear axis from 0.

    The interval is a band, or bars at few thread counts, where both of its ends are known.
    """
    left, top, right, bottom = PLOT
    known = np.isfinite(answer.time_s)
    n, time = answer.n[known].astype(float), answer.time_s[known]
    low, high = answer.low_s[known], answer.high_s[known]
    highest = float(np.nanmax(np.concatenate([time, high]))) or 1.0
    axis = thread_axis(int(n[-1]))
    first, last = axis["range"]

    def place(values: FloatArray, at: FloatArray) -> list[tuple[float, float]]:
        x = left + (np.log10(at) - first) / (last - first) * (right - left)
        return list(zip(x.tolist(), (bottom - values / highest * (bottom - top)).tolist(), strict=True))

    band = np.isfinite(low) & np.isfinite(high)
    lower, upper = place(low[band], n[band]), place(high[band], n[band])
    if band.sum() > FEW_POINTS:
        sheet.area([*lower, *reversed(upper)], BAND)
    else:
        for ends in zip(lower, upper, strict=True):
            sheet.line(ends, BAND, 14)
    sheet.line([(left, top), (left, bottom), (right, bottom)], FAINT, 1.5)
    points = place(time, n)
    if len(points) > FEW_POINTS:
        sheet.line(points, ACCENT, 5)
    for x, y in points if len(points) <= MARKED_POINTS else ():
        sheet.dot(x, y, 6, ACCENT)
    ticks = np.array(axis["tickvals"])
    places = [x for x, _ in place(np.zeros(len(ticks)), ticks)]
    label_axes(sheet, answer, dict(zip(places, axis["ticktext"], strict=True)), highest)


def label_axes(sheet: Sheet, answer: AnswerDrawing, ticks: Mapping[float, str], highest: float) -> None:
    """Label both axes. `ticks` are the thread counts by their position on the axis."""
    left, top, _, bottom = PLOT
    sheet.label(left - 14, bottom, "0", "rs")
    sheet.label(left - 14, top + 18, f"{highest:.3g}", "rs")
    unit = ", s" if answer.time_unit == "s" else ""
    sheet.label(left - 14, (top + bottom) / 2, f"t(n){unit}", "rs")
    for x, count in ticks.items():
        sheet.label(x, bottom + 32, count, "ms")
    sheet.label(left - 14, bottom + 32, "threads n", "rs")
