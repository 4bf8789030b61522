"""Private measurements never move simulated answers."""

from dataclasses import replace

import pytest

from predictor.predictions.question import PredictionRequest
from predictor.predictions.service import preview_answer
from tests.predictor.conftest import store
from tests.samples import sample_measurements

NAMED = ("curve", "t1_s", "features", "candidates", "confidence", "simulated")


@pytest.fixture
def simulated(db):
    """Six simulated machines with five workloads."""
    measurements = replace(sample_measurements(6, 5), origin="simulated")
    machines = [replace(one, name=f"simulated-{one.name}") for one in measurements.platforms]
    return store(replace(measurements, platforms=machines), label="simulated")


@pytest.mark.parametrize("workloads", [5, 9], ids=["the same workloads", "others too"])
@pytest.mark.parametrize("method", ["mpet", "mpet2020", "ridge"])
def test_of_their_owner(simulated, owner, workloads, method):
    request = PredictionRequest("app1-section1", "simulated-machine-2", method=method)
    before = preview_answer(request, owner)
    measure_privately(owner, workloads)
    after = preview_answer(request, owner)
    for name in NAMED:
        assert after[name] == before[name], name
    assert after["simulated"] or method == "ridge"  # which names no reference


@pytest.mark.parametrize("method", ["mpet", "mpet2020"])
def test_of_others_who_let_measured_profiles_take_part(simulated, owner, method):
    request = PredictionRequest("app1-section1", "simulated-machine-2", method=method, include_simulated=True)
    before = preview_answer(request)
    measure_privately(owner, 9)
    assert preview_answer(request)["curve"] == before["curve"]


def measure_privately(owner, workloads):
    """Some measured machines of the owner, without the workload that is asked about."""
    private = sample_measurements(4, workloads, seed=8)
    kept = [one for one in private.profiles if private.workloads[one.workload].name != "app1/section1"]
    store(replace(private, profiles=kept), label="own", owner=owner, private=True)
