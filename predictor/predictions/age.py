"""Which parts of a stored answer are outdated: the answer never changes, so it says where today's would differ."""

from __future__ import annotations

from predictor.core.methods import METHODS
from predictor.models import Prediction
from predictor.predictions.explanation import WHY_VERSION


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
