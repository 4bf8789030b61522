"""Rows created directly in the database, without runs, for tests that read any number of profiles."""

import numpy as np

from profiles.models import FeatureVector, Platform, Profile, Revision, ScalingCurves, Source, Workload

CURVE_N = np.array([1, 2, 4, 8], dtype=np.int32)


def store_source(owner=None, origin="measured", private=False, label="rows", **fields) -> Source:
    count = Source.objects.count()
    return Source.objects.create(
        kind="dataset",
        origin=origin,
        label=label,
        sha256=f"{count:064x}",
        owner=owner,
        private_to=owner if private else None,
        **fields,
    )


def store_platforms(names, private_to=None, **fields) -> list[Platform]:
    values = {"cpu_model": "Example", "n_max": 8, "architecture": "x86_64"} | fields
    return Platform.objects.bulk_create(
        [
            Platform(slug=name, identity=name, spelling=name, name=name.upper(), private_to=private_to, **values)
            for name in names
        ]
    )


def store_workloads(names, private_to=None, **fields) -> list[Workload]:
    return Workload.objects.bulk_create(
        [
            Workload(slug=name, identity=name, spelling=name, name=name.upper(), private_to=private_to, **fields)
            for name in names
        ]
    )


def store_profiles(
    source, pairs, *, seed=0, n=CURVE_N, decomposed=False, only_adds=False, first_key=None
) -> list[Profile]:
    """Store a profile for each pair (platform, workload), and raise the revision of the users who may see them.

    With `first_key`, the primary keys are consecutive numbers from it on.
    """
    rng = np.random.default_rng(seed)
    seconds = rng.uniform(1, 2, len(pairs))
    profiles = Profile.objects.bulk_create(
        [
            Profile(
                pk=None if first_key is None else first_key + i,
                platform=platform,
                workload=workload,
                source=source,
                origin=source.origin,
                private_to=source.private_to,
                decomposed=decomposed,
                t1_s=t1_s,
                n_measured=len(n),
                n_min=n[0],
                n_largest=n[-1],
                fit_error=0.05,
            )
            for i, ((platform, workload), t1_s) in enumerate(zip(pairs, seconds, strict=True))
        ],
        batch_size=2000,
    )
    values = np.ones((15, len(n)))
    ScalingCurves.objects.bulk_create(
        [
            ScalingCurves(profile=profile, n=n, values=np.vstack([t1_s / n, values[1:]]).ravel(), code_version="1")
            for profile, t1_s in zip(profiles, seconds, strict=True)
        ],
        batch_size=2000,
    )
    features = rng.uniform(size=(len(pairs), 84))
    FeatureVector.objects.bulk_create(
        [
            FeatureVector(profile=profile, values=vector, rms=np.zeros(14), code_version="1")
            for profile, vector in zip(profiles, features, strict=True)
        ],
        batch_size=2000,
    )
    Revision.raise_for(source.private_to, only_adds=only_adds)
    return profiles
