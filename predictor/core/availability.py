"""On which platforms a workload can be predicted, and what is missing on the others."""

from __future__ import annotations

import numpy as np

from predictor.core.curves import evaluated_curves
from predictor.core.database import Database
from predictor.core.errors import NoBenchmark, NoReference, NothingComparable, NothingShared
from profiles.arrays import BoolArray, IntArray

# In the order of the checks of `gather_evidence`.
LACKS = ("", NoReference.lacks, NoBenchmark.lacks, NothingComparable.lacks, NothingShared.lacks)


def lacks_by_target(database: Database, workload: int) -> tuple[str, ...]:
    """Return what is missing to predict A on each platform, as the keywords of the errors (P,); empty if nothing is
    missing.

    T can be predicted if a reference P != T has A, and P and T share a workload B != A, of one origin and with times.
    O(N) for N profiles, independent of the number of platforms.

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
    """Return for which workloads and platforms (W, P) `lacks_by_target` finds nothing missing.

    The condition is a benchmark B != A that both T and a reference have: with H (W, P) the usable profiles of an origin
    and G = H H^T the number of platforms that have both workloads, A can be predicted on T if sum_B (G_AB > H_AT) H_BT
    > 0. This takes O(W^2 P) instead of W times O(N).
    """
    usable = ~database.hidden & (evaluated_curves(database).pattern[: len(database)] > 0)
    codes = _origin_codes(database)
    found = np.zeros((len(database.workloads), len(database.platforms)), dtype=bool)
    for origin in np.unique(codes).tolist():
        rows = usable & (codes[database.group] == origin)
        has = np.zeros(found.shape, dtype=np.float32)
        has[database.workload_index[rows], database.platform_index[rows]] = 1
        pairs = has @ has.T
        np.fill_diagonal(pairs, 0)
        shared = np.where(has > 0, (pairs > 1).astype(np.float32) @ has, (pairs > 0).astype(np.float32) @ has) > 0
        if len(np.unique(codes)) > 1:
            groups = np.array([groups_of_targets(database, workload) for workload in range(len(found))])
            shared &= np.where(groups >= 0, np.append(codes, -1)[groups], -1) == origin
        found |= shared
    return found


def _origin_codes(database: Database) -> IntArray:
    """Return the origin of each group, as the index of the first group that has it (G,)."""
    origins = [group.origin for group in database.groups]
    return np.array([origins.index(origin) for origin in origins], dtype=np.int64)


def groups_of_targets(database: Database, workload: int) -> IntArray:
    """Return for each target the group in which A has the most references, chosen as in `choose_group` (P,); -1 =
    none."""
    rows = database.rows_of_workload(workload)
    has_a = np.zeros((len(database.platforms), len(database.groups)), dtype=np.int64)
    has_a[database.platform_index[rows], database.group[rows]] = 1
    counts = has_a.sum(axis=0) - has_a  # without T's own profile
    order = sorted(range(len(database.groups)), key=lambda g: (not database.groups[g].decomposed, g))
    if not order:
        return np.full(len(database.platforms), -1)
    chosen = np.array(order)[counts[:, order].argmax(axis=1)]
    return np.where(counts.any(axis=1), chosen, -1)


def _lacks_in_origin(database: Database, workload: int, origin: int) -> IntArray:
    """Return the result of `lacks_by_target` for the profiles of this origin, as indices of LACKS (P,)."""
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
