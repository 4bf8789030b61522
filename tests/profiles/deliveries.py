"""Deliveries of given platforms and workloads, and what is in the database after them."""

from dataclasses import replace
from itertools import count

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
    """Each of these workloads on each of these platforms, by default one on one."""
    platforms = [sample_platform()] if platforms is None else platforms
    workloads = [sample_workload()] if workloads is None else workloads
    measurements = sample_measurements(len(platforms), len(workloads), **fields)
    return replace(measurements, platforms=platforms, workloads=workloads)


def deliver(measurements=None, *, sha256=None, owner=None, private=False, **options) -> IngestResult:
    """Ingest, as bytes that were never seen unless `sha256` says so."""
    return ingest(
        measurements or measured(),
        kind="tarball",
        label="run.tar.gz",
        sha256=f"{next(_numbers):064x}" if sha256 is None else sha256,
        owner=owner,
        private=private,
        **options,
    )


def stored_counts() -> dict[str, int]:
    return {model.__name__: model.objects.count() for model in STORED}
