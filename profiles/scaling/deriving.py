"""Everything derived of profiles from their runs, many at once and without a database."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from profiles.jobs.executors import Executor, batches_of
from profiles.measurements import CounterTable, RunTable
from profiles.scaling.features import FeatureFits, feature_fits
from profiles.scaling.quality import RepeatSummary, repeat_summary
from profiles.scaling.runs import CurveTable, scaling_curves

DERIVED_PER_BATCH = 100  # profiles: tens of milliseconds


@dataclass(frozen=True, eq=False)
class MeasuredRuns:
    """The runs of a profile, what its counters read, and the breakpoints of its platform (None = no such effect)."""

    runs: RunTable
    counters: CounterTable | None
    n_nu: float | None
    n_ht: float | None


@dataclass(frozen=True, eq=False)
class DerivedProfiles:
    """Of P profiles: curves, how their repeats agree, and the fits of the curves."""

    curves: Sequence[CurveTable]
    repeats: Sequence[RepeatSummary]
    fits: FeatureFits


def derive_profiles(measured: Sequence[MeasuredRuns], executor: Executor | None = None) -> DerivedProfiles:
    """The curves of each profile (`scaling_curves`), the summary of its repeats and its feature vector.

    Each is the same as when it is derived alone, wherever the `executor` does it (default: in this process).

    >>> table = RunTable(n=np.array([1, 2]), repeat=np.ones(2, int), is_profile_pass=np.zeros(2, bool),
    ...                  time_s=np.array([4.0, 2.0]))
    >>> derived = derive_profiles([MeasuredRuns(table, None, None, None)])
    >>> derived.curves[0].t1_s, derived.repeats[0].run_count, derived.fits.values.shape
    (4.0, 2, (1, 84))
    """
    executor = executor or Executor()
    parts = list(executor.map(_derive_batch, None, batches_of(measured, executor, DERIVED_PER_BATCH)))
    parts = parts or [_derive_batch(None, [])]
    return DerivedProfiles(
        [curve for part in parts for curve in part.curves],
        [summary for part in parts for summary in part.repeats],
        FeatureFits(*(np.concatenate(columns) for columns in zip(*map(_columns, parts), strict=True))),
    )


def _columns(part: DerivedProfiles) -> Iterator[np.ndarray]:
    return iter((part.fits.values, part.fits.rms, part.fits.fit_error))


def _derive_batch(nothing: None, batch: Sequence[MeasuredRuns]) -> DerivedProfiles:
    curves = [scaling_curves(measured.runs, measured.counters) for measured in batch]
    fits = feature_fits(curves, [measured.n_nu for measured in batch], [measured.n_ht for measured in batch])
    return DerivedProfiles(curves, [repeat_summary(measured.runs) for measured in batch], fits)
