"""The command that prints a new API token."""

from datetime import timedelta
from typing import Any

from django.contrib.auth import get_user_model
from django.core.exceptions import ValidationError
from django.core.management.base import BaseCommand, CommandError, CommandParser

from accounts.models import LIFETIME, ApiToken


class Command(BaseCommand):
    help = "Create an API token for a user and print it once. If the user does not exist, create it without a password."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("username")
        parser.add_argument(
            "--scope",
            choices=ApiToken.Scope.values,
            default=ApiToken.Scope.UPLOAD.value,
            help="predict: read the user's private data and predict; upload (default): also upload",
        )
        end = parser.add_mutually_exclusive_group()
        end.add_argument(
            "--expires",
            type=int,
            metavar="DAYS",
            default=LIFETIME.days,
            help="days until the token expires (default: 365)",
        )
        end.add_argument("--no-end", action="store_true", help="create a token that is valid until it is revoked")
        parser.add_argument("--name", default="", help="name of the token, shown in lists of tokens")

    def handle(self, *args: Any, **options: Any) -> None:
        days = options["expires"]
        if not 1 <= days <= 36_500:
            raise CommandError("--expires takes a number of days from 1 to 36500")
        lifetime = None if options["no_end"] else timedelta(days=days)
        user = self.user(options["username"])
        _, secret = ApiToken.issue(user, options["scope"], name=options["name"][:100], lifetime=lifetime)
        self.stdout.write(secret)
        self.stderr.write("This token is not stored and cannot be shown again.")

    def user(self, username: str) -> Any:
        model = get_user_model()
        user = model.objects.filter(username=username).first()
        if user is not None:
            if not user.is_active:
                raise CommandError(f"user {username!r} is not active")
            return user
        user = model(username=username)
        user.set_unusable_password()
        try:
            user.full_clean(exclude=["password"])
        except ValidationError as error:
            raise CommandError(f"{username!r} cannot be a user name: {' '.join(error.messages)}") from error
        user.save()
        self.stderr.write(f"Created user {username!r}, without a password.")
        return user
