"""Template filters for the reports of uploads."""

from __future__ import annotations

import re
from collections.abc import Iterable

from django import template

register = template.Library()
SUBJECT = re.compile(r"^\S.*?: ")  # the workload at the beginning of a warning
PARTICULARS = re.compile(r"'[^']*'|\d[\d.,e+-]*")


@register.filter
def grouped(warnings: Iterable[str]) -> list[tuple[str, list[str]]]:
    """Return one pair for each kind of warning: the first warning, and the others that differ from it only in names and
    numbers.

    >>> grouped(["fft: grows by 50 % to n = 2", "a virtual machine", "sort: grows by 7.5 % to n = 16"])
    [('fft: grows by 50 % to n = 2', ['sort: grows by 7.5 % to n = 16']), ('a virtual machine', [])]
    """
    kinds: dict[str, list[str]] = {}
    for warning in warnings:
        kinds.setdefault(PARTICULARS.sub("#", SUBJECT.sub("", warning)), []).append(warning)
    return [(first, others) for first, *others in kinds.values()]
