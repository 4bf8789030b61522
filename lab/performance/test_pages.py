"""Cost of each page and each list of the API with a large database: 100,000 profiles of 200 programs on 500 machines.

    pytest lab/performance/test_pages.py --benchmark-enable

makes the profiles (their number is MPET_BENCHMARK_PROFILES) in the test database and prints the times. Without
--benchmark-enable, as in the test suite, every page is opened on a few hundred profiles. The queries of the pages are
tested in tests/profiles/test_long_lists.py.
"""

import os

import numpy as np
import pytest
from django.db import transaction
from django.test import Client
from django.urls import reverse

from predictor.snapshot.cache import read_database
from profiles.models import Platform, Profile, Workload
from tests.predictor.stored import store_platforms, store_profiles, store_source, store_workloads

pytestmark = pytest.mark.django_db
WORKLOADS = 200
FEW = 400
API = "/api/v1/"


def store_many(count: int) -> None:
    """Store `count` profiles of 12 thread counts: every workload on every platform, one delivery per platform."""
    platforms = store_platforms([f"machine-{at:04}" for at in range(count // WORKLOADS)], n_max=48, physical_cores=24)
    workloads = store_workloads([f"program-{at:04}" for at in range(WORKLOADS)], strategy="dynamic_loop")
    counts = np.array([1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 40, 48], dtype=np.int32)
    for at, platform in enumerate(platforms):
        source = store_source(label=f"{platform.slug}.tar.gz")
        pairs = [(platform, workload) for workload in workloads]
        store_profiles(source, pairs, seed=at, n=counts)


@pytest.fixture(scope="module")
def many(request, django_db_setup, django_db_blocker):
    """Store the profiles and yield their number."""
    enabled = request.config.getoption("benchmark_enable")
    count = int(os.environ.get("MPET_BENCHMARK_PROFILES", "100000")) if enabled else FEW
    with django_db_blocker.unblock(), transaction.atomic():
        store_many(count)
        yield count
        transaction.set_rollback(True)


LISTS = {
    "profiles, first page": "profiles/",
    "profiles, last page": "profiles/?page={last}",
    "profiles, one platform": "profiles/?platform=machine-0001",
    "profiles, one origin": "profiles/?origin=measured",
    "profiles, outliers": "profiles/?outlier=true",
    "profiles, searched": "profiles/?search=machine-0001 program-01",
    "profiles, by t(1)": "profiles/?ordering=-t1_s",
    "profiles, by t(1), last page": "profiles/?ordering=-t1_s&page={last}",
    "profiles, by platform": "profiles/?ordering=platform",
    "platforms": "platforms/",
    "platforms, by profiles": "platforms/?ordering=-profiles",
    "workloads": "workloads/",
}
PAGES = {
    "front page": "home",
    "platform": "platform",
    "workload": "workload",
    "profile": "profile",
    "heat map": "platform-distances",
    "map": "workload-map",
    "compare": "compare-platforms",
}


def opened(benchmark, address: str) -> None:
    client = Client()
    response = benchmark.pedantic(client.get, (address,), {"follow": True}, rounds=3, warmup_rounds=1)
    assert response.status_code == 200


@pytest.mark.benchmark(group="list pages")
@pytest.mark.parametrize("name", LISTS)
def test_list_page(benchmark, many, name):
    opened(benchmark, "/" + LISTS[name].format(last=many // 50))


@pytest.mark.benchmark(group="lists of the API")
@pytest.mark.parametrize("name", LISTS)
def test_list_of_the_api(benchmark, many, name):
    opened(benchmark, API + LISTS[name].format(last=many // 50))


@pytest.mark.benchmark(group="pages")
@pytest.mark.parametrize("name", PAGES)
def test_page(benchmark, many, name):
    rows = {"platform": Platform, "workload": Workload}
    if name in rows:
        address = reverse(name, args=[rows[name].objects.first().slug])
    elif name == "profile":
        address = reverse(name, args=[Profile.objects.first().uid])
    else:
        address = reverse(PAGES[name])
        read_database()  # loaded once per revision and process
    opened(benchmark, address)
