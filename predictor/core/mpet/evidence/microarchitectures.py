"""Public facts of microarchitectures, from their vendors' documentation, that no machine's own metadata say."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from profiles.arrays import FloatArray


class Facts(NamedTuple):
    year: int  # of the first server (else any) product
    vector_bits: int  # width of one vector execution unit
    dot_products: float  # 1: has instructions for dot products of 8-bit integers
    matrix_units: float  # 1: has instructions that multiply small matrices


FACTS = {
    "sandy bridge-ep": Facts(2012, 256, 0, 0),
    "ivy bridge-ep": Facts(2013, 256, 0, 0),
    "haswell-ep": Facts(2014, 256, 0, 0),
    "skylake": Facts(2015, 256, 0, 0),
    "broadwell-ep": Facts(2016, 256, 0, 0),
    "coffee lake": Facts(2017, 256, 0, 0),
    "skylake-sp": Facts(2017, 512, 0, 0),
    "skylake-sp/cascade lake": Facts(2018, 512, 0.5, 0),  # a name that hides which of both
    "cascade lake": Facts(2019, 512, 1, 0),
    "cooper lake": Facts(2020, 512, 1, 0),
    "ice lake-sp": Facts(2021, 512, 1, 0),
    "rocket lake": Facts(2021, 512, 1, 0),
    "sapphire rapids": Facts(2023, 512, 1, 1),
    "emerald rapids": Facts(2023, 512, 1, 1),
    "granite rapids": Facts(2024, 512, 1, 1),
    "zen1": Facts(2017, 128, 0, 0),
    "zen2": Facts(2019, 256, 0, 0),
    "zen3": Facts(2021, 256, 0, 0),
    "zen4": Facts(2022, 256, 1, 0),
    "zen5": Facts(2024, 512, 1, 0),
    "cortex-a72": Facts(2015, 128, 0, 0),
    "neoverse-n1": Facts(2019, 128, 1, 0),
    "neoverse-v1": Facts(2020, 256, 1, 1),
    "neoverse-n2": Facts(2021, 128, 1, 1),
    "neoverse-v2": Facts(2022, 128, 1, 1),
    "neoverse-n3": Facts(2024, 128, 1, 1),
}
UNKNOWN = (np.nan,) * len(Facts._fields)


def facts(names: tuple[str, ...]) -> FloatArray:
    """Of microarchitectures by name, (P, 4): year, log2 of the vector width, dot products, matrix units; NaN unknown.

    >>> facts(("Zen4", "Z80")).tolist()
    [[2022.0, 8.0, 1.0, 0.0], [nan, nan, nan, nan]]
    """
    table = np.array([FACTS.get(name.strip().casefold(), UNKNOWN) for name in names], dtype=np.float64)
    table = table.reshape(-1, len(UNKNOWN))
    table[:, 1] = np.log2(table[:, 1])
    return table
