"""The application for user accounts and API tokens."""

from django.apps import AppConfig


class AccountsConfig(AppConfig):
    name = "accounts"
    verbose_name = "API tokens"  # in the admin, "Accounts" is django-allauth's application

    def ready(self) -> None:
        from accounts import mails  # noqa: F401, PLC0415  (registers a receiver, needs the models)
