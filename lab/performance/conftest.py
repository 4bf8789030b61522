"""Sizes of the benchmarks: realistic if times are measured, and small if the benchmarks only run as tests."""

import pytest

from tests.conftest import django_db_keepdb, empty_database, shared_data  # noqa: F401  (fixtures)

_is_measured = False


def pytest_configure(config: pytest.Config) -> None:
    global _is_measured  # noqa: PLW0603  modules need their sizes when they are imported
    _is_measured = bool(config.getoption("benchmark_enable", False) or config.getoption("benchmark_only", False))


def sized(measured, checked):
    """Return `measured` with --benchmark-enable, and `checked` in the test suite."""
    return measured if _is_measured else checked
