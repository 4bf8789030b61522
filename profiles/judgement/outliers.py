"""Outliers: reasons why profiles are doubtful by themselves or among measurements of the same pair, and stored
verdicts."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from django.db import transaction
from django.db.models import QuerySet

from profiles.judgement.owners import AGREE, COMPUTED, MODERATOR, contested_pairs, judge_pairs
from profiles.models import Profile, Revision, Source
from profiles.models.querysets import PROFILES_PER_QUERY
from profiles.models.sources import OPERATOR
from profiles.scaling.wording import whole_percent

WORST_FIT = 5.0  # mean relative error of the t(n) that the fit gives: 500 %
QUIET_REPEATS = 0.2  # largest standard error of ln t(n) at which noise does not explain a bad fit
CONTRADICT = 3.0  # factor between contradicting measurements of one pair
FEWEST_OTHER_MEASUREMENTS = 2
LONGEST_REASON = Profile._meta.get_field("outlier_reason").max_length


def profiles_to_judge(*, again: bool = False) -> QuerySet[Profile]:
    """Return the profiles without a verdict, or with `again` all profiles except those that moderators decided on.

    Computed outliers are always judged again, because new measurements may agree with them.
    """
    rows = Profile.objects.filter(hidden=False).exclude(origin="emulated").exclude(outlier_judge=MODERATOR)
    return rows if again else rows.filter(outlier_checked_at=None) | rows.filter(outlier_judge=COMPUTED)


def own_reasons(profiles: Sequence[Profile]) -> dict[int, str]:
    """Return why profiles are doubtful without a prediction, by primary key."""
    reasons: dict[int, str] = {}
    for start in range(0, len(profiles), PROFILES_PER_QUERY):
        chunk = profiles[start : start + PROFILES_PER_QUERY]
        for profile in chunk:
            is_quiet = profile.standard_error is not None and profile.standard_error <= QUIET_REPEATS
            fit_error = profile.fit_error or 0.0
            if is_quiet and fit_error > WORST_FIT:
                reasons[profile.pk] = f"the scaling curves do not fit: {whole_percent(fit_error)} fit error"
        reasons |= pair_contradictions(chunk)
    return reasons


def pair_contradictions(profiles: Sequence[Profile]) -> dict[int, str]:
    """Return why profiles contradict several other measurements of the same pair that agree with each other.

    Each other owner has one vote, and new accounts have none, so that nobody gains votes by creating accounts.
    """
    pairs = {(profile.platform_id, profile.workload_id) for profile in profiles}
    platforms, workloads = {pair[0] for pair in pairs}, {pair[1] for pair in pairs}
    times: dict[tuple[int, int], list[tuple[int, str, float]]] = defaultdict(list)
    rows = Profile.objects.filter(platform__in=platforms, workload__in=workloads, private_to=None, hidden=False)
    comparable = rows.filter(source__is_established=True).exclude(origin="emulated").order_by("pk")
    measured = comparable.values_list("platform", "workload", "pk", "source__deliverer", "t1_s")
    for platform, workload, key, owner, t1_s in measured:
        if t1_s is not None:
            times[platform, workload].append((key, owner, t1_s))
    deliverers = dict(Source.objects.filter(profiles__in=profiles).values_list("pk", "deliverer"))
    reasons = {}
    for profile in profiles:
        deliverer = deliverers.get(profile.source_id)
        # A user's measurements are not compared with each other. The operator's are, because the operator imports
        # measurements of different people.
        others = {
            key if owner == deliverer else owner: t
            for key, owner, t in times[profile.platform_id, profile.workload_id]
            if key != profile.pk and (owner != deliverer or deliverer == OPERATOR)
        }
        seconds = list(others.values())
        if profile.t1_s is None or len(seconds) < FEWEST_OTHER_MEASUREMENTS or max(seconds) > AGREE * min(seconds):
            continue
        factor = profile.t1_s / float(np.median(seconds))
        if max(factor, 1 / factor) > CONTRADICT:
            reasons[profile.pk] = f"{factor:.3g} times the time of {len(seconds)} other measurements of the same pair"
    return reasons


@transaction.atomic
def keep_verdicts(profiles: Iterable[Profile], reasons: Mapping[int, str], revision: int) -> int:
    """Store the computed verdicts of profiles that no moderator judged, and return the number of changed verdicts.

    For the pairs of these profiles, the owner that counts is determined again.
    """
    Revision.hold()
    changed: dict[Any, list[int]] = defaultdict(list)
    rows = list(profiles)
    now = Profile.objects.in_bulk([profile.pk for profile in rows])
    stored = []
    for profile in rows:
        row = now.get(profile.pk)
        if row is None or row.outlier_judge == MODERATOR:
            continue
        reason = reasons.get(row.pk, "")[:LONGEST_REASON]
        if bool(reason) != (row.outlier_judge == COMPUTED):
            changed[row.private_to].append(row.pk)
        if reason or row.outlier_judge == COMPUTED:
            row.outlier_reason, row.outlier_judge = reason, COMPUTED if reason else ""
        row.outlier_checked_at = revision
        stored.append(row)
    Profile.objects.bulk_update(
        stored, ["outlier_reason", "outlier_judge", "outlier_checked_at"], batch_size=PROFILES_PER_QUERY
    )
    for owner, keys in changed.items():
        pairs = judge_pairs(contested_pairs(Profile.objects.filter(pk__in=keys)))
        judged = sorted({*keys, *pairs}) if owner is None else ()
        Revision.raise_for(owner, judged=judged, takes_away=False)
    return sum(map(len, changed.values()))


@transaction.atomic
def judge_all_pairs() -> int:
    """Determine again which owner's measurement counts, for all pairs that several owners measured.

    Returns the number of profiles that entered or left predictions.
    """
    Revision.hold()
    changed = judge_pairs(contested_pairs(Profile.objects.all()))
    if changed:
        Revision.raise_for(None, judged=sorted(changed))
    return len(changed)
