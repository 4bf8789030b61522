"""Why a stored prediction is what it is: worked out when it is first asked for, which takes longer than the answer. And
which parts of it are outdated: the answer never changes, so it says where today's would differ."""

from __future__ import annotations

from typing import Any

from mpet_site.web.plain_json import nan_to_null
from predictor.core.methods import METHODS
from predictor.core.steps import single_thread
from predictor.models import Prediction
from predictor.predictions.advice import with_suggestion
from predictor.predictions.answering import run_query
from predictor.predictions.explanation import WHY_VERSION, explain
from predictor.predictions.next_measurements import viewer_of
from predictor.predictions.question import PredictionRequest, resolve_with_snapshot
from predictor.predictions.service import canonical_request, request_key

OF_TODAY = "The data have changed since this prediction was made. These are the reasons of today’s answer."


def reasons_of_prediction(prediction: Prediction, user: Any) -> dict[str, Any]:
    """The document of `predictions/{id}/why/`: `why`, the revision that it is from, and a note where that is not the
    prediction's.

    What is worked out from the prediction's own revision is kept with it, and is the same for ever. Of a later one it
    is worked out each time. Raises a RequestError where today nothing can be predicted.
    """
    answer = prediction.answer
    if "why" in answer:
        return answer["why"] | {"revision": prediction.revision, "note": None}
    viewer = viewer_of(prediction, user)
    query, snapshot, origins = resolve_with_snapshot(request_of_answer(answer), viewer)
    canonical = canonical_request(query, snapshot.database)
    asked = canonical | {"include_outliers": answer["include_outliers"]}
    is_same = request_key(asked, snapshot, viewer, origins) == prediction.request_key
    with with_suggestion(query, snapshot, viewer), single_thread():
        why: dict[str, Any] = nan_to_null(explain(run_query(query, snapshot)))
    if is_same:
        Prediction.objects.filter(pk=prediction.pk).update(answer=answer | {"why": why})
    return why | {"revision": snapshot.database.revision, "note": None if is_same else OF_TODAY}


def why_of_prediction(prediction: Prediction, user: Any) -> dict[str, Any]:
    """`why` as an answer has it: of the revision of the answer where that is still known, else of today."""
    beside = ("revision", "note")
    return {name: value for name, value in reasons_of_prediction(prediction, user).items() if name not in beside}


def request_of_answer(answer: dict[str, Any]) -> PredictionRequest:
    """What a stored answer was asked."""
    names = ("workload", "target", "references", "method", "n", "settings", "scenario", "strategy")
    flags = ("workload_changes", "platform_changes", "include_simulated", "include_outliers")
    return PredictionRequest(**{name: answer[name] for name in (*names, *flags) if name in answer})


def stale_reasons(prediction: Prediction) -> list[str]:
    """A sentence each: the method has a newer version, the reasons follow older rules, or the deliveries behind the
    answer were not noted."""
    reasons = []
    method = METHODS.get(prediction.method)
    if method is None:
        reasons.append(f"the method {prediction.method} is no longer available")
    elif method.version != prediction.method_version:
        former, newest = prediction.method_version, method.version
        reasons.append(f"it is by version {former} of {method.name}, which is at version {newest} now")
    why = prediction.answer.get("why", {})
    if why.get("sentences") and why.get("version") != WHY_VERSION:
        reasons.append("its reasons (why) may follow rules that were corrected since")
    if prediction.source_uids is None:
        reasons.append(
            "the uploads it rests on were not recorded then: it cannot say whether one of them was withdrawn"
        )
    return reasons
