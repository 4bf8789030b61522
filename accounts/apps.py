"""The application that knows users by their sessions and tokens."""

from django.apps import AppConfig


class AccountsConfig(AppConfig):
    name = "accounts"
    verbose_name = "API tokens"  # django-allauth's application is "Accounts" in the admin

    def ready(self) -> None:
        from accounts import mails  # noqa: F401, PLC0415  (its receiver needs the models)
