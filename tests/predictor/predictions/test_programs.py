"""A whole program over all platforms: sums, refusals, privacy, what would narrow it."""

from dataclasses import replace

import numpy as np
import pytest

from predictor.core.programs import sum_times
from predictor.core.steps import last_step
from predictor.predictions.next_measurements import next_measurements_document
from predictor.predictions.programs import narrowing_question, program_facts
from predictor.predictions.question import InvalidField, NoPrediction, PredictionRequest, UnknownName
from predictor.predictions.rankings import RankingQuestion
from predictor.predictions.service import preview_answer
from profiles.identity.programs import program_or_404, programs_by_source
from profiles.models import Source
from tests.predictor.conftest import store
from tests.programs import late_program_measurements, program_measurements
from tests.samples import sample_measurements, sample_platform

REGIONS, REST = ("sort-merge12", "sort-split40"), "sort-serial-rest"


@pytest.fixture
def program(db):
    """A program on machine-0 of four, all of which ran the benchmarks."""
    store(sample_measurements(4, 6), label="kit")
    store(program_measurements(counts=(1, 2, 4)), label="program")


def row_of(platform, **choices):
    return next(row for row in ranking(**choices)["results"] if row["platform"] == platform)


def ranking(viewer=None, rest=REST, **choices):
    return last_step(RankingQuestion.of(REGIONS, viewer, serial_rest=rest, **choices).steps()).document()


@pytest.mark.parametrize("name", ["sort", "sorrt"])
def test_the_name_of_a_program_leads_to_its_regions(program, client, name):
    refused = client.get("/api/v1/rankings/", {"workload": name})
    (error,) = refused.json()["errors"]
    assert (refused.status_code, error["name"]) == (400, "workload")
    found = ", ".join(sorted([*REGIONS, REST]))
    said, _, suggested = error["reason"].partition("; did you mean ")
    assert said == f"no workload '{name}'"
    assert ", ".join(sorted(suggested.rstrip("?").split(", "))) == found


@pytest.mark.parametrize("n", [1, 2])
def test_work_that_becomes_a_region_on_more_threads_counts_once(n, db):
    """The same program where `merge` is no region on one thread; the other machine is half as fast."""
    store(sample_measurements(2, 6), label="kit")
    store(late_program_measurements(), label="program")
    store(late_program_measurements(sample_platform(1), speed=0.5), label="there")
    row = row_of("machine-1", n=n)
    assert row["time_s"] == pytest.approx(row["measured_time_s"], rel=0.1)
    assert row["measured_time_s"] == pytest.approx(((4.0 + 1.0) / n + 0.5) / 0.5)
    merge = next(region for region in row["regions"] if region["workload"] == REGIONS[0])
    assert (merge["time_s"] == 0) == (n == 1)
    assert row["low_s"] < row["time_s"] < row["high_s"]


def test_the_whole_is_the_sum_of_the_single_predictions(program):
    row = row_of("machine-2")
    curves = [preview_answer(PredictionRequest(slug, "machine-2"))["curve"] for slug in REGIONS]
    parts = [next(point for point in curve if point["n"] == row["n_best"]) for curve in curves]
    rest = preview_answer(PredictionRequest(REST, "machine-2", n=(1,)))["curve"][0]
    assert row["serial_rest_s"] == pytest.approx(rest["time_s"])
    assert row["time_s"] == pytest.approx(sum(part["time_s"] for part in parts) + rest["time_s"])
    for part, shown in zip(parts, row["regions"], strict=True):
        assert shown == {"workload": shown["workload"]} | {
            name: pytest.approx(part[name]) for name in ("time_s", "low_s", "high_s")
        }


def test_regions_alone_are_summed_and_their_interval_is_narrower_than_the_sum_of_the_bounds(program):
    document = ranking(rest=None)
    assert document["serial_rest"] is None
    for row in document["results"]:
        assert row["serial_rest_s"] is None
        assert row["time_s"] == pytest.approx(sum(region["time_s"] for region in row["regions"]))
        low, high = (sum(region[name] for region in row["regions"]) for name in ("low_s", "high_s"))
        assert low < row["low_s"] < row["time_s"] < row["high_s"] < high
        columns = [[[region[name]] for region in row["regions"]] for name in ("time_s", "low_s", "high_s")]
        assert row["high_s"] == pytest.approx(float(sum_times(*map(np.array, columns)).high_s[0]))


def test_at_a_fixed_n(program):
    document = ranking(n=2)
    assert {row["n_best"] for row in document["results"]} == {2}
    assert document["n"] == 2


def test_a_platform_that_has_the_program_shows_its_time_and_does_not_see_it(program):
    before = {row["platform"]: row for row in ranking()["results"]}
    again = program_measurements(sample_platform(1), counts=(1, 2, 4), speed=10.0)
    store(again, label="there")
    after = {row["platform"]: row for row in ranking()["results"]}
    assert after["machine-1"]["time_s"] == pytest.approx(before["machine-1"]["time_s"])
    assert after["machine-1"]["measured_time_s"] == pytest.approx((5.0 / 4 + 0.5) / 10)
    assert after["machine-1"]["measured_n"] == 4
    assert after["machine-0"]["measured"]
    assert not after["machine-2"]["measured"]
    assert ranking(n=3)["results"][0]["measured_time_s"] is None


def test_a_part_without_a_prediction_is_named(db):
    store(sample_measurements(2, 6), label="kit")
    store(program_measurements(), label="program")
    lonely = replace(sample_measurements(1, 1), platforms=[sample_platform(8, name="lonely", cpu_model="Other")])
    store(replace(lonely, workloads=[replace(lonely.workloads[0], name="own/work", application="own")]), label="lonely")
    reason = next(row["reason"] for row in ranking()["refused"] if row["platform"] == "lonely")
    assert reason.startswith("sort-merge12: ")


def test_what_cannot_be_asked(program):
    with pytest.raises(UnknownName):
        RankingQuestion.of(["nothing"])
    with pytest.raises(InvalidField):
        RankingQuestion.of(REGIONS, n=0)
    with pytest.raises(InvalidField):
        RankingQuestion.of(REGIONS, method="ideal", level=0.8)


def test_a_private_program_moves_no_answer_of_others(program, owner):
    before = ranking()
    private = program_measurements(sample_platform(2), application="secret", counts=(1, 2, 4), speed=7.0)
    store(private, label="mine", owner=owner, private=True)
    store(program_measurements(sample_platform(2), speed=9.0), label="too", owner=owner, private=True)
    assert ranking() == before
    mine = {row["platform"]: row for row in ranking(owner)["results"]}
    assert mine["machine-2"]["measured"]


def test_what_would_narrow_it_is_about_the_widest_part(program):
    question = RankingQuestion.of(REGIONS, serial_rest=REST, n=2)
    row = row_of("machine-3", n=2)
    narrowing = narrowing_question(question, "machine-3", None)
    assert narrowing.request.workload == row["widest_part"]
    assert narrowing.request.n == ((1,) if row["widest_part"] == REST else (2,))
    assert set(narrowing.siblings) == {*REGIONS, REST} - {row["widest_part"]}
    document = last_step(narrowing.steps()).document()
    assert document["method"] == next_measurements_document("mpet", [])["method"]
    assert not {row["workload"] for row in document["results"] if row["kind"] == "benchmark"} & {*REGIONS, REST}
    assert "machine-1" in {row["platform"] for row in document["results"] if row["kind"] == "platform"}
    again = type(narrowing).from_canonical(narrowing.canonical(), None)
    assert again.canonical() == narrowing.canonical()
    with pytest.raises(NoPrediction, match="measured here"):
        narrowing_question(question, "machine-0", None)


def test_facts_are_what_was_measured(program):
    source = Source.objects.get(label="program")
    (name,) = programs_by_source([source.pk], None)[source.pk]
    facts = program_facts(program_or_404(*name.address, None))
    assert (facts["name"], facts["platform"]) == ("sort", "machine-0")
    times = facts["measured_times"]
    assert (times["n"], times["time_s"]) == ([1, 2, 4], pytest.approx([5.5, 3.0, 1.75]))
    assert [part["workload"] for part in times["parts"]] == [*REGIONS, REST]
