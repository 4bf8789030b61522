"""The measured curves behind the weightiest candidates of an answer, as in the paper's Figure 14."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from predictor.figures.answer import AnswerDrawing, at_counts, measured_curve, measured_trace, speedup_figure
from profiles.arrays import FloatArray, IntArray
from profiles.figures import Chart, MeasuredCurve, ideal_line, line, speedup_of, table

PREDICTED = "workload, target: predicted"

Curve = tuple[IntArray, FloatArray]


@dataclass(frozen=True)
class CandidateCurves:
    """Benchmark B on reference platform P and on the target, and the workload itself on P: n and seconds."""

    platform: str
    workload: str
    weight: float
    benchmark_on_reference: Curve
    benchmark_on_target: Curve
    workload_on_reference: Curve


@dataclass(frozen=True)
class CandidateNames:
    """The names of the reference platform and the benchmark of a candidate, and of the predicted workload."""

    platform: str
    benchmark: str
    workload: str


def candidate_charts(
    answer: AnswerDrawing, candidates: Sequence[CandidateCurves], names: Mapping[str, str], workload: str
) -> list[Chart]:
    """One chart a candidate. `names`: of platforms and workloads by slug; `workload`: the slug of the predicted one."""
    if len(answer.n) == 1:
        return []
    named = [
        CandidateNames(*(names.get(slug, slug) for slug in (one.platform, one.workload, workload)))
        for one in candidates
    ]
    return [
        candidate_chart(f"candidate-{place}", answer, one, called)
        for place, (one, called) in enumerate(zip(candidates, named, strict=True), start=1)
    ]


def candidate_chart(name: str, answer: AnswerDrawing, of: CandidateCurves, called: CandidateNames) -> Chart:
    """Colour tells the workload, dashes the reference platform."""
    curves = {
        "benchmark, reference": ("fitted", "dash", measured_curve("", *of.benchmark_on_reference)),
        "benchmark, target": ("fitted", "solid", measured_curve("", *of.benchmark_on_target)),
        "workload, reference": ("predicted", "dash", measured_curve("", *of.workload_on_reference)),
    }
    traces = [
        ideal_line(answer.n),
        *(
            line(name, colour, curve.n, speedup_of(curve), line={"width": 1.8, "dash": dash})
            for name, (colour, dash, curve) in curves.items()
        ),
        line(PREDICTED, "predicted", answer.n, answer.speedup, line={"width": 3}),
    ]
    if answer.measured:
        traces.append(measured_trace(answer.measured, speedup_of(answer.measured), answer.known))
    speedups = {name: speedup_of(curve) for name, (_, _, curve) in curves.items()}
    counts = np.unique(np.concatenate([answer.n, *(curve.n for _, _, curve in curves.values())]))
    predicted = MeasuredCurve("", answer.n, answer.time_s, None)
    columns = {
        "n": counts,
        PREDICTED: at_counts(counts, predicted, answer.speedup),
    }
    columns |= {name: at_counts(counts, curve, speedups[name]) for name, (_, _, curve) in curves.items()}
    return Chart(
        name,
        f"{called.benchmark} on {called.platform}",
        f"Weight {of.weight:.3g}. Orange: the benchmark {called.benchmark} on the reference platform {called.platform} "
        f"(dashed) and on the target (solid). Blue: {called.workload} on {called.platform} (dashed), and predicted for "
        "the target (solid).",
        speedup_figure(answer, traces, [answer.speedup, *speedups.values()]),
        table(columns),
    )
