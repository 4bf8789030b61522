"""Which profiles contradict all others so much that they cannot be right: milliseconds taken for seconds, n t(n) for
t(n), other programs at work. Found among the evidence of a question, before anything is learned from it."""

from __future__ import annotations

import numpy as np

from predictor.core.numerics import FEWEST, MEDIAN_TO_SIGMA, TINY, invert_definite, lower_medians
from profiles.arrays import BoolArray, FloatArray, IntArray

MOST_JUDGING_PLATFORMS = 96  # more of them change a median and a covariance no more
MEDIAN_ROUNDS = 2  # of taking medians off, of workloads and of platforms
LEAST_SPREAD = 0.03  # of ln t, added to the spread of a workload
FEWEST_JUDGING = 8  # platforms with the workload: of fewer, only what is absurd is outlying
FEWEST_HALVED = 4  # workloads: of fewer, no half tells about the other
PAPER_LENGTH = 4.0  # squared distance on paper over which likeness falls to 1/e
LEAST_FACTOR = 2.0  # too fast or too slow
LEAST_TIMES, MORE_TIMES = 5.0, 10.0  # what is usual: asked of every profile, and more where hardly any is wrong
STRONG_TIMES, SHARE_OF_WRONG = 8.0, 0.003  # what is missed by so much more; its share at which 1/e of that is asked
ABSURD_FACTOR, ABSURD_DEVIATIONS = 20.0, 8.0  # too fast or slow, and robust standard deviations of the workload
TIMES_A_KIND = 4.0  # as many platforms as of other workloads


def outlying_profiles(curves: FloatArray, is_known: BoolArray, on_paper: FloatArray) -> BoolArray:
    """Which profiles (P, B) all others contradict, by ln(n t(n)) at the first and the last knot.

        x = asinh(rest / spread),    miss = root mean square over both knots of (x - expected)

    The rest is what medians of workloads and of platforms leave, the spread that of the workload. What is expected of
    one half of the workloads the other half tells, by kriging over platforms, each left out: what belongs to a kind of
    machine is expected, what is wrong is not. Of a workload that eight platforms have a profile is outlying that is off
    by a factor of 2 and missed by

        5 + 10 exp(-share / 0.003)

    times what is usual for its workload, and for its platform where more than twice as much is. `share` is that of the
    other profiles that are missed by eight times: where many are wrong, less is believed. Of a workload that three
    have, a profile is that is off by a factor of 20 and missed by 8 robust standard deviations. Platforms that are off
    on the same side of a workload are a kind, such as machines with a GPU, where they are three, and four times as many
    as of other workloads. Of two values of a workload nothing tells which is wrong.

    Parameters: `curves` (J, P, B) in ln of seconds, `is_known` (P, B), `on_paper` (P, F): platforms by their metadata.

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
    curves = curves[:: max(len(curves) - 1, 1)].astype(np.float32)  # takes half the time, and decides the same
    judges = np.arange(len(is_known))[:: -(-len(is_known) // MOST_JUDGING_PLATFORMS)]
    rest, spread = _rests(curves, is_known, judges)
    x = np.where(is_known, rest, 0.0) / spread
    x = np.copysign(np.log(np.abs(x) + np.sqrt(x * x + 1.0)), x)  # asinh(x), which NumPy takes five times as long for
    # How alike platforms and judging platforms are on paper, (P, judges).
    squares = np.einsum("pf,pf->p", on_paper, on_paper)
    distance = squares[:, None] + squares[judges] - 2.0 * (on_paper @ on_paper[judges].T)
    alike = np.exp(distance / -PAPER_LENGTH)
    for _ in range(2):  # again by what remains
        telling = is_known & ~is_outlying
        expected = _expected(x * telling, judges, alike)
        miss = _root_mean_square(x - expected)
        usual = lower_medians(np.where(telling, miss, np.inf)[judges].T, telling[judges].sum(axis=0))
        times = miss / ((usual + np.median(usual)) / 2 + TINY)
        of_platform = lower_medians(np.where(telling, times, np.inf), telling.sum(axis=1))
        times /= np.maximum(of_platform / 2, 1.0)[:, None]

        growth = np.exp(expected)
        off = rest - spread / 2 * (growth - 1.0 / growth)  # sinh(expected), as with asinh
        log_factor = _root_mean_square(off)
        is_off = can_be & (having >= FEWEST_JUDGING) & (log_factor > np.log(LEAST_FACTOR))
        others = max(int(np.count_nonzero(is_off & (times > STRONG_TIMES))) - 1, 0)
        is_absurd = can_be & (log_factor > np.maximum(np.log(ABSURD_FACTOR), ABSURD_DEVIATIONS * spread))
        is_far = is_off & (times > asked_times(others / np.count_nonzero(is_known))) | is_absurd

        is_slow = off.mean(axis=0) > 0.0
        sides = np.stack([is_far & is_slow, is_far & ~is_slow])
        platforms = sides.sum(axis=1)
        is_kind = platforms >= max(FEWEST, TIMES_A_KIND * platforms.mean())
        is_outlying = (sides & ~is_kind[:, None]).any(axis=0)
        if not is_outlying.any():  # the same would be found again
            break
    return is_outlying


def _root_mean_square(values: FloatArray) -> FloatArray:
    return np.asarray(np.sqrt(np.einsum("jpb,jpb->pb", values, values) / len(values)))


def asked_times(share: float) -> float:
    """How many times what is usual is believed of no profile where that share of the others is wrong.

    >>> asked_times(0.0), round(asked_times(0.05), 3)
    (15.0, 5.0)
    """
    return float(LEAST_TIMES + MORE_TIMES * np.exp(-share / SHARE_OF_WRONG))


def _rests(curves: FloatArray, is_known: BoolArray, judges: IntArray) -> tuple[FloatArray, FloatArray]:
    """What medians leave of the curves (J, P, B), infinite where unknown; and its spread of every workload (B,)."""
    per_platform, per_workload = is_known.sum(axis=1), is_known[judges].sum(axis=0)
    rest, spread = np.where(is_known, curves, np.inf), np.full(is_known.shape[1], LEAST_SPREAD, dtype=curves.dtype)
    for of_count in rest:
        for _ in range(MEDIAN_ROUNDS):
            np.subtract(of_count, lower_medians(of_count[judges].T, per_workload), out=of_count)
            np.subtract(of_count, lower_medians(of_count, per_platform)[:, None], out=of_count)
        np.subtract(of_count, lower_medians(of_count[judges].T, per_workload), out=of_count)
        spread += MEDIAN_TO_SIGMA / len(rest) * lower_medians(np.abs(of_count[judges]).T, per_workload)
    return rest, spread


def _expected(x: FloatArray, judges: IntArray, alike: FloatArray) -> FloatArray:
    """What is expected of x (J, P, B) by the judging platforms, each left out.

        k_p' (K + I / 2)^-1 x,    K_pq = x_p x_q / mean |x|^2 + exp(-d_pq / 4)

    The latter, of squared distances d on paper, is `alike` (P, judges). x_p are those of every other workload for the
    workloads between, so that neighbours by name tell about each other.
    """
    expected = np.zeros_like(x)
    if x.shape[2] < FEWEST_HALVED:
        return expected
    even, odd = (np.concatenate(list(x[:, :, first::2]), axis=1) for first in (0, 1))
    for first, own, other in ((0, even, odd), (1, odd, even)):
        covariance = other @ other[judges].T
        covariance /= np.trace(covariance[judges]) / len(judges) + TINY
        covariance += alike
        inverse = covariance[judges]
        inverse.flat[:: len(judges) + 1] += 0.5
        invert_definite(inverse)
        products = inverse @ own[judges]
        told = covariance @ products
        told[judges] = own[judges] - products / np.diag(inverse)[:, None]
        expected[:, :, first::2] = told.reshape(len(x[0]), len(x), -1).transpose(1, 0, 2)
    return expected
