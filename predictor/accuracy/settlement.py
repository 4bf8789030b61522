"""Settlement of stored predictions: their errors against later measurements of the same pair, and the track record.

The stored answer never changes. A private measurement settles only private predictions of its owner, because the error
of a public prediction would reveal the measured times.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, TypeAlias

import numpy as np
from django.db.models import Q, QuerySet
from django.utils import timezone

from predictor.core.assembly import PREDICTION_ORIGINS
from predictor.models import Prediction
from profiles.models import Platform, Profile, Source
from profiles.scaling.runs import stored_curves

SETTLED_ORDERINGS = {
    "settled_at": "settled_at",
    "created_at": "created_at",
    "workload": "workload",
    "target": "target",
    "method": "method",
    "error": "error_full",
    "t1_error": "error_t1",
    "scaling_error": "error_scaling",
}

# Two runs of a parallel program never agree to better than one part in a thousand.
LEAST_SCATTER = 1e-3
PREDICTIONS_AT_ONCE = 200  # predictions and their answers in memory at the same time
SETTLED_COLUMNS = (
    *("settled_at", "settled_by", "settled_origin", "is_blind", "doubt"),
    *("error_full", "error_t1", "error_scaling", "points", "points_inside"),
)


def compare_with_measured(answer: dict[str, Any], n: np.ndarray, time_s: np.ndarray) -> dict[str, Any]:
    """Return the columns of a prediction with the errors of its answer document against a measured curve, over the
    thread counts that both have.

        error_full: mean |t_pred - t| / t;    error_t1: of t(1) alone;    error_scaling: of t(n) / t(least common n)

    Errors are relative (1 = 100 %), or None if there is nothing to compare. `points_inside` of `points` measured times
    lie inside the interval.

    >>> answer = {"t1_s": 12.0, "curve": [{"n": n, "time_s": 12 / n, "low_s": 9 / n, "high_s": 15 / n,
    ...           "speedup": n} for n in (1, 2)]}
    >>> compare_with_measured(answer, np.array([1, 2, 4]), np.array([10.0, 5.0, 2.0]))
    {'error_full': 0.2, 'error_t1': 0.2, 'error_scaling': 0.0, 'points': 2, 'points_inside': 2}
    """
    points = {point["n"]: point for point in answer["curve"]}
    common = [(points[count], t) for count, t in zip(n.tolist(), time_s.tolist(), strict=True) if count in points]
    timed = [(point["time_s"], t) for point, t in common if point["time_s"] is not None]
    sped = [(1 / point["speedup"], t) for point, t in common if point["speedup"]]
    banded = [(point, t) for point, t in common if point["low_s"] is not None and point["high_s"] is not None]
    t1 = [(answer["t1_s"], t) for count, t in zip(n.tolist(), time_s.tolist(), strict=True) if count == 1]
    return {
        "error_full": _mean_error(timed),
        "error_t1": _mean_error([pair for pair in t1 if pair[0] is not None]),
        "error_scaling": _mean_error([(p / sped[0][0], t / sped[0][1]) for p, t in sped]) if len(sped) > 1 else None,
        "points": len(banded),
        "points_inside": sum(point["low_s"] <= t <= point["high_s"] for point, t in banded),
    }


def _mean_error(pairs: Iterable[tuple[float, float]]) -> float | None:
    errors = [abs(predicted - measured) / measured for predicted, measured in pairs]
    return float(np.mean(errors)) if errors else None


def settle_delivery(source: Source) -> int:
    """Settle the predictions of the pairs in a delivery. Return the number of settled predictions."""
    return _settle_by(source.profiles.all())


def settle_merged(platform: Platform) -> int:
    """Settle the predictions for the slugs of a platform and of those that were merged into it. Return their number.

    The deliveries are processed in order of arrival, and the first one that may settle a prediction settles it.
    """
    deliveries = Source.objects.filter(profiles__platform=platform).distinct().order_by("created_at", "pk")
    return sum(_settle_by(delivery.profiles.filter(platform=platform)) for delivery in deliveries)


def unsettle_separated(platforms: Iterable[Platform]) -> set[tuple[str, str]]:
    """Undo settlements by profiles of a platform other than the target. They arise when merged platforms are separated.

    Return the pairs of workload and target.
    """
    pairs: set[tuple[str, str]] = set()
    for key, slugs in known_slugs(platforms).items():
        pairs |= unsettle(Prediction.objects.filter(settled_by__platform=key).exclude(target__in=slugs))
    return pairs


def unsettle(settled: QuerySet[Prediction]) -> set[tuple[str, str]]:
    """Undo the settlements of these predictions. Return their pairs of workload and target."""
    pairs = set(settled.order_by().values_list("workload", "target").distinct())
    unsettled: dict[str, Any] = dict.fromkeys(SETTLED_COLUMNS)
    settled.update(**unsettled | {"settled_origin": "", "is_blind": False, "doubt": ""})
    return pairs


def settle_pairs(pairs: Iterable[tuple[str, str]]) -> int:
    """Settle the open predictions of these workloads and targets with the stored profiles. Return their number."""
    return sum(_settle_pair(workload, target) for workload, target in sorted(pairs))


def _settle_pair(workload: str, target: str) -> int:
    platforms = Platform.objects.filter(slug=target)
    named = Q(platform__in=platforms) | Q(platform__in=platforms.exclude(merged_into=None).values("merged_into"))
    profiles = Profile.objects.filter(named, workload__slug=workload)
    deliveries = Source.objects.filter(pk__in=profiles.order_by().values("source")).order_by("created_at", "pk")
    return sum(_settle_by(profiles.filter(source=delivery)) for delivery in deliveries)


def _settle_by(profiles: QuerySet[Profile]) -> int:
    """Settle predictions with the given profiles. Only profiles of workloads with open predictions are read."""
    predicted = Prediction.objects.to_settle().order_by().values("workload")
    is_sound = Q(outlier_reason="") | Q(outlier_judge=Profile.Judge.SECOND)
    standing = profiles.filter(
        is_sound, hidden=False, source__origin__in=PREDICTION_ORIGINS, workload__slug__in=predicted
    )
    related = ("platform", "workload", "curves", "source__owner")
    return sum(settle_predictions(batch) for batch in _batches(standing.select_related(*related)))


def settle_predictions(profiles: Sequence[Profile]) -> int:
    """Settle the open predictions of these profiles' pairs. Return the number of settled predictions."""
    slugs = known_slugs(profile.platform for profile in profiles)
    of_pair = {(profile.workload.slug, slug): profile for profile in profiles for slug in slugs[profile.platform_id]}
    count = 0
    for batch in _batches(predictions_to_settle(profiles, slugs)):
        done = []
        for prediction in batch:
            profile = of_pair.get((prediction.workload, prediction.target))
            if profile is not None and may_settle(profile, prediction) and _fill(prediction, profile):
                done.append(prediction)
        Prediction.objects.bulk_update(done, SETTLED_COLUMNS)
        count += len(done)
    return count


def predictions_to_settle(profiles: Sequence[Profile], slugs: Mapping[int | None, set[str]]) -> QuerySet[Prediction]:
    """Return the open predictions of the profiles' workloads and targets.

    A private profile matches only private predictions of its owner. `slugs` is the result of `known_slugs`.
    """
    owners: dict[Any, list[Profile]] = defaultdict(list)
    for profile in profiles:
        owners[profile.private_to_id].append(profile)
    wanted = Q(pk__in=[])
    for owner, members in owners.items():
        targets = {slug for profile in members for slug in slugs[profile.platform_id]}
        pairs = Q(workload__in={profile.workload.slug for profile in members}, target__in=targets)
        wanted |= pairs & (Q() if owner is None else Q(private_to=owner))
    return Prediction.objects.to_settle().filter(wanted)


def known_slugs(platforms: Iterable[Platform]) -> dict[int | None, set[str]]:
    """Return the current and former slugs of each platform: its own, and those of platforms that were merged into
    it."""
    slugs: dict[int | None, set[str]] = {platform.pk: {platform.slug} for platform in platforms}
    for platform, slug in Platform.objects.filter(merged_into__in=list(slugs)).values_list("merged_into", "slug"):
        slugs[platform].add(slug)
    return slugs


def may_settle(profile: Profile, prediction: Prediction) -> bool:
    """Return whether the profile may settle the prediction.

    What-if predictions and predictions that are newer than the profile are never settled. A simulated profile settles
    only predictions from simulated profiles.
    """
    answer = prediction.answer
    if answer.get("workload_changes") or answer.get("platform_changes") or prediction.created_at > profile.created_at:
        return False
    if profile.private_to_id is not None and prediction.private_to_id != profile.private_to_id:
        return False
    return profile.origin == "measured" or (profile.origin == "simulated" and bool(answer["simulated"]))


def _fill(prediction: Prediction, profile: Profile) -> bool:
    """Write the settlement to the columns of the prediction, and return whether it was written.

    It is not written if both have no thread count in common, or if the prediction is already settled and this
    measurement would not count for the track record.
    """
    curves = stored_curves(profile)
    if curves is None:
        return False
    compared = compare_with_measured(prediction.answer, curves.n, curves.time_s)
    if all(compared[name] is None for name in ("error_full", "error_t1", "error_scaling")):
        return False
    was_unknown = prediction.answer["measured"] is None and not _was_known_by_another_slug(prediction, profile)
    error = compared["error_scaling"] if compared["error_full"] is None else compared["error_full"]
    doubt = doubt_about(profile, prediction, error) if was_unknown else ""
    if prediction.is_settled and (doubt or not was_unknown):
        return False
    prediction.settled_at, prediction.settled_by, prediction.settled_origin = timezone.now(), profile, profile.origin
    prediction.is_blind, prediction.doubt = was_unknown and not doubt, doubt
    for name, value in compared.items():
        setattr(prediction, name, value)
    return True


def doubt_about(profile: Profile, prediction: Prediction, error: float | None) -> str:
    """Return the reason to doubt that the measurement is independent of the prediction, or "" if there is none.

    Private measurements are never doubted, because only their owner sees the result.
    """
    if profile.private_to_id is not None:
        return ""
    source = profile.source
    predictions = Prediction.objects.filter(
        workload=prediction.workload, target__in=known_slugs([profile.platform])[profile.platform_id]
    )
    if source.owner is not None and predictions.asked_by(source.owner).exists():
        return str(Prediction.Doubt.ASKED)
    if not source.is_established:
        return str(Prediction.Doubt.NEW_ACCOUNT)
    scatter = max(profile.standard_error or 0.0, LEAST_SCATTER)
    is_too_close = error is not None and error < scatter
    return str(Prediction.Doubt.TOO_CLOSE) if is_too_close else ""


def _was_known_by_another_slug(prediction: Prediction, profile: Profile) -> bool:
    """Return whether the pair was already measured on a platform that the target was merged into.

    The user who asked for the prediction may have known that measurement.
    """
    if prediction.target == profile.platform.slug:
        return False
    earlier = Profile.objects.candidates_for(prediction.private_to)
    earlier = earlier.filter(platform=profile.platform_id, workload=profile.workload_id)
    return earlier.filter(created_at__lt=prediction.created_at).exists()


def _batches(rows: QuerySet[Any]) -> Iterable[list[Any]]:
    keys = list(rows.order_by("pk").values_list("pk", flat=True))
    for start in range(0, len(keys), PREDICTIONS_AT_ONCE):
        yield list(rows.filter(pk__in=keys[start : start + PREDICTIONS_AT_ONCE]))


@dataclass(frozen=True)
class Score:
    """The track record of one version of a method on blind predictions. Errors are in percent, and the coverage is a
    share.

    Each owner of measurements has the same weight for any number of measured pairs: the mean error and the coverage are
    means over the owners, and the median error is the median over the owners' medians.
    """

    method: str
    method_version: str
    count: Annotated[int, "Number of blind predictions that were validated by a measurement."]
    owners: Annotated[int, "Number of owners who measured them. Each owner has the same weight."]
    mean_error_percent: Annotated[float | None, "Mean over the owners of their mean errors."]
    median_error_percent: Annotated[float | None, "Median over the owners of their median errors."]
    coverage: Annotated[
        float | None,
        "Share of the measured times inside the interval, as the mean over the owners; null if there is no interval.",
    ]
    points: int


# The error, the number of points with an interval, and the number of points inside it.
Settled: TypeAlias = tuple[float | None, int, int]


def scores(user: Any, origin: str) -> list[Score]:
    """Return the score of each method and version over the blind predictions that the user sees, by name and
    version."""
    rows = Prediction.objects.settled_for(user, origin).filter(is_blind=True).order_by("method", "method_version")
    groups: dict[tuple[str, str], dict[str, list[Settled]]] = defaultdict(lambda: defaultdict(list))
    columns = (
        *("method", "method_version", "settled_by__source__deliverer"),
        *("error_full", "error_scaling", "points", "points_inside"),
    )
    for method, version, owner, full, scaling, points, inside in rows.values_list(*columns):
        groups[method, version][owner or ""].append((scaling if full is None else full, points or 0, inside or 0))
    return [_score(method, version, list(owners.values())) for (method, version), owners in groups.items()]


def _score(method: str, version: str, owners: Sequence[Sequence[Settled]]) -> Score:
    errors = [errors for rows in owners if (errors := [100 * error for error, _, _ in rows if error is not None])]
    points = [sum(count for _, count, _ in rows) for rows in owners]
    shares = [sum(inside for _, _, inside in rows) / count for rows, count in zip(owners, points, strict=True) if count]
    return Score(
        method=method,
        method_version=version,
        count=sum(map(len, owners)),
        owners=len(owners),
        mean_error_percent=float(np.mean([np.mean(rows) for rows in errors])) if errors else None,
        median_error_percent=float(np.median([np.median(rows) for rows in errors])) if errors else None,
        coverage=float(np.mean(shares)) if shares else None,
        points=sum(points),
    )
