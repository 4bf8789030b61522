"""Requests for every page and every API address after a campaign."""

from __future__ import annotations

import re
from urllib.parse import urlencode

from benchmarks.models import Upload
from lab.hostile.attack import Campaign, profile_addresses
from lab.hostile.mutations import API, published_paths
from predictor.models import Evaluation, Prediction
from profiles.models import Platform, Profile, Workload
from tests.browser.walk import Walk

SWEPT_PROFILES = 100
OTHERS = ("tokens/", "docs/")
UNPREDICTABLE = {"program-measure-next"}  # its program is measured, but all platforms of the demo are simulated


def sweep(campaign: Campaign, walk: Walk) -> int:
    """Visit every page, every API address, every platform and every workload. Returns the number of requests."""
    before = campaign.figures.requests
    for name, address, signed in walk.everywhere():
        campaign.visit(address, f"all ({name})", signed, (200, 302, 422) if name in UNPREDICTABLE else (200, 302))
    profiles = list(Profile.objects.visible_to(None).select_related("platform", "workload").order_by("pk"))
    for profile in profiles[-SWEPT_PROFILES:]:
        for address in profile_addresses(str(profile.uid), profile.platform.slug, profile.workload.slug)[4:9]:
            campaign.visit(address, "all")
    for address in api_addresses(profiles[0]):
        campaign.visit(address, "all", signed=True)
    for kind, model in (("platforms", Platform), ("workloads", Workload)):
        for slug in model.objects.visible_to(None).values_list("slug", flat=True):
            campaign.visit(f"/{kind}/{slug}/", "all")
            campaign.visit(f"{API}{kind}/{slug}/", "all")
    return campaign.figures.requests - before


def api_addresses(profile: Profile) -> list[str]:
    """Return every GET path of the published schema with its required parameters, about this profile."""
    workload, target = profile.workload.slug, profile.platform.slug
    seen = Profile.objects.visible_to(None).order_by("pk")
    platforms = list(seen.filter(workload=profile.workload).values_list("platform__slug", flat=True)[:2])
    workloads = list(seen.filter(platform=profile.platform).values_list("workload__slug", flat=True)[:2])
    uploads = Upload.objects.filter(status=Upload.Status.ACCEPTED, visibility=Upload.Visibility.PUBLIC)
    arguments = {
        "platforms": [target],
        "workloads": [workload],
        "profiles": [profile.uid],
        "scaling-models": ["usl"],
        "predictions": Prediction.objects.visible_to(None).values_list("uid", flat=True)[:1],
        "evaluations": Evaluation.objects.values_list("uid", flat=True)[:1],
        "uploads": uploads.values_list("uid", flat=True)[:1],
    }
    addresses = []
    for path, required in published_paths():
        kind, pair = path.removeprefix(API).split("/")[0], platforms if "platforms" in path else workloads
        if "{" in path and not arguments.get(kind):
            continue
        values = {"workload": workload, "target": target, "a": pair[0], "b": pair[-1], "on": target}
        values |= {"slugs": ",".join(pair), "platform": target, "profile": str(profile.uid)}
        query = urlencode({name: values[name] for name in required})
        address = re.sub(r"\{\w+\}", lambda _, kind=kind: str(arguments[kind][0]), path)
        addresses.append(f"{address}?{query}" if query else address)
    return addresses
