"""Predicted profiles that are added to a database as if they had been measured."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from predictor.core.answers import Answer
from predictor.core.arrays import stretch_positions
from predictor.core.database import Database
from profiles.scaling.names import FEATURE_NAMES

NOISE_COLUMNS = ("standard_error", "run_deviation", "disturbed_share")


@dataclass(frozen=True, eq=False)
class Observation:
    """A profile that was not measured, with its predicted answer."""

    platform: int
    workload: int
    group: int
    answer: Answer


def with_observations(database: Database, observations: Sequence[Observation]) -> Database:
    """Return the visible rows of the database, with the observations as further rows. Their noise is unknown."""
    rows = np.flatnonzero(~database.hidden)
    lengths = np.diff(database.curve_offsets)[rows]
    points = stretch_positions(database.curve_offsets[rows], lengths)
    predicted = [np.isfinite(observation.answer.time_s) for observation in observations]
    new_n = [one.answer.n[is_finite] for one, is_finite in zip(observations, predicted, strict=True)]
    new_time_s = [one.answer.time_s[is_finite] for one, is_finite in zip(observations, predicted, strict=True)]
    added = {
        "platform_index": [observation.platform for observation in observations],
        "workload_index": [observation.workload for observation in observations],
        "group": [observation.group for observation in observations],
        "t1_s": [observation.answer.t1_s for observation in observations],
        **{name: [np.nan] * len(observations) for name in NOISE_COLUMNS},
    }
    vectors = np.array([observation.answer.features for observation in observations]).reshape(-1, len(FEATURE_NAMES))
    columns = {name: getattr(database, name)[rows] for name in added}
    return database.with_profiles(
        **{name: np.concatenate([old, np.array(added[name], dtype=old.dtype)]) for name, old in columns.items()},
        features=np.concatenate([database.features[rows], vectors]),
        curve_offsets=np.append(0, np.cumsum([*lengths, *map(len, new_n)])),
        curve_n=np.concatenate([database.curve_n[points], *new_n]),
        curve_time_s=np.concatenate([database.curve_time_s[points], *new_time_s]),
    )
