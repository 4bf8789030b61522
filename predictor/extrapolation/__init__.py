"""Scaling models of one stored profile, which extrapolate it beyond the measured thread counts and sizes."""
