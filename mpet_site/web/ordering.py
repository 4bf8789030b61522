"""How lists are sorted, on pages and in the API."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.db.models import F, QuerySet


def ordering_refusal(text: str, fields: Mapping[str, str]) -> str:
    """Why a list cannot be sorted by the text; "" where it can.

    >>> ordering_refusal("-name,size", {"name": "name"})
    "'size' is not one of: name."
    >>> ordering_refusal("-name", {"name": "name"}), ordering_refusal("", {})
    ('', '')
    """
    unknown = [term for term in text.split(",") if term.removeprefix("-") not in fields] if text else []
    return f"'{unknown[0]}' is not one of: {', '.join(fields)}." if unknown else ""


def order_rows(rows: QuerySet[Any], text: str, fields: Mapping[str, str]) -> QuerySet[Any]:
    """Sorted by the named fields ("-" first: descending), unknown values last, equal rows by their key so that they
    keep one order from page to page. Unchanged without a text, or with one that `ordering_refusal` refuses."""
    if not text or ordering_refusal(text, fields):
        return rows
    columns = [(F(fields[term.removeprefix("-")]), term.startswith("-")) for term in text.split(",")]
    ordered = [column.desc(nulls_last=True) if down else column.asc(nulls_last=True) for column, down in columns]
    return rows.order_by(*ordered, "pk")
