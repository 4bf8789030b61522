"""Which resource is said to limit profiles that are known to be limited by it, and where it is said to be untold."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from profiles.scaling.boundness import FEW_MISSES, MANY_MISSES, WAITING_SHARE, boundness, misses_per_kilo_instruction
from profiles.scaling.limits import limit_sentences
from profiles.scaling.names import CURVE_NAMES
from profiles.scaling.roofline import MachineFacts, Roof, Roofline, RooflinePoint
from profiles.scaling.runs import scaling_curves
from tests.profiles.scaling.known_losses import curves
from tests.samples import sample_runs

ROOFLINE = Roofline(roofs=(Roof(1, 10e9, 10e9), Roof(8, 80e9, 20e9)), handover=(), lock=((1, 5e-9), (8, 60e-9)))
MEASURED = MachineFacts(roofline=ROOFLINE)
PARALLEL = curves([1, 8], [8.0, 4.0], imbalance=[0, 0.05])


def point(bytes_per_s, n=8):
    return RooflinePoint("w", n, 1e9, bytes_per_s / 64, time_s=1.0)


def counted(of, misses, hits=0.0):
    """The curves with so many misses of the last-level cache in 1000 instructions, and hits."""
    measures = {"L1-LD/INSTR": 0.3, "LLC-LD/INSTR": (misses + hits) / 1000, "L1-LD/LLC-LDM": np.nan}
    if misses:
        measures["L1-LD/LLC-LDM"] = 300 / misses
    values = of.values.copy()
    for name, value in measures.items():
        values[1 + CURVE_NAMES.index(name)] = value
    return replace(of, values=values)


IDEAL = curves([1, 8], [8.0, 1.0], imbalance=[0, 0])
LOST = curves([1, 8], [8.0, 4.0], imbalance=[0, 0])
LOCKS = curves([1, 8], [8.0, 4.0], imbalance=[0, 0], lock=[0, 0.5])
SMT_ALONE = curves([1, 8, 16], [8.0, 1.0, 1.0], imbalance=[0, 0, 0])
GROWING = curves([1, 8, 16], [8.0, 2.0, 2.0], imbalance=[0, 0, 0])  # R = 2 at 8, 4 at 16
NOTHING = MachineFacts()


def imbalanced(share, time_s=2.0):
    return curves([1, 8], [8.0, time_s], imbalance=[0, share])


def case(of, kind, by, said="", machine=NOTHING, *, at=None):
    return of, machine, at, kind, by, said


COUNTED = "of 1000 instructions"
CASES = {
    # Waiting
    "imbalance": case(counted(imbalanced(0.45), 20), "imbalance", "scaling", "45 %"),
    "locks before the roofline": case(
        LOCKS, "communication", "roofline", "60 ns among 8 threads", MEASURED, at=point(18e9)
    ),
    "less does not limit": case(imbalanced(WAITING_SHARE - 0.01, 1.5), None, "scaling"),
    # Counters
    "misses": case(counted(PARALLEL, MANY_MISSES + 0.1), "memory", "counters", COUNTED),
    "some": case(counted(PARALLEL, (FEW_MISSES + MANY_MISSES) / 2), None, "counters", COUNTED),
    "few": case(counted(PARALLEL, FEW_MISSES - 0.1), "computation", "counters", COUNTED),
    "hits": case(counted(PARALLEL, 0.1, 10 * MANY_MISSES), "memory", "counters", COUNTED),
    "none": case(counted(PARALLEL, 0), "computation", "counters", COUNTED),
    # 16 threads on 8 cores that are no faster than 8, of a program that misses no cache.
    "SMT": case(counted(SMT_ALONE, 0.1), "computation", "counters", "", MachineFacts(n_ht=8, clock_ratio=1.1)),
    "time lost": case(counted(curves([1, 8], [8.0, 4.0]), 0.1), None, "scaling"),
    "no time lost": case(counted(curves([1, 8], [8.0, 1.1]), 0.1), "computation", "counters"),
    # Ceilings: bandwidth gains 2 from 1 to 8 threads, arithmetic 8.
    "near the roof": case(counted(PARALLEL, 0.1), "memory", "roofline", "18 GB/s, 90 %", MEASURED, at=point(18e9)),
    "far below, few": case(counted(PARALLEL, 0.1), "computation", "counters", "", MEASURED, at=point(2e9)),
    "far below, many": case(counted(PARALLEL, 20), "memory", "counters", "", MEASURED, at=point(2e9)),
    "work gains what bandwidth gains": case(PARALLEL, "memory", "roofline", "", MEASURED),
    "more": case(IDEAL, None, "roofline", "memory bandwidth does not limit it", MEASURED),
    "locks move lines": case(
        curves([1, 8], [8.0, 4.0], imbalance=[0, 0], lock=[0, 0.1]), None, "scaling", "", MEASURED
    ),
    # Redundancy beyond what clock and SMT threads explain
    "unexplained": case(GROWING, "memory", "scaling", "", MachineFacts(n_ht=8, clock_ratio=1.3)),
    "by the clock": case(GROWING, None, "scaling", "", MachineFacts(n_ht=8, clock_ratio=1.7)),
    "by SMT": case(GROWING, None, "scaling", "", MachineFacts(n_ht=4, clock_ratio=1.3)),
    "nothing known": case(LOST, None, "scaling"),
    "virtual": case(LOST, None, "scaling", "", MachineFacts(clock_ratio=1.0, virtualised=True)),
    "perfect scaling": case(IDEAL, None, "scaling", "computation-bound and memory-bound cannot be distinguished"),
    "wall times": case(
        curves([1, 8], [8.0, 4.0]), None, "scaling", "Wall times alone", replace(MEASURED, clock_ratio=1.0)
    ),
    "wall times without a loss": case(
        curves([1, 2], [8.0, 4.0]),
        None,
        "scaling",
        "0 % of thread time at 2 threads is lost: nothing limits it there.",
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_which_resource_is_said_to_limit_it(case):
    of, machine, measured, kind, by, said = CASES[case]
    found = boundness(of, machine, measured)
    assert (found.kind, found.by) == (kind, by)
    assert said in found.sentence


@pytest.mark.parametrize(("share", "kind"), [(0.25, None), (0.35, None), (0.41, "imbalance")])
def test_a_predicted_share_near_the_limit_does_not_tell(share, kind):
    assert boundness(imbalanced(share), predicted=True).kind == kind
    assert boundness(imbalanced(share)).kind == ("imbalance" if share >= WAITING_SHARE else None)


def test_a_miss_has_reached_the_cache_that_it_misses():
    of = counted(PARALLEL, 1.0)
    of.values[1 + CURVE_NAMES.index("L1-LD/LLC-LDM")] = 0.5  # as a prediction may say it
    assert misses_per_kilo_instruction(of) == pytest.approx(1.0)


def test_at_any_n():
    of = counted(PARALLEL, 20)
    assert boundness(of, n=1).sentence.startswith("At 1 thread 20 of")
    with pytest.raises(ValueError, match="2"):
        boundness(of, n=2)


@given(st.integers(0, 2**32 - 1), st.booleans())
def test_something_is_said_of_every_profile_that_scales(seed, decomposed):
    of = scaling_curves(sample_runs(np.random.default_rng(seed), decomposed=decomposed))
    assert boundness(of).sentence in limit_sentences(of)
