"""Programs as sums of workloads, on databases whose times are known."""

import numpy as np
import pytest

from predictor.core.answers import Query
from predictor.core.methods import get_method
from predictor.core.programs import PartNotPredicted, ProgramParts, predict_program, sum_times
from tests.predictor.core.curves import COUNTS, curve_database

MPET = get_method("mpet")
PARTS = ProgramParts((1, 4), 7)
TARGET = 3
TIMES = np.array([[4.0, 2.0], [1.0, 0.5], [0.5, 0.5]])


@pytest.fixture(scope="module")
def database():
    return curve_database(2, 8, 12, missing=0.0)


def predict(database, workload, n=None):
    return MPET.predict(database.without(TARGET, PARTS.all), Query(workload, TARGET, n=n), MPET.settings())


def test_the_whole_is_the_sum_of_regions_and_of_one_threads_time(database):
    answer = predict_program(database, PARTS, TARGET, MPET, MPET.settings(), n=COUNTS)
    first, second, rest = predict(database, 1, COUNTS), predict(database, 4, COUNTS), predict(database, 7, (1,))
    assert answer.n.tolist() == list(COUNTS)
    assert answer.time_s[2] == pytest.approx([rest.time_s[0]] * len(COUNTS))
    assert answer.total.time_s == pytest.approx(first.time_s + second.time_s + rest.time_s)
    assert (answer.total.low_s < answer.total.time_s).all()
    assert (answer.total.high_s > answer.total.time_s).all()


def test_without_a_serial_rest_the_regions_alone_are_summed(database):
    answer = predict_program(database, ProgramParts((1, 4)), TARGET, MPET, MPET.settings())
    assert len(answer.time_s) == 2
    assert answer.n.tolist() == list(range(1, int(database.n_max[TARGET]) + 1))


def test_parts_that_were_measured_on_the_target_are_not_seen(database):
    """Neither the part itself nor its siblings, which are measured wherever it is."""
    hidden = database.without(TARGET, PARTS.all)
    with_all, without = (
        predict_program(one, PARTS, TARGET, MPET, MPET.settings(), n=COUNTS) for one in (database, hidden)
    )
    assert np.array_equal(with_all.total.time_s, without.total.time_s)
    seen = MPET.predict(database, Query(1, TARGET, n=COUNTS), MPET.settings())
    assert not np.allclose(seen.time_s, with_all.time_s[0])


def test_the_widest_part_has_the_largest_interval(database):
    answer = predict_program(database, PARTS, TARGET, MPET, MPET.settings(), n=COUNTS)
    widths = (answer.high_s - answer.low_s)[:, 2]
    assert answer.widest_part(2) == int(widths.argmax())


def test_a_method_without_intervals_gives_none(database):
    method = get_method("speed-ratio")
    answer = predict_program(database, PARTS, TARGET, method, method.settings(), n=COUNTS)
    assert np.isfinite(answer.total.time_s).all()
    assert np.isnan(answer.total.low_s).all()
    assert answer.widest_part(0) == int(answer.time_s[:, 0].argmax())


def test_a_refused_part_is_named(database):
    nowhere = database.without(np.arange(8), 4)
    with pytest.raises(PartNotPredicted, match="w004: ") as refused:
        predict_program(nowhere, PARTS, TARGET, MPET, MPET.settings())
    assert refused.value.lacks == refused.value.__cause__.lacks != ""


def half_width(total):
    return np.log(total.high_s / total.low_s) / 2


@pytest.mark.parametrize("correlation", [0.0, 0.25, 1.0])
def test_the_interval_of_a_sum_by_hand(correlation):
    """From the root of the sum of squares of independent errors to the sum of errors that are all the same."""
    factor = np.exp(np.array([0.1, 0.2, 0.4]))[:, None]
    total = sum_times(TIMES, TIMES / factor, TIMES * factor, correlation)
    assert total.time_s.tolist() == [5.5, 3.0]
    parts = [4 * 0.1, 1 * 0.2, 0.5 * 0.4]
    by_hand = np.sqrt((1 - correlation) * np.square(parts).sum() + correlation * sum(parts) ** 2) / 5.5
    assert half_width(total)[0] == pytest.approx(by_hand)
    assert total.low_s * total.high_s == pytest.approx(total.time_s**2)
    one = np.array([[3.0]])
    assert np.exp(2 * half_width(sum_times(one, one / 1.5, one * 2.0, correlation))) == pytest.approx([3.0])


def test_what_is_not_known_of_a_part_is_not_known_of_the_whole():
    times = np.array([[1.0, 2.0], [np.nan, 1.0]])
    total = sum_times(times, times / 2, times * 2)
    assert np.isnan(total.time_s).tolist() == [True, False]
    assert np.isnan([total.low_s[0], total.high_s[0]]).all()


@pytest.mark.parametrize("correlation", [0.0, 0.5, 1.0])
def test_it_holds_as_many_sums_as_single_times_where_errors_correlate_so(correlation):
    """Ten equal parts with normal errors of ln t: 90 % of the sums lie inside."""
    rng = np.random.default_rng(1)
    deviation, draws, parts = 0.1, 4000, 10
    common, own = rng.normal(size=(draws, 1)), rng.normal(size=(draws, parts))
    errors = deviation * (np.sqrt(correlation) * common + np.sqrt(1 - correlation) * own)
    one, half = np.ones((parts, 1)), 1.6449 * deviation
    total = sum_times(one, one * np.exp(-half), one * np.exp(half), correlation)
    sums = np.exp(errors).sum(axis=1)
    assert np.mean((total.low_s[0] <= sums) & (sums <= total.high_s[0])) == pytest.approx(0.9, abs=0.02)
