"""Bounds of what comes in, and what is odd about measurements. No Django."""
