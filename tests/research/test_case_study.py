"""The case study on the kit's reference machines: each way by hand, and nothing hidden is seen."""

from dataclasses import replace

import numpy as np
import pytest

from benchmarks.archive import read_archive
from predictor.core.tabulated import database_from_measurements
from profiles.scaling.roofline import read_roofline
from research.case_study import CASE_WAYS, CaseFacts, StageCost, case_predictions, case_workloads, join_deliveries
from tests.paths import ROOT

NAMES = ("amd-epyc-kvm-2vcpu", "intel-xeon-amx-kvm-2vcpu")
EPYC, XEON = 0, 1
CENSUS = StageCost(2.0e9, 1.0e7, 1.0e6)


@pytest.fixture(scope="module")
def deliveries():
    read = []
    for name in NAMES:
        with (ROOT / "benchmarks" / "reference" / f"{name}.tar.gz").open("rb") as file:
            read.append(read_archive(file))
    return read


@pytest.fixture(scope="module")
def facts(deliveries):
    rooflines = {one.platforms[0].name: read_roofline(one.environment) for one in deliveries}
    bounds = {record.name: record.bound for record in deliveries[0].workloads}
    return CaseFacts(rooflines, bounds, {"sgm/census": CENSUS})


@pytest.fixture(scope="module")
def database(deliveries):
    return database_from_measurements(join_deliveries(deliveries))


@pytest.fixture(scope="module")
def predictions(database, facts):
    return {(one.stage, one.way): one for one in case_predictions(database, XEON, EPYC, facts)}


def times(database, platform, stage):
    return database.curve(int(database.lookup(platform, database.workloads.index(stage), 0)))[1]


def test_all_stages_are_asked_by_all_ways(predictions):
    stages = {stage for stage, _ in predictions}
    assert stages == {
        *("hog/gradient", "hog/histogram", "hog/normalise"),
        *("sgm/census", "sgm/cost", "sgm/aggregate", "sgm/disparity"),
    }
    assert {way for stage, way in predictions if stage == "sgm/census"} == set(CASE_WAYS)
    assert ("sgm/cost", "instructions") not in predictions  # nobody counted it
    assert all(one.n.tolist() == [1, 2] for one in predictions.values())


def test_each_plain_way_by_hand(database, facts, predictions):
    known, mhz = times(database, XEON, "sgm/census"), database.platform_table["base_mhz"]
    assert predictions["sgm/census", "clock scaling"].predicted_s == pytest.approx(known * mhz[XEON] / mhz[EPYC])
    roofs = [facts.rooflines[database.platforms[p]].roofs for p in (XEON, EPYC)]
    by_peak = [known[i] * roofs[0][i].flop_per_s / roofs[1][i].flop_per_s for i in (0, 1)]
    assert predictions["sgm/census", "roofline"].predicted_s == pytest.approx(by_peak)
    streamed = times(database, XEON, "hog/gradient")
    by_bandwidth = [streamed[i] * roofs[0][i].bytes_per_s / roofs[1][i].bytes_per_s for i in (0, 1)]
    assert predictions["hog/gradient", "roofline"].predicted_s == pytest.approx(by_bandwidth)
    cycles = 2.0e9 + 10 * 1.0e7 + 100 * 1.0e6
    counted = predictions["sgm/census", "instructions"].predicted_s
    assert counted == pytest.approx(cycles / (mhz[EPYC] * 1e6 * np.array([1, 2])))
    measured = times(database, EPYC, "sgm/census")
    assert predictions["sgm/census", "clock scaling"].deviation == pytest.approx(
        100 * (known * mhz[XEON] / mhz[EPYC] / measured - 1).mean()
    )


def test_nothing_of_the_programs_is_seen_on_the_target(deliveries, facts, predictions):
    """Absurd times of all stages there: the same answers."""
    epyc, xeon = deliveries
    planted = [
        replace(
            profile, runs=replace(profile.runs, time_s=1e3 * profile.runs.time_s, time_ns=profile.runs.time_ns * 1000)
        )
        if epyc.workloads[profile.workload].application in {"hog", "sgm"}
        else profile
        for profile in epyc.profiles
    ]
    absurd = database_from_measurements(join_deliveries([replace(epyc, profiles=planted), xeon]))
    again = list(case_predictions(absurd, XEON, EPYC, facts))
    assert len(again) == len(predictions)
    for one in again:
        assert one.predicted_s == pytest.approx(predictions[one.stage, one.way].predicted_s, rel=1e-12)
        assert one.error > 90
    with_stages = {
        (one.stage, one.way): one for one in case_predictions(absurd, XEON, EPYC, facts, hide_programs=False)
    }
    other, hidden = (answers["sgm/census", "one speed ratio"].predicted_s for answers in (with_stages, predictions))
    assert (other > 2 * hidden).all()  # the other stages are seen where they are known


def test_all_references_know_more_than_one(deliveries, facts):
    """A third machine, the target's twin under another name: whoever may use it finds the answer there."""
    epyc, xeon = deliveries
    twin = replace(epyc, platforms=[replace(epyc.platforms[0], name="twin")])
    database = database_from_measurements(join_deliveries([epyc, xeon, twin]))
    alone, together = (
        {
            one.stage: one.error
            for one in case_predictions(database, XEON, EPYC, facts, all_references=every)
            if one.way == "MPET"
        }
        for every in (False, True)
    )
    assert max(together.values()) < 5
    assert np.mean(list(alone.values())) > 20


def test_stages_that_the_reference_lacks_are_not_asked(deliveries, facts):
    epyc, xeon = deliveries
    fewer = [one for one in xeon.profiles if xeon.workloads[one.workload].application != "sgm"]
    database = database_from_measurements(join_deliveries([epyc, replace(xeon, profiles=fewer)]))
    assert len(case_workloads(database)) == 7
    assert {one.stage.split("/")[0] for one in case_predictions(database, XEON, EPYC, facts)} == {"hog"}
