"""A private upload is its owner's alone: for everybody else every number is what it is without it.

Each test predicts the same in two databases that differ in one private upload only, whose values are absurd, so that
any leak into a minimum, a mean, a count or a revision shows.
"""

import json
from dataclasses import replace

import numpy as np
import pytest
from django.db import transaction

import predictor.snapshot.building
from predictor.models import Prediction
from predictor.predictions.question import PredictionRequest, RequestError
from predictor.predictions.service import predict, preview_answer
from predictor.snapshot.cache import SnapshotCache, read_database, read_snapshot
from tests.predictor.absurd import multiplied
from tests.predictor.conftest import store, without_pair
from tests.samples import sample_measurements, sample_platform, sample_runs

REQUESTS = [
    PredictionRequest("app0-section0", "machine-1"),
    PredictionRequest("app2-section1", "machine-3", references=["machine-0", "machine-2"]),
    PredictionRequest("app1-section0", "machine-0", n=[1, 2, 64]),
    PredictionRequest("app1-section1", "machine-2", include_simulated=True),
]


def absurd(measurements):
    """The same workloads on the same machines and one more, a million times slower and scaling the wrong way."""
    profiles = [
        replace(one, runs=multiplied(one.runs, 10**6 * one.runs.n))
        for one in [*measurements.profiles, *(replace(p, platform=4) for p in measurements.profiles[:6])]
    ]
    return replace(measurements, platforms=[*measurements.platforms, sample_platform(9)], profiles=profiles)


def store_absurd(label, owner):
    store(absurd(sample_measurements(4, 6, seed=8)), label, owner, private=True)


class UndoneError(Exception):
    """Ends a block whose changes to the database are not kept."""


def seen_by(user):
    """All answers, and the arrays they came from, as a fresh process that has stored none of them makes them."""
    predictor.snapshot.cache._cache = SnapshotCache(8)
    Prediction.objects.all().delete()
    answers = []
    for request in REQUESTS:
        try:
            answers.append(predict(request, user).answer)
        except RequestError as error:
            answers.append(str(error))
    database = read_database(user)
    arrays = [database.features, database.t1_s, *database.element_range("measured"), database.curve_time_s]
    return json.dumps(answers, sort_keys=True), [array.tobytes() for array in arrays], database.platforms


@pytest.fixture
def other(django_user_model):
    return django_user_model.objects.create_user("other")


@pytest.fixture(params=["nobody", "other"])
def viewer(request, other):
    return other if request.param == "other" else None


def test_a_private_upload_moves_nobody_elses_answers(measured, owner, viewer):
    before = seen_by(viewer)
    store_absurd("secret", owner)
    after = seen_by(viewer)
    assert after == before


@pytest.fixture
def simulated(db):
    """Six simulated machines with five workloads."""
    measurements = sample_measurements(6, 5, origin="simulated")
    machines = [replace(one, name=f"simulated-{one.name}") for one in measurements.platforms]
    machines[1] = replace(machines[1], base_mhz=None)  # unknown values are the median of those of other machines
    return store(replace(measurements, platforms=machines), label="simulated", kind="simulator")


def measure_privately(owner, workloads):
    """Some absurd measurements of the owner, without the workload that is asked about."""
    private = sample_measurements(4, workloads, seed=8)
    others = [one for one in private.profiles if private.workloads[one.workload].name != "app1/section1"]
    kept = [replace(one, runs=multiplied(one.runs, 10**6 * one.runs.n)) for one in others]
    kept[0] = replace(kept[0], runs=sample_runs(np.random.default_rng(1), counts=(1, 5, 11, 14)))
    machines = [replace(one, base_mhz=9000) for one in private.platforms]
    store(replace(private, profiles=kept, platforms=machines), label="own", owner=owner, private=True)


SIMULATED_REQUEST = PredictionRequest("app1-section1", "simulated-machine-2")


@pytest.mark.parametrize("workloads", [5, 9], ids=["the same workloads", "others too"])
@pytest.mark.parametrize("include", [False, True], ids=["simulated profiles", "all profiles"])
@pytest.mark.parametrize("method", ["mpet", "mpet2020", "ridge"])
def test_private_measurements_move_no_simulated_prediction_of_their_owner(simulated, owner, workloads, method, include):
    """Not even by a normalisation that both would share, or at the thread counts between the measured ones."""
    request = replace(SIMULATED_REQUEST, method=method, include_simulated=include)
    before = preview_answer(request, owner)
    measure_privately(owner, workloads)
    after = preview_answer(request, owner)
    for name in ("curve", "t1_s", "features", "candidates", "confidence", "simulated"):
        assert after[name] == before[name], name
    assert after["simulated"] or method == "ridge"  # which names no reference


@pytest.mark.parametrize("method", ["mpet", "mpet2020"])
def test_nor_those_of_others_who_let_measured_profiles_take_part(simulated, owner, method):
    request = replace(SIMULATED_REQUEST, method=method, include_simulated=True)
    before = preview_answer(request)
    measure_privately(owner, 9)
    assert preview_answer(request)["curve"] == before["curve"]


def test_the_upload_would_have_moved_them(measured, owner):
    """The absurd values do show where they are seen: the test above can fail."""
    before = seen_by(None)
    store(absurd(sample_measurements(4, 6, seed=8)), "public")
    assert seen_by(None) != before


def test_the_owners_own_predictions_use_it(measured, owner):
    public = predict(REQUESTS[0]).answer
    store_absurd("secret", owner)
    own = predict(REQUESTS[0], owner).answer
    assert own["t1_s"] > 1000 * public["t1_s"]
    assert "secret" in {source["label"] for source in own["sources"]}


def test_a_machine_that_only_the_owner_knows_can_be_his_target(measured, owner, viewer):
    complete = sample_measurements(5, 6, seed=8)
    mine = [one for one in complete.profiles if one.platform == 4]
    own = replace(complete, platforms=complete.platforms[4:], profiles=[replace(one, platform=0) for one in mine])
    store(without_pair(own, 0, 0), "secret", owner, private=True)
    asked = PredictionRequest("app0-section0", "machine-4")
    assert predict(asked, owner).target.startswith("machine-4")
    with pytest.raises(RequestError) as caught:
        predict(asked, viewer)
    assert not any(slug.startswith("machine-4") for slug in caught.value.suggestions)


def test_stored_predictions_of_private_data_are_their_owners(measured, owner, other):
    shared = predict(REQUESTS[0], owner)
    store_absurd("secret", owner)
    own = predict(REQUESTS[0], owner)
    assert (shared.private_to, own.private_to) == (None, owner)
    assert own.answer["revision"] == shared.answer["revision"]  # the public one
    assert own in Prediction.objects.visible_to(owner)
    for viewer in (None, other):
        assert list(Prediction.objects.visible_to(viewer)) == [shared]
    assert predict(REQUESTS[0], other).pk == shared.pk
    store_absurd("secret", other)
    theirs = predict(REQUESTS[0], other)
    store(sample_measurements(4, 6, seed=9), "two", owner, private=True)
    assert len({shared.pk, own.pk, theirs.pk, predict(REQUESTS[0], owner).pk}) == 4


def test_emulated_uploads_serve_not_even_their_owner(measured, owner):
    before = read_snapshot().database
    store(absurd(sample_measurements(4, 6, seed=8, origin="emulated")), "emulated", owner, private=True)
    own = read_snapshot(owner).database
    assert own.t1_s.tobytes() == before.t1_s.tobytes()
    assert own.features.tobytes() == before.features.tobytes()


def test_a_private_upload_that_is_undone_leaves_no_snapshot(measured, owner):
    """The owner's revision number comes back with the next upload; the snapshot of the undone one must not."""
    with pytest.raises(UndoneError), transaction.atomic():
        store_absurd("undone", owner)
        undone = read_database(owner)
        raise UndoneError
    store(sample_measurements(4, 6, seed=9), "kept", owner, private=True)
    assert read_database(owner).t1_s.max() < undone.t1_s.max() / 1000
