"""Benchmarks in CI: read the results of other tools, keep a history, compare commits across different CPUs."""
