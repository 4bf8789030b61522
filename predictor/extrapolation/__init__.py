"""Scaling models of one stored profile: beyond the thread counts and sizes that were measured."""
