"""Checks of figures with Plotly's Python package."""

from collections.abc import Mapping
from typing import Any

import plotly.graph_objects as go

from profiles.figures.base import Chart


def check_figure(figure: Mapping[str, Any]) -> go.Figure:
    """Return the figure as a Plotly object. Raises ValueError if Plotly's schema does not allow it."""
    return go.Figure(figure)


def plotly_figure(chart: Chart) -> go.Figure:
    return check_figure(chart.figure)
