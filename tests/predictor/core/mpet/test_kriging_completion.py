"""A target with few workloads of its own profits from what platforms like it know, although they lack A too."""

import numpy as np
import pytest

from predictor.core.database import Database
from predictor.core.methods import METHODS, Query
from predictor.core.numerics import without_gaps
from tests.predictor.core.curves import COUNTS, curve_arrays, without_rows

MPET = METHODS["mpet"]
PLATFORMS, WORKLOADS, A = 40, 14, 2
KNOWN = (5, 9, 12)  # of T


def twins(seed=3):
    """Platforms 2 k and 2 k + 1 share a cpu_model and behave alike, up to their speed."""
    arrays = curve_arrays(seed, PLATFORMS, WORKLOADS, missing=0.0, noise=0.0)
    rng = np.random.default_rng(seed)
    time_s = arrays["curve_time_s"].reshape(PLATFORMS, WORKLOADS, len(COUNTS)).copy()
    time_s[1::2] = time_s[::2] * np.exp(rng.normal(size=PLATFORMS // 2))[:, None, None]
    time_s *= np.exp(0.01 * rng.normal(size=time_s.shape))
    return arrays | {"curve_time_s": time_s.ravel(), "t1_s": time_s[:, :, 0].ravel()}


def hidden(arrays, target):
    """Of T all but three workloads, and A on T's twin."""
    p, w = arrays["platform_index"], arrays["workload_index"]
    return ((p == target) & ~np.isin(w, KNOWN)) | ((p == target - 1) & (w == A))


def predict(method, arrays, target, references=None):
    database = Database.build(**without_rows(arrays, hidden(arrays, target)))
    return method.predict(database, Query(A, target, n=COUNTS, references=references), method.settings())


def error(answer, arrays, target):
    measured = arrays["curve_time_s"].reshape(PLATFORMS, WORKLOADS, -1)[target, A]
    return np.abs(answer.time_s / measured - 1).mean()


def test_a_twin_that_lacks_a_lowers_the_error():
    arrays = twins()
    with_twin, without_twin = [], []
    for target in range(1, PLATFORMS, 2):
        others = tuple(p for p in range(PLATFORMS) if p not in {target, target - 1})
        with_twin.append(error(predict(MPET, arrays, target), arrays, target))
        without_twin.append(error(predict(MPET, arrays, target, others), arrays, target))
    assert np.mean(with_twin) < 0.5 * np.mean(without_twin)


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
        known = Database.build(**without_rows(arrays, elsewhere))
        best = MPET.predict(known, Query(A, target, n=COUNTS, references=(reference,)), MPET.settings())
        database = Database.build(**without_rows(arrays, elsewhere | few))
        for name, references, filled_in in (("with others", None, 10), ("alone", (reference,), 0)):
            answer = MPET.predict(database, Query(A, target, n=COUNTS, references=references), MPET.settings())
            assert (answer.confidence.filled_in, answer.confidence.references) == (filled_in, 1)
            apart[name].append(np.abs(np.log(answer.time_s / best.time_s)).mean())
    assert np.mean(apart["with others"]) < 0.2 * np.mean(apart["alone"])


def test_intervals_know_that_workloads_were_filled_in():
    """Over all targets the measured times are inside about as often as promised."""
    arrays = twins(5)
    inside = []
    for target in range(1, PLATFORMS, 2):
        answer = predict(MPET, arrays, target)
        measured = arrays["curve_time_s"].reshape(PLATFORMS, WORKLOADS, -1)[target, A]
        inside += [(answer.low_s <= measured) & (measured <= answer.high_s)]
    assert 0.75 <= np.mean(inside) <= 1.0


def test_candidates_and_counts_are_of_what_was_measured():
    answer = predict(MPET, twins(), 7)
    named = {f"w{workload:03}" for workload in KNOWN}
    assert {one.workload for one in answer.candidates_t1 + answer.candidates_scaling} <= named
    assert "p006" not in {one.platform for one in answer.candidates_scaling}  # it lacks A
    assert answer.confidence.benchmarks == len(KNOWN)
    assert answer.confidence.filled_in == WORKLOADS - 1 - len(KNOWN)


def test_a_target_that_knows_its_workloads_needs_nothing_filled_in():
    arrays = twins()
    answer = MPET.predict(Database.build(**arrays), Query(A, 7, n=COUNTS), MPET.settings())
    assert answer.confidence.filled_in == 0


def test_what_is_hidden_fills_nothing_in():
    """Absurd times planted at every hidden pair change no answer."""
    arrays = twins()
    target = 7
    absurd = hidden(arrays, target)
    planted = arrays | {
        "curve_time_s": np.where(np.repeat(absurd, len(COUNTS)), 1e9, arrays["curve_time_s"]),
        "t1_s": np.where(absurd, 1e9, arrays["t1_s"]),
    }
    p, w = np.divmod(np.flatnonzero(absurd), WORKLOADS)
    view = Database.build(**planted).without(p, w)
    answer = MPET.predict(view, Query(A, target, n=COUNTS), MPET.settings())
    expected = predict(MPET, arrays, target)
    np.testing.assert_array_equal(answer.time_s, expected.time_s)
    np.testing.assert_array_equal(answer.low_s, expected.low_s)
    assert answer.candidates_scaling == expected.candidates_scaling


def test_a_gap_of_the_relatives_is_as_good_as_kriging_without_it():
    """Missing cells are filled such that they add nothing: any planted value leaves the answer alone."""
    arrays = twins()
    lacking = (arrays["platform_index"] == 20) & (arrays["workload_index"] == 4)
    fewer = without_rows(arrays, lacking)
    assert np.isfinite(predict(MPET, fewer, 7).time_s).all()
    assert error(predict(MPET, fewer, 7), arrays, 7) < 2 * error(predict(MPET, arrays, 7), arrays, 7) + 0.02


@pytest.mark.parametrize("share", [0.0, 0.3])
def test_gaps_are_filled_by_what_adds_nothing(share):
    """What is kriged from the others has no leave-one-out residual, and what is there stays."""
    rng = np.random.default_rng(7)
    F = rng.normal(size=(12, 20))
    inverse = np.linalg.inv(F @ F.T / 20 + 0.1 * np.eye(12))
    rows = inverse.sum(axis=1)
    projection = inverse - np.outer(rows, rows) / rows.sum()
    there = rng.random((12, 6)) >= share
    values = rng.normal(size=(3, 12, 6)) * there
    filled = without_gaps(values, there, projection)
    np.testing.assert_array_equal(filled[:, there], values[:, there])
    np.testing.assert_allclose((projection @ filled)[:, ~there], 0.0, atol=1e-12)
    assert (~there).any() == (share > 0)


def test_what_none_of_the_nearest_was_measured_with_is_not_filled_in():
    """All 20 platforms that take part are relatives of the target, and none of them has workload 7."""
    arrays, target = curve_arrays(4, PLATFORMS, WORKLOADS, missing=0.0, noise=0.0), 0
    p, w = arrays["platform_index"], arrays["workload_index"]
    time_s = arrays["curve_time_s"].reshape(PLATFORMS, WORKLOADS, len(COUNTS)).copy()
    time_s[:25] = time_s[target] * np.linspace(1.0, 2.0, 25)[:, None, None]
    names = ["twin" if platform < 25 else f"cpu {platform}" for platform in range(PLATFORMS)]
    arrays |= {
        "curve_time_s": time_s.ravel(),
        "t1_s": time_s[:, :, 0].ravel(),
        "platform_table": {"cpu_model": names, "microarchitecture": names},
    }
    lacking = (p < 25) & np.isin(w, (A, 7)) | (p == target) & ~np.isin(w, KNOWN)
    database = Database.build(**without_rows(arrays, lacking))
    answer = MPET.predict(database, Query(A, target, n=COUNTS), MPET.settings(references=20))
    assert answer.confidence.filled_in == WORKLOADS - len((A, 7)) - len(KNOWN)
    assert np.isfinite(answer.time_s).all()
