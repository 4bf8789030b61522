"""From what was computed to Plotly figures. Nothing here asks the database."""
