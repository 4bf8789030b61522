"""Predicted profiles that are added to a database as if they had been measured."""

import numpy as np

from predictor.core.observations import Observation, with_observations
from tests.predictor.core.curves import curve_arrays
from tests.predictor.core.databases import Database
from tests.predictor.core.mpet.asking import predict


def test_the_measured_profiles_stay_as_they_are_and_the_hidden_ones_are_left_out():
    arrays = curve_arrays(2, 8, 5, missing=0.0)
    noise = np.linspace(0.01, 0.1, len(arrays["t1_s"]))
    database = Database.build(**arrays, standard_error=noise, run_deviation=2 * noise, disturbed_share=noise)
    view = database.without([3, 4], [2, 0])
    added = with_observations(view, [Observation(3, 2, 0, predict(view, 2, 3, (1, 4)))])
    assert len(added) == len(database) - 1
    row, old = (int(one.lookup(3, 1, 0)) for one in (added, database))
    for name in ("features", "t1_s", "standard_error", "run_deviation", "disturbed_share"):
        np.testing.assert_array_equal(getattr(added, name)[row], getattr(database, name)[old])
    assert [values.tolist() for values in added.curve(row)] == [values.tolist() for values in database.curve(old)]
    new = int(added.lookup(3, 2, 0))
    assert added.curve(new)[0].tolist() == [1, 4]
    assert np.isnan([added.standard_error[new], added.run_deviation[new], added.disturbed_share[new]]).all()
    assert added.lookup(4, 0, 0) == -1


def test_thread_counts_without_a_time_are_left_out():
    database = Database.build(**curve_arrays(2, 8, 5, missing=0.0))
    answer = predict(database, 2, 3, (1, 4))
    answer.time_s[1] = np.nan
    added = with_observations(database.without(3, 2), [Observation(3, 2, 0, answer)])
    assert added.curve(int(added.lookup(3, 2, 0)))[0].tolist() == [1]
