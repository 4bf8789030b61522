"""Reading and corrupting the rows that are derived from profiles, for tests."""

import numpy as np

from profiles.ingest.derivation import DERIVED_COLUMNS
from profiles.models import FeatureVector, Profile, ScalingCurves


def derived() -> list[tuple]:
    """Return all values that refit rebuilds, with arrays as bytes."""
    rows = []
    for profile in Profile.objects.select_related("curves", "feature_vector").order_by("pk"):
        columns = tuple(getattr(profile, name) for name in DERIVED_COLUMNS)
        arrays = (
            profile.curves.n,
            profile.curves.values,
            profile.feature_vector.values,
            profile.feature_vector.rms,
        )
        versions = (profile.curves.code_version, profile.feature_vector.code_version)
        rows.append((*columns, *(array.tobytes() for array in arrays), *versions))
    return rows


def corrupt(profiles) -> None:
    keys = list(profiles.values_list("pk", flat=True))
    profiles.update(t1_s=1e9, fit_error=9, n_measured=1, n_min=7, n_largest=7, warnings=["wrong"], t1_is_stand_in=True)
    ScalingCurves.objects.filter(pk__in=keys).update(values=np.zeros(15), code_version="0")
    FeatureVector.objects.filter(pk__in=keys).update(values=np.zeros(84), code_version="0")
