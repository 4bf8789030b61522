"""Text tables of numbers for terminals."""

from collections.abc import Sequence


def formatted_number(value: float | None, digits: int = 4) -> str:
    """Return the number with this many significant digits, or an empty string for None.

    >>> formatted_number(0.0123456), formatted_number(123456.0), formatted_number(None)
    ('0.01235', '1.235e+05', '')
    """
    return "" if value is None else f"{value:.{digits}g}"


def text_table(head: Sequence[str], rows: Sequence[Sequence[str]], words: int = 0) -> list[str]:
    """Return lines with aligned columns. The first `words` columns are left-aligned, the others right-aligned.

    >>> text_table(["name", "n"], [["a", "10"], ["bcdef", "2"]], words=1)
    ['name    n', 'a      10', 'bcdef   2']
    """
    widths = [max(len(row[column]) for row in [head, *rows]) for column in range(len(head))]
    return [
        "  ".join(
            cell.ljust(width) if column < words else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in [head, *rows]
    ]
