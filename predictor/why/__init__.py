"""Why an answer is as it is, in sentences with numbers: what limits the workload there, and what carried the answer."""

from predictor.why.explaining import explain

__all__ = ["explain"]
