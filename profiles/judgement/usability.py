"""Checks of stored profiles and platforms: the reasons why nothing can be predicted from a row.

Stored rows are always checked before they are used. They are checked in batches of stored bytes, because creating one
array per row would take longer than the query. `stored_curves` (profiles.scaling.runs) and `stored_features`
(profiles.scaling.features) read one profile.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np
from django.db.models import BinaryField, Expression, ExpressionWrapper, F, QuerySet
from django.db.models.functions import Least, Length, Substr

from profiles.arrays import FloatArray, IntArray
from profiles.models import Platform, Profile
from profiles.scaling.names import FEATURE_NAMES
from profiles.scaling.runs import STORED_CURVES
from profiles.scaling.validity import LARGEST_N, first_faults, platform_faults, profile_faults, slug_faults

ROWS_PER_BATCH = 20_000
MOST_LISTED = 10_000  # maximum number of unusable profiles, newest first, because a query contains each key

StoredRow = tuple[Any, ...]


def byte_columns() -> tuple[Expression, ...]:
    """Return the columns for `usable_arrays`: features, n, the times (first curve), and the size of all 15 curves in
    bytes."""
    raw = BinaryField()
    stored = Least(F("n_measured"), LARGEST_N) * 8
    return (
        ExpressionWrapper(F("feature_vector__values"), output_field=raw),
        ExpressionWrapper(F("curves__n"), output_field=raw),
        Substr("curves__values", 1, stored, output_field=raw),
        Length("curves__values"),
    )


@dataclass(frozen=True, eq=False)
class UsableArrays:
    """The arrays of the N usable rows of M.

    `rows` (N,) are the positions of these rows among the M, and `lengths` (N,) are their numbers of elements in the
    flat curve arrays. `faults` maps the positions of the other rows to the reason.
    """

    rows: IntArray
    features: FloatArray
    lengths: IntArray
    curve_n: IntArray
    curve_time_s: FloatArray
    faults: dict[int, str]


def usable_arrays(t1_s: FloatArray, n_measured: IntArray, stored: Sequence[StoredRow]) -> UsableArrays:
    """Return the arrays of M rows of `byte_columns`, and the reasons why some rows cannot be used."""
    faults = size_faults(n_measured, stored)
    arrays = join_arrays(t1_s, n_measured, stored, faults)
    beyond = profile_faults(t1_s[arrays.rows], arrays.features, arrays.lengths, arrays.curve_n, arrays.curve_time_s)
    if not beyond:
        return arrays
    return join_arrays(t1_s, n_measured, stored, faults | {int(arrays.rows[row]): why for row, why in beyond.items()})


def size_faults(n_measured: IntArray, stored: Sequence[StoredRow]) -> dict[int, str]:
    """Return why the bytes of a row are not the expected arrays, by position of the row."""
    # The times are null where `Substr` was applied to an empty value.
    rows = [(len(row[0]), len(row[1]), len(row[2] or b""), row[3]) for row in stored]
    features, counts, times, curves = np.array(rows, dtype=np.int64).reshape(-1, 4).T
    return first_faults(
        {
            "it has no thread count": n_measured < 1,
            f"its features are not {len(FEATURE_NAMES)} numbers": features != 8 * len(FEATURE_NAMES),
            "its curves are not as long as it has thread counts": (counts != 4 * n_measured)
            | (times != 8 * n_measured)
            | (curves != 8 * STORED_CURVES * n_measured),
        }
    )


def join_arrays(
    t1_s: FloatArray, n_measured: IntArray, stored: Sequence[StoredRow], faults: dict[int, str]
) -> UsableArrays:
    usable = [row for position, row in enumerate(stored) if position not in faults] if faults else stored
    rows = np.setdiff1d(np.arange(len(stored)), list(faults))
    return UsableArrays(
        rows=rows,
        features=np.frombuffer(b"".join(row[0] for row in usable), "<f8").reshape(-1, len(FEATURE_NAMES)),
        lengths=n_measured[rows],
        curve_n=np.frombuffer(b"".join(row[1] for row in usable), "<i4"),
        curve_time_s=np.frombuffer(b"".join(row[2] for row in usable), "<f8"),
        faults=faults,
    )


def batches(rows: Iterator[StoredRow]) -> Iterator[list[StoredRow]]:
    """Yield lists of at most ROWS_PER_BATCH rows, and one empty list if there are no rows."""
    yield list(islice(rows, ROWS_PER_BATCH))
    while batch := list(islice(rows, ROWS_PER_BATCH)):
        yield batch


def unusable_platforms(platforms: QuerySet[Platform]) -> dict[int, str]:
    """Return why no curve can be computed on a platform, by primary key. One query."""
    rows = list(platforms.order_by().values_list("pk", "slug", "n_nu", "n_ht", "n_max"))
    keys, slugs, *counts = zip(*rows, strict=True) if rows else ((),) * 5
    faults = slug_faults(slugs) | platform_faults(*(np.array(column, dtype=np.float64) for column in counts))
    return {keys[row]: why for row, why in faults.items()}


def unusable_profiles(profiles: QuerySet[Profile]) -> dict[int, str]:
    """Return why nothing can be predicted from a profile, by primary key. Two queries, which read all arrays."""
    of_platform = unusable_platforms(Platform.objects.filter(pk__in=profiles.order_by().values("platform")))
    rows = (
        profiles.filter(curves__isnull=False, feature_vector__isnull=False)
        .order_by()
        .values_list("pk", "platform_id", "t1_s", "n_measured", *byte_columns())
    )
    faults: dict[int, str] = {}
    for batch in batches(rows.iterator(chunk_size=2000)):
        faults |= _unusable_of_batch(batch, of_platform)
    return faults


def _unusable_of_batch(batch: Iterable[StoredRow], of_platform: dict[int, str]) -> dict[int, str]:
    keys, platforms, t1_s, n_measured, *stored = zip(*batch, strict=True) if batch else ((),) * 8
    found = usable_arrays(
        np.array(t1_s, dtype=np.float64), np.array(n_measured, dtype=np.int64), list(zip(*stored, strict=True))
    ).faults
    located = {
        key: of_platform[platform] for key, platform in zip(keys, platforms, strict=True) if platform in of_platform
    }
    return located | {keys[row]: why for row, why in found.items()}


def newest_unusable(profiles: QuerySet[Profile]) -> QuerySet[Profile]:
    """Return the MOST_LISTED newest of the profiles that nothing can be predicted from."""
    newest = sorted(unusable_profiles(profiles), reverse=True)
    return profiles.filter(pk__in=newest[:MOST_LISTED])


def set_why_unusable(profiles: Sequence[Any]) -> None:
    """Set `why_unusable` of each profile, "" if the profile can be used. Two queries for all profiles."""
    reasons = unusable_profiles(Profile.objects.filter(pk__in=[profile.pk for profile in profiles]))
    for profile in profiles:
        profile.why_unusable = reasons.get(profile.pk, "")
