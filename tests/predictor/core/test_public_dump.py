"""A dump answers as the server does that wrote it."""

from dataclasses import replace

import numpy as np
import pytest
from django.core.management import call_command

from predictor.core.errors import PredictionError
from predictor.core.public_dump import UnknownInDump, read_dump
from predictor.predictions.question import NoPrediction, PredictionRequest
from predictor.predictions.service import preview_answer
from profiles.dump.files import DumpError
from profiles.models import Profile
from profiles.moderation import mark_outlier
from tests.predictor.conftest import store
from tests.samples import sample_measurements, sample_platform, sample_workload

EXACT = 1e-12


@pytest.fixture
def dump(db, alice, tmp_path):
    """Measured and simulated profiles, a pair measured twice, an outlier, a private row that would change answers."""
    store(sample_measurements(4, 6), label="measured")
    store(sample_measurements(2, 6, seed=4, decomposed=False, counters=False), label="again")
    simulated = sample_measurements(3, 3, seed=7, origin="simulated")
    machines = [sample_platform(20 + index) for index in range(3)]
    programs = [sample_workload(0), sample_workload(20), sample_workload(21)]
    store(replace(simulated, platforms=machines, workloads=programs), label="simulated", kind="simulator")
    mark_outlier(Profile.objects.filter(platform__slug="machine-1", workload__slug="app0-section1").first(), "slow")
    store(sample_measurements(1, 6, seed=8), label="private", owner=alice, private=True)
    call_command("export", tmp_path / "dump", format="csv")
    return read_dump(tmp_path / "dump")


QUESTIONS = [
    {"workload": "app1-section1", "target": "machine-2"},
    {"workload": "app2/section0", "target": "machine-3", "n": [1, 2, 16]},
    {"workload": "app0-section1", "target": "machine-1", "references": ["machine-0", "machine-3"]},
    {"workload": "app1-section1", "target": "machine-2", "method": "mpet2020"},
    {"workload": "app1-section1", "target": "machine-2", "method": "speed-ratio"},
    {"workload": "app10-section0", "target": "machine-21"},
    {"workload": "app1-section0", "target": "machine-2", "settings": {"level": 0.5}},
    {"workload": "app0-section0", "target": "machine-2", "include_simulated": True},
]


@pytest.mark.parametrize("question", QUESTIONS, ids=range(len(QUESTIONS)))
def test_offline_is_as_online(dump, question):
    online = preview_answer(PredictionRequest(**question))
    offline = dump.predict(**question)
    assert dump.revision == online["revision"]
    curve = {name: [point[name] for point in online["curve"]] for name in ("n", "time_s", "low_s", "high_s")}
    assert curve["n"] == offline.n.tolist()
    for name in ("time_s", "low_s", "high_s"):
        values = getattr(offline, name)
        expected = np.array(curve[name], dtype=float)
        np.testing.assert_allclose(np.full(len(offline.n), np.nan) if values is None else values, expected, rtol=EXACT)
    np.testing.assert_allclose(offline.t1_s, online["t1_s"], rtol=EXACT)
    candidates = [(one["platform"], one["workload"]) for one in online["candidates"]["scaling"]]
    assert [(one.platform, one.workload) for one in offline.candidates_scaling] == candidates


def test_what_the_server_refuses_is_refused_offline(dump):
    question = {"workload": "app1-section1", "target": "machine-20"}
    with pytest.raises(NoPrediction) as online:
        preview_answer(PredictionRequest(**question))
    with pytest.raises(PredictionError) as offline:
        dump.predict(**question)
    assert str(offline.value) == str(online.value)


def test_names_that_are_not_there_are_said(dump):
    with pytest.raises(UnknownInDump, match="workload 'sort' is not in the dump"):
        dump.predict("sort", "machine-0")
    with pytest.raises(UnknownInDump, match="platform 'laptop' is not in the dump"):
        dump.predict("app1-section1", "laptop")


def test_a_folder_that_is_no_dump_is_refused(tmp_path):
    with pytest.raises(DumpError, match=r"datapackage\.json"):
        read_dump(tmp_path)
