"""Which versions of stress-ng were run on the machines that are known: only the same version can be compared."""

from __future__ import annotations

from typing import Any

from django.db.models import Count

from benchmarks.public_data.sparecores import stress_ng_workload
from profiles.models import Profile

COUNTED_STRESSORS = ("cpu", "cpu-div16")


def stress_ng_versions(user: Any) -> list[dict[str, Any]]:
    """Each version with the number of platforms that the user sees its results of, the most first. Counted by the two
    stressors that every fleet ran."""
    names = [stress_ng_workload(stressor, "").name for stressor in COUNTED_STRESSORS]
    rows = Profile.objects.visible_to(user).filter(workload__name__in=names, workload__version__isnull=False)
    counted = rows.order_by().values("workload__version").annotate(platforms=Count("platform", distinct=True))
    versions = [{"version": row["workload__version"], "platforms": row["platforms"]} for row in counted]
    return sorted(versions, key=lambda row: (-row["platforms"], row["version"]))
