import os
from pathlib import Path

# Tests run side by side, a worker on each core: more threads of linear algebra would only wait for each other.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import pytest
from hypothesis import settings

from tests.paths import ROOT
from tests.scheduling import KitTogether

SHARED_DATA = ROOT.parent / "shared" / "data"
STRICT = os.environ.get("MPET_TESTS_STRICT") == "1"  # CI: a missing browser or server is a failure, not a skip


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log) -> KitTogether:
    return KitTogether(config, log)


def skip_or_fail(reason: str) -> None:
    """Skip with the reason; where CI promises the tool (MPET_TESTS_STRICT=1), fail instead."""
    if STRICT:
        pytest.fail(reason)
    pytest.skip(reason)


@pytest.fixture
def shared_data() -> Path:
    """The folder of public datasets beside the checkout; the test skips where it is not there."""
    if not SHARED_DATA.is_dir():
        pytest.skip("no ../shared/data beside this checkout")
    return SHARED_DATA


# Times say nothing on a machine that is doing other things as well.
settings.register_profile("mpet", deadline=None)
settings.load_profile("mpet")
