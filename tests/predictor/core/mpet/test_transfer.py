"""The mean of transfers, and the metadata that transfers use."""

from dataclasses import replace

import numpy as np

from predictor.core.database import Database
from predictor.core.metadata import platform_metadata
from predictor.core.mpet.transfer import Transfer, mean_transfer
from tests.predictor.core.curves import curve_arrays


def transfer(value, error):
    return Transfer(
        value=np.full(2, value),
        half_width=np.full(2, 0.1),
        platform_weights=np.full((2, 3), 1 / 3),
        workload_weights=np.full(4, 0.25),
        platform_distance=np.full(3, 0.5),
        workload_distance=np.full(4, 0.5),
        errors_on_target=np.full((2, 4), error),
    )


def test_transfers_count_by_how_wrong_they_are_on_the_target():
    mean = mean_transfer(transfer(1.0, 0.1), transfer(2.0, 0.3))
    np.testing.assert_allclose(mean.value, 1.25, rtol=1e-3)
    np.testing.assert_allclose(mean.platform_weights.sum(axis=1), 1.0)
    np.testing.assert_allclose(mean_transfer(transfer(1.0, 0.0), transfer(2.0, 0.0)).value, 1.5)


def test_the_first_transfer_counts_by_a_weight_more_or_less():
    """Inverse errors 10 and 10 / 3: with half the weight 5 to 10 / 3, a share of 0.6."""
    mean = mean_transfer(transfer(1.0, 0.1), transfer(2.0, 0.3), weight=0.5)
    np.testing.assert_allclose(mean.value, 1.4, rtol=1e-3)


def test_the_interval_of_a_mean_is_the_geometric_mean_of_its_parts():
    """Shares 3/4 and 1/4, widths 0.1 and 1.6: their geometric mean is 0.2."""
    other = replace(transfer(2.0, 0.3), half_width=np.full(2, 1.6))
    mean = mean_transfer(transfer(1.0, 0.1), other)
    np.testing.assert_allclose(mean.half_width, 0.2, rtol=1e-3)


def test_platforms_of_one_generation_are_nearer_on_paper():
    arrays = curve_arrays(1, 6, 4)
    names = ["Zen2", "Zen3", "Sandy Bridge-EP", "granite rapids", "unheard of", ""]
    arrays["platform_table"] = {"microarchitecture": names}
    vectors = platform_metadata(Database.build(**arrays)).vectors
    apart = ((vectors[:, None] - vectors) ** 2).sum(axis=2)
    assert apart[0, 1] < apart[0, 2] < apart[2, 3]
    assert np.isfinite(vectors).all()
    np.testing.assert_array_equal(vectors[4], vectors[5])  # unknown: like the median
