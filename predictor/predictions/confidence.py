"""Confidence in an answer: a level from the width of its calibrated interval, and cautions for the reader.

Facts that the interval cannot account for lower the level. The cautions complete the method's own warnings. Without an
interval, the level comes from provisional rules on the evidence, and the answer is marked as provisional
(docs/decisions/prediction-confidence.md).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from scipy.special import ndtri

from predictor.core.answers import Answer, fastest_position
from predictor.core.database import Database
from predictor.predictions.question import Basis, rows_behind
from predictor.snapshot.building import Snapshot
from profiles.models import Platform
from profiles.scaling.wording import counted, whole_percent

LEVELS = ("high", "medium", "low")
FEW_CANDIDATES, VERY_FEW_CANDIDATES = 10, 3
FAR, VERY_FAR = 0.15, 0.3
POOR_FIT, VERY_POOR_FIT = 0.1, 0.25
WIDE, VERY_WIDE = 0.1, 0.25
FEW_DIMENSIONS = 4
MANY_OUTSIDE = 0.5  # share of a profile's elements
MOST_NAMES = 3
SHOWN_LEVEL = 0.9  # level of the interval that the confidence is judged by


@dataclass(frozen=True)
class ConfidenceEvidence:
    """The facts that the confidence rules use. None means that a fact does not apply or is unknown."""

    candidates: int | None
    mean_distance: float | None
    fit_error: float | None
    same_architecture: bool | None
    architecture: str
    largest_n: int
    largest_measured_n: int
    stand_in_t1: bool
    relative_times: bool
    simulated: bool
    half_width: float | None = None  # of the 90 % interval of the fastest time, relative to that time


def judged_confidence(basis: Basis) -> dict[str, Any]:
    """Return the confidence of the answer, with the reasons why it is not higher."""
    snapshot, rows = basis.snapshot, basis.rows
    database = snapshot.database
    architectures = database.platform_table["architecture"]
    target = str(architectures[basis.query.target])
    of_references = {architectures[platform] for platform in basis.reference_platforms}
    comparable = target != "" and of_references != {""} and len(of_references) > 0
    candidates = basis.answer.candidates_scaling or basis.answer.candidates_t1
    distances = [candidate.distance_tuple for candidate in candidates if candidate.distance_tuple is not None]
    evidence = ConfidenceEvidence(
        candidates=None if basis.answer.is_measured else len(candidates),
        mean_distance=_mean(distances),
        fit_error=_mean(snapshot.fit_error[basis.reference_rows]),
        same_architecture=target in of_references if comparable else None,
        architecture=target,
        largest_n=int(basis.answer.n.max()),
        largest_measured_n=largest_measured_n(basis),
        stand_in_t1=bool(snapshot.t1_is_stand_in[rows].any()),
        relative_times=database.workload_table["time_kind"][basis.query.workload] == "relative",
        simulated=basis.uses_simulated,
        half_width=half_width_of_fastest(basis.answer, basis.query.setting("level", SHOWN_LEVEL)),
    )
    return asdict(basis.answer.confidence) | judge_confidence(evidence, basis.answer.lowered)


def half_width_of_fastest(answer: Answer, level: float) -> float | None:
    """Return half the width of the 90 % interval of the fastest time, relative to that time; None without an interval.

    An interval of another level is scaled to 90 % as if errors were normally distributed.
    """
    if answer.low_s is None or answer.high_s is None or not np.isfinite(answer.time_s).any():
        return None
    fastest = fastest_position(answer.n, answer.time_s, answer.credible_n)
    ratio = answer.high_s[fastest] / answer.low_s[fastest]
    if not np.isfinite(ratio):
        return None
    deviations = ndtri((1 + SHOWN_LEVEL) / 2) / ndtri((1 + level) / 2)
    return float(np.exp(np.log(ratio) / 2 * deviations) - 1)


def largest_measured_n(basis: Basis) -> int:
    if basis.answer.largest_measured_n is not None:
        return basis.answer.largest_measured_n
    curves = (basis.snapshot.database.curve(row)[0] for row in basis.reference_rows)
    return max((int(n.max()) for n in curves), default=1)


def _mean(values: Iterable[float]) -> float | None:
    finite = [value for value in values if np.isfinite(value)]
    return float(np.mean(finite)) if finite else None


def judge_confidence(evidence: ConfidenceEvidence, more: Sequence[tuple[int, str]] = ()) -> dict[str, Any]:
    """Return the level, with the reasons that lowered it from high.

    `more` contains further findings, each as (index in LEVELS of the level that remains, reason).
    """
    findings = [*_findings(evidence), *more]
    level = max((level for level, _ in findings), default=0)
    judged = evidence.half_width is None or bool(more)
    reasons = [reason for _, reason in findings]
    return {"level": LEVELS[level], "reasons": reasons, "provisional": judged, "half_width": evidence.half_width}


def _findings(evidence: ConfidenceEvidence) -> list[tuple[int, str]]:
    """Return the findings, each as (index in LEVELS of the level that remains, reason)."""
    if evidence.half_width is None:
        findings = _by_rules(evidence)
    else:
        wide = "the 90 % interval of the fastest time is wide: "
        findings = _above(evidence.half_width, WIDE, VERY_WIDE, lambda width: wide + width_in_words(width))
    if evidence.same_architecture is False:
        findings.append((2, f"no reference machine has the target's instruction set ({evidence.architecture})"))
    if evidence.largest_n > evidence.largest_measured_n:
        most = counted(evidence.largest_measured_n, "thread")
        findings.append((1, f"no reference was measured with more than {most}"))
    if evidence.stand_in_t1:
        findings.append((1, "a used profile has no run at n = 1"))
    if evidence.relative_times:
        findings.append((1, "times are relative: their unit is unknown"))
    if evidence.simulated:
        findings.append((2, "simulated profiles were used"))
    return findings


def width_in_words(half_width: float) -> str:
    """Return the half-width in words: a percentage up to 100 %, a factor beyond.

    >>> width_in_words(0.373), width_in_words(7.91)
    ('±37 %', 'a factor of 8.9 to either side')
    """
    return f"±{whole_percent(half_width)}" if half_width <= 1 else f"a factor of {1 + half_width:.2g} to either side"


def _by_rules(evidence: ConfidenceEvidence) -> list[tuple[int, str]]:
    """Return the findings of the rules that take the place of a missing interval."""
    findings = []
    if evidence.candidates is not None and evidence.candidates < FEW_CANDIDATES:
        level = 2 if evidence.candidates < VERY_FEW_CANDIDATES else 1
        findings.append((level, f"only {evidence.candidates} comparable pairs"))
    return [
        *findings,
        *_above(evidence.mean_distance, FAR, VERY_FAR, "the comparable pairs are distant: mean distance {:.2f}".format),
        *_above(
            evidence.fit_error,
            POOR_FIT,
            VERY_POOR_FIT,
            lambda share: f"the fit error of the references is {whole_percent(share)}",
        ),
    ]


def _above(value: float | None, medium: float, low: float, reason: Callable[[float], str]) -> list[tuple[int, str]]:
    if value is None or not value > medium:
        return []
    return [(2 if value > low else 1, reason(value))]


def cautions(basis: Basis) -> list[str]:
    query = basis.query
    rows = rows_behind(basis.snapshot.database, query.workload, query.target, basis.candidates, basis.groups)
    sentences = [simulated_caution(basis), virtualised_caution(basis), *measurement_cautions(basis.snapshot, rows)]
    if not (query.scenario.uses_only_n1_of_workload or basis.answer.is_measured):
        sentences += [poor_fit_caution(basis), few_dimensions_caution(basis), extrapolation_caution(basis)]
    return [caution for caution in sentences if caution]


def simulated_caution(basis: Basis) -> str:
    took_part = basis.snapshot.is_simulated[basis.rows]
    if not took_part.any():
        return ""
    return "simulated profiles were used" + ("" if took_part.all() else ", mixed with measured ones")


def virtualised_caution(basis: Basis) -> str:
    """Return a caution if references are virtual machines: they share hardware, so their times vary with their
    neighbours."""
    slugs = [basis.snapshot.database.platforms[platform] for platform in basis.reference_platforms]
    rows = Platform.objects.filter(slug__in=slugs, virtualised=True).order_by("slug")
    virtual = list(rows.values_list("slug", flat=True))
    return f"virtualised references, whose times vary with their neighbours: {join_names(virtual)}" if virtual else ""


def measurement_cautions(snapshot: Snapshot, rows: np.ndarray) -> list[str]:
    """Return the cautions about the measurements in these rows, for any answer that is based on them."""
    sentences = (load_caution(snapshot, rows), single_run_caution(snapshot.database, rows))
    return [sentence for sentence in sentences if sentence]


def single_run_caution(database: Database, rows: np.ndarray) -> str:
    """Return a caution if some of these rows were measured once, as by `make quick`, and others repeatedly.

    If no row was repeated there is no caution: the interval is as wide as the errors of predictions, which include that
    noise.
    """
    once = rows[np.isnan(database.standard_error[rows])]
    if not len(once) or len(once) == len(rows):
        return ""
    names = [database.platforms[platform] for platform in np.unique(database.platform_index[once]).tolist()]
    return (
        f"measured once: {len(once)} of {len(rows)} profiles, on {join_names(names)}; the interval assumes the "
        "noise of repeated ones"
    )


def load_caution(snapshot: Snapshot, rows: np.ndarray) -> str:
    """Return a caution if other programs ran during the measurements in these rows: their times are too long by an
    unknown amount."""
    disturbed = rows[np.nan_to_num(snapshot.disturbed_count[rows]) > 0]
    if not len(disturbed):
        return ""
    database = snapshot.database
    judged = rows[~np.isnan(snapshot.disturbed_count[rows])]
    counts = (int(np.nansum(column[judged])) for column in (snapshot.disturbed_count, snapshot.run_count))
    names = [database.platforms[platform] for platform in np.unique(database.platform_index[disturbed]).tolist()]
    return "measured under load: other programs disturbed {} of {} runs on ".format(*counts) + join_names(names)


def poor_fit_caution(basis: Basis) -> str:
    rows = basis.reference_rows
    poor = rows[np.nan_to_num(basis.snapshot.fit_error[rows]) > VERY_POOR_FIT]
    if not len(poor):
        return ""
    database = basis.snapshot.database
    names = [database.platforms[platform] for platform in database.platform_index[poor].tolist()]
    return f"the fit error of the workload is over {whole_percent(VERY_POOR_FIT)} on {join_names(names)}"


def few_dimensions_caution(basis: Basis) -> str:
    """Return a caution if the compared profiles share few valid elements, because they then look close by chance."""
    common = [(~np.isnan(vector) & ~np.isnan(others)).sum(axis=1) for vector, others in features_with_candidates(basis)]
    dimensions = float(np.median(np.concatenate(common))) if common else np.inf
    if dimensions >= FEW_DIMENSIONS:
        return ""
    return f"few valid dimensions: the workload and its candidates share {dimensions:g} elements"


def extrapolation_caution(basis: Basis) -> str:
    """Return a caution if many elements of the workload lie outside those of all candidates on the same platform: the
    interpolation is then an extrapolation."""
    outside, valid = 0, 0
    for vector, others in features_with_candidates(basis):
        low, high = np.fmin.reduce(others, axis=0), np.fmax.reduce(others, axis=0)
        comparable = ~np.isnan(vector) & ~np.isnan(low)
        outside += int(((vector < low) | (vector > high))[comparable].sum())
        valid += int(comparable.sum())
    if not valid or outside / valid <= MANY_OUTSIDE:
        return ""
    share = whole_percent(outside / valid)
    return f"extrapolation: {share} of the workload's elements lie outside the range of the candidates"


def features_with_candidates(basis: Basis) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield the elements of (P,A), shape (84,), and of the candidates (P,B), shape (K, 84), for every reference P."""
    database = basis.snapshot.database
    position = {slug: index for index, slug in enumerate(database.workloads)}
    of_platform: dict[str, set[int]] = {}
    for candidate in basis.candidates:
        of_platform.setdefault(candidate.platform, set()).add(position[candidate.workload])
    for row in basis.reference_rows.tolist():
        platform = int(database.platform_index[row])
        workloads = sorted(of_platform.get(database.platforms[platform], ()))
        rows = database.lookup(platform, workloads, basis.groups) if workloads else np.zeros(0, dtype=np.int64)
        rows = rows[rows >= 0]
        if len(rows):
            yield database.features[row], database.features[rows]


def join_names(names: list[str]) -> str:
    return ", ".join(names[:MOST_NAMES]) + (f" and {len(names) - MOST_NAMES} more" if len(names) > MOST_NAMES else "")
