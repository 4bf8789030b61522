"""The address that tells a supervisor whether the server works."""

from django.db import Error, connection
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.migrations.executor import MigrationExecutor
from django.http import HttpRequest, JsonResponse
from django.views.decorators.http import require_safe


def pending_migrations(database: BaseDatabaseWrapper) -> int:
    """Returns how many migrations of this code are not applied."""
    executor = MigrationExecutor(database)
    return len(executor.migration_plan(executor.loader.graph.leaf_nodes()))


@require_safe
def healthz(request: HttpRequest) -> JsonResponse:
    """200 when the database answers and every migration is applied, 503 otherwise."""
    try:
        pending = pending_migrations(connection)
    except Error:
        return JsonResponse({"status": "unavailable", "reason": "the database does not answer"}, status=503)
    if pending:
        return JsonResponse({"status": "unavailable", "reason": f"{pending} migrations are not applied"}, status=503)
    return JsonResponse({"status": "ok"})
