"""How numbers are written on pages. Unknown is a dash everywhere."""

import math
from typing import Any

from django import template

register = template.Library()
UNKNOWN = "–"


def is_unknown(value: Any) -> bool:
    return value is None or value == "" or (isinstance(value, float) and not math.isfinite(value))


@register.filter
def significant(value: Any, digits: int = 4) -> str:
    """
    >>> significant(1234567.0), significant(0.000012345), significant(8), significant(float("nan"))
    ('1.235e+06', '1.234e-05', '8', '–')
    """
    if is_unknown(value):
        return UNKNOWN
    return f"{value:.{digits}g}" if isinstance(value, float) else str(value)


@register.filter
def seconds(value: float | None) -> str:
    """
    >>> seconds(0.0123), seconds(75.0), seconds(4.2e-5), seconds(6.2e-8), seconds(None)
    ('12.3 ms', '75 s', '42 µs', '62 ns', '–')
    """
    if value is None or is_unknown(value):
        return UNKNOWN
    scales = ((1, "s"), (1e3, "ms"), (1e6, "µs"), (1e9, "ns"))
    factor, unit = next((scale for scale in scales if value * scale[0] >= 1), scales[-1])
    scaled = value * factor
    return f"{scaled:,.0f} {unit}" if scaled >= 1000 else f"{scaled:.3g} {unit}"


@register.filter
def size(value: int | None) -> str:
    """
    >>> size(32768), size(1 << 30), size(None)
    ('32 KiB', '1 GiB', '–')
    """
    if value is None:
        return UNKNOWN
    unit = 0
    amount = float(value)
    while amount >= 1024 and unit < 4:
        amount, unit = amount / 1024, unit + 1
    return f"{amount:.4g} {('B', 'KiB', 'MiB', 'GiB', 'TiB')[unit]}"


@register.filter
def percent(value: float | None) -> str:
    """A fraction as percent.

    >>> percent(0.0873), percent(1.5), percent(None)
    ('8.7 %', '150.0 %', '–')
    """
    if value is None or is_unknown(value):
        return UNKNOWN
    return f"{100 * value:.1f} %"


@register.filter
def known(value: Any) -> Any:
    """
    >>> known(None), known(False), known("x86_64"), known(3)
    ('–', 'no', 'x86_64', 3)
    """
    if isinstance(value, bool):
        return "yes" if value else "no"
    return UNKNOWN if is_unknown(value) else value


@register.filter
def words(value: str) -> str:
    """
    >>> words("work_imbalance")
    'work imbalance'
    """
    return str(value).replace("_", " ")
