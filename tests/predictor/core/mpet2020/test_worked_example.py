"""mpet2020 on a database small enough to work out on paper.

Three platforms, four workloads, time-only. Values of redundancy.m, already spread over exactly 0..1, so that
normalising changes nothing, and t(1) in seconds:

    redundancy.m   A    B1   B2   B3          t(1)   A    B1   B2   B3
    P1            0.4  0.5  0.2  1.0          P1    10     4    5   20
    P2            0.7  0.5  0.4  0.0          P2     6     2    4   12
    T              -   0.4  0.3  0.8          T      -     3    5   10

D_a(P1,A,.) = 0.1, 0.2, 0.6   D_a(P2,A,.) = 0.2, 0.3, 0.7   means 0.15, 0.25, 0.65
D_p(.,P1,T) = 0.1, 0.1, 0.2   D_p(.,P2,T) = 0.1, 0.1, 0.8

t(1): all six candidates, equal weights: (3*10/4 + 3*6/2 + 5*10/5 + 5*6/4 + 10*10/20 + 10*6/12) / 6
    = (7.5 + 9 + 10 + 7.5 + 5 + 5) / 6 = 44/6 s

Vector, in the order of D_t = 1 - (1-D_p)(1-D_a), and r = ((w - 0.3) / 0.6)^3 with w = 1 - D_a:
    (P1,B1)  1 - 0.9*0.9 = 0.19    r = 1         0.4 * 0.4/0.5 = 0.32
    (P1,B2)  1 - 0.9*0.8 = 0.28    r = 125/216   0.3 * 0.4/0.2 = 0.6     a tie: P1 before P2
    (P2,B1)  1 - 0.9*0.8 = 0.28    r = 125/216   0.4 * 0.7/0.5 = 0.56
    (P2,B2)  1 - 0.9*0.7 = 0.37    r =  64/216   0.3 * 0.7/0.4 = 0.525
    (P1,B3)  1 - 0.8*0.4 = 0.68    r =   1/216   0.8 * 0.4/1.0 = 0.32
    (P2,B3)  1 - 0.2*0.3 = 0.94    r =   0       v_P,B = 0: no factor
redundancy.m = (216*0.32 + 125*0.6 + 125*0.56 + 64*0.525 + 1*0.32) / (216 + 125 + 125 + 64 + 1) = 248.02/531

Three more elements that no two compared vectors share, so that no distance changes:
    redundancy.m_nu: 2 and 5 for (T,B1) and (T,B2) alone; (P,A) lacks it: the mean over (B1 B2 B1 B2) is 3.5
    redundancy.b_nu: 7 for (P1,A) alone; P1 is the first candidate: carried over
    redundancy.m_ht: 1 for (T,B1) alone; T has no hyperthreads: invalid
"""

import numpy as np
import pytest

from predictor.core.methods import METHODS, Query
from profiles.scaling.names import FEATURE_NAMES
from tests.predictor.core.databases import database_of, features

MPET2020 = METHODS["mpet2020"]
ORDER = [("P1", "B1"), ("P1", "B2"), ("P2", "B1"), ("P2", "B2"), ("P1", "B3"), ("P2", "B3")]
REDUNDANCY_M = (216 * 0.32 + 125 * 0.6 + 125 * 0.56 + 64 * 0.525 + 0.32) / 531


@pytest.fixture
def database():
    return database_of(
        {
            ("P1", "A"): (10, features(redundancy_m=0.4, redundancy_b_nu=7)),
            ("P1", "B1"): (4, features(redundancy_m=0.5)),
            ("P1", "B2"): (5, features(redundancy_m=0.2)),
            ("P1", "B3"): (20, features(redundancy_m=1.0)),
            ("P2", "A"): (6, features(redundancy_m=0.7)),
            ("P2", "B1"): (2, features(redundancy_m=0.5)),
            ("P2", "B2"): (4, features(redundancy_m=0.4)),
            ("P2", "B3"): (12, features(redundancy_m=0.0)),
            ("T", "B1"): (3, features(redundancy_m=0.4, redundancy_m_nu=2, redundancy_m_ht=1)),
            ("T", "B2"): (5, features(redundancy_m=0.3, redundancy_m_nu=5)),
            ("T", "B3"): (10, features(redundancy_m=0.8)),
        },
        n_nu=[2, 2, 2],
    )


def predict(database, references=None, **settings):
    query = Query(database.workloads.index("A"), database.platforms.index("T"), references=references)
    return MPET2020.predict(database, query, MPET2020.settings_from(settings))


def element(answer, name):
    return answer.features[FEATURE_NAMES.index(name)]


def test_t1_is_the_plain_mean_of_six_transfers(database):
    answer = predict(database)
    assert answer.t1_s == pytest.approx(44 / 6, rel=1e-12)
    order = [(p, b) for b in ("B1", "B2", "B3") for p in ("P1", "P2")]
    assert [(c.platform, c.workload, c.weight) for c in answer.candidates_t1] == [(*pair, 1.0) for pair in order]
    assert [c.distance_workload for c in answer.candidates_t1[::2]] == pytest.approx([0.15, 0.25, 0.65])


def test_the_nearest_workload_and_platform_alone(database):
    """B1 is nearest by mean D_a; its platforms tie at D_p = 0.1, so P1: 3 * 10/4."""
    assert predict(database, t1_workloads=1, t1_platforms=1).t1_s == pytest.approx(7.5, rel=1e-12)


def test_vector_element_with_cubic_weights(database):
    answer = predict(database)
    assert [(c.platform, c.workload) for c in answer.candidates_scaling] == ORDER
    assert [c.distance_tuple for c in answer.candidates_scaling] == pytest.approx([0.19, 0.28, 0.28, 0.37, 0.68, 0.94])
    assert [c.weight * 216 for c in answer.candidates_scaling] == pytest.approx([216, 125, 125, 64, 1, 0], abs=1e-9)
    assert element(answer, "redundancy.m") == pytest.approx(REDUNDANCY_M, rel=1e-12)


def test_a_platform_too_many_is_passed_over(database):
    """(P2,B1) would be a second platform; (P1,B3) behind it still fits: r = 1, ((0.8-0.4)/0.5)^3 = 0.512 and 0."""
    answer = predict(database, scaling_platforms=1)
    assert [(c.platform, c.workload) for c in answer.candidates_scaling] == [("P1", "B1"), ("P1", "B2"), ("P1", "B3")]
    assert element(answer, "redundancy.m") == pytest.approx((0.32 + 0.512 * 0.6) / 1.512, rel=1e-12)


def test_the_list_can_end_at_the_first_platform_too_many(database):
    answer = predict(database, scaling_platforms=1, scaling_beyond_limits="end")
    assert [(c.platform, c.workload) for c in answer.candidates_scaling] == ORDER[:2]
    assert element(answer, "redundancy.m") == pytest.approx(0.32, rel=1e-12)  # r = 1 and 0


def test_a_workload_too_many_is_passed_over(database):
    """B2 would be a second workload; (P2,B1) behind (P1,B2) still fits."""
    answer = predict(database, scaling_workloads=1)
    assert [(c.platform, c.workload) for c in answer.candidates_scaling] == [("P1", "B1"), ("P2", "B1")]
    ended = predict(database, scaling_workloads=1, scaling_beyond_limits="end")
    assert [(c.platform, c.workload) for c in ended.candidates_scaling] == [("P1", "B1")]


def test_fallbacks_are_named(database):
    answer = predict(database)
    assert element(answer, "redundancy.m_nu") == pytest.approx(3.5, rel=1e-12)
    assert element(answer, "redundancy.b_nu") == 7
    assert np.isnan(element(answer, "redundancy.m_ht"))
    assert "copied from the first reference, not interpolated: redundancy.b_nu" in answer.warnings
    assert "the mean of the benchmarks on the target, not interpolated: redundancy.m_nu" in answer.warnings
    assert answer.confidence.elements_interpolated == 1
    assert answer.confidence.elements_replaced == 2


def test_curve_is_rebuilt_from_t1_and_the_elements(database):
    """R(n) = m n, beyond n_nu = 2 also 3.5 (n-2) + 7; t(n) = t(1) R(n) / n."""
    answer = predict(database)
    redundancy = np.array([1, 2, 3, 4]) * REDUNDANCY_M + np.array([0, 0, 10.5, 14])
    assert answer.n.tolist() == [1, 2, 3, 4]
    np.testing.assert_allclose(answer.curves["redundancy"], redundancy, rtol=1e-12)
    np.testing.assert_allclose(answer.time_s, 44 / 6 * redundancy / [1, 2, 3, 4], rtol=1e-12)
    assert np.isnan(answer.curves["lock_delay"]).all()


def test_one_reference_alone(database):
    """With P1 alone, t(1) = (7.5 + 10 + 5)/3; r = 1, (4/5)^3, 0 for D_a = 0.1, 0.2, 0.6."""
    answer = predict(database, references=(0,))
    assert answer.t1_s == pytest.approx(7.5, rel=1e-12)
    assert element(answer, "redundancy.m") == pytest.approx((125 * 0.32 + 64 * 0.6) / 189, rel=1e-12)
