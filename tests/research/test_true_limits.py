"""What limits programs of one kind in truth: as their descriptions have it."""

import pytest

from benchmarks.simulator.catalogue import find_hardware
from benchmarks.simulator.programs import Access, Critical, Kernel, Phase, Program, StaticLoop
from research.true_limits import true_limit

DESKTOP = find_hardware("i9-9900K")
MIB = 1 << 20
ARITHMETIC = Kernel(loads=0.1, stores=0.0, parallel=3.0)
STREAM = Kernel(loads=0.35, stores=0.15, accesses=(Access(1.0, 256 * MIB, parallel=10),))
CHAIN = Kernel(loads=0.4, stores=0.0, accesses=(Access(0.2, 256 * MIB, "shared", 64, 1),))
PRIVATE_CACHE = Kernel(loads=0.4, stores=0.1, accesses=(Access(0.8, 100 << 10, "private"),))


def program(kernel, loop=None):
    phase = Phase(2e8, kernel, loop or StaticLoop(1024))
    return Program("", "", "domain_decomposition", None, "", (phase,))


@pytest.mark.parametrize("n", [1, 8, 16])
@pytest.mark.parametrize(
    ("kernel", "kind"),
    [(ARITHMETIC, "computation"), (STREAM, "memory"), (CHAIN, "memory"), (PRIVATE_CACHE, "computation")],
)
def test_of_programs_that_do_one_thing(kernel, kind, n):
    limit = true_limit(DESKTOP, program(kernel), n)
    assert limit.kind == kind
    assert limit.memory + limit.computation + limit.communication + limit.imbalance == pytest.approx(1)


def test_smt_threads_that_share_a_core_compute():
    assert true_limit(DESKTOP, program(ARITHMETIC), 16).computation > 0.9


def test_a_triangle_dealt_out_in_blocks_is_imbalance():
    assert true_limit(DESKTOP, program(ARITHMETIC, StaticLoop(1024, "triangular")), 8).kind == "imbalance"


def test_one_lock_around_everything_is_communication():
    loop = StaticLoop(1024, critical=Critical(0.9))
    assert true_limit(DESKTOP, program(ARITHMETIC, loop), 8).kind == "communication"
