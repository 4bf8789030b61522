"""What a reader must know before trusting an answer, beside what the method says of it itself."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from profiles.models import Platform

if TYPE_CHECKING:
    from predictor.predictions.basis import Basis

FEW_DIMENSIONS = 4
MANY_OUTSIDE = 0.5  # of a profile's elements
POOR_FIT = 0.25
NAMED = 3


def cautions(basis: Basis) -> list[str]:
    found = [simulated(basis), virtualised(basis)]
    if not (basis.scenario.uses_only_n1_of_workload or basis.outcome.is_measured):
        found += [poor_fit(basis), few_dimensions(basis), outside_candidates(basis)]
    return [caution for caution in found if caution]


def simulated(basis: Basis) -> str:
    took_part = basis.snapshot.is_simulated[basis.rows]
    if not took_part.any():
        return ""
    return "simulated profiles took part" + ("" if took_part.all() else ", mixed with measured ones")


def virtualised(basis: Basis) -> str:
    """Virtual machines share what they run on: their times vary with their neighbours."""
    slugs = [basis.snapshot.database.platforms[at] for at in basis.reference_platforms]
    rows = Platform.objects.filter(slug__in=slugs, virtualised=True).order_by("slug")
    virtual = list(rows.values_list("slug", flat=True))
    return f"virtualised references, whose times vary with their neighbours: {listed(virtual)}" if virtual else ""


def poor_fit(basis: Basis) -> str:
    rows = basis.reference_rows
    poor = rows[np.nan_to_num(basis.snapshot.fit_error[rows]) > POOR_FIT]
    if not len(poor):
        return ""
    database = basis.snapshot.database
    names = [database.platforms[at] for at in database.platform_index[poor].tolist()]
    return f"the fit error of the workload is over {POOR_FIT:.0%} on {listed(names)}"


def few_dimensions(basis: Basis) -> str:
    """Few elements that are valid in both look near by chance."""
    common = [(~np.isnan(own) & ~np.isnan(others)).sum(axis=1) for own, others in compared(basis)]
    dimensions = float(np.median(np.concatenate(common))) if common else np.inf
    if dimensions >= FEW_DIMENSIONS:
        return ""
    return f"few valid dimensions: the workload and its candidates share {dimensions:g} elements"


def outside_candidates(basis: Basis) -> str:
    """Where the workload behaves as no candidate does on the same platform, interpolation is extrapolation."""
    outside, valid = 0, 0
    for own, others in compared(basis):
        low, high = np.fmin.reduce(others, axis=0), np.fmax.reduce(others, axis=0)
        known = ~np.isnan(own) & ~np.isnan(low)
        outside += int(((own < low) | (own > high))[known].sum())
        valid += int(known.sum())
    if not valid or outside / valid <= MANY_OUTSIDE:
        return ""
    return f"extrapolation: {outside / valid:.0%} of the workload's elements lie outside those of all candidates"


def compared(basis: Basis) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """The elements of (P,A) (84,) and of the candidates (P,B) (K, 84), for every reference P."""
    database = basis.snapshot.database
    position = {slug: at for at, slug in enumerate(database.workloads)}
    of_platform: dict[str, set[int]] = {}
    for candidate in basis.candidates:
        of_platform.setdefault(candidate.platform, set()).add(position[candidate.workload])
    for row in basis.reference_rows.tolist():
        platform = int(database.platform_index[row])
        workloads = sorted(of_platform.get(database.platforms[platform], ()))
        rows = database.lookup(platform, workloads, basis.groups) if workloads else np.zeros(0, dtype=np.int64)
        rows = rows[rows >= 0]
        if len(rows):
            yield database.features[row], database.features[rows]


def listed(names: list[str]) -> str:
    return ", ".join(names[:NAMED]) + (f" and {len(names) - NAMED} more" if len(names) > NAMED else "")
