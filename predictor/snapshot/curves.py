"""What the snapshot leaves in the database, because few answers need it: counters of sequential profiles, and all
curves of one profile."""

from __future__ import annotations

import numpy as np

from predictor.snapshot.building import Snapshot
from profiles.arrays import FloatArray
from profiles.judgement.stored import stored_curves
from profiles.models import Profile
from profiles.scaling.names import CURVE_NAMES, RELATIVE_MEASURES
from profiles.scaling.runs import CurveTable

NEEDED = ("decomposed", "t1_s", "t1_is_stand_in", "curves__n", "curves__values")
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
    stored = Profile.objects.filter(pk__in=list(position)).select_related("curves").only(*NEEDED)
    for profile in stored:
        curves = stored_curves(profile)
        if curves is not None and curves.n[0] == 1:
            measures[position[profile.pk]] = curves.values[RELATIVE_MEASURE_ROWS, 0]
    return measures


def read_stored_curves(snapshot: Snapshot, row: int) -> CurveTable | None:
    """All curves of the profile in that row of the snapshot; None where they are no longer stored. One query."""
    profile = Profile.objects.select_related("curves").filter(pk=int(snapshot.profile_ids[row])).first()
    return None if profile is None else stored_curves(profile)
