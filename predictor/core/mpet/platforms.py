"""Platforms: what they are like on paper, on which of them a workload can be predicted, and who is near whom."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from predictor.core.answers import Query
from predictor.core.arrays import evenly_spaced
from predictor.core.database import Database
from predictor.core.errors import NoBenchmark, NoReference, NothingComparable, NothingShared
from predictor.core.mpet.curves import evaluated_curves
from predictor.core.mpet.hyperparameters import TINY
from profiles.arrays import BoolArray, FloatArray, IntArray

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
# How far apart two platforms are that differ by one in a quantity. Logarithms of: clock, L1d and L2 for each core, L3
# and memory for each thread, threads for each core, cores, L3.
QUANTITY_WEIGHTS = np.array([1.0, 0.5, 0.5, 0.5, 0.2, 1.0, 0.2, 0.2])
FACT_WEIGHTS = np.array([0.15, 0.5, 0.5, 0.5])  # year, log2 of the vector width, dot products, matrix units
OTHER_ISA_WEIGHT, AMD_WEIGHT = 3.0, 1.5  # an instruction set other than x86_64; the vendor AMD, not another


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
    # Unknown values take the median of the known ones: they bring nobody nearer or farther than usual.
    for column in vectors:
        is_known = np.isfinite(column)
        column[~is_known] = np.median(column[is_known]) if is_known.any() else 0.0
    return PlatformMetadata(np.ascontiguousarray(vectors.T), _codes(table["cpu_model"]), _codes(names))


def _codes(words: object) -> IntArray:
    """A number for each different text; every unknown one ("") has its own."""
    texts = np.array(words, dtype=str)
    codes = np.unique(texts, return_inverse=True)[1].astype(np.int64)
    unknown = texts == ""
    codes[unknown] = len(texts) + np.arange(unknown.sum())
    return codes


# In the order in which `gather_evidence` finds out.
LACKS = ("", NoReference.lacks, NoBenchmark.lacks, NothingComparable.lacks, NothingShared.lacks)


def lacks_by_target(database: Database, workload: int) -> tuple[str, ...]:
    """What is missing to predict A on each platform, by the words of the errors (P,); empty: nothing is.

    T can be predicted where a reference P != T has A, and P and T a workload B != A; of one origin, and with times.
    O(N) for N profiles, whatever the number of platforms.

    >>> from predictor.core.database import Group
    >>> database = Database.build(  # p has a and b, t has b, u nothing
    ...     platforms=("p", "t", "u"), workloads=("a", "b"), platform_index=[0, 0, 1], workload_index=[0, 1, 1],
    ...     groups=[Group(False, "", "measured")], group=[0, 0, 0], features=np.full((3, 84), np.nan),
    ...     t1_s=[1.0, 2.0, 3.0], n_nu=[np.nan] * 3, n_ht=[np.nan] * 3, n_max=[4] * 3)
    >>> lacks_by_target(database, workload=0)
    ('reference', '', 'benchmark')
    """
    group_of_target = groups_of_targets(database, workload)
    origin_of_target = np.where(group_of_target >= 0, np.append(_origin_codes(database), -1)[group_of_target], -1)
    codes = np.full(len(database.platforms), LACKS.index(NoReference.lacks))
    for origin in np.unique(origin_of_target[origin_of_target >= 0]).tolist():
        codes = np.where(origin_of_target == origin, _lacks_in_origin(database, workload, origin), codes)
    return tuple(LACKS[code] for code in codes.tolist())


def answered_pairs(database: Database) -> BoolArray:
    """Where `lacks_by_target` finds nothing missing, for all workloads at once (W, P).

    A benchmark B != A that T and a reference have decides: with H (W, P) the usable profiles of an origin and G = H H^T
    the number of platforms that have both, A on T can be predicted where sum_B (G_AB > H_AT) H_BT > 0. O(W^2 P), not
    W times O(N).
    """
    usable = ~database.hidden & (evaluated_curves(database).pattern[: len(database)] > 0)
    codes = _origin_codes(database)
    found = np.zeros((len(database.workloads), len(database.platforms)), dtype=bool)
    for origin in np.unique(codes).tolist():
        rows = usable & (codes[database.group] == origin)
        has = np.zeros(found.shape, dtype=np.float32)
        has[database.workload_index[rows], database.platform_index[rows]] = 1
        both = has @ has.T
        np.fill_diagonal(both, 0)
        shared = np.where(has > 0, (both > 1).astype(np.float32) @ has, (both > 0).astype(np.float32) @ has) > 0
        if len(np.unique(codes)) > 1:
            groups = np.array([groups_of_targets(database, workload) for workload in range(len(found))])
            shared &= np.where(groups >= 0, np.append(codes, -1)[groups], -1) == origin
        found |= shared
    return found


def _origin_codes(database: Database) -> IntArray:
    """The origin of each group, as the index of the first group that has it (G,)."""
    origins = [group.origin for group in database.groups]
    return np.array([origins.index(origin) for origin in origins], dtype=np.int64)


def groups_of_targets(database: Database, workload: int) -> IntArray:
    """For each target the group that A has most references in, as `choose_group` says (P,); -1: none."""
    rows = database.rows_of_workload(workload)
    has_a = np.zeros((len(database.platforms), len(database.groups)), dtype=np.int64)
    has_a[database.platform_index[rows], database.group[rows]] = 1
    counts = has_a.sum(axis=0) - has_a  # without what T itself has
    order = sorted(range(len(database.groups)), key=lambda g: (not database.groups[g].decomposed, g))
    if not order:
        return np.full(len(database.platforms), -1)
    chosen = np.array(order)[counts[:, order].argmax(axis=1)]
    return np.where(counts.any(axis=1), chosen, -1)


def _lacks_in_origin(database: Database, workload: int, origin: int) -> IntArray:
    """As `lacks_by_target`, from profiles of this origin alone; as indices of LACKS (P,)."""
    platforms = len(database.platforms)
    visible = ~database.hidden
    usable = visible & (_origin_codes(database)[database.group] == origin)
    usable &= evaluated_curves(database).pattern[: len(database)] > 0
    of_workload = database.workload_index == workload
    has_a = np.bincount(database.platform_index[usable & of_workload], minlength=platforms) > 0
    others = usable & ~of_workload
    pairs = database.platform_index[others].astype(np.int64) * len(database.workloads) + database.workload_index[others]
    on_platform, of_benchmark = np.divmod(np.unique(pairs), len(database.workloads))
    having = np.bincount(of_benchmark[has_a[on_platform]], minlength=len(database.workloads))
    shares = having[of_benchmark] - has_a[on_platform] > 0  # with a reference other than the platform itself
    benchmarks = database.platform_index[visible & ~of_workload], on_platform, on_platform[shares]
    lacking = [has_a.sum() == has_a, *(np.bincount(found, minlength=platforms) == 0 for found in benchmarks)]
    return np.select(lacking, np.arange(1, len(LACKS)).tolist(), 0)


MOST_EXAMINED_REFERENCES = 384  # platforms that have A: of more, so many nearest ones are looked at closely
MOST_INDEX_WORKLOADS, FEWEST_INDEX_WORKLOADS = 48, 8  # of T's: more of them hardly change who is near
MOST_INDEX_PROFILES = 100_000  # of all platforms together: bounds what a question costs, where they allow it
INDEX_COLUMNS, COLUMNS_OF_A_QUESTION = 6, 3  # thread counts of the grid at which levels are known, and compared
PAPER_SHARE = 0.3  # of squared distance on paper, beside that of behaviour in units of its median


def nearest_platforms(
    database: Database, query: Query, groups: tuple[int, ...], platforms: IntArray, most: int
) -> IntArray:
    """The `most` platforms that are most like T, ascending; all of them where fewer share one of its workloads.

        d_p = var (z(T,b,j) - z(p,b,j)) / median + 0.3 |x_p - x_T|^2 + mean outside_p

    z is ln(n t(n)), the variance is over the workloads b but A that both have and three thread counts j; of T's
    workloads those that p lacks count as the median. x is the metadata, `outside` how far in ln n the thread counts lie
    outside those where A was measured on p. O(R), about 50 profiles of each platform, 8 where there are very many.

    Example: the levels of p are all 2 above those of T, those of q 0 and 1 above: p is nearer, whatever the 2.

    Parameters: `groups`, in which T and the platforms are compared, the first first; `platforms` (R,), ascending, all
    of them not T. Returns (at most R,).
    """
    evaluated = evaluated_curves(database)
    on_target = database.rows_of_platform(query.target)
    on_target = on_target[(evaluated.pattern[on_target] > 0) & np.isin(database.group[on_target], groups)]
    workloads = np.setdiff1d(database.workload_index[on_target], query.workload)
    if not len(workloads):
        return platforms
    columns = evenly_spaced(evaluated.log_n, INDEX_COLUMNS)
    last = evaluated.measured_in(evaluated.pattern[on_target])[-1]
    columns = columns[: max(1, int(np.searchsorted(columns, last, side="right")))]
    columns = columns[evenly_spaced(evaluated.log_n[columns], COLUMNS_OF_A_QUESTION)]
    most_workloads = min(max(MOST_INDEX_PROFILES // len(platforms), FEWEST_INDEX_WORKLOADS), MOST_INDEX_WORKLOADS)
    workloads = workloads[:: -(-len(workloads) // most_workloads)]
    # The row of every pair of a platform and one of the workloads, A last; of several groups the first.
    order, of_workload = database.rows_by_workload()
    chosen = np.append(workloads, query.workload)
    starts, stops = (np.searchsorted(of_workload, chosen, side=side) for side in ("left", "right"))
    rows = np.concatenate([order[start:stop] for start, stop in zip(starts, stops, strict=True)])
    pairs = database.platform_index[rows] * len(chosen) + np.repeat(np.arange(len(chosen)), stops - starts)
    table = np.full((len(database.platforms), len(chosen)), -1)
    usable = (evaluated.pattern[rows] > 0) & ~database.hidden[rows]
    for group in reversed(groups):
        of_group = usable & (database.group[rows] == group)
        table.ravel()[pairs[of_group]] = rows[of_group]
    platforms = platforms[table[platforms, -1] >= 0]
    own, patterns, table = table[query.target, :-1], evaluated.pattern[table[platforms, -1]], table[platforms, :-1]
    gap = (evaluated.at(own, columns)[:, None] - evaluated.at(table, columns)) * (table >= 0)
    shared = np.count_nonzero(table >= 0, axis=1)
    if np.count_nonzero(shared) < most:
        return platforms
    values = np.maximum(shared * len(columns), 1)
    squares, sums = np.einsum("jrb,jrb->r", gap, gap), np.einsum("jrb->r", gap)
    variance = np.maximum(squares / values - (sums / values) ** 2, 0.0)
    lacking = 1.0 - shared / len(workloads)
    typical = float(np.median(variance[shared > 0])) + TINY
    distance = np.where(shared > 0, variance / typical * (1.0 - lacking) + lacking, np.inf)
    distance += PAPER_SHARE * platform_metadata(database).squared_distances(platforms, query.target)
    outside = evaluated.outside[columns].take(patterns, axis=1)
    return platforms[nearest_at_any(distance + outside, most)]


def nearest_at_any(distance: FloatArray, most: int) -> IntArray:
    """The `most` platforms that are nearest at any thread count, by their distances (J, R) there; ascending positions.

    Each thread count in turn has its next nearest: what was measured with one thread alone is evidence there, however
    little it says of other counts.

    >>> nearest_at_any(np.array([[1.0, 2.0, 3.0, 9.0], [9.0, 8.0, 7.0, 1.0]]), most=2).tolist()
    [0, 3]
    """
    rank = distance.argsort(axis=1, kind="stable").argsort(axis=1, kind="stable")
    order = np.lexsort((distance.sum(axis=0), rank.min(axis=0)))
    return np.sort(order[:most])
