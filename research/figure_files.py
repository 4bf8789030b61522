"""Figures as files, for commands that are given a folder."""

from collections.abc import Sequence
from pathlib import Path

import plotly.graph_objects as go

from profiles.figures import Chart


def write_figures(folder: Path, charts: Sequence[Chart]) -> None:
    """Write each chart as Plotly JSON and as a page of its own."""
    for chart in charts:
        figure = go.Figure(chart.json)
        figure.update_layout(template={}, overwrite=True)  # as on the page: without the colours of Plotly's own
        (folder / f"{chart.name}.plotly.json").write_text(figure.to_json() + "\n")
        figure.write_html(folder / f"{chart.name}.html", include_plotlyjs="directory")
