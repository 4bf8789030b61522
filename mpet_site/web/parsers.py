"""Parsers of request bodies that enforce size limits."""

from io import BytesIO
from typing import IO, Any

from django.conf import settings
from django.http import HttpRequest
from rest_framework import parsers
from rest_framework.exceptions import ParseError
from rest_framework.request import Request

from mpet_site.web.problems import PayloadTooLarge

JSON_MAX_BYTES = 2**20
# Lists and objects: an empty one takes two bytes of text and about a hundred of memory.
JSON_MAX_CONTAINERS = 10_000
JSON_MAX_COMMAS = 50_000
MULTIPART_FRAME_BYTES = 2**16  # boundaries, headers and the other fields around an uploaded file


def check_length(request: Request | HttpRequest, limit: int) -> None:
    """Raise PayloadTooLarge if Content-Length exceeds the limit, before a byte of the body is read.

    WSGI servers never pass more bytes than Content-Length states.
    """
    length = int(request.META.get("CONTENT_LENGTH") or 0)
    if length > limit:
        raise PayloadTooLarge(f"The body has {length} bytes; at most {limit} are accepted.", limit_bytes=limit)


def check_json_size(content: bytes) -> None:
    """Raise PayloadTooLarge for a body with too many values, before it is parsed.

    Brackets and commas inside texts count, because no valid request has that many.
    """
    for count, limit, what in (
        (content.count(b"[") + content.count(b"{"), JSON_MAX_CONTAINERS, "lists and objects"),
        (content.count(b","), JSON_MAX_COMMAS, "values"),
    ):
        if count > limit:
            raise PayloadTooLarge(f"The body has more than {limit} {what}.")


class JSONParser(parsers.JSONParser):
    """A JSON parser that always reads UTF-8, because JSON has no other encoding (RFC 8259)."""

    def parse(self, stream: IO, media_type: str | None = None, parser_context: Any = None) -> Any:
        check_length(parser_context["request"], JSON_MAX_BYTES)
        content = stream.read(JSON_MAX_BYTES + 1)
        check_json_size(content)
        try:
            return super().parse(BytesIO(content), media_type, {"encoding": "utf-8"})
        except RecursionError as error:
            raise ParseError("JSON parse error - nested too deeply") from error


class MultiPartParser(parsers.MultiPartParser):
    def parse(self, stream: IO, media_type: str | None = None, parser_context: Any = None) -> Any:
        check_length(parser_context["request"], settings.UPLOAD_MAX_PACKED_BYTES + MULTIPART_FRAME_BYTES)
        return super().parse(stream, media_type, parser_context)
