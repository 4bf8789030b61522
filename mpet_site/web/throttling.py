"""Rates are counted in Django's cache. By default each process has its own: n processes allow up to n times as much."""

from typing import Any

from django.conf import settings
from rest_framework import throttling


class _FromSettings(throttling.SimpleRateThrottle):
    def get_rate(self) -> str | None:
        rate: str | None = settings.REST_FRAMEWORK["DEFAULT_THROTTLE_RATES"].get(self.scope)
        return rate


class AnonRateThrottle(throttling.AnonRateThrottle, _FromSettings):
    """Requests of one address without a token or session."""


class UserRateThrottle(throttling.UserRateThrottle, _FromSettings):
    """Requests of one user, with all tokens and sessions together."""

    def allow_request(self, request: Any, view: Any) -> bool:
        return not request.user.is_authenticated or super().allow_request(request, view)


class AddressRateThrottle(_FromSettings):
    """Attempts of one address, whoever it says it is."""

    def get_cache_key(self, request: Any, view: Any) -> str:
        return self.cache_format % {"scope": self.scope, "ident": self.get_ident(request)}


class LoginRateThrottle(AddressRateThrottle):
    scope = "login"


class SignupRateThrottle(AddressRateThrottle):
    scope = "signup"
