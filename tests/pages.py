"""Helpers for tests of pages: public and private sample data, and functions that read a page."""

import json
import re
from dataclasses import replace

from django.contrib.auth.models import User

from profiles.ingest.service import ingest
from profiles.models import Profile
from tests.figures import check_figure
from tests.samples import sample_measurements, sample_platform, sample_workload

PASSWORD = "four words no dictionary"


def user(name: str) -> User:
    return User.objects.create_user(name, password=PASSWORD)


def store_public(**fields) -> list[Profile]:
    """Store public decomposed profiles, by default four workloads on each of three platforms."""
    measurements = sample_measurements(**fields)
    return ingest(
        measurements, kind="tarball", label="public.tar.gz", sha256="a" * 64, owner=None, private=False
    ).profiles


def store_private(owner: User) -> list[Profile]:
    """Store one private simulated profile on a platform and of a workload that only the owner has."""
    measurements = replace(
        sample_measurements(1, 1, seed=7),
        origin="simulated",
        platforms=[sample_platform(8, name="secret-machine", cpu_model="Secret CPU")],
        workloads=[sample_workload(8, name="secret/work", application="secret", section="work")],
    )
    return ingest(
        measurements, kind="simulator", label="secret.tar.gz", sha256="b" * 64, owner=owner, private=True
    ).profiles


def store_dataset() -> list[Profile]:
    """Store four time-only profiles with a licence and relative times."""
    measurements = replace(
        sample_measurements(2, 2, seed=3, decomposed=False, counters=False),
        time_kinds={0: "relative", 1: "relative"},
        licence="CC BY-SA 4.0",
        source="Example measurements of 2026",
        platforms=[sample_platform(4 + i, name=f"cloud-{i}") for i in range(2)],
        workloads=[sample_workload(4 + i, name=f"relative/{i}") for i in range(2)],
    )
    return ingest(
        measurements, kind="dataset", label="example-dataset", sha256="c" * 64, owner=None, private=False
    ).profiles


def text_of(response) -> str:
    """Return the text of a page, without markup."""
    return " ".join(re.sub(r"<[^>]+>", " ", response.content.decode()).split())


def figures_of(response) -> dict:
    """Return the figures of a page by name. Raises ValueError if Plotly's schema does not allow one of them."""
    found = re.findall(r'<script id="([^"]+)" type="application/json">(.*?)</script>', response.content.decode(), re.S)
    figures = {name: json.loads(content) for name, content in found}
    for figure in figures.values():
        if "layout" in figure:
            check_figure(figure)
    return figures


def twin_of(response) -> str | None:
    found = re.search(r'<link rel="alternate" type="application/json" href="([^"]+)">', response.content.decode())
    return found and found[1].replace("&amp;", "&")
