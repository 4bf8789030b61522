"""The kit built by clang: without a warning, with the same results as built by GCC, and to a tarball."""

from pathlib import Path

import pytest

from benchmarks.archive import read_archive
from tests.benchmarks.kit.kit_build import BUILDS, make, make_bench, need, output, records

pytestmark = [pytest.mark.kit, pytest.mark.lab]

PROFILED = ("edge_pipeline", "fib", "hog", "sgm")


@pytest.fixture(scope="module")
def clang() -> Path:
    """All programs; the profile build with few workloads, as it differs from the clean one by the middleware alone."""
    need("clang++")
    folder = BUILDS / "clang"
    settings = {"build": folder, "CXX": "clang++", "OPTIMISE": "-O1"}
    make(*(str(folder / f"mpet-{name}") for name in ("topology", "pack", "sweep", "roofline")), **settings)
    make_bench("clean", **settings)
    make_bench("profile", *PROFILED, **settings)
    return folder


def checksums(program: Path, application: str) -> dict[str, str]:
    listing = output(program, "--application", application, "--scale", "tiny", "--repeats", "1", "--n", "2")
    return {run[0]: run[-1] for run in records(listing, "run")}


def test_results_have_the_same_bits(clang, native, applications):
    for application in applications:
        assert checksums(clang / "mpet-bench-clean", application) == checksums(native / "mpet-bench-clean", application)
    for application in PROFILED:
        own = checksums(clang / "mpet-bench-profile", application)
        assert own == checksums(native / "mpet-bench-profile", application)


def test_make_tiny_gives_a_tarball(clang, tmp_path):
    settings = {"CXX": "clang++", "OPTIMISE": "-O1", "RESULTS": str(tmp_path), "WORKLOADS": " ".join(PROFILED)}
    make("tiny", "--assume-old=programs", build=clang, **settings)
    (tarball,) = tmp_path.glob("mpet-*.tar.gz")
    with tarball.open("rb") as file:
        measurements = read_archive(file)
    assert "clang" in (measurements.platforms[0].compiler or "").lower()
    assert {workload.application for workload in measurements.workloads} == set(PROFILED)
