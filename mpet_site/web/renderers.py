"""Renderers of the API: JSON without NaN, streamed CSV and files, and the negotiation between them."""

import csv
import io
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from django.http import Http404
from rest_framework import renderers
from rest_framework.negotiation import DefaultContentNegotiation

from mpet_site.web.plain_json import nan_to_null
from mpet_site.web.problems import invalid_request

FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")


class JSONRenderer(renderers.JSONRenderer):
    """A JSON renderer that writes NaN and infinity as null.

    In strict mode, rendering fails for these values. Only then the document is converted, because few documents have
    any.
    """

    strict = True

    def render(self, data: Any, *args: Any, **kwargs: Any) -> bytes:
        try:
            return super().render(data, *args, **kwargs)
        except (ValueError, TypeError):
            return super().render(nan_to_null(data), *args, **kwargs)


class CSVRenderer(renderers.BaseRenderer):
    """A renderer that makes `?format=csv` known to content negotiation. Lists stream their rows with `csv_lines`."""

    media_type = "text/csv"
    format = "csv"

    def render(self, data: Any, *args: Any, **kwargs: Any) -> bytes:
        raise TypeError("CSV is streamed")


class TarballRenderer(renderers.BaseRenderer):
    media_type = "application/gzip"
    format = "tar.gz"
    charset = None
    render_style = "binary"

    def render(self, data: bytes, *args: Any, **kwargs: Any) -> bytes:
        return data


class ArchiveRenderer(TarballRenderer):
    media_type = "application/x-tar"
    format = "tar"


class ArchiveOfFilesRenderer(TarballRenderer):
    media_type = "application/zip"
    format = "zip"


class WheelRenderer(TarballRenderer):
    media_type = "application/zip"
    format = "whl"


class BytesRenderer(TarballRenderer):
    media_type = "application/octet-stream"
    format = "bin"


class TextRenderer(TarballRenderer):
    media_type = "text/plain"
    format = "txt"


class LinesRenderer(TarballRenderer):
    media_type = "application/jsonl"
    format = "jsonl"


def csv_lines(columns: Sequence[str], rows: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """Yield RFC 4180 lines, the header first. Null becomes an empty cell."""
    line = io.StringIO()
    writer = csv.writer(line)
    writer.writerow(columns)
    for row in rows:
        yield line.getvalue()
        line.seek(0)
        line.truncate()
        writer.writerow([csv_cell(row[column]) for column in columns])
    yield line.getvalue()


def csv_cell(value: Any) -> Any:
    """Return the content of a CSV cell.

    A text that a spreadsheet would interpret as a formula gets a ' in front, because names come from uploads.
    """
    value = nan_to_null(value)
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list):
        value = "; ".join(map(str, value))
    if isinstance(value, str) and value.startswith(FORMULA_STARTS):
        return "'" + value
    return value


class ContentNegotiation(DefaultContentNegotiation):
    """A content negotiation that answers an unknown `?format=` with 400 instead of 404."""

    def filter_renderers(self, renderers: Any, format: str) -> Any:
        try:
            return super().filter_renderers(renderers, format)
        except Http404 as error:
            formats = ", ".join(dict.fromkeys(renderer.format for renderer in renderers))
            raise invalid_request("format", f"'{format}' is not one of: {formats}.") from error
