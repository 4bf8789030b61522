"""From a request to a stored prediction: names to rows, the method on the viewer's snapshot, the answer kept for ever.

docs/decisions/prediction-idempotence.md: the same request at the same revision is the same stored prediction.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from mpet_site.web.plain_json import nan_to_null
from predictor.core.database import Database
from predictor.core.threads import single_thread
from predictor.models import Prediction
from predictor.predictions.advice import advised
from predictor.predictions.answering import run_question
from predictor.predictions.document import answer_document
from predictor.predictions.question import Question, resolve_with_snapshot
from predictor.predictions.request import PredictionRequest
from predictor.snapshot.building import Snapshot

ANSWER_VERSION = "4"  # of the document: raised when it changes shape, so that no stored one is taken for a new one


def predict(request: PredictionRequest, user: Any = None) -> Prediction:
    """The stored prediction for the request, made now unless it was made before. Raises a RequestError.

    A workload that nobody measured anywhere is predicted from simulated profiles alone, which needs no asking.
    """
    question, snapshot, origins = resolve_with_snapshot(request, user)
    canonical = canonical_request(question, snapshot.database) | {"include_outliers": request.include_outliers}
    key = request_key(canonical, snapshot, user, origins)
    stored: Prediction | None = Prediction.objects.filter(request_key=key).first()
    if stored is not None:
        return stored
    with advised(question, snapshot, user):
        document = answer_request(request, question, snapshot)
    stored, _ = Prediction.objects.get_or_create(
        request_key=key,
        defaults={
            "private_to": user if snapshot.holds_private else None,
            "workload": document["workload"],
            "target": document["target"],
            "method": document["method"],
            "method_version": document["method_version"],
            "revision": document["revision"],
            "answer": document,
        },
    )
    return stored


def preview_answer(request: PredictionRequest, user: Any = None) -> dict[str, Any]:
    """The document of the same answer, which is not kept: for pages that predict unasked. Raises a RequestError."""
    question, snapshot, _ = resolve_with_snapshot(request, user)
    with advised(question, snapshot, user):
        return answer_request(request, question, snapshot)


def answer_request(request: PredictionRequest, question: Question, snapshot: Snapshot) -> dict[str, Any]:
    canonical = canonical_request(question, snapshot.database) | {
        "include_simulated": request.include_simulated,
        "include_outliers": request.include_outliers,
    }
    with single_thread():
        return answer_document(run_question(question, snapshot), canonical)


def canonical_request(question: Question, database: Database) -> dict[str, Any]:
    """The request as plain values in its only spelling: every name a slug, every setting with its value."""
    references = question.references
    canonical: dict[str, Any] = nan_to_null(
        {
            "workload": database.workloads[question.workload],
            "target": database.platforms[question.target],
            "references": None if references is None else [database.platforms[reference] for reference in references],
            "method": question.method.name,
            "method_version": question.method.version,
            "n": question.n,
            "settings": asdict(question.settings),
            "scenario": question.scenario.name,
            "strategy": question.scenario.strategy,
            "workload_changes": question.scenario.workload.as_values(),
            "platform_changes": question.scenario.platform.as_values(),
        }
    )
    return canonical


def request_key(canonical: dict[str, Any], snapshot: Snapshot, user: Any, origins: Sequence[str]) -> str:
    """The key of the stored prediction. Answers from public data alone are shared; others belong to their viewer and to
    the revision of that viewer's own data."""
    viewer = [user.pk, snapshot.private_revision] if snapshot.holds_private else None
    parts = [ANSWER_VERSION, canonical, snapshot.database.revision, viewer, origins]
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()
