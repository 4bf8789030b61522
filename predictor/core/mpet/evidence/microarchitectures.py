"""Public facts of microarchitectures, from their vendors' documentation, that no machine's own metadata say."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from profiles.arrays import FloatArray


class MicroarchitectureFacts(NamedTuple):
    """What vendors publish about a microarchitecture."""

    year: int  # of the first server (else any) product
    vector_bits: int  # width of one vector execution unit
    dot_products: float  # 1: has instructions for dot products of 8-bit integers
    matrix_units: float  # 1: has instructions that multiply small matrices


MICROARCHITECTURE_FACTS = {
    "sandy bridge-ep": MicroarchitectureFacts(2012, 256, 0, 0),
    "ivy bridge-ep": MicroarchitectureFacts(2013, 256, 0, 0),
    "haswell-ep": MicroarchitectureFacts(2014, 256, 0, 0),
    "skylake": MicroarchitectureFacts(2015, 256, 0, 0),
    "broadwell-ep": MicroarchitectureFacts(2016, 256, 0, 0),
    "coffee lake": MicroarchitectureFacts(2017, 256, 0, 0),
    "skylake-sp": MicroarchitectureFacts(2017, 512, 0, 0),
    "skylake-sp/cascade lake": MicroarchitectureFacts(2018, 512, 0.5, 0),  # a name that hides which of both
    "cascade lake": MicroarchitectureFacts(2019, 512, 1, 0),
    "cooper lake": MicroarchitectureFacts(2020, 512, 1, 0),
    "ice lake-sp": MicroarchitectureFacts(2021, 512, 1, 0),
    "rocket lake": MicroarchitectureFacts(2021, 512, 1, 0),
    "sapphire rapids": MicroarchitectureFacts(2023, 512, 1, 1),
    "emerald rapids": MicroarchitectureFacts(2023, 512, 1, 1),
    "granite rapids": MicroarchitectureFacts(2024, 512, 1, 1),
    "zen1": MicroarchitectureFacts(2017, 128, 0, 0),
    "zen2": MicroarchitectureFacts(2019, 256, 0, 0),
    "zen3": MicroarchitectureFacts(2021, 256, 0, 0),
    "zen4": MicroarchitectureFacts(2022, 256, 1, 0),
    "zen5": MicroarchitectureFacts(2024, 512, 1, 0),
    "cortex-a72": MicroarchitectureFacts(2015, 128, 0, 0),
    "neoverse-n1": MicroarchitectureFacts(2019, 128, 1, 0),
    "neoverse-v1": MicroarchitectureFacts(2020, 256, 1, 1),
    "neoverse-n2": MicroarchitectureFacts(2021, 128, 1, 1),
    "neoverse-v2": MicroarchitectureFacts(2022, 128, 1, 1),
    "neoverse-n3": MicroarchitectureFacts(2024, 128, 1, 1),
}
UNKNOWN_FACTS = (np.nan,) * len(MicroarchitectureFacts._fields)


def microarchitecture_facts(names: tuple[str, ...]) -> FloatArray:
    """The facts of microarchitectures by name, (P, 4); NaN = unknown.

    Columns: year, log2 of the vector width in bits, dot products, matrix units.

    >>> microarchitecture_facts(("Zen4", "Z80")).tolist()
    [[2022.0, 8.0, 1.0, 0.0], [nan, nan, nan, nan]]
    """
    table = np.array(
        [MICROARCHITECTURE_FACTS.get(name.strip().casefold(), UNKNOWN_FACTS) for name in names], dtype=np.float64
    )
    table = table.reshape(-1, len(UNKNOWN_FACTS))
    table[:, 1] = np.log2(table[:, 1])
    return table
