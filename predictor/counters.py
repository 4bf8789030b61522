"""Counters of sequential profiles: they have no fitted features, so that the snapshot does not hold them."""

from __future__ import annotations

import numpy as np

from predictor.core.database import FloatArray
from predictor.snapshot import Snapshot
from profiles.models import ScalingCurves
from profiles.scaling.names import CURVE_NAMES, RELATIVE_MEASURES

FIRST = 1 + CURVE_NAMES.index(next(iter(RELATIVE_MEASURES)))


def at_one(snapshot: Snapshot) -> FloatArray | None:
    """The relative measures at n = 1 of the rows that have no features (N, 7), NaN elsewhere; once per snapshot."""
    found: FloatArray | None = snapshot.database.derive(("counted",), lambda: _read(snapshot))
    return found


def _read(snapshot: Snapshot) -> FloatArray | None:
    rows = np.flatnonzero(np.isnan(snapshot.database.features).all(axis=1))
    if not len(rows):
        return None
    position = dict(zip(snapshot.profile_ids[rows].tolist(), rows.tolist(), strict=True))
    measures = np.full((len(snapshot.database), len(RELATIVE_MEASURES)), np.nan)
    for curves in ScalingCurves.objects.filter(profile_id__in=list(position)):
        values = curves.values.reshape(-1, len(curves.n))
        at = np.flatnonzero(curves.n == 1)
        if len(at):
            measures[position[curves.profile_id]] = values[FIRST:, at[0]]
    return measures
