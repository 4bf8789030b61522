"""Similarity of platforms and workloads by metadata: hardware and published facts about microarchitectures for
platforms, and the words of names for workloads."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from scipy.sparse import csr_array

from predictor.core.database import Database
from predictor.core.numerics import TINY
from profiles.arrays import FloatArray, IntArray

# Distance of two platforms that differ by 1 in one quantity. The quantities are the logarithms of the clock, L1d and L2
# per core, L3 and memory per thread, threads per core, cores, and L3.
QUANTITY_WEIGHTS = np.array([1.0, 0.5, 0.5, 0.5, 0.2, 1.0, 0.2, 0.2])
FACT_WEIGHTS = np.array([0.15, 0.5, 0.5, 0.5])  # year, log2 of the vector width, dot products, matrix units
SAME_NAME = 16.0  # weight added to a workload with the same name, relative to one without a common word
OTHER_ISA_WEIGHT, AMD_WEIGHT = 3.0, 1.5  # weights of an instruction set other than x86_64, and of the vendor AMD
# Published facts: the year of the first server product, or of any product if there is none; the bits of one vector
# execution unit; whether there are instructions for dot products of 8-bit integers; and whether there are instructions
# that multiply small matrices.
MICROARCHITECTURE_FACTS: dict[str, tuple[float, float, float, float]] = {
    "sandy bridge-ep": (2012, 256, 0, 0),
    "ivy bridge-ep": (2013, 256, 0, 0),
    "haswell-ep": (2014, 256, 0, 0),
    "skylake": (2015, 256, 0, 0),
    "broadwell-ep": (2016, 256, 0, 0),
    "coffee lake": (2017, 256, 0, 0),
    "skylake-sp": (2017, 512, 0, 0),
    "skylake-sp/cascade lake": (2018, 512, 0.5, 0),  # the name may mean either of both
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
    """Return the published facts about microarchitectures by name, (P, 4); NaN = unknown.

    Columns: year, log2 of the vector width in bits, dot products, matrix units.

    >>> microarchitecture_facts(("Zen4", "Z80")).tolist()
    [[2022.0, 8.0, 1.0, 0.0], [nan, nan, nan, nan]]
    """
    facts = [MICROARCHITECTURE_FACTS.get(name.strip().casefold(), (np.nan,) * 4) for name in names]
    table = np.array(facts, dtype=np.float64).reshape(-1, 4)
    table[:, 1] = np.log2(table[:, 1])
    return table


@dataclass(frozen=True, eq=False)
class PlatformMetadata:
    """The metadata of P platforms: `vectors` (P, F), and codes `cpu` and `microarchitecture` (P,).

    An unknown CPU model or microarchitecture has a unique code.

    >>> metadata = PlatformMetadata(np.array([[0.0, 1.0], [3.0, 5.0]]), np.arange(2), np.arange(2))
    >>> metadata.squared_distances(np.array([1]), target=0).tolist()
    [25.0]
    """

    vectors: FloatArray
    cpu: IntArray
    microarchitecture: IntArray

    def squared_distances(self, platforms: IntArray, target: int) -> FloatArray:
        """Return the squared distances of `platforms` (R,) to the target, (R,)."""
        return np.asarray(((self.vectors[platforms] - self.vectors[target]) ** 2).sum(axis=1))


def platform_metadata(database: Database) -> PlatformMetadata:
    """Return the metadata of all platforms, computed once for a database and all its views."""
    return database.derive("platform_metadata", lambda: _metadata(database))


def _metadata(database: Database) -> PlatformMetadata:
    table = database.platform_table
    clock, l1d, l2, l3, memory, threads, cores = (
        np.asarray(table[name], dtype=np.float64)
        for name in ("base_mhz", "l1d_bytes", "l2_bytes", "l3_bytes", "memory_bytes", "threads", "physical_cores")
    )
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = np.log([clock, l1d / cores, l2 / cores, l3 / threads, memory / threads, threads / cores, cores, l3])
    names = tuple(str(name) for name in table["microarchitecture"])
    instruction_sets, vendors = (np.array(table[name], dtype=str) for name in ("architecture", "vendor"))
    other_isa = (instruction_sets != "") & (instruction_sets != "x86_64")
    is_amd = np.char.find(np.char.upper(vendors), "AMD") >= 0
    weighted = QUANTITY_WEIGHTS[:, None] * logs, FACT_WEIGHTS[:, None] * microarchitecture_facts(names).T
    vectors = np.concatenate([*weighted, [OTHER_ISA_WEIGHT * other_isa, AMD_WEIGHT * is_amd]])
    # Replace unknown values by the median of the known ones, so that they make distances neither small nor large.
    # Platforms without a profile, such as a user's own in questions about simulated ones, do not count.
    has_profile = np.isin(np.arange(vectors.shape[1]), database.platform_index)
    for column in vectors:
        is_known = np.isfinite(column)
        counted = column[is_known & has_profile]
        column[~is_known] = np.median(counted) if len(counted) else 0.0
    return PlatformMetadata(np.ascontiguousarray(vectors.T), _codes(table["cpu_model"]), _codes(names))


def smt_begins(database: Database, platform: int) -> float:
    """Return the thread count from which cores have a second thread: `n_ht` or, if it is unknown, the number of cores
    if the platform has more threads; NaN without SMT."""
    n_ht, cores = float(database.n_ht[platform]), float(database.platform_table["physical_cores"][platform])
    return n_ht if np.isfinite(n_ht) or not cores < database.n_max[platform] else cores


def _codes(words: object) -> IntArray:
    """Return a number for each distinct text. Every unknown one ("") has its own number."""
    texts = np.array(words, dtype=str)
    codes = np.unique(texts, return_inverse=True)[1].astype(np.int64)
    unknown = texts == ""
    codes[unknown] = len(texts) + np.arange(unknown.sum())
    return codes


@lru_cache(maxsize=2**14)
def words_of(name: str) -> tuple[str, ...]:
    """Return the distinct words of a workload's name, without numbers, which denote its input or its version.

    >>> words_of("gbm-LightGBM_10M"), words_of("fft2d-1024")
    (('gbm', 'lightgbm', 'm'), ('fft', 'd'))
    """
    return tuple(dict.fromkeys(re.findall(r"[^\W\d_]+", name.casefold())))


def workload_name_vectors(database: Database, workloads: Iterable[int]) -> csr_array:
    """Return `name_vectors` of these workloads of the database."""
    return name_vectors(tuple(database.workloads[workload] for workload in workloads))


def likeness_of_names(database: Database, workloads: Iterable[int], workload: int) -> FloatArray:
    """Return the similarity of the names of these workloads (B,) and the name of one workload, in 0..1. Word
    frequencies are those among all these names."""
    names = workload_name_vectors(database, (*workloads, workload))
    return np.asarray(names[:-1] @ names[[-1]].toarray()[0])


@lru_cache(maxsize=2**6)  # many queries concern the workloads of one platform or of similar ones
def name_vectors(names: tuple[str, ...]) -> csr_array:
    """Return the names of N workloads as vectors (N, V). Their scalar products are the similarities of the names, in
    0..1.

        x_w ~ ln(N / N_w) for each word w of the name, which N_w names contain, with |x| = 1

    (TF-IDF and cosine similarity). A word that all names contain has no effect; a name of such words only has the
    vector 0.

    >>> x = name_vectors(("gbm_catboost_1M", "gbm_catboost_10M", "gbm_xgboost_1M", "gbm"))
    >>> (x @ x.T).toarray()[0].round(2).tolist()
    [1.0, 1.0, 0.08, 0.0]
    """
    words = [words_of(name) for name in names]
    _, columns = np.unique([word for of_name in words for word in of_name], return_inverse=True)
    rows = np.repeat(np.arange(len(names)), [len(of_name) for of_name in words])
    counts = np.bincount(columns)
    values = np.log(len(names) / counts)[columns]
    lengths = np.sqrt(np.bincount(rows, values**2, minlength=len(names)))
    return csr_array((values / (lengths[rows] + TINY), (rows, columns)), shape=(len(names), len(counts)))


def weights_by_name(likeness: FloatArray) -> FloatArray:
    """Return the weights of workloads by the similarity of their names in 0..1: from 1 without a common word to 17 for
    the same words."""
    return np.asarray(1.0 + SAME_NAME * likeness**2)
