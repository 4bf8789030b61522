"""Changes as Markdown for the summary of a CI job, and as rows of tables."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Optional

from mpet.changes import Change, Changes, RegionChange
from mpet.results import shown_number


def percent(share: float) -> str:
    """Return a share as a percentage with its sign.

    >>> percent(0.1234), percent(-0.5), percent(0.0004)
    ('+12.3 %', '-50 %', '0 %')
    """
    rounded = round(share * 100, 1)
    return "0 %" if rounded == 0 else f"{rounded:+.3g} %"


def shown_noise(noise: Optional[float]) -> str:
    return "unknown" if noise is None else percent(noise).lstrip("+")


def verdict(change: Change) -> str:
    if change.relative_noise is None:
        return "one repeat"
    if not change.is_beyond_noise:
        return ""
    return "slower" if change.is_slower else "faster"


def time_rows(region: RegionChange) -> Iterator[list[str]]:
    """Yield n, the times before and after, the change, the noise and the verdict for each number of threads."""
    for change in region.times:
        seconds = [shown_number(change.base_s), shown_number(change.head_s)]
        relative = [percent(change.relative), shown_noise(change.relative_noise)]
        yield [str(change.n), *seconds, *relative, verdict(change)]


def part_table(region: RegionChange, marked: str) -> tuple[list[str], list[list[str]]]:
    """Return the titles of the columns, such as `n = 4`, and a row for each part that was measured. `marked` is the
    format of a change beyond noise."""
    measured = {part: changes for part, changes in region.parts.items() if changes}
    titles = [f"n = {change.n}" for change in next(iter(measured.values()), [])]

    def cell(change: Change) -> str:
        text = percent(change.relative)
        return marked.format(text) if change.is_beyond_noise else text

    return titles, [[part, *map(cell, changes)] for part, changes in measured.items()]


def headline(changes: Changes) -> str:
    found = {
        "Slower": [region.shown_name for region in changes.regions if region.is_slower],
        "Faster": [region.shown_name for region in changes.regions if region.is_faster],
    }
    sentences = [f"{word} beyond noise: {', '.join(names)}." for word, names in found.items() if names]
    return " ".join(sentences) or "Nothing changed beyond noise."


def name_of(upload: dict[str, Any]) -> str:
    """Return the branch and the commit of an upload as far as they are known, else its id."""
    commit = str(upload.get("commit") or "")[:10]
    words = [str(upload.get("branch") or ""), f"({commit})" if commit else ""]
    return " ".join(word for word in words if word) or str(upload["id"])


def markdown_cell(text: Any) -> str:
    """Escape text from other people, which could end the cell, contain markup or mention a user."""
    plain = "".join(character if character.isprintable() else " " for character in str(text))
    plain = plain.replace("@", "@\u200b")
    return "".join(f"\\{character}" if character in "\\`*_[]<>|#&" else character for character in plain)


def _row(cells: list[str]) -> str:
    return f"| {' | '.join(cells)} |"


def markdown_table(names: list[str], rows: list[list[str]]) -> list[str]:
    return [_row(names), _row(["---", *["---:"] * (len(names) - 1)]), *map(_row, rows), ""]


def changes_markdown(changes: Changes) -> str:
    """Return the report: a headline, tables of t(n) and of the seven parts for each region, and what the noise
    means."""
    base, head = markdown_cell(name_of(changes.base)), markdown_cell(name_of(changes.head))
    lines = [f"## MPET: {head} compared with {base}", "", f"**{markdown_cell(headline(changes))}**", ""]
    for region in changes.regions:
        lines += [f"### {markdown_cell(region.shown_name)}", ""]
        if region.base_name != region.head_name:
            lines += [f"Before: {markdown_cell(region.base_name)}.", ""]
        rows = [[*row[:-1], f"**{row[-1]}**" if row[-1] else ""] for row in time_rows(region)]
        lines += markdown_table(["n", "before, s", "now, s", "change of t(n)", "noise", ""], rows)
        titles, parts = part_table(region, "**{}**")
        if parts:
            lines += markdown_table(["part, as a share of t(n) before", *titles], parts)
    for word, names in (("No longer there", changes.gone), ("New", changes.new)):
        if names:
            lines += [f"{word}: {markdown_cell(', '.join(names))}.", ""]
    lines += [NOTE.format(least=f"{changes.least * 100:.3g} %", url=changes.head.get("url", "")), ""]
    return "\n".join(lines)


NOTE = (
    "Noise is the change that the spread of the repeats explains, at the 5 % level for the whole report. Bold changes "
    "exceed it and are at least {least}. More time in use means more work; the other parts are the cost of "
    "parallelism. Measurements, visible to the uploader only: {url}"
)
