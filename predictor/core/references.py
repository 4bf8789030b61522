"""Choice of the reference profiles of a workload, and of the groups in which profiles are compared."""

from __future__ import annotations

from typing import Literal, TypeAlias

import numpy as np

from predictor.core.answers import Query
from predictor.core.arrays import distinct_codes
from predictor.core.database import Database
from predictor.core.errors import (
    NoBenchmark,
    NoReference,
    NothingComparable,
    TooFewCandidates,
    UnknownTarget,
    UnknownWorkload,
)
from profiles.arrays import IntArray

MixRuntimes: TypeAlias = Literal["auto", "never", "always"]


def check_query(database: Database, query: Query) -> None:
    """Raise UnknownTarget or UnknownWorkload if an index of the query is outside the database."""
    if not 0 <= query.target < len(database.platforms):
        count = len(database.platforms)
        raise UnknownTarget(f"target {query.target} is not one of the {count} machines of this database")
    if not 0 <= query.workload < len(database.workloads):
        count = len(database.workloads)
        raise UnknownWorkload(f"workload {query.workload} is not one of the {count} workloads of this database")


def reference_rows(database: Database, query: Query) -> IntArray:
    """Return the visible rows of A on platforms that may be references, in any group. Raise NoReference if there are
    none."""
    rows = database.rows_of_workload(query.workload)
    if query.references is not None:
        rows = rows[np.isin(database.platform_index[rows], query.references)]
    if not len(rows):
        where = "" if query.references is None else " among the requested references"
        raise NoReference(database.workloads[query.workload], database.platforms[query.target], where)
    return rows


def usable_platforms(database: Database, query: Query) -> IntArray:
    """Return the platforms that may take part: all, or the references of the query."""
    return np.arange(len(database.platforms)) if query.references is None else np.array(query.references, dtype=int)


def choose_group(database: Database, query: Query, rows_pa: IntArray) -> int:
    """Return the group of the query or, if it has none, the group in which A (rows `rows_pa`) has the most reference
    platforms.

    In a tie, decomposed groups are preferred, then the first group.
    """
    if query.group is not None:
        return query.group

    def preference(group: int) -> tuple[int, bool, int]:
        references = database.platform_index[rows_pa[database.group[rows_pa] == group]]
        return -len(distinct_codes(references)), not database.groups[group].decomposed, group

    return min(range(len(database.groups)), key=preference)


def evidence_groups(database: Database, query: Query, rows_pa: IntArray) -> tuple[int, ...]:
    """Return A's group, followed by all others of its origin, because platforms are compared by everything that both
    measured."""
    return groups_of_same_origin(database, choose_group(database, query, rows_pa))


def groups_of_same_origin(database: Database, position: int) -> tuple[int, ...]:
    """Return the group, followed by all others of its origin."""
    origin = database.groups[position].origin
    return (position, *(g for g, group in enumerate(database.groups) if g != position and group.origin == origin))


def feature_groups(database: Database, query: Query, rows_pa: IntArray, mix_runtimes: MixRuntimes) -> tuple[int, ...]:
    """Return A's group, followed by those with features that may be compared with it (Section 3.3).

    `never`: no other group. `always`: the groups that differ in the runtime only. `auto`: no other group if that leaves
    a candidate; else those that differ in the runtime; if these leave no candidate either, all groups of the origin.
    """
    chosen = choose_group(database, query, rows_pa)
    if mix_runtimes == "never" or len(database.groups) == 1:
        return (chosen,)
    evidence = evidence_groups(database, query, rows_pa)
    decomposed = database.groups[chosen].decomposed
    of_any_runtime = tuple(group for group in evidence if database.groups[group].decomposed == decomposed)
    if mix_runtimes == "always":
        return of_any_runtime
    widening = ((chosen,), of_any_runtime, evidence)
    return next((groups for groups in widening if _leaves_candidate(database, query, rows_pa, groups)), evidence)


def _leaves_candidate(database: Database, query: Query, rows_pa: IntArray, groups: tuple[int, ...]) -> bool:
    """Return whether a platform that has A shares a workload with T in these groups."""
    platforms = np.unique(database.platform_index[rows_pa[np.isin(database.group[rows_pa], groups)]])
    rows_t = database.rows_of_platform(query.target)
    workloads = np.unique(database.workload_index[rows_t[np.isin(database.group[rows_t], groups)]])
    return bool((database.lookup(platforms[:, None], workloads, groups) >= 0).any())


def groups_of_query(database: Database, query: Query, settings: object) -> tuple[int, ...]:
    """Return the groups in which a method with these settings looks up rows, empty if A has no reference. Only methods
    that compare features have a choice."""
    try:
        rows_pa = reference_rows(database.without(query.target, query.workload), query)
    except NoReference:
        return ()  # the method refuses with its own message
    mix_runtimes: MixRuntimes | None = getattr(settings, "mix_runtimes", None)
    if mix_runtimes is None:
        return evidence_groups(database, query, rows_pa)
    return feature_groups(database, query, rows_pa, mix_runtimes)


def connecting_rows(
    database: Database, query: Query, rows_pa: IntArray, groups: tuple[int, ...]
) -> tuple[IntArray, IntArray, IntArray, IntArray]:
    """Return the rows that connect A (rows `rows_pa`) with T in these groups: R platforms that have A, B workloads of
    T, the rows of the platforms (R, B + 1), A last, and the rows of T (B,); -1 = none. Raise NoBenchmark or
    NothingComparable if B = 0."""
    platforms = np.unique(database.platform_index[rows_pa[np.isin(database.group[rows_pa], groups)]]).astype(np.int64)
    rows_t = database.rows_of_platform(query.target)
    workloads = np.unique(database.workload_index[rows_t[np.isin(database.group[rows_t], groups)]]).astype(np.int64)
    if not len(workloads):
        raise missing_benchmarks(database, query, groups, rows_t)
    rows_p = database.lookup(platforms[:, None], np.append(workloads, query.workload), groups)
    return platforms, workloads, rows_p, database.lookup(query.target, workloads, groups)


def missing_benchmarks(database: Database, query: Query, groups: tuple[int, ...], rows_t: IntArray) -> TooFewCandidates:
    """Return the refusal for a T without a comparable workload, with a message that names what would help."""
    workload, target = database.workloads[query.workload], database.platforms[query.target]
    wanted = database.groups[groups[0]]
    have = {database.groups[g] for g in np.unique(database.group[rows_t])}
    if not have:
        return NoBenchmark(f"no other workload was measured on {target}")
    if any((g.decomposed, g.origin) == (wanted.decomposed, wanted.origin) for g in have):
        runtimes = ", ".join(sorted(g.runtime or "unknown" for g in have))
        return NothingComparable(
            f"{workload} uses runtime {wanted.runtime or 'unknown'}, "
            f"the workloads measured on {target} use {runtimes}; set mix_runtimes to auto to compare across runtimes"
        )
    kinds = ", ".join(sorted(f"{'decomposed' if g.decomposed else 'time-only'} {g.origin}" for g in have))
    return NothingComparable(
        f"profiles of {workload} are {'decomposed' if wanted.decomposed else 'time-only'} "
        f"{wanted.origin}, those on {target} are {kinds}: set mix_runtimes to auto to compare them"
    )


def architecture_warnings(database: Database, target: int, platforms: IntArray) -> list[str]:
    """Return a warning if no reference has the target's instruction set."""
    architecture = database.platform_table["architecture"]
    isa = architecture[target]
    if not isa or any(architecture[platform] == isa for platform in platforms):
        return []
    return [f"no reference machine has the instruction set of the target ({isa}): expect errors of 30 to 70 %"]


def runtimes_of_rows(database: Database, rows: IntArray) -> list[str]:
    """Return the runtimes of these profiles (-1 = none) in alphabetical order; an unknown one is `unknown`."""
    groups = np.unique(database.group[rows[rows >= 0]])
    return sorted({database.groups[group].runtime or "unknown" for group in groups.tolist()})
