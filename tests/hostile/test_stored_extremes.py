"""What is stored is not trusted: rows with numbers that no reader lets in, put into the tables directly."""

import json
from dataclasses import replace
from urllib.parse import urlencode

import numpy as np
import pytest
from django.db import connection
from django.test import Client
from django.urls import reverse

from lab.hostile.answering import fault_of
from profiles.ingest.derivation import refit
from profiles.measurements import RunTable
from profiles.models import CounterReading, FeatureVector, Platform, Profile, Run, ScalingCurves
from tests.mpet_site.api_samples import API, store
from tests.pages import store_public
from tests.samples import sample_measurements
from tests.unchecked import set_without_checks, without_checks

pytestmark = pytest.mark.django_db

PARTS = ("use_ns", "lock_ns", "imbalance_ns", "creation_ns", "distribution_ns", "switching_ns", "join_ns")
PAIR = {"workload": "app0-section0", "target": "machine-0"}


@pytest.fixture
def profile():
    """One of twelve, whose rows the tests spoil, in spite of every constraint."""
    stored = Profile.objects.select_related("platform", "workload").get(pk=store_public()[0].pk)
    with without_checks(Run, CounterReading):
        yield stored


def faults(profile: Profile, allowed=frozenset({200, 202})) -> dict[str, str]:
    client = Client(raise_request_exception=False)
    pair = "?" + urlencode(PAIR)
    addresses = [
        reverse("platform", args=[profile.platform.slug]),
        reverse("workload", args=[profile.workload.slug]),
        reverse("profile", args=[profile.uid]),
        reverse("beyond", args=[profile.uid]),
        reverse("api-profile", args=[profile.uid]),
        reverse("home") + pair,
        reverse("what-if") + pair,
        reverse("ranking") + pair,
    ]
    found = {address: fault_of(client.get(address, follow=True), set(allowed)) for address in addresses}
    return {address: fault for address, fault in found.items() if fault}


@pytest.mark.parametrize("threads", [4096, 2**20])
def test_an_answer_is_as_large_as_the_code_says_not_as_the_platform_does(client, profile, threads):
    """trust 2: a ranking allocated 16 GiB, a preview took 45 s, where a platform had so many threads."""
    set_without_checks(Platform, profile.platform_id, threads=threads, n_max=threads)
    answer = client.get(f"{API}predictions/preview/", PAIR).json()
    assert answer["curve"][-1]["n"] == threads
    assert len(answer["curve"]) <= 512
    assert faults(profile) == {}


def test_a_platform_of_more_threads_than_there_can_be_is_no_target(client, profile):
    """trust 2."""
    set_without_checks(Platform, profile.platform_id, threads=2**31 - 1, physical_cores=2**31 - 1, n_max=2**31 - 1)
    answer = client.get(f"{API}predictions/preview/", PAIR)
    assert answer.status_code == 400
    assert "machine-0" in answer.json()["detail"]
    assert faults(profile, {200, 202, 400, 422}) == {}


@pytest.mark.parametrize(
    "counts",
    [
        {"threads": 3_000_000, "physical_cores": 4},
        {"threads": 2**31 - 1, "physical_cores": 1},
        {"numa_nodes": 2**31 - 1},
        {"sockets": 2**31 - 1},
        {"sockets": 2**31 - 1, "numa_nodes": 2**31 - 1, "physical_cores": 1024, "threads": 1024},
        {"l1d_bytes": 1, "l2_bytes": 1, "l3_bytes": None, "memory_bytes": None},
    ],
    ids=str,
)
def test_a_drawing_has_as_many_boxes_as_a_page_can_show(client, profile, counts):
    """trust 3: the platform page took over 45 s."""
    set_without_checks(Platform, profile.platform_id, **counts)
    page = client.get(reverse("platform", args=[profile.platform.slug]))
    assert page.status_code == 200
    assert len(page.content) < 4 << 20


def test_clocks_and_sizes_that_no_machine_has(profile):
    set_without_checks(Platform, profile.platform_id, base_mhz=np.inf, max_mhz=-np.inf, l1d_bytes=0)
    assert faults(profile) == {}


@pytest.mark.parametrize("numbers", [[1, 2**58], [2**58, 1], [10**16, 1]], ids=str)
@pytest.mark.parametrize("decomposed", [True, False])
def test_times_that_alternate(profile, numbers, decomposed):
    """trust 15: 1 ns and 2^59 ns in turn made the profile page an error: a part took all of the time, to the last
    bit, and the speedup without it was divided by 0."""
    for row, run in enumerate(profile.runs.order_by("n", "pk")):
        nanoseconds = numbers[run.n % 2]
        parts = dict.fromkeys(PARTS, 0) | {"use_ns": run.n * nanoseconds} if decomposed else dict.fromkeys(PARTS)
        Run.objects.filter(pk=run.pk).update(
            time_ns=nanoseconds,
            time_s=nanoseconds / 1e9,
            pass_kind="profile" if decomposed else "clean",
            repeat=100 + row,
            **parts,
        )
    refit()
    assert faults(profile) == {}


@pytest.mark.parametrize("sizes", [(5e-324, 1.7e308), (1e-300, 1.0), (1e300, 1.5e308)], ids=str)
def test_run_sizes_beyond_any_input(profile, sizes):
    """trust 15: runs of the sizes 5e-324 and 1.7e308 made the page and the API of what lies beyond an error."""
    own = list(profile.runs.filter(pass_kind="clean"))
    for size in sizes:
        Run.objects.bulk_create(
            Run(
                profile=profile,
                n=run.n,
                repeat=run.repeat,
                pass_kind="clean",
                time_s=run.time_s,
                time_ns=run.time_ns,
                size=size,
            )
            for run in own
        )
    set_without_checks(type(profile.workload), profile.workload_id, size=1.0)
    assert faults(profile) == {}


@pytest.mark.parametrize("value", [1.7976931348623157e308, 1e-310, 5e-324, -1.0, np.inf], ids=str)
def test_counters_that_no_processor_has(profile, value):
    """trust 1."""
    CounterReading.objects.filter(profile=profile, counter__in=("INSTR", "LLC-LDM", "L1-ST")).update(value=value)
    refit()
    stored = FeatureVector.objects.get(profile=profile)
    assert not np.isinf(stored.values).any()
    assert not np.isinf(stored.rms).any()
    assert faults(profile) == {}


@pytest.mark.parametrize(
    "columns",
    [{"values": np.full(15 * 11, np.inf)}, {"values": np.ones(3)}, {"n": np.ones(11, dtype=np.int32)}, {"n": b"odd"}],
    ids=["inf", "short", "n of ones", "bytes"],
)
def test_curves_that_are_none(profile, columns):
    ScalingCurves.objects.filter(profile=profile).update(**columns)
    assert faults(profile) == {}


@pytest.mark.parametrize("values", [np.full(84, np.nan), np.full(84, -np.inf), np.full(84, 1e30), b"odd"], ids=str)
def test_features_that_are_none(profile, values):
    FeatureVector.objects.filter(profile=profile).update(values=values)
    assert faults(profile) == {}


def test_a_profile_of_very_many_thread_counts_is_thinned(client):
    n = np.arange(1, 2_001)
    runs = RunTable(n, np.ones(len(n), int), np.zeros(len(n), bool), 1.0 / n, np.maximum(10**9 // n, 1))
    sample = sample_measurements(1, 1, counters=False)
    sample.profiles[0] = replace(sample.profiles[0], runs=runs)
    sample.platforms[0] = replace(sample.platforms[0], n_max=2_000, threads=2_000, placement=None)
    stored = store(sample).profiles[0]
    for name in ("profile", "beyond"):
        page = client.get(reverse(name, args=[stored.uid]))
        assert page.status_code == 200
        assert len(page.content) < 2 << 20
    answer = client.get(reverse("api-profile", args=[stored.uid])).json()
    assert len(answer["curves"]["n"]) == 2_000  # what was measured is told whole


def test_no_query_of_any_database_overflows(profile):
    """PostgreSQL raises where a sum overflows; SQLite says infinity."""
    CounterReading.objects.filter(profile=profile).update(value=1e308)
    page = Client().get(reverse("profile", args=[profile.uid]))
    assert page.status_code == 200, connection.vendor
    assert "inf" not in json.dumps(page.context["counters"].rows if page.context["counters"] else [])
