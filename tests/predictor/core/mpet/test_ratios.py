"""What few references say: median ratios, workloads like A, and intervals for strangers."""

from dataclasses import replace

import numpy as np
import pytest

from predictor.core.answers import Query
from predictor.core.cuts import known_at
from predictor.core.database import Database
from predictor.core.mpet import ratios
from predictor.core.mpet.gathering import application_families, gather_evidence
from predictor.core.mpet.hyperparameters import Hyperparameters
from predictor.core.mpet.ratios import extended_curves, guess_by_medians, ratio_transfer, slope_deviations
from tests.predictor.core.curves import (
    COUNTS,
    counted_database,
    curve_arrays,
    curve_database,
    database_of_times,
    time_only_features,
    with_times,
    without_rows,
)
from tests.predictor.core.mpet.asking import predict


def database_with(applications=None, platforms=4, workloads=12, seed=3, noise=0.03):
    arrays = curve_arrays(seed, platforms, workloads, missing=0.0, noise=noise)
    if applications is not None:
        arrays["workload_table"] = {"application": list(applications)}
    return Database.build(**arrays)


def evidence_of(database, workload=0, target=1):
    return gather_evidence(database, Query(workload, target))


def test_an_absurd_workload_moves_no_median():
    database = database_with()
    evidence = evidence_of(database)
    curves = extended_curves(evidence)
    before = guess_by_medians(curves, evidence.is_known, evidence.outside).value[-1]
    curves[-1, 3] += 9.0
    after = guess_by_medians(curves, evidence.is_known, evidence.outside).value[-1]
    assert np.abs(after - before).max() < 0.3


def test_a_reference_with_even_ratios_counts_more():
    random = np.random.default_rng(1)
    curves = random.normal(size=(3, 9, 4))
    curves[0] = curves[2] + 0.01 * random.normal(size=(9, 4)) - 1.0
    weights = guess_by_medians(curves, np.ones((3, 8), dtype=bool), np.zeros((4, 2))).weights
    assert (weights[0] > 0.99).all()


def test_a_reference_counts_less_where_it_was_not_measured():
    curves = np.random.default_rng(1).normal(size=(3, 9, 2))
    curves[1] = curves[0] + 1.0  # the same ratios
    weights = guess_by_medians(curves, np.ones((3, 8), dtype=bool), np.array([[0.0, 0.0], [99.0, 0.0]])).weights
    np.testing.assert_allclose(weights[:, 0], 0.5)
    assert weights[0, 1] < 0.02


@pytest.mark.parametrize(
    ("applications", "expected"),
    [
        (["a", "b", "b", "c", "c"], [0, 0, 1, 1]),
        (["a", "a", "b", "c", "c"], [0, 1, 2, 3]),  # a sibling on T
        (["", "b", "b", "c", "c"], [0, 1, 2, 3]),  # of no application
        (["a", "b", "c", "d", "e"], [0, 1, 2, 3]),  # all alone, as every workload is
        (["a", "b", "b", "b", "b"], [0, 1, 2, 3]),  # of one alone nothing can be left out together
        (["a", "b", "b", "", ""], [0, 0, 1, 2]),
    ],
)
def test_a_stranger_is_of_an_application_that_t_lacks(applications, expected):
    database = database_with(applications, workloads=5)
    families = application_families(evidence_of(database))
    assert np.equal.outer(families, families).tolist() == np.equal.outer(expected, expected).tolist()


def test_a_left_out_application_says_nothing_of_its_own(monkeypatch):
    """The errors of b's workloads are those of a database in which T has no other workload of b."""
    monkeypatch.setattr(ratios, "explained_share", lambda *_: 0.0)
    names = ["a"] + 6 * ["b"] + 5 * ["c"]
    database = database_with(names, platforms=2)
    evidence = evidence_of(database)
    errors = ratio_transfer(evidence, 0.9).errors_on_target.T
    others = np.flatnonzero([names[b] != "b" for b in evidence.workloads])
    curves = extended_curves(evidence)
    of_others = curves[:, np.append(others, -1)]
    guesses = guess_by_medians(of_others, evidence.is_known[:, others], evidence.outside)
    for b in np.flatnonzero([names[b] == "b" for b in evidence.workloads]):
        expected = curves[-1, b] - (curves[0, b] + guesses.centre[0])
        np.testing.assert_allclose(errors[b], expected, atol=1e-12)


def test_a_stranger_has_a_wider_interval():
    names = ["a"] + 6 * ["b"] + 5 * ["c"]
    widths = []
    for applications in (names, ["b", *names[1:]]):
        database = database_with(applications, platforms=3)
        answer = predict(database, 0, 1)
        widths.append(np.log(answer.high_s / answer.low_s))
    assert (widths[0] > widths[1]).all()


def test_counters_on_the_reference_tell_which_workloads_are_like_a():
    database, counter = counted_database()
    errors = {}
    for variance in (0.0, 1.0):
        off = []
        for workload in range(40):
            evidence = evidence_of(database, workload)
            transfer = ratio_transfer(evidence, 0.9, replace(Hyperparameters(), features=variance))
            off.append(transfer.value[0] - evidence.of_workload[0, 0] - 2 * counter[workload])
        errors[variance] = np.sqrt(np.mean(np.square(off)))
    assert errors[1.0] < 0.5 * errors[0.0]


def test_a_counter_of_the_asked_pair_is_not_read():
    database, _ = counted_database()
    row = database.lookup(1, 0, 0)
    features = database.features.copy()
    features[row] = 1e9
    planted = replace(database, features=features, _derived={})
    np.testing.assert_array_equal(*(predict(each, 0, 1).time_s for each in (database, planted)))


def error_by_names(names):
    """Of one of two unlike machines: programs of two kinds in turn, of which one takes e^0.4 times as long on T as the
    other, alike in all else; each is called by one of `names`."""
    random, kind = np.random.default_rng(6), np.arange(40) % 2
    arrays = curve_arrays(5, 2, 40, missing=0.0)
    p, w = np.array(arrays["platform_index"]), np.array(arrays["workload_index"])
    log_work = random.normal(size=40)[w] + 0.4 * kind[w] * (p == 1) + 0.02 * random.normal(size=len(p))
    time_s = np.exp(log_work)[:, None] / np.array(COUNTS)
    arrays["workloads"] = [f"{name}-{b}" for b, name in enumerate(names)]
    features = time_only_features(COUNTS, time_s)
    database = Database.build(**with_times(arrays, time_s) | {"features": features})
    off = []
    for row in range(40, 80):
        workload = int(database.workload_index[row])
        answer = predict(database, workload, 1, COUNTS)
        off.append(np.log(answer.time_s / database.curve(row)[1]))
    return float(np.sqrt(np.mean(np.square(off))))


def test_workloads_filled_in_with_one_common_error_widen_the_interval_by_it():
    """Errors of less than half of the workloads move no median."""
    evidence = evidence_of(database_with())
    errors = np.zeros(evidence.curves[:, :-1].shape)
    before = ratio_transfer(evidence, 0.9)
    errors[:, :, : errors.shape[2] // 2 - 1] = 0.4
    np.testing.assert_array_equal(
        ratio_transfer(replace(evidence, fill_errors=errors), 0.9).half_width, before.half_width
    )
    errors[:] = -0.4
    found = ratio_transfer(replace(evidence, fill_errors=errors), 0.9)
    np.testing.assert_allclose(found.half_width, np.hypot(before.half_width, 1.6448536 * 0.4), rtol=1e-6)
    np.testing.assert_array_equal(found.value, before.value)


def test_names_count_as_far_as_they_prove_right():
    random = np.random.default_rng(7)
    without = error_by_names(40 * ["program"])
    assert without > 0.15
    assert error_by_names(["sort" if b % 2 else "solve" for b in range(40)]) < 0.4 * without
    for misleading in (
        random.permutation(20 * ["sort", "solve"]),
        [f"program of {chr(97 + b // 2)}" for b in range(40)],
    ):
        assert error_by_names(misleading) < 1.1 * without


@pytest.mark.parametrize("known", [1, 2, 3])
def test_with_hardly_a_known_workload_there_is_still_an_interval(known):
    database = curve_database(8, 9, 6, missing=0.0)
    view = database.without(4, np.setdiff1d(np.arange(6), [0, 1, 3][:known]))
    answer = predict(view, 2, 4, COUNTS)
    assert (answer.low_s < answer.time_s).all()
    assert np.isfinite(answer.high_s).all()


def test_a_workload_is_checked_without_what_is_known_of_it_on_the_target(monkeypatch):
    """Its curve on T, however much longer, changes the time that is expected of it without itself only as far as it
    moves a median."""
    monkeypatch.setattr(ratios, "explained_share", lambda *_: 1.0)
    evidence = evidence_of(database_with(platforms=3, workloads=30, noise=0.02))
    curves = evidence.curves.copy()
    curves[:, -1, 3] += 2.0
    expected = []
    for one in (evidence, replace(evidence, curves=curves)):
        expected.append(one.curves[:, -1, 3] - ratio_transfer(one, 0.9).errors_on_target[:, 3])
    assert np.abs(expected[1] - expected[0]).max() < 0.1


def assert_same_answers(first, second, tolerance):
    for name in ("time_s", "low_s", "high_s"):
        np.testing.assert_allclose(getattr(first, name), getattr(second, name), rtol=tolerance)


def test_workloads_that_no_reference_ran_change_no_answer():
    """The reference is one's own machine, with A and four of the forty workloads of the target: the answer and its
    interval are those of a database without the others."""
    arrays = curve_arrays(3, 2, 40, missing=0.0, noise=0.03)
    others = ~np.isin(arrays["workload_index"], (0, 4, 9, 17, 30))
    on_reference = (arrays["platform_index"] == 0) & others
    answers = [predict(without_rows(arrays, gone), 0, 1, COUNTS) for gone in (on_reference, others)]
    assert_same_answers(*answers, 1e-6)
    assert answers[0].confidence == answers[1].confidence


def test_nor_do_those_that_only_references_ran_that_take_no_part():
    """Of two references the nearest one alone takes part: it ran four of the forty workloads, the other one all."""
    arrays = curve_arrays(3, 3, 40, missing=0.0, noise=0.03)
    time_s = arrays["curve_time_s"].reshape(3, 40, -1).copy()
    time_s[2] *= np.exp(np.random.default_rng(1).normal(size=40))[:, None]
    arrays, p = with_times(arrays, time_s), arrays["platform_index"]
    few = ~np.isin(arrays["workload_index"], (0, 4, 9, 17, 30))
    answers = [
        predict(without_rows(arrays, gone), 0, 1, COUNTS, references=1) for gone in ((p == 0) & few, (p == 2) | few)
    ]
    assert answers[0].confidence.references == 1
    assert_same_answers(*answers, 0.05)


def test_where_references_disagree_as_about_no_workload_of_the_target_the_answer_is_within_all_ratios():
    """Ten thousand times apart about the program, a fifth about the others: carried on in proportion, 1e-13 s."""
    times = {
        "p": {"a": 100.0, "b": 1.0, "c": 1.0, "d": 1.0},
        "q": {"a": 0.01, "b": 1.1, "c": 0.9, "d": 1.05},
        "t": {"b": 30.0, "c": 0.05, "d": 1.0},
    }
    curves = {(machine, name): {1: seconds} for machine, of in times.items() for name, seconds in of.items()}
    answer = predict(database_of_times(curves, dict.fromkeys(times, 1)), 0, 2, (1,))
    assert 0.01 * 0.05 < answer.t1_s < 100.0 * 30.0


def test_a_serial_program_stays_serial_beyond_the_counts_of_half_of_the_machines():
    """T and every second reference were measured with two threads at most, the other references with sixteen."""
    arrays = curve_arrays(5, 6, 8, missing=0.0, noise=0.01)
    of_serial = arrays["workload_index"] == 0
    times = arrays["curve_time_s"].reshape(len(of_serial), -1)
    times[of_serial] = times[of_serial, :1]
    database = known_at(Database.build(**arrays), "half", target=1)
    answer = predict(database.without(1, 0), 0, 1)
    assert answer.n[-1] == 16
    assert answer.time_s[-1] / answer.time_s[0] == pytest.approx(1.0, abs=0.2)
    assert answer.low_s[-1] < answer.time_s[0] < answer.high_s[-1]


def test_a_reference_that_ran_the_workload_at_this_count_outweighs_those_that_did_not():
    """With equal ratios, the workload may have changed by 1.25 of ln t since the second reference was measured."""
    curves = np.zeros((3, 4, 1))
    curves[1, -1] = 3.0
    guesses = guess_by_medians(curves, np.ones((3, 3), dtype=bool), np.array([[0.0, 1.25]]))
    share = 0.02**2 / (2 * 0.02**2 + 1.25**2)  # of the second
    np.testing.assert_allclose(guesses.weights[:, 0], [1.0 - share, share], rtol=1e-9)
    np.testing.assert_allclose(guesses.value[-1], 3.0 * share, rtol=1e-9)


def test_a_workload_changes_unlike_others_where_these_were_measured_and_it_was_not():
    """The reference ran it with two threads; T's workloads ran there with two threads alone, or with all."""
    curves, rng = {}, np.random.default_rng(2)
    for b in range(6):
        work = rng.uniform(1, 9)
        curves["target", f"b{b}"] = {2: work / 2, 16: work / 16}
        curves["reference", f"b{b}"] = {2: work / 2} | ({16: work / 16} if b < 3 else {})
    curves["reference", "own"], curves["other", "own"] = {2: 1.0}, {16: 0.2}
    curves["other", "b0"] = {2: 1.0, 16: 0.2}
    application = {"application": ["database"] * 7}
    database = database_of_times(curves, {"target": 16, "reference": 16, "other": 16}, workload_table=application)
    evidence = gather_evidence(database, Query(database.workloads.index("own"), database.platforms.index("target")))
    reference = evidence.platforms.tolist().index(database.platforms.index("reference"))
    assert evidence.n.tolist() == [2, 16]
    np.testing.assert_allclose(slope_deviations(evidence)[:, reference], [0.0, 0.5 * np.log(8) * np.sqrt(0.5)])


@pytest.mark.parametrize("sign", [1, -1])
def test_a_serial_program_of_a_small_and_two_large_machines_is_predicted_serial(sign):
    """It takes 0.2 s on each with all threads, so its thread time is 96 times as long on the large ones. The small one
    was left out as an outlier, and one thread of T was predicted to take 27 s. Most workloads of T scale, and eight
    lose or gain on the large machines: it resembles none of them, so they correct its time little."""
    rng, curves = np.random.default_rng(5), {}
    threads = {"small": 2, "large": 192, "larger": 192, "target": 64}
    lost = {"small": 0.0, "large": 1.2 * sign, "larger": sign, "target": 1.7}
    for b in range(68):
        work = rng.uniform(0.1, 9)
        for platform, most in threads.items():
            loss = 0.02 * rng.normal() + (lost[platform] * rng.uniform(0.8, 1.2) if b < 8 else 0)
            curves[platform, f"b{b:02}"] = {1: work, most: work / most * np.exp(loss)}
    for platform in ("small", "large", "larger"):
        curves[platform, "serial"] = {threads[platform]: 0.2}
    database = database_of_times(curves, threads)
    answer = predict(database, database.workloads.index("serial"), database.platforms.index("target"))
    assert np.abs(np.log(answer.time_s / 0.2)).max() < np.log(4)
