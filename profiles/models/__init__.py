"""The tables of what was measured and what is derived from it."""

from profiles.models.platforms import Platform
from profiles.models.profiles import CounterReading, FeatureVector, Profile, Run, ScalingCurves
from profiles.models.sources import Revision, Source
from profiles.models.workloads import Workload

__all__ = [
    "CounterReading",
    "FeatureVector",
    "Platform",
    "Profile",
    "Revision",
    "Run",
    "ScalingCurves",
    "Source",
    "Workload",
]
