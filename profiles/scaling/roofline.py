"""Roofline of a machine, as the kit measures it: arithmetic, memory, core-to-core latency and lock-transfer latency.

`MachineFacts` adds the facts needed to interpret curves: the thread count at which SMT begins, and the range of the
clock. No Django.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from profiles.scaling.validity import LARGEST_N

CACHE_LINE_BYTES = 64
SMALLEST_CEILING, LARGEST_CEILING = 1e-30, 1e30  # numbers that are not between these are ignored
MOST_CEILINGS = 65_536  # per kind


@dataclass(frozen=True)
class Roof:
    """The highest rates that n threads can reach."""

    n: int
    flop_per_s: float
    bytes_per_s: float

    @property
    def ridge(self) -> float:
        """Return the operational intensity in flop/byte from which on the arithmetic limits, and no longer the memory.

            I = peak / bandwidth

        >>> Roof(1, 100e9, 20e9).ridge
        5.0
        """
        return self.flop_per_s / self.bytes_per_s

    def at(self, intensity: float) -> float:
        """Return the attainable rate in flop/s at an operational intensity I in flop/byte (Williams et al. 2009).

            P(I) = min(peak, bandwidth I)

        >>> Roof(1, 100e9, 20e9).at(2.0), Roof(1, 100e9, 20e9).at(50.0)
        (40000000000.0, 100000000000.0)
        """
        return min(self.flop_per_s, self.bytes_per_s * intensity)


@dataclass(frozen=True)
class Roofline:
    """The measured ceilings of a machine.

    `roofs` ascend in n. `handover` holds core-to-core latencies of a cache line, (from, to, seconds). `lock` holds
    lock-transfer latencies, from the release by one thread to the acquisition by the next, (n, seconds).
    """

    roofs: tuple[Roof, ...]
    handover: tuple[tuple[int, int, float], ...]
    lock: tuple[tuple[int, float], ...]

    @property
    def drawn(self) -> tuple[Roof, ...]:
        """Return the roofs to draw, those of the smallest and the largest n."""
        return self.roofs if len(self.roofs) < 2 else (self.roofs[0], self.roofs[-1])

    def roof_at(self, n: int) -> Roof | None:
        """Return the roof of the most threads up to n, or None if there is none.

        >>> Roofline((Roof(1, 8e9, 2e9), Roof(4, 32e9, 6e9)), (), ()).roof_at(3)
        Roof(n=1, flop_per_s=8000000000.0, bytes_per_s=2000000000.0)
        """
        return next((roof for roof in reversed(self.roofs) if roof.n <= n), None)

    def arithmetic_gain(self, n: int) -> float | None:
        """Return the largest speedup of arithmetic by n threads, None if one thread or n threads were not measured.

        >>> Roofline((Roof(1, 8e9, 2e9), Roof(4, 20e9, 6e9)), (), ()).arithmetic_gain(4)
        2.5
        """
        first, last = self.roof_at(1), self.roof_at(n)
        return last.flop_per_s / first.flop_per_s if first and last and last.n == n else None

    @property
    def document(self) -> dict[str, Any]:
        """Return the JSON form for the API, with the names and units of the kit."""
        return {
            "peak_flops": [{"n": roof.n, "flop_per_s": roof.flop_per_s} for roof in self.roofs],
            "bandwidth": [{"n": roof.n, "bytes_per_s": roof.bytes_per_s} for roof in self.roofs],
            "handover": [{"from": a, "to": b, "one_way_ps": round(s * 1e12)} for a, b, s in self.handover],
            "lock_handover": [{"n": n, "ps": round(s * 1e12)} for n, s in self.lock],
        }


def read_roofline(environment: Any) -> Roofline | None:
    """Return the roofline in a delivery's environment.json, in SI units, or None if it has no valid entries.

    The document has not been validated, so that entries of another shape are skipped.

    >>> peaks, bandwidths = [{"n": 1, "flop_per_s": 8e9}], [{"n": 1, "bytes_per_s": 2e9}, {"n": "two"}]
    >>> read_roofline({"roofline": {"peak_flops": peaks, "bandwidth": bandwidths}}).roofs
    (Roof(n=1, flop_per_s=8000000000.0, bytes_per_s=2000000000.0),)
    """
    entries = environment.get("roofline") if isinstance(environment, Mapping) else None
    if not isinstance(entries, Mapping):
        return None
    peaks = dict(positive_entries(entries.get("peak_flops"), ("n",), "flop_per_s"))
    bandwidths = dict(positive_entries(entries.get("bandwidth"), ("n",), "bytes_per_s"))
    names = sorted(peaks.keys() & bandwidths.keys())
    handover = positive_entries(entries.get("handover"), ("from", "to"), "one_way_ps")
    lock = positive_entries(entries.get("lock_handover"), ("n",), "ps")
    roofline = Roofline(
        tuple(Roof(key[0], peaks[key], bandwidths[key]) for key in names),
        tuple((key[0], key[1], value / 1e12) for key, value in handover),
        tuple((key[0], value / 1e12) for key, value in lock),
    )
    return roofline if roofline.roofs or roofline.handover or roofline.lock else None


def positive_entries(entries: Any, keys: tuple[str, ...], value: str) -> list[tuple[tuple[int, ...], float]]:
    """Return the entries with counts as keys and a positive number as value, as (keys, value).

    >>> positive_entries([{"n": 1, "ps": 5}, {"n": "2", "ps": 6}, {"n": 3}, 4], ("n",), "ps")
    [((1,), 5.0)]
    """
    return [
        (tuple(entry[key] for key in keys), float(entry[value]))
        for entry in (entries[:MOST_CEILINGS] if isinstance(entries, list) else [])
        if isinstance(entry, Mapping)
        and all(type(entry.get(key)) is int and 0 <= entry[key] <= LARGEST_N for key in keys)
        and type(entry.get(value)) in {int, float}
        and SMALLEST_CEILING < entry[value] < LARGEST_CEILING
    ]


@dataclass(frozen=True)
class RooflinePoint:
    """The position of a workload at n threads in the roofline, by its instructions, because flop are not counted."""

    name: str
    n: int
    instructions: float
    misses: float  # loads and stores that miss the last-level cache and move a cache line each
    time_s: float

    @property
    def intensity(self) -> float:
        """Return the instructions per byte of memory traffic. A miss of the last-level cache moves a line of 64 bytes.

        >>> RooflinePoint("sweep", 1, instructions=6.4e9, misses=1e8, time_s=2.0).intensity
        1.0
        """
        return self.instructions / (CACHE_LINE_BYTES * self.misses)

    @property
    def rate(self) -> float:
        """Return the instructions per second of all threads.

        >>> RooflinePoint("sweep", 1, instructions=6.4e9, misses=1e8, time_s=2.0).rate
        3200000000.0
        """
        return self.instructions / self.time_s


@dataclass(frozen=True)
class MachineFacts:
    """The known facts about a machine. `clock_ratio` is the highest clock over the base clock.

    None means that the fact is unknown, or that the machine has no such effect.
    """

    n_nu: int | None = None
    n_ht: int | None = None
    clock_ratio: float | None = None
    virtualised: bool = False
    roofline: Roofline | None = None

    def redundancy_of_computing(self, n: int) -> float | None:
        """Return the redundancy that a purely computing program may have at n threads, or None if it is unknown.

            c k,    c the clock ratio,    k = max(1, n / n_ht)

        The clock falls as cores become busy, at most from the highest to the base clock. Beyond n_ht, some threads
        share a core, and k of them may be no faster than one. The result is None for a virtual machine, which does not
        show which of its processors share a core.

        >>> facts = MachineFacts(n_ht=8, clock_ratio=1.25)
        >>> facts.redundancy_of_computing(8), facts.redundancy_of_computing(16)
        (1.25, 2.5)
        >>> MachineFacts(clock_ratio=1.25, virtualised=True).redundancy_of_computing(2) is None
        True
        """
        if self.clock_ratio is None or self.virtualised:
            return None
        return self.clock_ratio * max(1.0, n / self.n_ht if self.n_ht else 1.0)


NOTHING_KNOWN = MachineFacts()


def clock_ratio(base_mhz: float | None, max_mhz: float | None) -> float | None:
    """Return the highest clock over the base clock, at least 1, or None if one of them is unknown.

    >>> clock_ratio(2000.0, 2500.0), clock_ratio(2000.0, None)
    (1.25, None)
    """
    return max(1.0, max_mhz / base_mhz) if base_mhz and max_mhz else None
