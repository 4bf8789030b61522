"""The health check of the server, for supervisors."""

import os
import shutil

from django.conf import settings
from django.db import Error, connection
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.migrations.executor import MigrationExecutor
from django.http import HttpRequest, JsonResponse
from django.views.decorators.http import require_safe


def pending_migrations(database: BaseDatabaseWrapper) -> int:
    """Return the number of migrations of this code that are not applied."""
    executor = MigrationExecutor(database)
    return len(executor.migration_plan(executor.loader.graph.leaf_nodes()))


@require_safe
def healthz(request: HttpRequest) -> JsonResponse:
    """Return 200 if the server works, 503 otherwise."""
    if reason := server_fault():
        return JsonResponse({"status": "unavailable", "reason": reason}, status=503)
    return JsonResponse({"status": "ok"})


def server_fault() -> str:
    """Return the reason why the server does not work, or "" if it does.

    It works if the database answers, every migration is applied and uploads can be stored.
    """
    try:
        pending = pending_migrations(connection)
    except Error:
        return "the database does not answer"
    if pending:
        return f"{pending} migrations are not applied"
    if reason := storage_fault():
        return f"the state folder {reason}; stored data can still be read"
    return ""


def storage_fault() -> str:
    """Return the reason why the state folder cannot be written to, or "" if it can. `manage.py doctor` reports it,
    too."""
    if not os.access(settings.STATE_DIR, os.W_OK):
        return "cannot be written to"
    free = shutil.disk_usage(settings.STATE_DIR).free
    if free >= settings.LEAST_FREE_BYTES:
        return ""
    return f"has {free // 2**20} MiB left, less than {settings.LEAST_FREE_BYTES // 2**20} MiB (MPET_LEAST_FREE_BYTES)"
