"""Figures as plain dictionaries for plotly.js. These modules do not import Django and contain no colours."""
