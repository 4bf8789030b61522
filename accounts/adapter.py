"""The adapter of django-allauth: random user names, optional sign-up, and rate limits and links of mails."""

from __future__ import annotations

import ipaddress
from typing import Any
from urllib.parse import urlsplit

from allauth.account.adapter import DefaultAccountAdapter
from django.conf import settings
from django.contrib.sites.shortcuts import get_current_site
from django.http import HttpRequest
from django.urls import reverse
from django.utils.crypto import get_random_string
from rest_framework.throttling import BaseThrottle

from accounts.mails import send_message
from mpet_site.web.throttling import seconds_to_wait

NAME_CHARACTERS = "abcdefghjkmnpqrstuvwxyz23456789"  # without characters that look alike
USERNAME_LENGTH = 10  # 31^10 names, so collisions can be ignored
MAIL_PAGES = ("home", "measure", "tokens", "password_reset")
UNKNOWN_ADDRESS = "0.0.0.0"  # noqa: S104  for a client behind a socket, which has no address


def at_site(address: str) -> str:
    """Return the address with the scheme and host of MPET_SITE_URL where that is set.

    The client chooses the Host header, and may request a mail to another person.
    """
    site = urlsplit(settings.SITE_URL)
    return urlsplit(address)._replace(scheme=site.scheme, netloc=site.netloc).geturl() if site.netloc else address


def host_in_mails(request: HttpRequest) -> str:
    return urlsplit(settings.SITE_URL).netloc or request.get_host()


class AccountAdapter(DefaultAccountAdapter):
    def is_open_for_signup(self, request: HttpRequest) -> bool:
        return bool(settings.SIGNUP)

    def populate_username(self, request: HttpRequest, user: Any) -> None:
        """Set a random user name. With a chosen name, or one derived from an address, sign-up would reveal which names
        exist."""
        if not user.username:
            user.username = f"user-{get_random_string(USERNAME_LENGTH, NAME_CHARACTERS)}"

    def should_send_confirmation_mail(self, request: HttpRequest, email_address: Any, signup: bool) -> bool:
        """Return True at sign-up only, so that no mail is sent at every sign-in."""
        return signup

    def send_confirmation_mail(self, request: HttpRequest, emailconfirmation: Any, signup: bool) -> None:
        """Send the mail unless the rate limit of the address is reached (by default one mail per day).

        The mails of all accounts that claim the address count together.
        """
        if not seconds_to_wait("verification", emailconfirmation.email_address.email.casefold()):
            super().send_confirmation_mail(request, emailconfirmation, signup)

    def send_mail(self, template_prefix: str, email: str, context: dict[str, Any]) -> None:
        """Send the mail in a thread, so that the response time does not reveal whether one is sent."""
        site = get_current_site(self.request)
        site.domain = site.name = host_in_mails(self.request)
        addresses = {f"{name}_url": at_site(self.request.build_absolute_uri(reverse(name))) for name in MAIL_PAGES}
        known = {"request": self.request, "email": email, "current_site": site, **addresses}
        send_message(self.render_mail(template_prefix, email, known | context))

    def format_email_subject(self, subject: str) -> str:
        return f"[MPET] {subject}"

    def get_reset_password_from_key_url(self, key: str) -> str:
        return at_site(super().get_reset_password_from_key_url(key))

    def get_email_confirmation_url(self, request: HttpRequest, emailconfirmation: Any) -> str:
        return at_site(super().get_email_confirmation_url(request, emailconfirmation))

    def get_client_ip(self, request: HttpRequest) -> str:
        """Return the address of the client behind MPET_PROXIES proxies."""
        text = BaseThrottle().get_ident(request) or UNKNOWN_ADDRESS  # type: ignore[arg-type]
        try:
            return str(ipaddress.ip_address(text))
        except ValueError:
            return UNKNOWN_ADDRESS
