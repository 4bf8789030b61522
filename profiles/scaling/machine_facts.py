"""What a reading of curves needs to know of the machine: where SMT begins, how far its clock may fall, its ceilings."""

from __future__ import annotations

from dataclasses import dataclass

from profiles.scaling.roofline import Roofline


@dataclass(frozen=True)
class MachineFacts:
    """`clock_ratio` is the highest clock over the base clock. None: unknown, or the machine has no such thing."""

    n_nu: int | None = None
    n_ht: int | None = None
    clock_ratio: float | None = None
    virtualised: bool = False
    roofline: Roofline | None = None

    def redundancy_of_computing(self, n: int) -> float | None:
        """The redundancy that a program may have at n threads that only computes; None where nobody can say.

            c k,    c the clock ratio,    k = max(1, n / n_ht)

        The clock falls as cores become busy, at most from the highest to the base clock; beyond n_ht some threads
        share a core, and k of them may be no faster than one. A virtual machine does not know which of its processors
        share a core.

        >>> facts = MachineFacts(n_ht=8, clock_ratio=1.25)
        >>> facts.redundancy_of_computing(8), facts.redundancy_of_computing(16)
        (1.25, 2.5)
        >>> MachineFacts(clock_ratio=1.25, virtualised=True).redundancy_of_computing(2) is None
        True
        """
        if self.clock_ratio is None or self.virtualised:
            return None
        return self.clock_ratio * max(1.0, n / self.n_ht if self.n_ht else 1.0)


def clock_ratio(base_mhz: float | None, max_mhz: float | None) -> float | None:
    """The highest clock over the base clock, at least 1; None where one of them is unknown.

    >>> clock_ratio(2000.0, 2500.0), clock_ratio(2000.0, None)
    (1.25, None)
    """
    return max(1.0, max_mhz / base_mhz) if base_mhz and max_mhz else None
