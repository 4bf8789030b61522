"""What vendors publish of microarchitectures."""

from __future__ import annotations

import numpy as np

from profiles.arrays import FloatArray

# What vendors publish: the year of the first server (else any) product; the bits of one vector execution unit; whether
# there are instructions for dot products of 8-bit integers, and such that multiply small matrices.
MICROARCHITECTURE_FACTS: dict[str, tuple[float, float, float, float]] = {
    "sandy bridge-ep": (2012, 256, 0, 0),
    "ivy bridge-ep": (2013, 256, 0, 0),
    "haswell-ep": (2014, 256, 0, 0),
    "skylake": (2015, 256, 0, 0),
    "broadwell-ep": (2016, 256, 0, 0),
    "coffee lake": (2017, 256, 0, 0),
    "skylake-sp": (2017, 512, 0, 0),
    "skylake-sp/cascade lake": (2018, 512, 0.5, 0),  # a name that hides which of both
    "cascade lake": (2019, 512, 1, 0),
    "cooper lake": (2020, 512, 1, 0),
    "ice lake-sp": (2021, 512, 1, 0),
    "rocket lake": (2021, 512, 1, 0),
    "sapphire rapids": (2023, 512, 1, 1),
    "emerald rapids": (2023, 512, 1, 1),
    "granite rapids": (2024, 512, 1, 1),
    "zen1": (2017, 128, 0, 0),
    "zen2": (2019, 256, 0, 0),
    "zen3": (2021, 256, 0, 0),
    "zen4": (2022, 256, 1, 0),
    "zen5": (2024, 512, 1, 0),
    "cortex-a72": (2015, 128, 0, 0),
    "neoverse-n1": (2019, 128, 1, 0),
    "neoverse-v1": (2020, 256, 1, 1),
    "neoverse-n2": (2021, 128, 1, 1),
    "neoverse-v2": (2022, 128, 1, 1),
    "neoverse-n3": (2024, 128, 1, 1),
}


def microarchitecture_facts(names: tuple[str, ...]) -> FloatArray:
    """The facts of microarchitectures by name, (P, 4); NaN = unknown.

    Columns: year, log2 of the vector width in bits, dot products, matrix units.

    >>> microarchitecture_facts(("Zen4", "Z80")).tolist()
    [[2022.0, 8.0, 1.0, 0.0], [nan, nan, nan, nan]]
    """
    facts = [MICROARCHITECTURE_FACTS.get(name.strip().casefold(), (np.nan,) * 4) for name in names]
    table = np.array(facts, dtype=np.float64).reshape(-1, 4)
    table[:, 1] = np.log2(table[:, 1])
    return table
