"""`/metrics` for Prometheus: counters of this server, and numbers of rows in the database.

It is off unless a token or a network is set. The processes of a server count in files of one folder, which the
Prometheus client aggregates.
"""

from __future__ import annotations

import hmac
import ipaddress
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from django.conf import settings
from django.db.models import Count, QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.views.decorators.http import require_safe
from django_tasks_db.models import DBTaskResult
from prometheus_client import CONTENT_TYPE_LATEST, REGISTRY, CollectorRegistry, generate_latest
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.multiprocess import MultiProcessCollector
from prometheus_client.registry import Collector

from benchmarks.models import Quarantine, Upload
from mpet_site.state_folder import is_older_than
from mpet_site.web.throttling import client_address
from predictor.models import Computation, Prediction
from profiles.models import Revision

OLD_AFTER_S = 86_400.0


class StoredCounts(Collector):
    """A collector of numbers of rows, from a few queries over indexed or small tables."""

    def collect(self) -> Iterator[Metric]:
        uploads = Upload.objects.filter(owner__quarantine=None)
        yield labelled("mpet_uploads", "Uploads, by status", "status", count_by(uploads, "status"))
        waiting = Quarantine.objects.count()
        yield GaugeMetricFamily("mpet_quarantined_uploads", "Unclaimed uploads without an account", value=waiting)
        unfinished = {
            "uploads": Upload.objects.waiting().count(),
            "computations": Computation.objects.unfinished().count(),
            "tasks": DBTaskResult.objects.filter(status__in=("READY", "RUNNING")).count(),
        }
        yield labelled("mpet_queue_length", "Waiting and running work, by kind", "kind", unfinished)
        yield labelled(
            "mpet_predictions", "Stored predictions, by method", "method", count_by(Prediction.objects.all(), "method")
        )
        yield GaugeMetricFamily("mpet_revision", "Public revision of the database", value=Revision.current(None)[0])


def labelled(name: str, text: str, label: str, counts: dict[str, int]) -> Metric:
    family = GaugeMetricFamily(name, text, labels=[label])
    for value, count in sorted(counts.items()):
        family.add_metric([value], count)
    return family


def count_by(rows: QuerySet[Any], column: str) -> dict[str, int]:
    """Return the number of rows for each value of a column. For a column with choices, values without rows count 0."""
    field: Any = rows.model._meta.get_field(column)
    counts = rows.order_by().values_list(column).annotate(count=Count("pk"))
    return dict.fromkeys((value for value, _ in field.choices or ()), 0) | dict(counts)


@require_safe
def metrics(request: HttpRequest) -> HttpResponse:
    """Return the metrics; 404 where they are off, 401 for clients with neither the token nor an address of the
    networks."""
    if not (settings.METRICS_TOKEN or settings.METRICS_NETWORKS):
        raise Http404
    if not (has_token(request) or is_near(request)):
        return HttpResponse("Bearer token needed\n", status=401, headers={"WWW-Authenticate": "Bearer"})
    registry = CollectorRegistry() if os.environ.get("PROMETHEUS_MULTIPROC_DIR") else REGISTRY
    if registry is not REGISTRY:
        MultiProcessCollector(registry)
    stored = CollectorRegistry()
    stored.register(StoredCounts())
    content = generate_latest(registry) + generate_latest(stored)
    return HttpResponse(content, content_type=CONTENT_TYPE_LATEST, headers={"Cache-Control": "no-store"})


def has_token(request: HttpRequest) -> bool:
    given = request.headers.get("Authorization", "").encode(errors="replace")
    wanted = f"Bearer {settings.METRICS_TOKEN}".encode()
    return bool(settings.METRICS_TOKEN) and hmac.compare_digest(given, wanted)


def is_near(request: HttpRequest) -> bool:
    """Return whether the client is in one of the networks.

    Behind a proxy that MPET_PROXIES does not count, every client has the proxy's address. Then the result is False.
    """
    if "X-Forwarded-For" in request.headers and not settings.REST_FRAMEWORK["NUM_PROXIES"]:
        return False
    try:
        address = ipaddress.ip_network(client_address(request)).network_address
    except ValueError:
        return False
    return any(address in ipaddress.ip_network(network) for network in settings.METRICS_NETWORKS)


def sweep_metrics() -> int:
    """Delete the metrics files of processes that ended more than a day ago. Return the number of files.

    The sums of counters then decrease, which Prometheus interprets as a restart.
    """
    folder = os.environ.get("PROMETHEUS_MULTIPROC_DIR")
    count = 0
    for path in Path(folder).glob("*.db") if folder else ():
        process = re.search(r"_(\d+)\.db$", path.name)
        if process and not Path(f"/proc/{process[1]}").exists() and is_older_than(path, OLD_AFTER_S):
            path.unlink(missing_ok=True)
            count += 1
    return count
