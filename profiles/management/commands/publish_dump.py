"""Command that creates the dump for download from the site."""

import time
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from profiles.dump.export import ExportError
from profiles.dump.published import publish_dump


class Command(BaseCommand):
    help = "Create the public dump that the site offers for download, in all formats."

    def handle(self, **options: Any) -> None:
        start = time.perf_counter()
        try:
            published = publish_dump()
        except (ExportError, OSError) as error:
            raise CommandError(f"nothing was published: {error}") from error
        if published is None:
            raise CommandError("another process is creating the dump")
        names = ", ".join(f"{file['name']} ({file['bytes']} bytes)" for file in published.files)
        self.stdout.write(f"revision {published.revision} in {time.perf_counter() - start:.1f} s: {names}")
