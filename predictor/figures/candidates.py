"""Figures of the measured curves behind the candidates with the largest weights, as in the paper's Figure 14."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from predictor.figures.answer import AnswerDrawing, align_to_counts, curve_with_t1, measured_trace, speedup_figure
from profiles.arrays import FloatArray, IntArray
from profiles.figures.base import Chart, ideal_line, line, speedup_of, table

PREDICTED_LABEL = "workload, predicted"

CountsAndTimes = tuple[IntArray, FloatArray]


@dataclass(frozen=True)
class CandidateCurves:
    """The curves of one candidate as (n, seconds): benchmark B on reference platform P and on the target, and the
    workload itself on P."""

    platform: str
    workload: str
    weight: float
    benchmark_on_reference: CountsAndTimes
    benchmark_on_target: CountsAndTimes
    workload_on_reference: CountsAndTimes


def candidate_charts(
    answer: AnswerDrawing, candidates: Sequence[CandidateCurves], names: Mapping[str, str], workload: str
) -> list[Chart]:
    """Return one chart per candidate. `names` are those of platforms and workloads by slug, `workload` is the slug of
    the predicted workload."""
    if len(answer.n) == 1:
        return []
    return [
        candidate_chart(f"candidate-{place}", answer, candidate, names, workload)
        for place, candidate in enumerate(candidates, start=1)
    ]


def candidate_chart(
    name: str, answer: AnswerDrawing, candidate: CandidateCurves, names: Mapping[str, str], workload: str
) -> Chart:
    """Return the speedups of a candidate's three curves. The colour shows the workload, dashes show the reference
    platform."""
    curves = {
        "benchmark, reference": ("fitted", "dash", curve_with_t1("", *candidate.benchmark_on_reference)),
        "benchmark, target": ("fitted", "solid", curve_with_t1("", *candidate.benchmark_on_target)),
        "workload, reference": ("predicted", "dash", curve_with_t1("", *candidate.workload_on_reference)),
    }
    traces = [
        ideal_line(answer.n),
        *(
            line(name, colour, curve.n, speedup_of(curve), line={"width": 1.8, "dash": dash})
            for name, (colour, dash, curve) in curves.items()
        ),
        line(PREDICTED_LABEL, "predicted", answer.n, answer.speedup, line={"width": 3}),
    ]
    if answer.measured:
        traces.append(measured_trace(answer.measured, speedup_of(answer.measured), answer.measured_label))
    speedups = {name: speedup_of(curve) for name, (_, _, curve) in curves.items()}
    counts = np.unique(np.concatenate([answer.n, *(curve.n for _, _, curve in curves.values())]))
    columns = {"n": counts, PREDICTED_LABEL: align_to_counts(counts, answer.n, answer.speedup)}
    columns |= {name: align_to_counts(counts, curve.n, speedups[name]) for name, (_, _, curve) in curves.items()}
    platform, benchmark, predicted = (
        names.get(slug, slug) for slug in (candidate.platform, candidate.workload, workload)
    )
    return Chart(
        name,
        f"{benchmark} on {platform}",
        f"Weight {candidate.weight:.3g}. Orange: the benchmark {benchmark} on the reference machine {platform} "
        f"(dashed) and on the target (solid). Blue: {predicted} on {platform} (dashed), and predicted for the target "
        "(solid).",
        speedup_figure(answer, traces, [answer.speedup, *speedups.values()]),
        table(columns),
    )
