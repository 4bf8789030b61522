"""How shares and numbers of threads are written in the sentences that pages, the API and commands show."""

from __future__ import annotations


def whole_percent(share: float) -> str:
    """A share in whole percent.

    >>> whole_percent(0.0873), whole_percent(1.0)
    ('9 %', '100 %')
    """
    return f"{100 * share:.0f} %"


def spell_threads(n: int) -> str:
    """
    >>> spell_threads(1), spell_threads(8)
    ('1 thread', '8 threads')
    """
    return "1 thread" if n == 1 else f"{n} threads"
