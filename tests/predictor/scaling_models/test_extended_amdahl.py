"""papers/000: the stream gives what the batch gives, alpha is reset as in Section 3.4, Section 3.5 is seen again."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from predictor.scaling_models.base import TooFewPoints
from predictor.scaling_models.extended_amdahl import ExtendedAmdahl
from predictor.scaling_models.points import PointsError

CORES = np.array([1, 2, 4, 8, 16, 32, 40, 47.0])  # Section 3.2
CUBIC = np.polynomial.Polynomial([0.05, 2e-6, 3e-12, 4e-18])


def measured(seed, count, *, largest=1e6, alpha=0.97, noise=0.02):
    rng = np.random.default_rng(seed)
    x = rng.choice(rng.uniform(0.02, 1, 40), count) * largest
    p = rng.choice(CORES, count)
    t = CUBIC(x * 1e6 / largest) * (alpha / p + 1 - alpha) * rng.lognormal(0, noise, count)
    return np.stack([p, x], axis=1), t


@given(seed=st.integers(0, 10**6), parts=st.integers(1, 300), largest=st.sampled_from([1.0, 2500.0, 1e6]))
def test_the_stream_gives_the_batch_to_1e8(seed, parts, largest):
    """Degree 3, sizes to 1e6: X'X in powers would have a condition number beyond 1e30. Seen: 1e-11."""
    X, t = measured(seed, 300, largest=largest)
    batch, stream = ExtendedAmdahl().fit(X, t), ExtendedAmdahl()
    for rows in np.array_split(np.arange(len(t)), parts):
        stream.partial_fit(X[rows], t[rows])
    assert stream.predict(X) == pytest.approx(batch.predict(X), rel=1e-8)
    assert stream.parallel_fraction_ == pytest.approx(batch.parallel_fraction_, rel=1e-8)


def test_a_stream_of_relative_errors_gives_the_batch_too():
    """Sizes 50 to 2500: weights 1/x^3 span five orders of magnitude, their squares ten. Seen: 1e-5."""
    for seed in range(5):
        X, t = measured(seed, 300, largest=2500.0)
        batch, stream = ExtendedAmdahl(errors="relative").fit(X, t), ExtendedAmdahl(errors="relative")
        for rows in np.array_split(np.arange(len(t)), 40):
            stream.partial_fit(X[rows], t[rows])
        assert stream.predict(X) == pytest.approx(batch.predict(X), rel=1e-4)


def test_relative_errors_need_sizes_above_0():
    with pytest.raises(PointsError, match="size, row 0: 0 is not above 0"):
        ExtendedAmdahl(degree=1, errors="relative").fit([[1, 0], [1, 1], [2, 1]], [1.0, 2.0, 1.0])
    with pytest.raises(ValueError, match="errors is 'moon'"):
        ExtendedAmdahl(errors="moon").fit([[1, 1]], [1.0])


def test_the_batch_is_numpys_least_squares():
    X, t = measured(1, 400)
    sequential = X[:, 0] == 1
    series = np.polynomial.Polynomial.fit(X[sequential, 1], t[sequential], 3)
    assert ExtendedAmdahl().fit(X, t).sequential_time(X[:, 1]) == pytest.approx(series(X[:, 1]), rel=1e-9)


def test_state_does_not_grow():
    X, t = measured(2, 200)
    model = ExtendedAmdahl()
    sizes = set()
    for at in range(len(t)):
        model.partial_fit(X[at : at + 1], t[at : at + 1])
        if hasattr(model, "sums_"):
            sizes.add((model.sums_.xx.size, model.sums_.xy.size))
    assert sizes == {(16, 4)}


def test_alpha_is_of_the_highest_p_and_there_of_the_highest_x():
    """method.md, trap 7: the formula as printed, a = p/(1 - p) Tp/Tseq, would be negative."""
    sequential = [((1, x), x) for x in (1.0, 2.0, 3.0, 4.0)]
    others = [((4, 2), 99.0), ((2, 4), 99.0), ((8, 1), 99.0)]  # lower: ignored
    highest = [((8, 3), 3 * (0.8 / 8 + 0.2) * noise) for noise in (0.9, 1.1)]
    for order in ([*sequential, *others, *highest], [*highest, *sequential, *others], [*others, *highest, *sequential]):
        X, t = (np.array(column, dtype=float) for column in zip(*order, strict=True))
        stream = ExtendedAmdahl(degree=1)
        for at in range(len(t)):
            stream.partial_fit(X[at : at + 1], t[at : at + 1])
        assert stream.parallel_fraction_ == pytest.approx(0.8)
        assert ExtendedAmdahl(degree=1).fit(X, t).parallel_fraction_ == pytest.approx(0.8)


def test_parameters_are_powers_of_the_size():
    x = np.arange(1.0, 9.0)
    X = np.concatenate([np.stack([np.ones(8), x], axis=1), [[4, 8.0]]])
    t = np.append(2 + 3 * x + 0.5 * x**3, (2 + 24 + 256) * (0.9 / 4 + 0.1))
    found = ExtendedAmdahl().fit(X, t).parameters()
    assert list(found.values()) == pytest.approx([0.9, 2, 3, 0, 0.5], abs=1e-6)


def test_nothing_parallel_seen_is_nan_not_a_guess():
    model = ExtendedAmdahl(degree=1).fit([[1, 1], [1, 2]], [1.0, 2.0])
    assert np.isnan(model.predict([[2, 1]])[0])
    assert model.predict([[1, 3]])[0] == pytest.approx(3.0)


def test_refusals():
    with pytest.raises(TooFewPoints, match="4 sizes at n = 1; found 2"):
        ExtendedAmdahl().fit([[1, 1], [1, 2], [2, 3]], [1.0, 2.0, 3.0])
    with pytest.raises(TooFewPoints, match="points at n = 1"):
        ExtendedAmdahl().partial_fit([[2, 1]], [1.0]).predict([[1, 1]])
