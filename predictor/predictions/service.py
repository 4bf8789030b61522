"""Predictions: from a request to a stored answer, its reasons, and which of its parts are outdated.

The same request at the same revision is the same stored prediction (docs/decisions/prediction-idempotence.md). A
prediction is deleted when its user deletes it or when data behind it are withdrawn (docs/decisions/deletions.md lists
the ones that stay).
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import asdict, fields
from typing import Any

from django.db import transaction

from mpet_site.web.lock_waits import update_without_waiting
from mpet_site.web.plain_json import nan_to_null
from predictor.core.database import Database
from predictor.core.methods import METHODS
from predictor.core.scenarios import ScenarioQuery
from predictor.core.steps import single_thread
from predictor.models import AskedPrediction, Computation, Prediction
from predictor.models.predictions import PredictionQuerySet
from predictor.predictions.advice import complete_refusal
from predictor.predictions.document import ANSWER_VERSION, answer_document, stored_sources
from predictor.predictions.explanation import WHY_VERSION, explain
from predictor.predictions.next_measurements import viewer_of
from predictor.predictions.question import Basis, NoPrediction, PredictionRequest, resolve_with_snapshot, run_query
from predictor.snapshot.building import Snapshot
from profiles.models import Source

REMOVED_AT_ONCE = 500
OF_TODAY = "The data have changed since this prediction was made. These are the reasons of today’s answer."


def predict(request: PredictionRequest, user: Any = None) -> Prediction:
    """Return the stored prediction for the request. Compute and store it if there is none. Raises a RequestError.

    A workload without any measurement is predicted from simulated profiles, even if the request does not include them.
    """
    query, snapshot = resolve_with_snapshot(request, user)
    canonical = canonical_request(request, query, snapshot.database)
    key = request_key(canonical, snapshot, user)
    stored: Prediction | None = Prediction.objects.filter(request_key=key).first()
    is_new = False
    if stored is None:
        document, basis = answer_with_basis(canonical, query, snapshot, request.viewer(user))
        columns = ("workload", "target", "method", "method_version", "revision")
        uids = stored_sources(basis).order_by("uid").values_list("uid", flat=True)
        stored, is_new = Prediction.objects.get_or_create(
            request_key=key,
            defaults={
                **{name: document[name] for name in columns},
                "private_to": user if snapshot.holds_private else None,
                "answer": document,
                "source_uids": [str(uid) for uid in uids],
            },
        )
    if user is not None and user.is_authenticated:
        # Add the prediction to the user's own predictions.
        AskedPrediction.objects.get_or_create(user=user, prediction=stored, defaults={"is_first": is_new})
    return stored


def preview_answer(request: PredictionRequest, user: Any = None, *, explained: bool = False) -> dict[str, Any]:
    """Return the answer document without storing it. Raises a RequestError.

    With `explained` the document contains `why`, which takes longer to compute than the rest.
    """
    query, snapshot = resolve_with_snapshot(request, user)
    canonical = canonical_request(request, query, snapshot.database)
    return answer_with_basis(canonical, query, snapshot, request.viewer(user), explained=explained)[0]


def answer_with_basis(
    canonical: Any, query: ScenarioQuery, snapshot: Snapshot, viewer: Any, *, explained: bool = False
) -> tuple[dict[str, Any], Basis]:
    with single_thread():
        basis = run_with_advice(query, snapshot, viewer)
        return answer_document(basis, canonical, explained=explained), basis


def run_with_advice(query: ScenarioQuery, snapshot: Snapshot, viewer: Any) -> Basis:
    """Run the query as `run_query` does, and add the remedy and the excluded outliers to a NoPrediction."""
    try:
        return run_query(query, snapshot)
    except NoPrediction as error:
        complete_refusal(error, query, snapshot, viewer)
        raise


def canonical_request(request: PredictionRequest, query: ScenarioQuery, database: Database) -> dict[str, Any]:
    """Return the request in canonical form, as plain values: names are slugs, and every setting has a value."""
    references = query.references
    canonical: dict[str, Any] = nan_to_null(
        {
            "workload": database.workloads[query.workload],
            "target": database.platforms[query.target],
            "references": None if references is None else [database.platforms[reference] for reference in references],
            "method": query.method.name,
            "method_version": query.method.version,
            "n": query.n,
            "settings": asdict(query.settings),
            "scenario": query.scenario.name,
            "strategy": query.scenario.strategy,
            "workload_changes": query.scenario.workload.as_values(),
            "platform_changes": query.scenario.platform.as_values(),
            "include_simulated": request.include_simulated,
            "include_outliers": request.include_outliers,
        }
    )
    return canonical


def request_key(canonical: dict[str, Any], snapshot: Snapshot, user: Any) -> str:
    """Return the key of the stored prediction.

    Answers from public data alone are shared. The key of any other answer contains its viewer and the revision of the
    viewer's own data.
    """
    viewer = [user.pk, snapshot.private_revision] if snapshot.holds_private else None
    parts = [ANSWER_VERSION, canonical, snapshot.database.revision, viewer, snapshot.origins]
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


def reasons_of_prediction(prediction: Prediction, user: Any) -> dict[str, Any]:
    """Return the document of `predictions/{id}/why/`: `why`, the revision that it was computed from, and a note if that
    is not the prediction's revision.

    Reasons from the prediction's own revision are stored with it and never change. Reasons from a later revision are
    computed each time. Raises a RequestError if no prediction is possible today.
    """
    answer = prediction.answer
    if "why" in answer:
        return answer["why"] | {"revision": prediction.revision, "note": None}
    viewer = viewer_of(prediction, user)
    names = [field.name for field in fields(PredictionRequest)]
    request = PredictionRequest(**{name: answer[name] for name in names if name in answer})
    query, snapshot = resolve_with_snapshot(request, viewer)
    canonical = canonical_request(request, query, snapshot.database)
    is_same = request_key(canonical, snapshot, viewer) == prediction.request_key
    with single_thread():
        why: dict[str, Any] = nan_to_null(explain(run_with_advice(query, snapshot, viewer)))
    if is_same:
        rows = Prediction.objects.filter(pk=prediction.pk)
        lost = f"the reasons of prediction {prediction.uid} were not stored"
        update_without_waiting(rows, lost, answer=answer | {"why": why})
    return why | {"revision": snapshot.database.revision, "note": None if is_same else OF_TODAY}


def why_of_prediction(prediction: Prediction, user: Any) -> dict[str, Any]:
    """Return `why` as an answer document contains it: from the prediction's revision if possible, else from the current
    one."""
    excluded = ("revision", "note")
    return {name: value for name, value in reasons_of_prediction(prediction, user).items() if name not in excluded}


def stale_reasons(prediction: Prediction) -> list[str]:
    """Return one sentence per outdated part: the method has a newer version or is gone, the reasons follow older rules,
    or the deliveries behind the answer were not recorded."""
    reasons = []
    method = METHODS.get(prediction.method)
    if method is None:
        reasons.append(f"the method {prediction.method} is no longer available")
    elif method.version != prediction.method_version:
        former, newest = prediction.method_version, method.version
        reasons.append(f"it was computed by version {former} of {method.name}; the current version is {newest}")
    why = prediction.answer.get("why", {})
    if why.get("sentences") and why.get("version") != WHY_VERSION:
        reasons.append("its reasons (why) may follow outdated rules")
    if prediction.source_uids is None:
        reasons.append("the uploads it is based on were not recorded: whether one of them was withdrawn is unknown")
    return reasons


@transaction.atomic
def remove_predictions(rows: PredictionQuerySet, user: Any) -> int:
    """Remove these predictions from the user's own. Returns their number.

    Private predictions are deleted. A public prediction is deleted if it was computed for this user, no other user
    asked for it and no measurement validated it. A validated prediction stays, because it counts for the track record.
    """
    predictions = rows.asked_by(user).order_by()
    removed = 0
    while keys := list(predictions.values_list("pk", flat=True)[:REMOVED_AT_ONCE]):
        first = AskedPrediction.objects.filter(user=user, prediction__in=keys, is_first=True)
        made = list(first.values_list("prediction", flat=True))
        AskedPrediction.objects.filter(user=user, prediction__in=keys).delete()
        Prediction.objects.filter(pk__in=keys, private_to=user).delete()
        Prediction.objects.filter(pk__in=made, private_to=None, askers=None, settled_at=None).delete()
        removed += len(keys)
    return removed


def remove_what_rests_on(sources: Sequence[Source]) -> None:
    """Delete the owners' private predictions that are based on these deliveries, and the cached computations.

    Predictions without recorded deliveries are deleted too, because they may be based on them. For a public
    delivery, all computations and no predictions are deleted.
    """
    for source in sources:
        if source.private_to_id is None:
            Computation.objects.all().delete()
            continue
        private = Prediction.objects.filter(private_to=source.private_to_id).order_by("pk")
        named = private.values_list("pk", "source_uids").iterator(chunk_size=REMOVED_AT_ONCE)
        resting = [key for key, uids in named if uids is None or str(source.uid) in uids]
        for start in range(0, len(resting), REMOVED_AT_ONCE):
            Prediction.objects.filter(pk__in=resting[start : start + REMOVED_AT_ONCE]).delete()
        Computation.objects.filter(private_to=source.private_to_id).delete()
