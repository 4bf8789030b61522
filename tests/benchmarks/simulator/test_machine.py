"""What comes out of the interactions has to be what people know of real machines."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from benchmarks.simulator import HARDWARE, PROGRAMS
from benchmarks.simulator.hardware import ALL_COUNTERS
from benchmarks.simulator.programs import Access, DynamicLoop, Kernel
from tests.benchmarks.simulator.quiet import (
    CHAIN,
    COMPUTE,
    STREAM,
    program,
    quiet,
    redundancy,
    run,
    seconds,
    shares,
    steady,
)

SMALL = [hardware for hardware in HARDWARE if hardware.threads <= 16]


@hypothesis_settings(max_examples=40)
@given(
    hardware=st.sampled_from(SMALL),
    what=st.sampled_from(PROGRAMS),
    n=st.integers(1, 16),
    seed=st.integers(0, 2**32 - 1),
    probed=st.booleans(),
)
def test_parts_sum_to_the_thread_time_exactly(hardware, what, n, seed, probed):
    n = min(n, hardware.threads)
    done = run(hardware, what, n, seed, probed)
    assert sum(done.parts_ns) == n * done.time_ns
    assert min(done.parts_ns) >= 0
    assert (done.counts >= 0).all()


class TestComputing:
    def test_equal_independent_work_speeds_up_by_n(self):
        hardware = steady("Opteron 6172")
        one = seconds(hardware, program(), 1)
        for n in (2, 6, 12, 24):
            assert one / seconds(hardware, program(), n) == pytest.approx(n, rel=0.03)

    def test_turbo_falls_as_cores_get_busy(self):
        hardware = quiet("i7-8550U")
        assert redundancy(hardware, program(), 4) == pytest.approx(4000 / 2700, rel=0.03)

    def test_hyperthreads_yield_less_than_cores(self):
        hardware = steady("i9-9900K")
        gain = seconds(hardware, program(), 8) / seconds(hardware, program(), 16)
        assert gain == pytest.approx(hardware.core.shared_issue, rel=0.03)

    def test_hyperthreads_hide_latency_better_than_they_share_issue_slots(self):
        hardware = steady("i9-9900K")
        waiting = program(CHAIN, instructions=2e8)
        assert 1.6 < seconds(hardware, waiting, 8) / seconds(hardware, waiting, 16) < 2.05

    def test_cores_of_a_module_slow_each_other_down(self):
        hardware = steady("Opteron 6220")
        assert redundancy(hardware, program(), 2) == pytest.approx(2 / hardware.core.shared_issue, rel=0.05)

    def test_an_in_order_core_takes_more_cycles(self):
        cycles = {name: run(quiet(name), program(), 1).cycles for name in ("A7 (BCM2836)", "A15 (Exynos 5422)")}
        assert cycles["A7 (BCM2836)"] > 1.5 * cycles["A15 (Exynos 5422)"]


class TestMemory:
    def bandwidth(self, hardware, n, **fields):
        """GB/s from memory, and back for what is written."""
        done = run(hardware, program(STREAM, **fields), n)
        counts = dict(zip(ALL_COUNTERS, done.counts, strict=True))
        lines = counts["LLC-LDM"] + counts["LLC-STM"]
        return lines * 64 * (1 + STREAM.stores / (STREAM.loads + STREAM.stores)) / done.time_ns

    @pytest.mark.parametrize("name", ["Xeon E5-2630 v3", "Xeon Gold 6148", "Opteron 6172"])
    def test_a_node_saturates_and_the_second_one_helps(self, name):
        hardware = quiet(name)
        full = self.bandwidth(hardware, hardware.n_nu)
        assert 0.9 * hardware.node_bandwidth < full <= hardware.node_bandwidth * 1.001
        assert self.bandwidth(hardware, 1) < 0.7 * full
        assert self.bandwidth(hardware, 2 * hardware.n_nu) > 1.7 * full

    def test_pages_on_one_node_keep_the_second_from_helping(self):
        hardware = quiet("Xeon E5-2630 v3")
        one_node = self.bandwidth(hardware, 8, pages="first_node")
        assert self.bandwidth(hardware, 16, pages="first_node") < 1.1 * one_node

    def test_remote_memory_takes_longer(self):
        hardware = steady("Xeon E5-2680")
        chain = {pages: program(CHAIN, instructions=2e8, pages=pages) for pages in ("first_touch", "interleaved")}
        local, mixed = (seconds(hardware, chain[pages], 1) for pages in ("first_touch", "interleaved"))
        assert mixed > 1.1 * local

    def test_private_data_no_longer_fits_when_neighbours_share_the_cache(self):
        hardware = steady("i9-9900K")
        each = Kernel(accesses=(Access(1.0, 1.5 * 2**20, "private", 64, 2.0),))
        together = Kernel(accesses=(Access(1.0, 1.5 * 2**20, "shared", 64, 2.0),))
        assert redundancy(hardware, program(each), 8) > 1.3 > redundancy(hardware, program(together), 8)

    def test_divided_data_fits_into_the_caches_of_many(self):
        hardware = steady("Xeon Gold 6148")
        divided = program(Kernel(accesses=(Access(1.0, 4 * 2**20, "divided", 64, 2.0),)))
        assert redundancy(hardware, divided, 16) < 0.9


class TestKernelThread:
    @pytest.mark.parametrize("name", ["A15 (Exynos 5422)", "i5-8500T", "i7-4771"])
    def test_it_costs_only_where_no_hardware_thread_is_free(self, name):
        free, stolen = quiet(name), quiet(name, kernel_share=0.1)
        most = free.threads
        assert seconds(free, program(), most - 1) == seconds(stolen, program(), most - 1)
        loss = {hardware: 1 - shares(hardware, program(), most)["use"] for hardware in (free, stolen)}
        assert loss[stolen] > loss[free] + 0.05
        assert shares(stolen, program(), most)["imbalance"] > shares(free, program(), most)["imbalance"] + 0.05


class TestCounters:
    def test_arm_needs_more_instructions_for_the_same_branches(self):
        counts = {
            name: dict(zip(ALL_COUNTERS, run(quiet(name), program(), 1).counts, strict=True))
            for name in ("A15 (Exynos 5422)", "i9-9900K")
        }
        arm, x86 = counts["A15 (Exynos 5422)"], counts["i9-9900K"]
        assert arm["INSTR"] > 1.2 * x86["INSTR"]
        assert arm["BR"] == pytest.approx(x86["BR"])
        assert arm["BR-M"] > x86["BR-M"]

    def test_a_level_misses_no_more_than_the_one_before(self):
        for what in PROGRAMS:
            counts = dict(zip(ALL_COUNTERS, run(quiet("i7-4771"), what, 4).counts, strict=True))
            assert counts["L1-LD"] >= counts["L1-LDM"] >= counts["LLC-LD"] >= counts["LLC-LDM"]
            assert counts["L1-ST"] >= counts["L1-STM"] >= counts["LLC-ST"] >= counts["LLC-STM"]

    def test_work_does_not_depend_on_the_threads(self):
        hardware = quiet("Xeon E5620")
        for what in PROGRAMS:
            instructions = [run(hardware, what, n).counts[0] for n in (1, 5, 16)]
            assert instructions == pytest.approx([instructions[0]] * 3)


class TestNoise:
    def test_repeats_differ_by_about_as_much_as_the_machine_is_noisy(self):
        hardware = steady("i7-8550U", noise=0.012)
        times = np.array([run(hardware, program(COMPUTE), 2, seed).time_ns for seed in range(60)])
        assert 0.004 < times.std() / times.mean() < 0.05

    def test_the_same_seed_is_the_same_run(self):
        hardware = HARDWARE[5]
        first, second = (run(hardware, PROGRAMS[0], 5, seed=3) for _ in range(2))
        assert (first.time_ns, first.parts_ns, first.cycles) == (second.time_ns, second.parts_ns, second.cycles)

    def test_probes_cost_a_little(self):
        hardware = quiet("A7 (BCM2836)")
        fine = program(structure=DynamicLoop(320, batch=2000))
        clean, probed = (run(hardware, fine, 4, probed=probed).time_ns for probed in (False, True))
        assert 1.0 < probed / clean < 1.2
