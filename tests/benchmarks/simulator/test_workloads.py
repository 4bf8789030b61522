"""The programs of the demo as they are described."""

from benchmarks.simulator import PROGRAMS
from profiles.measurements import BOUNDS, STRATEGIES


class TestPrograms:
    def test_every_strategy_and_bound_occurs(self):
        assert {one.strategy for one in PROGRAMS} == set(STRATEGIES)
        assert {one.bound for one in PROGRAMS} == {*BOUNDS, None}
        assert len(PROGRAMS) >= 17

    def test_names_are_unique_and_say_that_they_are_simulated(self):
        records = [one.record() for one in PROGRAMS]
        assert len({record.name for record in records}) == len(records)
        assert all(record.name.endswith(" (simulated)") and record.runtime == "simulated" for record in records)
        assert all("not a program" in record.description for record in records)

    def test_shares_are_shares(self):
        for kernel in {phase.kernel for one in PROGRAMS for phase in one.phases}:
            assert sum(access.share for access in kernel.accesses) <= 1.0
            assert kernel.loads + kernel.stores + kernel.branches < 1.0
