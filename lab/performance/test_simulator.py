"""Cost of the demo: simulating one machine, compared with storing its results. Compare ratios in a run, not seconds.

pytest lab/performance/test_simulator.py --benchmark-enable
"""

import hashlib
import io

import pytest

from benchmarks.archive import read_archive
from benchmarks.simulator import PROGRAMS, find_hardware, simulate, simulate_tarball
from profiles.ingest.service import ingest
from profiles.models import Source

MACHINE = find_hardware("Xeon E5620")


@pytest.mark.benchmark(group="a simulated machine of 16 threads")
def test_simulate(benchmark):
    measurements = benchmark.pedantic(lambda: simulate(MACHINE), rounds=2)
    assert len(measurements.profiles) == len(PROGRAMS)


@pytest.mark.django_db
@pytest.mark.benchmark(group="a simulated machine of 16 threads")
def test_read_and_store(benchmark):
    packed = simulate_tarball(1, MACHINE)

    def store(number):
        sha256 = hashlib.sha256(packed + bytes([number])).hexdigest()
        measurements = read_archive(io.BytesIO(packed))
        return ingest(measurements, kind=Source.Kind.SIMULATOR, label="", sha256=sha256, owner=None, private=False)

    numbers = iter(range(9))
    result = benchmark.pedantic(lambda: store(next(numbers)), rounds=2)
    assert len(result.profiles) == len(PROGRAMS)
