"""Benchmarks in CI: results of other tools, a history, and comparisons of commits across different CPUs."""
