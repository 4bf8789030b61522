from pathlib import Path

import pytest

from tests.benchmarks.kit.kit_build import BUILDS, make, make_bench, output


@pytest.fixture(scope="session")
def native() -> Path:
    """Return the folder with the kit's programs, built for this machine."""
    folder = BUILDS / "native"
    programs = ("roofline", "topology", "pack", "sweep")
    make(*(str(folder / f"mpet-{name}") for name in programs), build="native", OPTIMISE="-O1")
    make_bench("clean", build="native", OPTIMISE="-O1")
    make_bench("profile", build="native", OPTIMISE="-O1")
    return folder


@pytest.fixture(scope="session")
def applications(native: Path) -> list[str]:
    listing = output(native / "mpet-bench-clean", "--list")
    return sorted({line.split("\t")[1] for line in listing.splitlines()})
