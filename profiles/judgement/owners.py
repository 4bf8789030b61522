"""Choice of the owner that counts for a pair (a workload on a platform) that several owners measured in public.

The measurement nearest to the median of the owners counts, or the first of two owners' measurements. Measurements of
new accounts do not count if there are others, and measurements that a moderator confirmed take precedence over all. The
measurements that do not count are excluded from predictions like outliers. The column `outlier_judge` records that
another owner's measurement is the cause (docs/decisions/representative-profile.md).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, NamedTuple

import numpy as np
from django.conf import settings
from django.db.models import Exists, OuterRef, QuerySet
from django.db.models.functions import Coalesce
from django.utils import timezone

from accounts.mails import has_confirmed_address
from profiles.models import Profile
from profiles.models.querysets import key_chunks
from profiles.models.sources import OPERATOR, deliverer_of
from profiles.scaling.quality import CONFIDENCE
from profiles.scaling.runs import CurveTable, stored_curves

COMPUTED, MODERATOR = Profile.Judge.COMPUTED, Profile.Judge.MODERATOR
SECOND, DIFFERS = Profile.Judge.SECOND, Profile.Judge.DIFFERS
AGREE = 1.5  # largest factor between measurements of one pair that agree
OWNER_HALF_WIDTHS = 2.0  # half-widths of the 90 % interval from the repeats within which measurements agree
OF_ANOTHER = "another owner's measurement of the same pair is used"
OF_NEW_ACCOUNT = "uploaded from a new account; another owner's measurement of the same pair is used"

Pair = tuple[int, int]  # primary keys of platform and workload


def is_established(owner: Any) -> bool:
    """Return whether deliveries of this owner now count when others have measured the same pair.

    This holds for the operator, and for accounts with a confirmed address that are at least NEW_ACCOUNT_DAYS old. It
    holds for all owners if that setting is 0.
    """
    if deliverer_of(owner, private=False) == OPERATOR or not settings.NEW_ACCOUNT_DAYS:
        return True
    is_old = timezone.now() - owner.date_joined >= timedelta(days=settings.NEW_ACCOUNT_DAYS)
    return is_old and has_confirmed_address(owner)


def contested_pairs(profiles: QuerySet[Profile]) -> set[Pair]:
    """Return the pairs of these public profiles that more than one owner has measured."""
    same_pair = Profile.objects.filter(platform=OuterRef("platform"), workload=OuterRef("workload"))
    of_others = same_pair.exclude(source__deliverer=OuterRef("source__deliverer"))
    rows = profiles.filter(Exists(of_others.order_by()), private_to=None)
    return set(rows.order_by().values_list("platform", "workload"))


class _Row(NamedTuple):
    """A public profile of a contested pair. `since` is the time at which it became public."""

    key: int
    workload: int
    origin: str
    decomposed: bool
    n_measured: int
    standard_error: float | None
    reason: str
    judge: str
    owner: str
    source: int
    is_established: bool
    since: datetime

    @property
    def is_agreed(self) -> bool:
        return self.judge == MODERATOR and not self.reason

    @property
    def weight(self) -> tuple[bool, bool]:
        return self.is_agreed, self.is_established


COMPARED_COLUMNS = (
    *("pk", "workload", "origin", "decomposed", "n_measured", "standard_error", "outlier_reason", "outlier_judge"),
    *("source__deliverer", "source", "source__is_established", "since"),
)


@dataclass(frozen=True, eq=False)
class Measurement:
    """One owner's measurement of a pair. `since` is the time at which it first became public, and the source."""

    row: _Row
    since: tuple[datetime, int]
    curves: CurveTable


OwnersKind = tuple[str, bool]  # the owner, and whether the profile is decomposed
OwnerVerdict = tuple[str, str]  # the reason and the judge's code, both empty if the measurement counts
COUNTS: OwnerVerdict = ("", "")


def judge_pairs(pairs: Iterable[Pair]) -> set[int]:
    """Determine which owner's measurement counts for each of these pairs, in the caller's transaction.

    Returns the primary keys of the profiles that entered or left predictions.
    """
    changed: dict[OwnerVerdict, list[int]] = defaultdict(list)
    moved = set()
    for contested in _rows_of_pairs(pairs):
        chosen = [_measured_by_owners(rows) for rows in contested]
        curves = _curves_of([row.key for rows in chosen for row, _ in rows])
        for rows, of_owners in zip(contested, chosen, strict=True):
            measurements = [Measurement(row, since, curves[row.key]) for row, since in of_owners if row.key in curves]
            verdicts = judge_pair(measurements) if measurements else {}
            for row in rows:
                verdict = verdicts.get((row.owner, row.decomposed), COUNTS)
                if not row.is_agreed and verdict != (row.reason, row.judge):
                    changed[verdict].append(row.key)
                    moved |= {row.key} if bool(verdict[0]) != bool(row.reason) else set()
    for (reason, judge), keys in changed.items():
        for part in key_chunks(keys):
            Profile.objects.filter(pk__in=part).update(outlier_reason=reason, outlier_judge=judge)
    return moved


def _rows_of_pairs(pairs: Iterable[Pair]) -> Iterator[list[list[_Row]]]:
    """Yield the profiles of each pair and origin in batches, without outliers for other reasons."""
    workloads: dict[int, list[int]] = defaultdict(list)
    for platform, workload in sorted(set(pairs)):
        workloads[platform].append(workload)
    shown = Profile.objects.filter(hidden=False, private_to=None).order_by("pk")
    shown = shown.annotate(since=Coalesce("source__published_at", "source__created_at"))
    for platform, keys in workloads.items():
        for part in key_chunks(keys):
            of_pair: dict[tuple[int, str], list[_Row]] = defaultdict(list)
            for row in map(
                _Row._make, shown.filter(platform=platform, workload__in=part).values_list(*COMPARED_COLUMNS)
            ):
                if row.is_agreed or row.judge in ("", SECOND, DIFFERS):
                    of_pair[row.workload, row.origin].append(row)
            yield list(of_pair.values())


def _measured_by_owners(rows: Sequence[_Row]) -> list[tuple[_Row, tuple[datetime, int]]]:
    """Return the best row of each owner and kind (decomposed or not), each with the time and the source with which its
    owner first published a row of that weight. The list is empty if there is only one owner.

    The best row is chosen by weight, then most thread counts, then newest, so that repeated uploads add no work for
    others.
    """
    of_kind: dict[OwnersKind, list[_Row]] = defaultdict(list)
    for row in rows:
        of_kind[row.owner, row.decomposed].append(row)
    if len({owner for owner, _ in of_kind}) < 2:
        return []
    chosen = []
    for measurements in of_kind.values():
        best = max(measurements, key=lambda row: (row.weight, row.n_measured, row.key))
        chosen.append((best, min((row.since, row.source) for row in measurements if row.weight == best.weight)))
    return chosen


def _curves_of(keys: Sequence[int]) -> dict[int, CurveTable]:
    """Return the usable curves of these profiles by primary key."""
    curves = {}
    for part in key_chunks(keys):
        for profile in Profile.objects.filter(pk__in=part).select_related("curves"):
            stored = stored_curves(profile)
            if stored is not None:
                curves[profile.pk] = stored
    return curves


def judge_pair(measurements: Sequence[Measurement]) -> dict[OwnersKind, OwnerVerdict]:
    """Return the verdicts on the measurements of a pair that do not count.

    Decomposed profiles and others do not replace each other, but have to agree.
    """
    counting = counting_measurement(measurements)
    verdicts: dict[OwnersKind, OwnerVerdict] = {}
    for one in measurements:
        factor = _factor_beyond(one, counting)
        if one.row.owner != counting.row.owner and factor:
            reason = f"{factor:.3g} times the time of another owner's measurement of the same pair"
            verdicts[one.row.owner, one.row.decomposed] = (reason, str(DIFFERS))
    for decomposed in (False, True):
        kinds = {(one.row.owner, decomposed): one for one in measurements if one.row.decomposed == decomposed}
        unjudged = [one for kind, one in kinds.items() if kind not in verdicts]
        owners = {one.row.owner for one in unjudged}
        if len(owners) < 2:
            continue
        owner = counting.row.owner if counting.row.owner in owners else counting_measurement(unjudged).row.owner
        for one in unjudged:
            if one.row.owner != owner:
                reason = OF_ANOTHER if one.row.is_established else OF_NEW_ACCOUNT
                verdicts[one.row.owner, decomposed] = (reason, str(SECOND))
    return verdicts


def counting_measurement(measurements: Sequence[Measurement]) -> Measurement:
    """Return the one of these measurements of a pair that counts. Each owner has one vote."""
    agreed = [one for one in measurements if one.row.is_agreed]
    established = [one for one in measurements if one.row.is_established]
    votes: dict[str, Measurement] = {}  # by owner, in the order of the owners' first measurements
    for one in sorted(agreed or established or measurements, key=lambda one: one.since):
        votes[one.row.owner] = max(
            one, votes.get(one.row.owner, one), key=lambda measured: (measured.row.n_measured, measured.row.key)
        )
    voting = list(votes.values())
    if len(voting) < 3 or not (agreed or established):  # new accounts are no majority
        return voting[0]
    # The sum of distances is least at the median. Rounding makes equal sums identical, so that the first one counts.
    sums = [round(sum(abs(mean_log_ratio(one, other)) for other in voting), 9) for one in voting]
    return voting[sums.index(min(sums))]


def mean_log_ratio(one: Measurement, other: Measurement) -> float:
    """Return the mean of ln(t / t_other) over the common n, else that of t(1), or 0 if neither is known."""
    a, b = one.curves, other.curves
    _, places, other_places = np.intersect1d(a.n, b.n, return_indices=True)
    ratios = np.log(a.time_s[places] / b.time_s[other_places]) if len(places) else np.log(np.array([a.t1_s / b.t1_s]))
    ratios = ratios[np.isfinite(ratios)]
    return float(ratios.mean()) if len(ratios) else 0.0


def _factor_beyond(one: Measurement, counting: Measurement) -> float:
    """Return the factor between the time of a measurement and of the one that counts, or 0 if they agree."""
    ratio = mean_log_ratio(one, counting)
    half_width = CONFIDENCE * (counting.row.standard_error or 0.0)
    return float(np.exp(ratio)) if abs(ratio) > max(np.log(AGREE), OWNER_HALF_WIDTHS * half_width) else 0.0
