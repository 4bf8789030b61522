"""Which process runs which test, where several run side by side."""

from xdist.scheduler import LoadScopeScheduling

TOGETHER = "tests/benchmarks/kit/"


class KitTogether(LoadScopeScheduling):
    """The kit's tests go to one process, which builds each program once; all others go wherever there is room.

    Marks cannot say so: with pytest 9.2 xdist's `loadgroup` no longer sees them (pytest-xdist issue 1386).
    """

    def _split_scope(self, nodeid: str) -> str:
        return TOGETHER if nodeid.startswith(TOGETHER) else nodeid
