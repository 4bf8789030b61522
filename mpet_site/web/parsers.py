"""Bodies of requests are read up to a limit."""

from typing import IO, Any

from django.conf import settings
from rest_framework import parsers
from rest_framework.exceptions import ParseError
from rest_framework.request import Request

from mpet_site.web.problems import PayloadTooLarge

JSON_MAX_BYTES = 2**20
MULTIPART_FRAME_BYTES = 2**16  # boundaries, headers and the other fields around an uploaded file


def check_length(request: Request, limit: int) -> None:
    """Before a byte is read. WSGI servers hand over no more than Content-Length says."""
    length = int(request.META.get("CONTENT_LENGTH") or 0)
    if length > limit:
        raise PayloadTooLarge(f"The body has {length} bytes; at most {limit} are taken.", limit_bytes=limit)


class JSONParser(parsers.JSONParser):
    def parse(self, stream: IO, media_type: str | None = None, parser_context: Any = None) -> Any:
        check_length(parser_context["request"], JSON_MAX_BYTES)
        try:
            return super().parse(stream, media_type, parser_context)
        except RecursionError as error:
            raise ParseError("JSON parse error - nested too deeply") from error


class MultiPartParser(parsers.MultiPartParser):
    def parse(self, stream: IO, media_type: str | None = None, parser_context: Any = None) -> Any:
        check_length(parser_context["request"], settings.UPLOAD_MAX_PACKED_BYTES + MULTIPART_FRAME_BYTES)
        return super().parse(stream, media_type, parser_context)
