"""Formats of shares and thread counts in the sentences of pages, the API and commands."""

from __future__ import annotations


def whole_percent(share: float) -> str:
    """Return a share in whole percent.

    >>> whole_percent(0.0873), whole_percent(1.0)
    ('9 %', '100 %')
    """
    return f"{100 * share:.0f} %"


def spell_threads(n: int) -> str:
    """Return the number of threads with its unit in the singular or plural.

    >>> spell_threads(1), spell_threads(8)
    ('1 thread', '8 threads')
    """
    return "1 thread" if n == 1 else f"{n} threads"
