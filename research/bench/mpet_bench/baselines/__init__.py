"""Baselines for all tasks. Each module has a class `Entry`."""
