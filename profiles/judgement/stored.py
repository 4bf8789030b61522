"""What is stored of one profile, as arrays that can be computed with: checked again, because rows outlive the code that
wrote them."""

from __future__ import annotations

import numpy as np

from profiles.arrays import FloatArray
from profiles.judgement.usability import STORED_CURVES
from profiles.models import Profile
from profiles.scaling.names import CURVE_NAMES, FEATURE_NAMES
from profiles.scaling.runs import CurveTable
from profiles.scaling.validity import profile_faults, valid_values


def stored_curves(profile: Profile) -> CurveTable | None:
    """The curves of a profile; None before they were derived, and where they cannot be computed with."""
    stored = getattr(profile, "curves", None)
    if stored is None or not len(stored.n) or len(stored.values) != STORED_CURVES * len(stored.n):
        return None
    n = stored.n.astype(np.int64)
    values = stored.values.reshape(STORED_CURVES, len(n))
    t1_s = np.nan if profile.t1_s is None else profile.t1_s
    nothing = np.full((1, len(FEATURE_NAMES)), np.nan)
    if profile_faults(np.array([t1_s]), nothing, np.array([len(n)]), n, values[0]):
        return None
    return CurveTable(
        n=n,
        values=np.vstack([values[:1], valid_values(values[1:])]),
        decomposed=profile.decomposed,
        sequential=n.tolist() == [1],
        t1_s=t1_s,
        t1_is_stand_in=profile.t1_is_stand_in,
    )


def stored_features(profile: Profile) -> tuple[FloatArray, FloatArray]:
    """The 84 elements and 14 residuals; all invalid before the profile has been fitted, and where the row is broken."""
    stored = getattr(profile, "feature_vector", None)
    if stored is None or len(stored.values) != len(FEATURE_NAMES) or len(stored.rms) != len(CURVE_NAMES):
        return np.full(len(FEATURE_NAMES), np.nan), np.full(len(CURVE_NAMES), np.nan)
    return valid_values(stored.values), valid_values(stored.rms)
