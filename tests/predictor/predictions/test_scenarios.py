"""Scenarios through the service: what is stored, shown, refused and warned of."""

from dataclasses import replace

import numpy as np
import pytest
from django.urls import reverse

from predictor.core.methods import METHODS
from predictor.models import Prediction
from predictor.predictions.question import NoPrediction, PredictionRequest
from predictor.predictions.service import predict, preview_answer
from predictor.snapshot.building import read_measures_at_one
from predictor.snapshot.cache import read_snapshot
from profiles.models import Profile, ScalingCurves
from tests.predictor.conftest import store
from tests.samples import sample_counters, sample_measurements, sample_platform, sample_runs

REQUEST = PredictionRequest(workload="app0-section0", target="machine-1")


def answer_to(**fields):
    return preview_answer(replace(REQUEST, **fields))


def sequential_program(measurements, platforms=(0,), workload=0):
    """The same, with one workload measured at n = 1 alone, on some platforms."""
    rng = np.random.default_rng(3)
    profiles = []
    for profile in measurements.profiles:
        if profile.workload != workload:
            profiles.append(profile)
        elif profile.platform in platforms:
            runs = sample_runs(rng, (1,), seconds=0.01 * (1 + profile.platform))
            profiles.append(replace(profile, runs=runs, counters=sample_counters(rng, (1,))))
    return replace(measurements, profiles=profiles)


class TestStored:
    def test_a_scenario_is_another_question(self, measured):
        scenarios = [
            {},
            {"scenario": "sequential"},
            {"scenario": "scaling"},
            {"scenario": "parallelisation", "strategy": "recursive"},
            {"workload_changes": {"lock_delay": 0.5}},
            {"workload_changes": {"lock_delay": 0.25}},
            {"platform_changes": {"n_ht": 6}},
        ]
        keys = [predict(replace(REQUEST, **fields)).pk for fields in scenarios]
        assert len(set(keys)) == len(scenarios)
        assert [predict(replace(REQUEST, **fields)).pk for fields in scenarios] == keys
        answers = [Prediction.objects.get(pk=key).answer for key in keys]
        assert all(fields.items() <= answer.items() for fields, answer in zip(scenarios, answers, strict=True))

    def test_the_order_of_changes_does_not_matter(self, measured):
        first, other = (
            predict(replace(REQUEST, workload_changes=changes))
            for changes in ({"work": 2, "lock_delay": 0.5}, {"lock_delay": 0.5, "work": 2.0})
        )
        assert first.pk == other.pk
        assert first.answer["workload_changes"] == {"lock_delay": 0.5, "work": 2.0}


class TestShown:
    def test_a_migration_has_no_baseline(self, measured):
        answer = answer_to()
        assert (answer["scenario"], answer["baseline"], answer["changes"]) == ("migration", None, [])

    def test_t1_alone(self, measured):
        answer = answer_to(scenario="sequential")
        assert [point["n"] for point in answer["curve"]] == [1]
        assert answer["curve"][0]["time_s"] == answer["t1_s"]
        assert answer["candidates"]["scaling"] == []
        assert set(answer["features"]["values"]) == {None}

    @pytest.mark.parametrize("method", METHODS)
    def test_scaling_alone_shows_no_time(self, measured, method):
        answer, whole = answer_to(scenario="scaling", method=method), answer_to(method=method)
        assert answer["t1_s"] is None
        assert {point["time_s"] for point in answer["curve"]} == {None}
        assert [point["speedup"] for point in answer["curve"]] == [point["speedup"] for point in whole["curve"]]
        assert answer["measured"]["error_percent"] > 0

    def test_changes_show_what_they_change(self, measured):
        answer = answer_to(workload_changes={"lock_delay": 0.5, "work": 2})
        assert [set(point) for point in answer["baseline"]] == [{"n", "time_s", "speedup"}] * 16
        assert [point["time_s"] for point in answer["baseline"]] == [point["time_s"] for point in answer_to()["curve"]]
        assert len(answer["changes"]) == 2
        assert answer["measured"]["error_percent"] is None
        assert any("a hypothetical workload" in reason for reason in answer["confidence"]["reasons"])

    def test_a_virtual_platform_says_how_little_is_known_of_it(self, measured):
        answer = answer_to(platform_changes={"n_nu": None, "n_ht": 12, "n_max": 24, "base_mhz": 4200})
        assert [point["n"] for point in answer["curve"]] == list(range(1, 25))
        assert [point["n"] for point in answer["baseline"]] == list(range(1, 17))
        assert len(answer["changes"]) == 4
        assert answer["confidence"]["level"] == "low"
        assert any("a hypothetical machine" in reason for reason in answer["confidence"]["reasons"])
        width = [point["high_s"] / point["low_s"] for point in answer["curve"]]
        assert width[23] > width[3]

    def test_n_beyond_those_measured(self, measured):
        answer = answer_to(n=[16, 64])
        near, far = (point["high_s"] / point["low_s"] for point in answer["curve"])
        assert far > near
        assert any("beyond the 16 threads" in text for text in answer["warnings"])
        assert any("more than 16 threads" in reason for reason in answer["confidence"]["reasons"])

    def test_what_was_measured_on_the_platform_itself(self, measured):
        answer = answer_to(references=["machine-1"], workload_changes={"work_imbalance": 0})
        measured_s = {point["n"]: point["time_s"] for point in answer["measured"]["curve"]}
        before = {point["n"]: point["time_s"] for point in answer["baseline"]}
        assert {n: before[n] for n in measured_s} == pytest.approx(measured_s)
        assert "measured on machine-1" in answer["changes"][0]
        assert all(point["time_s"] < before[point["n"]] for point in answer["curve"])
        assert answer["candidates"] == {"t1": [], "scaling": []}
        assert answer["sources"]
        assert not any("was not used" in text for text in answer["warnings"])

    def test_memory_by_bound_without_counters(self, db):
        store(sample_measurements(4, 6, counters=False))
        assert "memory-bound" in answer_to(workload_changes={"memory": 2})["changes"][0]


class TestSequentialProgram:
    """A program that was measured at n = 1 alone, on machine-0."""

    @pytest.fixture
    def program(self, db):
        store(sequential_program(sample_measurements(4, 9)))

    def test_counters_of_sequential_profiles_are_read_once(self, program, django_assert_max_num_queries):
        answer = answer_to(scenario="sequential", method="mpet2020")
        assert answer["t1_s"] == pytest.approx(0.02, rel=0.1)  # samples: 0.01 s times platform and workload
        assert {candidate["platform"] for candidate in answer["candidates"]["t1"]} == {"machine-0"}
        with django_assert_max_num_queries(5):
            answer_to(scenario="sequential", method="mpet2020")

    def test_counters_of_sequential_profiles_are_read_without_model_instances(self, program, monkeypatch):
        """Instances of 260,000 profiles took 6 s of the first request."""
        snapshot = read_snapshot(None)
        monkeypatch.setattr(Profile, "from_db", None)
        monkeypatch.setattr(ScalingCurves, "from_db", None)
        assert np.isfinite(read_measures_at_one(snapshot)).any()

    @pytest.mark.parametrize("method", ["mpet", "mpet2020"])
    @pytest.mark.parametrize("target", ["machine-0", "machine-1"])
    def test_parallelised_here_and_elsewhere(self, program, method, target):
        answer = answer_to(scenario="parallelisation", strategy="recursive", method=method, target=target)
        # samples: every workload has t(n) = (0.1 + 0.9/n) t(1)
        speedup = {point["n"]: point["speedup"] for point in answer["curve"]}
        assert speedup[16] == pytest.approx(1 / (0.1 + 0.9 / 16), rel=0.1)
        assert {candidate["platform"] for candidate in answer["candidates"]["scaling"]} == {target}
        assert len(answer["candidates"]["scaling"]) == 2
        assert (answer["candidates"]["t1"] == []) == (target == "machine-0")
        assert any("not parallel yet" in reason for reason in answer["confidence"]["reasons"])
        assert [point["n"] for curve in answer["reference_curves"] for point in curve["curve"]] in ([], [1])

    def test_parallelised_and_then_changed(self, program):
        fields = {"scenario": "parallelisation", "strategy": "recursive", "target": "machine-0"}
        plain = answer_to(**fields)
        changed = answer_to(**fields, workload_changes={"lock_delay": 0, "task_join": 0}, platform_changes={"n_ht": 12})
        assert changed["curve"][15]["time_s"] < plain["curve"][15]["time_s"]
        assert len(changed["changes"]) == 3

    def test_a_migration_says_that_there_is_no_scaling(self, program):
        assert any("n = 1 only" in text for text in answer_to()["warnings"])
        with pytest.raises(NoPrediction, match="no scaling"):
            answer_to(platform_changes={"n_max": 32})


class TestCautions:
    def test_nothing_to_say_of_sound_profiles(self, measured):
        assert not any("virtual" in text or "few valid" in text for text in answer_to()["warnings"])

    def test_virtualised_references(self, db):
        platforms = [sample_platform(index, virtualised=index in (0, 2)) for index in range(4)]
        store(replace(sample_measurements(4, 6), platforms=platforms))
        (warning,) = [text for text in answer_to()["warnings"] if "virtualised" in text]
        assert "machine-0, machine-2" in warning

    def test_few_valid_dimensions(self, db):
        rng = np.random.default_rng(0)
        measurements = sample_measurements(4, 6, decomposed=False, counters=False)
        profiles = [
            replace(profile, runs=sample_runs(rng, (1, 2), decomposed=False, seconds=0.01 * (1 + profile.workload)))
            for profile in measurements.profiles
        ]
        store(replace(measurements, profiles=profiles))
        assert any("share 2 elements" in text for text in answer_to()["warnings"])

    def test_a_workload_like_no_candidate(self, db):
        """Its parts and counters are far outside those of all others."""
        measurements = sample_measurements(4, 6, counters=False)
        changed = [replace(one, runs=replace(one.runs, parts_ns=unlike(one.runs))) for one in measurements.profiles]
        profiles = zip(measurements.profiles, changed, strict=True)
        store(replace(measurements, profiles=[one if one.workload else other for one, other in profiles]))
        (warning,) = [text for text in answer_to(method="mpet2020")["warnings"] if "extrapolation" in text]
        assert "outside the range of the candidates" in warning
        assert not any("extrapolation" in text for text in answer_to(workload="app0-section1")["warnings"])

    def test_a_poor_fit(self, db):
        measurements = sample_measurements(4, 6)
        rough = np.array([1, 40])
        profiles = []
        for profile in measurements.profiles:
            time_s = profile.runs.time_s * np.where(profile.workload == 0, rough[profile.runs.n % 2], 1)
            ns = (time_s * 1e9).astype(np.int64)
            parts = np.where(profile.runs.parts_ns < 0, -1, 0)
            parts[:, 0] = np.where(parts[:, 0] < 0, -1, profile.runs.n * ns)
            profiles.append(replace(profile, runs=replace(profile.runs, time_s=ns / 1e9, time_ns=ns, parts_ns=parts)))
        store(replace(measurements, profiles=profiles))
        (warning,) = [text for text in answer_to(method="mpet2020")["warnings"] if "fit error" in text]
        assert "machine-0" in warning


def unlike(runs):
    """Each part where no sample has it: two thirds of the thread time switching, rising with n."""
    parts = np.where(runs.parts_ns < 0, -1, 0)
    profiled = runs.is_profile_pass
    total = runs.n * runs.time_ns
    share = 0.3 + 0.4 * runs.n / runs.n.max()
    for index, weight in ((1, 0.5), (3, 0.3), (5, 0.2)):
        parts[profiled, index] = (weight * share * total)[profiled].astype(np.int64)
    parts[profiled, 0] = (total - parts[:, 1:].clip(min=0).sum(axis=1))[profiled]
    return parts


@pytest.mark.parametrize(
    "fields",
    [
        {"scenario": "scaling"},
        {"scenario": "scaling", "workload_changes": {"work_imbalance": 0.5}},
        {"scenario": "sequential"},
        {"scenario": "parallelisation", "strategy": "recursive"},
        {"references": ["machine-1"], "workload_changes": {"work": 2}},
        {"platform_changes": {"n_max": 64}},
    ],
    ids=", ".join,
)
@pytest.mark.parametrize("method", ["mpet", "mpet2020"])
def test_every_answer_has_a_page(measured, client, fields, method):
    prediction = predict(replace(REQUEST, method=method, **fields))
    assert client.get(reverse("prediction", args=[prediction.uid])).status_code == 200
