"""What a reader must know before trusting an answer, beside what the method says of it itself."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from profiles.models import Platform
from profiles.scaling.wording import whole_percent

if TYPE_CHECKING:
    from predictor.core.database import Database
    from predictor.predictions.basis import Basis
    from predictor.snapshot.building import Snapshot

FEW_DIMENSIONS = 4
MANY_OUTSIDE = 0.5  # of a profile's elements
POOR_FIT = 0.25
MOST_NAMES = 3


def cautions(basis: Basis) -> list[str]:
    sentences = [
        simulated_caution(basis),
        virtualised_caution(basis),
        *measurement_cautions(basis.snapshot, basis.evidence_rows),
    ]
    if not (basis.scenario.uses_only_n1_of_workload or basis.outcome.is_measured):
        sentences += [poor_fit_caution(basis), few_dimensions_caution(basis), extrapolation_caution(basis)]
    return [caution for caution in sentences if caution]


def simulated_caution(basis: Basis) -> str:
    took_part = basis.snapshot.is_simulated[basis.rows]
    if not took_part.any():
        return ""
    return "simulated profiles took part" + ("" if took_part.all() else ", mixed with measured ones")


def virtualised_caution(basis: Basis) -> str:
    """Virtual machines share what they run on: their times vary with their neighbours."""
    slugs = [basis.snapshot.database.platforms[platform] for platform in basis.reference_platforms]
    rows = Platform.objects.filter(slug__in=slugs, virtualised=True).order_by("slug")
    virtual = list(rows.values_list("slug", flat=True))
    return f"virtualised references, whose times vary with their neighbours: {join_names(virtual)}" if virtual else ""


def measurement_cautions(snapshot: Snapshot, rows: np.ndarray) -> list[str]:
    """What is to be said of the measurements in these rows, wherever an answer rests on them."""
    sentences = (load_caution(snapshot, rows), single_run_caution(snapshot.database, rows))
    return [sentence for sentence in sentences if sentence]


def single_run_caution(database: Database, rows: np.ndarray) -> str:
    """Where some of these rows were measured once, as by `make quick`, and others were repeated. Where nothing was
    repeated the width that the interval was given by the errors of predictions holds that noise."""
    once = rows[np.isnan(database.standard_error[rows])]
    if not len(once) or len(once) == len(rows):
        return ""
    names = [database.platforms[platform] for platform in np.unique(database.platform_index[once]).tolist()]
    return (
        f"measured once: {len(once)} of {len(rows)} profiles, on {join_names(names)}; the interval takes them to be as "
        "noisy as repeated ones"
    )


def load_caution(snapshot: Snapshot, rows: np.ndarray) -> str:
    """Where other programs ran beside what was measured in these rows: their times are too long, and nobody knows by
    how much."""
    disturbed = rows[np.nan_to_num(snapshot.disturbed_count[rows]) > 0]
    if not len(disturbed):
        return ""
    database = snapshot.database
    judged = rows[~np.isnan(snapshot.disturbed_count[rows])]
    counts = (int(np.nansum(column[judged])) for column in (snapshot.disturbed_count, snapshot.run_count))
    names = [database.platforms[platform] for platform in np.unique(database.platform_index[disturbed]).tolist()]
    return "measured under load: other programs disturbed {} of {} runs on ".format(*counts) + join_names(names)


def poor_fit_caution(basis: Basis) -> str:
    rows = basis.reference_rows
    poor = rows[np.nan_to_num(basis.snapshot.fit_error[rows]) > POOR_FIT]
    if not len(poor):
        return ""
    database = basis.snapshot.database
    names = [database.platforms[platform] for platform in database.platform_index[poor].tolist()]
    return f"the fit error of the workload is over {whole_percent(POOR_FIT)} on {join_names(names)}"


def few_dimensions_caution(basis: Basis) -> str:
    """Profiles that share few valid elements look near by chance."""
    common = [(~np.isnan(own) & ~np.isnan(others)).sum(axis=1) for own, others in features_with_candidates(basis)]
    dimensions = float(np.median(np.concatenate(common))) if common else np.inf
    if dimensions >= FEW_DIMENSIONS:
        return ""
    return f"few valid dimensions: the workload and those compared with it share {dimensions:g} elements"


def extrapolation_caution(basis: Basis) -> str:
    """Where the workload behaves as no candidate does on the same platform, interpolation is extrapolation."""
    outside, valid = 0, 0
    for own, others in features_with_candidates(basis):
        low, high = np.fmin.reduce(others, axis=0), np.fmax.reduce(others, axis=0)
        comparable = ~np.isnan(own) & ~np.isnan(low)
        outside += int(((own < low) | (own > high))[comparable].sum())
        valid += int(comparable.sum())
    if not valid or outside / valid <= MANY_OUTSIDE:
        return ""
    share = whole_percent(outside / valid)
    return f"extrapolation: {share} of the workload's elements lie outside those of all compared workloads"


def features_with_candidates(basis: Basis) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """The elements of (P,A) (84,) and of the candidates (P,B) (K, 84), for every reference P."""
    database = basis.snapshot.database
    position = {slug: index for index, slug in enumerate(database.workloads)}
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


def join_names(names: list[str]) -> str:
    return ", ".join(names[:MOST_NAMES]) + (f" and {len(names) - MOST_NAMES} more" if len(names) > MOST_NAMES else "")
