"""Values for what was not measured: A's relatives fill in T's workloads, and other platforms what references lack."""

import numpy as np
import pytest

from predictor.core.database import Database
from predictor.core.methods import Query
from predictor.core.mpet import kriging
from predictor.core.mpet.gathering import gather_evidence, wider_table
from predictor.core.mpet.kriging import complete_curves, expected_rests
from tests.predictor.core.curves import COUNTS, curve_arrays, scaled, with_times, without_rows
from tests.predictor.core.mpet.asking import predict

# --- A target with few workloads profits from what platforms like it know, although they lack A too ---

PLATFORMS, WORKLOADS, A = 40, 14, 2
KNOWN = (5, 9, 12)  # of T


def twins(seed=3):
    """Platforms 2 k and 2 k + 1 share a cpu_model and behave alike, up to their speed."""
    arrays = curve_arrays(seed, PLATFORMS, WORKLOADS, missing=0.0, noise=0.0)
    rng = np.random.default_rng(seed)
    time_s = arrays["curve_time_s"].reshape(PLATFORMS, WORKLOADS, len(COUNTS)).copy()
    time_s[1::2] = time_s[::2] * np.exp(rng.normal(size=PLATFORMS // 2))[:, None, None]
    time_s *= np.exp(0.01 * rng.normal(size=time_s.shape))
    return with_times(arrays, time_s)


def hidden(arrays, target):
    """Of T all but three workloads, and A on T's twin."""
    p, w = arrays["platform_index"], arrays["workload_index"]
    return ((p == target) & ~np.isin(w, KNOWN)) | ((p == target - 1) & (w == A))


def predict_hidden(arrays, target, among=None):
    return predict(without_rows(arrays, hidden(arrays, target)), A, target, COUNTS, among=among)


def measured(arrays, target):
    return arrays["curve_time_s"].reshape(PLATFORMS, WORKLOADS, -1)[target, A]


def error(answer, arrays, target):
    return np.abs(answer.time_s / measured(arrays, target) - 1).mean()


def test_a_twin_that_lacks_a_lowers_the_error():
    arrays, errors = twins(), []
    for target in range(1, PLATFORMS, 4):
        others = tuple(p for p in range(PLATFORMS) if p not in {target, target - 1})
        errors.append([error(predict_hidden(arrays, target, among), arrays, target) for among in (None, others)])
    with_twin, without_twin = np.mean(errors, axis=0)
    assert with_twin < 0.5 * without_twin


def test_one_reference_is_enough_and_no_name_is_needed():
    """A is known on one platform. The target's twin has the same clock, no platform a known cpu_model or
    microarchitecture: the answer is nearly what it were had the target run all of the workloads."""
    arrays = twins()
    clock = np.repeat(2000.0 + 50 * np.arange(PLATFORMS // 2), 2)
    unnamed = dict.fromkeys(("cpu_model", "microarchitecture"), [""] * PLATFORMS)
    arrays |= {"platform_table": arrays["platform_table"] | unnamed | {"base_mhz": clock}}
    p, w = arrays["platform_index"], arrays["workload_index"]
    apart = {"with others": [], "alone": []}
    for target in range(1, PLATFORMS, 4):
        reference = (target + 11) % PLATFORMS
        elsewhere, few = (p != reference) & (w == A), (p == target) & ~np.isin(w, KNOWN)
        best = predict(without_rows(arrays, elsewhere), A, target, COUNTS, among=(reference,))
        database = Database.build(**without_rows(arrays, elsewhere | few))
        for name, among, filled_in in (("with others", None, 10), ("alone", (reference,), 0)):
            answer = predict(database, A, target, COUNTS, among=among)
            assert (answer.confidence.filled_in, answer.confidence.references) == (filled_in, 1)
            apart[name].append(np.abs(np.log(answer.time_s / best.time_s)).mean())
    assert np.mean(apart["with others"]) < 0.2 * np.mean(apart["alone"])


def test_intervals_know_that_workloads_were_filled_in():
    """Over all targets the measured times are inside about as often as promised."""
    arrays, inside = twins(5), []
    for target in range(1, PLATFORMS, 2):
        answer, time_s = predict_hidden(arrays, target), measured(arrays, target)
        inside += [(answer.low_s <= time_s) & (time_s <= answer.high_s)]
    assert 0.75 <= np.mean(inside) <= 1.0


def test_candidates_and_counts_are_of_what_was_measured():
    answer = predict_hidden(twins(), 7)
    named = {f"w{workload:03}" for workload in KNOWN}
    assert {one.workload for one in answer.candidates_t1 + answer.candidates_scaling} <= named
    assert "p006" not in {one.platform for one in answer.candidates_scaling}  # it lacks A
    assert (answer.confidence.benchmarks, answer.confidence.filled_in) == (len(KNOWN), WORKLOADS - 1 - len(KNOWN))
    assert predict(twins(), A, 7, COUNTS).confidence.filled_in == 0  # nothing of it is missing


def test_what_is_hidden_fills_nothing_in():
    """Absurd times planted at every hidden pair change no answer."""
    arrays, target = twins(), 7
    absurd = hidden(arrays, target)
    view = Database.build(**scaled(arrays, absurd, 1e9)).without(*np.divmod(np.flatnonzero(absurd), WORKLOADS))
    answer, expected = predict(view, A, target, COUNTS), predict_hidden(arrays, target)
    np.testing.assert_array_equal(answer.time_s, expected.time_s)
    np.testing.assert_array_equal(answer.low_s, expected.low_s)
    assert answer.candidates_scaling == expected.candidates_scaling


def test_a_gap_of_the_relatives_is_as_good_as_kriging_without_it():
    """Missing cells are filled such that they add nothing: any planted value leaves the answer alone."""
    arrays = twins()
    fewer = without_rows(arrays, (arrays["platform_index"] == 20) & (arrays["workload_index"] == 4))
    assert error(predict_hidden(fewer, 7), arrays, 7) < 2 * error(predict_hidden(arrays, 7), arrays, 7) + 0.02


def test_what_none_of_the_nearest_was_measured_with_is_not_filled_in():
    """All 20 platforms that take part are relatives of the target, and none of them has workload 7."""
    arrays, target = curve_arrays(4, PLATFORMS, WORKLOADS, missing=0.0, noise=0.0), 0
    p, w = arrays["platform_index"], arrays["workload_index"]
    time_s = arrays["curve_time_s"].reshape(PLATFORMS, WORKLOADS, len(COUNTS)).copy()
    time_s[:25] = time_s[target] * np.linspace(1.0, 2.0, 25)[:, None, None]
    names = ["twin" if platform < 25 else f"cpu {platform}" for platform in range(PLATFORMS)]
    arrays |= {"platform_table": {"cpu_model": names, "microarchitecture": names}}
    lacking = (p < 25) & np.isin(w, (A, 7)) | (p == target) & ~np.isin(w, KNOWN)
    answer = predict(without_rows(with_times(arrays, time_s), lacking), A, target, COUNTS, references=20)
    assert answer.confidence.filled_in == WORKLOADS - len((A, 7)) - len(KNOWN)
    assert np.isfinite(answer.time_s).all()


# --- What references lack is expected from platforms and workloads that take no other part ---

MANY_PLATFORMS, MANY_WORKLOADS, T = 60, 30, 0
REFERENCES = np.arange(1, 9)  # that have A


def sparse_arrays(seed, share=0.2):
    """T and eight references have A; these know a fifth of the workloads, the others all."""
    rng = np.random.default_rng(seed)
    arrays = curve_arrays(seed, MANY_PLATFORMS, MANY_WORKLOADS, missing=0.0)
    p, w = arrays["platform_index"], arrays["workload_index"]
    is_reference = np.isin(p, REFERENCES)
    lacking = is_reference & (w != A) & (rng.random(len(p)) >= share)
    return without_rows(arrays, lacking | ((w == A) & ~is_reference & (p != T)))


def evidence_of(arrays, references=None):
    return gather_evidence(Database.build(**arrays), Query(A, T, references=references))


def error_of_what_is_expected(seed, references=None):
    """Of what the references lack, in ln t, root mean square."""
    whole = curve_arrays(seed, MANY_PLATFORMS, MANY_WORKLOADS, missing=0.0)
    truth = np.log(whole["curve_time_s"].reshape(MANY_PLATFORMS, MANY_WORKLOADS, len(COUNTS)) * COUNTS)
    expected = complete_curves(evidence_of(sparse_arrays(seed), references))
    missing = expected.rows[:, :-1] < 0
    errors = expected.curves - truth[np.append(expected.platforms, T)][:, expected.workloads].transpose(2, 0, 1)
    return float(np.sqrt((errors[:, missing] ** 2).mean()))


def test_others_tell_most_of_what_references_lack():
    """In ln t, over five databases: 0.25 where references alone leave 0.45."""
    alone = [error_of_what_is_expected(seed, tuple(REFERENCES.tolist())) for seed in range(5)]
    with_others = [error_of_what_is_expected(seed) for seed in range(5)]
    assert np.mean(with_others) < min(0.6 * np.mean(alone), 0.27)


@pytest.mark.parametrize(("share", "lacking", "workloads"), [(0.2, 30, 29), (0.6, 18, 29)])
def test_the_wider_table_begins_with_the_evidence_and_has_no_a(share, lacking, workloads):
    """Of the workloads that T lacks, those that references have come after its own."""
    arrays = sparse_arrays(1, share)
    of_t = (arrays["platform_index"] == T) & (arrays["workload_index"] != A)
    evidence = evidence_of(without_rows(arrays, of_t & (arrays["workload_index"] >= lacking)))
    curves, is_known = wider_table(evidence)
    J, P, B = evidence.curves.shape
    assert curves.shape == (J, MANY_PLATFORMS, workloads)
    np.testing.assert_array_equal(curves[:, :P, :B], evidence.curves)
    np.testing.assert_array_equal(is_known[:P, :B], evidence.is_known)
    assert not curves[:, ~is_known].any()


@pytest.mark.parametrize("share", [0.2, 0.6])
def test_what_is_expected_does_not_depend_on_a(share):
    """Or the references, each left out to calibrate the interval, would know what they are asked."""
    arrays = sparse_arrays(2, share)
    other = scaled(arrays, arrays["workload_index"] == A, 7.0)
    expected, changed = (complete_curves(evidence_of(each)).curves for each in (arrays, other))
    np.testing.assert_array_equal(expected, changed)


def test_platforms_that_may_not_be_used_are_not():
    arrays, chosen = sparse_arrays(3), tuple(range(20))
    others = ~np.isin(arrays["platform_index"], chosen)
    changed = scaled(arrays, others, np.exp(np.random.default_rng(1).normal(size=others.sum())))
    expected, found = (predict(each, A, T, COUNTS, among=chosen).time_s.tolist() for each in (arrays, changed))
    assert found == expected
    assert predict(arrays, A, T, COUNTS).time_s.tolist() != expected


def test_an_absurd_profile_of_another_platform_changes_little():
    arrays = sparse_arrays(5)
    absurd = (arrays["platform_index"] == 40) & (arrays["workload_index"] == 11)
    right, wrong = (predict(each, A, T, COUNTS).time_s for each in (arrays, scaled(arrays, absurd, np.exp(9.0))))
    np.testing.assert_allclose(wrong, right, rtol=0.03)


def test_many_shared_workloads_need_no_wider_table(monkeypatch):
    monkeypatch.setattr(kriging, "wider_table", None)  # a call would fail
    evidence = evidence_of(curve_arrays(6, 12, 80, missing=0.1))
    is_known, completed = evidence.is_known, complete_curves(evidence)
    assert not is_known.all()
    assert completed.is_known.all()
    np.testing.assert_array_equal(completed.curves[:, is_known], evidence.curves[:, is_known])
    assert completed.curves[:, ~is_known].all()


def test_a_reference_that_ran_few_workloads_needs_no_wider_table(monkeypatch):
    """One's own machine alone: T's other workloads take no part, and the few that are left have no gaps."""
    monkeypatch.setattr(kriging, "wider_table", None)  # a call would fail
    arrays = sparse_arrays(7)
    others = np.isin(arrays["platform_index"], REFERENCES[1:]) & (arrays["workload_index"] == A)
    evidence = evidence_of(without_rows(arrays, others))
    assert not evidence.is_known.all()
    assert complete_curves(evidence).is_known.all()


@pytest.mark.parametrize("share", [0.05, 0.5])
@pytest.mark.parametrize("counts", [3, 6])  # of many counts, some make the covariance
def test_missing_rests_are_the_conditional_mean_by_their_own_covariance(share, counts, monkeypatch):
    rng = np.random.default_rng(3)
    rest = rng.normal(size=(20, 2)) @ rng.normal(size=(2, 40)) * np.linspace(1.0, 2.0, counts)[:, None, None]
    is_known = rng.random((20, 40)) >= share
    monkeypatch.setattr(kriging, "GAP_TOLERANCE", 1e-9)
    filled = expected_rests(rest * is_known, is_known, rounds=3000, count=30)
    every = 1 if counts == 3 else 2
    whole = expected_rests((rest * is_known)[::every], is_known, rounds=3000, count=40)
    C = np.einsum("jpb,jqb->pq", whole, whole)
    K = C + np.eye(20) * C.trace() / 40
    assert filled.shape == (counts, 20, 30)
    for b in range(30):
        known, gaps = np.flatnonzero(is_known[:, b]), np.flatnonzero(~is_known[:, b])
        expected = C[np.ix_(gaps, known)] @ np.linalg.solve(K[np.ix_(known, known)], rest[:, known, b].T)
        np.testing.assert_allclose(filled[:, gaps, b], expected.T, atol=1e-4)


def test_no_rest_at_all_is_left_as_it_is():
    assert not expected_rests(np.zeros((2, 3, 4)), np.eye(3, 4, dtype=bool), rounds=48, count=4).any()
