"""Which process runs which test, and what first, where several run side by side."""

import pytest
from xdist.scheduler import LoadScopeScheduling

# Folders whose tests share what takes long to make: the programs of the kit, a browser.
TOGETHER = ("tests/benchmarks/kit/", "tests/browser/")
# What takes longest begins first, so that no process waits at the end for another's last test.
LONGEST = (*TOGETHER, "tests/mpet_site/test_postgresql.py", "tests/mpet_site/test_contract.py")


class ModulesTogether(LoadScopeScheduling):
    """A module's tests go to one process, which makes its fixtures once; so do those of a folder in TOGETHER.

    Marks cannot say so: with pytest 9.2 xdist's `loadgroup` no longer sees them (pytest-xdist issue 1386).
    """

    def __init__(self, config: pytest.Config, log) -> None:
        super().__init__(config, log)
        config.option.loadscopereorder = False  # else modules with most tests begin, whatever they take

    def _split_scope(self, nodeid: str) -> str:
        return next((folder for folder in TOGETHER if nodeid.startswith(folder)), nodeid.partition("::")[0])


def place(item: pytest.Item) -> int:
    """The key by which tests are sorted; what takes no time in particular stays as it was collected."""
    return next((place for place, path in enumerate(LONGEST) if item.nodeid.startswith(path)), len(LONGEST))
