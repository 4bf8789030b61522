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
from predictor.predictions.answering import answered
from predictor.predictions.document import answer_document
from predictor.predictions.question import Question, placed
from predictor.predictions.request import (
    PredictionRequest,
)
from predictor.snapshot.building import Snapshot

ANSWER_VERSION = "4"  # of the document: raised when it changes shape, so that no stored one is taken for a new one


def predict(request: PredictionRequest, user: Any = None) -> Prediction:
    """The stored prediction for the request, made now unless it was made before. Raises a RequestError.

    A workload that nobody measured anywhere is predicted from simulated profiles alone, which needs no asking.
    """
    question, snapshot, origins = placed(request, user)
    asked = asked_of(question, snapshot.database) | {"include_outliers": request.include_outliers}
    key = request_key(asked, snapshot, user, origins)
    stored: Prediction | None = Prediction.objects.filter(request_key=key).first()
    if stored is not None:
        return stored
    document = document_of(request, question, snapshot)
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


def preview(request: PredictionRequest, user: Any = None) -> dict[str, Any]:
    """The same answer without keeping it, for a page that asks although nobody asked it to. Raises a RequestError."""
    question, snapshot, _ = placed(request, user)
    return document_of(request, question, snapshot)


def document_of(request: PredictionRequest, question: Question, snapshot: Snapshot) -> dict[str, Any]:
    asked = asked_of(question, snapshot.database) | {
        "include_simulated": request.include_simulated,
        "include_outliers": request.include_outliers,
    }
    with single_thread():
        return answer_document(answered(question, snapshot), asked)


def asked_of(question: Question, database: Database) -> dict[str, Any]:
    """The request in its only spelling: slugs, every setting with its value."""
    references = question.references
    asked: dict[str, Any] = nan_to_null(
        {
            "workload": database.workloads[question.workload],
            "target": database.platforms[question.target],
            "references": None if references is None else [database.platforms[at] for at in references],
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
    return asked


def request_key(asked: dict[str, Any], snapshot: Snapshot, user: Any, origins: Sequence[str]) -> str:
    """Answers from public data alone are shared; others belong to their viewer and his own revision."""
    viewer = [user.pk, snapshot.private_revision] if snapshot.holds_private else None
    parts = [ANSWER_VERSION, asked, snapshot.database.revision, viewer, origins]
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()
