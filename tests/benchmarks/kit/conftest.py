from pathlib import Path

import pytest

from tests.benchmarks.kit.kit_build import BUILDS, make, output


@pytest.fixture(scope="session")
def native() -> Path:
    """The folder with the kit's programs, built for this machine."""
    make("programs", build="native", OPTIMISE="-O1")
    return BUILDS / "native"


@pytest.fixture(scope="session")
def applications(native: Path) -> list[str]:
    listing = output(native / "mpet-bench-clean", "--list")
    return sorted({line.split("\t")[1] for line in listing.splitlines()})
