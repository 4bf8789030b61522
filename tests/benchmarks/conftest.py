"""Two users, and a folder of their own for uploaded files."""

import pytest
from django.contrib.auth import get_user_model


@pytest.fixture
def media(settings, tmp_path):
    settings.MEDIA_ROOT = tmp_path / "media"
    return settings.MEDIA_ROOT


@pytest.fixture
def alice():
    return get_user_model().objects.create_user("alice")


@pytest.fixture
def bob():
    return get_user_model().objects.create_user("bob")
