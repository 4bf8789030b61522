"""Benchmarks have the sizes that users have where times are measured, and small ones where they are only checked."""

import pytest

from tests.conftest import django_db_setup, shared_data  # noqa: F401  (fixtures)

_is_measured = False


def pytest_configure(config: pytest.Config) -> None:
    global _is_measured  # noqa: PLW0603  modules ask for their sizes when they are imported
    _is_measured = bool(config.getoption("benchmark_enable", False) or config.getoption("benchmark_only", False))


def sized(measured, checked):
    """`measured` with --benchmark-enable, `checked` in the test suite."""
    return measured if _is_measured else checked
