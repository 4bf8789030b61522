"""What is stored of predictions, and of how right they were."""

from predictor.models.evaluations import EvaluatedMethod, Evaluation, PaperReport
from predictor.models.predictions import Prediction

__all__ = ["EvaluatedMethod", "Evaluation", "PaperReport", "Prediction"]
