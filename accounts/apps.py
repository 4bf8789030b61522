"""The application that knows users by their sessions and tokens."""

from django.apps import AppConfig


class AccountsConfig(AppConfig):
    name = "accounts"
