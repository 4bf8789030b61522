"""Figures as Plotly's Python package reads them."""

from collections.abc import Mapping
from typing import Any

import plotly.graph_objects as go

from profiles.figures import Chart


def check_figure(figure: Mapping[str, Any]) -> go.Figure:
    """The figure as an object; a ValueError where Plotly's schema has no such attribute, or not this value of it."""
    return go.Figure(figure)


def plotly_figure(chart: Chart) -> go.Figure:
    return check_figure(chart.figure)
