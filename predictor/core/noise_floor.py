"""The noise floor of repeated runs: the difference of one run from the others of the same pair.

The noise floor is not a method and cannot predict, because it uses the measurements that evaluations hide. No method
can be expected to have smaller errors, because the measured times are not more certain than this.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from predictor.core.evaluate import ErrorPart, Outcome
from profiles.arrays import FloatArray
from profiles.measurements import RunTable

NOISE_FLOOR = "noise-floor"


def noise_floor(profiles: Iterable[tuple[str, str, RunTable]]) -> list[Outcome]:
    """Return the floor of every (platform, workload, runs); the outcome is a refusal if no n has two runs."""
    return [_outcome(*profile) for profile in profiles]


def _outcome(platform: str, workload: str, runs: RunTable) -> Outcome:
    errors = repeat_errors(runs)
    if not len(errors["full"]):
        return Outcome(NOISE_FLOOR, platform, workload, 0.0, refusal="no thread count was measured twice")
    repeated = {part: values for part, values in errors.items() if len(values)}
    return Outcome(
        NOISE_FLOOR,
        platform,
        workload,
        0.0,
        errors={part: float(np.abs(values).mean()) for part, values in repeated.items()},
        biases={part: float(values.mean()) for part, values in repeated.items()},
    )


def repeat_errors(runs: RunTable) -> dict[ErrorPart, FloatArray]:
    """Return signed relative errors of single runs against the median of the other runs at the same n.

        full: t_r(n) / m_r(n) - 1;    t1: the same at the smallest n;
        scaling: (t_r(n) / t_r(1)) / (m_r(n) / m_r(1)) - 1

    t_r is the r-th run at n and m_r(n) the median of the others, at every n with two runs or more. Only the runs from
    which t(n) is computed count: the clean ones if there are any. The arrays are empty if no n was measured twice.

    Example: two runs of 10 s and 12 s have errors 10/12 - 1 and 12/10 - 1.

    >>> two = RunTable(n=np.array([1, 1]), repeat=np.array([1, 2]), is_profile_pass=np.zeros(2, bool),
    ...                time_s=np.array([10.0, 12.0]))
    >>> repeat_errors(two)["full"].round(3).tolist()
    [-0.167, 0.2]
    """
    runs = runs.own
    # Divide each time by the median of the others.
    ratios = [
        np.array([time / np.median(np.delete(times, r)) for r, time in enumerate(times)])
        for n in np.unique(runs.n)
        if len(times := _own_times(runs, n)) > 1
    ]
    if not ratios:
        return dict.fromkeys(("full", "t1", "scaling"), np.zeros(0))
    first_is_measured_twice = len(_own_times(runs, runs.n.min())) > 1
    first = ratios[0] if first_is_measured_twice else np.zeros(0)
    # Divide the r-th ratio by the r-th ratio at the smallest n, for the repeats that both have.
    paired = [np.zeros(0), *(ratio[: len(first)] / first[: len(ratio)] for ratio in ratios)]
    return {"full": np.concatenate(ratios) - 1, "t1": first - 1, "scaling": np.concatenate(paired) - 1}


def _own_times(runs: RunTable, n: int) -> FloatArray:
    at_n = runs.n == n
    clean = at_n & ~runs.is_profile_pass
    chosen = np.flatnonzero(clean if clean.any() else at_n)
    return runs.time_s[chosen[np.argsort(runs.repeat[chosen], kind="stable")]]
