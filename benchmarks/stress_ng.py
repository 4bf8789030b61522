"""Which versions of stress-ng were run on the machines that are known: only the same version can be compared."""

from __future__ import annotations

from typing import Any

from django.db.models import Count

from profiles.models import Profile


def stress_ng_versions(user: Any) -> list[dict[str, Any]]:
    """Each version with the number of platforms that the user sees its results of, the most first."""
    rows = Profile.objects.visible_to(user).of_stress_ng()
    counted = rows.values("workload__version").annotate(platforms=Count("platform", distinct=True))
    versions = [{"version": row["workload__version"], "platforms": row["platforms"]} for row in counted]
    return sorted(versions, key=lambda row: (-row["platforms"], row["version"]))
