"""Which profiles of the workload may be references, and in which groups profiles are compared."""

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
    """Raise UnknownTarget or UnknownWorkload where an index is outside the database."""
    if not 0 <= query.target < len(database.platforms):
        count = len(database.platforms)
        raise UnknownTarget(f"target {query.target} is not one of the {count} machines of this database")
    if not 0 <= query.workload < len(database.workloads):
        count = len(database.workloads)
        raise UnknownWorkload(f"workload {query.workload} is not one of the {count} workloads of this database")


def reference_rows(database: Database, query: Query) -> IntArray:
    """Visible rows of A on platforms that may be references, in any group. Raises NoReference where there is none."""
    rows = database.rows_of_workload(query.workload)
    if query.references is not None:
        rows = rows[np.isin(database.platform_index[rows], query.references)]
    if not len(rows):
        where = "" if query.references is None else " among the references that were asked for"
        raise NoReference(database.workloads[query.workload], database.platforms[query.target], where)
    return rows


def usable_platforms(database: Database, query: Query) -> IntArray:
    """The platforms that may take part: all, or the references that the query names."""
    return np.arange(len(database.platforms)) if query.references is None else np.array(query.references, dtype=int)


def choose_group(database: Database, query: Query, rows_pa: IntArray) -> int:
    """The group of the query; without one, that in which A (rows `rows_pa`) has the most reference platforms.

    Of several such ones a decomposed one, then the first.
    """
    if query.group is not None:
        return query.group

    def preference(group: int) -> tuple[int, bool, int]:
        references = database.platform_index[rows_pa[database.group[rows_pa] == group]]
        return -len(distinct_codes(references)), not database.groups[group].decomposed, group

    return min(range(len(database.groups)), key=preference)


def evidence_groups(database: Database, query: Query, rows_pa: IntArray) -> tuple[int, ...]:
    """A's group, and behind it all others of its origin: how platforms compare follows from all that both measured."""
    return groups_beside(database, choose_group(database, query, rows_pa))


def groups_beside(database: Database, own: int) -> tuple[int, ...]:
    """The group, and behind it all others of its origin."""
    origin = database.groups[own].origin
    return (own, *(g for g, group in enumerate(database.groups) if g != own and group.origin == origin))


def feature_groups(database: Database, query: Query, rows_pa: IntArray, mix_runtimes: MixRuntimes) -> tuple[int, ...]:
    """A's group, and behind it those whose features may stand in one distance with it (Section 3.3).

    `never`: no other. `always`: those that differ in nothing but the runtime. `auto`: no other where that leaves a
    candidate; else those that differ in the runtime; where they leave none either, all.
    """
    own = choose_group(database, query, rows_pa)
    if mix_runtimes == "never" or len(database.groups) == 1:
        return (own,)
    every = evidence_groups(database, query, rows_pa)
    decomposed = database.groups[own].decomposed
    of_any_runtime = tuple(group for group in every if database.groups[group].decomposed == decomposed)
    if mix_runtimes == "always":
        return of_any_runtime
    widening = ((own,), of_any_runtime, every)
    return next((groups for groups in widening if _leaves_candidate(database, query, rows_pa, groups)), every)


def _leaves_candidate(database: Database, query: Query, rows_pa: IntArray, groups: tuple[int, ...]) -> bool:
    """Whether a platform that has A shares a workload with T, in these groups."""
    platforms = np.unique(database.platform_index[rows_pa[np.isin(database.group[rows_pa], groups)]])
    rows_t = database.rows_of_platform(query.target)
    workloads = np.unique(database.workload_index[rows_t[np.isin(database.group[rows_t], groups)]])
    return bool((database.lookup(platforms[:, None], workloads, groups) >= 0).any())


def groups_of_query(database: Database, query: Query, settings: object) -> tuple[int, ...]:
    """The groups that a method with these settings looks rows up in: only those that compare features choose. None
    where A has no reference."""
    try:
        rows_pa = reference_rows(database.without(query.target, query.workload), query)
    except NoReference:
        return ()  # the method says so itself, in its own words
    mix_runtimes: MixRuntimes | None = getattr(settings, "mix_runtimes", None)
    if mix_runtimes is None:
        return evidence_groups(database, query, rows_pa)
    return feature_groups(database, query, rows_pa, mix_runtimes)


def connecting_rows(
    database: Database, query: Query, rows_pa: IntArray, groups: tuple[int, ...]
) -> tuple[IntArray, IntArray, IntArray, IntArray]:
    """What connects A (rows `rows_pa`) with T in these groups: R platforms that have A, B workloads of T, and the rows
    of the platforms (R, B + 1), A last, and of T (B,); -1 = none. Raises NoBenchmark or NothingComparable where B = 0.
    """
    platforms = np.unique(database.platform_index[rows_pa[np.isin(database.group[rows_pa], groups)]]).astype(np.int64)
    rows_t = database.rows_of_platform(query.target)
    workloads = np.unique(database.workload_index[rows_t[np.isin(database.group[rows_t], groups)]]).astype(np.int64)
    if not len(workloads):
        raise missing_benchmarks(database, query, groups, rows_t)
    rows_p = database.lookup(platforms[:, None], np.append(workloads, query.workload), groups)
    return platforms, workloads, rows_p, database.lookup(query.target, workloads, groups)


def missing_benchmarks(database: Database, query: Query, groups: tuple[int, ...], rows_t: IntArray) -> TooFewCandidates:
    """The refusal where T has no workload to compare with, in words that say what would help."""
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
    """A sentence where none of the references has the target's instruction set."""
    architecture = database.platform_table["architecture"]
    isa = architecture[target]
    if not isa or any(architecture[platform] == isa for platform in platforms):
        return []
    return [
        f"no reference machine has the instruction set of {database.platforms[target]} ({isa}): "
        "expect errors of 30 to 70 %"
    ]


def runtimes_of_rows(database: Database, rows: IntArray) -> list[str]:
    """The runtimes of these profiles (-1 = none), in alphabetical order; one that nobody named is `unknown`."""
    groups = np.unique(database.group[rows[rows >= 0]])
    return sorted({database.groups[group].runtime or "unknown" for group in groups.tolist()})
