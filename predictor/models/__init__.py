"""What is stored of predictions, and of how right they were."""

from predictor.models.computations import Computation
from predictor.models.evaluations import EvaluatedMethod, Evaluation, PaperReport
from predictor.models.predictions import AskedPrediction, Prediction
from predictor.models.programs import StoredProgramAnswer

__all__ = [
    "AskedPrediction",
    "Computation",
    "EvaluatedMethod",
    "Evaluation",
    "PaperReport",
    "Prediction",
    "StoredProgramAnswer",
]
