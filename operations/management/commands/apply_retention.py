"""The command that deletes data whose retention period has ended."""

from typing import Any

from django.core.management.base import BaseCommand

from operations.retention import apply_retention


class Command(BaseCommand):
    help = (
        "Delete data whose retention period has ended (docs/operations.md). Every server also does this once an hour."
    )

    def handle(self, *args: Any, **options: Any) -> None:
        for what, count in apply_retention().items():
            self.stdout.write(f"{count} {what} deleted")
