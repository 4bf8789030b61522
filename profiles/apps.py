"""The application that stores what was measured, and derives curves and features from it."""

from django.apps import AppConfig


class ProfilesConfig(AppConfig):
    name = "profiles"
