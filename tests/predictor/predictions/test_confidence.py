"""docs/decisions/prediction-confidence.md, row by row."""

from dataclasses import replace

import pytest

from predictor.predictions.confidence import ConfidenceEvidence, judge_confidence

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


def test_nothing_speaks_against_it():
    assert judge_confidence(SOUND) == {"level": "high", "reasons": [], "provisional": True, "half_width": None}


@pytest.mark.parametrize(
    ("changes", "level", "word"),
    [
        ({"candidates": 9}, "medium", "9 comparable pairs"),
        ({"candidates": 2}, "low", "2 comparable pairs"),
        ({"mean_distance": 0.2}, "medium", "0.20"),
        ({"mean_distance": 0.31}, "low", "0.31"),
        ({"fit_error": 0.11}, "medium", "11 %"),
        ({"fit_error": 0.3}, "low", "30 %"),
        ({"same_architecture": False}, "low", "x86_64"),
        ({"largest_n": 17}, "medium", "more than 16 threads"),
        ({"stand_in_t1": True}, "medium", "n = 1"),
        ({"relative_times": True}, "medium", "relative"),
        ({"simulated": True}, "low", "simulated"),
    ],
)
def test_each_reason_lowers_the_level(changes, level, word):
    judgement = judge_confidence(replace(SOUND, **changes))
    assert judgement["level"] == level
    assert len(judgement["reasons"]) == 1
    assert word in judgement["reasons"][0]


@pytest.mark.parametrize("changes", [{"mean_distance": None}, {"fit_error": None}, {"same_architecture": None}])
def test_what_is_unknown_lowers_nothing(changes):
    assert judge_confidence(replace(SOUND, **changes))["level"] == "high"


def test_the_worst_reason_decides():
    judgement = judge_confidence(replace(SOUND, candidates=9, simulated=True))
    assert judgement["level"] == "low"
    assert len(judgement["reasons"]) == 2


@pytest.mark.parametrize(
    ("half_width", "level"), [(0.05, "high"), (0.1, "high"), (0.11, "medium"), (0.25, "medium"), (0.26, "low")]
)
def test_an_interval_takes_the_place_of_the_rules(half_width, level):
    """Candidates may be few and far where the method knows how wrong it is."""
    judgement = judge_confidence(replace(SOUND, half_width=half_width, candidates=1, mean_distance=0.9, fit_error=0.9))
    assert judgement["level"] == level
    assert judgement["provisional"] is False
    assert [reason for reason in judgement["reasons"] if "90 % interval" in reason] == judgement["reasons"]


def test_an_interval_knows_nothing_of_other_instruction_sets():
    judgement = judge_confidence(replace(SOUND, half_width=0.02, same_architecture=False))
    assert judgement["level"] == "low"


def test_what_was_changed_was_judged():
    assert judge_confidence(replace(SOUND, half_width=0.02), [(1, "a changed workload")])["provisional"] is True


def test_an_interval_wider_than_the_time_is_a_factor():
    """To either side, by 5: from a fifth of the time to five times as long. Nothing is -400 % of a time."""
    (reason,) = judge_confidence(replace(SOUND, half_width=4.0))["reasons"]
    assert reason == "the 90 % interval is wide: typically a factor of 5 to either side"
    (reason,) = judge_confidence(replace(SOUND, half_width=0.4))["reasons"]
    assert reason.endswith("typically ±40 %")
