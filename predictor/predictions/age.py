"""What of a stored answer is from before: it never changes, so it says where today's would be another."""

from __future__ import annotations

from predictor.core.methods import METHODS
from predictor.models import Prediction
from predictor.predictions.explanation import WHY_VERSION


def age_notes(prediction: Prediction) -> list[str]:
    """A sentence each: the method has a newer version, the reasons follow older rules, or what the answer rests on was
    not noted."""
    notes = (method_note(prediction), why_note(prediction), sources_note(prediction))
    return [note for note in notes if note]


def method_note(prediction: Prediction) -> str:
    method = METHODS.get(prediction.method)
    if method is None:
        return f"the method {prediction.method} is no longer asked"
    if method.version == prediction.method_version:
        return ""
    return f"it is by version {prediction.method_version} of {method.name}, which is at version {method.version} now"


def why_note(prediction: Prediction) -> str:
    why = prediction.answer.get("why", {})
    if not why.get("sentences") or why.get("version") == WHY_VERSION:
        return ""
    return "its reasons (why) may follow rules that were mended since"


def sources_note(prediction: Prediction) -> str:
    if prediction.source_uids is not None:
        return ""
    return "which deliveries it rests on was not noted then: it cannot say whether one of them was withdrawn"
