"""Every page and API address about one profile, and the checks of their responses."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from functools import cache
from typing import Any
from urllib.parse import urlencode

from django.test import Client
from django.urls import reverse
from drf_spectacular.generators import SchemaGenerator

from predictor.comparisons import FEWEST_COMPARED
from predictor.core.methods import METHODS
from predictor.extrapolation.questions import OFFERED_MODELS
from predictor.predictions.question import DEFAULT_METHOD
from profiles.models import Profile
from tests.mpet_site.api_samples import API, read, strict_json

LARGEST_ANSWER = 8 << 20  # bytes
REFUSED = 422
EVERY_METHOD = "MPET_HOSTILE_EXAMPLES" in os.environ
OTHERS = {"account", "tokens", "uploads", "kit", "evaluations"}  # API paths that do not depend on profiles
OFFERED_CHANGES: tuple[dict[str, Any], ...] = (
    {"platform_changes": {"n_max": 3}},
    {"platform_changes": {"n_max": 4096}},
    {"platform_changes": {"n_ht": 2, "n_nu": 1}},
    {"workload_changes": {"work": 0.5, "redundancy": 2.0}},
)


@cache
def readable_paths() -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Return each path of the published schema that has a GET operation, with its required query parameters."""
    paths = SchemaGenerator().get_schema(request=None, public=True)["paths"]
    return tuple(
        (path, tuple(given["name"] for given in what["get"].get("parameters", ()) if needed_in_query(given)))
        for path, what in paths.items()
        if "get" in what
    )


def needed_in_query(parameter: dict[str, Any]) -> bool:
    return parameter["in"] == "query" and parameter.get("required", False)


def addresses_of(profile: Profile) -> Iterator[str]:
    """Yield the addresses of pages and of the API about a profile, its platform and its workload.

    API addresses include the required query parameters.
    """
    yield from page_addresses(profile)
    workload, platform = profile.workload.slug, profile.platform.slug
    near = Profile.objects.visible_to(None).order_by("-pk")
    platforms = list(dict.fromkeys([platform, *near.values_list("platform__slug", flat=True)]))[:3]
    workloads = list(dict.fromkeys([workload, *near.values_list("workload__slug", flat=True)]))[:3]
    keys = {"platforms": platform, "workloads": workload, "profiles": profile.uid}
    for path, needed in readable_paths():
        kind = path.removeprefix(API).split("/")[0]
        if ("{" in path and kind not in keys) or kind in OTHERS:
            continue
        compared = platforms if "platforms" in path else workloads
        if "compare" in path and len(compared) < FEWEST_COMPARED:
            continue
        values = {"workload": workload, "target": platform, "platform": platform, "on": platform}
        values |= {"a": compared[0], "b": compared[-1], "slugs": ",".join(compared), "profile": str(profile.uid)}
        query = urlencode({name: values[name] for name in needed})
        yield re.sub(r"\{\w+\}", str(keys.get(kind)), path) + (f"?{query}" if query else "")


def page_addresses(profile: Profile) -> Iterator[str]:
    workload, platform = profile.workload.slug, profile.platform.slug
    pair = "?" + urlencode({"workload": workload, "target": platform})
    for name in ("platforms", "workloads", "profiles"):
        yield reverse(name)
        yield f"{reverse(name)}?search={platform[:20]}"
    yield reverse("home")
    for name in ("unstored-answer", "predict", "predict-possible", "what-if", "what-if-answer", "ranking"):
        yield reverse(name) + pair
    for name in ("workload-map", "platform-distances", "workload-distances", "compare-platforms", "compare-workloads"):
        yield reverse(name)
    yield f"{reverse('platform-distances')}?near={platform}"
    yield f"{reverse('workload-distances')}?near={workload}"
    yield reverse("platform", args=[platform])
    yield reverse("workload", args=[workload])
    yield f"{reverse('workload', args=[workload])}?show=cost"
    yield f"{reverse('workload', args=[workload])}?show=efficiency"
    yield reverse("profile", args=[profile.uid])
    yield f"{reverse('profile', args=[profile.uid])}?budget=time"
    yield f"{reverse('beyond', args=[profile.uid])}?{urlencode([('model', name) for name in OFFERED_MODELS])}"
    yield f"{reverse('what-if')}{pair}&work=0.5&n_max=24"


def questions_about(profile: Profile) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the POST requests to the API about a profile: address and body."""
    pair = {"workload": profile.workload.slug, "target": profile.platform.slug}
    for method in METHODS if EVERY_METHOD else ("mpet", "mpet2020", "usl"):
        yield f"{API}predictions/", pair | {"method": method}
    for changes in OFFERED_CHANGES:
        yield f"{API}predictions/", pair | changes
        yield f"{API}predictions/", pair | changes | {"references": [profile.platform.slug]}
    yield f"{API}predictions/", pair | {"scenario": "parallelisation", "strategy": "dynamic_loop"}
    yield f"{API}predictions/", pair | {"scenario": "sequential"}
    for name in OFFERED_MODELS:
        yield f"{API}scaling-models/{name}/", {"profile": str(profile.uid), "predict": [{"n": 64}, {"n": 2**20}]}


def pages_of_answer(uid: str) -> tuple[str, ...]:
    return reverse("prediction", args=[uid]), reverse("measure-next", args=[uid]), f"{API}predictions/{uid}/"


def wrong_answers(profile: Profile, token: str) -> dict[str, str]:
    """Request everything about the profile, and return the fault of each bad response by address."""
    client = Client(raise_request_exception=False, headers={"Authorization": f"Bearer {token}"})
    found = {
        address: fault_of(client.get(address, follow=True), {200, REFUSED} if may_be_refused(address) else {200})
        for address in addresses_of(profile)
    }
    for address, body in questions_about(profile):
        response = client.post(address, json.dumps(body), content_type="application/json")
        found[f"{address} {body}"] = fault_of(response, {200, 201, 202, REFUSED})
        if response.status_code == 201 and body.get("method", DEFAULT_METHOD) == DEFAULT_METHOD:
            found |= {page: fault_of(client.get(page), {200}) for page in pages_of_answer(response.json()["id"])}
    return {address: fault for address, fault in found.items() if fault}


def may_be_refused(address: str) -> bool:
    """Return whether the address requests a prediction, which may be impossible."""
    return "preview" in address or "/advice/" in address or address.startswith(reverse("unstored-answer"))


def fault_of(response: Any, allowed: set[int]) -> str:
    """Return why the response is bad (its status, its length or invalid JSON such as NaN), or "" if it is good."""
    content = read(response)
    if response.status_code not in allowed:
        return f"status {response.status_code}: {content[:300].decode(errors='replace')}"
    if len(content) > LARGEST_ANSWER:
        return f"{len(content)} bytes"
    kind = response["Content-Type"].split(";")[0]
    documents = content.splitlines() if kind.endswith("jsonl") else [content] if kind.endswith("json") else []
    if "html" in response["Content-Type"]:
        documents = re.findall(rb'<script id="[^"]+" type="application/json">(.*?)</script>', content, re.S)
    try:
        for document in documents:
            strict_json(document)
    except (AssertionError, ValueError) as error:
        return str(error)
    return ""
