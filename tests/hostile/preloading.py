"""gunicorn's settings for the campaign of kills: its workers are forks of a process that has loaded all, so that the
next one is there at once."""

from typing import Any

preload_app = True


def when_ready(server: Any) -> None:
    import mpet_site.urls  # noqa: F401, PLC0415  Django would do so at the first request
