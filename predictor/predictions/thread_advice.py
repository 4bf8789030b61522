"""Thread advice: the thread count with which a workload should run on a machine, and the loss with all threads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from predictor.core.thread_advice import EQUALLY_FAST, HALF_WIDTH, REPEATS_SCATTER, ThreadAdvice, advise_threads
from predictor.predictions.question import NoPrediction, PredictionRequest
from predictor.predictions.service import preview_answer
from profiles.models import Platform
from profiles.scaling.wording import whole_percent


def thread_advice(request: PredictionRequest, user: Any) -> dict[str, Any]:
    """Return the advice as the document of `GET advice/`. Raises a RequestError, as a prediction does."""
    answer = preview_answer(request, user)
    target = Platform.objects.visible_to(request.viewer(user)).get(slug=answer["target"])
    found = advice_from_answer(answer, target)
    if found is None:
        raise NoPrediction("only the scaling is known, so there are no times to compare", 0, 1)
    return found


def advice_from_answer(answer: Mapping[str, Any], target: Platform) -> dict[str, Any] | None:
    """Return the advice for an answer document; None if no time is known.

    It is based on the measured curve if the workload was measured on the target with several thread counts, else on the
    predicted curve.
    """
    measured = answer["measured"]
    is_measured = measured is not None and not answer["changes"] and len(measured["curve"]) > 1
    curve = [row for row in (measured if is_measured else answer)["curve"] if row["time_s"] is not None]
    if is_measured:
        # This is the interval that repeated measurements fall into.
        factor = float(np.exp(HALF_WIDTH * REPEATS_SCATTER))
        curve = [{**row, "low_s": row["time_s"] / factor, "high_s": row["time_s"] * factor} for row in curve]
    if not curve:
        return None
    n, *times = (
        np.array([np.nan if row[name] is None else row[name] for row in curve])
        for name in ("n", "time_s", "low_s", "high_s")
    )
    found = advise_threads(n.astype(np.int64), *times)
    chosen, all_threads = curve[found.position], curve[-1]
    loss = all_threads["time_s"] / chosen["time_s"] - 1
    return {
        "workload": answer["workload"],
        "target": answer["target"],
        **{name: chosen[name] for name in ("n", "time_s", "low_s", "high_s")},
        "all_threads": {"n": all_threads["n"], "time_s": all_threads["time_s"], "loss": loss},
        "probability": found.probability,
        "environment": environment(chosen["n"], target),
        "reasons": reasons(curve, found, loss, target, is_measured=is_measured),
        "measured": is_measured,
        "smt": None if target.n_ht is None else chosen["n"] >= target.n_ht,
        "revision": answer["revision"],
    }


def environment(n: int, target: Platform) -> dict[str, str]:
    """Return the OpenMP variables that place n threads as they were placed in the measurements: one on each core, node
    after node, and a second one on a core only when every core has one."""
    fills_cores = n == target.n_max and target.n_ht is not None and n >= target.n_ht
    return {
        "OMP_NUM_THREADS": str(n),
        "OMP_PLACES": "threads" if fills_cores else "cores",
        "OMP_PROC_BIND": "close",
    }


def reasons(
    curve: Sequence[Mapping[str, Any]], found: ThreadAdvice, loss: float, target: Platform, *, is_measured: bool
) -> list[str]:
    """Return at most four sentences: what the advice is based on, the loss with all threads, and which parts of the
    machine stay unused."""
    n, last = curve[found.position]["n"], curve[-1]["n"]
    measured = f"It was measured there, with {len(curve)} thread counts."
    sentences = [measured if is_measured else "It is predicted from other machines."]
    if n == last:
        sentences.append("No smaller thread count is as fast.")
    elif loss > EQUALLY_FAST:
        sentences.append(f"All {last} threads take {whole_percent(loss)} longer.")
    else:
        sentences.append(f"All {last} threads are no faster, and occupy {last - n} more threads.")
    if target.n_nu is not None and n < target.n_nu <= last:
        sentences.append(f"From {target.n_nu} threads on, a second NUMA node is used.")
    if target.n_ht is not None and n < target.n_ht <= last:
        sentences.append(f"From {target.n_ht} threads on, cores run two threads each.")
    return sentences
