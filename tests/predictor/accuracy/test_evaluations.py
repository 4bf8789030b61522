"""Which profiles are evaluated, and what is kept of an evaluation."""

import time
from dataclasses import asdict

import numpy as np
import pytest
from django.db import DataError, IntegrityError, transaction

from predictor.accuracy.evaluations import (
    NothingStored,
    error_rows,
    evaluate_subject,
    read_stored_subject,
    store_evaluation,
)
from predictor.core.evaluate import Protocol
from predictor.core.methods import METHODS
from predictor.models import Evaluation
from tests.predictor.conftest import store as store_profiles
from tests.predictor.conftest import without_pair
from tests.samples import sample_measurements

CHOSEN = [METHODS[name] for name in ("mpet2020", "ridge")]


def simulated(**fields):
    return store_profiles(sample_measurements(4, 6, seed=3, origin="simulated"), "demo", kind="simulator", **fields)


def evaluate_stored(protocol=None, **options):
    subject = read_stored_subject()
    started = time.perf_counter()
    evaluation = evaluate_subject(subject, CHOSEN, protocol or Protocol(), **options)
    return evaluation, store_evaluation(evaluation, subject, started)


def test_measured_and_simulated_profiles_never_meet(db):
    with pytest.raises(NothingStored, match="no measured or simulated profile is stored"):
        read_stored_subject()
    simulated()
    assert read_stored_subject().origin == "simulated"
    store_profiles(sample_measurements(1, 5, seed=4), "one machine")
    assert read_stored_subject().origin == "simulated"
    assert read_stored_subject("measured").origin == "measured"
    store_profiles(sample_measurements(4, 5))
    assert (read_stored_subject().origin, len(read_stored_subject().database)) == ("measured", 20)
    assert len(read_stored_subject("simulated").database) == 24
    with pytest.raises(NothingStored, match="emulated"):
        read_stored_subject("emulated")


def test_private_profiles_take_no_part(measured, owner):
    before = len(read_stored_subject().database)
    store_profiles(sample_measurements(4, 6, seed=5), "private", owner, private=True)
    assert len(read_stored_subject().database) == before


def test_what_is_kept_is_what_was_found(measured):
    protocol = Protocol(holdout="cpu_model", probes=3, sample=10, seed=4, targets=(0, 2))
    evaluation, kept = evaluate_stored(protocol, floor=True)
    kept.refresh_from_db()
    assert (kept.revision, kept.seconds > 0) == (read_stored_subject().database.revision, True)
    assert (kept.holdout, kept.probes, kept.sample, kept.seed) == ("cpu_model", 3, 10, 4)
    assert (kept.targets, kept.origin, kept.profiles) == (["machine-0", "machine-2"], "measured", 24)
    report = asdict(evaluation.report())
    assert kept.noise_floor == report["noise_floor"]
    assert kept.noise_floor["full"]["count"] == 10
    for method in kept.methods.all():
        assert method.statistics == report["methods"][method.name]
        assert method.version == METHODS[method.name].version
        assert method.is_baseline == (method.name == "ridge")
    assert [method.name for method in kept.methods.all()] == ["mpet2020", "ridge"]


def test_every_error_is_kept_with_its_pair(measured):
    evaluation, kept = evaluate_stored(Protocol(sample=8))
    rows = list(error_rows(Evaluation.objects.with_errors().get(pk=kept.pk)))
    outcomes = [outcome for of_method in evaluation.outcomes.values() for outcome in of_method]
    assert len(rows) == len(outcomes) == 16
    for row, outcome in zip(rows, outcomes, strict=True):
        assert (row["platform"], row["workload"], row["method"]) == (outcome.platform, outcome.workload, outcome.method)
        for part, error in outcome.errors.items():
            assert row[f"{part}_error_percent"] == pytest.approx(100 * error, rel=1e-6)


def test_a_refused_prediction_has_no_error(db):
    """Nobody else has the workload."""
    measurements = sample_measurements(2, 3)
    store_profiles(without_pair(measurements, 1, 0))
    _, kept = evaluate_stored()
    rows = [row for row in error_rows(kept) if row["workload"] == "app0-section0"]
    assert {row["full_error_percent"] for row in rows} == {None}
    assert len(rows) == 2


def test_an_error_too_large_to_keep_is_the_largest(measured):
    evaluation, _ = evaluate_stored(Protocol(sample=3))
    evaluation.outcomes["ridge"][0].errors["full"] = 1e60
    kept = store_evaluation(evaluation, read_stored_subject(), time.perf_counter())
    errors = Evaluation.objects.with_errors().get(pk=kept.pk).methods.get(name="ridge").errors_full
    assert errors[0] == np.finfo(np.float32).max


def test_the_floor_reads_the_runs_of_the_same_pairs(measured):
    evaluation, _ = evaluate_stored(Protocol(sample=5), floor=True)
    pairs = [(outcome.platform, outcome.workload) for outcome in evaluation.outcomes["ridge"]]
    assert [(outcome.platform, outcome.workload) for outcome in evaluation.floor] == pairs
    assert all(0 < outcome.errors["full"] < 0.02 for outcome in evaluation.floor)


def test_no_evaluation_mixes_origins(db):
    with pytest.raises((IntegrityError, DataError)), transaction.atomic():  # PostgreSQL finds the text too long
        Evaluation.objects.create(
            revision=1, origin="measured+simulated", holdout="pair", seed=0, profiles=1, pairs={}, seconds=1.0
        )


def test_the_newest_with_baselines_comes_before_newer_ones_without(measured):
    _, compared = evaluate_stored(Protocol(sample=2))
    subject = read_stored_subject()
    alone = evaluate_subject(subject, CHOSEN[:1], Protocol(sample=2))
    newest = store_evaluation(alone, subject, time.perf_counter())
    assert Evaluation.objects.listed().newest_with_baselines() == compared
    compared.delete()
    assert Evaluation.objects.listed().newest_with_baselines() == newest


def test_history_has_like_evaluations_alone_oldest_first(measured):
    evaluate_stored(Protocol(sample=2))
    evaluate_stored(Protocol(sample=2, holdout="cpu_model"))
    store_profiles(sample_measurements(2, 2, seed=9), "more")
    evaluate_stored(Protocol(sample=2))
    history = Evaluation.objects.history("measured", "pair", None)
    assert [row["revision"] for row in history if row["methods__name"] == "ridge"] == [1, 2]
    assert [row["revision"] for row in history] == sorted(row["revision"] for row in history)
