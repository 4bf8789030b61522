"""The command that reports the faults of this installation."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError

from operations.doctor import examine


class Command(BaseCommand):
    help = "Check this installation and report problems. The exit status is 1 if something does not work."

    def handle(self, **options: Any) -> None:
        findings = list(examine())
        for finding in findings:
            self.stdout.write(f"{'error' if finding.is_error else 'warning'}: {finding.text}")
        errors = sum(finding.is_error for finding in findings)
        if errors:
            raise CommandError(f"{errors} of {len(findings)} findings are errors")
        if not findings:
            self.stdout.write("No problem was found.")
