"""What is kept of what a user asked: stored predictions, and the state from which private ones are made."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from accounts.user_data import ArchiveMember, UserData
from predictor.api.predictions import PredictionSerializer
from predictor.models import Prediction
from predictor.predictions.service import remove_predictions
from predictor.snapshot.cache import remove_of_viewer

ANSWERS_AT_ONCE = 50


def prediction_members(user: Any, request: Any) -> Iterator[ArchiveMember]:
    rows = Prediction.objects.asked_by(user).select_related("settled_by").order_by("pk")
    for prediction in rows.iterator(ANSWERS_AT_ONCE):
        document = PredictionSerializer(prediction, context={"request": request}).data
        yield ArchiveMember.of_json(f"predictions/{prediction.uid}.json", document)


def remove_questions(user: Any, keep_public: bool) -> None:
    """A public prediction that others asked for, or that was validated, names nobody and stays in any case."""
    remove_predictions(Prediction.objects.all(), user)
    remove_of_viewer(user.pk)


QUESTIONS_ASKED = UserData(
    "predictions",
    lambda user: {"predictions": Prediction.objects.asked_by(user).count()},
    prediction_members,
    remove_questions,
)
