"""Figures for plotly.js, as plain dictionaries. No module of this package queries the database."""
