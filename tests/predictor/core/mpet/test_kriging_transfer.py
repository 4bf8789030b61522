"""The process of the nearest references beside the one of all, and the interval of an answer that departs from that."""

import numpy as np
import pytest

from predictor.core.answers import Query
from predictor.core.database import Database
from predictor.core.mpet.hyperparameters import DEFAULTS
from predictor.core.mpet.kriging import gaussian_transfer, mean_with_neighbours
from predictor.core.mpet.method import MpetSettings, evidence_with_parts
from tests.predictor.core.curves import COUNTS, curve_arrays, curve_database

A, T = 5, 3


def transfers(database, target=T):
    evidence, parts = evidence_with_parts(database, Query(A, target), MpetSettings())
    wide = gaussian_transfer(evidence, parts, 0.9)
    return wide, mean_with_neighbours(wide, evidence, 0.9)


def two_kinds(seed, platforms=96):
    """A behaves like workload 0 on platforms of the first kind, and like workload 1 on those of the second."""
    rng = np.random.default_rng(seed)
    arrays = curve_arrays(seed, platforms, 10, missing=0.0)
    own, kind = rng.normal(size=(platforms, 10)) * 0.2, np.arange(platforms) % 2
    own[:, 2:5] += 0.8 * kind[:, None]  # tells the kinds apart
    own[:, A] = own[np.arange(platforms), kind]
    level = own + rng.normal(size=platforms)[:, None] + rng.normal(size=10)
    p, w = arrays["platform_index"], arrays["workload_index"]
    time_s = np.exp(level[p, w])[:, None] / np.array(COUNTS) * (1 + 0.1 * np.log(COUNTS))
    arrays |= {"t1_s": time_s[:, 0], "curve_time_s": time_s.ravel()}
    return Database.build(**arrays), level


def test_with_few_references_there_is_one_process():
    wide, both = transfers(curve_database(1, 33, 9, missing=0.0))
    assert both is wide
    wide, both = transfers(curve_database(1, 34, 9, missing=0.0))
    assert both is not wide


def test_the_answer_is_a_mean_of_both_and_distances_are_of_all():
    wide, both = transfers(curve_database(2, 90, 12, noise=0.05, missing=0.0))
    np.testing.assert_allclose(both.platform_weights.sum(axis=1), 1.0)
    beyond = np.argsort(wide.platform_distance)[3 * DEFAULTS.neighbours // 2 :]
    share = both.platform_weights[:, beyond] / wide.platform_weights[:, beyond]
    np.testing.assert_allclose(share, share[0, 0])  # of those not near only what they weigh among all
    assert 0.3 < share[0, 0] < 0.7
    for name in ("platform_distance", "workload_distance"):
        np.testing.assert_allclose(getattr(both, name), getattr(wide, name))


@pytest.mark.lab
def test_what_holds_among_the_nearest_alone_is_found():
    database, level = two_kinds(7)
    errors = []
    for target in range(0, 40):
        truth = level[target, A]  # at n = 1
        errors.append([abs(one.value[0] - truth) for one in transfers(database, target)])
    wide, both = np.mean(errors, axis=0)
    assert both < 0.9 * wide


@pytest.mark.parametrize("seed", [3, 4])
def test_the_interval_is_wider_as_far_as_the_answer_departs_from_the_process_it_was_calibrated_for(seed):
    database = curve_database(seed, 90, 12, noise=0.05, missing=0.0)
    wide, both = transfers(database)
    departs = both.value - wide.value
    assert (np.abs(departs) > 1e-6).any()
    np.testing.assert_allclose(both.half_width, np.hypot(wide.half_width, departs), rtol=1e-9)
