"""The application that stores measurements and derives curves and features from them."""

from collections.abc import Sequence
from typing import Any

from django.apps import AppConfig, apps
from django.core.exceptions import FieldDoesNotExist
from django.db.models.signals import post_migrate

from mpet_site.web.periodic_tasks import register_periodic_task


class ProfilesConfig(AppConfig):
    name = "profiles"

    def ready(self) -> None:
        from accounts.user_data import register_user_data  # noqa: PLC0415
        from profiles.dump.published import publish_if_due  # noqa: PLC0415
        from profiles.ingest.service import announce_forgotten  # noqa: PLC0415
        from profiles.ingest.staging import sweep_abandoned  # noqa: PLC0415  models are not loaded before
        from profiles.jobs.queue import requeue_abandoned_tasks  # noqa: PLC0415
        from profiles.prices.user_data import PRICES_AND_NAMES  # noqa: PLC0415

        register_user_data(PRICES_AND_NAMES)
        register_periodic_task("staged deliveries", sweep_abandoned)
        register_periodic_task("announcements", announce_forgotten)
        register_periodic_task("tasks", requeue_abandoned_tasks)
        register_periodic_task("public dump", publish_if_due, seconds=600, soon=False)
        post_migrate.connect(begin_generation, sender=self, dispatch_uid="profiles.begin_generation")


def begin_generation(using: str, apps: Any = apps, plan: Sequence[Any] = (), **_: Any) -> None:
    """Start a new generation after migrations, because they may change rows without raising the revision."""
    try:
        revision = apps.get_model("profiles", "Revision")
        generation = revision._meta.get_field("generation")
    except (LookupError, FieldDoesNotExist):  # the database was migrated back to a state without generations
        return
    if plan:
        revision.objects.using(using).update(generation=generation.get_default())
