"""What platforms are like on paper: metadata as vectors in which near means alike."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from predictor.core.database import Database
from predictor.core.mpet.evidence.microarchitectures import microarchitecture_facts
from profiles.arrays import FloatArray, IntArray

FACT_WEIGHTS = np.array([0.15, 0.5, 0.5, 0.5])  # year, log2 of the vector width, dot products, matrix units


@dataclass(frozen=True, eq=False)
class PlatformMetadata:
    """`vectors` (P, F); `cpu` and `microarchitecture` (P,) codes, every unknown one its own."""

    vectors: FloatArray
    cpu: IntArray
    microarchitecture: IntArray

    def apart(self, platforms: IntArray, target: int) -> FloatArray:
        """Squared distances of `platforms` (R,) to the target, (R,)."""
        return np.asarray(((self.vectors[platforms] - self.vectors[target]) ** 2).sum(axis=1))


def platform_metadata(database: Database) -> PlatformMetadata:
    """The metadata of all platforms, computed once for a database and all its views."""
    metadata: PlatformMetadata = database.derive("platform_metadata", lambda: _metadata(database))
    return metadata


def _metadata(database: Database) -> PlatformMetadata:
    table = database.platform_table
    number = {name: np.asarray(column, dtype=np.float64) for name, column in table.items() if _is_number(column)}
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
    weights = np.array([1.0, 0.5, 0.5, 0.5, 0.2, 1.0, 0.2, 0.2])
    known_facts = microarchitecture_facts(tuple(str(word) for word in table["microarchitecture"])).T
    words = np.array(table["architecture"], dtype=str)
    vendors = np.char.upper(np.array(table["vendor"], dtype=str))
    other_isa = (words != "") & (words != "x86_64")
    columns = [
        *(weights[:, None] * logs),
        *(FACT_WEIGHTS[:, None] * known_facts),
        3.0 * other_isa,
        1.5 * (np.char.find(vendors, "AMD") >= 0),
    ]
    vectors = np.stack([_known(column) for column in columns], axis=1)
    return PlatformMetadata(vectors, _codes(table["cpu_model"]), _codes(table["microarchitecture"]))


def _is_number(column: object) -> bool:
    return isinstance(column, np.ndarray)


def _known(column: FloatArray) -> FloatArray:
    """Unknown values take the median of the known ones: they bring nobody nearer or farther than usual."""
    known = np.isfinite(column)
    return np.where(known, column, np.median(column[known]) if known.any() else 0.0)


def _codes(words: object) -> IntArray:
    texts = np.array(words, dtype=str)
    codes = np.unique(texts, return_inverse=True)[1].astype(np.int64)
    unknown = texts == ""
    codes[unknown] = len(texts) + np.arange(unknown.sum())
    return codes
