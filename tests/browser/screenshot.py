"""Screenshots for docs/images: pytest tests/browser/screenshot.py

This is not a test, and pytest does not collect it by its name. The pictures show synthetic platforms and programs from
a simple model with a serial fraction and a waiting time that grows with the number of threads.
"""

import io

import numpy as np
import pytest
from django.core.management import call_command
from django.urls import reverse

from accounts.device_logins import begin_login
from predictor.predictions.question import PredictionRequest
from predictor.predictions.service import predict
from profiles.ingest.service import ingest
from profiles.measurements import Measurements, ProfileRecord, RunTable
from profiles.models import Profile
from tests.browser.walk import drawn, open_all_tabs, pages_of
from tests.pages import user
from tests.paths import ROOT
from tests.samples import sample_platform, sample_workload

DOCS = ROOT / "docs"
LARGEST_BYTES = 150_000
DARK = "-dark"
WIDE, PHONE = (1120, 840), (390, 844)

# name, seconds per unit of work, relative speed of a thread on the second NUMA node and of an SMT thread, waiting per
# thread
MACHINES = [
    ("Fjord 2x8", 1.00, 0.92, 0.32, 0.0030),
    ("Heath 2x8", 0.74, 0.86, 0.28, 0.0042),
    ("Tarn 2x8", 1.35, 0.95, 0.36, 0.0022),
    ("Moor 2x8", 0.88, 0.90, 0.22, 0.0035),
    ("Crag 2x8", 0.61, 0.82, 0.30, 0.0050),
]
# name, strategy, units of work, serial fraction, sensitivity to waiting
PROGRAMS = [
    ("stencil/sweep", "domain_decomposition", 4.2, 0.015, 1.2),
    ("stereo/aggregate", "wavefront", 2.6, 0.030, 2.6),
    ("mesh/refine", "recursive", 1.7, 0.060, 1.9),
    ("matrix/multiply", "dynamic_loop", 6.1, 0.004, 0.5),
    ("graph/search", "dynamic_loop", 0.9, 0.090, 3.4),
    ("fluid/pressure", "domain_decomposition", 3.3, 0.022, 1.6),
]
COUNTS = (1, 2, 3, 4, 6, 8, 10, 12, 16, 20, 24, 28, 32)
SHARES = np.array([0.05, 0.55, 0.08, 0.10, 0.07, 0.15])  # fractions of the loss: locks, imbalance, creation, ...


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


# Name of the picture -> name of the page (tests/browser/walk.py) and the element at which the picture begins.
PICTURES = {
    "front": ("home", ""),
    "platforms": ("platforms", ""),
    "platform": ("platform", ""),
    "workload": ("workload", ""),
    "profiles": ("profiles", ""),
    "profile": ("profile", ""),
    "compare": ("compare", ""),
    "characteristics": ("compare", "#characteristics"),
    "heat-map": ("workload-distances", ""),
    "map": ("workload-map", ""),
    "predict": ("predict, filled", ""),
    "prediction": ("prediction", ""),
    "what-if": ("what-if, moved", ""),
    "ranking": ("ranking, filtered", ""),
    "accuracy": ("accuracy", ""),
    "measure": ("measure", ""),
}


@pytest.fixture
def pages(settings, tmp_path):
    settings.MEDIA_ROOT = tmp_path / "media"
    measured = ingest(made_up(), kind="tarball", label="example machines", sha256="e" * 64, owner=None, private=False)
    owner = user("ada")
    walk = pages_of(measured.profiles[0], owner, "stereo-aggregate", "heath-2x8")
    walk.public["compare"] = reverse("compare-platforms") + "?platform=fjord-2x8&platform=heath-2x8&platform=crag-2x8"
    methods = ("--database", "--method", "mpet,mpet2020", "--baselines", "--jobs", "1")
    call_command("evaluate", *methods, stdout=io.StringIO())
    return walk, owner


def picture(page, name: str, size: tuple[int, int], begin: str = "") -> None:
    page.set_viewport_size({"width": size[0], "height": size[1]})
    drawn(page)
    if begin:
        page.locator(begin).evaluate("node => node.scrollIntoView()")
    in_both_schemes(page, page, name)


def in_both_schemes(page, part, name: str) -> None:
    """Write a picture in light mode and one in dark mode. Names that end with "-dark" are written in dark mode only."""
    schemes = {"dark": ""} if name.endswith(DARK) else {"light": "", "dark": DARK}
    for scheme, suffix in schemes.items():
        page.emulate_media(color_scheme=scheme)
        drawn(page)
        path = DOCS / "images" / f"{name}{suffix}.png"
        part.screenshot(path=path)
        assert path.stat().st_size < LARGEST_BYTES, path


@pytest.mark.django_db(transaction=True)
def test_pictures(visit, pages):
    walk, owner = pages
    for name, (page, begin) in PICTURES.items():
        picture(visit(walk.public[page], WIDE[0]), name, WIDE, begin)
    picture(visit(walk.own["upload-report, rejected"], WIDE[0], user=owner), "upload-report", (WIDE[0], 620))
    picture(visit(walk.own["upload-report"], WIDE[0], user=owner), "upload-accepted", (WIDE[0], 620))
    login, _ = begin_login("mpet on laptop", "192.0.2.7")
    page = visit(walk.own["device-login"], WIDE[0], user=owner)
    page.get_by_label("Code").fill(login.code)
    page.get_by_role("button", name="Continue").click()
    picture(page, "device-login", (WIDE[0], 560))
    picture(visit(walk.public["prediction"], PHONE[0], "dark"), "prediction-phone-dark", PHONE)
    picture(visit(walk.public["compare"], PHONE[0], "dark"), "characteristics-phone-dark", PHONE, "#characteristics")


# The figures of docs/how-it-works.md: name of the picture -> page and id of the figure.
WORKLOAD, TARGET = "sgm-aggregate-simulated", "i9-9900k-simulated"
OTHERS = ("i7-4771-simulated", "a53-s905-simulated")
FIGURES = {
    "how-shares": ("profile", "shares"),
    "how-speedup": ("profile", "speedup"),
    "how-characteristics": ("compare", "characteristic-1"),
    "how-candidate": ("prediction", "candidate-1"),
    "how-answer": ("prediction", "time"),
    "how-errors": ("accuracy", "figure10-scaling"),
    "how-distance": ("accuracy", "figure11"),
}


@pytest.fixture
def demo(settings, tmp_path):
    """Load the demo and return the addresses of the pages with the figures, by name."""
    settings.MEDIA_ROOT = tmp_path / "media"
    call_command("load_demo", stdout=io.StringIO())
    call_command("paper_figures", "--database", "--origin", "simulated", stdout=io.StringIO())
    profile = Profile.objects.get(workload__slug=WORKLOAD, platform__slug=TARGET)
    platforms = "&".join(f"platform={slug}" for slug in (TARGET, *OTHERS))
    return {
        "profile": reverse("profile", args=[profile.uid]),
        "compare": f"{reverse('compare-platforms')}?{platforms}",
        "prediction": reverse("prediction", args=[predict(PredictionRequest(WORKLOAD, TARGET)).uid]),
        "accuracy": f"{reverse('accuracy')}?origin=simulated",
    }


@pytest.mark.django_db(transaction=True)
def test_figures_of_the_method(visit, demo):
    for name, (page_name, figure) in FIGURES.items():
        page = visit(demo[page_name], WIDE[0])
        open_all_tabs(page)
        plot = page.locator(f'[data-figure="{figure}"]')
        plot.scroll_into_view_if_needed()
        drawn(page)
        in_both_schemes(page, plot, name)


# The figures of docs/case-study.md, from the kit's measurements of three machines.
KITS = ("amd-epyc", "intel-xeon-amx", "intel-xeon-amx-105mb")
# case-study-2 is the second pair, from the EPYC to the Xeon with 105 MB.
CASE_STUDY = {"case-study": "case-study-2", "case-study-worth": "case-study-worth"}


def test_figures_of_the_case_study(chromium, tmp_path):
    reference = ROOT / "benchmarks" / "reference"
    kits = [word for name in KITS for word in ("--kit", str(reference / f"{name}-kvm-2vcpu.tar.gz"))]
    costs = ("--costs", str(reference / "instructions.csv"))
    call_command("case_study", *kits, *costs, "--output", str(tmp_path), stdout=io.StringIO())
    page = chromium.new_page(viewport={"width": 1100, "height": 520})
    for name, figure in CASE_STUDY.items():
        page.goto((tmp_path / f"{figure}.html").as_uri())
        page.locator(".main-svg .trace, .main-svg .bars").first.wait_for()
        page.add_style_tag(content=".modebar-container { display: none }")
        page.locator(".plotly-graph-div").screenshot(path=DOCS / "images" / f"{name}.png")
    page.close()
