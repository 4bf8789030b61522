"""Cost of reading a tarball of 100,000 runs, compared with only unpacking it and splitting it into cells."""

import csv
import io
import tarfile

import numpy as np
import pytest

from benchmarks.archive import read_archive
from lab.performance.conftest import sized
from profiles.measurements import Measurements, ProfileRecord
from profiles.scaling.quality import quality_warnings
from tests.benchmarks.tarballs import packed
from tests.samples import sample_platform, sample_runs, sample_workload

WORKLOADS, REPEATS = 50, sized(91, 5)
RUNS = WORKLOADS * REPEATS * 2 * 11  # two passes, eleven thread counts


@pytest.fixture(scope="module")
def night() -> Measurements:
    rng = np.random.default_rng(0)
    profiles = [ProfileRecord(0, w, sample_runs(rng, repeats=REPEATS)) for w in range(WORKLOADS)]
    return Measurements("measured", {}, [sample_platform()], [sample_workload(w) for w in range(WORKLOADS)], profiles)


@pytest.fixture(scope="module")
def tarball(night) -> bytes:
    return packed(night)


@pytest.mark.benchmark(group="tarball of 100,000 runs")
def test_read(benchmark, tarball):
    measurements = benchmark(lambda: read_archive(io.BytesIO(tarball)))
    assert sum(len(profile.runs) for profile in measurements.profiles) == RUNS


@pytest.mark.benchmark(group="tarball of 100,000 runs")
def test_unpack_and_split_only(benchmark, tarball):
    def split():
        with tarfile.open(fileobj=io.BytesIO(tarball)) as tar:
            text = io.TextIOWrapper(tar.extractfile("mpet-results/runs.csv"), newline="")
            return len(list(csv.reader(text)))

    assert benchmark(split) == RUNS + 1


@pytest.mark.benchmark(group="quality of 100,000 runs")
def test_quality(benchmark, night):
    assert benchmark(lambda: quality_warnings(night)) == []
