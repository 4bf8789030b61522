"""Evaluations of papers/000, 002 and 003, for any measured runs."""
