"""What the tests of pages share: a public database, somebody's private part of it, and how to read a page."""

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
    """Twelve decomposed profiles: four workloads on each of three machines."""
    measurements = sample_measurements(**fields)
    return ingest(
        measurements, kind="tarball", label="public.tar.gz", sha256="a" * 64, owner=None, private=False
    ).profiles


def store_private(owner: User) -> list[Profile]:
    """One simulated profile on a machine and of a workload that nobody else knows."""
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
    """Four time-only profiles with a licence, of relative workloads."""
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
    """The words of a page, without markup."""
    return " ".join(re.sub(r"<[^>]+>", " ", response.content.decode()).split())


def figures_of(response) -> dict:
    """The figures that a page carries, by name; a ValueError for one that Plotly would not draw as it is."""
    found = re.findall(r'<script id="([^"]+)" type="application/json">(.*?)</script>', response.content.decode(), re.S)
    figures = {name: json.loads(content) for name, content in found}
    for figure in figures.values():
        if "layout" in figure:
            check_figure(figure)
    return figures


def twin_of(response) -> str | None:
    found = re.search(r'<link rel="alternate" type="application/json" href="([^"]+)">', response.content.decode())
    return found and found[1].replace("&amp;", "&")
