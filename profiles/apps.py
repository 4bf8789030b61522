"""The application that stores what was measured, and derives curves and features from it."""

from django.apps import AppConfig

from mpet_site.web.keeper import register_chore


class ProfilesConfig(AppConfig):
    name = "profiles"

    def ready(self) -> None:
        from profiles.announcing import announce_forgotten  # noqa: PLC0415
        from profiles.dump.published import publish_if_due  # noqa: PLC0415
        from profiles.staging import sweep_abandoned  # noqa: PLC0415  models are not there before

        register_chore("staged deliveries", sweep_abandoned)
        register_chore("announcements", announce_forgotten)
        register_chore("public dump", publish_if_due, seconds=600, soon=False)
