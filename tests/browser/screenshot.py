"""The pictures of docs/images and the table of docs/page-weights.md, made anew: pytest tests/browser/screenshot.py

No test (its name is none that pytest collects): it draws from machines and programs made up here, by a plain model: a
serial share, and threads that wait the longer for each other the more there are.
"""

import os
import platform
from pathlib import Path

import numpy as np
import pytest

from profiles.ingest import ingest
from profiles.measurements import Measurements, ProfileRecord, RunTable
from tests.browser.test_walk import weights
from tests.browser.walk import drawn, pages_of
from tests.pages import user
from tests.samples import sample_platform, sample_workload

DOCS = Path(__file__).resolve().parents[2] / "docs"
LARGEST_BYTES = 150_000
WIDE, PHONE = (1200, 1040), (390, 844)

# name, seconds per unit of work, what a thread of a second NUMA node and a hyperthread are worth, waiting per thread
MACHINES = [
    ("Fjord 2x8", 1.00, 0.92, 0.32, 0.0030),
    ("Heath 2x8", 0.74, 0.86, 0.28, 0.0042),
    ("Tarn 2x8", 1.35, 0.95, 0.36, 0.0022),
    ("Moor 2x8", 0.88, 0.90, 0.22, 0.0035),
    ("Crag 2x8", 0.61, 0.82, 0.30, 0.0050),
]
# name, strategy, units of work, serial share, how much it waits
PROGRAMS = [
    ("stencil/sweep", "domain_decomposition", 4.2, 0.015, 1.2),
    ("stereo/aggregate", "wavefront", 2.6, 0.030, 2.6),
    ("mesh/refine", "recursive", 1.7, 0.060, 1.9),
    ("matrix/multiply", "dynamic_loop", 6.1, 0.004, 0.5),
    ("graph/search", "dynamic_loop", 0.9, 0.090, 3.4),
    ("fluid/pressure", "domain_decomposition", 3.3, 0.022, 1.6),
]
WEIGHTS_HEAD = """# What the pages weigh

Made by `pytest tests/browser/screenshot.py`: each page as first opened in Chromium, with an empty cache, from Django's
test server ({cores} cores, {machine}). Load: until the load event, which waits for scripts but not for what they draw.
kB: bytes received, uncompressed, beside Plotly (4.8 MB, 1.5 MB as it is served; kept by the browser).

| page | load, ms | kB | with Plotly |
|---|--:|--:|---|
"""
COUNTS = (1, 2, 3, 4, 6, 8, 10, 12, 16, 20, 24, 28, 32)
SHARES = np.array([0.05, 0.55, 0.08, 0.10, 0.07, 0.15])  # of the loss: locks, imbalance, creation, distribution, ...


def runs(rng: np.random.Generator, machine: tuple, program: tuple) -> RunTable:
    _, pace, numa, hyper, wait = machine
    _, _, work, serial, sensitivity = program
    rows, parts = [], []
    for n in COUNTS:
        hands = min(n, 8) + numa * min(max(n - 8, 0), 8) + hyper * max(n - 16, 0)
        ideal = pace * work * (serial + (1 - serial) / hands)
        loss = min(0.6, 0.004 + sensitivity * wait * n)
        for profile_pass in (False, True):
            for repeat in (1, 2, 3):
                time_ns = int(1e9 * ideal / (1 - loss) * (1 + 0.012 * rng.random()))
                rows.append((n, repeat, profile_pass, time_ns))
                lost = np.floor(SHARES * loss * n * time_ns).astype(np.int64)
                split = np.concatenate([[n * time_ns - lost.sum()], lost])
                parts.append(split if profile_pass else np.full(7, -1))
    n, repeat, is_profile, time_ns = (np.array(column) for column in zip(*rows, strict=True))
    return RunTable(n, repeat, is_profile.astype(bool), time_ns / 1e9, time_ns, np.array(parts), ("",) * len(rows))


def made_up() -> Measurements:
    rng = np.random.default_rng(20)
    topology = {"n_nu": 8, "n_ht": 16, "n_max": 32, "physical_cores": 16, "threads": 32, "placement": None}
    return Measurements(
        origin="measured",
        time_kinds={},
        platforms=[
            sample_platform(index, name=machine[0], cpu_model=f"{machine[0]} example", **topology)
            for index, machine in enumerate(MACHINES)
        ],
        workloads=[
            sample_workload(
                index,
                name=program[0],
                application=program[0].split("/")[0],
                section=program[0].split("/")[1],
                strategy=program[1],
            )
            for index, program in enumerate(PROGRAMS)
        ],
        profiles=[
            ProfileRecord(platform=p, workload=w, runs=runs(rng, machine, program))
            for p, machine in enumerate(MACHINES)
            for w, program in enumerate(PROGRAMS)
        ],
        generator="made up for a picture",
    )


@pytest.fixture
def pages(settings, tmp_path):
    settings.MEDIA_ROOT = tmp_path / "media"
    measured = ingest(made_up(), kind="tarball", label="example machines", sha256="e" * 64, owner=None, private=False)
    owner = user("ada")
    return pages_of(measured.profiles[0], owner, "stereo-aggregate", "heath-2x8"), owner


def picture(page, name: str, size: tuple[int, int]) -> None:
    page.set_viewport_size({"width": size[0], "height": size[1]})
    drawn(page)
    path = DOCS / "images" / f"{name}.png"
    page.screenshot(path=path)
    assert path.stat().st_size < LARGEST_BYTES, path


@pytest.mark.django_db(transaction=True)
def test_pictures(visit, pages):
    walk, owner = pages
    for name in ("prediction", "profile", "platform", "measure"):
        picture(visit(walk.public[name], WIDE[0]), name, WIDE)
    picture(visit(walk.own["upload-report, rejected"], WIDE[0], user=owner), "upload-report", (1200, 620))
    picture(visit(walk.public["prediction"], PHONE[0], "dark"), "prediction-phone-dark", PHONE)


@pytest.mark.django_db(transaction=True)
def test_weights(first_visit, pages):
    walk, owner = pages
    rows = []
    for name, address in {**walk.public, **walk.own}.items():
        page = first_visit(address, user=owner if name in walk.own else None)
        page.wait_for_load_state("networkidle")
        drawn(page)
        received = weights(page)
        plotly = sum(size for file, size in received.items() if file.startswith("plotly"))
        load_ms = page.evaluate("performance.getEntriesByType('navigation')[0].loadEventEnd")
        kilobytes = (sum(received.values()) - plotly) / 1000
        rows.append(f"| {name} | {load_ms:.0f} | {kilobytes:.0f} | {'yes' if plotly else ''} |")
        page.context.close()
    head = WEIGHTS_HEAD.format(cores=os.cpu_count(), machine=platform.machine())
    (DOCS / "page-weights.md").write_text(head + "\n".join(sorted(rows)) + "\n")
