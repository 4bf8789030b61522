"""What an empty form shows: a setting, or the pair with the most profiles; no prediction is made to find it."""

from dataclasses import replace

import numpy as np
import pytest
from django.urls import reverse

from predictor.core import methods
from predictor.core.assembly import MEASURED
from predictor.pages import presenting
from predictor.pages.presenting import first_pair, offered_names
from predictor.snapshot.cache import read_database
from profiles.models import Workload
from tests.predictor.conftest import store
from tests.samples import sample_measurements, sample_platform, sample_runs, sample_workload

pytestmark = pytest.mark.django_db


def test_nothing_is_predicted_to_find_the_pair_and_simulated_profiles_are_not_read(public, monkeypatch):
    for method in methods.METHODS.values():
        monkeypatch.setitem(methods.METHODS, method.name, replace(method, predict=lambda *_: pytest.fail("predicted")))
    read = []
    monkeypatch.setattr(presenting, "read_database", lambda user, origins: read.append(origins) or read_database(user))
    assert first_pair(None) == ("app0-section0", "machine-0")
    assert read == [MEASURED]


@pytest.mark.parametrize(("machines", "counts", "first"), [(1, (1, 2, 4), "model-"), (2, (1, 2), "machine-")])
def test_simulated_profiles_come_first_only_where_no_measured_pair_has_an_answer(machines, counts, first):
    """The second case is that after `make run`: two measured machines of two threads."""
    simulated = sample_measurements(3, 2, seed=8, origin="simulated")
    simulated.platforms[:] = [sample_platform(5 + index, name=f"model-{index}") for index in range(3)]
    simulated.workloads[:] = [sample_workload(8 + index) for index in range(2)]
    store(simulated, label="demo", kind="simulator")
    measured = sample_measurements(machines, 2)
    measured.profiles[:] = [
        replace(record, runs=sample_runs(np.random.default_rng(index), counts=counts), counters=None)
        for index, record in enumerate(measured.profiles)
    ]
    store(measured, label="measured")
    assert first_pair(None)[1].startswith(first)


def test_the_workload_with_the_most_profiles_and_the_machine_with_the_most_of_these():
    measurements = sample_measurements(3, 3)
    left_out = {(0, 0), (1, 0), (0, 2), (1, 2)}
    kept = [one for one in measurements.profiles if (one.platform, one.workload) not in left_out]
    store(replace(measurements, profiles=kept))
    assert first_pair(None) == ("app0-section1", "machine-2")


def test_the_setting_comes_first_where_the_user_sees_it(public, settings):
    settings.FIRST_PAIR = ["app1-section0", "machine-2"]
    assert first_pair(None) == ("app1-section0", "machine-2")
    settings.FIRST_PAIR = ["app1-section0", "no-such"]
    assert first_pair(None) == ("app0-section0", "machine-0")


def test_an_empty_database_has_none():
    assert first_pair(None) == ("", "")


def test_a_select_offers_every_workload_of_the_public_suites():
    """Spare Cores has 168: a list that ends at 150 leaves no way to choose the others."""
    store(sample_measurements(1, 168, decomposed=False, counters=False))
    assert len(offered_names(Workload, None, "")) == 168


@pytest.mark.parametrize("address", ["predict", "what-if"])
def test_a_refused_pair_that_was_measured_leads_to_its_times(client, public, address):
    """Nothing is predicted from one machine alone, but its own times are there."""
    own = sample_measurements(1, 1, seed=5)
    own.workloads[:] = [sample_workload(9)]
    profile = store(own, label="own").profiles[0]
    pair = {"workload": profile.workload.slug, "target": profile.platform.slug}
    refused = client.get(reverse(address), pair | {"measured": "false"})
    measured = refused.context["refusal"].measured
    assert measured == reverse("profile", args=[profile.uid])
    assert f'href="{measured}"' in refused.content.decode()
    unknown = client.get(reverse(address), pair | {"target": "nowhere", "measured": "false"})
    assert "It was measured on this machine" not in unknown.content.decode()
