"""Simulator: a discrete-event model of shared-memory multicores that writes results tarballs (docs/simulator.md).

No Django.
"""

from benchmarks.simulator.catalogue import HARDWARE, find_hardware
from benchmarks.simulator.simulation import execute, simulate, simulate_tarball
from benchmarks.simulator.workloads import PROGRAMS

__all__ = ["HARDWARE", "PROGRAMS", "execute", "find_hardware", "simulate", "simulate_tarball"]
