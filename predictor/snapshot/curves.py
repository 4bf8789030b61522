"""What the snapshot leaves in the database, because few answers need it: counters of sequential profiles, and all
curves of one profile."""

from __future__ import annotations

import numpy as np

from predictor.snapshot.building import Snapshot
from profiles.arrays import FloatArray
from profiles.models import Profile, ScalingCurves
from profiles.scaling.names import CURVE_NAMES, RELATIVE_MEASURES
from profiles.scaling.runs import CurveTable

RELATIVE_MEASURE_ROWS = slice(1 + CURVE_NAMES.index(next(iter(RELATIVE_MEASURES))), None)


def read_measures_at_one(snapshot: Snapshot) -> FloatArray | None:
    """The relative measures at n = 1 of the rows that have no features (N, 7), NaN elsewhere; once per snapshot."""
    measures: FloatArray | None = snapshot.database.derive(("measures at one",), lambda: _read(snapshot))
    return measures


def _read(snapshot: Snapshot) -> FloatArray | None:
    rows = np.flatnonzero(np.isnan(snapshot.database.features).all(axis=1))
    if not len(rows):
        return None
    position = dict(zip(snapshot.profile_ids[rows].tolist(), rows.tolist(), strict=True))
    measures = np.full((len(snapshot.database), len(RELATIVE_MEASURES)), np.nan)
    stored = ScalingCurves.objects.filter(profile_id__in=list(position)).values_list("profile_id", "n", "values")
    for profile, n, values in stored:
        single_thread = np.flatnonzero(np.asarray(n) == 1)
        if len(single_thread):
            measures[position[profile]] = np.asarray(values).reshape(-1, len(n))[
                RELATIVE_MEASURE_ROWS, single_thread[0]
            ]
    return measures


def read_stored_curves(snapshot: Snapshot, row: int) -> CurveTable:
    """All curves of the profile in that row of the snapshot. One query."""
    profile = Profile.objects.select_related("curves").get(pk=int(snapshot.profile_ids[row]))
    n = np.asarray(profile.curves.n, dtype=np.int64)
    return CurveTable(
        n=n,
        values=np.asarray(profile.curves.values).reshape(-1, len(n)),
        decomposed=profile.decomposed,
        sequential=n.tolist() == [1],
        t1_s=float(snapshot.database.t1_s[row]),
        t1_is_stand_in=profile.t1_is_stand_in,
    )
