"""Arrays in a column."""

import numpy as np
import pytest

from profiles.models import FeatureVector, Profile, Source, Workload
from tests.profiles.models.test_platforms import platform

pytestmark = pytest.mark.django_db


def test_arrays_come_back_as_they_were_with_their_invalid_elements():
    workload = Workload.objects.create(slug="w", identity="w", spelling="w", name="w")
    source = Source.objects.create(kind="tarball", origin="measured", label="x", sha256="0")
    profile = Profile.objects.create(
        platform=platform(), workload=workload, source=source, origin="measured", decomposed=False,
        n_measured=1, n_min=1, n_largest=1,
    )  # fmt: skip
    values = np.array([1.5, np.nan, -0.0, 1e-300])
    FeatureVector.objects.create(profile=profile, values=values, rms=values[:1], code_version="1")
    stored = FeatureVector.objects.get().values
    assert stored.tobytes() == values.tobytes()
