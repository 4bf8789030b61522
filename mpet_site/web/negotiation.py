"""A `?format=` that no renderer knows is an invalid request, not an unknown page."""

from typing import Any

from django.http import Http404
from rest_framework.negotiation import DefaultContentNegotiation

from mpet_site.web.problems import invalid_request


class ContentNegotiation(DefaultContentNegotiation):
    def filter_renderers(self, renderers: Any, format: str) -> Any:
        try:
            return super().filter_renderers(renderers, format)
        except Http404 as error:
            formats = ", ".join(dict.fromkeys(renderer.format for renderer in renderers))
            raise invalid_request("format", f"'{format}' is not one of: {formats}.") from error
