"""The application for operators and moderators: backups, diagnosis, metrics, retention and moderation."""

from django.apps import AppConfig

from mpet_site.web.periodic_tasks import register_periodic_task

EVERY_HOUR_S = 3_600.0


class OperationsConfig(AppConfig):
    name = "operations"

    def ready(self) -> None:
        from operations.metrics import sweep_metrics  # noqa: PLC0415  needs the models
        from operations.retention import apply_retention  # noqa: PLC0415

        register_periodic_task("metrics", sweep_metrics, seconds=EVERY_HOUR_S)
        register_periodic_task("retention", apply_retention, seconds=EVERY_HOUR_S)
