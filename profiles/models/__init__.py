"""Models of measured and derived data."""

from profiles.models.base import LeasedQuerySet, LeasedWork, held
from profiles.models.moderation import ModerationEntry, VisitorReport
from profiles.models.platforms import Platform
from profiles.models.prices import OwnPrice, OwnPriceList, Price, PriceOfPlatform
from profiles.models.profiles import CounterReading, FeatureVector, Profile, Run, ScalingCurves
from profiles.models.sources import (
    FormerSlug,
    PlatformDescription,
    Revision,
    Source,
    StagedDelivery,
    VerdictChange,
    WithdrawnSource,
    WorkloadDescription,
)
from profiles.models.workloads import RegionLabel, Workload

__all__ = [
    "CounterReading",
    "FeatureVector",
    "FormerSlug",
    "LeasedQuerySet",
    "LeasedWork",
    "ModerationEntry",
    "OwnPrice",
    "OwnPriceList",
    "Platform",
    "PlatformDescription",
    "Price",
    "PriceOfPlatform",
    "Profile",
    "RegionLabel",
    "Revision",
    "Run",
    "ScalingCurves",
    "Source",
    "StagedDelivery",
    "VerdictChange",
    "VisitorReport",
    "WithdrawnSource",
    "Workload",
    "WorkloadDescription",
    "held",
]
