"""Whatever the reader accepts leaves every page and every path of the API answering: the extremes of every bound, each
alone in a database and together with others. `MPET_HOSTILE_EXAMPLES=500` tries as many (docs/testing.md)."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from django.core.cache import cache
from django.db import transaction
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from accounts.models import ApiToken
from lab.hostile.answering import wrong_answers
from predictor.accuracy.outliers import judge_delivery
from predictor.accuracy.settlement import settle_delivery
from predictor.snapshot import cache as snapshots
from predictor.snapshot.cache import KEPT_SNAPSHOTS, SnapshotCache
from profiles.ingest.service import ingest
from profiles.measurements import CounterTable, Measurements, ProfileRecord, RunTable
from profiles.measurements.bounds import RANGES
from profiles.models import Profile
from tests.benchmarks.tarballs import packed, read
from tests.mpet_site.api_samples import make_user
from tests.samples import COUNTERS, sample_measurements, sample_platform, sample_workload

pytestmark = pytest.mark.django_db

EXAMPLES = int(os.environ.get("MPET_HOSTILE_EXAMPLES", "0"))
THREADS = (1, 2, 3, 16, 512, 513, int(RANGES["threads"].most))
TIMES_NS = (RANGES["time_ns"].least, 2, 1000, 10**9, 10**13, RANGES["time_ns"].most)
CLOCK_ENDS = (float(RANGES["clock_mhz"].least), float(RANGES["clock_mhz"].most))
CLOCKS = (None, 2400.0, *CLOCK_ENDS)
BYTES = (None, 1, 32_768, RANGES["memory_bytes"].most)
SIZES = (RANGES["size"].least, 1.0, 3.5, RANGES["size"].most)
COUNTED = (0.0, RANGES["value"].least, 1.0, 12_345.0, RANGES["value"].most)
NAMES = ("app0/section0", "x" * 200, "<b>&\"'", "日本語/ω", "…", "%2e%2e", "=1+1")


@st.composite
def platforms(draw: Callable[..., Any]) -> Any:
    threads = draw(st.sampled_from(THREADS))
    cores = draw(st.sampled_from([count for count in THREADS if count <= threads]))
    bends = sorted(draw(st.sets(st.sampled_from([n for n in (1, 2, 256, 65_535) if n < threads] or [1]), max_size=2)))
    n_ht = bends[-1] if bends and bends[-1] < threads else None
    return sample_platform(
        name=draw(st.sampled_from(["machine-0", *NAMES[1:]])),
        **dict.fromkeys(("threads", "n_max"), threads),
        physical_cores=cores,
        sockets=draw(st.sampled_from([None, 1, cores])),
        numa_nodes=draw(st.sampled_from([None, 1, cores])),
        n_nu=bends[0] if len(bends) > 1 and n_ht else None,
        n_ht=n_ht,
        placement=None,
        base_mhz=draw(st.sampled_from(CLOCKS)),
        max_mhz=draw(st.sampled_from(CLOCKS)),
        **{name: draw(st.sampled_from(BYTES)) for name in ("l1d_bytes", "l2_bytes", "l3_bytes", "memory_bytes")},
    )


@st.composite
def run_tables(draw: Callable[..., Any], most: int) -> RunTable:
    """Clean runs, and profile runs whose parts sum to n * time_ns: all in one part, or spread."""
    counts = sorted({1, *draw(st.sets(st.sampled_from([n for n in (*THREADS, 5, 7, 100, 65_535) if n <= most])))})
    decomposed, sizes = draw(st.booleans()), draw(st.sampled_from([(), SIZES[:2], SIZES]))
    clocks = draw(st.sampled_from([(), CLOCK_ENDS]))
    rows = [
        (n, is_profile, size, clock)
        for n in counts
        for is_profile in ((False, True) if decomposed else (False,))
        for size, clock in [
            (np.nan, np.nan),
            *((size, np.nan) for size in sizes),
            *((np.nan, clock) for clock in clocks),
        ]
    ]
    n, is_profile, size, clock_mhz = (np.array(column) for column in zip(*rows, strict=True))
    time_ns = np.array([draw(st.sampled_from([t for t in TIMES_NS if t * count < 2**62])) for count in n.tolist()])
    parts = np.full((len(rows), 7), -1, dtype=np.int64)
    for row in np.flatnonzero(is_profile).tolist():
        chosen = draw(st.sampled_from([(0,), (1,), (2,), (0, 6), tuple(range(7))]))
        whole = int(n[row]) * int(time_ns[row])
        parts[row] = 0
        parts[row, list(chosen)] = whole // len(chosen)
        parts[row, chosen[0]] += whole - int(parts[row].sum())
    counted = np.array([draw(st.sampled_from([0.0, 1.0, float(RANGES["tasks"].most)])) for _ in rows])
    return RunTable(
        n=n.astype(np.int64),
        repeat=np.ones(len(rows), dtype=np.int64),
        is_profile_pass=is_profile.astype(bool),
        time_s=time_ns / 1e9,
        time_ns=time_ns.astype(np.int64),
        parts_ns=parts,
        size=size if sizes else None,
        clock_mhz=clock_mhz if clocks else None,
        tasks=counted if sizes else None,
        waits=counted[::-1].copy() if sizes else None,
    )


@st.composite
def counter_tables(draw: Callable[..., Any], runs: RunTable) -> CounterTable | None:
    names = draw(st.sets(st.sampled_from(COUNTERS)))
    rows = [(n, name) for n in np.unique(runs.n).tolist() for name in sorted(names)]
    if not rows:
        return None
    values = np.array([draw(st.sampled_from(COUNTED)) for _ in rows])
    counts, counters = zip(*rows, strict=True)
    return CounterTable(np.array(counts), np.ones(len(rows), dtype=np.int64), counters, values, ("ok",) * len(rows))


@st.composite
def deliveries(draw: Callable[..., Any]) -> Measurements:
    platform = draw(platforms())
    names = draw(st.lists(st.sampled_from(NAMES), min_size=1, max_size=2 if EXAMPLES else 1, unique=True))
    workloads, profiles = [], []
    for index, name in enumerate(names):
        runs = draw(run_tables(platform.n_max))
        fields = {"size": 3.25, "size_unit": "m"} if runs.size is not None else {}
        workloads.append(sample_workload(index, name=name, **fields))
        profiles.append(ProfileRecord(0, index, runs, draw(counter_tables(runs))))
    ceilings = draw(st.sampled_from([None, 1e-29, 1.0, 1e29]))
    return replace(
        sample_measurements(1, 1),
        platforms=[platform],
        workloads=workloads,
        profiles=profiles,
        environment=ceilings and {"roofline": roofline(platform.n_max, ceilings)},
    )


def roofline(most: int, number: float) -> dict[str, Any]:
    counts = sorted({1, most})
    return {
        "peak_flops": [{"n": n, "flop_per_s": number} for n in counts],
        "bandwidth": [{"n": n, "bytes_per_s": 1 / number} for n in counts],
        "lock_handover": [{"n": most, "ps": number}],
    }


def forget_everything() -> None:
    """Revisions that are rolled back come again: nothing kept under one may be met by the next example."""
    cache.clear()
    snapshots._cache = SnapshotCache(KEPT_SNAPSHOTS)


def deliver(measurements: Measurements, label: str) -> list[Profile]:
    sha256 = hashlib.sha256(label.encode()).hexdigest()
    result = ingest(measurements, kind="tarball", label=label, sha256=sha256, owner=None, private=False)
    judge_delivery(result.source)
    settle_delivery(result.source)
    return list(Profile.objects.filter(source=result.source).select_related("platform", "workload").order_by("pk"))


@pytest.fixture
def token() -> str:
    return ApiToken.issue(make_user("ada"), "upload")[1]


@pytest.fixture
def others() -> Measurements:
    """Public profiles of three machines, one workload of which the deliveries may measure too."""
    return sample_measurements(3, 3)


@pytest.mark.filterwarnings("error::RuntimeWarning")
@settings(
    max_examples=EXAMPLES or 3,
    derandomize=not EXAMPLES,
    deadline=None,
    phases=[Phase.explicit, Phase.generate],  # what fails is told as it is: to shrink it takes minutes
    database=None,
    suppress_health_check=list(HealthCheck),
)
@given(deliveries())
def test_what_the_reader_accepts_leaves_every_address_answering(others, token, measurements):
    accepted = read(packed(measurements))
    for first in ([], [others]):
        forget_everything()
        with transaction.atomic():
            for sample in first:
                deliver(sample, "others")
            for profile in deliver(accepted, "hostile"):
                assert wrong_answers(profile, token) == {}
            transaction.set_rollback(True)
