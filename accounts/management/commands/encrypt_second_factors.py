"""The command that encrypts the secrets of second factors."""

from typing import Any

from allauth.mfa.models import Authenticator
from django.core.exceptions import ImproperlyConfigured
from django.core.management.base import BaseCommand, CommandError
from django.db import transaction

from accounts.second_factors import reencrypted


class Command(BaseCommand):
    help = (
        "Encrypt the secrets of all second factors with the current secret key, initially or after the key was changed."
    )

    @transaction.atomic
    def handle(self, *args: Any, **options: Any) -> None:
        rows = list(Authenticator.objects.select_for_update().order_by("pk"))
        try:
            for row in rows:
                row.data = reencrypted(row.data)
        except ImproperlyConfigured as error:
            raise CommandError(f"{error} Nothing was changed.") from error
        Authenticator.objects.bulk_update(rows, ["data"], batch_size=500)
        self.stdout.write(f"{len(rows)} second factors are encrypted with the current secret key.")
