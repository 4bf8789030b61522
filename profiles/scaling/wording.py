"""Formats of shares and counts in the sentences of pages, the API and commands."""

from __future__ import annotations


def whole_percent(share: float) -> str:
    """Return a share in whole percent.

    >>> whole_percent(0.0873), whole_percent(1.0)
    ('9 %', '100 %')
    """
    return f"{100 * share:.0f} %"


def counted(count: int, noun: str) -> str:
    """Return the count with its noun in the singular or plural.

    >>> counted(1, "workload"), counted(34, "workload")
    ('1 workload', '34 workloads')
    """
    return f"{count} {noun}{'' if count == 1 else 's'}"
