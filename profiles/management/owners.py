"""The --private and --owner of the commands that import."""

import argparse
from typing import Any

from django.contrib.auth import get_user_model
from django.core.management.base import CommandError


def add_owner_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--private", action="store_true", help="only the owner sees it and predicts from it")
    parser.add_argument("--owner", metavar="USERNAME", help="the user whose measurements these are")


def owner_of(username: str | None, private: bool) -> Any:
    """The user of that name, None for no name. CommandError where there is none, or where one is needed."""
    if username is None:
        if private:
            raise CommandError("--private needs an owner: give --owner USERNAME")
        return None
    user = get_user_model().objects.filter(username=username).first()
    if user is None:
        raise CommandError(f"there is no user {username!r}")
    return user
