"""docs/decisions/prediction-confidence.md, row by row."""

from dataclasses import replace

import numpy as np
import pytest
from django.urls import reverse

from predictor.predictions.confidence import ConfidenceEvidence, judge_confidence
from predictor.predictions.question import PredictionRequest
from predictor.predictions.rankings import rank_platforms
from predictor.predictions.service import predict
from profiles.identity.programs import programs_by_source
from profiles.models import Revision, Source
from tests.pages import text_of
from tests.predictor.conftest import store
from tests.programs import program_measurements
from tests.samples import sample_measurements

REPEATED = {"licence": "CC0", "source": "made up"}
SOUND = ConfidenceEvidence(
    candidates=20,
    mean_distance=0.05,
    fit_error=0.02,
    same_architecture=True,
    architecture="x86_64",
    largest_n=16,
    largest_measured_n=16,
    stand_in_t1=False,
    relative_times=False,
    simulated=False,
)
REQUEST = PredictionRequest(workload="app0-section0", target="machine-1")


def test_nothing_speaks_against_it():
    assert judge_confidence(SOUND) == {"level": "high", "reasons": [], "provisional": True, "half_width": None}


@pytest.mark.parametrize(
    ("changes", "level", "words"),
    [
        ({"candidates": 9}, "medium", ["9 comparable pairs"]),
        ({"candidates": 2}, "low", ["2 comparable pairs"]),
        ({"mean_distance": 0.2}, "medium", ["0.20"]),
        ({"mean_distance": 0.31}, "low", ["0.31"]),
        ({"fit_error": 0.11}, "medium", ["11 %"]),
        ({"fit_error": 0.3}, "low", ["30 %"]),
        ({"same_architecture": False}, "low", ["x86_64"]),
        ({"largest_n": 17}, "medium", ["more than 16 threads"]),
        ({"stand_in_t1": True}, "medium", ["n = 1"]),
        ({"relative_times": True}, "medium", ["relative"]),
        ({"simulated": True}, "low", ["simulated"]),
        ({"candidates": 9, "simulated": True}, "low", ["9 comparable pairs", "simulated"]),
        ({"mean_distance": None}, "high", []),
        ({"fit_error": None}, "high", []),
        ({"same_architecture": None}, "high", []),
        ({"half_width": 0.02, "same_architecture": False}, "low", ["x86_64"]),
    ],
)
def test_the_worst_reason_decides_and_what_is_unknown_lowers_nothing(changes, level, words):
    judgement = judge_confidence(replace(SOUND, **changes))
    assert judgement["level"] == level
    assert len(judgement["reasons"]) == len(words)
    assert all(word in reason for word, reason in zip(words, judgement["reasons"], strict=True))


@pytest.mark.parametrize(
    ("half_width", "level"), [(0.05, "high"), (0.1, "high"), (0.11, "medium"), (0.25, "medium"), (0.26, "low")]
)
def test_an_interval_takes_the_place_of_the_rules(half_width, level):
    """Candidates may be few and far where the method knows how wrong it is."""
    judgement = judge_confidence(replace(SOUND, half_width=half_width, candidates=1, mean_distance=0.9, fit_error=0.9))
    assert judgement["level"] == level
    assert judgement["provisional"] is False
    assert [reason for reason in judgement["reasons"] if "90 % interval" in reason] == judgement["reasons"]


def test_what_was_changed_was_judged():
    assert judge_confidence(replace(SOUND, half_width=0.02), [(1, "a changed workload")])["provisional"] is True


def test_an_interval_wider_than_the_time_is_a_factor():
    """To either side, by 5: from a fifth of the time to five times as long. Nothing is -400 % of a time."""
    (reason,) = judge_confidence(replace(SOUND, half_width=4.0))["reasons"]
    assert reason == "the 90 % interval of the fastest time is wide: a factor of 5 to either side"
    (reason,) = judge_confidence(replace(SOUND, half_width=0.4))["reasons"]
    assert reason.endswith("wide: ±40 %")


def disturbed_on(platform):
    """What ran with one thread was disturbed on that machine; on the others nothing was."""
    quiet = sample_measurements(4, 6, **REPEATED)
    flags = [((one.platform == platform) & (one.runs.n == 1)).astype(np.float64) for one in quiet.profiles]
    profiles = zip(quiet.profiles, flags, strict=True)
    return replace(quiet, profiles=[replace(one, runs=replace(one.runs, disturbed=flag)) for one, flag in profiles])


def measured_once_on(platform):
    """Only the first repeat was made on that machine."""
    whole, profiles = sample_measurements(4, 6, **REPEATED), []
    for one in whole.profiles:
        first = np.flatnonzero(one.runs.repeat == one.runs.repeat.min())
        profiles.append(replace(one, runs=one.runs.take(first)) if one.platform == platform else one)
    return replace(whole, profiles=profiles)


def those_about(words, warnings) -> list[str]:
    return [warning for warning in warnings if warning.startswith(f"measured {words}: ")]


def half_widths(answer):
    return np.array([np.log(point["high_s"] / point["time_s"]) for point in answer["curve"]])


@pytest.mark.parametrize("method", ["mpet", "mpet2020", "additive-log"])
@pytest.mark.parametrize("platform", [0, 1])
def test_every_method_says_which_machine_was_under_load(db, method, platform):
    """A reference's, or the target's own workloads."""
    store(disturbed_on(platform), "loaded")
    answer = predict(replace(REQUEST, method=method)).answer
    (said,) = those_about("under load", answer["warnings"])
    assert said.endswith(f" runs on machine-{platform}")


def test_the_interval_is_wider_and_the_times_are_the_same(db):
    quiet = sample_measurements(4, 6, **REPEATED)
    store(quiet, "quiet")
    before = predict(REQUEST).answer
    store(disturbed_on(1), "loaded")  # the newest of two profiles of one pair counts
    after = predict(REQUEST).answer
    assert those_about("under load", before["warnings"]) == []
    assert [point["time_s"] for point in after["curve"]] == [point["time_s"] for point in before["curve"]]
    assert (half_widths(after) > half_widths(before)).all()


def test_a_ranking_says_it_of_each_machine(db):
    store(disturbed_on(1), "loaded")
    said = {
        row["platform"]: those_about("under load", row["warnings"]) for row in rank_platforms("app0-section0").results
    }
    assert len(said) == 4
    assert all(len(sentences) == 1 and sentences[0].endswith(" on machine-1") for sentences in said.values())
    store(sample_measurements(4, 6, **REPEATED), "quiet")
    assert not any(those_about("under load", row["warnings"]) for row in rank_platforms("app0-section0").results)


@pytest.mark.parametrize("platform", [0, 1])
def test_what_was_measured_once_is_said_and_widens_the_interval(db, platform, monkeypatch):
    """A reference's, or the target's own workloads."""
    store(measured_once_on(platform), "quick")
    answer = predict(REQUEST).answer
    (said,) = those_about("once", answer["warnings"])
    assert f", on machine-{platform};" in said
    once, of_all = (int(word) for word in said.removeprefix("measured once: ").split()[0:3:2])
    assert 0 < once < of_all
    rows = {row["platform"]: row["warnings"] for row in rank_platforms("app0-section0").results}
    assert those_about("once", rows["machine-1"]) == [said]
    monkeypatch.setattr("predictor.core.assembly.run_deviations", lambda values: values["t1_s"] * np.nan)
    Revision.raise_for(None)
    unknown = predict(REQUEST).answer
    assert (half_widths(answer) > half_widths(unknown)).all()
    assert [point["time_s"] for point in answer["curve"]] == [point["time_s"] for point in unknown["curve"]]


def test_where_nothing_or_everything_was_repeated_nothing_is_said_of_it(db):
    once = measured_once_on(0)
    store(replace(once, profiles=[measured_once_on(p.platform).profiles[i] for i, p in enumerate(once.profiles)]), "q")
    assert those_about("once", predict(REQUEST).answer["warnings"]) == []
    store(sample_measurements(4, 6, **REPEATED), "repeated")
    assert those_about("once", predict(REQUEST).answer["warnings"]) == []


def test_a_program_says_it_of_each_machine_and_its_page_lists_it(client, db):
    store(disturbed_on(1), "loaded")
    store(program_measurements(), "program")
    source = Source.objects.get(label="program")
    (name,) = programs_by_source([source.pk], None)[source.pk]
    rows = client.get(reverse("api-program", args=name.address)).json()["results"]
    said = {sentence for row in rows for sentence in those_about("under load", row["warnings"])}
    assert said
    for page in (reverse("program", args=name.address), f"{reverse('ranking')}?workload=app0-section0"):
        assert "measured under load: " in text_of(client.get(page))
