"""Fits of scaling models to a profile that the user may see or to points from the user. They are not stored."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from predictor.core.arrays import slug_index
from predictor.core.assembly import MEASURED, SIMULATED
from predictor.extrapolation.questions import POINT_COLUMNS, FitRequest, InvalidFit
from predictor.scaling_models.automatic import AutomaticChoice
from predictor.scaling_models.base import ScalingModel, TooFewPoints, jackknife
from predictor.scaling_models.companions import Companion, companions_of
from predictor.scaling_models.linear_laws import LinearLaw
from predictor.scaling_models.measured import MeasuredPoints, measured_points
from predictor.scaling_models.parallel_penalty import parallel_penalty, serial_fraction
from predictor.scaling_models.registry import SCALING_MODELS
from predictor.scaling_models.task_graph import TASK_MEASURES, TaskGraphModel
from predictor.snapshot.cache import read_database
from profiles.ingest.derivation import run_tables
from profiles.models import Profile
from profiles.scaling.runs import stored_curves
from profiles.scaling.validity import MOST_CURVE_POINTS, valid_counts, valid_scale, valid_times

MOST_RUNS_READ = 50_000  # runs per profile; if it has more, only the first repeats are read
QUIET: Any = {"over": "ignore", "divide": "ignore", "invalid": "ignore"}  # overflows become null in the answer


def request_for_profile(profile: Profile, user: Any, fields: dict[str, Any]) -> FitRequest:
    """Return the request to fit a model to the profile's measured points.

    `fields` has the keys model, predict, settings, level and companions. If the model has the settings n_nu and n_ht,
    their defaults are the values of the profile's platform.
    """
    model = SCALING_MODELS[fields["model"]]
    model_settings = model().get_params()
    breakpoints = {name: getattr(profile.platform, name) for name in ("n_nu", "n_ht") if name in model_settings}
    companions: tuple[Companion, ...] = ()
    if model is AutomaticChoice:
        database = read_database(user, origins=SIMULATED if profile.origin == "simulated" else MEASURED)
        platform = slug_index(database.platforms, profile.platform.slug)
        workload = slug_index(database.workloads, profile.workload.slug)
        if platform is not None and workload is not None:
            companions = tuple(companions_of(database, platform, workload, scope=fields["companions"]))
    points = points_of_profile(profile, model, fields["predict"])
    return FitRequest(
        fields["model"], points, fields["predict"], breakpoints | fields["settings"], fields["level"], companions
    )


def points_of_profile(
    profile: Profile, model: type[ScalingModel], predict: list[dict[str, Any]]
) -> list[dict[str, Any]]:
    """Return the points of a profile to which the model is fitted.

    Models that need sizes are fitted to the runs of all sizes, and so are models that can use sizes if a size is to be
    predicted. Models that can use a clock ratio are fitted to the runs at fixed clocks if there are any, and if a clock
    ratio or nothing is to be predicted. All others are fitted to the measured curve.

    The memory clock is not recorded. The clock ratio is therefore the processor's clock divided by the platform's base
    clock.
    """
    if "size" in model.needed or ("size" in model.optional and _any_names(predict, "size")):
        return points_over_sizes(measured_runs(profile), model)
    if "clock_ratio" in model.optional:
        points = measured_runs(profile).over_clocks
        if len(points) and (_any_names(predict, "clock_ratio") or not predict):
            base_mhz = profile.platform.base_mhz or float(points.clocks_mhz[-1])
            columns = {"n": points.n, "clock_ratio": points.clock_mhz / base_mhz, "time_s": points.time_s}
            return _as_points(columns)
    curves = stored_curves(profile)
    if curves is None:
        wanted = "thread counts; this profile has no usable curves (manage.py refit makes them)"
        raise TooFewPoints(model.title, 0, 2, wanted)
    pairs = zip(curves.thinned.n.tolist(), curves.thinned.time_s.tolist(), strict=True)
    return [{"n": count, "time_s": seconds} for count, seconds in pairs]


def measured_runs(profile: Profile) -> MeasuredPoints:
    """Return one point for each thread count, size and clock in the profile's runs.

    Runs with an invalid size, clock or time are omitted.
    """
    runs = run_tables([profile.pk], MOST_RUNS_READ)[profile.pk]
    usable = valid_times(runs.time_s) & valid_counts(runs.n)
    for column in (runs.size, runs.clock_mhz):
        if column is not None:
            usable &= np.isnan(column) | valid_scale(column)
    own_size = profile.workload.size
    return measured_points(
        runs if usable.all() else runs.take(np.flatnonzero(usable)),
        own_size if own_size is not None and valid_scale(np.array(own_size)) else None,
    )


def _any_names(points: list[dict[str, Any]], column: str) -> bool:
    return any(point.get(column) is not None for point in points)


def points_over_sizes(measured: MeasuredPoints, model: type[ScalingModel]) -> list[dict[str, Any]]:
    """Return the runs of all sizes at the platform's own clocks.

    Raise InvalidFit if there is only one size, or if the profile pass of a size is missing for a task graph.
    """
    points = measured.over_sizes
    if len(points.sizes) < 2:
        raise InvalidFit("profile", f"{model.title} needs runs of several sizes; this profile has one size.")
    columns = {"n": points.n, "size": points.size, "time_s": points.time_s}
    if model is TaskGraphModel:
        columns |= points.task_measures()
        if not columns["tasks"].any():
            raise InvalidFit("profile", "Task graph needs a program that spawns tasks; this one spawned none.")
        if np.isnan(columns["work_s"]).any() or np.isnan(columns["tasks"]).any():
            raise InvalidFit("profile", "Task graph needs a profile pass of every size and n, and n = 1 of every size.")
    return _as_points(columns)


def _as_points(columns: dict[str, np.ndarray]) -> list[dict[str, Any]]:
    """Return one point per row. Large tables are thinned evenly."""
    step = -(-len(next(iter(columns.values()))) // MOST_CURVE_POINTS)
    rows = zip(*(column[:: max(step, 1)].tolist() for column in columns.values()), strict=True)
    return [dict(zip(columns, row, strict=True)) | {"n": int(row[0])} for row in rows]


def fitted_answer(request: FitRequest) -> dict[str, Any]:
    """Return parameters, residuals, predictions with intervals, and reasons. Raise ValueError if the model cannot be
    fitted."""
    try:
        with np.errstate(**QUIET):
            return _fitted_answer(request)
    except ArithmeticError:
        raise InvalidFit("points", "The numbers exceed the range of the model.") from None


def _fitted_answer(request: FitRequest) -> dict[str, Any]:
    model = _model(request)
    X, t = _design_rows(model, request.points, "points"), np.array([point["time_s"] for point in request.points])
    model.fit(X, t, **_fit_arguments(request))
    fitted = model.predict(X)
    predictions, reason = _predictions(model, X, t, request)
    return {
        "model": request.model,
        "settings": {name: value for name, value in model.get_params().items() if not callable(value)},
        "parameters": _parameters(model, request.level),
        "points": [
            _point_columns(point)
            | {"time_s": measured, "fitted_s": predicted, "residual_percent": 100 * (predicted / measured - 1)}
            for point, measured, predicted in zip(request.points, t.tolist(), fitted.tolist(), strict=True)
        ],
        "level": request.level,
        "predictions": predictions,
        "no_interval": reason,
        "reasons": _reasons(model),
        "quality": parallel_quality(request.points),
    }


def _model(request: FitRequest) -> ScalingModel:
    model = SCALING_MODELS[request.model]()
    defaults = model.get_params()
    for name, value in request.settings.items():
        if name not in defaults:
            raise InvalidFit(f"settings.{name}", f"Unknown setting. Known: {', '.join(defaults) or 'none'}.")
        if not _is_like_default(value, defaults[name]):
            raise InvalidFit(f"settings.{name}", f"{value!r} cannot replace the default, {defaults[name]!r}.")
    model.set_params(**request.settings)
    return model


def _is_like_default(value: Any, default: Any) -> bool:
    """Return whether the value is a valid replacement for the default.

    Numbers replace numbers, strings replace strings, and thread counts or None replace None.
    """
    if isinstance(value, bool):
        return False
    if default is None:
        return value is None or (isinstance(value, int) and value >= 1)
    if isinstance(default, int):
        return isinstance(value, int) and 0 <= value < 2**31
    return isinstance(value, int | float) if isinstance(default, float) else isinstance(value, str)


def _design_rows(model: ScalingModel, points: list[dict[str, Any]], name: str) -> np.ndarray:
    """Return the columns of the model, shape (N, K): the needed ones, and the optional ones before the first that a
    point lacks."""
    rows = []
    optional = []
    for column in model.optional:
        if not all(point.get(column) is not None for point in points):
            break
        optional.append(column)
    for index, point in enumerate(points):
        missing = [column for column in model.needed if point.get(column) is None]
        if missing:
            raise InvalidFit(f"{name}.{index}.{missing[0]}", f"Needed by {model.title}.")
        rows.append([float(point[column]) for column in (*model.needed, *optional)])
    return np.array(rows)


def _fit_arguments(request: FitRequest) -> dict[str, Any]:
    if request.model == "automatic":
        return {"companions": request.companions}
    if request.model != "task_graph":
        return {}
    for index, point in enumerate(request.points):
        missing = [name for name in TASK_MEASURES if point.get(name) is None]
        if missing:
            raise InvalidFit(f"points.{index}.{missing[0]}", "Needed by Task graph.")
    return {"measures": {name: [point[name] for point in request.points] for name in TASK_MEASURES}}


def _parameters(model: ScalingModel, level: float) -> list[dict[str, Any]]:
    intervals = model.confidence_intervals(level) if isinstance(model, LinearLaw) else {}
    named = []
    for name, value in model.parameters().items():
        low, high = intervals.get(name, (None, None))
        named.append({"name": name, "value": value, "low": low, "high": high})
    return named


def _predictions(
    model: ScalingModel, X: np.ndarray, t: np.ndarray, request: FitRequest
) -> tuple[list[dict[str, Any]], str]:
    """Return the predictions with their intervals, and the reason if there are no intervals."""
    if not request.predict:
        return [], ""
    new = _design_rows(model, request.predict, "predict")
    if new.shape[1] != X.shape[1]:
        raise InvalidFit("predict", f"Needs the columns of the points: {', '.join(model._read(X).columns)}.")
    interval = model.interval(new, request.level) if isinstance(model, AutomaticChoice) else None
    low, high, reason = (
        (*interval, "") if interval else jackknife(model, X, t, new, request.level, **_fit_arguments(request))
    )
    rows = zip(request.predict, model.predict(new).tolist(), low.tolist(), high.tolist(), strict=True)
    return [
        _point_columns(point) | {"time_s": time_s, "low_s": below, "high_s": above}
        for point, time_s, below, above in rows
    ], reason


def _reasons(model: ScalingModel) -> list[dict[str, Any]]:
    reasons = getattr(model, "reasons_", [])
    if isinstance(reasons, dict):  # a parallel penalty chooses a smoother per curve
        return [
            {"model": label, "error_percent": 100 * error, "evidence": f"{name}: its last known value",
             "chosen": label == choice.smoother.label}
            for name, choice in reasons.items()
            for label, error in choice.errors.items()
        ]  # fmt: skip
    return [
        {
            "model": reason.model,
            "error_percent": 100 * reason.error,
            "evidence": reason.evidence,
            "chosen": reason.chosen,
        }
        for reason in reasons
    ]


def parallel_quality(points: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return parallel penalty and serial fraction of each point with a measurement at n = 1 of the same size and clock
    ratio."""
    serial_times: dict[tuple[Any, Any], list[float]] = {}
    for point in points:
        if point["n"] == 1:
            serial_times.setdefault((point.get("size"), point.get("clock_ratio")), []).append(point["time_s"])
    rows = []
    for point in sorted(points, key=lambda row: row["n"]):
        reference = serial_times.get((point.get("size"), point.get("clock_ratio")))
        if reference:
            measured = point["n"], point["time_s"], float(np.mean(reference))
            penalty_s, fraction = float(parallel_penalty(*measured)), float(serial_fraction(*measured))
            rows.append(_point_columns(point) | {"penalty_s": penalty_s, "serial_fraction": fraction})
    return rows


def error_at_larger_sizes(request: FitRequest) -> float | None:
    """Return the mean relative error at the largest third of the sizes for a model that was fitted to the other sizes.

    Return None if the model cannot be fitted or predicts a time of 0 or less.
    """
    sizes = sorted({point["size"] for point in request.points})
    least = sizes[-max(len(sizes) // 3, 1)]
    larger = [point for point in request.points if point["size"] >= least]
    learned = replace(request, points=[point for point in request.points if point["size"] < least])
    model = _model(request)
    try:
        with np.errstate(**QUIET):
            model.fit(
                _design_rows(model, learned.points, "points"),
                [point["time_s"] for point in learned.points],
                **_fit_arguments(learned),
            )
            predicted = model.predict(_design_rows(model, larger, "predict"))
            error = float(np.abs(predicted / np.array([point["time_s"] for point in larger]) - 1.0).mean())
    except (ValueError, ArithmeticError):
        return None
    return error if np.isfinite(error) and (predicted > 0).all() else None


def _point_columns(point: dict[str, Any]) -> dict[str, Any]:
    return {name: point.get(name) for name in POINT_COLUMNS}
