"""The application for whoever runs an installation: backups, what is wrong with it, what it measures of itself."""

from django.apps import AppConfig

from mpet_site.web.keeper import register_chore

EVERY_HOUR_S = 3_600.0


class OperationsConfig(AppConfig):
    name = "operations"

    def ready(self) -> None:
        from operations.metrics import sweep_metrics  # noqa: PLC0415  models are not there before
        from operations.retention import apply_retention  # noqa: PLC0415

        register_chore("metrics", sweep_metrics, seconds=EVERY_HOUR_S)
        register_chore("retention", apply_retention, seconds=EVERY_HOUR_S)
