"""Models of predictions, their errors, evaluations and long computations."""

from predictor.models.computations import Computation, StoredProgramAnswer
from predictor.models.evaluations import EvaluatedMethod, Evaluation, PaperReport
from predictor.models.predictions import AskedPrediction, Prediction

__all__ = [
    "AskedPrediction",
    "Computation",
    "EvaluatedMethod",
    "Evaluation",
    "PaperReport",
    "Prediction",
    "StoredProgramAnswer",
]
