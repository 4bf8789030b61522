"""Figures as files, for commands that are given a folder."""

from collections.abc import Sequence
from pathlib import Path

from profiles.figures import Chart


def write_figures(folder: Path, charts: Sequence[Chart]) -> None:
    """Write each chart as Plotly JSON and as a page of its own."""
    for chart in charts:
        (folder / f"{chart.name}.plotly.json").write_text(chart.figure.to_json() + "\n")
        chart.figure.write_html(folder / f"{chart.name}.html", include_plotlyjs="directory")
