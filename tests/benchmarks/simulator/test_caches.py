"""What one instruction costs."""

import pytest

from benchmarks.simulator import find_hardware
from benchmarks.simulator.caches import Sharers, hit_share, instruction_costs
from benchmarks.simulator.programs import Access, Kernel


class TestCosts:
    STREAM = Kernel(accesses=(Access(1.0, 1 << 30),))

    def test_hits(self):
        assert hit_share(1 << 20, 1 << 10) > 0.999
        assert hit_share(1 << 20, 1 << 24) < 0.001
        assert hit_share(1 << 10, 1 << 10) == 0.5

    def test_a_sibling_leaves_half_of_the_misses_in_flight(self):
        hardware = find_hardware("i9-9900K")
        deep = Kernel(accesses=(Access(1.0, 1 << 30, parallel=100.0),))
        alone, beside = (instruction_costs(hardware, deep, Sharers(issue=issue), 1).waited_misses for issue in (1, 2))
        assert beside == pytest.approx(2 * alone)

    def test_wide_vectors_need_fewer_instructions(self):
        vectors = Kernel(vector=1.0)
        narrow, wide = (
            instruction_costs(find_hardware(name), vectors, Sharers(), 1) for name in ("Xeon E5620", "i9-9900K")
        )
        assert wide.counts[0] == pytest.approx(narrow.counts[0] / 2)

    def test_without_a_third_level_the_second_is_the_last(self):
        arm = instruction_costs(find_hardware("A53 (S905)"), self.STREAM, Sharers(), 1)
        assert arm.counts[7] == pytest.approx(arm.counts[5])  # LLC-LD: what misses the first level
        assert arm.traffic_bytes > 0

    def test_nothing_touched_costs_nothing(self):
        found = instruction_costs(find_hardware("i9-9900K"), Kernel(loads=0.0, stores=0.0), Sharers(), 1)
        assert (found.cache_cycles, found.waited_misses, found.traffic_bytes) == (0.0, 0.0, 0.0)
