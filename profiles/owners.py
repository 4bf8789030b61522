"""Whose measurement counts for a pair, a workload on a platform, that several owners measured in public.

It is the one nearest the median of the owners; of two owners the first one's. What new accounts measure does not count
beside others, and what a moderator let stand counts before all. The measurements that do not count are kept out of
predictions as outliers are: the column `outlier_judge` says that their owners are the cause
(docs/decisions/representative-profile.md).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import numpy as np
from django.conf import settings
from django.db.models import Exists, OuterRef, QuerySet
from django.db.models.functions import Coalesce
from django.utils import timezone

from accounts.addresses import has_confirmed_address
from profiles.arrays import FloatArray, IntArray
from profiles.facts import OPERATOR, deliverer_of
from profiles.matching import key_chunks
from profiles.models import Profile
from profiles.querysets import LONG_TEXTS_OF_SOURCE
from profiles.quality import CONFIDENCE
from profiles.scaling.runs import CurveTable
from profiles.stored import stored_curves

COMPUTED, MODERATOR = Profile.Judge.COMPUTED, Profile.Judge.MODERATOR
SECOND, DIFFERS = Profile.Judge.SECOND, Profile.Judge.DIFFERS
AGREE = 1.5  # factor between measurements of one pair
HALF_WIDTHS_BEYOND = 2.0  # of the 90 % interval that the repeats give
OF_ANOTHER = "another owner's measurement of the same pair counts"
OF_NEW_ACCOUNT = "it came from a new account, and another owner's measurement of the same pair counts"

Pair = tuple[int, int]  # primary keys of platform and workload


def is_established(owner: Any) -> bool:
    """Whether what this owner delivers now counts beside what others measured: the operator's does, and that of an
    account with a confirmed address which is older than the setting says."""
    if deliverer_of(owner, private=False) == OPERATOR or not settings.NEW_ACCOUNT_DAYS:
        return True
    is_old = timezone.now() - owner.date_joined >= timedelta(days=settings.NEW_ACCOUNT_DAYS)
    return is_old and has_confirmed_address(owner)


def contested_pairs(profiles: QuerySet[Profile]) -> set[Pair]:
    """The pairs of these public profiles that more than one owner has measured."""
    same_pair = Profile.objects.filter(platform=OuterRef("platform"), workload=OuterRef("workload"))
    of_others = same_pair.exclude(source__deliverer=OuterRef("source__deliverer"))
    rows = profiles.filter(Exists(of_others.order_by()), private_to=None)
    return set(rows.order_by().values_list("platform", "workload"))


@dataclass(frozen=True, eq=False)
class Measurement:
    """A public profile beside others of its pair. `since`: when it became public, and its delivery."""

    key: int
    owner: str
    since: tuple[datetime, int]
    is_established: bool
    is_agreed: bool  # by a moderator
    decomposed: bool
    n_measured: int
    standard_error: float  # NaN: nothing was repeated
    n: IntArray
    time_s: FloatArray
    t1_s: float
    reason: str
    judge: str


def judge_pairs(pairs: Iterable[Pair]) -> set[int]:
    """Decide whose measurement of each of these pairs counts, in the caller's transaction; the primary keys of the
    profiles that came into predictions or went out."""
    changed: dict[tuple[str, str], list[int]] = defaultdict(list)
    moved = set()
    for measurements in _measurements_by_pair(pairs):
        verdicts = judge_pair(measurements)
        for one in measurements:
            verdict = verdicts.get(one.key, ("", ""))
            if not one.is_agreed and verdict != (one.reason, one.judge):
                changed[verdict].append(one.key)
                moved |= {one.key} if bool(verdict[0]) != bool(one.reason) else set()
    for (reason, judge), keys in changed.items():
        for part in key_chunks(keys):
            Profile.objects.filter(pk__in=part).update(outlier_reason=reason, outlier_judge=judge)
    return moved


def _measurements_by_pair(pairs: Iterable[Pair]) -> Iterator[list[Measurement]]:
    """The measurements of each pair and origin, but for outliers on other grounds and what cannot be computed with."""
    workloads: dict[int, list[int]] = defaultdict(list)
    for platform, workload in sorted(set(pairs)):
        workloads[platform].append(workload)
    shown = Profile.objects.filter(hidden=False, private_to=None).select_related("source", "curves")
    rows = shown.defer(*LONG_TEXTS_OF_SOURCE).annotate(since=Coalesce("source__published_at", "source__created_at"))
    for platform, keys in workloads.items():
        for part in key_chunks(keys):
            of_pair: dict[tuple[int, str], list[Measurement]] = defaultdict(list)
            for row in rows.filter(platform=platform, workload__in=part).order_by("pk"):
                is_agreed = row.outlier_judge == MODERATOR and not row.outlier_reason
                curves = stored_curves(row) if is_agreed or row.outlier_judge in ("", SECOND, DIFFERS) else None
                if curves is not None:
                    of_pair[row.workload_id, row.origin].append(_measurement(row, curves, is_agreed))
            yield from of_pair.values()


def _measurement(row: Any, curves: CurveTable, is_agreed: bool) -> Measurement:
    return Measurement(
        key=row.pk,
        owner=row.source.deliverer,
        since=(row.since, row.source_id),
        is_established=row.source.is_established,
        is_agreed=is_agreed,
        decomposed=row.decomposed,
        n_measured=row.n_measured,
        standard_error=np.nan if row.standard_error is None else row.standard_error,
        n=curves.n,
        time_s=curves.time_s,
        t1_s=curves.t1_s,
        reason=row.outlier_reason,
        judge=row.outlier_judge,
    )


def judge_pair(measurements: Sequence[Measurement]) -> dict[int, tuple[str, str]]:
    """By primary key of each measurement that does not count: why, and the code of the judge. Decomposed profiles and
    others are no alternatives to each other, but have to agree."""
    counting = counting_measurement(measurements)
    verdicts = {
        one.key: (f"{factor:.3g} times the time of another owner's measurement of the same pair", str(DIFFERS))
        for one in measurements
        if one.owner != counting.owner and (factor := _factor_beyond(one, counting))
    }
    for decomposed in (False, True):
        alike = [one for one in measurements if one.decomposed == decomposed and one.key not in verdicts]
        owners = {one.owner for one in alike}
        owner = counting.owner if counting.owner in owners or not owners else counting_measurement(alike).owner
        for one in alike:
            if one.owner != owner:
                verdicts[one.key] = (OF_ANOTHER if one.is_established else OF_NEW_ACCOUNT, str(SECOND))
    return verdicts


def counting_measurement(measurements: Sequence[Measurement]) -> Measurement:
    """The one that counts of one or more measurements of a pair. Each owner has one vote: the measurement with the most
    thread counts, then the newest."""
    agreed = [one for one in measurements if one.is_agreed]
    established = [one for one in measurements if one.is_established]
    votes: dict[str, Measurement] = {}  # by owner, in the order in which the owners came
    for one in sorted(agreed or established or measurements, key=lambda one: one.since):
        other = votes.get(one.owner, one)
        votes[one.owner] = max(one, other, key=lambda own: (own.n_measured, own.key))
    voting = list(votes.values())
    if len(voting) < 3 or not (agreed or established):  # new accounts are no majority
        return voting[0]
    # The sum of distances is least at the median. What differs by rounding alone is equal: the first one counts.
    sums = [round(sum(abs(mean_log_ratio(one, other)) for other in voting), 9) for one in voting]
    return voting[sums.index(min(sums))]


def mean_log_ratio(one: Measurement, other: Measurement) -> float:
    """The mean of ln t / t_other over the n that both have, else that of t(1); 0 where there is neither."""
    _, own_places, other_places = np.intersect1d(one.n, other.n, return_indices=True)
    ratios = np.log(one.time_s[own_places] / other.time_s[other_places])
    ratios = ratios[np.isfinite(ratios)] if len(ratios) else np.log(np.array([one.t1_s / other.t1_s]))
    return float(np.nan_to_num(ratios.mean())) if len(ratios) else 0.0


def _factor_beyond(one: Measurement, standard: Measurement) -> float:
    """How many times the standard's time a measurement takes, where that is beyond the standard's interval; else 0."""
    ratio = mean_log_ratio(one, standard)
    half_width = CONFIDENCE * float(np.nan_to_num(standard.standard_error))
    return float(np.exp(ratio)) if abs(ratio) > max(np.log(AGREE), HALF_WIDTHS_BEYOND * half_width) else 0.0
