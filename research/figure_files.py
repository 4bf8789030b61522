"""Writing of figures to files, for commands with an output folder."""

from collections.abc import Sequence
from pathlib import Path

import plotly.graph_objects as go

from profiles.figures.base import Chart


def write_figures(folder: Path, charts: Sequence[Chart]) -> None:
    """Write each chart as Plotly JSON and as an HTML page."""
    for chart in charts:
        figure = go.Figure(chart.json)
        # Remove the colours of Plotly's default template, as the pages do.
        figure.update_layout(template={}, overwrite=True)
        (folder / f"{chart.name}.plotly.json").write_text(figure.to_json() + "\n")
        figure.write_html(folder / f"{chart.name}.html", include_plotlyjs="directory")
