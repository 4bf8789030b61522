"""The user data of this application: stored predictions, and the snapshots from which private ones are made."""

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
    """Remove the user's predictions and snapshots. Public predictions that others asked for, or that were validated,
    contain no names and always stay."""
    remove_predictions(Prediction.objects.all(), user)
    remove_of_viewer(user.pk)


QUESTIONS_ASKED = UserData(
    "predictions",
    lambda user: {"predictions": Prediction.objects.asked_by(user).count()},
    prediction_members,
    remove_questions,
)
