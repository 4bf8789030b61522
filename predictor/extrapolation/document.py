"""Extrapolation of one profile with scaling models to thread counts and input sizes that were not measured."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from mpet_site.web.plain_json import nan_to_null
from predictor.core.answers import LARGEST_THREAD_COUNT
from predictor.extrapolation.fits import (
    error_at_larger_sizes,
    fitted_answer,
    measured_runs,
    parallel_quality,
    points_over_sizes,
    request_for_profile,
)
from predictor.extrapolation.questions import ExtrapolationQuestion, FitRequest
from predictor.scaling_models.measured import MeasuredPoints
from predictor.scaling_models.registry import SCALING_MODELS
from profiles.models import Profile, Run
from profiles.scaling.runs import stored_curves

INTERVAL_LEVEL = 0.9
MOST_COUNTS_BEYOND = 40  # maximum number of thread counts to predict
SIZES_BEYOND = (1.25, 1.5, 2.0, 3.0, 4.0)  # factors on the largest measured size
SIZE_MODELS: tuple[tuple[str, dict[str, Any]], ...] = (
    *(("extended_amdahl", {"degree": degree, "errors": "relative"}) for degree in (1, 2, 3)),
    ("task_graph", {}),
    ("parallel_penalty", {"over": "size", "epsilon": 0.25}),
)
# The serial fraction counts as constant if the medians of the lower and upper half of n differ by at most this share.
CONSTANT_WITHIN = 0.2


def extrapolation_document(profile: Profile, user: Any, question: ExtrapolationQuestion) -> dict[str, Any]:
    """Return the document of the page and of its JSON API. `refusal` is the reason if a model cannot be fitted."""
    curves = stored_curves(profile)
    n = curves.thinned.n.tolist() if curves else []
    time_s = curves.thinned.time_s.tolist() if curves else []
    points = [{"n": count, "time_s": seconds} for count, seconds in zip(n, time_s, strict=True)]
    new_points = []
    if n:
        farthest = question.to or min(max(2 * n[-1], profile.platform.n_max), LARGEST_THREAD_COUNT)
        new_points = [{"n": count} for count in counts_beyond(n, farthest)]
    quality = parallel_quality(points)
    document: dict[str, Any] = {
        "profile": str(profile.uid),
        "workload": profile.workload.slug,
        "platform": profile.platform.slug,
        "origin": profile.origin,
        "time_kind": profile.workload.time_kind,
        "t1_s": profile.t1_s,
        "level": INTERVAL_LEVEL,
        "measured": points,
        "models": [model_document(profile, user, name, new_points) for name in question.models] if points else [],
        "quality": quality,
        "reading": serial_fraction_sentence(quality),
        "sizes": sizes_document(profile),
    }
    cleaned: dict[str, Any] = nan_to_null(document)
    return cleaned


def counts_beyond(n: Sequence[int], to: int) -> list[int]:
    """Return evenly spaced thread counts above the largest measured one.

    >>> counts_beyond([1, 2], 5), counts_beyond([1, 8], 4)
    ([3, 4, 5], [])
    """
    last = n[-1]
    return (
        np.unique(np.linspace(last + 1, to, min(to - last, MOST_COUNTS_BEYOND)).round().astype(int)).tolist()
        if to > last
        else []
    )


def model_document(profile: Profile, user: Any, name: str, new_points: list[dict[str, Any]]) -> dict[str, Any]:
    part = {"model": name, "title": SCALING_MODELS[name].title, "refusal": ""}
    values = {"model": name, "predict": new_points, "settings": {}, "level": INTERVAL_LEVEL, "companions": "all"}
    try:
        answer = fitted_answer(request_for_profile(profile, user, values))
    except ValueError as error:
        return (
            part
            | {"refusal": str(error)}
            | dict.fromkeys(("parameters", "points", "predictions", "reasons"), ())
            | {"no_interval": ""}
        )
    return part | {name: answer[name] for name in ("parameters", "points", "predictions", "reasons", "no_interval")}


def serial_fraction_sentence(quality: Sequence[dict[str, Any]]) -> str:
    """Return a sentence about the trend of Karp and Flatt's serial fraction over n (papers/004, Section 5).

    Return "" for fewer than three values.
    """
    fractions = [row["serial_fraction"] for row in quality if row["n"] > 1]
    if len(fractions) < 3:
        return ""
    half = len(fractions) // 2
    low, high = float(np.median(fractions[:half])), float(np.median(fractions[half:]))
    observation = f"The serial fraction goes from {100 * low:.2g} % to {100 * high:.2g} %"
    if abs(high - low) <= CONSTANT_WITHIN * max(abs(low), abs(high)):
        return f"{observation}: about constant, so the loss is serial work."
    if high > low:
        return f"{observation}: it rises, so overhead grows with the threads."
    return f"{observation}: it falls, so t(1) is too long, or caches help many threads."


def sizes_document(profile: Profile) -> dict[str, Any] | None:
    """Return the extrapolation to larger sizes with the model that best predicts the larger measured sizes from the
    smaller ones.

    Return None for a profile with one size.
    """
    if not Run.objects.filter(profile=profile, size__isnull=False).exists():
        return None
    measured = measured_runs(profile)
    requests = [
        request
        for name, settings in SIZE_MODELS
        if (request := request_over_sizes(measured, name, settings)) is not None
    ]
    if not requests:
        return None
    errors = [(error_at_larger_sizes(request), request) for request in requests]
    ranked = sorted((pair for pair in errors if pair[0] is not None), key=lambda pair: pair[0] or 0.0)
    chosen, answer = next(
        ((request, answer) for _, request in ranked if (answer := possible_answer(request))), (None, None)
    )
    return {
        "unit": profile.workload.size_unit or "",
        "measured": [{name: point[name] for name in ("n", "size", "time_s")} for point in requests[0].points],
        "reasons": [
            {
                "model": request_label(request),
                "error_percent": None if error is None else 100 * error,
                "evidence": "the larger third of the sizes from the smaller ones",
                "chosen": request is chosen,
            }
            for error, request in errors
        ],
        "answer": answer,
    }


def possible_answer(request: FitRequest) -> dict[str, Any] | None:
    """Return the answer of the model, or None if it cannot be fitted to all points together or predicts a time of 0 or
    less."""
    try:
        answer = fitted_answer(request)
    except ValueError:
        return None
    possible = all(row["time_s"] > 0 for row in answer["predictions"])
    return answer | {"label": request_label(request)} if possible else None


def request_over_sizes(measured: MeasuredPoints, name: str, settings: dict[str, Any]) -> FitRequest | None:
    """Return the request for sizes beyond the measured ones, or None if the profile lacks data that the model needs."""
    try:
        points = points_over_sizes(measured, SCALING_MODELS[name])
    except ValueError:
        return None
    largest = max(point["size"] for point in points)
    counts = sorted({point["n"] for point in points})
    new_points = [{"n": n, "size": size} for size in sizes_beyond(largest) for n in counts]
    return FitRequest(name, points, new_points, settings, INTERVAL_LEVEL)


def sizes_beyond(largest: float) -> list[float]:
    """Return the input sizes to predict.

    >>> sizes_beyond(100.0), sizes_beyond(0.5)
    ([125.0, 150.0, 200.0, 300.0, 400.0], [0.625, 0.75, 1.0, 1.5, 2.0])
    """
    sizes = [times * largest for times in SIZES_BEYOND]
    return [float(round(size)) for size in sizes] if largest.is_integer() else sizes


def request_label(request: FitRequest) -> str:
    degree = request.settings.get("degree")
    return SCALING_MODELS[request.model].title + (f", degree {degree}" if degree else "")
