"""Deliveries of given platforms and workloads, expired leases, and row counts of the database."""

from dataclasses import replace
from datetime import timedelta
from itertools import count

from django.utils import timezone

from profiles.ingest.service import IngestResult, ingest
from profiles.measurements import Measurements
from profiles.models import (
    CounterReading,
    FeatureVector,
    Platform,
    Profile,
    Run,
    ScalingCurves,
    Source,
    StagedDelivery,
    Workload,
)
from tests.samples import sample_measurements, sample_platform, sample_workload

STORED = (Source, Platform, Workload, Profile, Run, CounterReading, ScalingCurves, FeatureVector, StagedDelivery)
_numbers = count()


def measured(platforms=None, workloads=None, **fields) -> Measurements:
    """Return measurements of each workload on each platform, by default one of each."""
    platforms = [sample_platform()] if platforms is None else platforms
    workloads = [sample_workload()] if workloads is None else workloads
    measurements = sample_measurements(len(platforms), len(workloads), **fields)
    return replace(measurements, platforms=platforms, workloads=workloads)


def deliver(
    measurements=None, *, kind="tarball", label="run.tar.gz", sha256=None, owner=None, private=False, **options
) -> IngestResult:
    """Ingest the measurements, with a new hash unless `sha256` is given."""
    sha256 = f"{next(_numbers):064x}" if sha256 is None else sha256
    measurements = measurements or measured()
    return ingest(measurements, kind=kind, label=label, sha256=sha256, owner=owner, private=private, **options)


def let_lapse(rows) -> None:
    """Let the leases of these rows expire, as if their holders had been killed."""
    rows.update(lease_until=timezone.now() - timedelta(seconds=1))


def stored_counts() -> dict[str, int]:
    return {model.__name__: model.objects.count() for model in STORED}
