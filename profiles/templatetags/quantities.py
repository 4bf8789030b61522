"""Template filters that format numbers. Unknown values are always shown as a dash."""

import math
import re
from collections.abc import Sequence
from operator import itemgetter
from typing import Any

from django import template
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString, mark_safe

from mpet_site.web.tables import NUMBER, PageTable, TableColumn

register = template.Library()
DASH = "–"
SIGNIFICANT_DIGITS = 3
LARGEST_PERCENT = 1000  # larger percentages are shown as factors, which are easier to read
ROUNDING = 1e-9
LITERAL = re.compile(r"(<(?:script|pre|textarea|option)\b.*?</(?:script|pre|textarea|option)>)", re.DOTALL)
NO_BREAK_PERCENT = "\xa0%"
PERCENT = re.compile(r" %(?<=\d %)")  # a percent sign after a number


def is_unknown(value: Any) -> bool:
    return value is None or value == "" or (isinstance(value, float) and not math.isfinite(value))


@register.filter
def significant(value: Any, digits: int = SIGNIFICANT_DIGITS) -> str:
    """Return the number with `digits` digits, and with an exponent only if it would be long otherwise.

    >>> significant(12345.0), significant(1234567.0), significant(0.000012345), significant(8), significant(None)
    ('12,300', '1.23e+06', '1.23e-05', '8', '–')
    """
    if is_unknown(value):
        return DASH
    if not isinstance(value, float):
        return str(value)
    rounded = f"{value:.{digits}g}"
    return f"{float(rounded):,.0f}" if "e+" in rounded and abs(value) < 1e6 else rounded


@register.filter
def number_rows(rows: Sequence[Sequence[Any]]) -> SafeString:
    """Return the rows of a chart's table as HTML. A template would take ten times as long for hundreds of cells.

    >>> number_rows([("<a>", 0.5, None)])
    '<tr><th scope="row">&lt;a&gt;</th><td class="number">0.5</td><td class="number">–</td></tr>'
    """

    def number_in(place: int) -> TableColumn:
        return TableColumn("", lambda row: significant(row[place]), kind=NUMBER)

    others = range(1, len(rows[0]) if rows else 0)
    return PageTable("", [TableColumn("", itemgetter(0)), *map(number_in, others)], rows).body


@register.filter
def seconds(value: float | None) -> str:
    """
    >>> seconds(0.0123), seconds(75.0), seconds(4.2e-5), seconds(6.2e-8), seconds(None)
    ('12.3 ms', '75 s', '42 µs', '62 ns', '–')
    """
    if value is None or is_unknown(value):
        return DASH
    scales = ((1, "s"), (1e3, "ms"), (1e6, "µs"), (1e9, "ns"))
    factor, unit = next((scale for scale in scales if value * scale[0] >= 1), scales[-1])
    scaled = value * factor
    return f"{scaled:,.0f} {unit}" if scaled >= 1000 else f"{scaled:.3g} {unit}"


@register.filter
def in_unit(value: float | None, unit: str) -> str:
    """Return a time as seconds, or as a plain number if its unit is unknown.

    >>> in_unit(0.0123, "s"), in_unit(0.0123, "unknown unit"), in_unit(None, "s")
    ('12.3 ms', '0.0123', '–')
    """
    return seconds(value) if unit == "s" else significant(value)


@register.filter
def size(value: int | None) -> str:
    """
    >>> size(32768), size(1 << 30), size(None)
    ('32 KiB', '1 GiB', '–')
    """
    if value is None:
        return DASH
    unit = 0
    amount = float(value)
    while amount >= 1024 and unit < 4:
        amount, unit = amount / 1024, unit + 1
    return f"{amount:.4g} {('B', 'KiB', 'MiB', 'GiB', 'TiB')[unit]}"


@register.filter
def percent(value: float | None) -> str:
    """Return a fraction as a percentage, or as a factor if it is far above 1. Rounding errors are shown as 0.

    >>> percent(0.0873), percent(1.5), percent(1668.091), percent(1.9e-16), percent(None)
    ('8.73 %', '150 %', '1,670 times', '0 %', '–')
    """
    if value is None or is_unknown(value):
        return DASH
    if abs(100 * value) >= LARGEST_PERCENT:
        return f"{significant(float(value))} times"
    return f"{significant(100.0 * value) if abs(value) > ROUNDING else 0} %"


@register.filter
def sentence_case(title: str) -> str:
    """Return another project's title in sentence case, as on our pages.

    >>> sentence_case(" Two-Factor Authentication "), sentence_case("IP Address"), sentence_case("Sign in with GitHub")
    ('Two-factor authentication', 'IP address', 'Sign in with GitHub')
    """
    return re.sub(r"(?<=[\s-])[A-Z](?=[a-z]+\b)", lambda initial: initial[0].lower(), title.strip())


@register.filter
def unbroken(html: str) -> SafeString:
    """Return the page with a non-breaking space between each number and its percent sign. Tags do not change.

    >>> unbroken('5 %<p title="5 %">5 % of all</p>') == '5\xa0%<p title="5 %">5\xa0% of all</p>'
    True
    """

    def text_unbroken(piece: str) -> str:
        tag, end, text = piece.rpartition(">")
        return f"{tag}{end}{PERCENT.sub(NO_BREAK_PERCENT, text)}"

    # Every second part is a script, or a text to copy, and is not changed.
    parts = LITERAL.split(html)
    parts[::2] = [
        "<".join([text_unbroken(piece) if " %" in piece else piece for piece in part.split("<")]) for part in parts[::2]
    ]
    return mark_safe("".join(parts))  # noqa: S308  (the input is a rendered page)


@register.filter
def as_percent(value: float | None) -> str:
    """Return a number that is already in percent in the format of `percent`.

    >>> as_percent(12.345), as_percent(166809.1)
    ('12.3 %', '1,670 times')
    """
    return percent(None if value is None else value / 100)


@register.filter
def change(value: float | None) -> str:
    """Return a change in percent with its sign, or as a factor if it is large.

    >>> change(-3.14), change(42.0), change(166809.1)
    ('-3.14 %', '+42 %', '× 1,670')
    """
    if value is None or is_unknown(value):
        return DASH
    return f"× {significant(1 + value / 100)}" if value > 100 else f"{value:+.3g} %"


@register.filter
def unmarked(name: Any, badge: Any) -> str:
    """Return the name of a machine, workload or upload without "(simulated)" if the badge next to it is "simulated".

    >>> unmarked("i7-4771 (simulated)", "simulated"), unmarked("i7-4771 (simulated)", "mixed")
    ('i7-4771', 'i7-4771 (simulated)')
    >>> unmarked("i7-4771 (simulated), seed 1", "simulated")
    'i7-4771, seed 1'
    """
    return str(name).replace(" (simulated)", "") if badge == "simulated" else str(name)


@register.filter("known")
def known_or_dash(value: Any) -> Any:
    """
    >>> known_or_dash(None), known_or_dash(False), known_or_dash("x86_64"), known_or_dash(3)
    ('–', 'no', 'x86_64', 3)
    """
    if isinstance(value, bool):
        return "yes" if value else "no"
    return DASH if is_unknown(value) else value


@register.filter("words")
def with_spaces(value: str) -> str:
    """
    >>> with_spaces("work_imbalance")
    'work imbalance'
    """
    return str(value).replace("_", " ")


@register.simple_tag
def badges(row: Any) -> SafeString:
    """Return the badges of a platform, workload, profile or delivery: private, not measured, not used."""
    first, reason = getattr(row, "first_origin", ""), getattr(row, "outlier_reason", "")
    origin = getattr(row, "origin", "") or (first if first == getattr(row, "last_origin", "") else "")
    kept_out = f"Excluded from predictions: {reason}"
    shown = []
    if getattr(row, "private_to_id", None):
        shown.append(("private", "", "private"))
    if origin and origin != "measured":
        shown.append((origin, "", origin))
    if getattr(row, "time_kind", "") == "relative":
        shown.append(("", "Times are in an unknown unit", "relative time"))
    if getattr(row, "outlier_judge", "") == "second":
        shown.append(("", kept_out, "second measurement"))
    elif reason:
        shown.append(("outlier", kept_out, "outlier"))
    return format_html_join(
        " ",
        '<span class="badge{}"{}>{}</span>',
        (
            (f" {kind}" if kind else "", format_html(' title="{}"', title) if title else "", text)
            for kind, title, text in shown
        ),
    )
