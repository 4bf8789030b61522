"""Distribution and order of the tests in parallel runs."""

import pytest
from xdist.scheduler import LoadScopeScheduling

# The tests of such a folder share slow fixtures: the kit's programs, a browser.
TOGETHER = ("tests/benchmarks/kit/", "tests/browser/")
# The slowest tests start first, so that processes do not wait for a single slow test at the end.
LONGEST = (*TOGETHER, "tests/mpet_site/test_postgresql.py", "tests/mpet_site/test_contract.py")


class ModulesTogether(LoadScopeScheduling):
    """A scheduler that runs the tests of a module, or of a folder in TOGETHER, in one process to share fixtures.

    The `xdist_group` mark cannot be used: with pytest 9.2, xdist's `loadgroup` ignores it (pytest-xdist issue 1386).
    """

    def __init__(self, config: pytest.Config, log) -> None:
        super().__init__(config, log)
        config.option.loadscopereorder = False  # otherwise modules with most tests start first

    def _split_scope(self, nodeid: str) -> str:
        return next((folder for folder in TOGETHER if nodeid.startswith(folder)), nodeid.partition("::")[0])


def place(item: pytest.Item) -> int:
    """Return the sort key of a test: its position in LONGEST. All other tests stay in the order of collection."""
    return next((place for place, path in enumerate(LONGEST) if item.nodeid.startswith(path)), len(LONGEST))
