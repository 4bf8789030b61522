"""The machines as they are described, before anything runs."""

from itertools import pairwise

import numpy as np
import pytest

from benchmarks.simulator import HARDWARE, find_hardware
from profiles.measurements import DEVICE_CLASSES

TABLE_4 = {  # the paper's: cores, threads, bits of a word
    "Xeon Gold 6148": (2 * 20, 80, 64),
    "Xeon E5-2630 v3": (2 * 8, 32, 64),
    "Xeon E5-2680": (2 * 8, 32, 64),
    "Opteron 6220": (2 * 8, 16, 64),
    "Opteron 6172": (2 * 12, 24, 64),
    "Xeon E5620": (2 * 4, 16, 64),
    "i9-9900K": (8, 16, 64),
    "i5-8500T": (6, 6, 64),
    "i7-8550U": (4, 8, 64),
    "i5-7300HQ": (4, 4, 64),
    "i7-4771": (4, 8, 64),
    "i7-3667U": (2, 4, 64),
    "A53 (S905)": (4, 4, 64),
    "A15 (Exynos 5422)": (4, 4, 32),
    "A7 (BCM2836)": (4, 4, 32),
}


class TestHardware:
    def test_the_machines_of_the_papers_table(self):
        found = {one.name: (one.physical_cores, one.threads, one.core.word_bits) for one in HARDWARE}
        assert found == TABLE_4

    def test_every_kind_of_machine_is_there(self):
        assert {one.device_class for one in HARDWARE} == set(DEVICE_CLASSES)
        breakpoints = {(one.n_nu is not None, one.n_ht is not None) for one in HARDWARE}
        assert breakpoints == {(True, True), (True, False), (False, True), (False, False)}
        assert any(len(one.core.counters) < 11 for one in HARDWARE)

    @pytest.mark.parametrize("hardware", HARDWARE, ids=lambda one: one.name)
    def test_a_record_says_that_it_is_simulated_and_holds_together(self, hardware):
        record = hardware.record()
        assert record.name == f"{hardware.name} (simulated)"
        assert record.base_mhz <= hardware.all_cores_mhz <= record.max_mhz
        assert record.n_nu is None or record.n_ht is None or record.n_nu < record.n_ht
        assert hardware.nodes % hardware.sockets == 0
        assert hardware.physical_cores % hardware.l2_cores == hardware.physical_cores % hardware.module_cores == 0

    def test_thread_counts_of_the_kit(self):
        counts = find_hardware("Xeon E5-2630 v3").thread_counts()
        assert counts == [*range(1, 11), 12, 15, 16, 17, 18, 24, 32]
        assert find_hardware("A7 (BCM2836)").thread_counts() == [1, 2, 3, 4]

    @pytest.mark.parametrize("hardware", HARDWARE, ids=lambda one: one.name)
    def test_three_thread_counts_in_a_segment_where_it_has_as_many(self, hardware):
        counts = np.array(hardware.thread_counts())
        edges = [0, *(edge for edge in (hardware.n_nu, hardware.n_ht) if edge), hardware.threads]
        for low, high in pairwise(edges):
            assert ((counts > low) & (counts <= high)).sum() >= min(3, high - low)

    def test_names(self):
        assert find_hardware("i7-4771 (simulated)") is find_hardware("i7-4771")
        with pytest.raises(KeyError):
            find_hardware("i7")
