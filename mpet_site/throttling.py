"""Rates are counted in Django's cache; the default one lives in each process, so n processes allow up to n times as much."""

from typing import Any

from django.conf import settings
from rest_framework import throttling


class _FromSettings:
    scope: str

    def get_rate(self) -> str | None:
        return settings.REST_FRAMEWORK["DEFAULT_THROTTLE_RATES"][self.scope]


class AnonRateThrottle(_FromSettings, throttling.AnonRateThrottle):
    """Requests of one address without a token or session."""


class UserRateThrottle(_FromSettings, throttling.UserRateThrottle):
    """Requests of one user, with all tokens and sessions together."""

    def allow_request(self, request: Any, view: Any) -> bool:
        return not request.user.is_authenticated or super().allow_request(request, view)
