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


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """The kit's tests go to one process, which builds each program once."""
    for item in items:
        if item.get_closest_marker("kit") and config.pluginmanager.hasplugin("xdist"):
            item.add_marker(pytest.mark.xdist_group("kit"))
