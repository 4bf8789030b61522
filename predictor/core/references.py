"""Which profiles of the workload may be references, and in which groups profiles are compared."""

from __future__ import annotations

import numpy as np

from predictor.core.answers import Query
from predictor.core.database import Database
from predictor.core.errors import NoReference, UnknownTarget, UnknownWorkload
from profiles.arrays import IntArray


def check_query(database: Database, query: Query) -> None:
    """Raise UnknownTarget or UnknownWorkload where an index is outside the database."""
    if not 0 <= query.target < len(database.platforms):
        raise UnknownTarget(query.target, len(database.platforms))
    if not 0 <= query.workload < len(database.workloads):
        raise UnknownWorkload(query.workload, len(database.workloads))


def reference_rows(database: Database, query: Query) -> IntArray:
    """Visible rows of A on platforms that may be references, in any group. Raises NoReference where there is none."""
    rows = database.rows_of_workload(query.workload)
    if query.references is not None:
        rows = rows[np.isin(database.platform_index[rows], query.references)]
    if not len(rows):
        where = "" if query.references is None else " among the references that were asked for"
        raise NoReference(workload_slug(database, query), database.platforms[query.target], where)
    return rows


def choose_groups(database: Database, query: Query, rows_pa: IntArray, mix_runtimes: bool) -> tuple[int, ...]:
    """The group of the query, and with it, where runtimes are mixed, those that differ in nothing else.

    Without a group in the query: the one in which A (rows `rows_pa`) has the most reference platforms; of several
    such ones a decomposed one, then the first.
    """
    options = range(len(database.groups)) if query.group is None else [query.group]
    if len(options) == 1:
        return groups_compared_with(database, options[0], mix_runtimes)
    merged = {g: groups_compared_with(database, g, mix_runtimes) for g in options}

    def preference(g: int) -> tuple[int, bool, int]:
        references = database.platform_index[rows_pa[np.isin(database.group[rows_pa], merged[g])]]
        return -len(np.unique(references)), not database.groups[g].decomposed, g

    return merged[min(options, key=preference)]


def groups_compared_with(database: Database, group: int, mix_runtimes: bool) -> tuple[int, ...]:
    """The group, and where runtimes are mixed, behind it those that differ from it in the runtime alone."""
    if not mix_runtimes:
        return (group,)
    kept = database.groups[group]
    others = [
        g
        for g, other in enumerate(database.groups)
        if g != group and (other.decomposed, other.origin) == (kept.decomposed, kept.origin)
    ]
    return (group, *others)


def explain_missing_benchmarks(database: Database, query: Query, groups: tuple[int, ...], rows_t: IntArray) -> str:
    """Why T has no workload to compare with, in words that say what would help."""
    target, wanted = database.platforms[query.target], database.groups[groups[0]]
    have = {database.groups[g] for g in np.unique(database.group[rows_t])}
    if not have:
        return f"no other workload was measured on {target}"
    if any((g.decomposed, g.origin) == (wanted.decomposed, wanted.origin) for g in have):
        runtimes = ", ".join(sorted(g.runtime or "unknown" for g in have))
        return (
            f"{workload_slug(database, query)} uses runtime {wanted.runtime or 'unknown'}, "
            f"the workloads measured on {target} use {runtimes}; set mix_runtimes to compare across runtimes"
        )
    kinds = ", ".join(sorted(f"{'decomposed' if g.decomposed else 'time-only'} {g.origin}" for g in have))
    return (
        f"profiles of {workload_slug(database, query)} are {'decomposed' if wanted.decomposed else 'time-only'} "
        f"{wanted.origin}, those on {target} are {kinds}: not comparable"
    )


def comparability_warnings(database: Database, target: int, platforms: IntArray, groups: tuple[int, ...]) -> list[str]:
    """Why the profiles of these references may not compare with the target's: instruction set, runtimes."""
    warnings = []
    architecture = database.platform_table["architecture"]
    isa = architecture[target]
    if isa and all(architecture[platform] != isa for platform in platforms):
        warnings.append(
            f"no reference platform has the instruction set of {database.platforms[target]} ({isa}): "
            "expect errors of 30 to 70 %"
        )
    runtimes = sorted({database.groups[group].runtime or "unknown" for group in groups})
    if len(runtimes) > 1:
        warnings.append(f"profiles of different runtimes are compared: {', '.join(runtimes)}")
    return warnings


def workload_slug(database: Database, query: Query) -> str:
    """The slug of A."""
    return database.workloads[query.workload]
