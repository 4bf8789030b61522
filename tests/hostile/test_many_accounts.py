"""Attacks by somebody with ten accounts: against what is known of a public platform, and against the track record.

Findings 2 and 3 of the third audit. Nothing here needs what came later, so that it fails on the code from before.
"""

import io
from dataclasses import replace

import numpy as np
import pytest
from django.core.management import call_command
from django.test import Client
from rest_framework.test import APIClient

from operations.moderation.queue import QUEUE_PARTS
from predictor.accuracy.settlement import scores
from predictor.models import Prediction
from predictor.predictions.question import PredictionRequest
from predictor.predictions.rankings import rank_platforms
from predictor.predictions.service import predict, preview_answer
from profiles.measurements import Measurements, RunTable
from profiles.models import Profile
from profiles.scaling.runs import stored_curves
from tests.owners import new_account, old_account
from tests.predictor.conftest import store
from tests.samples import sample_measurements

pytestmark = pytest.mark.django_db
PLATFORMS, WORKLOADS, KNOWN = 6, 8, 6  # how many workloads are measured everywhere; the others not on the target
TARGET = 2
ACCOUNTS = 10


@pytest.fixture(params=[True])
def deliver(request, django_capture_on_commit_callbacks):
    """Store a delivery, with all that follows it unless that is left out."""

    def store_and_follow(measurements, label, owner=None):
        with django_capture_on_commit_callbacks(execute=request.param):
            return store(measurements, label=label, owner=owner).source

    return store_and_follow


def subset(measurements: Measurements, pairs) -> Measurements:
    kept = [profile for profile in measurements.profiles if (profile.platform, profile.workload) in pairs]
    return replace(measurements, profiles=kept)


def with_times(runs: RunTable, time_s) -> RunTable:
    time_ns = (time_s * 1e9).astype(np.int64)
    parts = np.where(runs.parts_ns < 0, -1, 0)
    parts[:, 0] = np.where(runs.is_profile_pass, runs.n * time_ns, -1)
    return replace(runs, time_ns=time_ns, time_s=time_ns / 1e9, parts_ns=parts)


def faster(measurements: Measurements, factor=0.2) -> Measurements:
    profiles = [replace(one, runs=with_times(one.runs, one.runs.time_s * factor)) for one in measurements.profiles]
    return replace(measurements, profiles=profiles)


def honest_times() -> Measurements:
    """Platforms and workloads that differ by factors, as real ones do."""
    rng = np.random.default_rng(1)
    whole = sample_measurements(PLATFORMS, WORKLOADS)
    factors = np.outer(rng.uniform(0.5, 2, PLATFORMS), rng.uniform(0.3, 3, WORKLOADS))
    factors *= np.exp(rng.normal(0, 0.1, factors.shape))  # and beside these by a tenth, which nothing foretells
    profiles = [
        replace(one, runs=with_times(one.runs, one.runs.time_s * factors[one.platform, one.workload]))
        for one in whole.profiles
    ]
    return replace(whole, profiles=profiles)


def pairs_of_target(workloads):
    return {(TARGET, workload) for workload in workloads}


@pytest.fixture
def known(db):
    """What the operator measured: all but two workloads of the target."""
    whole = honest_times()
    open_pairs = pairs_of_target(range(KNOWN, WORKLOADS))
    kept = [one for one in whole.profiles if (one.platform, one.workload) not in open_pairs]
    store(replace(whole, profiles=kept), label="public")
    return whole


def questions():
    return [PredictionRequest(f"app{index // 2}-section{index % 2}", f"machine-{TARGET}") for index in range(WORKLOADS)]


def answers():
    return [preview_answer(question) for question in questions()]


def ranked():
    """The places of the platforms of each workload."""
    names = [question.workload for question in questions()]
    return {name: [row["platform"] for row in rank_platforms(name).results] for name in names}


def told(answer):
    return [(point["n"], point["time_s"], point["low_s"], point["high_s"]) for point in answer["curve"]]


class TestAgainstAPlatform:
    @pytest.fixture
    def attack(self, known, deliver):
        def by_accounts(count):
            for index in range(count):
                faked = faster(subset(known, pairs_of_target(range(KNOWN))), 0.2 + index / 1000)
                deliver(faked, f"fake{index}", new_account(f"eve{index}"))

        return by_accounts

    @pytest.mark.parametrize(
        ("deliver", "count"),
        [(False, 1), pytest.param(True, ACCOUNTS, marks=pytest.mark.lab)],
        ids=["before it is judged", "judged"],
        indirect=["deliver"],
    )
    def test_predictions_and_rankings_stay(self, attack, count):
        before, places = answers(), ranked()
        attack(count)
        after = answers()
        assert [told(answer) for answer in after] == [told(answer) for answer in before]
        for old, new in zip(before, after, strict=True):
            for was, now in zip(old["curve"], new["curve"], strict=True):
                assert was["low_s"] <= now["time_s"] <= was["high_s"]
        assert ranked() == places

    def test_the_queue_shows_it_and_nobody_honest_is_accused(self, attack):
        attack(ACCOUNTS)
        shown = [QUEUE_PARTS["outliers"].show(row).why for row in QUEUE_PARTS["outliers"].find()]
        assert len(shown) == ACCOUNTS * KNOWN
        assert sum("another owner" in why for why in shown) >= KNOWN
        labels = set(QUEUE_PARTS["uploads"].find().values_list("label", flat=True))
        assert labels == {f"fake{index}" for index in range(ACCOUNTS)}
        call_command("find_outliers", "--all", stdout=io.StringIO())
        doubted = Profile.objects.exclude(outlier_reason="")
        assert set(doubted.values_list("source__label", flat=True)) == labels

    @pytest.mark.parametrize("deliver", [False], ids=["before it is judged"], indirect=True)
    def test_its_pages_say_so(self, attack):
        attack(1)
        faked = Profile.objects.filter(source__label="fake0").first()
        assert "Excluded from predictions: 0.2 times" in Client().get(f"/profiles/{faked.uid}/").content.decode()
        row = APIClient().get("/api/v1/profiles/?outlier=true").json()["results"][0]
        assert "times the time of another owner" in row["outlier_reason"]

    def test_what_is_honest_is_a_second_measurement(self, known, deliver):
        before = [told(answer) for answer in answers()]
        deliver(faster(subset(known, pairs_of_target(range(KNOWN))), 1.05), "honest", old_account("ada"))
        assert [told(answer) for answer in answers()] == before
        assert not QUEUE_PARTS["outliers"].find().exists()
        page = Client().get(f"/profiles/{Profile.objects.filter(source__label='honest').first().uid}/")
        assert "second measurement" in page.content.decode()


def made_up(known, prediction, factor=1.0, noise=0.0) -> Measurements:
    """The pair of a prediction, measured as it was predicted, or as far off as that."""
    index = next(i for i in range(WORKLOADS) if f"app{i // 2}-section{i % 2}" == prediction.workload)
    fake = subset(known, {(TARGET, index)})
    times = {point["n"]: point["time_s"] * factor for point in prediction.answer["curve"] if point["time_s"]}
    runs = fake.profiles[0].runs
    time_s = np.array([times[n] for n in runs.n.tolist()]) * (1 + noise * (runs.repeat - 2))
    return replace(fake, profiles=[replace(fake.profiles[0], runs=with_times(runs, time_s))])


class TestAgainstTheTrackRecord:
    @pytest.fixture
    def before(self, known, deliver):
        """The score after one pair was measured by the operator, while the other is open."""
        predict(questions()[KNOWN])
        deliver(subset(known, pairs_of_target([KNOWN])), "honest")
        score = scores(None, "measured")
        assert [one.count for one in score] == [1]
        return score

    @pytest.mark.parametrize(
        ("days", "asks", "factor", "noise", "doubt"),
        [
            (0, True, 1.0, 0.0, "asked"),
            (0, False, 1.0, 0.01, "new"),
            (0, False, 1.2, 0.01, "new"),
            (60, True, 1.2, 0.01, "asked"),
            (60, False, 1.0, 0.0, "close"),
            (60, False, 1.0, 0.01, "close"),
        ],
    )
    def test_one_account(self, known, before, deliver, days, asks, factor, noise, doubt):  # noqa: PLR0917
        eve = old_account("eve", days) if days else new_account("eve")
        prediction = predict(questions()[KNOWN + 1], eve if asks else None)
        deliver(made_up(known, prediction, factor, noise), "made up", eve)
        settled = Prediction.objects.get(pk=prediction.pk)
        assert (settled.settled_by.source.label, settled.is_blind, settled.doubt) == ("made up", False, doubt)
        assert scores(None, "measured") == before

    def test_an_old_account_that_asked_without_its_name_and_keeps_a_distance_has_one_vote(self, known, before, deliver):
        """It cannot be told from an honest one."""
        prediction = predict(questions()[KNOWN + 1])
        deliver(made_up(known, prediction, 1.2, 0.01), "made up", old_account("eve"))
        (score,) = scores(None, "measured")
        assert (score.count, score.owners) == (2, 2)
        error = Prediction.objects.get(pk=prediction.pk).error_full
        assert score.mean_error_percent == pytest.approx((before[0].mean_error_percent + 100 * error) / 2)

    def test_ten_accounts_with_a_hundred_made_up_pairs(self, known, before, deliver):
        """Ten pairs each: machines that only the accounts have, beside the known workloads."""
        for index in range(ACCOUNTS):
            eve = new_account(f"eve{index}")
            own = replace(
                known,
                platforms=[
                    replace(one, name=f"{one.name}-of-{index}", cpu_model=f"E{index}") for one in known.platforms
                ],
            )
            seen = {(platform, 0) for platform in range(5)}
            deliver(subset(own, seen), f"seen{index}", eve)
            faked = []
            for platform in range(5):
                for workload in (1, 3):
                    question = PredictionRequest(
                        f"app{workload // 2}-section{workload % 2}", f"machine-{platform}-of-{index}"
                    )
                    prediction = predict(question)
                    (one,) = subset(own, {(platform, workload)}).profiles
                    times = {point["n"]: point["time_s"] for point in prediction.answer["curve"]}
                    time_s = np.array([times[n] for n in one.runs.n.tolist()])
                    faked.append(replace(one, runs=with_times(one.runs, time_s * (1 + 0.02 * (one.runs.repeat - 2)))))
            deliver(replace(own, profiles=faked), f"made up {index}", eve)
        assert Prediction.objects.exclude(settled_at=None).count() == 1 + 10 * ACCOUNTS
        assert scores(None, "measured") == before

    def test_what_a_new_account_measured_leaves_the_prediction_open(self, known, before, deliver):
        eve = new_account("eve")
        prediction = predict(questions()[KNOWN + 1])
        deliver(made_up(known, prediction, 1.2), "made up", eve)
        deliver(made_up(known, prediction, 1.3), "made up again", new_account("eva"))
        assert Prediction.objects.get(pk=prediction.pk).settled_by.source.label == "made up"
        deliver(subset(known, pairs_of_target([KNOWN + 1])), "the operator's", None)
        settled = Prediction.objects.get(pk=prediction.pk)
        assert (settled.settled_by.source.label, settled.is_blind) == ("the operator's", True)
        assert [(one.count, one.owners) for one in scores(None, "measured")] == [(2, 1)]

    def test_an_owner_has_one_vote(self, known, before, deliver):
        """However many predictions of the pair are open."""
        ada = old_account("ada")
        for n in (None, (1, 2), (1, 4), (1, 8)):
            prediction = predict(replace(questions()[KNOWN + 1], n=n))
        prediction = predict(questions()[KNOWN + 1])
        deliver(made_up(known, prediction, 2.0), "ada", ada)
        (score,) = scores(None, "measured")
        assert (score.count, score.owners) == (5, 2)
        assert score.mean_error_percent == pytest.approx((before[0].mean_error_percent + 50) / 2, rel=0.01)

    def test_what_agrees_too_well_is_in_the_queue(self, known, before, deliver):
        prediction = predict(questions()[KNOWN + 1])
        source = deliver(made_up(known, prediction), "made up", old_account("eve"))
        (row,) = QUEUE_PARTS["agreeing"].find()
        assert row == source.profiles.get()
        assert "closer to a prediction of its pair than its repeats" in QUEUE_PARTS["agreeing"].show(row).why
        assert stored_curves(row) is not None
        answer = APIClient().get(f"/api/v1/predictions/{prediction.uid}/").json()["settlement"]
        assert (answer["blind"], answer["doubt"]) == (False, "close")
        assert "agrees with the prediction more closely than its repeats" in Client().get("/settled/").content.decode()
        assert "does not count for the track record" in Client().get(f"/predictions/{prediction.uid}/").content.decode()
