"""From what was computed to what plotly.js draws, plain dictionaries. Nothing here asks the database."""
