"""The commands about predictions, and what several of them share."""
