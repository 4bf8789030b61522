"""Detection of outlying profiles in the evidence of a query, before it is used: times in the wrong unit, n t(n) in
place of t(n), or measurements disturbed by other programs."""

from __future__ import annotations

import numpy as np

from predictor.core.arrays import sampled
from predictor.core.numerics import FEWEST, MEDIAN_TO_SIGMA, TINY, invert_definite, lower_medians
from profiles.arrays import BoolArray, FloatArray, IntArray

MOST_JUDGING_PLATFORMS = 96  # platforms from which medians and covariances are computed; more hardly change them
MEDIAN_ROUNDS = 2  # rounds of subtracting medians of workloads and of platforms
LEAST_SPREAD = 0.03  # of ln t, added to the spread of a workload
FEWEST_JUDGING = 8  # platforms with a workload below which only absurd profiles are outlying
FEWEST_HALVED = 4  # workloads below which no half of them can predict the other, and only absurd profiles are outlying
PAPER_LENGTH = 4.0  # length scale of the similarity of metadata, a squared distance
LEAST_FACTOR = 2.0  # least factor by which an outlying profile is too fast or too slow
LEAST_TIMES, MORE_TIMES = 5.0, 10.0  # least threshold in usual errors, and what is added if few profiles are wrong
STRONG_TIMES, SHARE_OF_WRONG = 8.0, 0.003  # relative error of a wrong profile; share of these at which 1/e is added
ABSURD_FACTOR, ABSURD_DEVIATIONS = 20.0, 8.0  # factor, and robust standard deviations of the workload
TIMES_A_KIND = 4.0  # outlying platforms of a kind, relative to those of other workloads


def outlying_profiles(
    curves: FloatArray, is_known: BoolArray, on_paper: FloatArray, displaced: FloatArray | float = 0.0
) -> BoolArray:
    """Return which profiles (P, B) are outlying, by ln(n t(n)) at the first and the last knot.

        x = asinh(rest / spread),    miss = root mean square over both knots of (x - expected)

    The rest remains after medians of workloads and platforms were subtracted; the spread is that of the workload. One
    half of the workloads is predicted from the other half by kriging over platforms, each left out, so that properties
    of a kind of machine are expected and errors are not. With at least four workloads, a profile of a workload with at
    least eight platforms is outlying if it is off by a factor of 2 and its miss is larger than

        5 + 10 exp(-share / 0.003)

    times the usual miss of its workload and, if its platform's is more than twice that, of its platform. `share` is the
    share of other profiles whose miss is eight times the usual one: the more are wrong, the lower the threshold. With
    at least three platforms, a profile is outlying if it is off by a factor of 20 and by 8 robust standard deviations.
    Platforms that are off in the same direction for a workload are a kind, such as machines with a GPU, and not
    outlying, if they are at least three and four times as many as for other workloads. With two platforms it cannot
    be decided which one is wrong.

    Parameters: `curves` (J, P, B) in ln of seconds, `is_known` (P, B), `on_paper` (P, F), the platforms' metadata;
    `displaced` (P, B), the distance in ln n between the thread count at which a profile was measured and that of other
    platforms, for profiles that do not show how they scale. Serial programs are off by it, so it is subtracted.

    >>> curves = np.add.outer(np.arange(6.0), np.arange(4.0))
    >>> curves[2, 1] += 7
    >>> np.argwhere(outlying_profiles(curves[None], np.ones(curves.shape, dtype=bool), np.zeros((6, 1)))).tolist()
    [[2, 1]]
    """
    is_outlying = np.zeros(is_known.shape, dtype=bool)
    having = is_known.sum(axis=0)
    can_be = is_known & (having >= FEWEST)
    if not can_be.any():
        return is_outlying
    can_be_far = can_be & (having >= FEWEST_JUDGING) & (len(having) >= FEWEST_HALVED)
    curves = curves[:: max(len(curves) - 1, 1)].astype(np.float32)  # half the time, and the same decisions
    judges = sampled(np.arange(len(is_known)), MOST_JUDGING_PLATFORMS)
    rest, spread = _rests(curves, is_known, judges)
    x = np.where(is_known, rest, 0.0) / spread
    x = np.copysign(np.log(np.abs(x) + np.sqrt(x * x + 1.0)), x)  # asinh(x), five times as fast as np.arcsinh
    # Compute the similarity of metadata between platforms and judging platforms, (P, judges).
    squares = np.einsum("pf,pf->p", on_paper, on_paper)
    distance = squares[:, None] + squares[judges] - 2.0 * (on_paper @ on_paper[judges].T)
    similarity = np.exp(distance / -PAPER_LENGTH)
    for _ in range(2):  # the second time without the outliers of the first
        telling = is_known & ~is_outlying
        expected = _expected(x * telling, judges, similarity)
        miss = _root_mean_square(x - expected)
        usual = lower_medians(np.where(telling, miss, np.inf)[judges].T, telling[judges].sum(axis=0))
        times = miss / ((usual + np.median(usual)) / 2 + TINY)
        of_platform = lower_medians(np.where(telling, times, np.inf), telling.sum(axis=1))
        times /= np.maximum(of_platform / 2, 1.0)[:, None]

        growth = np.exp(expected)
        off = rest - spread / 2 * (growth - 1.0 / growth)  # sinh(expected), as with asinh
        log_factor = _root_mean_square(off) - displaced
        is_off = can_be_far & (log_factor > np.log(LEAST_FACTOR))
        others = max(int(np.count_nonzero(is_off & (times > STRONG_TIMES))) - 1, 0)
        is_absurd = can_be & (log_factor > np.maximum(np.log(ABSURD_FACTOR), ABSURD_DEVIATIONS * spread))
        is_far = is_off & (times > asked_times(others / np.count_nonzero(is_known))) | is_absurd

        is_slow = off.mean(axis=0) > 0.0
        sides = np.stack([is_far & is_slow, is_far & ~is_slow])
        platforms = sides.sum(axis=1)
        is_kind = platforms >= max(FEWEST, TIMES_A_KIND * platforms.mean())
        is_outlying = (sides & ~is_kind[:, None]).any(axis=0)
        if not is_outlying.any():  # the second round would find the same
            break
    return is_outlying


def _root_mean_square(values: FloatArray) -> FloatArray:
    return np.asarray(np.sqrt(np.einsum("jpb,jpb->pb", values, values) / len(values)))


def asked_times(share: float) -> float:
    """Return the threshold of a profile's miss, relative to the usual one, if that share of the others is wrong.

    >>> asked_times(0.0), round(asked_times(0.05), 3)
    (15.0, 5.0)
    """
    return float(LEAST_TIMES + MORE_TIMES * np.exp(-share / SHARE_OF_WRONG))


def _rests(curves: FloatArray, is_known: BoolArray, judges: IntArray) -> tuple[FloatArray, FloatArray]:
    """Return the curves (J, P, B) minus medians, infinite if unknown, and their spread for each workload (B,)."""
    per_platform, per_workload = is_known.sum(axis=1), is_known[judges].sum(axis=0)
    rest, spread = np.where(is_known, curves, np.inf), np.full(is_known.shape[1], LEAST_SPREAD, dtype=curves.dtype)
    for of_count in rest:
        for _ in range(MEDIAN_ROUNDS):
            np.subtract(of_count, lower_medians(of_count[judges].T, per_workload), out=of_count)
            np.subtract(of_count, lower_medians(of_count, per_platform)[:, None], out=of_count)
        np.subtract(of_count, lower_medians(of_count[judges].T, per_workload), out=of_count)
        spread += MEDIAN_TO_SIGMA / len(rest) * lower_medians(np.abs(of_count[judges]).T, per_workload)
    return rest, spread


def _expected(x: FloatArray, judges: IntArray, similarity: FloatArray) -> FloatArray:
    """Return the expectation of x (J, P, B) from the judging platforms, each left out.

        k_p' (K + I / 2)^-1 x,    K_pq = x_p x_q / mean |x|^2 + exp(-d_pq / 4)

    The last term, with squared distances d of metadata, is `similarity` (P, judges). Even workloads are predicted from
    odd ones and vice versa, so that workloads with neighbouring names are used for each other.
    """
    expected = np.zeros_like(x)
    if x.shape[2] < FEWEST_HALVED:
        return expected
    even, odd = (np.concatenate(list(x[:, :, first::2]), axis=1) for first in (0, 1))
    for first, predicted, predictors in ((0, even, odd), (1, odd, even)):
        covariance = predictors @ predictors[judges].T
        covariance /= np.trace(covariance[judges]) / len(judges) + TINY
        covariance += similarity
        inverse = covariance[judges]
        inverse.flat[:: len(judges) + 1] += 0.5
        invert_definite(inverse)
        products = inverse @ predicted[judges]
        values = covariance @ products
        values[judges] = predicted[judges] - products / np.diag(inverse)[:, None]
        expected[:, :, first::2] = values.reshape(len(x[0]), len(x), -1).transpose(1, 0, 2)
    return expected
