"""What platforms are like on paper: metadata and public facts as vectors in which near means alike."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from predictor.core.database import Database
from profiles.arrays import FloatArray, IntArray


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


# How far apart two platforms are that differ by one in a quantity. Logarithms of: clock, L1d and L2 for each core, L3
# and memory for each thread, threads for each core, cores, L3.
QUANTITY_WEIGHTS = np.array([1.0, 0.5, 0.5, 0.5, 0.2, 1.0, 0.2, 0.2])
FACT_WEIGHTS = np.array([0.15, 0.5, 0.5, 0.5])  # year, log2 of the vector width, dot products, matrix units
OTHER_ISA_WEIGHT = 3.0  # an instruction set other than x86_64
AMD_WEIGHT = 1.5  # the vendor AMD, not another


@dataclass(frozen=True, eq=False)
class PlatformMetadata:
    """What is known of P platforms on paper: `vectors` (P, F); codes `cpu` and `microarchitecture` (P,).

    An unknown CPU model or microarchitecture has a code of its own.

    >>> metadata = PlatformMetadata(np.array([[0.0, 1.0], [3.0, 5.0]]), np.arange(2), np.arange(2))
    >>> metadata.squared_distances(np.array([1]), target=0).tolist()
    [25.0]
    """

    vectors: FloatArray
    cpu: IntArray
    microarchitecture: IntArray

    def squared_distances(self, platforms: IntArray, target: int) -> FloatArray:
        """Squared distances of `platforms` (R,) to the target, (R,)."""
        return np.asarray(((self.vectors[platforms] - self.vectors[target]) ** 2).sum(axis=1))


def platform_metadata(database: Database) -> PlatformMetadata:
    """The metadata of all platforms, computed once for a database and all its views."""
    metadata: PlatformMetadata = database.derive("platform_metadata", lambda: _metadata(database))
    return metadata


def _metadata(database: Database) -> PlatformMetadata:
    table = database.platform_table
    number = {
        name: np.asarray(column, dtype=np.float64) for name, column in table.items() if isinstance(column, np.ndarray)
    }
    cores, threads = number["physical_cores"], number["threads"]
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = np.log(
            [
                number["base_mhz"],
                number["l1d_bytes"] / cores,
                number["l2_bytes"] / cores,
                number["l3_bytes"] / threads,
                number["memory_bytes"] / threads,
                threads / cores,
                cores,
                number["l3_bytes"],
            ]
        )
    facts = microarchitecture_facts(tuple(str(word) for word in table["microarchitecture"])).T
    words = np.array(table["architecture"], dtype=str)
    vendors = np.char.upper(np.array(table["vendor"], dtype=str))
    other_isa = (words != "") & (words != "x86_64")
    columns = [
        *(QUANTITY_WEIGHTS[:, None] * logs),
        *(FACT_WEIGHTS[:, None] * facts),
        OTHER_ISA_WEIGHT * other_isa,
        AMD_WEIGHT * (np.char.find(vendors, "AMD") >= 0),
    ]
    vectors = np.stack([_fill_unknown(column) for column in columns], axis=1)
    return PlatformMetadata(vectors, _codes(table["cpu_model"]), _codes(table["microarchitecture"]))


def _fill_unknown(column: FloatArray) -> FloatArray:
    """Unknown values take the median of the known ones: they bring nobody nearer or farther than usual."""
    is_known = np.isfinite(column)
    return np.where(is_known, column, np.median(column[is_known]) if is_known.any() else 0.0)


def _codes(words: object) -> IntArray:
    """A number for each different text; every unknown one ("") has its own."""
    texts = np.array(words, dtype=str)
    codes = np.unique(texts, return_inverse=True)[1].astype(np.int64)
    unknown = texts == ""
    codes[unknown] = len(texts) + np.arange(unknown.sum())
    return codes
